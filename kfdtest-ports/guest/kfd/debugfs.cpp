// SPDX-License-Identifier: MIT
// What debugfs shows of the queues of this process (mqds, hqds, rls) is true of them, and of each other, while their waves run;
// a queue that is disabled leaves its slot and the run list, the others stay.
// @source Linux 6.12 v9_structs.h (MQD), kfd_pm4_headers_ai.h (packets)
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr unsigned kQueues = 3, kGroups = 4;
constexpr size_t kMqdAddress = 128, kPqBase = 136, kMqdDwords = 512;  // dwords of an MQD
constexpr uint32_t kMapProcess = 0xa1, kMapQueues = 0xa2;
constexpr size_t kPasid = 1, kProcessDwords = 15, kMapQueuesMqd = 3, kMapQueuesDwords = 7;  // dwords of the packets

/// The first VMID of KFD: chips without graphics have no others but the driver's own. @source Linux 6.12 gmc_v9_0_sw_init()
uint32_t first_vmid() { return lyra::facts_of(first_gpu_chip()).has_acc() ? 3 : 8; }

uint64_t pair(const std::vector<uint32_t>& dwords, size_t at) { return uint64_t{dwords[at + 1]} << 32 | dwords[at]; }

/// What a run list names of a process.
struct Listed {
    uint32_t pasid = 0;  ///< 0: it is not there
    std::vector<uint64_t> mqds;
};

/// The process of which the list has one of these MQDs.
Listed listed(const std::vector<uint32_t>& list, const std::vector<uint64_t>& ours) {
    Listed process;
    const auto is_ours = [&] {
        return std::ranges::any_of(process.mqds, [&](uint64_t mqd) { return std::ranges::find(ours, mqd) != ours.end(); });
    };
    for (size_t at = 0; at < list.size();) {
        const uint32_t header = list[at], opcode = header >> 8 & 0xff;
        const size_t dwords = (header >> 16 & 0x3fff) + 2;
        if (header >> 30 != 3 || at + dwords > list.size()) break;
        if (opcode == kMapProcess && dwords >= kProcessDwords) {
            if (is_ours()) return process;
            process = {list[at + kPasid] & 0xffff, {}};
        } else if (opcode == kMapQueues && dwords == kMapQueuesDwords) {
            process.mqds.push_back(pair(list, at + kMapQueuesMqd));
        }
        at += dwords;
    }
    return is_ours() ? process : Listed{};
}

/// @param on which of the queues are enabled. Says what is wrong, nothing when all is as it has to be.
std::string look(const std::vector<std::unique_ptr<AqlQueue>>& queues, const bool (&on)[kQueues]) {
    const ProcessView process = process_view(getpid());
    if (!process.found || process.pasid == "0x0") return "mqds does not name the process";
    if (process.mqds.size() != kQueues) return fmt::format("mqds shows {} queues", process.mqds.size());
    const std::vector<SlotView> all = slots();
    std::vector<uint64_t> ours;
    for (const std::vector<uint32_t>& mqd : process.mqds) {
        if (mqd.size() > kMqdAddress + 1) ours.push_back(pair(mqd, kMqdAddress));
    }
    const Listed list = listed(run_list(), ours);
    // Since 7.2 a process has a PASID for each device, and mqds shows the number of the process.
    const bool same = process.pasid == fmt::format("{:#x}", list.pasid) || process.pasid == std::to_string(getpid());
    if (list.pasid == 0 || !same) return "the run list does not name the process";
    uint32_t vmid = 0;
    for (unsigned n = 0; n < kQueues; ++n) {
        const uint64_t ring = queues[n]->memory().ring.address();
        const auto mqd = std::find_if(process.mqds.begin(), process.mqds.end(), [&](const std::vector<uint32_t>& each) {
            // The copies of the other XCCs follow the first one.
            return each.size() == kMqdDwords * first_gpu_xccs() && pair(each, kPqBase) << 8 == ring;
        });
        if (mqd == process.mqds.end()) return fmt::format("no MQD has the ring {:#x} of queue {}", ring, n);
        const uint64_t address = pair(*mqd, kMqdAddress);
        const auto slot =
            std::find_if(all.begin(), all.end(), [&](const SlotView& each) { return each.active && each.mqd == address; });
        if ((slot != all.end()) != on[n]) return fmt::format("queue {} {} a slot", n, on[n] ? "lacks" : "still has");
        if (std::count(list.mqds.begin(), list.mqds.end(), address) != on[n])
            return fmt::format("queue {} is wrong in the run list", n);
        if (!on[n]) continue;
        if (slot->ring != ring) return fmt::format("the slot of queue {} has ring {:#x}, not {:#x}", n, slot->ring, ring);
        if (slot->vmid < first_vmid() || (vmid != 0 && slot->vmid != vmid))
            return fmt::format("queue {} has VMID {}", n, slot->vmid);
        vmid = slot->vmid;
    }
    return "";
}

void expect(const std::vector<std::unique_ptr<AqlQueue>>& queues, const bool (&on)[kQueues]) {
    if (const std::string wrong = look(queues, on); !wrong.empty()) fail(wrong);
}

}  // namespace

int main() {
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    std::vector<std::unique_ptr<AqlQueue>> queues;
    std::vector<std::unique_ptr<Counting>> grids;
    for (unsigned n = 0; n < kQueues; ++n) {
        queues.push_back(std::make_unique<AqlQueue>(gpu));
        grids.push_back(std::make_unique<Counting>(gpu, kGroups, 60, 2000, n));
        grids[n]->start(*queues[n], code);
    }
    for (const auto& grid : grids) {
        if (!wait_for(60, [&] { return grid->progress() != 0; })) fail("a kernel does not run");
    }
    expect(queues, {true, true, true});
    errno = queues[1]->update(0);
    require(errno == 0, "UPDATE_QUEUE to 0 percent");
    expect(queues, {true, false, true});
    errno = queues[1]->update(100);
    require(errno == 0, "UPDATE_QUEUE to 100 percent");
    expect(queues, {true, true, true});
    for (unsigned n = 0; n < kQueues; ++n) {
        if (!wait_for(120, [&] { return grids[n]->done(*queues[n]); })) fail("a kernel does not end");
        if (!grids[n]->right()) fail("wrong results");
    }
    std::printf("debugfs: PASSED\n");
    return 0;
}

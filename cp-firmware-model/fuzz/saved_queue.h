// SPDX-License-Identifier: MIT
// Bench of the fuzzers of saved queues: two processes run kernels in a queue each and are pre-empted; what is saved of the
// first one is then edited. Whatever that makes of the first queue, nothing may hang, nobody may reach the other's memory, and
// the other's work is done right.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cp-firmware-model/fuzz/input.h"
#include "cp-firmware-model/testing/owned_memory.h"
#include "cp-firmware-model/testing/save_bench.h"
#include "cwsr/layout.h"

namespace lyra::fuzz {

using testing::CpBench;
using testing::Kernel;
using testing::KernelJob;
using testing::SaveBench;
using testing::Words;

/// Two waves exchange through LDS, often enough to be met in the middle of it.
inline constexpr const char* kLongKernel = R"(
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v3, 0
  ds_write_b32 v2, v3
  s_movk_i32 s8, 0x60
again:
  s_barrier
  v_xor_b32 v3, 0x100, v2
  v_add_u32 v4, v0, s8
  ds_add_u32 v3, v4
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 again
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v4, v2
  s_waitcnt lgkmcnt(0)
  finish v4, 128
)";

/// Waits at a barrier that is never full.
inline constexpr const char* kGwsKernel = R"(
  s_mov_b32 m0, 0
  v_mov_b32 v0, 3
  ds_gws_init v0 offset:0 gds
  s_waitcnt 0
  ds_gws_barrier v0 offset:0 gds
  s_waitcnt 0
  ds_gws_sema_p offset:1 gds
  s_endpgm
)";

class SavedQueue : public SaveBench {
public:
    explicit SavedQueue(Input& in) : SaveBench(LYRA_CWSR_SOURCE), in_(in) {
        protect(victim, kDescriptors);
        protect(other, kDescriptors + 0x10000);
        memory_.share(kHandler, 0x10000);
        bus.hub.set(memory_);
    }

    /// @param edit changes what is saved of the victim
    template <class Edit>
    void play(Edit edit) {
        const unsigned grids = 1 + in_.below(2), groups = 1 + in_.below(kernel_->file.lds_bytes == 0x4000 ? 24 : 3);
        victim.submit({{kernel_, grids, groups}});
        other.submit({{&kernels()[0], 2, 2}});
        bool lost = false;
        for (unsigned cycles = 1 + in_.below(3), n = 0; n < cycles && !lost; ++n) {
            enter({&victim, &other});
            for (unsigned rounds = in_.below(10); rounds != 0; --rounds) cp.run(1 + in_.below(300));
            lost = !leave();
            if (lost && n == 0) fail("the queue could not be saved before anything was edited");
            if (!lost) edit(*this);
        }
        if (!lost) {
            enter({&victim, &other});
            for (unsigned rounds = 0; rounds < 24; ++rounds) {
                cp.run(2000);
                pass_ms(1);
            }
            leave();
        }
        finish_other();
        if (!memory_.violation.empty()) fail(memory_.violation);
    }

    [[noreturn]] void fail(const std::string& text) {
        std::fprintf(stderr, "FAILED: %s\n", text.c_str());
        for (const std::string& line : host.lines) std::fprintf(stderr, "%s\n", line.c_str());
        std::abort();
    }

    uint32_t mqd(unsigned dword) { return word(victim.ring().mqd + 4 * dword); }
    void put_mqd(unsigned dword, uint32_t value) { bus.memory.put<uint32_t>(victim.ring().mqd + 4 * dword, value); }
    /// A value to put where old is: near it, or one that means something somewhere.
    uint32_t value(uint32_t old) {
        const uint32_t places[] = {0,
                                   1,
                                   ~0u,
                                   0x80000000,
                                   0x7fffffff,
                                   0xffff,
                                   kPage,
                                   lo32(kHandler),
                                   lo32(kHandler) + 4,
                                   lo32(kSecond),
                                   lo32(victim.code()),
                                   lo32(victim.data()),
                                   lo32(victim.save_area()),
                                   lo32(victim.ring().base),
                                   lo32(victim.ring().mqd),
                                   lo32(other.data()),
                                   lo32(other.save_area()),
                                   lo32(other.ring().mqd),
                                   lo32(kHiqBase)};
        switch (in_.take<uint8_t>() % 6) {
            case 0: return old ^ 1u << in_.below(32);
            case 1: return old + static_cast<uint32_t>(in_.take<int8_t>());
            case 2: return old + in_.take<int8_t>() * 64u;
            case 3: return in_.take<uint32_t>();
            case 4: return old ^ 3u << in_.below(31);
            default: return places[in_.below(std::size(places))];
        }
    }

    Input& in() { return in_; }

private:
    static constexpr uint32_t kPage = 0x1000;
    static constexpr uint64_t kDescriptors = 0x1000000, kMostStackBytes = 0x8000;
    static constexpr unsigned kKernels = 5;
    static constexpr unsigned kRoundsForSave = 400, kRoundsOfTime = 1600, kRoundsForWork = 4000;

    /// The first ones have values; the last one waits for global wave sync.
    static const std::vector<Kernel>& kernels() {
        static const std::vector<Kernel> all = [] {
            SaveBench bench(LYRA_CWSR_SOURCE);
            KernelJob job(bench, 0, true, kFirstVmid);
            std::vector<Kernel> kernels;
            kernels.push_back(bench.kernel_of(kLongKernel));
            kernels.back().file.group = kernels.back().file.valid = {128, 1, 1};
            kernels.back().file.lds_bytes = 512;
            bench.learn(kernels.back(), job);
            // Few of these groups have room, so that a grid is met while it hands them out.
            kernels.push_back(kernels.back());
            kernels.back().file.lds_bytes = 0x4000;
            for (const char* name : {"barrier_lds", "scratch", "state"}) kernels.push_back(bench.kernel(name, job));
            kernels.push_back(bench.kernel_of(kGwsKernel));
            return kernels;
        }();
        return all;
    }
    /// The descriptor gets room behind it for the largest control stack that it can name: which is the driver's affair.
    void protect(KernelJob& job, uint64_t descriptor) {
        Words words(mqd::kDwords);
        bus.memory.read(0, job.ring().mqd, words.data(), words.size() * 4);
        bus.memory.map(descriptor, cwsr::kStackFromMqd + kMostStackBytes);
        put_words(descriptor, words);
        job.ring().mqd = descriptor;
        const auto pasid = static_cast<uint16_t>(kFirstPasid + job.vmid() - kFirstVmid);
        memory_.own(job.base(), KernelJob::kSpan, pasid);
        memory_.own(job.ring().base, 0x8000, pasid);
        memory_.own(job.ring().rptr, 0x1000, pasid);
    }
    void enter(const std::vector<KernelJob*>& jobs) {
        std::vector<Words> packets;
        for (KernelJob* job : jobs) {
            Words map_process = process(job->vmid());
            map_process[13] = gws_ ? 4 : 0;
            packets.push_back(map_process);
            packets.push_back(map_queue(job->ring(), 1u << 29 | 1u << 4 | uint32_t{gws_ && job == &victim} << 12));
        }
        run_list(packets);
        for (unsigned n = 0; n < 5; ++n) cp.run(64);
    }
    bool fence(uint32_t action) {
        bus.memory.put<uint64_t>(kDone, 0);
        submit(hiq, CpBench::unmap(3, action));
        submit(hiq, query_status(kDone, 100));
        for (unsigned n = 0; n < kRoundsForSave + kRoundsOfTime && qword(kDone) != 100; ++n) {
            cp.run(500);
            if (n > kRoundsForSave) pass_ms(10);
        }
        return qword(kDone) == 100;
    }
    /// As the driver does it: a queue that was not pre-empted in time is named in the HIQ's descriptor, and reset.
    /// @return false when the victim was
    bool leave() {
        const auto id = [&](unsigned n) { return hiq.mqd + (mqd::queue_doorbell_id0 + n) * 4; };
        for (unsigned n = 0; n < 2; ++n) bus.memory.put<uint32_t>(id(n), 0);
        if (!fence(0)) fail("UNMAP_QUEUES does not end");
        const bool named = word(id(0)) == victim.ring().doorbell / 4 && word(id(1)) == 0;
        if (word(id(0)) != 0 && !named) fail("a queue that nobody touched was not pre-empted");
        if (!named && cp.dispatcher().waves_live_total() != 0) fail("waves of a queue that is said to be unmapped");
        if (named && !fence(1)) fail("a reset of the queue does not end");
        if (cp.dispatcher().waves_live_total() != 0) fail("waves after the reset of their queue");
        size_t waves = 0;
        if (const std::string wrong = other.check_image(waves); !wrong.empty()) fail(wrong);
        return !named;
    }
    void finish_other() {
        enter({&other});
        for (unsigned n = 0; n < kRoundsForWork && !other.idle(); ++n) {
            cp.run(2000);
            if (const std::string wrong = other.check_batch(); !wrong.empty()) fail(wrong);
        }
        if (!other.idle()) fail("the other queue's work does not end");
    }

    Input& in_;
    const uint8_t shape_ = in_.take<uint8_t>();
    const bool gws_ = shape_ & 2;
    const Kernel* kernel_ = &kernels()[gws_ ? kKernels : (shape_ >> 2) % kKernels];
    testing::OwnedMemory memory_{bus};

public:
    KernelJob victim{*this, 0, (shape_ & 1) != 0, kFirstVmid};
    KernelJob other{*this, 1, true, kFirstVmid + 1};
};

}  // namespace lyra::fuzz

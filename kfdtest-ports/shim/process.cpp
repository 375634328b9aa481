// SPDX-License-Identifier: MIT
// Memory, events and doorbells of one process.
#include "kfdtest-ports/shim/process.h"

#include <algorithm>
#include <cstring>

namespace lyra::kfd {

namespace {

constexpr uint32_t kFirstSlice = 0x4000, kSliceBytes = Process::kDoorbells * 8;
// Doorbells of SDMA and of other blocks, and their mirror. @source Linux 6.12 amdgpu_doorbell.h, kfd_doorbell.c
constexpr uint32_t kFirstNonCp = 0xf0, kLastNonCp = 0xff, kMirror = 512;
// @source Linux 6.12 kfd_priv.h KFD_CWSR_TBA_TMA_SIZE, KFD_CWSR_TMA_OFFSET
constexpr uint64_t kTrapBytes = 2 * inproc::kPageBytes, kTmaOffset = inproc::kPageBytes + 2048;

}  // namespace

Process::Process(Driver& driver, uint16_t pasid, uint32_t number)
    : driver_(driver), pasid_(pasid), doorbell_base_(kFirstSlice + number * kSliceBytes), space_(driver.gpu().memory()) {
    if (uint64_t{doorbell_base_} + kSliceBytes > LYRA_DOORBELL_BAR_BYTES) return;
    if (space_.root_table_offset() == inproc::GpuMemory::kNoSpace) return;
    for (uint32_t i = kFirstNonCp; i <= kLastNonCp; ++i) {
        doorbells_.set(i);
        doorbells_.set(i + kMirror);
    }
    const GpuBuffer page = allocate(EventTable::kSignalLimit * 8);
    if (!page) return;
    events_.set_page(page);
    ok_ = set_up_trap_handler();
}

Process::~Process() {
    for (GpuBuffer& buffer : own_) space_.release(buffer);
}

bool Process::set_up_trap_handler() {
    const Words& code = driver_.trap_handler();
    if (code.empty()) return true;
    handler_ = allocate(kTrapBytes);
    if (!handler_ || code.size() * 4 > inproc::kPageBytes) return false;
    std::memcpy(handler_.host, code.data(), code.size() * 4);
    tba_ = handler_.va;
    tma_ = handler_.va + kTmaOffset;
    return true;
}

void Process::set_trap_handler(uint64_t tba, uint64_t tma) {
    const uint64_t second[2] = {tba, tma};
    std::memcpy(handler_.host + kTmaOffset, second, sizeof second);
}

/// Only what was changed can be stale, and only once the process has been on the GPU.
void Process::flush() {
    if (!space_.changed()) return;
    space_.clear_changed();
    driver_.flush_tlb(pasid_);
}

GpuBuffer Process::allocate(uint64_t bytes, Domain domain, uint64_t access) {
    GpuBuffer buffer = space_.allocate(bytes, domain, access);
    if (buffer) own_.push_back(buffer);
    flush();
    return buffer;
}

void Process::release(GpuBuffer& buffer) {
    if (!buffer) return;
    std::erase_if(own_, [&](const GpuBuffer& mine) { return mine.va == buffer.va; });
    // The pages may belong to somebody else only when nobody can reach them through old translations.
    space_.unmap(buffer.va, buffer.bytes);
    flush();
    space_.release(buffer);
    space_.clear_changed();
}

Status Process::map(const GpuBuffer& buffer, uint64_t access) {
    if (!space_.map(buffer.va, buffer.domain, buffer.offset, inproc::round_up(buffer.bytes, inproc::kPageBytes), access)) {
        return Status::NoMemory;
    }
    flush();
    return Status::Success;
}

Status Process::unmap(const GpuBuffer& buffer) {
    space_.unmap(buffer.va, buffer.bytes);
    flush();
    return Status::Success;
}

Status Process::wait_on_events(std::span<WaitItem> items, bool all, uint64_t timeout_ms) {
    if (const Status entered = events_.enter(items); entered != Status::Success) return entered;
    const auto destroyed = [](const WaitItem& item) { return item.destroyed; };
    const auto activated = [](const WaitItem& item) { return item.activated; };
    const auto complete = [&] {
        return all ? std::all_of(items.begin(), items.end(), activated) : std::any_of(items.begin(), items.end(), activated);
    };
    const auto failed = [&] { return std::any_of(items.begin(), items.end(), destroyed); };
    const bool done = gpu().wait([&] { return failed() || complete(); }, timeout_ms);
    const Status status = failed() ? Status::Error : done ? Status::Success : Status::WaitTimeout;
    events_.leave(items, status == Status::Success);
    return status;
}

Status Process::wait_on_event(uint32_t event_id, uint64_t timeout_ms) {
    WaitItem item{event_id};
    return wait_on_events({&item, 1}, true, timeout_ms);
}

uint64_t Process::map_doorbells() {
    if (doorbells_va_) return doorbells_va_;
    const uint64_t va = space_.reserve(kSliceBytes);
    constexpr uint64_t kReadWrite = inproc::pte::kRead | inproc::pte::kWrite;
    if (!space_.map(va, Domain::System, inproc::kDoorbellBar + doorbell_base_, kSliceBytes, kReadWrite)) return 0;
    flush();
    return doorbells_va_ = va;
}

uint32_t Process::take_doorbell() {
    for (uint32_t i = 0; i < kDoorbells; ++i) {
        if (doorbells_.test(i)) continue;
        doorbells_.set(i);
        return i;
    }
    return kDoorbells;
}

}  // namespace lyra::kfd

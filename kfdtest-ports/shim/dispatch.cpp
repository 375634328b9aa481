// SPDX-License-Identifier: MIT
// Builds the indirect buffer of a grid.
#include "kfdtest-ports/shim/dispatch.h"

#include <cstring>

namespace lyra::kfd {

namespace {

// COMPUTE registers as SET_SH_REG counts them. @source Linux 6.12 gc_9_0_offset.h
constexpr uint32_t kStartX = 0x204, kPgmLo = 0x20c, kPgmRsrc1 = 0x212, kResourceLimits = 0x215, kTmpringSize = 0x218,
                   kRestartX = 0x21b, kUserData0 = 0x240;
constexpr uint32_t kRsrc1 = 0x000c0084;  // 20 VGPRs or more are what the ports' programs need; denormals on
constexpr uint32_t kScratchEn = 1, kTrapPresent = 1u << 6, kTgidX = 1u << 7, kTidigCount1 = 1u << 11;
constexpr uint32_t kInitiator = 1 | 1u << 5;  // COMPUTE_SHADER_EN, USE_THREAD_DIMENSIONS: group sizes count work-items
constexpr uint32_t kFenceValue = 0xdeadbeef;

}  // namespace

Dispatch::Dispatch(Process& process, uint64_t code_va, bool auto_reset)
    : process_(process), code_va_(code_va), ib_(process.allocate(inproc::kPageBytes)) {
    create_queue_event(process, auto_reset, event_);
}

Dispatch::~Dispatch() {
    process_.events().destroy(event_);
    process_.release(ib_);
}

Dispatch& Dispatch::args(uint64_t first, uint64_t second) {
    args_ = {first, second};
    return *this;
}

Dispatch& Dispatch::dim(uint32_t x, uint32_t y, uint32_t z) {
    dim_ = {x, y, z};
    return *this;
}

Dispatch& Dispatch::group_size(uint32_t items) {
    group_size_ = items;
    return *this;
}

Dispatch& Dispatch::scratch(uint32_t waves, uint32_t wave_kib, uint64_t base) {
    tmpring_ = waves | wave_kib << 12;
    scratch_base_ = base;
    return *this;
}

/// The grid, then a fence that the buffer itself waits for, so that two grids of one queue never overlap.
Words Dispatch::indirect_buffer() const {
    Words words;
    const auto add = [&](const Words& packet) { words.insert(words.end(), packet.begin(), packet.end()); };
    const uint32_t user_sgprs = scratch_base_ ? 6 : 4;
    add(pm4::acquire_mem());
    add(pm4::set_sh_reg(kStartX, {0, 0, 0, group_size_, 1, 1, 0, 0}));
    add(pm4::set_sh_reg(kPgmLo,
                        {lo32(code_va_ >> 8), hi32(code_va_ >> 8), 0, 0, lo32(scratch_base_ >> 8), hi32(scratch_base_ >> 8)}));
    add(pm4::set_sh_reg(kPgmRsrc1,
                        {kRsrc1, (scratch_base_ ? kScratchEn : 0) | user_sgprs << 1 | kTrapPresent | kTgidX | kTidigCount1}));
    add(pm4::set_sh_reg(kResourceLimits, {0}));
    add(pm4::set_sh_reg(kTmpringSize, {tmpring_}));
    add(pm4::set_sh_reg(kRestartX, {0, 0, 0, 0}));
    add(pm4::set_sh_reg(kUserData0, {lo32(args_[0]), hi32(args_[0]), lo32(args_[1]), hi32(args_[1]), lo32(scratch_base_),
                                     hi32(scratch_base_)}));
    add(pm4::dispatch_direct(dim_[0], dim_[1], dim_[2], kInitiator));
    add(pm4::nop(1));
    const uint64_t fence = ib_.va + (words.size() - 1) * 4;
    add(pm4::release_mem(fence, kFenceValue, pm4::Interrupt::None));
    add(pm4::wait_mem_equal(fence, kFenceValue));
    return words;
}

bool Dispatch::submit(UserQueue& queue) {
    const Words words = indirect_buffer();
    std::memcpy(ib_.host, words.data(), words.size() * 4);
    const bool placed = queue.place(pm4::indirect_buffer(ib_.va, static_cast<uint32_t>(words.size()))) &&
                        queue.place(signal_event(process_, event_));
    queue.submit();
    return placed;
}

}  // namespace lyra::kfd

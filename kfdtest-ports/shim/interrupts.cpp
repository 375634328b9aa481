// SPDX-License-Identifier: MIT
// Set-up and reading of interrupt ring 0. @source Linux 6.12 vega10_ih.c
#include "kfdtest-ports/shim/interrupts.h"

#include <atomic>
#include <bit>

namespace lyra::kfd {

namespace {

using inproc::Domain;
using inproc::GpuMemory;
namespace reg = inproc::reg;

constexpr uint32_t kRingBytes = 256 << 10;
constexpr uint32_t kVectorBytes = 32;
constexpr uint32_t kDoorbellIndex = 0xf4;   // 64-bit doorbells, AMDGPU_DOORBELL64_IH
constexpr uint32_t kRbEnable = 1, kWptrWriteback = 1u << 8, kEnableIntr = 1u << 17, kOverflowClear = 1u << 31;
constexpr uint32_t kDoorbellEnable = 1u << 28;

}  // namespace

InterruptRing::InterruptRing(Gpu& gpu) : gpu_(gpu) {
    ring_ = gpu.memory().take(Domain::System, kRingBytes);
    wptr_ = gpu.memory().take(Domain::System, inproc::kPageBytes);
    const uint64_t ring = GpuMemory::kSystemBusBase + ring_, wptr = GpuMemory::kSystemBusBase + wptr_;
    gpu.write_register(reg::kIhRbBase, static_cast<uint32_t>(ring >> 8));
    gpu.write_register(reg::kIhRbBaseHi, static_cast<uint32_t>(ring >> 40) & 0xff);
    gpu.write_register(reg::kIhRbWptrAddrLo, static_cast<uint32_t>(wptr));
    gpu.write_register(reg::kIhRbWptrAddrHi, static_cast<uint32_t>(wptr >> 32) & 0xffff);
    gpu.write_register(reg::kIhRbRptr, 0);
    gpu.write_register(reg::kIhRbWptr, 0);
    gpu.write_register(reg::kIhDoorbellRptr, kDoorbellIndex * 2 | kDoorbellEnable);
    gpu.write_register(reg::kIhDoorbellRange, kDoorbellIndex * 2 << 2 | 8u << 16);
    const uint32_t size = static_cast<uint32_t>(std::bit_width(kRingBytes / 4) - 1);
    gpu.write_register(reg::kIhRbCntl, kRbEnable | size << 1 | kWptrWriteback | kEnableIntr | kOverflowClear);
}

void InterruptRing::drain(const std::function<void(const InterruptVector&)>& handle) {
    const auto* shadow = reinterpret_cast<const std::atomic<uint32_t>*>(gpu_.memory().host(Domain::System, wptr_));
    const uint8_t* ring = gpu_.memory().host(Domain::System, ring_);
    while (rptr_ != (shadow->load(std::memory_order_acquire) & (kRingBytes - 1))) {
        const auto* words = reinterpret_cast<const uint32_t*>(ring + rptr_);
        for (uint32_t i = 0; i < kVectorBytes / 4; ++i) digest_ = (digest_ ^ words[i]) * 0x100000001b3;
        InterruptVector vector;
        vector.client = static_cast<uint8_t>(words[0]);
        vector.source = static_cast<uint8_t>(words[0] >> 8);
        vector.ring_id = static_cast<uint8_t>(words[0] >> 16);
        vector.vmid = words[0] >> 24 & 0xf;
        vector.pasid = static_cast<uint16_t>(words[3]);
        for (unsigned i = 0; i < 4; ++i) vector.data[i] = words[4 + i];
        rptr_ = (rptr_ + kVectorBytes) & (kRingBytes - 1);
        ++vectors_;
        handle(vector);
    }
    gpu_.doorbell32(kDoorbellIndex * 8, rptr_);
}

}  // namespace lyra::kfd

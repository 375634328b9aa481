// SPDX-License-Identifier: MIT
// Set-up and reading of interrupt ring 0. @source Linux 6.12 vega10_ih.c
#include "kfdtest-ports/shim/interrupts.h"

#include <atomic>
#include <bit>

#include "facts/register_fields.h"

namespace lyra::kfd {

namespace {

using inproc::Domain;
using inproc::GpuMemory;
namespace reg = inproc::reg;

constexpr uint32_t kRingBytes = 256 << 10;
constexpr uint32_t kVectorBytes = 32;
constexpr uint32_t kDoorbellIndex = 0xf4;   // 64-bit doorbells, AMDGPU_DOORBELL64_IH
namespace cntl = field::IH_RB_CNTL;

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
    gpu.write_register(reg::kIhDoorbellRptr,
                       field::IH_DOORBELL_RPTR::OFFSET::of(kDoorbellIndex * 2) | field::IH_DOORBELL_RPTR::ENABLE::kMask);
    gpu.write_register(reg::kIhDoorbellRange, field::BIF_IH_DOORBELL_RANGE::OFFSET::of(kDoorbellIndex * 2) |
                                                  field::BIF_IH_DOORBELL_RANGE::SIZE::of(8));
    const uint32_t size = static_cast<uint32_t>(std::bit_width(kRingBytes / 4) - 1);
    gpu.write_register(reg::kIhRbCntl, cntl::RB_ENABLE::kMask | cntl::RB_SIZE::of(size) | cntl::WPTR_WRITEBACK_ENABLE::kMask |
                                           cntl::ENABLE_INTR::kMask | cntl::WPTR_OVERFLOW_CLEAR::kMask);
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

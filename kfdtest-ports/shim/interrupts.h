// SPDX-License-Identifier: MIT
// Interrupt ring 0 as the driver sets it up and reads it; after step 9 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "kfdtest-ports/shim/gpu.h"

namespace lyra::kfd {

/// Clients and sources of the vectors that matter here. @source Linux 6.12 soc15_ih_clientid.h, soc15_int.h, ivsrcid/
namespace ih {
inline constexpr uint8_t kSdma0 = 0x08, kSdma1 = 0x09, kSe0Sh = 0x0a, kSe3Sh = 0x0d, kVmc = 0x12, kGrbmCp = 0x14, kUtcl2 = 0x1b;
inline constexpr uint8_t kCpEndOfPipe = 181, kCpBadOpcode = 183, kSdmaTrap = 224, kSqMessage = 239;
}  // namespace ih

/// One vector. @source Linux 6.12 amdgpu_ih.c amdgpu_ih_decode_iv_helper()
struct InterruptVector {
    uint8_t client = 0, source = 0, ring_id = 0, vmid = 0;
    uint16_t pasid = 0;
    std::array<uint32_t, 4> data{};
};

class InterruptRing {
public:
    explicit InterruptRing(Gpu& gpu);
    /// Hand every vector up to the write pointer to the function, then ring the read pointer's doorbell.
    void drain(const std::function<void(const InterruptVector&)>& handle);

    uint64_t vectors() const { return vectors_; }
    /// Of every dword of every vector read so far, timestamps among them.
    uint64_t digest() const { return digest_; }

private:
    Gpu& gpu_;
    uint64_t ring_ = 0, wptr_ = 0;  ///< offsets in system memory
    uint32_t rptr_ = 0;
    uint64_t vectors_ = 0, digest_ = 0xcbf29ce484222325;
};

}  // namespace lyra::kfd

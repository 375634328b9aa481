// SPDX-License-Identifier: MIT
// A PM4 ring of the kernel (KIQ or HIQ) with its descriptor, pointers and doorbell.
#pragma once

#include <cstdint>

#include "kfdtest-ports/shim/gart.h"
#include "kfdtest-ports/shim/mqd.h"
#include "kfdtest-ports/shim/packets.h"

namespace lyra::kfd {

class KernelRing {
public:
    /// @param bytes power of two  @param doorbell_bytes offset in the doorbell BAR
    KernelRing(Gpu& gpu, Gart& gart, uint32_t bytes, uint32_t doorbell_bytes);

    const QueueProperties& properties() const { return properties_; }
    KernelBuffer& mqd() { return mqd_; }

    /// Put packets into the ring; none of them crosses its end.
    /// @return false: the device does not make room for it
    bool emit(const Words& packet);
    /// Hand over what was emitted.
    void ring();
    bool submit(const Words& packet) {
        const bool room = emit(packet);
        ring();
        return room;
    }
    /// The device has read everything.
    bool drained() const { return read_pointer() == (wptr_ & (dwords_ - 1)); }

private:
    uint32_t read_pointer() const { return *reinterpret_cast<volatile uint32_t*>(pointers_.host); }

    Gpu& gpu_;
    uint32_t dwords_ = 0;
    KernelBuffer ring_, pointers_, mqd_;  ///< pointers: rptr, wptr at 8
    QueueProperties properties_;
    uint64_t wptr_ = 0;
};

}  // namespace lyra::kfd

// SPDX-License-Identifier: MIT
// The host data path: how the host's loads and stores of VRAM (BAR0) reach memory, and the registers that flush it.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "common/env.h"
#include "common/memory_port.h"
#include "common/snapshot.h"
#include "qemu-hw/soc/bus_memory.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

/// Strict::hdp: stores wait here until a flush, and only the host sees them before. Hardware lets go of them by itself at some
/// time, and KFDMemoryTest.HostHdpFlush needs that; here kHoldNs after the first. A driver that relies on it has a race.
/// Otherwise VRAM is memory that the host maps, and read() and write() are unused.
/// @source Linux 6.12 nbio_v7_4.c, amdgpu_device_flush_hdp()
class Hdp : public RegisterBlock {
public:
    /// No public figure. Far longer than a doorbell takes to be served, so that a missing flush shows.
    static constexpr uint64_t kHoldNs = 100'000'000;

    Hdp(Env& env, RegisterFile& registers, BusMemory& bus);

    /// BAR0. Bytes outside VRAM read as ones, and stores there have no effect. From any thread. @param size up to 8
    uint64_t read_vram(uint64_t offset, unsigned size);
    void write_vram(uint64_t offset, uint64_t value, unsigned size);

    /// What waits reaches VRAM.
    void flush();
    /// The same without being asked for.
    void drain();
    /// When stores that wait leave by themselves, device time; kNever if there are none. From any thread.
    uint64_t leaves_ns() const { return leaves_ns_.load(std::memory_order_relaxed); }
    /// They leave if that time has come.
    void age();
    /// What waits is lost.
    void reset();
    void visit(StateVisitor& v);

    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;

private:
    struct Page {
        std::array<uint8_t, kPageBytes> data;
        std::bitset<kPageBytes> waits;
        void visit(StateVisitor& v);
    };
    void flush_locked();

    Env& env_;
    RegisterFile& registers_;
    BusMemory& bus_;
    std::mutex lock_;  ///< the host's processors do not wait for the device
    std::unordered_map<uint64_t, Page> pages_;  ///< by page number in VRAM
    std::atomic<uint64_t> leaves_ns_{kNever};
    uint64_t done_ns_ = 0;                      ///< virtual time: when the last flush is over
};

}  // namespace lyra

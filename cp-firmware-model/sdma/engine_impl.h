// SPDX-License-Identifier: MIT
// Insides of one SDMA engine, shared by engine.cpp (registers, run loop), queue.cpp (HWS), packets.cpp and copy.cpp (actions).
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/packets/sdma.h"
#include "cp-firmware-model/sdma/engine.h"
#include "facts/register_fields.h"
#include "facts/registers.h"

namespace lyra {

namespace sdma {

/// Of the user queues the first two have registers in our map; a driver that leaves scheduling to firmware needs none of the
/// others.
inline constexpr uint32_t kRingsWithRegisters = 4, kGfx = 0, kPage = 1, kFirstRlc = 2;
inline constexpr uint32_t kRingBase = regs::kSdmaRings, kRingStride = regs::kSdmaRingStride;
inline constexpr uint32_t kRegisters = kRingBase + kRingsWithRegisters * kRingStride;

/// Work of one run() call, and what a packet costs beside its bytes. Keeps a call below about a millisecond.
inline constexpr int64_t kBytesPerRun = 1 << 20;
inline constexpr int64_t kPacketCost = 256;
inline constexpr int64_t kBytesPerTurn = 1 << 16;  ///< virtual time: until another ring may have its turn
/// An unmap waits for the packet in progress when no more than this is left of it; a larger one is taken back to its start.
inline constexpr uint64_t kDrainBytes = 16 << 20;

namespace reg {
enum : uint32_t {
#define SDMA_REG(name, offset, reset, access) name = offset,
#define SDMA_RING_REG(name, offset, reset, access)
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING_REG
};
}  // namespace reg
namespace ring_reg {
enum : uint32_t {
#define SDMA_REG(name, offset, reset, access)
#define SDMA_RING_REG(name, offset, reset, access) name = offset,
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING_REG
};
}  // namespace ring_reg

enum class RegAccess : uint8_t { None, Ram, ReadOnly, Live };

struct RegRow {
    uint32_t reset = 0;
    RegAccess access = RegAccess::None;
};

constexpr std::array<RegRow, kRingBase> engine_rows() {
    std::array<RegRow, kRingBase> rows{};
#define SDMA_REG(name, offset, reset, access) rows[offset] = {reset, RegAccess::access};
#define SDMA_RING_REG(name, offset, reset, access)
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING_REG
    return rows;
}

constexpr std::array<RegRow, kRingStride> ring_rows() {
    std::array<RegRow, kRingStride> rows{};
#define SDMA_REG(name, offset, reset, access)
#define SDMA_RING_REG(name, offset, reset, access) rows[offset] = {reset, RegAccess::access};
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING_REG
    return rows;
}

inline constexpr auto kEngineRows = engine_rows();
inline constexpr auto kRingRows = ring_rows();

namespace rb_cntl = field::SDMA_RING_RB_CNTL;  // RB_SIZE: log2 dwords

/// How an action ended.
enum class Step : uint8_t {
    Done,   ///< the packet is complete
    Again,  ///< out of budget, or the address space moved: call again
    Wait,   ///< a polled value is not there yet
    Skip,   ///< abandoned with its effect so far; the ring goes on behind it
    Stop,   ///< the ring stops until it is enabled anew
    Enter,  ///< an indirect buffer begins; the packet is consumed at its end
};

/// The packet that a ring is busy with. words is a private copy, so that the guest cannot change a packet after its checks.
struct Active {
    static constexpr auto kNone = static_cast<uint32_t>(std::size(kPackets));
    uint32_t number = kNone;  ///< of its row; kNone: at a packet boundary
    Words words{};
    uint32_t total_dw = 0;  ///< fixed part and tail
    uint64_t done = 0;      ///< bytes moved
    uint64_t left = 0;      ///< bytes to move, as far as known
    bool started = false;   ///< the write of a flush-and-poll was sent
    bool waiting = false;
    uint32_t tries = 0;
    uint64_t next_try = 0;  ///< GPU clock
    const Packet* row() const { return number == kNone ? nullptr : &kPackets[number]; }
    void visit(StateVisitor& v);
};

/// The one indirect buffer a ring can be inside; the engine has one set of IB registers per ring.
struct IbState {
    bool active = false;
    uint64_t base = 0;
    uint32_t size_dw = 0, next_dw = 0, vmid = 0;
    void visit(StateVisitor& v);
};

struct Ring {
    uint32_t index = 0;
    std::array<uint32_t, kRingStride> regs{};
    uint64_t rptr = 0, wptr = 0;  ///< bytes, monotonic
    bool wptr_from_memory = false;  ///< wptr was read there, and nothing has been rung that is not older
    IbState ib;
    uint32_t skip_dw = 0;  ///< COND_EXE, PRE_EXE: dwords still to be dropped
    Active packet;
    bool stopped = false;   ///< by a bad packet; RB_ENABLE 0 -> 1 or a reset clears it
    bool draining = false;  ///< unmap requested
    bool rptr_dirty = false, writeback_failed = false;
    bool gap_reported = false;  ///< the present wptr was reported as wrong or short
    bool mapped = false;        ///< by the HWS
    uint64_t mqd = 0;           ///< GART address
    uint16_t pasid = 0;
    uint32_t epoch = 0;  ///< changes when the position is replaced from outside

    void visit(StateVisitor& v);
    bool enabled() const { return rb_cntl::RB_ENABLE::get(regs[ring_reg::RB_CNTL]); }
    bool kernel() const { return index < kFirstRlc; }
    uint32_t ring_vmid() const { return rb_cntl::RB_VMID::get(regs[ring_reg::RB_CNTL]); }
    uint32_t vmid() const { return ib.active ? ib.vmid : ring_vmid(); }
    /// Register access: only what the kernel driver itself put there. @source docs/spec/bring-up.md 4.1; IV source 247
    bool privileged() const { return kernel() && vmid() == 0; }
    uint64_t bytes() const { return uint64_t{4} << rb_cntl::RB_SIZE::get(regs[ring_reg::RB_CNTL]); }
    uint64_t base() const {
        return make64(regs[ring_reg::RB_BASE], field::SDMA_RING_RB_BASE_HI::ADDR::get(regs[ring_reg::RB_BASE_HI])) << 8;
    }
    uint64_t rptr_address() const { return make64(regs[ring_reg::RB_RPTR_ADDR_LO] & ~3u, regs[ring_reg::RB_RPTR_ADDR_HI]); }
    void abandon() {
        packet = {};
        ib = {};
        skip_dw = 0;
        gap_reported = false;
        ++epoch;
    }
};

}  // namespace sdma

struct SdmaEngine::Impl {
    using Ring = sdma::Ring;
    using Step = sdma::Step;

    Impl(Env& env, CpBus& bus, unsigned index, Chip chip);

    // engine.cpp
    void reset();
    void visit(StateVisitor& v);
    bool read_register(uint32_t offset, uint32_t& value);
    bool write_register(uint32_t offset, uint32_t value);
    uint32_t read_ring_register(const Ring& ring, uint32_t offset) const;
    void write_ring_register(Ring& ring, uint32_t offset, uint32_t value);
    bool doorbell(uint32_t byte_offset, uint64_t value);
    RunState run();
    RunState run_rings(int64_t& budget);
    RunState run_paced();
    RunState run_ring(Ring& ring, int64_t& budget);
    bool halted() const;
    bool pending(const Ring& ring) const;
    bool begin_packet(Ring& ring);
    uint64_t available_dw(Ring& ring);
    bool short_packet(Ring& ring, uint64_t dwords);
    void consume(Ring& ring, uint64_t dwords);
    void finish(Ring& ring, Step step);
    void stop(Ring& ring, Fault fault, std::string_view detail);
    void write_back_rptr(Ring& ring);

    // queue.cpp
    int map_queue(uint64_t mqd, uint64_t wptr_address, uint32_t doorbell_bytes, uint32_t vmid, uint16_t pasid);
    bool unmap_queue(unsigned slot);
    void reset_queue(unsigned slot);
    void release(Ring& ring);

    // packets.cpp: actions by sdma::Handler
    Step execute(Ring& ring, int64_t& budget);
    Step nop(Ring&, int64_t&);
    Step todo(Ring&, int64_t&);
    Step indirect(Ring&, int64_t&);
    Step fence(Ring&, int64_t&);
    Step trap(Ring&, int64_t&);
    Step poll(Ring&, int64_t&);
    Step register_to_memory(Ring&, int64_t&);
    Step cond_exe(Ring&, int64_t&);
    Step atomic(Ring&, int64_t&);
    Step timestamp_set(Ring&, int64_t&);
    Step timestamp_get(Ring&, int64_t&);
    Step timestamp_global(Ring&, int64_t&);
    Step register_write(Ring&, int64_t&);
    Step pre_exe(Ring&, int64_t&);
    template <class T>
    Step atomic_on(Ring& ring, uint32_t kind, uint64_t va);
    Step store_clock(Ring& ring, int64_t& budget, uint64_t address, uint64_t offset);
    Step wait(Ring& ring, uint32_t interval, uint32_t retries);
    bool refuse_unprivileged(Ring& ring);
    void interrupt(const Ring& ring, uint8_t source, uint32_t data);

    // copy.cpp: data movement
    Step copy(Ring&, int64_t&);
    Step copy_broadcast(Ring&, int64_t&);
    Step copy_rect(Ring&, int64_t&);
    Step write(Ring&, int64_t&);
    Step const_fill(Ring&, int64_t&);
    Step gen_pte_pde(Ring&, int64_t&);
    Fault read_memory(uint32_t vmid, uint64_t va, void* data, uint64_t size);
    Fault write_memory(uint32_t vmid, uint64_t va, const void* data, uint64_t size);
    Fault move_within_pages(uint32_t vmid, uint64_t source, uint64_t destination, uint64_t size);
    Fault fetch(const Ring& ring, uint64_t skip_dw, uint32_t* words, uint64_t count);
    void count_bytes(Ring& ring, uint64_t size, int64_t& budget);
    template <class T>
    Fault load(uint32_t vmid, uint64_t va, T& value);
    template <class T>
    Fault store(uint32_t vmid, uint64_t va, T value);
    Step vm_fault(const Ring& ring, Fault fault, uint64_t va);

    Env& env;
    CpBus& bus;
    const uint32_t index;
    const bool starts_running;
    const unsigned count_bits;  ///< of COPY_LINEAR
    std::array<uint32_t, sdma::kRingBase> regs{};
    std::vector<Ring> rings;
    uint32_t first_ring = 0;        ///< takes the first turn of the next run()
    uint64_t next_run_ns = 0;       ///< virtual time
    uint64_t timestamp_offset = 0;  ///< TIMESTAMP_SET: added to the GPU clock
};

/// One aligned value, seen by other agents whole or not at all. T is uint32_t or uint64_t; va is aligned to it.
template <class T>
Fault SdmaEngine::Impl::load(uint32_t vmid, uint64_t va, T& value) {
    if (const uint8_t* p = bus.mmhub(index).page(vmid, va, Access::Read)) {
        value = __atomic_load_n(reinterpret_cast<const T*>(p), __ATOMIC_ACQUIRE);
        return Fault::None;
    }
    return bus.mmhub(index).read(vmid, va, &value, sizeof value);
}

template <class T>
Fault SdmaEngine::Impl::store(uint32_t vmid, uint64_t va, T value) {
    if (uint8_t* p = bus.mmhub(index).page(vmid, va, Access::Write)) {
        __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELEASE);
        return Fault::None;
    }
    return bus.mmhub(index).write(vmid, va, &value, sizeof value);
}

}  // namespace lyra

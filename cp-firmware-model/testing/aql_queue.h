// SPDX-License-Identifier: MIT
// Test fixture: one AQL queue with its ring, amd_queue_t, signals and a kernel descriptor in flat memory.
#pragma once

#include <gtest/gtest.h>

#include <bit>

#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/testing/fake_compute_unit.h"
#include "cp-firmware-model/testing/flat_bus.h"

namespace lyra::testing {

inline constexpr uint64_t kRing = 0x100000, kQueue = 0x200000, kInactive = 0x300000, kSignals = 0x310000, kMailbox = 0x320000,
                          kDescriptor = 0x400000, kKernarg = 0x500000, kWptr = kQueue + 0x38, kRptr = kQueue + 0x80;
inline constexpr unsigned kPackets = 16;

/// Indirect buffers that take a number of steps, may wait, and may be bad.
class FakeIbRunner : public IbRunner {
public:
    RunState step_ib(Hqd& hqd) override {
        ++steps;
        if (bad) {
            hqd.state = HqdState::Stopped;
            return RunState::Idle;
        }
        if (hqd.pm4.ib_stack.empty()) return RunState::Idle;
        IndirectBuffer& ib = hqd.pm4.ib_stack.back();
        if (waiting) return RunState::Polling;
        ++ib.next_dw;
        ++executed;
        if (ib.next_dw >= ib.size_dw) hqd.pm4.ib_stack.pop_back();
        return hqd.pm4.ib_stack.empty() ? RunState::Idle : RunState::Busy;
    }
    unsigned steps = 0, executed = 0;
    bool bad = false, waiting = false;
};

class AqlQueueTest : public ::testing::Test {
protected:
    explicit AqlQueueTest(Waves waves = Waves::Fake)
        : dispatcher(env, bus, shape, waves == Waves::Real ? gcn::MakeCu() : fakes.maker()) {
        FlatMemory& m = bus.memory;
        m.map(kRing, kPackets * 64);
        m.map(kQueue, 0x1000);
        m.map(kInactive, 0x1000);
        m.map(kSignals, 0x4000);
        m.map(kMailbox, 0x1000);
        m.map(kDescriptor, 0x1000);
        for (unsigned i = 0; i < kPackets; ++i) m.put<uint16_t>(kRing + 64 * i, 1);
        m.put<uint32_t>(kQueue + 0x88, 0x80);
        m.put<uint64_t>(kQueue + 0xc0, kInactive);
        m.put<int64_t>(kDescriptor + 16, 0x100);
        m.put<uint32_t>(kDescriptor + 52, 2 << 1);
        m.put<uint16_t>(kDescriptor + 56, 1 << 3);
        bus.vm[9].pasid = 0x8003;
        hqd.me = 1;
        hqd.pipe = 2;
        hqd.queue = 3;
        hqd.regs[hqd_reg::CP_HQD_VMID] = 9;
        hqd.regs[hqd_reg::CP_HQD_AQL_CONTROL] = 1;
        hqd.regs[hqd_reg::CP_HQD_PQ_BASE] = kRing >> 8;
        hqd.regs[hqd_reg::CP_HQD_PQ_CONTROL] = std::countr_zero(kPackets * 16u) - 1;
        hqd.regs[hqd_reg::CP_HQD_PQ_RPTR_REPORT_ADDR] = kRptr;
        hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR] = kWptr;
        hqd.regs[hqd_reg::CP_HQD_PQ_DOORBELL_CONTROL] = 0x2008 * 4 & 0x0ffffffc;
        for (const unsigned dw : {23, 24, 26, 27, 39, 40, 41, 42}) hqd.compute[dw] = ~0u;
        map();
    }

    void map() {
        hqd.state = HqdState::Active;
        aql.load(hqd);
    }
    static uint64_t signal(unsigned n) { return kSignals + 64 * n; }
    int64_t signal_value(unsigned n) { return bus.memory.get<int64_t>(signal(n) + 8); }
    void set_signal(unsigned n, int64_t value) { bus.memory.put<int64_t>(signal(n) + 8, value); }
    int64_t inactive() { return bus.memory.get<int64_t>(kInactive + 8); }
    uint64_t read_index() { return bus.memory.get<uint64_t>(kRptr); }
    uint16_t header(uint64_t index) { return bus.memory.get<uint16_t>(kRing + index % kPackets * 64); }

    struct Packet : AqlPacket {
        template <class T>
        Packet& put(unsigned offset, T value) {
            std::memcpy(bytes.data() + offset, &value, sizeof value);
            return *this;
        }
        Packet& barrier_bit() { return put<uint8_t>(1, 1); }
        Packet& completion(uint64_t signal) { return put<uint64_t>(0x38, signal); }
    };
    static Packet kernel(uint32_t grid = 64, uint16_t group = 64) {
        Packet p;
        p.put<uint16_t>(0, 2).put<uint16_t>(2, 1).put<uint16_t>(4, group).put<uint16_t>(6, 1).put<uint16_t>(8, 1);
        p.put<uint32_t>(0xc, grid).put<uint32_t>(0x10, 1).put<uint32_t>(0x14, 1);
        p.put<uint64_t>(0x20, kDescriptor).put<uint64_t>(0x28, kKernarg);
        return p;
    }
    static Packet barrier(uint8_t type, std::initializer_list<uint64_t> signals = {}) {
        Packet p;
        p.put<uint16_t>(0, type);
        unsigned offset = 8;
        for (const uint64_t s : signals) p.put<uint64_t>(std::exchange(offset, offset + 8), s);
        return p;
    }
    static Packet barrier_value(uint64_t signal, int64_t value, int64_t mask, uint32_t condition) {
        Packet p;
        p.put<uint16_t>(0, 0).put<uint8_t>(2, 2).put<uint64_t>(8, signal).put<int64_t>(0x10, value).put<int64_t>(0x18, mask);
        return p.put<uint32_t>(0x20, condition);
    }
    static Packet ib(uint64_t base, uint32_t dwords) {
        Packet p;
        p.put<uint16_t>(0, 0).put<uint16_t>(2, 1).put<uint32_t>(4, 0xc0023f00).put<uint32_t>(8, lo32(base));
        return p.put<uint32_t>(0xc, hi32(base)).put<uint32_t>(0x10, dwords | 1u << 23).put<uint32_t>(0x14, 0xa);
    }

    void write_packet(uint64_t index, const AqlPacket& p) {
        bus.memory.write(9, kRing + index % kPackets * 64, p.bytes.data(), p.bytes.size());
    }
    /// Write a packet to the next slot and ring.
    uint64_t submit(const AqlPacket& p) {
        const uint64_t index = next_index++;
        write_packet(index, p);
        bus.memory.put<uint64_t>(kWptr, next_index);
        aql.doorbell(hqd, index);
        return index;
    }
    RunState step() { return aql.step(hqd); }
    /// Step queue and dispatcher until nothing changes.
    RunState settle() {
        RunState run = RunState::Busy;
        for (unsigned i = 0; i < 1000; ++i) {
            run = step();
            const RunState waves = dispatcher.run(1000);
            if (run != RunState::Busy && waves == RunState::Idle) break;
        }
        return run;
    }

    FakeHost host;
    Env env{host};
    FlatBus bus;
    GpuShape shape{4, 2, 32};
    FakeCus fakes;
    Dispatcher dispatcher;
    FakeIbRunner ib_runner;
    AqlProcessor aql{env, bus, dispatcher, ib_runner};
    Hqd hqd;
    uint64_t next_index = 0;
};

}  // namespace lyra::testing

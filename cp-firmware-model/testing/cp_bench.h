// SPDX-License-Identifier: MIT
// Bench: a whole command processor with two SDMA engines on a flat bus, brought up as the driver does it.
#pragma once

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cp-firmware-model/command_processor.h"
#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/testing/fake_compute_unit.h"
#include "cp-firmware-model/testing/flat_bus.h"

namespace lyra::testing {

using Words = std::vector<uint32_t>;

inline Words packet(pm4::Opcode opcode, const Words& body) {
    Words words{pm4::header(opcode, static_cast<uint32_t>(body.size()))};
    words.insert(words.end(), body.begin(), body.end());
    return words;
}

/// The rest of the chip: registers and doorbells come back to the command processor, as on the real bus.
class RigBus : public FlatBus {
public:
    uint32_t read_register(uint32_t dw) override {
        uint32_t value = 0;
        if (cp && cp->read_register(dw, select, value)) return value;
        return FlatBus::read_register(dw);
    }
    void write_register(uint32_t dw, uint32_t value) override {
        if (cp && cp->write_register(dw, select, value)) return;
        FlatBus::write_register(dw, value);
    }
    void bind_process(uint32_t vmid, const ProcessBinding& binding) override {
        FlatBus::bind_process(vmid, binding);
        bound.insert(vmid);
        if (on_bind) on_bind();
        bindings[vmid] = binding;
    }
    void release_vmid(uint32_t vmid) override { bound.erase(vmid); }
    void invalidate_tlb_pasid(uint16_t pasid, bool all_hubs) override { invalidated.push_back({pasid, all_hubs}); }
    void doorbell(uint64_t offset, uint64_t value) override {
        if (!cp || !cp->doorbell(static_cast<uint32_t>(offset), value)) FlatBus::doorbell(offset, value);
    }

    CommandProcessor* cp = nullptr;
    GrbmSelect select;
    std::set<uint32_t> bound;
    std::function<void()> on_bind;  ///< a VMID was given
    std::map<uint32_t, ProcessBinding> bindings;
    std::vector<std::pair<uint16_t, bool>> invalidated;
};

/// A PM4 ring in memory, with its MQD.
struct TestRing {
    uint64_t base = 0, dwords = 512;
    uint64_t mqd = 0, rptr = 0, wptr_address = 0;
    uint32_t doorbell = 0;
    uint64_t wptr = 0;
};

/// With LYRA_TEST_STREAM in the environment something is done after each of the first runs, and after some of the later ones.
class StreamedCp : public CommandProcessor {
public:
    using CommandProcessor::CommandProcessor;
    RunState run(uint64_t instruction_budget) {
        const RunState state = CommandProcessor::run(instruction_budget);
        ran();
        return state;
    }
    uint64_t run_until(uint64_t ns) {
        const uint64_t next = CommandProcessor::run_until(ns);
        ran();
        return next;
    }
    std::function<void()> after_run;

private:
    static constexpr unsigned kAll = 40, kEach = 53;  ///< tests take many thousand, sanitized ones ten times as long
    void ran() {
        if (after_run && (++runs_ <= kAll || runs_ % kEach == 0)) after_run();
    }
    unsigned runs_ = 0;
};

struct CpBench {
    static constexpr uint64_t kKiqBase = 0x100000, kHiqBase = 0x110000, kKcqBase = 0x120000, kUserBase = 0x200000,
                              kGfxBase = 0x130000, kScratch = 0x800000, kIb = 0x900000, kRunList = 0xa00000;
    static constexpr uint32_t kScratchReg = 0x30100 / 4;
    static constexpr uint32_t kAllKfdSlots = 0xfcfcfcfc, kKfdVmids = 0xff00;

    explicit CpBench(const GpuShape& shape = test_shape(2, 2), Waves waves = Waves::Real)
        : cp(env, bus, shape, sdma0, sdma1, waves == Waves::Real ? gcn::MakeCu() : fakes.maker()) {
        bus.cp = &cp;
        if (std::getenv("LYRA_TEST_STREAM") != nullptr) {
            cp.after_run = [this] {
                if (const std::string wrong = through_a_stream(); !wrong.empty()) throw std::runtime_error(wrong);
            };
        }
        bus.memory.map(kScratch, 0x100000);
        bus.memory.map(kIb, 0x40000);
        bus.memory.map(kRunList, 0x10000);
    }

    // --- memory and registers ---
    uint32_t word(uint64_t address) { return bus.memory.get<uint32_t>(address); }
    uint64_t qword(uint64_t address) { return bus.memory.get<uint64_t>(address); }
    void put_words(uint64_t address, const Words& words) { bus.memory.write(0, address, words.data(), words.size() * 4); }
    uint32_t reg(uint32_t byte, GrbmSelect select = {}) {
        bus.select = select;
        const uint32_t value = bus.read_register(byte / 4);
        bus.select = {};
        return value;
    }
    void set_reg(uint32_t byte, uint32_t value, GrbmSelect select = {}) {
        bus.select = select;
        bus.write_register(byte / 4, value);
        bus.select = {};
    }
    uint64_t faults(Fault fault) const { return env.stats.get(fault); }
    unsigned interrupts(uint8_t source) const {
        unsigned n = 0;
        for (const Interrupt& i : bus.interrupts) n += i.client == ih_client::kGrbmCp && i.source == source;
        return n;
    }

    /// The state of command processor and engines leaves them and comes back. @return what was wrong
    std::string through_a_stream() {
        const auto visit = [this](StateVisitor& v) {
            v("cp", cp);
            v("sdma0", sdma0);
            v("sdma1", sdma1);
        };
        const auto write = [&] {
            StateWriter writer;
            visit(writer);
            return writer.take();
        };
        const std::vector<uint8_t> bytes = write();
        cp.reset();
        sdma0.reset();
        sdma1.reset();
        StateLoader loader(bytes);
        visit(loader);
        loader.finish();
        if (!loader.ok()) return loader.error();
        StateComparer comparer(bytes);
        visit(comparer);
        return comparer.differences().empty() ? "" : comparer.differences().front();
    }

    // --- rings ---
    TestRing make_ring(uint64_t base, uint32_t doorbell, uint64_t dwords = 512) {
        TestRing ring;
        ring.base = base;
        ring.dwords = dwords;
        ring.doorbell = doorbell;
        ring.mqd = base + 0x8000;
        ring.rptr = base + 0xa000;
        ring.wptr_address = base + 0xa008;
        bus.memory.map(base, 0xc000);
        bus.memory.put<uint64_t>(ring.rptr, 0);
        bus.memory.put<uint64_t>(ring.wptr_address, 0);
        Words mqd(512);
        mqd[0] = 0xc0310800;
        for (unsigned dword : {23, 24, 26, 27, 39, 40, 41, 42}) mqd[dword] = ~0u;
        mqd[128] = lo32(ring.mqd);
        mqd[129] = hi32(ring.mqd);
        mqd[136] = lo32(base >> 8);
        mqd[137] = hi32(base >> 8);
        mqd[139] = lo32(ring.rptr);
        mqd[141] = lo32(ring.wptr_address);
        mqd[143] = doorbell;
        mqd[145] = static_cast<uint32_t>(__builtin_ctzll(dwords) - 1);
        put_words(ring.mqd, mqd);
        return ring;
    }
    void emit(TestRing& ring, const Words& words) {
        for (uint32_t w : words) bus.memory.put<uint32_t>(ring.base + (ring.wptr++ % ring.dwords) * 4, w);
    }
    bool ring_bell(TestRing& ring) {
        bus.memory.put<uint64_t>(ring.wptr_address, ring.wptr);
        return cp.doorbell(ring.doorbell, ring.wptr);
    }
    void submit(TestRing& ring, const Words& words) {
        emit(ring, words);
        ring_bell(ring);
    }
    /// @return what run() said last; Idle means that nothing is left to do
    RunState settle(unsigned rounds = 200) {
        RunState state = RunState::Busy;
        for (unsigned n = 0; n < rounds && state != RunState::Idle; ++n) state = cp.run(1000);
        return state;
    }
    void pass_ms(uint64_t ms) { host.time_ns += ms * 1'000'000; }

    // --- bring-up as the driver does it ---
    void start_mec() { set_reg(0x8234, 0); }
    void start_kiq() {
        const GrbmSelect slot{2, 1, 0, 0};
        if (reg(0xc91c, slot) == 1) return;
        kiq = make_ring(kKiqBase, 0);
        set_reg(0x3b2a8, 2 << 5 | 1 << 3);
        set_reg(0x3b2a8, 2 << 5 | 1 << 3 | 0x80);
        set_reg(0xc914, lo32(kiq.mqd), slot);
        set_reg(0xc918, 0, slot);
        set_reg(0xc934, lo32(kiq.base >> 8), slot);
        set_reg(0xc938, 0, slot);
        set_reg(0xc958, 0xc0000000 | static_cast<uint32_t>(__builtin_ctzll(kiq.dwords) - 1), slot);
        set_reg(0xc940, lo32(kiq.rptr), slot);
        set_reg(0xc948, lo32(kiq.wptr_address), slot);
        set_reg(0xc950, 1u << 30, slot);
        set_reg(0xc9ec, 0, slot);
        set_reg(0xc9f0, 0, slot);
        set_reg(0xc920, 0, slot);
        set_reg(0xc91c, 1, slot);
        start_mec();
    }
    static Words kiq_map(const TestRing& ring, unsigned me, unsigned pipe, unsigned queue, unsigned engine) {
        return packet(pm4::Opcode::MAP_QUEUES,
                      {queue << 13 | pipe << 16 | (me - 1) << 18 | engine << 26 | 1u << 29, ring.doorbell, lo32(ring.mqd),
                       hi32(ring.mqd), lo32(ring.wptr_address), hi32(ring.wptr_address)});
    }
    static Words kiq_unmap(const TestRing& ring, unsigned action) {
        return packet(pm4::Opcode::UNMAP_QUEUES, {action | 1u << 29, ring.doorbell, 0, 0, 0});
    }
    /// The gfx ring. @source Linux 6.12 gfx_v9_0_cp_gfx_resume()
    TestRing start_gfx(bool unhalt = true) {
        TestRing ring = make_ring(kGfxBase, 0x458, 1024);
        set_reg(0xc144, 0);
        set_reg(0xc104, 9);
        set_reg(0xc150, 0);
        set_reg(0xc154, 0);
        set_reg(0xc10c, lo32(ring.rptr));
        set_reg(0xc110, 0);
        set_reg(0xc104, 9);
        set_reg(0xc100, lo32(ring.base >> 8));
        set_reg(0xc2c4, 0);
        set_reg(0xc164, 0x458 | 1u << 30);
        if (unhalt) set_reg(0x86d8, 0);
        return ring;
    }
    /// A kernel compute ring on ME1 pipe 0 queue 0.
    void start_kcq() {
        start_kiq();
        kcq = make_ring(kKcqBase, 0x18);
        submit(kiq, kiq_map(kcq, 1, 0, 0, 0));
        settle();
    }
    void start_hiq(uint32_t vmids = kKfdVmids, uint32_t slots = kAllKfdSlots) {
        start_kiq();
        hiq = make_ring(kHiqBase, 0x2000);
        submit(kiq, kiq_map(hiq, 2, 0, 0, 1));
        settle();
        submit(hiq, packet(pm4::Opcode::SET_RESOURCES, {vmids | 40u << 16 | 1u << 29, slots, 0, ~0u, ~0u, 0, 0}));
        settle();
    }
    static Words map_process(uint16_t pasid, uint32_t body_dwords = 15) {
        Words body(body_dwords);
        body[0] = pasid | 10u << 25;
        body[1] = 0x1000u * pasid | 1;
        body[3] = 0x00010002;
        body[4] = 0x18;
        body[5] = 0x1234;
        body[6] = 0x800000ff;
        body[7] = 0x5678;
        return packet(pm4::Opcode::MAP_PROCESS, body);
    }
    static Words map_queue(const TestRing& ring, uint32_t control = 1u << 29 | 1u << 4) {
        return packet(pm4::Opcode::MAP_QUEUES, {control, ring.doorbell, lo32(ring.mqd), hi32(ring.mqd), lo32(ring.wptr_address),
                                                hi32(ring.wptr_address)});
    }
    static Words run_list_packet(uint64_t base, size_t dwords, unsigned processes, bool chain = false) {
        return packet(
            pm4::Opcode::RUN_LIST,
            {lo32(base), hi32(base), static_cast<uint32_t>(dwords) | uint32_t{chain} << 20 | 1u << 23 | processes << 24});
    }
    void run_list(const std::vector<Words>& packets, unsigned processes = 8, bool chain = false) {
        Words list;
        for (const Words& p : packets) list.insert(list.end(), p.begin(), p.end());
        if (chain) {
            const Words loop = run_list_packet(kRunList, list.size() + 4, processes, true);
            list.insert(list.end(), loop.begin(), loop.end());
        }
        put_words(kRunList, list);
        submit(hiq, run_list_packet(kRunList, list.size(), processes));
    }
    static Words unmap(uint32_t select, uint32_t action = 0, uint32_t pasid = 0) {
        return packet(pm4::Opcode::UNMAP_QUEUES, {action | select << 4, pasid, 0, 0, 0});
    }
    static Words query_status(uint64_t address, uint64_t data, uint32_t command = 2) {
        return packet(pm4::Opcode::QUERY_STATUS, {command << 30, 0, lo32(address), hi32(address), lo32(data), hi32(data)});
    }
    TestRing user_ring(unsigned n) { return make_ring(kUserBase + n * 0x10000, 0x4000 + n * 8); }
    /// One user queue of PASID 0x8001, mapped by a run list.
    void start_user() {
        start_hiq();
        user = user_ring(0);
        run_list({map_process(0x8001), map_queue(user)});
        settle();
    }

    static Words write_data(uint64_t address, const Words& data, uint32_t control = 5 << 8 | 1 << 20) {
        Words body{control, lo32(address), hi32(address)};
        body.insert(body.end(), data.begin(), data.end());
        return packet(pm4::Opcode::WRITE_DATA, body);
    }
    static Words release_mem(uint64_t address, uint64_t data, uint32_t data_sel, uint32_t int_sel, uint32_t context) {
        return packet(pm4::Opcode::RELEASE_MEM,
                      {0x514, data_sel << 29 | int_sel << 24, lo32(address), hi32(address), lo32(data), hi32(data), context});
    }
    static Words indirect(uint64_t address, size_t dwords, uint32_t flags = 0) {
        return packet(pm4::Opcode::INDIRECT_BUFFER, {lo32(address), hi32(address), static_cast<uint32_t>(dwords) | flags});
    }
    /// COMPUTE state for groups of 64, then a grid of that many groups.
    static Words dispatch(uint32_t groups) {
        Words words = packet(pm4::Opcode::SET_SH_REG, {0x207, 64, 1, 1});
        const Words direct = packet(pm4::Opcode::DISPATCH_DIRECT, {groups, 1, 1, 1});
        words.insert(words.end(), direct.begin(), direct.end());
        return words;
    }
    /// Waves of this plan until further notice.
    void plan(WavePlan wave) {
        fakes.plan = [wave](const gcn::WorkgroupLaunch&) { return wave; };
    }

    FakeHost host;
    Env env{host};
    RigBus bus;
    FakeCus fakes;
    SdmaEngine sdma0{env, bus, 0}, sdma1{env, bus, 1};
    StreamedCp cp;
    TestRing kiq, hiq, kcq, user;
};

}  // namespace lyra::testing

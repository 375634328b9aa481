// SPDX-License-Identifier: MIT
// A small chip around one SDMA engine for tests and the fuzzer: paged memory by VMID, a register page, recorded interrupts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/snapshot.h"
#include "cp-firmware-model/sdma/engine.h"
#include "cp-firmware-model/sdma/engine_impl.h"

namespace lyra::sdma_test {

namespace reg = sdma::reg;
namespace ring_reg = sdma::ring_reg;

/// One address space per VMID; pages are memory or registers, with permissions. Both hubs are this.
class FakeMemory : public MemoryPort {
public:
    struct Page {
        size_t frame = 0;
        bool writable = true, is_register = false;
    };

    uint64_t map(uint32_t vmid, uint64_t va, uint64_t bytes, bool writable = true) {
        for (uint64_t at = 0; at < bytes; at += kPageBytes) {
            frames_.emplace_back();
            pages_[{vmid, (va + at) / kPageBytes}] = {frames_.size() - 1, writable, false};
        }
        return va;
    }
    void map_register_page(uint32_t vmid, uint64_t va) { pages_[{vmid, va / kPageBytes}] = {0, true, true}; }
    void alias(uint32_t vmid, uint64_t va, uint64_t target) {
        pages_[{vmid, va / kPageBytes}] = pages_.at({vmid, target / kPageBytes});
    }
    void protect(uint32_t vmid, uint64_t va) { pages_.at({vmid, va / kPageBytes}).writable = false; }
    void unmap(uint32_t vmid, uint64_t va) {
        pages_.erase({vmid, va / kPageBytes});
        translations_changed();
    }

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        const Page* p = find(vmid, va, access == Access::Write || access == Access::Atomic);
        if (!p || p->is_register) return nullptr;
        return frames_[p->frame].bytes.data() + va % kPageBytes;
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        std::memset(data, 0, size);
        if (const Fault fault = check(vmid, va, size, false); fault != Fault::None) return fault;
        for (size_t i = 0; i < size; ++i) {
            const Page* p = find(vmid, va + i, false);
            if (!p->is_register) static_cast<uint8_t*>(data)[i] = frames_[p->frame].bytes[(va + i) % kPageBytes];
        }
        return Fault::None;
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        if (const Fault fault = check(vmid, va, size, true); fault != Fault::None) return fault;
        for (size_t i = 0; i < size; ++i) {
            const Page* p = find(vmid, va + i, true);
            if (!p->is_register) frames_[p->frame].bytes[(va + i) % kPageBytes] = static_cast<const uint8_t*>(data)[i];
        }
        if (find(vmid, va, true)->is_register && on_register_page) on_register_page();
        return Fault::None;
    }

    template <class T>
    T get(uint32_t vmid, uint64_t va) {
        T value{};
        read(vmid, va, &value, sizeof value);
        return value;
    }
    template <class T>
    void put(uint32_t vmid, uint64_t va, T value) {
        write(vmid, va, &value, sizeof value);
    }

    unsigned vm_faults = 0;
    bool retries = false;
    void (*on_register_page)() = nullptr;

private:
    struct alignas(64) Frame {
        std::array<uint8_t, kPageBytes> bytes{};
    };
    const Page* find(uint32_t vmid, uint64_t va, bool writes) const {
        const auto it = pages_.find({vmid, va / kPageBytes});
        return it == pages_.end() || (writes && !it->second.writable) ? nullptr : &it->second;
    }
    Fault check(uint32_t vmid, uint64_t va, size_t size, bool writes) {
        for (size_t i = 0; i < size; i += 1) {
            if (find(vmid, va + i, writes)) continue;
            ++vm_faults;
            return retries ? Fault::PageRetry : Fault::PageNotPresent;
        }
        return Fault::None;
    }
    std::map<std::pair<uint32_t, uint64_t>, Page> pages_;
    std::deque<Frame> frames_;  ///< every page an allocation of its own, so that the sanitizer sees a step across its end
};

class FakeBus : public CpBus {
public:
    MemoryPort& gfxhub() override { return memory; }
    MemoryPort& mmhub(unsigned) override { return memory; }
    uint32_t read_register(uint32_t dw) override {
        ++register_reads;
        const uint32_t base = 0x1260;
        uint32_t value = 0;
        if (engine && dw >= base && engine->read_register(dw - base, value)) return value;
        return registers[dw];
    }
    void write_register(uint32_t dw, uint32_t value) override {
        ++register_writes;
        if (engine && dw >= 0x1260 && engine->write_register(dw - 0x1260, value)) return;
        if (engine && dw == kResetRegister) engine->reset();
        registers[dw] = value;
    }
    void interrupt(const Interrupt& iv) override { interrupts.push_back(iv); }
    void bind_process(uint32_t, const ProcessBinding&) override {}
    void release_vmid(uint32_t) override {}
    VmidState vmid_state(uint32_t vmid) override {
        VmidState state;
        state.pasid = static_cast<uint16_t>(0x100 + vmid);
        return state;
    }
    void invalidate_tlb(uint32_t, bool) override {}
    void invalidate_tlb_pasid(uint16_t, bool) override {}
    void doorbell(uint64_t, uint64_t) override {}

    static constexpr uint32_t kResetRegister = 0x3000;
    FakeMemory memory;
    SdmaEngine* engine = nullptr;
    std::map<uint32_t, uint32_t> registers;
    std::vector<Interrupt> interrupts;
    unsigned register_reads = 0, register_writes = 0;
};

class FakeHost : public Host {
public:
    uint64_t now_ns() override { return now; }
    void raise_msi() override {}
    void log(LogLevel, std::string_view text) override { last_log = text; }
    uint64_t now = 1'000'000;
    std::string last_log;
};

/// Addresses used by the tests, in VMID 0 for the kernel ring and in kUserVmid for user queues.
inline constexpr uint64_t kRingVa = 0x100000, kRptrVa = 0x200000, kWptrVa = 0x200040, kDataVa = 0x400000, kIbVa = 0x300000;
inline constexpr uint64_t kMqdVa = 0x500000, kUnmappedVa = 0x7f0000000000;
inline constexpr uint32_t kUserVmid = 8, kDoorbell = 0x780, kUserDoorbell = 0x2780;
inline constexpr uint16_t kPasid = 0x8001;

/// With LYRA_TEST_STREAM in the environment its state leaves it after each run and comes back.
class StreamedEngine : public SdmaEngine {
public:
    using SdmaEngine::SdmaEngine;
    RunState run() {
        const RunState state = SdmaEngine::run();
        if (std::getenv("LYRA_TEST_STREAM") == nullptr) return state;
        StateWriter writer;
        writer("engine", static_cast<SdmaEngine&>(*this));
        const std::vector<uint8_t> bytes = writer.take();
        reset();
        StateLoader loader(bytes);
        loader("engine", static_cast<SdmaEngine&>(*this));
        loader.finish();
        if (!loader.ok()) throw std::runtime_error(loader.error());
        return state;
    }
};

/// The engine as the driver leaves it: not halted, GFX ring of 4 KiB at kRingVa, traps on.
struct Rig {
    explicit Rig(uint32_t ring_log2_dwords = 10, Chip chip = Chip::gfx900)
        : env(host), engine(env, bus, 0, chip), ring_log2(ring_log2_dwords) {
        bus.engine = &engine;
        for (const uint32_t vmid : {0u, kUserVmid}) {
            bus.memory.map(vmid, kRingVa, std::max<uint64_t>(ring_bytes(), kPageBytes));
            bus.memory.map(vmid, kRptrVa, kPageBytes);
            bus.memory.map(vmid, kDataVa, 64 * kPageBytes);
            bus.memory.map(vmid, kIbVa, 4 * kPageBytes);
        }
        bus.memory.map(0, kMqdVa, kPageBytes);
        engine.write_register(reg::F32_CNTL, 0);
        engine.write_register(reg::CNTL, 3);
        set(0, ring_reg::RB_BASE, kRingVa >> 8);
        set(0, ring_reg::RB_RPTR_ADDR_LO, lo32(kRptrVa));
        set(0, ring_reg::DOORBELL, 1u << 28);
        set(0, ring_reg::DOORBELL_OFFSET, kDoorbell);
        set(0, ring_reg::IB_CNTL, 1);
        set(0, ring_reg::RB_CNTL, 1 | ring_log2 << 1 | 1 << 12);
    }

    uint64_t ring_bytes() const { return uint64_t{4} << ring_log2; }
    void set(uint32_t ring, uint32_t offset, uint32_t value) {
        engine.write_register(sdma::kRingBase + ring * sdma::kRingStride + offset, value);
    }
    uint32_t get(uint32_t ring, uint32_t offset) {
        uint32_t value = 0;
        engine.read_register(sdma::kRingBase + ring * sdma::kRingStride + offset, value);
        return value;
    }
    uint64_t rptr(uint32_t ring = 0) { return make64(get(ring, ring_reg::RB_RPTR), get(ring, ring_reg::RB_RPTR_HI)); }

    /// Append to the ring in the VMID of the queue, without ringing.
    void put(const std::vector<uint32_t>& words) {
        for (const uint32_t word : words) {
            bus.memory.put<uint32_t>(vmid, kRingVa + (wptr & (ring_bytes() - 1)), word);
            wptr += 4;
        }
    }
    void ring_doorbell() { engine.doorbell(vmid ? kUserDoorbell : kDoorbell, wptr); }
    RunState submit(const std::vector<uint32_t>& words) {
        put(words);
        ring_doorbell();
        return settle();
    }
    /// Run until the engine is not busy; bounded.
    RunState settle() {
        RunState state = RunState::Busy;
        for (runs = 0; runs < 4096 && state == RunState::Busy; ++runs) state = engine.run();
        return state;
    }
    void put_ib(uint32_t in_vmid, const std::vector<uint32_t>& words, uint64_t va = kIbVa) {
        for (size_t i = 0; i < words.size(); ++i) bus.memory.put<uint32_t>(in_vmid, va + 4 * i, words[i]);
    }
    /// Map a user queue from an MQD as KFD writes it; later put() and submit() go to it.
    int map_user(uint64_t saved_rptr = 0) {
        const uint32_t mqd[] = {ring_log2 << 1 | 1 << 12 | 6 << 16, lo32(kRingVa >> 8), 0, lo32(saved_rptr), hi32(saved_rptr)};
        bus.memory.write(0, kMqdVa, mqd, sizeof mqd);
        bus.memory.put<uint32_t>(0, kMqdVa + 8 * 4, 0);
        bus.memory.put<uint32_t>(0, kMqdVa + 9 * 4, lo32(kRptrVa));
        vmid = kUserVmid;
        wptr = saved_rptr;
        bus.memory.put<uint64_t>(kUserVmid, kWptrVa, wptr);
        return engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid);
    }
    uint64_t count(Fault fault) const { return env.stats.get(fault); }
    uint32_t data32(uint64_t offset) { return bus.memory.get<uint32_t>(vmid, kDataVa + offset); }
    void fill(uint64_t offset, uint64_t bytes, uint32_t seed) {
        for (uint64_t i = 0; i < bytes; ++i) {
            bus.memory.put<uint8_t>(vmid, kDataVa + offset + i, static_cast<uint8_t>((i * 7 + (i >> 8) * 13 + seed) & 0xff));
        }
    }
    std::vector<uint8_t> bytes(uint64_t offset, uint64_t size) {
        std::vector<uint8_t> out(size);
        bus.memory.read(vmid, kDataVa + offset, out.data(), size);
        return out;
    }

    FakeHost host;
    Env env;
    FakeBus bus;
    StreamedEngine engine;
    uint32_t ring_log2;
    uint32_t vmid = 0;
    uint64_t wptr = 0;
    unsigned runs = 0;
};

// Packets as the driver and ROCr build them.
using Dwords = std::vector<uint32_t>;
inline Dwords write_linear(uint64_t va, Dwords data) {
    Dwords p = {2, lo32(va), hi32(va), static_cast<uint32_t>(data.size() - 1)};
    p.insert(p.end(), data.begin(), data.end());
    return p;
}
inline Dwords copy_linear(uint64_t from, uint64_t to, uint32_t bytes) {
    return {1, bytes - 1, 0, lo32(from), hi32(from), lo32(to), hi32(to)};
}
inline Dwords fence(uint64_t va, uint32_t value) { return {5, lo32(va), hi32(va), value}; }
inline Dwords trap(uint32_t context) { return {6, context}; }
inline Dwords indirect(uint64_t va, uint32_t dwords, uint32_t vmid = 0) {
    return {4 | vmid << 16, lo32(va), hi32(va), dwords, 0, 0};
}
inline Dwords poll_memory(uint64_t va, uint32_t value, uint32_t function = 3, uint32_t tail = 0x0fff0004) {
    return {8 | function << 28 | 1u << 31, lo32(va), hi32(va), value, 0xffffffff, tail};
}
inline Dwords atomic(uint32_t op, uint64_t va, uint64_t src, uint64_t cmp = 0, bool loop = false) {
    return {10 | (loop ? 1u << 16 : 0) | op << 25, lo32(va), hi32(va), lo32(src), hi32(src), lo32(cmp), hi32(cmp), 0x100};
}
inline Dwords operator+(Dwords a, const Dwords& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace lyra::sdma_test

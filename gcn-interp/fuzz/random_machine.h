// SPDX-License-Identifier: MIT
// Fuzzing only: a compute unit with guarded memory, waves in random states, and what comes to them from outside.
#pragma once

#include <algorithm>
#include <array>

#include "gcn-interp/cu/compute_unit.h"
#include "gcn-interp/exec/observe.h"
#include "gcn-interp/fuzz/guarded_memory.h"
#include "gcn-interp/fuzz/random_program.h"

namespace lyra::gcn::fuzz {

inline constexpr uint64_t kCode = 0x10000, kHandler = 0x20000, kData = 0x100000, kReadOnly = 0x200000, kRegisters = 0x300000;
inline constexpr uint64_t kHigh = 0xffffffff80000000;
inline constexpr uint64_t kShared = uint64_t{1} << 48, kPrivate = uint64_t{2} << 48;
inline constexpr unsigned kCodePages = 2, kDataPages = 4;
inline constexpr uint64_t kBudget = 4000;      ///< instructions of one program
inline constexpr uint64_t kMostPerRun = 256;   ///< asked of run() at a time

class Quiet : public Host {
public:
    uint64_t now_ns() override { return time_ += 10; }
    void raise_msi() override {}
    void log(LogLevel, std::string_view) override {}

private:
    uint64_t time_ = 0;
};

class Services : public CuServices {
public:
    void begin(uint32_t seed) { *this = Services(), state_ = seed; }
    void wave_interrupt(const Wave&, uint32_t) override {}
    void wave_error(const Wave&, unsigned) override {}
    void wave_ended(const Wave&) override { ++ended; }
    void workgroup_ended(uint64_t) override {}
    void wave_save_ready(const Wave& wave) override { ready |= uint64_t{1} << wave.slot; }
    GwsAnswer gws(const Wave& wave, GwsOp, uint32_t resource, uint32_t) override {
        require(resource < 64, "a GWS resource beyond the 64");
        state_ = state_ * 1664525 + 1013904223;
        if (state_ >> 30 == 1) waiting |= uint64_t{1} << wave.slot;
        return state_ >> 30 == 0 ? GwsAnswer::Refused : state_ >> 30 == 1 ? GwsAnswer::Wait : GwsAnswer::Done;
    }
    void gws_left(const Wave& wave) override { waiting &= ~(uint64_t{1} << wave.slot); }
    GdsWindow gds(uint32_t) override { return {gds_.data(), static_cast<uint32_t>(gds_.size()), (state_ & 1) != 0, {}}; }
    uint64_t shader_clock() override { return clock_ += 7; }
    uint64_t reference_clock() override { return clock_ += 3; }

    uint64_t ready = 0, waiting = 0;
    unsigned ended = 0;

private:
    uint32_t state_ = 0;
    uint64_t clock_ = 0;
    std::vector<uint8_t> gds_ = std::vector<uint8_t>(0x400);
};

/// Looks at what the memories of the compute unit hold beside the wave's part of them.
class Neighbours : public ExecObserver {
public:
    void execute(ExecContext& ctx, const Inst& inst, ExecFn handler) override {
        Wave& wave = ctx.wave;
        const bool uses_lds = inst.format >= Format::DS && inst.format <= Format::MUBUF;
        // A rest of the registers is another wave's, and of the LDS another group's.
        const unsigned behind = std::min(rows_behind, 4u);
        VgprRow rows[4];
        if (behind) std::copy_n(wave.vgpr + wave.vgpr_count, behind, rows);
        if (uses_lds) std::copy_n(ctx.lds, kLdsBytes, lds_.data());
        const uint16_t sgprs = wave.sgpr_count, vgprs = wave.vgpr_count;
        handler(ctx, inst);
        require(wave.sgpr_count == sgprs && wave.vgpr_count == vgprs, "a wave's allocation changed");
        require((wave.pc & 3) == 0, "a program counter that is not aligned");
        if (behind)
            require(std::memcmp(rows, wave.vgpr + wave.vgpr_count, behind * sizeof(VgprRow)) == 0,
                    "another wave's VGPRs changed");
        if (!uses_lds) return;
        const uint32_t end = wave.lds_base + wave.lds_bytes;
        require(std::memcmp(lds_.data(), ctx.lds, wave.lds_base) == 0 &&
                    std::memcmp(&lds_[end], ctx.lds + end, kLdsBytes - end) == 0,
                "another work-group's LDS changed");
    }
    unsigned rows_behind = 0;

private:
    std::array<uint8_t, kLdsBytes + 1> lds_{};
};

struct Machine {
    /// @param observed  Neighbours looks at every instruction
    explicit Machine(Chip which, bool observed = true) : chip(which) {
        if (observed) env.observer = &neighbours;
        memory.map(kCode, kCodePages, GuardedMemory::kRead | GuardedMemory::kExecute);
        memory.map(kHandler, 1, GuardedMemory::kRead | GuardedMemory::kExecute);
        memory.map(kData, kDataPages, GuardedMemory::kRead | GuardedMemory::kWrite);
        memory.map(kReadOnly, 1, GuardedMemory::kRead);
        memory.map(kRegisters, 1, GuardedMemory::kRead | GuardedMemory::kWrite | GuardedMemory::kRegisters);
        memory.map(kHigh, 1, GuardedMemory::kRead | GuardedMemory::kWrite | GuardedMemory::kExecute);
        cu = std::make_unique<ComputeUnit>(env, memory, services, 3, chip);
    }
    Chip chip;
    Quiet host;
    Env env{host};
    GuardedMemory memory;
    Services services;
    std::unique_ptr<ComputeUnit> cu;
    inline static Neighbours neighbours;
};

/// An address that is worth trying: the beginning, the end or the outside of something.
inline uint64_t address(Bytes& bytes) {
    constexpr uint64_t kPlaces[] = {kData,
                                    kData,
                                    kData,
                                    kData + kPageBytes,
                                    kData + kDataPages * kPageBytes,
                                    kReadOnly,
                                    kRegisters,
                                    kCode,
                                    kHigh,
                                    kShared,
                                    kPrivate,
                                    0,
                                    uint64_t{1} << 47,
                                    0xffff800000000000};
    const uint64_t place = kPlaces[bytes.below(std::size(kPlaces))];
    const unsigned kind = bytes.below(4);
    return kind == 0 ? place : kind == 1 ? place - bytes.below(64) : place + (bytes.below(4096) & (kind == 2 ? ~3u : ~0u));
}

inline uint32_t value(Bytes& bytes) {
    switch (bytes.below(6)) {
        case 0: return bytes.u8();
        case 1: return bytes.u32();
        case 2: return 0x3f800000 ^ bytes.u8() << 23;
        case 3: return static_cast<uint32_t>(address(bytes));
        case 4: return 0u - bytes.u8();
        default: return 4 * bytes.u8();
    }
}

/// SGPRs with addresses and descriptors among them, VGPRs with addresses, small offsets and anything.
inline void random_registers(Bytes& bytes, Wave& wave) {
    for (unsigned n = 0; n + 1 < wave.sgpr_count; n += 2) {
        if (bytes.one_in(2)) {
            const uint64_t to = address(bytes);
            wave.sgpr[n] = lo32(to), wave.sgpr[n + 1] = hi32(to);
        } else {
            wave.sgpr[n] = value(bytes), wave.sgpr[n + 1] = value(bytes);
        }
    }
    for (unsigned n = 0; n + 3 < wave.sgpr_count; n += 4) {
        if (!bytes.one_in(3)) continue;
        wave.sgpr[n + 1] = (wave.sgpr[n + 1] & 0xffff) | bytes.u32() << 16;  // stride and swizzle of a buffer
        if (bytes.one_in(2)) wave.sgpr[n + 2] = bytes.below(4096);
    }
    for (unsigned n = 0; n < wave.vgpr_count; ++n) {
        const unsigned kind = bytes.below(6);
        const uint32_t base = kind == 5 ? hi32(address(bytes)) : value(bytes), step = bytes.one_in(2) ? 4 : bytes.u8() % 20;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            wave.vgpr[n].lane[lane] = kind < 2 ? base + lane * step : kind < 3 ? value(bytes) : base;
        }
    }
    wave.m0 = bytes.one_in(2) ? bytes.u32() : bytes.u8();
    wave.exec = bytes.one_in(2) ? ~uint64_t{0} : bytes.one_in(4) ? 0 : bytes.u64();
    wave.scc = bytes.one_in(2);
    if (bytes.one_in(4)) wave.mode = bytes.u32() & ~(bytes.one_in(8) ? 0 : ModeBits::Vskip::kMask | ModeBits::DebugEn::kMask);
    if (bytes.one_in(8)) wave.status = StatusBits::Priv::set(wave.status, 1);
}

inline void launch(Bytes& bytes, Machine& machine, uint64_t dispatch) {
    WorkgroupLaunch launch;
    launch.dispatch = dispatch;
    launch.entry = kCode + 4 * (dispatch - 1) * bytes.below(16);
    launch.vmid = 8;
    launch.chip = machine.chip;
    if (facts_of(machine.chip).acc_vgprs) launch.rsrc3 = bytes.u32();
    launch.rsrc1 = bytes.u32() & ~(63u | 15u << 6 | 1u << 22 | 1u << 20);
    launch.rsrc1 |= (bytes.one_in(2) ? 7 : bytes.below(64)) | (bytes.one_in(2) ? 12 : bytes.below(14)) << 6;
    // FLOAT_MODE, DX10_CLAMP and IEEE as compilers have them: other arithmetic is never generated.
    if (!bytes.one_in(4)) launch.rsrc1 = (launch.rsrc1 & ~(0xffu << 12)) | 0xf0u << 12 | 1u << 21 | 1u << 23;
    launch.rsrc2 = bytes.u32();
    if (!bytes.one_in(4)) launch.rsrc2 &= ~(0x7fu << 24);  // EXCP_EN: waves with exceptions are interpreted
    launch.tba = bytes.one_in(2) ? kHandler : 0;
    launch.tma = kData;
    launch.private_base = kPrivate;
    launch.shared_base = kShared;
    launch.lds_bytes = bytes.one_in(4) ? 0 : 512 * (1 + bytes.below(20));
    launch.user_sgpr_count = bytes.below(17);
    launch.group_size = {1 + bytes.below(bytes.one_in(4) ? 256 : 80), 1, 1};
    launch.group_valid = launch.group_size;
    launch.scratch_slot.fill(bytes.one_in(2) ? -1 : 3);
    launch.halted = bytes.one_in(64);
    if (machine.cu->fits(launch)) machine.cu->launch(launch);
}

inline void fill(Bytes& bytes, GuardedMemory& memory, uint64_t va, unsigned pages) {
    std::vector<uint32_t> words(pages * kPageBytes / 4);
    for (uint32_t& word : words) word = bytes.u8() % 2 ? 4u * bytes.u8() : bytes.u32();
    memory.put(va, words.data(), words.size() * 4);
}

inline void put_code(Bytes& bytes, Machine& machine, uint64_t va, unsigned pages, unsigned count) {
    std::vector<uint32_t> code;
    for (unsigned i = 0; i < count; ++i) add_instruction(bytes, machine.chip, code);
    // Sometimes up to the end of the page, and over it.
    const size_t room = pages * kPageBytes / 4;
    if (bytes.one_in(4))
        code.insert(code.begin(), room - std::min(room, code.size()) - (code.size() < room ? 1 : 0), 0xbf800000);
    else
        code.push_back(bytes.one_in(2) ? 0xbf810000 : 0xbf820000 | (0xffff - static_cast<uint32_t>(code.size())));
    code.resize(room);
    machine.memory.put(va, code.data(), room * 4);
}

/// Something that comes from outside between two slices.
inline void disturb(Bytes& bytes, Machine& machine) {
    ComputeUnit& cu = *machine.cu;
    const unsigned slot = bytes.below(kWaveSlots);
    switch (bytes.below(12)) {
        case 0: machine.memory.move_all(); break;
        case 1: cu.request_save(1); break;
        case 2: {
            const auto which = static_cast<WaveCommand>(bytes.below(8));
            cu.command(which, bytes.u32(), [&](const Wave& wave) { return wave.slot % 4 != slot % 4; });
            break;
        }
        case 3: cu.invalidate_code(); break;
        case 4:
            machine.neighbours.rows_behind = 0;  // its waves may have their registers at the end of the file
            launch(bytes, machine, 2);
            break;
        default: break;
    }
    for (unsigned n = 0; n < kWaveSlots; ++n) {
        if (bit(machine.services.ready, n)) cu.grant_save(n, address(bytes), bytes.one_in(2));
        if (bit(machine.services.waiting, n)) bytes.one_in(2) ? cu.gws_done(n) : cu.gws_again(n);
    }
    machine.services.ready = machine.services.waiting = 0;
}

/// The program, the waves and their registers, from the fuzzer's bytes.
inline void prepare(Bytes& bytes, Machine& machine) {
    machine.services.begin(bytes.u32());
    put_code(bytes, machine, kCode, kCodePages, 1 + bytes.below(60));
    put_code(bytes, machine, kHandler, 1, bytes.below(12));
    fill(bytes, machine.memory, kData, bytes.one_in(4) ? kDataPages : 0);
    machine.memory.move_all();
    machine.cu->reset();
    launch(bytes, machine, 1);
    unsigned highest = 0;
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        Wave& wave = const_cast<Wave&>(machine.cu->wave(slot));
        if (wave.state == WaveState::Free) continue;
        random_registers(bytes, wave);
        highest = std::max<unsigned>(highest, wave.vgpr_count);
    }
    // One wave on each SIMD has its registers first, so the rows behind them are there.
    machine.neighbours.rows_behind = highest < facts_of(machine.chip).vgprs_per_simd / 4 ? 4 : 0;
}

inline constexpr unsigned kSlices = 64;  ///< of one program

/// One slice of the program. @return instructions executed
inline uint64_t run_slice(Bytes& bytes, Machine& machine) {
    const uint64_t budget = 1 + bytes.below(kMostPerRun);
    const uint64_t ran = machine.cu->run(budget);
    require(ran <= budget + 64, "run() went far over its budget");
    return ran;
}

inline void finish(Machine& machine) {
    machine.cu->kill_vmid(8);
    require(machine.cu->waves_live() == 0, "killed waves live on");
    machine.memory.check();
}

}  // namespace lyra::gcn::fuzz

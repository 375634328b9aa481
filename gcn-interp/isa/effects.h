// SPDX-License-Identifier: MIT
// What an instruction reads and writes that its operands (struct Inst) do not name: derived from its row.
// Left out, because they change how every instruction works: MODE.VSKIP, GPR_IDX_EN and DEBUG_EN, and what a scalar source that
// is a name reads (VCCZ, EXECZ, SCC, LDS_DIRECT).
#pragma once

#include <algorithm>
#include <iterator>

#include "facts/chips.h"
#include "gcn-interp/isa/memory_shape.h"

namespace lyra::gcn {

namespace effect {
enum Effect : uint32_t {
    Scc = 1u << 0,
    Vcc = 1u << 1,  ///< as no operand: VOPC, carries and borrows have it as Inst::sdst and src[2]
    Exec = 1u << 2,  ///< of vector instructions: which lanes take part
    M0 = 1u << 3,
    Mode = 1u << 4,  ///< MODE: rounding, denormals, DX10_CLAMP, IEEE, FP16_OVFL
    Control = 1u << 5,  ///< the rest of MODE, STATUS, TRAPSTS but for what exceptions leave in it
    FlatScratch = 1u << 6,
    Sgprs = 1u << 7,  ///< those that M0 or MODE.CSP selects
    Pc = 1u << 8,  ///< reads: its value; writes: jumps, or is executed again
    Lds = 1u << 9,
    Gds = 1u << 10,  ///< and global wave sync
    Memory = 1u << 11,
    Clock = 1u << 12,  ///< reads only
    Ask = 1u << 13,  ///< writes only: something is left to the compute unit (ends, waits, messages, traps)
    Fault = 1u << 14,  ///< writes only: may end in a memory violation or the like, without (further) effect
    Exception = 1u << 15,  ///< writes only: floating-point exceptions, where they are tracked
};
}  // namespace effect

/// Sets of effect::Effect.
struct Effects {
    uint32_t reads = 0, writes = 0;
    constexpr void read(uint32_t set) { reads |= set; }
    constexpr void write(uint32_t set) { writes |= set; }
    constexpr void modify(uint32_t set) { reads |= set, writes |= set; }
    constexpr void drop(uint32_t set) { reads &= ~set, writes &= ~set; }
    constexpr bool operator==(const Effects&) const = default;
};

namespace detail {

/// Flags that are effects by themselves.
constexpr Effects flagged_effects(const InstInfo& row) {
    struct Meaning {
        uint64_t flag;
        uint32_t reads, writes;
    };
    using namespace effect;
    constexpr Meaning kMeanings[] = {
        {flag::ReadsScc, Scc, 0},
        {flag::WritesScc, 0, Scc},
        {flag::ReadsVcc, Vcc, 0},
        {flag::ReadsExec, Exec, 0},
        {flag::WritesExec, 0, Exec},
        {flag::ReadsM0, M0, 0},
        {flag::WritesM0, 0, M0},
        {flag::ReadsMode, Mode, 0},
        {flag::ReadsControl, Control, 0},
        {flag::WritesControl, 0, Control},
        {flag::ReadsSgprs, Sgprs, 0},
        {flag::WritesSgprs, 0, Sgprs},
        {flag::ReadsPc, Pc, 0},
        {flag::WritesPc, 0, Pc},
        {flag::ReadsClock, Clock, 0},
        {flag::Asks, 0, Ask},
        {flag::ReadsHwreg, Mode | Control | Scc | Vcc | Exec, 0},
        {flag::WritesHwreg, Mode | Control, Mode | Control | Scc | Ask},
    };
    Effects effects;
    for (const Meaning& each : kMeanings) {
        if (!row.has(each.flag)) continue;
        effects.read(each.reads);
        effects.write(each.writes);
    }
    // M0 selects one of all SGPRs of the wave, those at the end among them.
    if (row.has(flag::ReadsM0) && row.has(flag::ReadsSgprs)) effects.read(Vcc | FlatScratch);
    if (row.has(flag::ReadsM0) && row.has(flag::WritesSgprs)) effects.modify(Vcc | FlatScratch);
    return effects;
}

constexpr bool is_float(Type type) { return info(type).kind == Kind::Float; }
constexpr bool float_sources(const Profile& p) { return is_float(p.src[0]) || is_float(p.src[1]) || is_float(p.src[2]); }

constexpr void move(Effects& effects, Direction direction, uint32_t where) {
    if (direction == Direction::Load || direction == Direction::Atomic) effects.read(where);
    if (direction == Direction::Store || direction == Direction::Atomic) effects.write(where);
}

constexpr void add_memory_effects(Effects& effects, const InstInfo& row) {
    using namespace effect;
    const Direction direction = direction_of(row);
    if (direction == Direction::None) return;
    effects.write(Fault);
    if (!row.has(flag::NoMemory)) move(effects, direction, Memory);
    if (row.format == Format::FLAT) {
        if (row.has(flag::SegFlat)) move(effects, direction, Lds);
        if (row.has(flag::SegFlat | flag::SegScratch)) effects.read(FlatScratch);
    }
    if (row.has(flag::LdsDma)) {
        effects.read(M0);
        move(effects, direction == Direction::Load ? Direction::Store : Direction::Load, Lds);
    }
}

/// Those with AccVGPRs have it for global wave sync only (decode.cpp).
constexpr bool on_a_chip_with_gds(const InstInfo& row) {
    return std::any_of(std::begin(kChips), std::end(kChips),
                       [&](const ChipFacts& chip) { return !chip.acc_vgprs && row.on(chip.chip); });
}

constexpr void add_ds_effects(Effects& effects, const InstInfo& row) {
    using namespace effect;
    if (row.has(flag::Gws)) {
        effects.read(M0);
        effects.modify(Gds);
        effects.write(Fault);
        if (row.profile->dst != Type::NONE) return;  // ds_ordered_count
        effects.modify(Pc);  // a wave that has to wait comes back to the instruction
        effects.write(Ask);
    } else if (!row.has(flag::Swizzle | flag::NoGds)) {
        const bool gds = on_a_chip_with_gds(row);
        if (gds) effects.read(M0);
        // M0[15:0] would be both the address of ds_*_addtid_b32 and the size of the GDS: nothing is inside.
        const bool addtid = row.has(flag::ReadsM0) && direction_of(row) != Direction::Atomic;
        move(effects, direction_of(row), addtid || !gds ? Lds : Lds | Gds);
    }
}

}  // namespace detail

/// All that any encoding of an operation may do.
constexpr Effects effects_of(const InstInfo& row) {
    using namespace effect;
    Effects effects = detail::flagged_effects(row);
    switch (row.format) {
        case Format::SOP1:
        case Format::SOP2:
        case Format::SOPC:
        case Format::SOPK:
        case Format::SOPP: return effects;
        case Format::SMEM: detail::add_memory_effects(effects, row); return effects;
        case Format::DS: detail::add_ds_effects(effects, row); break;
        case Format::FLAT:
        case Format::MUBUF:
        case Format::MTBUF:
        case Format::MIMG: detail::add_memory_effects(effects, row); break;
        case Format::VINTRP:
        case Format::EXP: break;
        default:
            if (row.has(flag::Interp)) break;
            if ((detail::is_float(row.profile->dst) || detail::float_sources(*row.profile)) && !row.has(flag::NoMode))
                effects.read(Mode);
            if ((detail::float_sources(*row.profile) && !row.has(flag::NoException)) || row.has(flag::Raises))
                effects.write(Exception);
    }
    if (row.has(flag::Interp)) effects.read(M0 | Lds);  // where the parameters are
    if (!row.has(flag::NoExec)) effects.read(Exec);
    return effects;
}

namespace detail {
inline constexpr auto kEffects = [] {
    std::array<Effects, kOpCount> table{};
    for (std::size_t i = 1; i < kOpCount; ++i) table[i] = effects_of(kInstInfo[i]);
    return table;
}();
}  // namespace detail

constexpr const Effects& effects_of(Op op) { return detail::kEffects[op_index(op)]; }

/// What this one instruction may do: its segment, and its LDS and GDS bits, are known.
constexpr Effects effects_of(const Inst& inst) {
    using namespace effect;
    constexpr uint8_t kFlat = 0, kGlobal = 2;
    const InstInfo& row = info(inst.op);
    Effects effects = effects_of(inst.op);
    switch (row.format) {
        case Format::FLAT:
            if (inst.seg == kGlobal) effects.drop(FlatScratch);
            if (inst.lds) {
                effects.drop(Lds);
                effects.write(Lds);
            } else {
                effects.drop(M0);
                const Effects all = effects;
                effects.drop(Lds);
                if (inst.seg == kFlat) detail::move(effects, direction_of(row), all.reads & Lds ? Lds : all.writes & Lds);
            }
            break;
        case Format::MUBUF:
            if (!inst.lds && direction_of(row) == Direction::Load) effects.drop(M0 | Lds);
            break;
        case Format::DS:
            if (row.has(flag::Gws)) break;
            effects.drop(inst.gds ? Lds : Gds);
            if (!inst.gds && !row.has(flag::ReadsM0)) effects.drop(M0);
            break;
        default: break;
    }
    return effects;
}

}  // namespace lyra::gcn

// SPDX-License-Identifier: MIT
// Operands of vector instructions as 64-lane rows, and the modifiers that work on rows; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/wave/lanes.h"
#include "gcn-interp/wave/mode.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {

/// What an operand is made of.
struct Elem {
    uint8_t bits = 32;        ///< 16, 32 or 64
    bool is_float = false;    ///< neg and abs apply, inline floats have its width
    bool arithmetic = false;  ///< denormal rules of MODE apply
    bool is_signed = false;
    bool half_float = false;  ///< a result that is a float still to be rounded to f16
    bool half_pair = false;   ///< two f16
    constexpr unsigned dwords() const { return bits == 64 ? 2 : 1; }
};

/// The row a lane function reads beside its sources.
enum class Extra : uint8_t { None, Mask, Vcc, Literal };

/// A vector operation as the general path needs to know it.
struct OpDesc {
    Elem src[3]{};
    Elem dst{};
    uint8_t sources = 0;
    Extra extra = Extra::None;
    bool has_value = false;
    bool has_carry = false;  ///< writes a lane mask
    bool uses_mode = false;
    bool reads_dst = false;         ///< v_mac: the last source is the old destination
    bool keeps_other_half = false;  ///< 16-bit destination: the other half stays
    uint32_t mode_mask = 0;         ///< bits of MODE that the plain path must find at their default
    ComputeFn compute = nullptr;
    ComputeFn compute_saturating = nullptr;  ///< with the clamp bit, integer operations
};

/// Rows of the inline constants, so that an instruction that uses one need not make it.
inline constexpr unsigned kInlineIntegers = 81, kInlineFloats = 9;  ///< operands 128..208 and 240..248
struct ConstantRows {
    VgprRow integer[kInlineIntegers];
    VgprRow half[kInlineFloats], single[kInlineFloats], double_high[kInlineFloats], double_low[kInlineFloats];
};
extern const ConstantRows kConstantRows;

/// Value of an operand that is no VGPR: scalar register, constant or literal.
[[gnu::noinline]] uint64_t scalar_operand(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem);
/// The mask that an instruction with one reads.
[[gnu::noinline]] uint64_t mask_operand(const Wave& wave, const Inst& inst, Extra extra);

/// Operand that is no VGPR, in all lanes.
inline void fetch_uniform(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem, unsigned slot,
                          Scratch& scratch, Rows& rows) {
    const unsigned integer = operand - 128u, number = operand - 240u;
    if (integer < kInlineIntegers) {
        rows.low[slot] = kConstantRows.integer[integer].lane;
        if (elem.bits == 64) rows.high[slot] = kConstantRows.integer[integer <= 64 ? 0 : 65].lane;  // 0 or -1
    } else if (number < kInlineFloats) {
        const ConstantRows& t = kConstantRows;
        rows.low[slot] = (elem.bits == 64 ? t.double_low : elem.bits == 16 && elem.is_float ? t.half : t.single)[number].lane;
        if (elem.bits == 64) rows.high[slot] = t.double_high[number].lane;
    } else {
        const bool plain = elem.bits != 64 && operand < kFlatScratchLo;
        const uint64_t value =
            plain ? wave.sgpr[operand < wave.sgpr_count ? operand : 0] : scalar_operand(wave, inst, operand, elem);
        uint32_t* low = scratch.src[slot][0].lane;
        fill_row(low, lo32(value));
        rows.low[slot] = low;
        if (elem.bits == 64) {
            uint32_t* high = scratch.src[slot][1].lane;
            fill_row(high, hi32(value));
            rows.high[slot] = high;
        }
    }
}

/// Set rows.low/high[n] to source n. With reads_dst a source that the encoding lacks is the old destination.
inline void fetch_source(const Wave& wave, const Inst& inst, unsigned n, const Elem& elem, bool reads_dst, Scratch& scratch,
                         Rows& rows) {
    uint16_t operand = inst.src[n];
    if (reads_dst && operand == kNoOperand) operand = static_cast<uint16_t>(kSrcVgpr0 + inst.dst);
    if (operand >= kSrcVgpr0) {
        rows.low[n] = vgpr_read_row(wave, operand - kSrcVgpr0);
        if (elem.bits == 64) rows.high[n] = vgpr_read_row(wave, operand - kSrcVgpr0 + 1u);
    } else {
        fetch_uniform(wave, inst, operand, elem, n, scratch, rows);
    }
}

/// The same without a call. @return false when the operand is none of the common ones: the row is not set then
inline bool fetch_source_quickly(const Wave& wave, const Inst& inst, unsigned n, const Elem& elem, bool reads_dst,
                                 Scratch& scratch, Rows& rows) {
    unsigned operand = inst.src[n];
    if (reads_dst && operand == kNoOperand) operand = kSrcVgpr0 + inst.dst;
    const bool wide = elem.bits == 64;
    const unsigned vgpr = operand - kSrcVgpr0, integer = operand - 128u, number = operand - 240u;
    if (operand >= kSrcVgpr0) {
        if (vgpr + wide >= wave.vgpr_count) return false;
        rows.low[n] = wave.vgpr[vgpr].lane;
        if (wide) rows.high[n] = wave.vgpr[vgpr + 1].lane;
        return true;
    }
    if (integer < kInlineIntegers) {
        rows.low[n] = kConstantRows.integer[integer].lane;
        if (wide) rows.high[n] = kConstantRows.integer[integer <= 64 ? 0 : 65].lane;  // 0 or -1
        return true;
    }
    uint32_t* low = scratch.src[n][0].lane;
    rows.low[n] = low;
    if (wide) {
        if (operand + 1 >= wave.sgpr_count || operand >= kFlatScratchLo - 1u) return false;
        uint32_t* high = scratch.src[n][1].lane;
        rows.high[n] = high;
        fill_row(low, wave.sgpr[operand]);
        fill_row(high, wave.sgpr[operand + 1]);
        return true;
    }
    if (number < kInlineFloats && elem.bits == 32) {
        rows.low[n] = kConstantRows.single[number].lane;
        return true;
    }
    if (operand != kSrcLiteral && (operand >= kFlatScratchLo || operand >= wave.sgpr_count)) return false;
    fill_row(low, operand == kSrcLiteral ? inst.literal : wave.sgpr[operand]);
    return true;
}

/// Set slot 3 to the mask or literal.
inline void fetch_extra(const Wave& wave, const Inst& inst, Extra extra, Scratch& scratch, Rows& rows) {
    VgprRow& row = scratch.src[3][0];
    rows.low[3] = row.lane;
    if (extra == Extra::Literal) {
        fill_row(row.lane, inst.literal);
    } else {
        expand_mask(mask_operand(wave, inst, extra), row);
    }
}

inline bool fetch_extra_quickly(const Wave& wave, const Inst& inst, Extra extra, Scratch& scratch, Rows& rows) {
    VgprRow& row = scratch.src[3][0];
    rows.low[3] = row.lane;
    if (extra == Extra::Literal) {
        fill_row(row.lane, inst.literal);
        return true;
    }
    const unsigned operand = inst.src[2];
    if (extra == Extra::Vcc || operand == kNoOperand || operand == kVccLo) {
        expand_mask(wave.vcc(), row);
        return true;
    }
    if (operand >= kFlatScratchLo - 1u || operand + 1 >= wave.sgpr_count) return false;
    expand_mask(make64(wave.sgpr[operand], wave.sgpr[operand + 1]), row);
    return true;
}

/// abs, then neg, on the float sources that ask for it.
template <Backend kBackend>
void apply_signs(const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows);

/// Lane mask result of compares and carries. VCC when the encoding has no destination.
/// @tparam kCompare  v_cmp and v_cmpx have one handler: the row says which of them writes EXEC
template <bool kCompare>
inline void write_mask(Wave& wave, const Inst& inst, uint64_t mask) {
    wave.write_scalar64(inst.sdst == kNoOperand ? uint16_t{kVccLo} : inst.sdst, mask);
    if constexpr (kCompare) {
        if (info(inst.op).has(flag::WritesExec)) wave.exec = mask;
    }
}

/// Register numbers made relative by M0 (s_set_gpr_idx_on).
Inst with_gpr_index(const Wave& wave, const Inst& inst);

/// The instruction with one element of source n, a pair of registers, in the place of the pair. Constants have it in both.
inline Inst element_of(const Inst& inst, unsigned n, unsigned element) {
    Inst one = inst;
    const uint16_t source = inst.src[n];
    if (source < 128 || (source >= kSrcVgpr0 && source != kNoOperand)) one.src[n] = static_cast<uint16_t>(source + element);
    return one;
}

/// Make wave.mask that of wave.exec.
template <Backend kBackend>
void refresh_mask(Wave& wave);

/// Every encoding, modifier and MODE, at the price of a pass over the rows for each.
template <Backend kBackend>
void run_general(ExecContext& ctx, const Inst& inst, const OpDesc& desc);

}  // namespace lyra::gcn

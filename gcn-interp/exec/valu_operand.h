// SPDX-License-Identifier: MIT
// Operands of vector instructions as 64-lane rows, and the modifiers that work on rows; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/exec/exec.h"
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
    bool half_pair = false;   ///< a result of two f16
    constexpr unsigned dwords() const { return bits == 64 ? 2 : 1; }
};

/// The row a lane function reads beside its sources.
enum class Extra : uint8_t { None, Mask, Vcc, Literal };

/// Waves with so few active lanes, the lowest ones, are worth a shorter loop.
inline constexpr unsigned kFewLanes = 8;
inline unsigned lanes_in_use(uint64_t exec) { return exec >> kFewLanes == 0 ? kFewLanes : kLanes; }

/// Where a lane function's loop finds its operands. Slots 0..2 are the sources, slot 3 the extra row.
struct Rows {
    const uint32_t* low[4];
    const uint32_t* high[4];
    uint32_t* dst_low;
    uint32_t* dst_high;
    uint32_t* carry;
    const uint32_t* mask;
    const ModeView* mode;
    unsigned lanes;  ///< kLanes, or kFewLanes: those beyond are not active and need not be looked at
};

using ComputeFn = void (*)(const Rows&);

/// Room for operands that are not register rows. Left uninitialised: each use fills what it reads.
struct Scratch {
    VgprRow src[4][2];
    VgprRow result[2];
    VgprRow carry;
    VgprRow dump;
    Scratch() {}  // NOLINT: no zeroing
};

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
    bool writes_exec = false;       ///< v_cmpx
    bool keeps_other_half = false;  ///< 16-bit destination: the other half stays
    uint32_t mode_mask = 0;         ///< bits of MODE that the plain path must find at their default
    ComputeFn compute = nullptr;
    ComputeFn compute_saturating = nullptr;  ///< with the clamp bit, integer operations
};

/// Operand that is no VGPR: scalar register, constant or literal, in all lanes.
void fetch_uniform(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem, unsigned slot, Scratch& scratch,
                   Rows& rows);

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

/// Set slot 3 to the mask or literal.
void fetch_extra(const Wave& wave, const Inst& inst, Extra extra, Scratch& scratch, Rows& rows);

/// abs, then neg, on the float sources that ask for it.
void apply_signs(const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows);

/// Round, scale (omod), clamp and flush a value computed into rows.dst_*; afterwards the rows hold register bits.
void finish_value(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows);

/// Denormals become zeros of the same sign; rows of 16-, 32- or 64-bit floats.
void flush_rows(unsigned bits, uint32_t* low, uint32_t* high, unsigned lanes);

/// Run desc.compute with the host rounding as MODE asks.
void compute_rounded(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows);

/// Lane mask result of compares and carries. VCC when the encoding has no destination.
inline void write_mask(Wave& wave, const Inst& inst, uint64_t mask, bool writes_exec) {
    wave.write_scalar64(inst.sdst == kNoOperand ? uint16_t{kVccLo} : inst.sdst, mask);
    if (writes_exec) wave.exec = mask;
}

/// Register numbers made relative by M0 (s_set_gpr_idx_on).
Inst with_gpr_index(const Wave& wave, const Inst& inst);

/// Every encoding, modifier and MODE, at the price of a pass over the rows for each.
void run_general(ExecContext& ctx, const Inst& inst, const OpDesc& desc);

}  // namespace lyra::gcn

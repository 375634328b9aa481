// SPDX-License-Identifier: MIT
// Operands of the dot products of gfx906; step 6 of the data flow.
// @source AMD Vega 7nm ISA document, "VOP3P instructions"; LLVM AMDGPU VOP3PInstructions.td
#include "gcn-interp/exec/dot.h"

#include "gcn-interp/exec/valu_passes.h"

namespace lyra::gcn {
namespace {

/// The two halves that op_sel and op_sel_hi choose, each with its own sign modifier.
void select_halves(const Inst& inst, unsigned n, bool is_float, bool flush, const uint32_t* in, uint32_t* out) {
    const unsigned low = bit(inst.op_sel, n) ? 16 : 0, high = bit(inst.op_sel_hi, n) ? 16 : 0;
    const uint32_t flip = is_float ? (bit(inst.neg, n) ? 0x8000u : 0u) | (bit(inst.neg_hi, n) ? 0x80000000u : 0u) : 0u;
    for (unsigned l = 0; l < kLanes; ++l) {
        uint32_t a = (in[l] >> low) & 0xffff, b = (in[l] >> high) & 0xffff;
        if (flush && (a & 0x7c00) == 0) a &= 0x8000;
        if (flush && (b & 0x7c00) == 0) b &= 0x8000;
        out[l] = (a | b << 16) ^ flip;
    }
}

inline void dot_products(ExecContext& ctx, const Inst& encoded, const OpDesc& desc, const Elem& element, bool halves) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    const ModeView mode(wave.mode);
    const Inst inst = ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, encoded) : encoded;
    Scratch scratch;
    VgprRow selected[3];
    Rows rows{};
    rows.lanes = kLanes;
    rows.mode = &mode;
    rows.carry = scratch.carry.lane;
    for (unsigned n = 0; n < 3; ++n) fetch_source(wave, inst, n, n < 2 ? element : desc.src[2], false, scratch, rows);
    for (unsigned n = 0; n < 2 && halves; ++n) {
        select_halves(inst, n, element.is_float, element.arithmetic && !mode.denorm_in16_64, rows.low[n], selected[n].lane);
        rows.low[n] = selected[n].lane;
    }
    if (desc.src[2].is_float && bit(inst.neg, 2)) {
        for (unsigned l = 0; l < kLanes; ++l) selected[2].lane[l] = rows.low[2][l] ^ 0x80000000u;
        rows.low[2] = selected[2].lane;
    }
    uint32_t* result = scratch.result[0].lane;
    rows.dst_low = result;
    passes::compute_rounded(inst, desc, mode, rows);
    passes::finish_value(inst, desc, mode, rows);
    store_masked(vgpr_write_row(wave, inst.dst, scratch.dump), result, exec_rows(wave));
}

}  // namespace

#define DEFINE(name, attribute)                                                                                      \
    template <>                                                                                                      \
    [[gnu::flatten, attribute]] void run_dot<Backend::name>(ExecContext & ctx, const Inst& inst, const OpDesc& desc, \
                                                            const Elem& element, bool halves) {                      \
        dot_products(ctx, inst, desc, element, halves);                                                              \
    }
LYRA_FOR_EACH_BACKEND(DEFINE)
#undef DEFINE

}  // namespace lyra::gcn

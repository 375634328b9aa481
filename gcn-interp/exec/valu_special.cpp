// SPDX-License-Identifier: MIT
// Vector instructions that do not work lane by lane: lane reads and writes, swap, four-register results; step 6 of the data
// flow.
// @source AMD Vega ISA document; docs/spec/isa.md 4.4
#include "gcn-interp/exec/valu_special.h"

#include <bit>

#include "gcn-interp/exec/graphics.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/exec/small_float.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

namespace {

/// One lane of a source operand.
uint32_t lane_of(const Wave& wave, const Inst& inst, uint16_t operand, unsigned lane) {
    if (operand >= kSrcVgpr0) return vgpr_read_row(wave, operand - kSrcVgpr0)[lane];
    return scalar::source32(wave, inst, operand);
}

Inst resolved(const Wave& wave, const Inst& inst) {
    return ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, inst) : inst;
}

}  // namespace

void exec_nop(ExecContext&, const Inst&) {}

void exec_v_clrexcp(ExecContext& ctx, const Inst&) {
    // The seven arithmetic exception bits of TRAPSTS.EXCP; the memory violation bit is not arithmetic.
    ctx.wave.trapsts &= ~0x7fu;
}

void exec_v_readfirstlane_b32(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    const Inst inst = resolved(wave, encoded);
    const unsigned lane = wave.exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec));
    wave.write_scalar(inst.sdst, lane_of(wave, inst, inst.src[0], lane));
}

void exec_v_readlane_b32(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    const Inst inst = resolved(wave, encoded);
    const unsigned lane = lane_of(wave, inst, inst.src[1], 0) & 63;
    wave.write_scalar(inst.sdst, lane_of(wave, inst, inst.src[0], lane));
}

void exec_v_writelane_b32(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    const Inst inst = resolved(wave, encoded);
    const unsigned lane = lane_of(wave, inst, inst.src[1], 0) & 63;
    const uint32_t value = lane_of(wave, inst, inst.src[0], lane);
    if (inst.dst < wave.vgpr_count) wave.vgpr[inst.dst].lane[lane] = value;
}

void exec_v_swap_b32(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    const Inst inst = resolved(wave, encoded);
    if (inst.src[0] < kSrcVgpr0 || wave.exec == 0) return;
    Scratch scratch;
    const VgprRow first = *reinterpret_cast<const VgprRow*>(vgpr_read_row(wave, inst.dst));
    const VgprRow second = *reinterpret_cast<const VgprRow*>(vgpr_read_row(wave, inst.src[0] - kSrcVgpr0));
    const uint32_t* mask = exec_rows(wave);
    store_masked(vgpr_write_row(wave, inst.dst, scratch.dump), second.lane, mask);
    store_masked(vgpr_write_row(wave, inst.src[0] - kSrcVgpr0, scratch.dump), first.lane, mask);
}

uint32_t sum_of_differences(uint32_t a, uint32_t b, bool masked) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < 32; i += 8) {
        const uint32_t x = (a >> i) & 0xff, y = (b >> i) & 0xff;
        if (!masked || y != 0) sum += x > y ? x - y : y - x;
    }
    return sum;
}

void exec_v_mqsad_u32_u8(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    const Inst inst = resolved(wave, encoded);
    Scratch scratch;
    Rows rows{};
    rows.lanes = kLanes;
    rows.high[0] = nullptr;  // GCC does not see that a wide source sets it
    const Elem wide{64, false, false}, narrow{};
    fetch_source(wave, inst, 0, wide, false, scratch, rows);
    fetch_source(wave, inst, 1, narrow, false, scratch, rows);
    VgprRow sums[4];
    for (unsigned part = 0; part < 4; ++part) {
        Inst step = inst;
        if (inst.src[2] >= kSrcVgpr0 && inst.src[2] != kNoOperand) step.src[2] = static_cast<uint16_t>(inst.src[2] + part);
        fetch_source(wave, step, 2, narrow, false, scratch, rows);
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint32_t bytes = static_cast<uint32_t>(make64(rows.low[0][l], rows.high[0][l]) >> (8 * part));
            const uint64_t sum = uint64_t{sum_of_differences(bytes, rows.low[1][l], true)} + rows.low[2][l];
            sums[part].lane[l] = inst.clamp && sum > 0xffffffff ? 0xffffffff : static_cast<uint32_t>(sum);
        }
    }
    const uint32_t* mask = exec_rows(wave);
    for (unsigned part = 0; part < 4; ++part)
        store_masked(vgpr_write_row(wave, inst.dst + part, scratch.dump), sums[part].lane, mask);
}

void exec_acc_move(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    Inst inst = resolved(wave, encoded);
    const Profile& profile = *info(inst.op).profile;
    if (profile.src[0] == Type::ACC) inst.src[0] = static_cast<uint16_t>(inst.src[0] + wave.acc_first);
    if (profile.dst == Type::ACC) inst.dst = static_cast<uint16_t>(inst.dst + wave.acc_first);
    Scratch scratch;
    Rows rows{};
    fetch_source(wave, inst, 0, Elem{}, false, scratch, rows);
    store_masked(vgpr_write_row(wave, inst.dst, scratch.dump), rows.low[0], exec_rows(wave));
}

/// The first register of the result is one of source 0, the second one of source 1. @source AMD CDNA3 ISA document
void exec_v_pk_mov_b32(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    const Inst inst = resolved(wave, encoded);
    Scratch scratch;
    Rows rows{};
    VgprRow value[2];
    for (unsigned n = 0; n < 2; ++n) {
        fetch_source(wave, element_of(inst, n, bit(inst.op_sel, n)), n, Elem{}, false, scratch, rows);
        value[n] = *reinterpret_cast<const VgprRow*>(rows.low[n]);
    }
    const uint32_t* mask = exec_rows(wave);
    for (unsigned n = 0; n < 2; ++n) store_masked(vgpr_write_row(wave, inst.dst + n, scratch.dump), value[n].lane, mask);
}

namespace {

/// The upper bits of source 1 are added to what the format has no room for. OP_SEL chooses the byte.
/// @source AMD CDNA3 ISA document, V_CVT_SR_FP8_F32
template <SmallFloat kFormat>
void narrow_stochastically(ExecContext& ctx, const Inst& encoded) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    const Inst inst = resolved(wave, encoded);
    const ModeView mode(wave.mode);
    const unsigned shift = 8 * (inst.op_sel >> 2 & 3u);
    const uint32_t clear = bit(inst.abs, 0) ? 0x7fffffffu : ~0u, flip = bit(inst.neg, 0) ? 0x80000000u : 0u;
    Scratch scratch;
    Rows rows{};
    for (unsigned n = 0; n < 2; ++n) fetch_source(wave, inst, n, Elem{32, n == 0}, false, scratch, rows);
    const uint32_t* old = vgpr_read_row(wave, inst.dst);
    VgprRow result;
    for (unsigned l = 0; l < kLanes; ++l) {
        const uint32_t random = rows.low[1][l] >> (9 + kFormat.fraction);
        const uint32_t value =
            narrowed<kFormat>(std::bit_cast<float>((rows.low[0][l] & clear) ^ flip), &random, mode.fp16_ovfl);
        result.lane[l] = (old[l] & ~(0xffu << shift)) | value << shift;
    }
    store_masked(vgpr_write_row(wave, inst.dst, scratch.dump), result.lane, exec_rows(wave));
}

}  // namespace

void exec_v_cvt_sr_fp8_f32(ExecContext& ctx, const Inst& inst) { narrow_stochastically<kFp8>(ctx, inst); }
void exec_v_cvt_sr_bf8_f32(ExecContext& ctx, const Inst& inst) { narrow_stochastically<kBf8>(ctx, inst); }

void register_vector_alu(ExecTable& table) {
    register_vop1(table);
    register_vop2(table);
    register_vop3(table);
    register_vop3p(table);
    register_vopc(table);
    register_matrix(table);
    register_graphics(table);
}

}  // namespace lyra::gcn

// SPDX-License-Identifier: MIT
// Which vector instructions have an emitter, and what each touches; step 6 of the data flow.
#include <array>

#include "gcn-interp/translator/emit_floats.h"
#include "gcn-interp/translator/emit_lanes.h"
#include "gcn-interp/translator/emit_packed.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {
namespace {

using namespace lanes;

constexpr auto kMinI = LYRA_INSN(vpminsd);
constexpr auto kMaxI = LYRA_INSN(vpmaxsd);
constexpr auto kMinU = LYRA_INSN(vpminud);
constexpr auto kMaxU = LYRA_INSN(vpmaxud);
constexpr auto kMedI = [](Emitter& e, const Zmm& low, const Zmm& high, const Zmm& a, const Zmm& b, const Zmm& c) {
    e.vpminsd(low, a, b), e.vpmaxsd(high, a, b), e.vpminsd(high, high, c), e.vpmaxsd(low, low, high);
};
constexpr auto kMedU = [](Emitter& e, const Zmm& low, const Zmm& high, const Zmm& a, const Zmm& b, const Zmm& c) {
    e.vpminud(low, a, b), e.vpmaxud(high, a, b), e.vpminud(high, high, c), e.vpmaxud(low, low, high);
};

EmitterRows make_rows() {
    EmitterRows rows{};
    const auto set = [&](Op op, EmitFn emit) { rows[op_index(op)] = {emit, false}; };
    const auto set_float = [&](Op op, EmitFn emit) { rows[op_index(op)] = {emit, true}; };
    set(Op::v_mov_b32, unary<LYRA_INSN1(vmovdqa32)>);
    set(Op::v_not_b32, unary<[](Emitter& e, const Zmm& t, const Zmm& a) { e.vpternlogd(t, a, a, 0x55); }>);
    set_float(Op::v_cvt_f32_i32, float1<LYRA_INSN1(vcvtdq2ps)>);
    set_float(Op::v_cvt_f32_u32, float1<LYRA_INSN1(vcvtudq2ps)>);
    set(Op::v_cvt_i32_f32, cvt_i32_f32);
    set(Op::v_cvt_u32_f32, cvt_u32_f32);
    set_float(Op::v_cvt_f64_i32, [](Emitter& e, const VectorOp& op) { cvt_f64_of_int(e, op, true); });
    set_float(Op::v_cvt_f64_u32, [](Emitter& e, const VectorOp& op) { cvt_f64_of_int(e, op, false); });
    set_float(Op::v_cvt_f64_f32, cvt_f64_f32);
    set_float(Op::v_cvt_f32_f64, cvt_f32_f64);
    set_float(Op::v_cvt_f32_ubyte0, cvt_f32_ubyte<0>);
    set_float(Op::v_cvt_f32_ubyte1, cvt_f32_ubyte<1>);
    set_float(Op::v_cvt_f32_ubyte2, cvt_f32_ubyte<2>);
    set_float(Op::v_cvt_f32_ubyte3, cvt_f32_ubyte<3>);
    set_float(Op::v_frexp_mant_f32, frexp_mant_f32);
    set(Op::v_frexp_exp_i32_f32, frexp_exp_i32_f32);
    set(Op::v_cmp_class_f32, cmp_class_f32);
    set(Op::v_cmpx_class_f32, cmp_class_f32);
    set(Op::v_ffbh_u32, ffbh_u32);
    set(Op::v_ffbh_i32, ffbh_i32);
    set(Op::v_ffbl_b32, ffbl_b32);
    set_float(Op::v_rndne_f32, float1<LYRA_ROUND(vrndscaleps, 8)>);
    set_float(Op::v_floor_f32, float1<LYRA_ROUND(vrndscaleps, 9)>);
    set_float(Op::v_ceil_f32, float1<LYRA_ROUND(vrndscaleps, 10)>);
    set_float(Op::v_trunc_f32, float1<LYRA_ROUND(vrndscaleps, 11)>);
    set_float(Op::v_rcp_f32, rcp_f32);
    set_float(Op::v_rcp_iflag_f32, rcp_f32);
    set_float(Op::v_rsq_f32, rsq_f32);
    set_float(Op::v_sqrt_f32, sqrt_f32);
    set_float(Op::v_ldexp_f32, ldexp_f32);
    set_float(Op::v_ldexp_f64, ldexp_f64);

    set_float(Op::v_add_f32, float2<LYRA_INSN(vaddps)>);
    set_float(Op::v_sub_f32, float2<LYRA_INSN(vsubps)>);
    set_float(Op::v_subrev_f32, float2<LYRA_INSN(vsubps), 1, 0>);
    set_float(Op::v_mul_f32, float2<LYRA_INSN(vmulps)>);
    set_float(Op::v_min_f32, minmax_f32<false>);
    set_float(Op::v_max_f32, minmax_f32<true>);
    set_float(Op::v_fma_f32, fma_f32);
    set_float(Op::v_fmac_f32, fma_f32);
    set_float(Op::v_add_f64, double2<LYRA_INSN(vaddpd)>);
    set_float(Op::v_mul_f64, double2<LYRA_INSN(vmulpd)>);
    set_float(Op::v_fma_f64, fma_f64);
    set_float(Op::v_fmac_f64, fma_f64);
    set_float(Op::v_pk_add_f32, packed::two<LYRA_INSN(vaddps)>);
    set_float(Op::v_pk_mul_f32, packed::two<LYRA_INSN(vmulps)>);
    set_float(Op::v_pk_fma_f32, packed::fma);
    set(Op::v_pk_mov_b32, packed::mov);
    set(Op::v_mov_b64, packed::mov_b64);
    set(Op::v_lshl_add_u64, lshl_add_u64);

    set(Op::v_add_u32, integer2<kAdd>);
    set(Op::v_add_i32, integer2<kAdd>);
    set(Op::v_sub_u32, integer2<kSub>);
    set(Op::v_sub_i32, integer2<kSub>);
    set(Op::v_subrev_u32, integer2<kSub, 1, 0>);
    set(Op::v_and_b32, integer2<kAnd>);
    set(Op::v_or_b32, integer2<kOr>);
    set(Op::v_xor_b32, integer2<kXor>);
    set(Op::v_min_i32, integer2<kMinI>);
    set(Op::v_max_i32, integer2<kMaxI>);
    set(Op::v_min_u32, integer2<kMinU>);
    set(Op::v_max_u32, integer2<kMaxU>);
    set(Op::v_mul_lo_u32, integer2<LYRA_INSN(vpmulld)>);
    set(Op::v_mul_hi_u32, mul_hi<false>);
    set(Op::v_mul_hi_i32, mul_hi<true>);
    set(Op::v_mul_u32_u24, mad24<false, false>);
    set(Op::v_mul_i32_i24, mad24<true, false>);
    set(Op::v_mad_u32_u24, mad24<false, true>);
    set(Op::v_mad_i32_i24, mad24<true, true>);
    set(Op::v_mad_u64_u32, mad_u64_u32);
    set(Op::v_lshlrev_b32, shift_reversed<Shift::Left>);
    set(Op::v_lshrrev_b32, shift_reversed<Shift::Right>);
    set(Op::v_ashrrev_i32, shift_reversed<Shift::Arithmetic>);
    set(Op::v_lshlrev_b64, shift64_reversed<Shift::Left>);
    set(Op::v_lshrrev_b64, shift64_reversed<Shift::Right>);
    set(Op::v_ashrrev_i64, shift64_reversed<Shift::Arithmetic>);
    set(Op::v_cndmask_b32, cndmask);
    set(Op::v_add_co_u32, carry<Sum::Add, false>);
    set(Op::v_addc_co_u32, carry<Sum::Add, true>);
    set(Op::v_sub_co_u32, carry<Sum::Sub, false>);
    set(Op::v_subb_co_u32, carry<Sum::Sub, true>);
    set(Op::v_subrev_co_u32, carry<Sum::SubReversed, false>);
    set(Op::v_subbrev_co_u32, carry<Sum::SubReversed, true>);

    set(Op::v_alignbit_b32, alignbit);
    set(Op::v_bfe_u32, bfe_u32);
    set(Op::v_bfe_i32, bfe_i32);
    set(Op::v_bfi_b32, bfi_b32);
    set(Op::v_add3_u32, integer3<kAdd, kAdd>);
    set(Op::v_lshl_add_u32, integer3<kShl, kAdd>);
    set(Op::v_add_lshl_u32, integer3<kAdd, kShl>);
    set(Op::v_lshl_or_b32, integer3<kShl, kOr>);
    set(Op::v_and_or_b32, integer3<kAnd, kOr>);
    set(Op::v_or3_b32, integer3<kOr, kOr>);
    set(Op::v_xad_u32, integer3<kXor, kAdd>);
    set(Op::v_min3_i32, integer3<kMinI, kMinI>);
    set(Op::v_max3_i32, integer3<kMaxI, kMaxI>);
    set(Op::v_min3_u32, integer3<kMinU, kMinU>);
    set(Op::v_max3_u32, integer3<kMaxU, kMaxU>);
    set(Op::v_med3_i32, med3<kMedI>);
    set(Op::v_med3_u32, med3<kMedU>);

#define LYRA_COMPARE(op, type, KIND, how)                          \
    set(Op::v_cmp_##op##_##type, compare<CompareKind::KIND, how>); \
    set(Op::v_cmpx_##op##_##type, compare<CompareKind::KIND, how>);
#include "gcn-interp/translator/compares.inc"
#undef LYRA_COMPARE
    return rows;
}

/// Every lane reads one of its strip: rows of DPP are strips.
bool within_strips(const Inst& inst) {
    const DppPattern& pattern = dpp_pattern(inst);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((pattern.has_source >> lane & 1) != 0 && pattern.from[lane] / kStripLanes != lane / kStripLanes) return false;
    }
    return inst.src[0] >= kSrcVgpr0 && inst.src[0] != kNoOperand;
}

bool plain_format(const Inst& inst, bool has_dpp) {
    switch (inst.format) {
        case Format::VOP1_DPP:
        case Format::VOP2_DPP: return has_dpp && within_strips(inst);
        case Format::VOP1:
        case Format::VOP2:
        case Format::VOPC:
        case Format::VOP3:
        case Format::VOP3P: return true;
        case Format::VOP1_SDWA:
        case Format::VOP2_SDWA:
        case Format::VOPC_SDWA: return inst.format == Format::VOPC_SDWA || inst.dst_sel == 6;
        default: return false;
    }
}

}  // namespace

VectorOp vector_op(const Inst& inst, const CodeConfig& config) {
    static const EmitterRows kRows = make_rows();
    return vector_op(inst, config, kRows, true);
}

VectorOp vector_op(const Inst& inst, const CodeConfig& config, const EmitterRows& rows, bool has_dpp) {
    const EmitterRow& how = rows[op_index(inst.op)];
    const InstInfo& row = info(inst.op);
    if (how.emit == nullptr || !plain_format(inst, has_dpp) || (inst.clamp && !how.float_clamp)) return {};
    if (inst.op_sel != 0 && inst.format != Format::VOP3P) return {};
    VectorOp op;
    op.inst = &inst;
    const auto note = [](ScalarSet& set, unsigned first, unsigned dwords) {
        for (unsigned i = 0; i < dwords; ++i) set.set(first + i);
    };
    note(op.uses.reads, kExecLo, 2);
    const auto vectors = [&](VectorSet& set, unsigned first, unsigned dwords) {
        if (first + dwords > config.vgprs) return false;
        for (unsigned i = 0; i < dwords; ++i) set.set(first + i);
        return true;
    };
    const auto masks_to = [&](ScalarSet& set, unsigned pair, int& physical) {
        // EXEC as a mask operand would be read while it is written.
        if (!are_scalar_registers(pair, 2, config) || pair >= kM0 || pair % 2 != 0) return false;
        physical = static_cast<int>(config.physical(pair));
        note(set, config.physical(pair), 2);
        return true;
    };
    ScalarSet values;
    for (unsigned n = 0; n < row.profile->sources(); ++n) {
        unsigned number = inst.src[n];
        if (info(row.profile->src[n]).kind == Kind::Mask) {
            if (!masks_to(op.uses.reads, number == kNoOperand ? unsigned{kVccLo} : number, op.mask_in)) return {};
            continue;
        }
        const unsigned dwords = row.src_dwords(n);
        if (number >= kSrcVgpr0 && number != kNoOperand) {
            if (!vectors(op.uses.vector_reads, number - kSrcVgpr0, dwords)) return {};
        } else if (!constant_of(inst, number, dwords, row.float_source(n)).is_constant) {
            if (!are_scalar_registers(number, dwords, config)) return {};
            note(values, config.physical(number), dwords);
        }
    }
    // One pair as a lane mask and as a value: emitters look for it in one place.
    if (op.mask_in >= 0 && (values.test(static_cast<size_t>(op.mask_in)) || values.test(static_cast<size_t>(op.mask_in) + 1)))
        return {};
    op.uses.reads |= values;
    const bool through_dpp = is_dpp(inst.format);
    if (through_dpp && (row.has(flag::CarryOut) || row.dst_dwords() != 1 || row.src_dwords(0) != 1)) return {};
    if ((through_dpp || row.has(flag::ReadsDst)) && !vectors(op.uses.vector_reads, inst.dst, row.dst_dwords())) return {};
    if (row.format == Format::VOPC || row.has(flag::CarryOut)) {
        if (!masks_to(op.uses.writes, inst.sdst == kNoOperand ? unsigned{kVccLo} : inst.sdst, op.mask_out)) return {};
        if (row.has(flag::WritesExec)) note(op.uses.writes, kExecLo, 2);
    }
    if (row.format != Format::VOPC && inst.dst + row.dst_dwords() > config.vgprs) return {};
    op.emit = how.emit;
    return op;
}

transcendental::Routine Emitter::row_function(Op op) const {
    const transcendental::Routines* const routines = transcendental::routines(Backend::Avx512);
    return op == Op::v_exp_f32 ? routines->exp : op == Op::v_log_f32 ? routines->log : nullptr;
}

/// Functions that take a row: too long to be in place, and too costly for a call to matter.
bool Emitter::transcendental(const Inst& inst) {
    const auto row_of = [&](unsigned number) { return ptr[rbp + static_cast<int>(number * sizeof(VgprRow))]; };
    const transcendental::Routine function = row_function(inst.op);
    const bool plain =
        inst.format == Format::VOP1 || (inst.format == Format::VOP3 && (inst.neg | inst.abs) == 0 && !inst.clamp);
    if (function == nullptr || !plain || inst.src[0] < kSrcVgpr0 || inst.src[0] - kSrcVgpr0 >= config_.vgprs ||
        inst.dst >= config_.vgprs)
        return false;
    if (uniform_transcendental(inst, function)) return true;
    uniform_row(inst.src[0] - kSrcVgpr0);
    uniform_.vgprs.erase(inst.dst);
    lea(rdi, row_of(inst.dst));
    lea(rsi, row_of(inst.src[0] - kSrcVgpr0));
    mov(rdx, ptr[rbx + kExec]);
    mov(rax, reinterpret_cast<uint64_t>(function));
    call(rax);
    return true;
}

}  // namespace lyra::gcn

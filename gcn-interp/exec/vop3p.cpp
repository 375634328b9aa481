// SPDX-License-Identifier: MIT
// VOP3P: a 16-bit operation on both halves, an f32 one on two registers, mixed-precision multiply-adds; step 6 of the data
// flow.
// @source AMD Vega ISA document, chapter "VOP3P instructions"; docs/spec/isa.md 3.1, 4.1
#include "gcn-interp/exec/dot.h"
#include "gcn-interp/exec/valu_lanes.h"
#include "gcn-interp/exec/valu_passes.h"
#include "gcn-interp/exec/valu_special.h"

namespace lyra::gcn {

namespace lane {

constexpr Saturating<&mad_i16, &mad_i16_clamped> v_pk_mad_i16;
constexpr auto v_pk_mul_lo_u16 = &mul_lo_u16;
constexpr Saturating<&add_i16, &add_i16_clamped> v_pk_add_i16;
constexpr Saturating<&sub_i16, &sub_i16_clamped> v_pk_sub_i16;
constexpr auto v_pk_lshlrev_b16 = &lshlrev_b16;
constexpr auto v_pk_lshrrev_b16 = &lshrrev_b16;
constexpr auto v_pk_ashrrev_i16 = &ashrrev_i16;
constexpr auto v_pk_max_i16 = &max_i16;
constexpr auto v_pk_min_i16 = &min_i16;
constexpr Saturating<&mad_u16, &mad_u16_clamped> v_pk_mad_u16;
constexpr Saturating<&add_u16, &add_u16_clamped> v_pk_add_u16;
constexpr Saturating<&sub_u16, &sub_u16_clamped> v_pk_sub_u16;
constexpr auto v_pk_max_u16 = &max_u16;
constexpr auto v_pk_min_u16 = &min_u16;
constexpr auto v_pk_fma_f16 = &fma_f16;
constexpr auto v_pk_add_f16 = &add_f16;
constexpr auto v_pk_mul_f16 = &mul_f16;
constexpr auto v_pk_min_f16 = &min_f16;
constexpr auto v_pk_max_f16 = &max_f16;

/// An f32 multiply-add and the part of the destination it writes.
template <auto kFn, MixResult kResult>
struct Mix {
    static constexpr auto kOperation = kFn;
    static constexpr MixResult kPart = kResult;
};
constexpr Mix<&mad_f32, MixResult::F32> v_mad_mix_f32;
constexpr Mix<&mad_f32, MixResult::LowHalf> v_mad_mixlo_f16;
constexpr Mix<&mad_f32, MixResult::HighHalf> v_mad_mixhi_f16;
constexpr Mix<&fma_f32, MixResult::F32> v_fma_mix_f32;
constexpr Mix<&fma_f32, MixResult::LowHalf> v_fma_mixlo_f16;
constexpr Mix<&fma_f32, MixResult::HighHalf> v_fma_mixhi_f16;

// gfx90a and later
/// An f32 operation on pairs of registers.
template <auto kFn>
struct Packed32 {
    static constexpr auto kEach = kFn;
};
inline float add_f32(float a, float b) { return fp::add(a, b); }
inline float mul_f32(float a, float b) { return fp::mul(a, b); }
constexpr Packed32<&fma_f32> v_pk_fma_f32;
constexpr Packed32<&mul_f32> v_pk_mul_f32;
constexpr Packed32<&add_f32> v_pk_add_f32;
constexpr Custom<&exec_v_pk_mov_b32> v_pk_mov_b32;
constexpr Custom<&exec_acc_move> v_accvgpr_read_b32, v_accvgpr_write_b32;

// gfx906 and later
constexpr Dot<&dot2_f32_f16, 2> v_dot2_f32_f16;
constexpr Dot<Saturating<&dot_signed<16>, &dot_signed_clamped<16>>{}, 2> v_dot2_i32_i16;
constexpr Dot<Saturating<&dot_unsigned<16>, &dot_unsigned_clamped<16>>{}, 2> v_dot2_u32_u16;
constexpr Dot<Saturating<&dot_signed<8>, &dot_signed_clamped<8>>{}, 4> v_dot4_i32_i8;
constexpr Dot<Saturating<&dot_unsigned<8>, &dot_unsigned_clamped<8>>{}, 4> v_dot4_u32_u8;
constexpr Dot<Saturating<&dot_signed<4>, &dot_signed_clamped<4>>{}, 8> v_dot8_i32_i4;
constexpr Dot<Saturating<&dot_unsigned<4>, &dot_unsigned_clamped<4>>{}, 8> v_dot8_u32_u4;

}  // namespace lane

namespace {

template <auto kLane, Backend kBackend>
constexpr OpDesc packed_desc() {
    OpDesc d = LaneOf<kLane>::Sig::describe();
    d.compute = Loop<LaneOf<kLane>::kFn, false>::template on<kBackend>();
    d.compute_saturating = LaneOf<kLane>::template saturating<kBackend>();
    return d;
}
template <auto kLane, Backend kBackend>
inline constexpr OpDesc kPackedDesc = packed_desc<kLane, kBackend>();

template <auto kLane, Backend kBackend>
void packed(ExecContext& ctx, const Inst& inst) {
    run_packed<kBackend>(ctx, inst, kPackedDesc<kLane, kBackend>);
}
template <auto kPair, Backend kBackend>
void packed32(ExecContext& ctx, const Inst& inst) {
    run_packed32<kBackend>(ctx, inst, kPackedDesc<kPair.kEach, kBackend>);
}
template <auto kMix, Backend kBackend>
void mix(ExecContext& ctx, const Inst& inst) {
    run_mix<kBackend>(ctx, inst, kPackedDesc<kMix.kOperation, kBackend>, kMix.kPart);
}
template <auto kDot, Backend kBackend>
void dot(ExecContext& ctx, const Inst& inst) {
    using T = std::remove_cv_t<decltype(kDot)>;
    static constexpr const OpDesc& kDesc = kPackedDesc<T::kDot, kBackend>;
    constexpr Elem kElement = kDesc.dst.is_float ? Value<Half>::kElem
                              : T::kHalves       ? Value<uint16_t>::kElem
                                                 : Value<uint32_t>::kElem;
    run_dot<kBackend>(ctx, inst, kDesc, kElement, T::kHalves);
}

template <auto kLane, Backend kBackend>
constexpr ExecFn packed_handler() {
    using T = std::remove_cv_t<decltype(kLane)>;
    if constexpr (requires { T::kDot; }) {
        return &dot<kLane, kBackend>;
    } else if constexpr (requires { T::kCustom; }) {
        return T::kCustom;
    } else if constexpr (requires { T::kEach; }) {
        return &packed32<kLane, kBackend>;
    } else if constexpr (requires { T::kOperation; }) {
        return &mix<kLane, kBackend>;
    } else {
        static_assert(kPackedDesc<kLane, kBackend>.dst.bits == 16);
        return &packed<kLane, kBackend>;
    }
}

template <auto kLane>
void add_packed(ExecTable& table, Op op) {
    constexpr Versions kVersions(packed_handler<kLane, Backend::Portable>(), packed_handler<kLane, Backend::Avx2>(),
                                 packed_handler<kLane, kWidest>());
    table.set(op, Format::VOP3P, kVersions[table.backend()]);
}

/// Source n as the 16 bits that half h of the operation reads, sign modifier applied.
void select_half(const Inst& inst, const OpDesc& desc, unsigned n, unsigned h, const uint32_t* in, uint32_t* out) {
    const unsigned upper = ((h != 0 ? inst.op_sel_hi : inst.op_sel) >> n) & 1;
    const bool negate = desc.src[n].is_float && (((h != 0 ? inst.neg_hi : inst.neg) >> n) & 1);
    const uint32_t flip = negate ? 0x8000u : 0u;
    for (unsigned l = 0; l < kLanes; ++l) out[l] = ((in[l] >> (16 * upper)) & 0xffff) ^ flip;
}

/// One operand of the mix family as f32.
void widen_mix_source(const Inst& inst, unsigned n, const ModeView& mode, const uint32_t* in, uint32_t* out) {
    const bool is_half = (inst.op_sel_hi >> n) & 1;
    const unsigned shift = ((inst.op_sel >> n) & 1) ? 16 : 0;
    const uint32_t keep = ((inst.neg_hi >> n) & 1) ? 0x7fffffffu : ~0u;  // neg_hi is abs here
    const uint32_t flip = ((inst.neg >> n) & 1) ? 0x80000000u : 0u;
    const bool flush_half = !mode.denorm_in16_64, flush_single = !mode.denorm_in32;
    for (unsigned l = 0; l < kLanes; ++l) {
        uint32_t v = in[l];
        if (is_half) {
            v >>= shift;
            if (flush_half && (v & 0x7c00) == 0) v &= 0x8000;
            v = std::bit_cast<uint32_t>(fp::half_to_float(v));
        } else if (flush_single) {
            v = std::bit_cast<uint32_t>(fp::flush(std::bit_cast<float>(v)));
        }
        out[l] = (v & keep) ^ flip;
    }
}

void write_row(Wave& wave, unsigned vgpr, const uint32_t* value, Scratch& scratch) {
    store_masked(vgpr_write_row(wave, vgpr, scratch.dump), value, exec_rows(wave));
}

inline void packed_halves(ExecContext& ctx, const Inst& encoded, const OpDesc& desc) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    const ModeView mode(wave.mode);
    const Inst inst = ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, encoded) : encoded;
    Scratch scratch;
    Rows sources{};
    sources.lanes = kLanes;
    for (unsigned n = 0; n < desc.sources; ++n) fetch_source(wave, inst, n, desc.src[n], true, scratch, sources);

    VgprRow halves[3];
    Rows rows{};
    rows.lanes = kLanes;
    rows.mode = &mode;
    rows.carry = scratch.carry.lane;
    for (unsigned h = 0; h < 2; ++h) {
        for (unsigned n = 0; n < desc.sources; ++n) {
            select_half(inst, desc, n, h, sources.low[n], halves[n].lane);
            if (desc.src[n].arithmetic && !mode.denorm_in16_64) passes::flush_rows(16, halves[n].lane, nullptr, kLanes);
            rows.low[n] = halves[n].lane;
        }
        rows.dst_low = scratch.result[h].lane;
        passes::compute_rounded(inst, desc, mode, rows);
        passes::finish_value(inst, desc, mode, rows);
    }
    uint32_t* low = scratch.result[0].lane;
    const uint32_t* high = scratch.result[1].lane;
    for (unsigned l = 0; l < kLanes; ++l) low[l] = (low[l] & 0xffff) | (high[l] << 16);
    write_row(wave, inst.dst, low, scratch);
}

inline void packed_registers(ExecContext& ctx, const Inst& encoded, const OpDesc& desc) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    const ModeView mode(wave.mode);
    const Inst inst = ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, encoded) : encoded;
    Scratch scratch;
    VgprRow signs[3];
    Rows rows{};
    rows.lanes = kLanes;
    rows.mode = &mode;
    rows.carry = scratch.carry.lane;
    for (unsigned h = 0; h < 2; ++h) {
        const unsigned select = h != 0 ? inst.op_sel_hi : inst.op_sel, neg = h != 0 ? inst.neg_hi : inst.neg;
        for (unsigned n = 0; n < desc.sources; ++n) {
            fetch_source(wave, element_of(inst, n, bit(select, n)), n, desc.src[n], false, scratch, rows);
            for (unsigned l = 0; l < kLanes; ++l) signs[n].lane[l] = rows.low[n][l] ^ (bit(neg, n) ? 0x80000000u : 0u);
            if (!mode.denorm_in32) passes::flush_rows(32, signs[n].lane, nullptr, kLanes);
            rows.low[n] = signs[n].lane;
        }
        rows.dst_low = scratch.result[h].lane;
        passes::compute_rounded(inst, desc, mode, rows);
        passes::finish_value(inst, desc, mode, rows);
    }
    for (unsigned h = 0; h < 2; ++h) write_row(wave, inst.dst + h, scratch.result[h].lane, scratch);
}

inline void mixed(ExecContext& ctx, const Inst& encoded, const OpDesc& operation, MixResult part) {
    Wave& wave = ctx.wave;
    if (wave.exec == 0) return;
    const ModeView mode(wave.mode);
    const Inst inst = ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, encoded) : encoded;
    OpDesc desc = operation;
    if (part != MixResult::F32) desc.dst = Value<HalfFloat>::kElem;

    Scratch scratch;
    Rows rows{};
    rows.lanes = kLanes;
    rows.mode = &mode;
    VgprRow wide[3];
    for (unsigned n = 0; n < 3; ++n) {
        const bool is_half = (inst.op_sel_hi >> n) & 1;
        fetch_source(wave, inst, n, is_half ? Value<Half>::kElem : Value<float>::kElem, false, scratch, rows);
        widen_mix_source(inst, n, mode, rows.low[n], wide[n].lane);
        rows.low[n] = wide[n].lane;
    }
    rows.dst_low = scratch.result[0].lane;
    rows.carry = scratch.carry.lane;
    passes::compute_rounded(inst, operation, mode, rows);
    if (!mode.denorm_out32) passes::flush_rows(32, rows.dst_low, nullptr, kLanes);
    passes::finish_value(inst, desc, mode, rows);

    uint32_t* value = scratch.result[0].lane;
    const uint32_t* old = vgpr_read_row(wave, inst.dst);
    if (part == MixResult::LowHalf) {
        for (unsigned l = 0; l < kLanes; ++l) value[l] = (old[l] & 0xffff0000) | (value[l] & 0xffff);
    } else if (part == MixResult::HighHalf) {
        for (unsigned l = 0; l < kLanes; ++l) value[l] = (old[l] & 0xffff) | (value[l] << 16);
    }
    write_row(wave, inst.dst, value, scratch);
}

}  // namespace

template <Backend kBackend>
void exec_v_pk_fmac_f16(ExecContext& ctx, const Inst& inst) {
    packed<lane::v_pk_fma_f16, kBackend>(ctx, inst);
}
template void exec_v_pk_fmac_f16<Backend::Portable>(ExecContext& ctx, const Inst& inst);
template void exec_v_pk_fmac_f16<Backend::Avx2>(ExecContext& ctx, const Inst& inst);
template void exec_v_pk_fmac_f16<Backend::Avx512>(ExecContext& ctx, const Inst& inst);

#define DEFINE(name, attribute)                                                                                             \
    template <>                                                                                                             \
    [[gnu::flatten, attribute]] void run_packed<Backend::name>(ExecContext & ctx, const Inst& inst, const OpDesc& desc) {   \
        packed_halves(ctx, inst, desc);                                                                                     \
    }                                                                                                                       \
    template <>                                                                                                             \
    [[gnu::flatten, attribute]] void run_packed32<Backend::name>(ExecContext & ctx, const Inst& inst, const OpDesc& desc) { \
        packed_registers(ctx, inst, desc);                                                                                  \
    }                                                                                                                       \
    template <>                                                                                                             \
    [[gnu::flatten, attribute]] void run_mix<Backend::name>(ExecContext & ctx, const Inst& inst, const OpDesc& desc,        \
                                                            MixResult part) {                                               \
        mixed(ctx, inst, desc, part);                                                                                       \
    }
LYRA_FOR_EACH_BACKEND(DEFINE)
#undef DEFINE

void register_vop3p(ExecTable& table) {
#define VOP3P(opcode, name, profile, flags, ...) add_packed<lane::name>(table, Op::name);
#include "gcn-interp/isa/vop3p.def"
#undef VOP3P
}

}  // namespace lyra::gcn

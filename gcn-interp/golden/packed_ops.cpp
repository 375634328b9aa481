// SPDX-License-Identifier: MIT
// Reference model: what a half of a packed operation computes, multiply-adds of mixed precision, dot products; and the look-up
// of all functions.
// @source AMD Vega ISA document and its 7nm edition, "VOP3P instructions"; docs/design/decisions.md for v_dot2_f32_f16
#include <array>

#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

/// Number n of 32 / kBits that a register holds.
template <unsigned kBits, bool kSigned>
int64_t element(uint32_t packed, unsigned n) {
    const auto raw = static_cast<int64_t>((packed >> (kBits * n)) & ((uint64_t{1} << kBits) - 1));
    return kSigned && raw >= (int64_t{1} << (kBits - 1)) ? raw - (int64_t{1} << kBits) : raw;
}
template <unsigned kBits, bool kSigned>
uint64_t dot(Lane& l) {
    __int128 total = kSigned ? __int128{l.i32(2)} : __int128{l.u32(2)};
    for (unsigned n = 0; n < 32 / kBits; ++n)
        total += __int128{element<kBits, kSigned>(l.u32(0), n)} * element<kBits, kSigned>(l.u32(1), n);
    return wrap_or_limit(l, total, 32, kSigned);
}
/// One product after the other, low half first; f32 denormals are flushed.
uint64_t dot_halves(Lane& l) {
    Target to = l.target<kF32>();
    to.denormals = false;
    uint64_t total = flushed(kF32, l.source[2]);
    for (unsigned shift = 0; shift < 32; shift += 16) {
        const Real a = real_of(kF16, (l.source[0] >> shift) & 0xffff), b = real_of(kF16, (l.source[1] >> shift) & 0xffff);
        total = round_to(to, sum(real_of(kF32, total), product(a, b, l.flags), to.direction, l.flags), l.flags);
    }
    return total;
}

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_dot2_f32_f16, dot_halves},   {Op::v_dot2_i32_i16, dot<16, true>}, {Op::v_dot2_u32_u16, dot<16, false>},
    {Op::v_dot4_i32_i8, dot<8, true>},  {Op::v_dot4_u32_u8, dot<8, false>},  {Op::v_dot8_i32_i4, dot<4, true>},
    {Op::v_dot8_u32_u4, dot<4, false>},
};

/// Operations that compute, in a half or in f32, what another one does.
struct Like {
    Op op, other;
};
constexpr Like kLike[] = {
    {Op::v_pk_mad_i16, Op::v_mad_i16},         {Op::v_pk_mul_lo_u16, Op::v_mul_lo_u16},
    {Op::v_pk_add_i16, Op::v_add_i16},         {Op::v_pk_sub_i16, Op::v_sub_i16},
    {Op::v_pk_lshlrev_b16, Op::v_lshlrev_b16}, {Op::v_pk_lshrrev_b16, Op::v_lshrrev_b16},
    {Op::v_pk_ashrrev_i16, Op::v_ashrrev_i16}, {Op::v_pk_max_i16, Op::v_max_i16},
    {Op::v_pk_min_i16, Op::v_min_i16},         {Op::v_pk_mad_u16, Op::v_mad_u16},
    {Op::v_pk_add_u16, Op::v_add_u16},         {Op::v_pk_sub_u16, Op::v_sub_u16},
    {Op::v_pk_max_u16, Op::v_max_u16},         {Op::v_pk_min_u16, Op::v_min_u16},
    {Op::v_pk_fma_f16, Op::v_fma_f16},         {Op::v_pk_add_f16, Op::v_add_f16},
    {Op::v_pk_mul_f16, Op::v_mul_f16},         {Op::v_pk_min_f16, Op::v_min_f16},
    {Op::v_pk_max_f16, Op::v_max_f16},         {Op::v_mad_mix_f32, Op::v_mad_f32},
    {Op::v_mad_mixlo_f16, Op::v_mad_f32},      {Op::v_mad_mixhi_f16, Op::v_mad_f32},
    {Op::v_fma_mix_f32, Op::v_fma_f32},        {Op::v_fma_mixlo_f16, Op::v_fma_f32},
    {Op::v_fma_mixhi_f16, Op::v_fma_f32},      {Op::v_pk_fma_f32, Op::v_fma_f32},
    {Op::v_pk_mul_f32, Op::v_mul_f32},         {Op::v_pk_add_f32, Op::v_add_f32},
    {Op::v_fmac_f64, Op::v_fma_f64},           {Op::v_mul_legacy_f32_vop3, Op::v_mul_legacy_f32},
    {Op::v_pk_fmac_f16, Op::v_fma_f16},        {Op::v_dot2c_f32_f16, Op::v_dot2_f32_f16},
    {Op::v_dot2c_i32_i16, Op::v_dot2_i32_i16}, {Op::v_dot4c_i32_i8, Op::v_dot4_i32_i8},
    {Op::v_dot8c_i32_i4, Op::v_dot8_i32_i4},   {Op::v_fmamk_f32, Op::v_fma_f32},
    {Op::v_fmaak_f32, Op::v_fma_f32},          {Op::v_mov_b64, Op::v_mov_b32},
};

}  // namespace

std::span<const Entry> packed_entries() { return kEntries; }

LaneFunction lane_function(Op op) {
    static const auto table = [] {
        std::array<LaneFunction, gcn::kOpCount> t{};
        for (const auto& entries : {float_entries(), division_entries(), transcendental_entries(), conversion_entries(),
                                    integer_entries(), byte_entries(), packed_entries()})
            for (const Entry& e : entries) t[gcn::op_index(e.op)] = e.function;
        for (const Like& like : kLike) t[gcn::op_index(like.op)] = t[gcn::op_index(like.other)];
        for (size_t n = 1; n < gcn::kOpCount; ++n)
            if (t[n] == nullptr) t[n] = compare_function(static_cast<Op>(n));
        return t;
    }();
    return table[gcn::op_index(op)];
}

}  // namespace lyra::golden

// SPDX-License-Identifier: MIT
// Reference model: integers of 16, 32 and 64 bits, bits, carries. Values are computed without loss in 128 bits, then cut.
// @source AMD Vega ISA document, "Vector ALU instructions"
#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

using Wide = __int128;
constexpr Wide kOne = 1;

/// Source n as a number of kBits bits.
template <unsigned kBits, bool kSigned>
Wide number(const Lane& l, unsigned n) {
    const Wide raw = static_cast<Wide>(l.source[n]) & ((kOne << kBits) - 1);
    return kSigned && ((raw >> (kBits - 1)) & 1) != 0 ? raw - (kOne << kBits) : raw;
}

template <unsigned kBits, bool kSigned>
uint64_t add(Lane& l) {
    return wrap_or_limit(l, number<kBits, kSigned>(l, 0) + number<kBits, kSigned>(l, 1), kBits, kSigned);
}
template <unsigned kBits, bool kSigned, unsigned kFrom, unsigned kTake>
uint64_t subtract(Lane& l) {
    return wrap_or_limit(l, number<kBits, kSigned>(l, kFrom) - number<kBits, kSigned>(l, kTake), kBits, kSigned);
}
/// kIn bits are multiplied and kBits bits added.
template <unsigned kIn, unsigned kBits, bool kSigned>
uint64_t multiply_add(Lane& l) {
    const Wide v = number<kIn, kSigned>(l, 0) * number<kIn, kSigned>(l, 1) + number<kBits, kSigned>(l, 2);
    return wrap_or_limit(l, v, kBits, kSigned);
}
template <unsigned kIn, bool kSigned>
uint64_t multiply(Lane& l) {
    return wrap_or_limit(l, number<kIn, kSigned>(l, 0) * number<kIn, kSigned>(l, 1), 32, kSigned);
}
template <unsigned kIn, bool kSigned>
uint64_t multiply_high(Lane& l) {
    return static_cast<uint32_t>((number<kIn, kSigned>(l, 0) * number<kIn, kSigned>(l, 1)) >> 32);
}
template <unsigned kBits>
uint64_t multiply_low(Lane& l) {
    return static_cast<uint64_t>((number<kBits, false>(l, 0) * number<kBits, false>(l, 1)) & ((kOne << kBits) - 1));
}
template <bool kSigned>
uint64_t multiply_add_64(Lane& l) {
    const Wide v = number<32, kSigned>(l, 0) * number<32, kSigned>(l, 1) + number<64, kSigned>(l, 2);
    l.carry = ((v >> 64) & 1) != 0;
    const Wide low = kSigned ? -(kOne << 63) : 0, high = kSigned ? (kOne << 63) - 1 : (kOne << 64) - 1;
    return static_cast<uint64_t>(!l.clamp ? v : v < low ? low : v > high ? high : v);
}

// Carries
template <bool kCarryIn>
uint64_t add_carry(Lane& l) {
    const Wide v = number<32, false>(l, 0) + number<32, false>(l, 1) + (kCarryIn && l.mask ? 1 : 0);
    l.carry = v >= kOne << 32;
    return wrap_or_limit(l, v, 32, false);
}
template <unsigned kFrom, unsigned kTake, bool kCarryIn>
uint64_t subtract_borrow(Lane& l) {
    const Wide v = number<32, false>(l, kFrom) - number<32, false>(l, kTake) - (kCarryIn && l.mask ? 1 : 0);
    l.carry = v < 0;
    return wrap_or_limit(l, v, 32, false);
}

// Order
template <unsigned kBits, bool kSigned, bool kLarger>
uint64_t extreme(Lane& l) {
    const bool first = (number<kBits, kSigned>(l, 0) > number<kBits, kSigned>(l, 1)) == kLarger;
    return l.source[first ? 0 : 1] & ((uint64_t{1} << kBits) - 1);
}
/// Of three numbers the kRank-th, 0 being the least.
template <unsigned kBits, bool kSigned, int kRank>
uint64_t ranked(Lane& l) {
    for (unsigned n = 0; n < 3; ++n) {
        int rank = 0;
        for (unsigned m = 0; m < 3; ++m) {
            const Wide a = number<kBits, kSigned>(l, n), b = number<kBits, kSigned>(l, m);
            if (b < a || (b == a && m < n)) ++rank;
        }
        if (rank == kRank) return l.source[n] & ((uint64_t{1} << kBits) - 1);
    }
    return 0;
}

// Shifts: kBy is the source that counts
template <unsigned kBits, unsigned kBy, unsigned kWhat>
uint64_t shift_left(Lane& l) {
    return static_cast<uint64_t>((number<kBits, false>(l, kWhat) << (l.source[kBy] % kBits)) & ((kOne << kBits) - 1));
}
template <unsigned kBits, bool kSigned>
uint64_t shift_right(Lane& l) {
    return static_cast<uint64_t>((number<kBits, kSigned>(l, 1) >> (l.source[0] % kBits)) & ((kOne << kBits) - 1));
}

// Bits
uint64_t move(Lane& l) { return l.source[0]; }
uint64_t invert(Lane& l) { return ~l.u32(0) & 0xffffffffu; }
uint64_t reverse(Lane& l) {
    uint64_t r = 0;
    for (unsigned n = 0; n < 32; ++n) r |= ((l.source[0] >> n) & 1) << (31 - n);
    return r;
}
uint64_t first_one_from_top(Lane& l) {
    for (unsigned n = 0; n < 32; ++n)
        if ((l.source[0] >> (31 - n)) & 1) return n;
    return 0xffffffff;
}
uint64_t first_one_from_bottom(Lane& l) {
    for (unsigned n = 0; n < 32; ++n)
        if ((l.source[0] >> n) & 1) return n;
    return 0xffffffff;
}
uint64_t first_unlike_sign(Lane& l) {
    for (unsigned n = 1; n < 32; ++n)
        if (((l.source[0] >> (31 - n)) & 1) != ((l.source[0] >> 31) & 1)) return n;
    return 0xffffffff;
}
uint64_t conjunction(Lane& l) { return l.u32(0) & l.u32(1); }
uint64_t disjunction(Lane& l) { return l.u32(0) | l.u32(1); }
uint64_t exclusive(Lane& l) { return l.u32(0) ^ l.u32(1); }
uint64_t equivalence(Lane& l) { return (l.u32(0) ^ l.u32(1)) ^ 0xffffffffu; }
uint64_t select(Lane& l) { return l.mask ? l.u32(1) : l.u32(0); }
template <bool kSigned>
uint64_t extract(Lane& l) {
    const unsigned offset = l.u32(1) % 32, width = l.u32(2) % 32;
    const Wide field = (number<32, kSigned>(l, 0) >> offset) & ((kOne << width) - 1);
    if (!kSigned || width == 0 || ((field >> (width - 1)) & 1) == 0) return static_cast<uint64_t>(field);
    return static_cast<uint32_t>(field - (kOne << width));
}
uint64_t insert(Lane& l) {
    uint64_t r = 0;
    for (unsigned n = 0; n < 32; ++n) r |= ((((l.source[0] >> n) & 1) != 0 ? l.source[1] : l.source[2]) >> n & 1) << n;
    return r;
}
uint64_t field_mask(Lane& l) {
    uint64_t r = 0;
    for (unsigned n = 0; n < l.u32(0) % 32; ++n) r |= uint64_t{1} << (n + l.u32(1) % 32);
    return static_cast<uint32_t>(r);
}
template <unsigned kUnit>
uint64_t align(Lane& l) {
    const Wide pair = (static_cast<Wide>(l.u32(0)) << 32) | l.u32(1);
    return static_cast<uint32_t>(pair >> (kUnit * (l.u32(2) % (32 / kUnit))));
}
uint64_t count_ones(Lane& l) {
    uint64_t r = l.u32(1);
    for (unsigned n = 0; n < 32; ++n) r += (l.source[0] >> n) & 1;
    return static_cast<uint32_t>(r);
}
/// Ones of a half of a lane mask that belong to lanes below this one.
template <unsigned kFirst>
uint64_t count_lanes_below(Lane& l) {
    uint64_t r = l.u32(1);
    for (unsigned n = 0; n < 32; ++n)
        if (kFirst + n < l.number) r += (l.source[0] >> n) & 1;
    return static_cast<uint32_t>(r);
}

// Two steps in one
uint64_t shift_add(Lane& l) { return static_cast<uint32_t>((uint64_t{l.u32(0)} << (l.u32(1) % 32)) + l.u32(2)); }
uint64_t shift_add_wide(Lane& l) { return (l.source[0] << (l.u32(1) % 8)) + l.source[2]; }
uint64_t add_shift(Lane& l) { return static_cast<uint32_t>((uint64_t{l.u32(0)} + l.u32(1)) << (l.u32(2) % 32)); }
uint64_t add3(Lane& l) { return static_cast<uint32_t>(uint64_t{l.u32(0)} + l.u32(1) + l.u32(2)); }
uint64_t shift_or(Lane& l) { return static_cast<uint32_t>(uint64_t{l.u32(0)} << (l.u32(1) % 32)) | l.u32(2); }
uint64_t and_or(Lane& l) { return conjunction(l) | l.u32(2); }
uint64_t or3(Lane& l) { return disjunction(l) | l.u32(2); }
uint64_t xor_add(Lane& l) { return static_cast<uint32_t>(exclusive(l) + l.u32(2)); }

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_mov_b32, move},
    {Op::v_not_b32, invert},
    {Op::v_bfrev_b32, reverse},
    {Op::v_ffbh_u32, first_one_from_top},
    {Op::v_ffbl_b32, first_one_from_bottom},
    {Op::v_ffbh_i32, first_unlike_sign},
    {Op::v_and_b32, conjunction},
    {Op::v_or_b32, disjunction},
    {Op::v_xor_b32, exclusive},
    {Op::v_xnor_b32, equivalence},
    {Op::v_cndmask_b32, select},
    {Op::v_bfe_u32, extract<false>},
    {Op::v_bfe_i32, extract<true>},
    {Op::v_bfi_b32, insert},
    {Op::v_bfm_b32, field_mask},
    {Op::v_alignbit_b32, align<1>},
    {Op::v_alignbyte_b32, align<8>},
    {Op::v_bcnt_u32_b32, count_ones},
    {Op::v_mbcnt_lo_u32_b32, count_lanes_below<0>},
    {Op::v_mbcnt_hi_u32_b32, count_lanes_below<32>},
    {Op::v_add_u32, add<32, false>},
    {Op::v_sub_u32, subtract<32, false, 0, 1>},
    {Op::v_subrev_u32, subtract<32, false, 1, 0>},
    {Op::v_add_i32, add<32, true>},
    {Op::v_sub_i32, subtract<32, true, 0, 1>},
    {Op::v_add_u16, add<16, false>},
    {Op::v_sub_u16, subtract<16, false, 0, 1>},
    {Op::v_subrev_u16, subtract<16, false, 1, 0>},
    {Op::v_add_i16, add<16, true>},
    {Op::v_sub_i16, subtract<16, true, 0, 1>},
    {Op::v_add_co_u32, add_carry<false>},
    {Op::v_addc_co_u32, add_carry<true>},
    {Op::v_sub_co_u32, subtract_borrow<0, 1, false>},
    {Op::v_subrev_co_u32, subtract_borrow<1, 0, false>},
    {Op::v_subb_co_u32, subtract_borrow<0, 1, true>},
    {Op::v_subbrev_co_u32, subtract_borrow<1, 0, true>},
    {Op::v_mul_i32_i24, multiply<24, true>},
    {Op::v_mul_u32_u24, multiply<24, false>},
    {Op::v_mul_hi_i32_i24, multiply_high<24, true>},
    {Op::v_mul_hi_u32_u24, multiply_high<24, false>},
    {Op::v_mul_hi_i32, multiply_high<32, true>},
    {Op::v_mul_hi_u32, multiply_high<32, false>},
    {Op::v_mul_lo_u32, multiply_low<32>},
    {Op::v_mul_lo_u16, multiply_low<16>},
    {Op::v_mad_i32_i24, multiply_add<24, 32, true>},
    {Op::v_mad_u32_u24, multiply_add<24, 32, false>},
    {Op::v_mad_i32_i16, multiply_add<16, 32, true>},
    {Op::v_mad_u32_u16, multiply_add<16, 32, false>},
    {Op::v_mad_i16, multiply_add<16, 16, true>},
    {Op::v_mad_u16, multiply_add<16, 16, false>},
    {Op::v_mad_legacy_i16, multiply_add<16, 16, true>},
    {Op::v_mad_legacy_u16, multiply_add<16, 16, false>},
    {Op::v_mad_u64_u32, multiply_add_64<false>},
    {Op::v_mad_i64_i32, multiply_add_64<true>},
    {Op::v_min_i32, extreme<32, true, false>},
    {Op::v_max_i32, extreme<32, true, true>},
    {Op::v_min_u32, extreme<32, false, false>},
    {Op::v_max_u32, extreme<32, false, true>},
    {Op::v_min_i16, extreme<16, true, false>},
    {Op::v_max_i16, extreme<16, true, true>},
    {Op::v_min_u16, extreme<16, false, false>},
    {Op::v_max_u16, extreme<16, false, true>},
    {Op::v_min3_i32, ranked<32, true, 0>},
    {Op::v_med3_i32, ranked<32, true, 1>},
    {Op::v_max3_i32, ranked<32, true, 2>},
    {Op::v_min3_u32, ranked<32, false, 0>},
    {Op::v_med3_u32, ranked<32, false, 1>},
    {Op::v_max3_u32, ranked<32, false, 2>},
    {Op::v_min3_i16, ranked<16, true, 0>},
    {Op::v_med3_i16, ranked<16, true, 1>},
    {Op::v_max3_i16, ranked<16, true, 2>},
    {Op::v_min3_u16, ranked<16, false, 0>},
    {Op::v_med3_u16, ranked<16, false, 1>},
    {Op::v_max3_u16, ranked<16, false, 2>},
    {Op::v_lshlrev_b32, shift_left<32, 0, 1>},
    {Op::v_lshrrev_b32, shift_right<32, false>},
    {Op::v_ashrrev_i32, shift_right<32, true>},
    {Op::v_lshlrev_b16, shift_left<16, 0, 1>},
    {Op::v_lshrrev_b16, shift_right<16, false>},
    {Op::v_ashrrev_i16, shift_right<16, true>},
    {Op::v_lshlrev_b64, shift_left<64, 0, 1>},
    {Op::v_lshrrev_b64, shift_right<64, false>},
    {Op::v_ashrrev_i64, shift_right<64, true>},
    {Op::v_lshl_add_u32, shift_add},
    {Op::v_lshl_add_u64, shift_add_wide},
    {Op::v_add_lshl_u32, add_shift},
    {Op::v_add3_u32, add3},
    {Op::v_lshl_or_b32, shift_or},
    {Op::v_and_or_b32, and_or},
    {Op::v_or3_b32, or3},
    {Op::v_xad_u32, xor_add},
};

}  // namespace

std::span<const Entry> integer_entries() { return kEntries; }

}  // namespace lyra::golden

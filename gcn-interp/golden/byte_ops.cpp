// SPDX-License-Identifier: MIT
// Reference model: operations on the bytes of registers.
// @source AMD Vega ISA document, V_SAD_U8, V_MSAD_U8, V_QSAD_PK_U16_U8, V_PERM_B32, V_LERP_U8
#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

int byte_of(uint64_t v, unsigned n) { return static_cast<int>((v >> (8 * n)) & 0xff); }
int64_t distance(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

/// Four differences of bytes; masked: those whose byte of the reference is 0 do not count.
int64_t byte_distance(uint64_t a, uint64_t reference, bool masked) {
    int64_t r = 0;
    for (unsigned n = 0; n < 4; ++n)
        if (!masked || byte_of(reference, n) != 0) r += distance(byte_of(a, n), byte_of(reference, n));
    return r;
}

template <bool kMasked, unsigned kUp>
uint64_t sad_u8(Lane& l) {
    return wrap_or_limit(l, (__int128{byte_distance(l.u32(0), l.u32(1), kMasked)} << kUp) + l.u32(2), 32, false);
}
uint64_t sad_u16(Lane& l) {
    const int64_t d = distance(l.u32(0) >> 16, l.u32(1) >> 16) + distance(l.u16(0), l.u16(1));
    return wrap_or_limit(l, __int128{d} + l.u32(2), 32, false);
}
uint64_t sad_u32(Lane& l) { return wrap_or_limit(l, __int128{distance(l.u32(0), l.u32(1))} + l.u32(2), 32, false); }

/// The bytes of source 0 that begin at byte n, for n from 0 to 3.
template <bool kMasked>
uint64_t quad_sad_u16(Lane& l) {
    uint64_t r = 0;
    for (unsigned n = 0; n < 4; ++n) {
        const int64_t d =
            byte_distance(l.source[0] >> (8 * n), l.u32(1), kMasked) + static_cast<uint16_t>(l.source[2] >> (16 * n));
        r |= wrap_or_limit(l, d, 16, false) << (16 * n);
    }
    return r;
}
uint64_t quad_sad_u32(Lane& l) {
    uint64_t part[4];
    for (unsigned n = 0; n < 4; ++n) {
        const uint64_t addends = n < 2 ? l.source[2] : l.source2_high;
        const uint32_t addend = static_cast<uint32_t>(addends >> (32 * (n % 2)));
        part[n] = wrap_or_limit(l, __int128{byte_distance(l.source[0] >> (8 * n), l.u32(1), true)} + addend, 32, false);
    }
    l.high = part[2] | (part[3] << 32);
    return part[0] | (part[1] << 32);
}
/// (a + b + rounding bit) / 2.
uint64_t lerp(Lane& l) {
    uint64_t r = 0;
    for (unsigned n = 0; n < 4; ++n) {
        const int v = (byte_of(l.source[0], n) + byte_of(l.source[1], n) + (byte_of(l.source[2], n) & 1)) / 2;
        r |= static_cast<uint64_t>(v) << (8 * n);
    }
    return r;
}
uint64_t permute(Lane& l) {
    const uint64_t in = l.u32(1) | (uint64_t{l.u32(0)} << 32);
    uint64_t r = 0;
    for (unsigned n = 0; n < 4; ++n) {
        const int selector = byte_of(l.source[2], n);
        int byte = 0xff;
        if (selector < 8)
            byte = byte_of(in, static_cast<unsigned>(selector));
        else if (selector < 12)
            byte = byte_of(in, 2 * static_cast<unsigned>(selector - 8) + 1) >= 0x80 ? 0xff : 0;
        else if (selector == 12)
            byte = 0;
        r |= static_cast<uint64_t>(byte) << (8 * n);
    }
    return r;
}

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_sad_u8, sad_u8<false, 0>},
    {Op::v_sad_hi_u8, sad_u8<false, 16>},
    {Op::v_msad_u8, sad_u8<true, 0>},
    {Op::v_sad_u16, sad_u16},
    {Op::v_sad_u32, sad_u32},
    {Op::v_qsad_pk_u16_u8, quad_sad_u16<false>},
    {Op::v_mqsad_pk_u16_u8, quad_sad_u16<true>},
    {Op::v_mqsad_u32_u8, quad_sad_u32},
    {Op::v_lerp_u8, lerp},
    {Op::v_perm_b32, permute},
};

}  // namespace

std::span<const Entry> byte_entries() { return kEntries; }

}  // namespace lyra::golden

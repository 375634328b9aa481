// SPDX-License-Identifier: MIT
// Dot products of gfx906 (VOP3P): two, four or eight products of packed elements and a 32-bit addend; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/exec/frame.h"

namespace lyra::gcn {

/// A dot product of sources 0 and 1, added to source 2. kElements: halves are chosen by op_sel and op_sel_hi when there are
/// two.
template <auto kLane, unsigned kElements>
struct Dot {
    static constexpr auto kDot = kLane;
    static constexpr bool kHalves = kElements == 2;
};

namespace lane {

/// Element n of a register that holds 32 / kBits of them.
template <unsigned kBits, bool kSigned>
constexpr int64_t element(uint32_t packed, unsigned n) {
    const uint32_t raw = (packed >> (kBits * n)) & ((1u << kBits) - 1);
    return kSigned ? static_cast<int64_t>(raw ^ (1u << (kBits - 1))) - (int64_t{1} << (kBits - 1)) : static_cast<int64_t>(raw);
}
/// The exact sum; it needs at most 36 bits.
template <unsigned kBits, bool kSigned>
constexpr int64_t dot_sum(uint32_t a, uint32_t b, int64_t addend) {
    int64_t sum = addend;
    for (unsigned n = 0; n < 32 / kBits; ++n) sum += element<kBits, kSigned>(a, n) * element<kBits, kSigned>(b, n);
    return sum;
}
template <unsigned kBits>
int32_t dot_signed(uint32_t a, uint32_t b, int32_t c) {
    return static_cast<int32_t>(dot_sum<kBits, true>(a, b, c));
}
template <unsigned kBits>
int32_t dot_signed_clamped(uint32_t a, uint32_t b, int32_t c) {
    const int64_t sum = dot_sum<kBits, true>(a, b, c);
    return static_cast<int32_t>(sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum);
}
template <unsigned kBits>
uint32_t dot_unsigned(uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>(dot_sum<kBits, false>(a, b, c));
}
template <unsigned kBits>
uint32_t dot_unsigned_clamped(uint32_t a, uint32_t b, uint32_t c) {
    const int64_t sum = dot_sum<kBits, false>(a, b, c);
    return static_cast<uint32_t>(sum > UINT32_MAX ? UINT32_MAX : sum);
}

/// Two f16, denormals flushed where MODE does not let them be.
inline uint32_t input_halves(const ModeView& mode, uint32_t pair) {
    const uint32_t low = (pair & 0x7c00) == 0 ? 0xffff8000u : ~0u, high = (pair & 0x7c000000) == 0 ? 0x8000ffffu : ~0u;
    return mode.denorm_in16_64 ? pair : pair & low & high;
}

/// Products of f16 are exact in f32; they are added to the addend one after the other, low half first. The order is a choice:
/// no public text fixes it. f32 denormals are flushed whatever MODE says. @source docs/spec/isa.md 3.2
inline float dot2_f32_f16(uint32_t a, uint32_t b, float c) {
    float sum = fp::flush(c);
    sum = fp::flush(fp::add(sum, fp::mul(fp::half_to_float(a & 0xffff), fp::half_to_float(b & 0xffff))));
    return fp::flush(fp::add(sum, fp::mul(fp::half_to_float(a >> 16), fp::half_to_float(b >> 16))));
}

}  // namespace lane

/// @param desc    of the lane function; @param element  what constants among sources 0 and 1 are
/// @param halves  op_sel, and neg of floats, work on halves of sources 0 and 1; neg of source 2 is that of the addend
template <Backend kBackend>
void run_dot(ExecContext& ctx, const Inst& inst, const OpDesc& desc, const Elem& element, bool halves);

}  // namespace lyra::gcn

// SPDX-License-Identifier: MIT
// Emitters with AVX2 of what takes numbers apart: powers of two, mantissa, exponent, class, first bit; step 6 of the data flow.
// For avx2_vector.cpp only.
#pragma once

#include "gcn-interp/translator/avx2_lanes.h"

namespace lyra::gcn::avx2 {

// x * 2^n -----------------------------------------------------------------------------------------------------------------

inline void bound(E& e, const Ymm& t, const Ymm& value, const Ymm& least, const Ymm& most) {
    e.vpminsd(t, value, most);
    e.vpmaxsd(t, t, least);
}
struct PowerRegisters {
    Ymm bias, zero, factor;
};
inline PowerRegisters power_registers(E& e) { return {e.constant(1023), e.constant(0), e.temporary()}; }
/// x * 2^n of doubles. @param n  exponents of normal numbers; is changed
inline void times_power(E& e, const Wide& x, const Ymm& n, const PowerRegisters& r) {
    e.vpaddd(n, n, r.bias);
    e.vpunpckldq(r.factor, n, r.zero);
    e.vpsllq(r.factor, r.factor, 52);
    e.vmulpd(x.first, x.first, r.factor);
    e.vpunpckhdq(r.factor, n, r.zero);
    e.vpsllq(r.factor, r.factor, 52);
    e.vmulpd(x.second, x.second, r.factor);
}
/// The product of doubles is exact, so that there is one rounding.
inline void ldexp_f32(E& e, const VectorOp& op) {
    const Wide t = convert_halves(e, e.source(op, 0), [&](const Ymm& to, const Xbyak::Xmm& a) { e.vcvtps2pd(to, a); });
    const Ymm n = e.temporary();
    bound(e, n, e.source(op, 1), e.constant(0u - 400), e.constant(400));
    const PowerRegisters r = power_registers(e);
    times_power(e, t, n, r);
    for (const Ymm& each : {n, r.factor}) e.release(each);
    narrow(e, t, t);
    define_f32(e, op, t.first);
}
/// In up to three steps, as fp::scale(): those before the last one are exact unless the result is 0 or infinite anyway.
inline void ldexp_f64(E& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0), t = a.may_change ? a : e.wide_temporary();
    if (!a.may_change) {
        e.vmovapd(t.first, a.first);
        e.vmovapd(t.second, a.second);
    }
    const Ymm n = e.source(op, 1), least = e.constant(0u - 1000), most = e.constant(1000);
    const Ymm last = e.temporary(), rest = e.temporary(), part = e.temporary();
    const PowerRegisters r = power_registers(e);
    bound(e, last, n, least, most);
    e.vpsubd(rest, n, last);
    e.vptest(rest, rest);
    Xbyak::Label one_step;
    e.jz(one_step);  // no register is taken up to there
    bound(e, part, rest, least, most);
    e.vpsubd(rest, rest, part);
    times_power(e, t, part, r);
    bound(e, rest, rest, least, most);
    times_power(e, t, rest, r);
    e.L(one_step);
    times_power(e, t, last, r);
    for (const Ymm& each : {last, rest, part, r.factor}) e.release(each);
    define_f64(e, op, t);
}

// Mantissa, exponent, class -----------------------------------------------------------------------------------------------

struct Parts {
    Ymm normal;  ///< the number, denormals times 2^24
    Ymm small;  ///< zeros and denormals
    Ymm special;  ///< zeros, infinities, NaNs
};
inline Parts take_apart(E& e, const Ymm& a) {
    const Parts p{e.temporary(), e.temporary(), e.temporary()};
    const Ymm exponent = e.constant(0x7f800000), zero = e.constant(0);
    e.vpand(p.small, a, exponent);
    e.vpcmpeqd(p.special, p.small, exponent);
    e.vpcmpeqd(p.small, p.small, zero);
    e.vmulps(p.normal, a, e.constant(0x4b800000));  // 2^24
    e.vblendvps(p.normal, a, p.normal, p.small);
    const Ymm zeros = e.temporary();
    e.vcmpps(zeros, a, zero, kEqual);
    e.vpor(p.special, p.special, zeros);
    e.release(zeros);
    return p;
}
inline void frexp_mant_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary();
    const Parts p = take_apart(e, a);
    e.vpand(t, p.normal, e.constant(0x807fffff));
    e.vpor(t, t, e.constant(0x3f000000));  // from 1/2 on
    e.vaddps(p.normal, a, a);  // zeros and infinities stay, NaNs become quiet
    e.vblendvps(t, t, p.normal, p.special);
    define_f32(e, op, t);
}
inline void frexp_exp_i32_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary();
    const Parts p = take_apart(e, a);
    e.vpslld(t, p.normal, 1);
    e.vpsrld(t, t, 24);
    e.vpsubd(t, t, e.constant(126));
    e.vpand(p.small, p.small, e.constant(24));
    e.vpsubd(t, t, p.small);
    e.vpandn(t, p.special, t);
    define(e, op, t);
}
/// Bits of the second source: signaling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
inline void cmp_class_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0);
    const Ymm magnitude = e.temporary(), bit = e.temporary(), k = e.temporary(), other = e.temporary();
    e.vpslld(magnitude, a, 1);
    e.vpsrld(magnitude, magnitude, 1);
    // 0 of zeros, -1 of denormals, -2 of normal numbers, -3 of the rest
    e.vpxor(k, k, k);
    e.vpcmpgtd(bit, magnitude, k);
    for (const uint32_t above : {0x7fffffu, 0x7f7fffffu}) {
        e.vpcmpgtd(k, magnitude, e.constant(above));
        e.vpaddd(bit, bit, k);
    }
    e.vpaddd(other, bit, e.constant(5));
    e.vpsubd(bit, e.constant(6), bit);
    e.vblendvps(bit, bit, other, a);  // of negative ones
    e.vpslld(other, a, 9);
    e.vpsrld(other, other, 31);  // 1 of quiet NaNs
    e.vpcmpgtd(k, magnitude, e.constant(0x7f800000));
    e.vblendvps(bit, bit, other, k);
    e.vpcmpeqd(k, k, k);
    e.vpsrld(other, k, 31);
    e.vpsllvd(bit, other, bit);
    e.release(magnitude);
    e.vpand(bit, bit, e.source(op, 1));
    e.vpxor(other, other, other);
    e.vpcmpeqd(bit, bit, other);
    e.vpxor(bit, bit, k);
    e.define_mask(static_cast<unsigned>(op.mask_out), bit);
}

// First bit: -1 where none is set -----------------------------------------------------------------------------------------

/// t = exponent of the float that the dword is, biased; of 0: 0
inline void exponent_of(E& e, const Ymm& t, const Ymm& value) {
    e.vcvtdq2ps(t, value);
    e.vpslld(t, t, 1);
    e.vpsrld(t, t, 24);
}
/// @param value  is changed
inline void first_bit_high(E& e, const VectorOp& op, const Ymm& value) {
    const Ymm t = e.temporary(), none = e.temporary();
    e.vpcmpeqd(none, value, e.constant(0));
    // Without the bit below the first one it is not rounded up to the next power of two.
    e.vpsrld(t, value, 1);
    e.vpandn(t, t, value);
    exponent_of(e, t, t);
    e.vpsubd(t, e.constant(158), t);
    e.vpsrad(value, value, 31);
    e.vpandn(t, value, t);
    e.vpor(t, t, none);
    define(e, op, t);
}
inline void ffbh_u32(E& e, const VectorOp& op) {
    const Ymm value = e.temporary();
    e.vmovdqa(value, e.source(op, 0));
    first_bit_high(e, op, value);
}
inline void ffbh_i32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), differs = e.temporary();
    e.vpsrad(differs, a, 31);
    e.vpxor(differs, differs, a);
    first_bit_high(e, op, differs);
}
inline void ffbl_b32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary(), none = e.temporary(), zero = e.constant(0);
    e.vpcmpeqd(none, a, zero);
    e.vpsubd(t, zero, a);
    e.vpand(t, t, a);
    exponent_of(e, t, t);
    e.vpsubd(t, t, e.constant(127));
    e.vpor(t, t, none);
    define(e, op, t);
}

}  // namespace lyra::gcn::avx2

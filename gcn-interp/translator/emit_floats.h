// SPDX-License-Identifier: MIT
// Emitters of what floats are made into: multiply-add, roots, minimum and maximum, conversions, their parts; step 6 of the data
// flow. As emit_lanes.h; for emit_vector.cpp only.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "gcn-interp/translator/emit_lanes.h"

namespace lyra::gcn::lanes {

// Multiply-add ----------------------------------------------------------------------------------------------------------------

inline void fma_f32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), b = e.source(op, 1), t = e.consumed_source(op, 2);
    e.vfmadd231ps(t, a, b);
    define_f32(e, op, t);
}
inline void fma_f64(Emitter& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0), b = e.wide_source(op, 1), c = e.wide_source(op, 2);
    const Wide t{e.temporary(), e.temporary()};
    e.vmovaps(t.first, c.first);
    e.vmovaps(t.second, c.second);
    e.vfmadd231pd(t.first, a.first, b.first);
    e.vfmadd231pd(t.second, a.second, b.second);
    define_f64(e, op, t);
}

inline constexpr uint8_t kDenormalClass = 0x20;
inline Zmm flushed(Emitter& e, const Zmm& value) {
    const Zmm t = e.temporary();
    const Opmask k = e.temporary_mask();
    e.vmovaps(t, value);
    e.vfpclassps(k, value, kDenormalClass);
    e.vandps(t | k, value, e.constant(0x80000000));
    return t;
}
inline void flush(Emitter& e, const Zmm& value) {
    const Opmask k = e.temporary_mask();
    e.vfpclassps(k, value, kDenormalClass);
    e.vandps(value | k, value, e.constant(0x80000000));
}
inline void rcp_f32(Emitter& e, const VectorOp& op) {
    const bool is_mantissa = e.is_mantissa(op, 0);
    const Zmm source = e.source(op, 0), a = is_mantissa ? source : flushed(e, source), t = e.temporary();
    e.vdivps(t, e.constant(0x3f800000), a);
    if (!is_mantissa) flush(e, t);
    define_f32(e, op, t);
}
/// Step by step as exec/transcendental.inc does it: where two sums differ the result is computed as the lane function does.
inline void rsq_f32(Emitter& e, const VectorOp& op) {
    constexpr uint8_t kNotEqual = 4;
    constexpr uint32_t kHalf = 0x3f000000, kOne = 0x3f800000, kSlack = 0x2b800000;  // 2^-40
    const Zmm x = flushed(e, e.source(op, 0)), y = e.temporary(), a = e.temporary(), low = e.temporary(), half = e.temporary(),
              r = e.temporary();
    const Opmask k = e.temporary_mask();
    e.vrsqrt14ps(y, x);
    e.vmulps(a, x, y);
    e.vmulps(half, y, e.constant(kHalf));
    e.vfnmadd213ps(a, y, e.constant(kOne));
    e.vfmadd231ps(y, half, a);
    e.vmulps(a, x, y);
    e.vmovaps(low, a);
    e.vfmsub231ps(low, x, y);
    e.vfnmadd213ps(a, y, e.constant(kOne));
    e.vfnmadd213ps(low, y, a);
    e.vmulps(half, y, e.constant(kHalf));
    e.vsubps(a, low, e.constant(kSlack));
    e.vaddps(low, low, e.constant(kSlack));
    e.vmovaps(r, y);
    e.vfmadd231ps(r, half, a);
    e.vfmadd213ps(low, half, y);
    e.vcmpps(k | e.exec(), r, low, kNotEqual);
    e.kortestw(k, k);
    Xbyak::Label undecided, decided;
    e.jnz(undecided, Xbyak::CodeGenerator::T_NEAR);
    e.L(decided);
    const auto one = e.pool64(0x3ff0000000000000);
    e.elsewhere([&e, x, y, a, low, r, one, undecided, decided]() mutable {
        const auto half_of = [](const Zmm& reg) { return Xbyak::Ymm(reg.getIdx()); };
        e.L(undecided);
        e.vextractf64x4(half_of(low), x, 1);
        e.vcvtps2pd(a, half_of(x));
        e.vcvtps2pd(low, half_of(low));
        e.vbroadcastsd(y, one);
        for (const Zmm& part : {a, low}) {
            e.vsqrtpd(part, part);
            e.vdivpd(part, y, part);
            e.vcvtpd2ps(half_of(part), part);
        }
        e.vinsertf64x4(r, a, half_of(low), 1);
        e.jmp(decided, Xbyak::CodeGenerator::T_NEAR);
    });
    define_f32(e, op, r);
}
inline void sqrt_f32(Emitter& e, const VectorOp& op) {
    const Zmm a = flushed(e, e.source(op, 0)), t = e.temporary();
    e.vsqrtps(t, a);
    define_f32(e, op, t);
}
/// x * 2^n, rounded once.
inline void ldexp_f32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), n = e.source(op, 1), t = e.temporary();
    e.vcvtdq2ps(t, n);
    e.vscalefps(t, a, t);
    define_f32(e, op, t);
}
inline void ldexp_f64(Emitter& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0);
    const Zmm n = e.source(op, 1);
    // Sign-extended, so that each count is a double's.
    const Zmm high = e.temporary();
    e.vpsrad(high, n, 31);
    const Wide counts = e.widen(n, high), t{e.temporary(), e.temporary()};
    e.vcvtqq2pd(counts.first, counts.first);
    e.vcvtqq2pd(counts.second, counts.second);
    e.vscalefpd(t.first, a.first, counts.first);
    e.vscalefpd(t.second, a.second, counts.second);
    define_f64(e, op, t);
}

// Minimum and maximum: fp::minimum(), IEEE mode -----------------------------------------------------------------------------

template <bool kMaximum>
void minmax_f32(Emitter& e, const VectorOp& op) {
    constexpr uint8_t kLess = 0x11, kGreater = 0x1e, kEqual = 0, kUnordered = 3, kSignalingClass = 0x80;
    const Zmm a = e.source(op, 0), b = e.source(op, 1), t = e.temporary();
    const Opmask k = e.temporary_mask(), other = e.temporary_mask();
    e.vpmovd2m(other, a);
    if (kMaximum) e.knotw(other, other);
    e.vcmpps(other | other, a, b, kEqual);  // NOLINT(misc-redundant-expression): a mask
    e.vcmpps(k, a, b, kMaximum ? kGreater : kLess);
    e.korw(k, k, other);
    e.vblendmps(t | k, b, a);
    e.vcmpps(k, b, b, kUnordered);
    e.vmovaps(t | k, a);
    e.vcmpps(k, a, a, kUnordered);
    e.vmovaps(t | k, b);
    for (const Zmm& each : {b, a}) {
        e.vfpclassps(k, each, kSignalingClass);
        e.vorps(t | k, each, e.constant(0x400000));
    }
    define_f32(e, op, t);
}

// Conversions -------------------------------------------------------------------------------------------------------------

inline void cvt_i32_f32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), t = e.temporary();
    const Opmask k = e.temporary_mask();
    e.vcvttps2dq(t, a);  // 0x80000000 out of range
    e.vcmpps(k, a, e.constant(0x4f000000), 0x1d);
    e.vmovdqa32(t | k, e.constant(0x7fffffff));
    e.vcmpps(k, a, a, 3);
    e.vmovdqa32(t | k, e.constant(0));
    define(e, op, t);
}
inline void cvt_u32_f32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), t = e.temporary();
    const Opmask k = e.temporary_mask();
    e.vcmpps(k, a, e.constant(0), 0x1e);
    e.vcvttps2udq(t | k | e.T_z, a);  // all ones out of range
    define(e, op, t);
}
inline void cvt_f64_of_int(Emitter& e, const VectorOp& op, bool is_signed) {
    const Zmm a = e.source(op, 0), high = e.temporary();
    is_signed ? e.vpsrad(high, a, 31) : e.vpxord(high, high, high);
    const Wide t = e.widen(a, high);
    e.vcvtqq2pd(t.first, t.first);
    e.vcvtqq2pd(t.second, t.second);
    define_f64(e, op, t);
}

/// Lanes 0, 1, 4, 5, ... and 2, 3, 6, 7, ... as Wide has them, but of floats.
inline void cvt_f64_f32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), packed = e.temporary();
    // Two lanes of each 128 bits for the first register, then those for the second one.
    e.vmovdqa32(packed, e.lanes_of_wide());
    e.vpermd(packed, packed, a);
    const Wide t{e.temporary(), e.temporary()};
    e.vextractf64x4(Xbyak::Ymm(t.second.getIdx()), packed, 1);
    e.vcvtps2pd(t.second, Xbyak::Ymm(t.second.getIdx()));
    e.vcvtps2pd(t.first, Xbyak::Ymm(packed.getIdx()));
    define_f64(e, op, t);
}
inline void cvt_f32_f64(Emitter& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0);
    const Zmm first = e.temporary(), second = e.temporary(), t = e.temporary();
    e.vcvtpd2ps(Xbyak::Ymm(first.getIdx()), a.first);
    e.vcvtpd2ps(Xbyak::Ymm(second.getIdx()), a.second);
    e.vinsertf64x4(first, first, Xbyak::Ymm(second.getIdx()), 1);
    e.vmovdqa32(t, e.lanes_from_wide());
    e.vpermd(t, t, first);
    define_f32(e, op, t);
}
template <unsigned kByte>
void cvt_f32_ubyte(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), t = e.temporary();
    if constexpr (kByte == 3) {
        e.vpsrld(t, a, 24);
    } else {
        e.vpsrld(t, a, kByte * 8);
        e.vpandd(t, t, e.constant(0xff));
    }
    e.vcvtdq2ps(t, t);
    define_f32(e, op, t);
}

// Mantissa, exponent, class -----------------------------------------------------------------------------------------------

/// Bits of vfpclassps. Normal numbers are what is left.
namespace fpclass {
inline constexpr uint8_t kQuiet = 0x01, kZero = 0x02, kMinusZero = 0x04, kInf = 0x08, kMinusInf = 0x10, kDenormal = 0x20,
                         kSignaling = 0x80;
}  // namespace fpclass

/// Tables of vfixupimmps: what a destination becomes, four bits for each class of the source; 0 leaves it.
namespace fixup {
enum Class : unsigned { kQuietNan, kSignalingNan, kZero, kMinusInf = 4, kInf };
enum Response : uint32_t { kSource = 1, kMinusOne = 9 };
constexpr uint32_t to(Response response, std::initializer_list<Class> classes) {
    uint32_t table = 0;
    for (const Class each : classes) table |= uint32_t{response} << (4 * each);
    return table;
}
}  // namespace fixup

inline void frexp_mant_f32(Emitter& e, const VectorOp& op) {
    constexpr uint8_t kFromHalf = 2;  // to [1/2, 1), with the sign
    constexpr uint32_t kAsTheyAre = fixup::to(fixup::kSource, {fixup::kZero, fixup::kMinusInf, fixup::kInf});
    const Zmm a = e.source(op, 0), t = e.temporary();
    e.vgetmantps(t, a, kFromHalf);
    e.vfixupimmps(t, a, e.constant(kAsTheyAre), 0);
    define_f32(e, op, t);
}
inline void frexp_exp_i32_f32(Emitter& e, const VectorOp& op) {
    using namespace fixup;
    constexpr uint32_t kToZero = fixup::to(kMinusOne, {kQuietNan, kSignalingNan, kZero, kMinusInf, kInf});
    const Zmm a = e.source(op, 0), t = e.temporary();
    e.vgetexpps(t, a);  // of [1, 2)
    e.vfixupimmps(t, a, e.constant(kToZero), 0);
    e.vcvtps2dq(t, t);
    e.vpaddd(t, t, e.constant(1));
    define(e, op, t);
}
/// The classes of vfpclassps for such a second source of v_cmp_class. std::nullopt: it wants normal numbers, or denormals of
/// one sign, which are no classes there.
inline std::optional<uint8_t> classes_of(uint32_t wanted) {
    constexpr uint32_t kNormals = 1u << 3 | 1u << 8, kDenormals = 1u << 4 | 1u << 7;
    const uint32_t denormals = wanted & kDenormals;
    if ((wanted & kNormals) != 0 || (denormals != 0 && denormals != kDenormals)) return std::nullopt;
    uint8_t classes = denormals != 0 ? fpclass::kDenormal : 0;
    constexpr std::array<std::pair<unsigned, uint8_t>, 6> kOthers{{{0, fpclass::kSignaling},
                                                                   {1, fpclass::kQuiet},
                                                                   {2, fpclass::kMinusInf},
                                                                   {5, fpclass::kMinusZero},
                                                                   {6, fpclass::kZero},
                                                                   {9, fpclass::kInf}}};
    for (const auto& [bit, one] : kOthers) {
        if ((wanted >> bit & 1) != 0) classes |= one;
    }
    return classes;
}
/// The second source is known. @return false: it takes the general way
inline bool cmp_known_class_f32(Emitter& e, const VectorOp& op, uint32_t wanted) {
    const std::optional<uint8_t> classes = classes_of(wanted), others = classes_of(~wanted);
    if (!classes && !others) return false;
    const Zmm a = e.source(op, 0);
    const Opmask out = e.temporary_mask();
    e.vfpclassps(classes ? out | e.exec() : out, a, classes ? *classes : *others);
    if (!classes) e.kandnw(out, out, e.exec());
    e.define_mask(static_cast<unsigned>(op.mask_out), out);
    return true;
}
/// Bits of the second source: signaling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
inline void cmp_class_f32(Emitter& e, const VectorOp& op) {
    if (const auto wanted = e.known_source(op, 1); wanted && cmp_known_class_f32(e, op, *wanted)) return;
    const Zmm a = e.source(op, 0), wanted = e.source(op, 1), bit = e.temporary();
    const Opmask out = e.temporary_mask(), k = e.temporary_mask();
    const auto set = [&](uint32_t value) { e.vmovdqa32(bit | k, e.constant(value)); };
    const auto set_if = [&](uint8_t classes, uint32_t value) {
        e.vfpclassps(k, a, classes);
        set(value);
    };
    e.vmovdqa32(bit, e.constant(1u << 8));
    set_if(fpclass::kDenormal, 1u << 7);
    e.vpmovd2m(k, a);
    set(1u << 3);
    e.vfpclassps(k | k, a, fpclass::kDenormal);
    set(1u << 4);
    set_if(fpclass::kMinusZero, 1u << 5);
    set_if(fpclass::kZero, 1u << 6);
    set_if(fpclass::kMinusInf, 1u << 2);
    set_if(fpclass::kInf, 1u << 9);
    set_if(fpclass::kQuiet, 1u << 1);
    set_if(fpclass::kSignaling, 1u << 0);
    e.vptestmd(out | e.exec(), bit, wanted);
    e.define_mask(static_cast<unsigned>(op.mask_out), out);
}

/// Leading or trailing zeros; -1 where no bit is set.
inline void first_bit_high(Emitter& e, const VectorOp& op, const Zmm& value) {
    const Zmm t = e.temporary();
    const Opmask k = e.temporary_mask();
    e.vplzcntd(t, value);
    e.vptestnmd(k, value, value);  // NOLINT(misc-redundant-expression): a mask
    e.vpternlogd(t | k, t, t, 0xff);
    define(e, op, t);
}
inline void ffbh_u32(Emitter& e, const VectorOp& op) { first_bit_high(e, op, e.source(op, 0)); }
inline void ffbh_i32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), differs = e.temporary();
    e.vpsrad(differs, a, 31);
    e.vpxord(differs, differs, a);
    first_bit_high(e, op, differs);
}
inline void ffbl_b32(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), t = e.temporary();
    e.vpsubd(t, e.constant(0), a);
    e.vpandd(t, t, a);
    e.vplzcntd(t, t);
    e.vpsubd(t, e.constant(31), t);
    define(e, op, t);
}

}  // namespace lyra::gcn::lanes

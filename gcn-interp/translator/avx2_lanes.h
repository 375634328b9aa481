// SPDX-License-Identifier: MIT
// Emitters of vector instructions with AVX2: the lanes of one strip; step 6 of the data flow. Each computes what the lane
// function of its row in exec/ computes. NaNs come from the first source that is one: x86 takes the first operand's. For
// avx2_vector.cpp only.
#pragma once

#include <cstdint>

#include "gcn-interp/translator/avx2_emitter.h"

namespace lyra::gcn::avx2 {

using Xbyak::Ymm;
using E = Avx2Emitter;
using Wide = E::Wide;

/// Shape of an EmitFn.
template <void (*kEmit)(E&, const VectorOp&)>
void emit(Emitter& e, const VectorOp& op) {
    kEmit(static_cast<E&>(e), op);
}

inline constexpr uint32_t kSign = 0x80000000, kOne = 0x3f800000;
inline constexpr uint8_t kEqual = 0, kUnordered = 3, kOrdered = 7, kLess = 0x11, kNotLess = 0x1d, kGreater = 0x1e;

inline void define(E& e, const VectorOp& op, const Ymm& value) { e.define(op.inst->dst, value); }
/// A float result: the clamp bit with DX10_CLAMP. omod is without effect where denormals are kept.
inline void define_f32(E& e, const VectorOp& op, const Ymm& value) {
    if (op.inst->clamp) {
        e.vmaxps(value, value, e.constant(0));
        e.vminps(value, value, e.constant(kOne));
    }
    define(e, op, value);
}
inline void define_f64(E& e, const VectorOp& op, const Wide& value) {
    if (op.inst->clamp) {
        const Ymm zero = e.constant(0), one = e.constant64(0x3ff0000000000000);
        for (const Ymm& part : {value.first, value.second}) {
            e.vmaxpd(part, part, zero);
            e.vminpd(part, part, one);
        }
    }
    e.define_wide(op.inst->dst, value);
}

#define LYRA_INSN(name) [](E& e, const Ymm& t, const Ymm& a, const Ymm& b) { e.name(t, a, b); }
#define LYRA_INSN1(name) [](E& e, const Ymm& t, const Ymm& a) { e.name(t, a); }
#define LYRA_ROUND(how) [](E& e, const Ymm& t, const Ymm& a) { e.vroundps(t, a, how); }

/// result = insn(source kA, source kB)
template <auto kInsn, unsigned kA = 0, unsigned kB = 1>
void integer2(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, kA), b = e.source(op, kB), t = e.temporary();
    kInsn(e, t, a, b);
    define(e, op, t);
}
template <auto kInsn, unsigned kA = 0, unsigned kB = 1>
void float2(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, kA), b = e.source(op, kB), t = e.temporary();
    kInsn(e, t, a, b);
    define_f32(e, op, t);
}
template <auto kInsn>
void double2(E& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0), b = e.wide_source(op, 1), t = a.may_change ? a : e.wide_temporary();
    kInsn(e, t.first, a.first, b.first);
    kInsn(e, t.second, a.second, b.second);
    define_f64(e, op, t);
}
template <auto kInsn>
void unary(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary();
    kInsn(e, t, a);
    define(e, op, t);
}
template <auto kInsn>
void float1(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary();
    kInsn(e, t, a);
    define_f32(e, op, t);
}
/// result = outer(inner(a, b), c)
template <auto kInner, auto kOuter>
void integer3(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), c = e.source(op, 2), t = e.temporary();
    kInner(e, t, a, b);
    kOuter(e, t, t, c);
    define(e, op, t);
}

inline constexpr auto kAdd = LYRA_INSN(vpaddd);
inline constexpr auto kSub = LYRA_INSN(vpsubd);
inline constexpr auto kAnd = LYRA_INSN(vpand);
inline constexpr auto kOr = LYRA_INSN(vpor);
inline constexpr auto kXor = LYRA_INSN(vpxor);
inline constexpr auto kMinI = LYRA_INSN(vpminsd);
inline constexpr auto kMaxI = LYRA_INSN(vpmaxsd);
inline constexpr auto kMinU = LYRA_INSN(vpminud);
inline constexpr auto kMaxU = LYRA_INSN(vpmaxud);
/// Shifts take the low five bits of the count.
template <auto kShift>
void shift_by(E& e, const Ymm& t, const Ymm& value, const Ymm& count) {
    const Ymm bounded = e.temporary();
    e.vpand(bounded, count, e.constant(31));
    kShift(e, t, value, bounded);
}
inline constexpr auto kShl = [](E& e, const Ymm& t, const Ymm& a, const Ymm& b) { shift_by<LYRA_INSN(vpsllvd)>(e, t, a, b); };
inline constexpr auto kShr = [](E& e, const Ymm& t, const Ymm& a, const Ymm& b) { shift_by<LYRA_INSN(vpsrlvd)>(e, t, a, b); };
inline constexpr auto kSar = [](E& e, const Ymm& t, const Ymm& a, const Ymm& b) { shift_by<LYRA_INSN(vpsravd)>(e, t, a, b); };

enum class Shift { Left, Right, Arithmetic };
template <Shift kShift>
void shift_bits(E& e, const Ymm& t, const Ymm& value, unsigned count) {
    const auto by = static_cast<uint8_t>(count);
    if constexpr (kShift == Shift::Left) e.vpslld(t, value, by);
    if constexpr (kShift == Shift::Right) e.vpsrld(t, value, by);
    if constexpr (kShift == Shift::Arithmetic) e.vpsrad(t, value, by);
}

/// v_lshlrev_b32 and its kin: the count comes first, and mostly is a constant.
template <Shift kShift>
void shift_reversed(E& e, const VectorOp& op) {
    const Inst& inst = *op.inst;
    const Constant count = constant_of(inst, inst.src[0], 1, false);
    const Ymm value = e.source(op, 1);
    if (count.is_constant && inst.src_sel[0] == 6) {
        const Ymm t = e.temporary();
        shift_bits<kShift>(e, t, value, count.bits & 31);
        return define(e, op, t);
    }
    const Ymm by = e.source(op, 0), t = e.temporary();
    if constexpr (kShift == Shift::Left) kShl(e, t, value, by);
    if constexpr (kShift == Shift::Right) kShr(e, t, value, by);
    if constexpr (kShift == Shift::Arithmetic) kSar(e, t, value, by);
    define(e, op, t);
}

/// By a constant, in halves.
template <Shift kShift>
void shift64_by(E& e, const VectorOp& op, unsigned by) {
    const Ymm low = e.low_half(op, 1), high = e.high_half(op, 1), l = e.temporary(), h = e.temporary(), part = e.temporary();
    const auto left = [&](const Ymm& t, const Ymm& value, unsigned count) { shift_bits<Shift::Left>(e, t, value, count); };
    const auto right = [&](const Ymm& t, const Ymm& value, unsigned count) { shift_bits<Shift::Right>(e, t, value, count); };
    if constexpr (kShift == Shift::Left) {
        if (by >= 32) {
            left(h, low, by - 32);
            e.vpxor(l, l, l);
        } else {
            left(h, high, by);
            right(part, low, 32 - by);
            e.vpor(h, h, part);
            left(l, low, by);
        }
    } else {
        if (by >= 32) {
            shift_bits<kShift>(e, l, high, by - 32);
            kShift == Shift::Arithmetic ? e.vpsrad(h, high, 31) : e.vpxor(h, h, h);
        } else {
            right(l, low, by);
            left(part, high, 32 - by);
            e.vpor(l, l, part);
            shift_bits<kShift>(e, h, high, by);
        }
    }
    e.define(op.inst->dst, l);
    e.define(op.inst->dst + 1u, h);
}
template <Shift kShift>
void shift64_reversed(E& e, const VectorOp& op) {
    const Constant count = constant_of(*op.inst, op.inst->src[0], 1, false);
    if (count.is_constant) return shift64_by<kShift>(e, op, count.bits & 63);
    const Ymm bounded = e.temporary();
    e.vpand(bounded, e.source(op, 0), e.constant(63));
    const Wide counts = e.wide_temporary();
    const Ymm zero = e.constant(0);
    e.vpunpckldq(counts.first, bounded, zero);
    e.vpunpckhdq(counts.second, bounded, zero);
    const Wide value = e.wide_source(op, 1), t = value.may_change ? value : e.wide_temporary();
    const auto shift = [&](const Ymm& to, const Ymm& from, const Ymm& n) {
        kShift == Shift::Left ? e.vpsllvq(to, from, n) : e.vpsrlvq(to, from, n);
    };
    shift(t.first, value.first, counts.first);
    shift(t.second, value.second, counts.second);
    e.define_wide(op.inst->dst, t);
}

/// The count has three bits.
inline void lshl_add_u64(E& e, const VectorOp& op) {
    const Constant count = constant_of(*op.inst, op.inst->src[1], 1, false);
    Wide counts;
    if (!count.is_constant) {
        const Ymm bounded = e.temporary(), zero = e.constant(0);
        counts = e.wide_temporary();
        e.vpand(bounded, e.source(op, 1), e.constant(7));
        e.vpunpckldq(counts.first, bounded, zero);
        e.vpunpckhdq(counts.second, bounded, zero);
    }
    const Wide value = e.wide_source(op, 0), addend = e.wide_source(op, 2), t = value.may_change ? value : e.wide_temporary();
    const auto shift = [&](const Ymm& to, const Ymm& from, const Ymm& n) {
        count.is_constant ? e.vpsllq(to, from, static_cast<uint8_t>(count.bits & 7)) : e.vpsllvq(to, from, n);
    };
    shift(t.first, value.first, counts.first);
    shift(t.second, value.second, counts.second);
    e.vpaddq(t.first, t.first, addend.first);
    e.vpaddq(t.second, t.second, addend.second);
    e.define_wide(op.inst->dst, t);
}

// Comparisons: all bits of the lanes for which they hold ------------------------------------------------------------------

/// As AVX-512 numbers them: bit 2 is not, the rest equal, less, less or equal.
enum class CompareKind { I32, U32, F32, I64, U64, F64 };

inline void invert(E& e, const Ymm& t) { e.vpxor(t, t, e.constant(~0u)); }

template <bool kSigned, uint8_t kHow>
void compare_dwords(E& e, const Ymm& t, const Ymm& a, const Ymm& b) {
    constexpr unsigned kWhich = kHow & 3;
    if constexpr (kWhich == 0) {
        e.vpcmpeqd(t, a, b);
    } else if constexpr (kWhich == 1) {  // a < b
        if constexpr (kSigned) {
            e.vpcmpgtd(t, b, a);
        } else {
            e.vpmaxud(t, a, b);
            e.vpcmpeqd(t, t, a);
            invert(e, t);
        }
    } else {  // a <= b
        kSigned ? e.vpminsd(t, a, b) : e.vpminud(t, a, b);
        e.vpcmpeqd(t, t, a);
    }
    if constexpr ((kHow & 4) != 0) invert(e, t);
}
template <bool kSigned, uint8_t kHow>
void compare_qwords(E& e, const Ymm& t, const Ymm& a, const Ymm& b) {
    constexpr unsigned kWhich = kHow & 3;
    if constexpr (kWhich == 0) {
        e.vpcmpeqq(t, a, b);
    } else {
        Ymm x = a, y = b;
        if constexpr (!kSigned) {
            const Ymm sign = e.constant64(uint64_t{1} << 63);
            x = e.temporary(), y = e.temporary();
            e.vpxor(x, a, sign);
            e.vpxor(y, b, sign);
        }
        if constexpr (kWhich == 1) {
            e.vpcmpgtq(t, y, x);
        } else {
            e.vpcmpgtq(t, x, y);
            invert(e, t);
        }
    }
    if constexpr ((kHow & 4) != 0) invert(e, t);
}

template <CompareKind kKind, uint8_t kHow>
void compare(E& e, const VectorOp& op) {
    constexpr bool kWide = kKind == CompareKind::I64 || kKind == CompareKind::U64 || kKind == CompareKind::F64;
    const auto out = static_cast<unsigned>(op.mask_out);
    if constexpr (!kWide) {
        const Ymm a = e.source(op, 0), b = e.source(op, 1), t = e.temporary();
        if constexpr (kKind == CompareKind::F32)
            e.vcmpps(t, a, b, kHow);
        else
            compare_dwords<kKind == CompareKind::I32, kHow>(e, t, a, b);
        e.define_mask(out, t);
    } else {
        const Wide a = e.wide_source(op, 0), b = e.wide_source(op, 1);
        const Ymm first = e.temporary(), second = e.temporary();
        if constexpr (kKind == CompareKind::F64) {
            e.vcmppd(first, a.first, b.first, kHow);
            e.vcmppd(second, a.second, b.second, kHow);
        } else {
            compare_qwords<kKind == CompareKind::I64, kHow>(e, first, a.first, b.first);
            compare_qwords<kKind == CompareKind::I64, kHow>(e, second, a.second, b.second);
        }
        e.vshufps(first, first, second, 0x88);
        e.define_mask(out, first);
    }
}

inline void cndmask(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), t = e.temporary();
    e.vblendvps(t, a, b, e.mask(static_cast<unsigned>(op.mask_in)));
    define(e, op, t);
}

enum class Sum { Add, Sub, SubReversed };
template <Sum kSum, bool kCarryIn>
void carry(E& e, const VectorOp& op) {
    const Ymm s0 = e.source(op, 0), s1 = e.source(op, 1), t = e.temporary(), out = e.temporary();
    const Ymm &a = kSum == Sum::SubReversed ? s1 : s0, &b = kSum == Sum::SubReversed ? s0 : s1;
    if constexpr (kSum == Sum::Add) {
        e.vpaddd(t, a, b);
        compare_dwords<false, 1>(e, out, t, a);
    } else {
        e.vpsubd(t, a, b);
        compare_dwords<false, 1>(e, out, a, b);
    }
    if constexpr (kCarryIn) {
        const Ymm in = e.mask(static_cast<unsigned>(op.mask_in)), more = e.temporary(), zero = e.constant(0);
        if constexpr (kSum == Sum::Add) {
            e.vpsubd(t, t, in);
            e.vpcmpeqd(more, t, zero);  // came round to 0
        } else {
            e.vpcmpeqd(more, t, zero);  // 0 - 1 borrows
            e.vpaddd(t, t, in);
        }
        e.vpand(more, more, in);
        e.vpor(out, out, more);
    }
    define(e, op, t);
    e.define_mask(static_cast<unsigned>(op.mask_out), out);
}

// Fields and products -----------------------------------------------------------------------------------------------------

inline void alignbit(E& e, const VectorOp& op) {
    const Inst& inst = *op.inst;
    const Constant count = constant_of(inst, inst.src[2], 1, false);
    const Ymm high = e.source(op, 0), low = e.source(op, 1), t = e.temporary(), part = e.temporary();
    if (count.is_constant) {
        const auto by = static_cast<uint8_t>(count.bits & 31);
        e.vpsrld(t, low, by);
        e.vpslld(part, high, static_cast<uint8_t>(32 - by));  // by 32: 0
    } else {
        const Ymm by = e.temporary();
        e.vpand(by, e.source(op, 2), e.constant(31));
        e.vpsrlvd(t, low, by);
        e.vpsubd(by, e.constant(32), by);
        e.vpsllvd(part, high, by);  // by 32: 0
    }
    e.vpor(t, t, part);
    define(e, op, t);
}
inline void bfe_u32(E& e, const VectorOp& op) {
    const Ymm value = e.source(op, 0), at = e.temporary(), width = e.temporary(), t = e.temporary();
    e.vpand(at, e.source(op, 1), e.constant(31));
    e.vpand(width, e.source(op, 2), e.constant(31));
    e.vpsrlvd(t, value, at);
    e.vpcmpeqd(at, at, at);
    e.vpsllvd(at, at, width);
    e.vpandn(t, at, t);
    define(e, op, t);
}
inline void bfe_i32(E& e, const VectorOp& op) {
    const Ymm value = e.source(op, 0), at = e.temporary(), rest = e.temporary(), t = e.temporary();
    e.vpand(at, e.source(op, 1), e.constant(31));
    e.vpand(rest, e.source(op, 2), e.constant(31));
    e.vpsubd(rest, e.constant(32), rest);
    e.vpsravd(t, value, at);
    e.vpsllvd(t, t, rest);  // a width of 0: shifted out
    e.vpsravd(t, t, rest);
    define(e, op, t);
}
/// (s0 & s1) | (~s0 & s2)
inline void bfi_b32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), c = e.source(op, 2), t = e.temporary(), other = e.temporary();
    e.vpand(t, a, b);
    e.vpandn(other, a, c);
    e.vpor(t, t, other);
    define(e, op, t);
}
template <bool kSigned, bool kAddend>
void mad24(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), t = e.temporary(), other = e.temporary();
    e.vpslld(t, a, 8);
    e.vpslld(other, b, 8);
    kSigned ? e.vpsrad(t, t, 8) : e.vpsrld(t, t, 8);
    kSigned ? e.vpsrad(other, other, 8) : e.vpsrld(other, other, 8);
    e.vpmulld(t, t, other);
    if constexpr (kAddend) e.vpaddd(t, t, e.source(op, 2));
    define(e, op, t);
}
template <bool kSigned>
void mul_hi(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), even = e.temporary(), odd = e.temporary(), other = e.temporary();
    const auto multiply = [&](const Ymm& t, const Ymm& x, const Ymm& y) { kSigned ? e.vpmuldq(t, x, y) : e.vpmuludq(t, x, y); };
    multiply(even, a, b);
    e.vpsrlq(odd, a, 32);
    e.vpsrlq(other, b, 32);
    multiply(odd, odd, other);
    e.vpsrlq(even, even, 32);
    e.vpblendd(even, even, odd, 0xaa);
    define(e, op, even);
}
inline void mad_u64_u32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), other = e.temporary();
    const Wide product = e.wide_temporary(), addend = e.wide_source(op, 2);
    e.vpunpckldq(product.first, a, a);
    e.vpunpckldq(other, b, b);
    e.vpmuludq(product.first, product.first, other);
    e.vpunpckhdq(product.second, a, a);
    e.vpunpckhdq(other, b, b);
    e.vpmuludq(product.second, product.second, other);
    e.vpaddq(product.first, product.first, addend.first);
    e.vpaddq(product.second, product.second, addend.second);
    const Ymm x = e.temporary(), y = e.temporary(), out = e.temporary(), sign = e.constant64(uint64_t{1} << 63);
    const auto carries = [&](const Ymm& t, const Ymm& sum, const Ymm& part) {
        e.vpxor(x, sum, sign);
        e.vpxor(y, part, sign);
        e.vpcmpgtq(t, y, x);
    };
    carries(out, product.first, addend.first);
    carries(other, product.second, addend.second);
    e.vshufps(out, out, other, 0x88);
    e.define_wide(op.inst->dst, product);
    e.define_mask(static_cast<unsigned>(op.mask_out), out);
}
template <auto kMin, auto kMax>
void med3(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), c = e.source(op, 2), low = e.temporary(), high = e.temporary();
    kMin(e, low, a, b);
    kMax(e, high, a, b);
    kMin(e, high, high, c);
    kMax(e, low, low, high);
    define(e, op, low);
}

// Floats ------------------------------------------------------------------------------------------------------------------

inline void fma_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), c = e.source(op, 2), t = e.temporary();
    e.vmovaps(t, c);
    e.vfmadd231ps(t, a, b);
    define_f32(e, op, t);
}
inline void fma_f64(E& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0), b = e.wide_source(op, 1), c = e.wide_source(op, 2);
    const Wide t = c.may_change ? c : e.wide_temporary();
    if (!c.may_change) {
        e.vmovapd(t.first, c.first);
        e.vmovapd(t.second, c.second);
    }
    e.vfmadd231pd(t.first, a.first, b.first);
    e.vfmadd231pd(t.second, a.second, b.second);
    define_f64(e, op, t);
}

/// Denormals become zeros of their sign.
inline void flush(E& e, const Ymm& t, const Ymm& value) {
    const Ymm small = e.temporary();
    e.vpand(small, value, e.constant(0x7f800000));
    e.vpcmpeqd(small, small, e.constant(0));
    e.vpand(small, small, e.constant(0x7fffffff));
    e.vpandn(t, small, value);
}
inline void rcp_f32(E& e, const VectorOp& op) {
    const Ymm t = e.temporary();
    if (e.is_mantissa(op, 0)) {
        e.vdivps(t, e.constant(kOne), e.source(op, 0));
    } else {
        const Ymm a = e.temporary();
        flush(e, a, e.source(op, 0));
        e.vdivps(t, e.constant(kOne), a);
        flush(e, t, t);
    }
    define_f32(e, op, t);
}
inline void sqrt_f32(E& e, const VectorOp& op) {
    const Ymm t = e.temporary();
    flush(e, t, e.source(op, 0));
    e.vsqrtps(t, t);
    define_f32(e, op, t);
}

/// fp::minimum(), IEEE mode.
template <bool kMaximum>
void minmax_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), b = e.source(op, 1), t = e.temporary(), k = e.temporary(), other = e.temporary();
    e.vcmpps(k, a, b, kEqual);
    e.vpsrad(other, a, 31);
    kMaximum ? e.vpandn(other, other, k) : e.vpand(other, other, k);
    e.vcmpps(k, a, b, kMaximum ? kGreater : kLess);
    e.vpor(k, k, other);
    e.vblendvps(t, b, a, k);
    e.vcmpps(k, b, b, kUnordered);
    e.vblendvps(t, t, a, k);
    e.vcmpps(k, a, a, kUnordered);
    e.vblendvps(t, t, b, k);
    for (const Ymm& each : {b, a}) {  // signaling NaNs become quiet
        e.vcmpps(k, each, each, kUnordered);
        e.vpslld(other, each, 9);
        e.vpsrad(other, other, 31);
        e.vpandn(k, other, k);
        e.vpor(other, each, e.constant(0x400000));
        e.vblendvps(t, t, other, k);
    }
    define_f32(e, op, t);
}

// Conversions -------------------------------------------------------------------------------------------------------------

inline void cvt_i32_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary(), k = e.temporary();
    e.vcvttps2dq(t, a);  // 0x80000000 out of range
    e.vcmpps(k, a, e.constant(0x4f000000), kNotLess);
    e.vpxor(t, t, k);
    e.vcmpps(k, a, a, kOrdered);
    e.vpand(t, t, k);
    define(e, op, t);
}
inline void cvt_u32_f32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary(), large = e.temporary(), k = e.temporary();
    e.vcmpps(large, a, e.constant(0x4f000000), kNotLess);
    e.vandps(t, large, e.constant(0x4f000000));
    e.vsubps(t, a, t);
    e.vcvttps2dq(t, t);
    e.vpslld(large, large, 31);
    e.vpxor(t, t, large);
    e.vcmpps(k, a, e.constant(0x4f800000), kNotLess);
    e.vpor(t, t, k);
    e.vcmpps(k, a, e.constant(0), kGreater);
    e.vpand(t, t, k);
    define(e, op, t);
}
/// Halves are exact, and so is all but the last sum.
inline void cvt_f32_u32(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary(), low = e.temporary();
    e.vpsrld(t, a, 16);
    e.vpslld(low, a, 16);
    e.vpsrld(low, low, 16);
    e.vcvtdq2ps(t, t);
    e.vcvtdq2ps(low, low);
    e.vfmadd132ps(t, low, e.constant(0x47800000));  // 65536
    define_f32(e, op, t);
}
/// Lanes 0, 1, 4, 5, 2, 3, 6, 7, as two registers: the order of a Wide.
template <class Convert>
Wide convert_halves(E& e, const Ymm& value, Convert convert) {
    const Wide t = e.wide_temporary();
    const Ymm order = e.temporary();
    e.vpermq(order, value, 0xd8);
    e.vextracti128(Xbyak::Xmm(t.second.getIdx()), order, 1);
    convert(t.first, Xbyak::Xmm(order.getIdx()));
    convert(t.second, Xbyak::Xmm(t.second.getIdx()));
    e.release(order);
    return t;
}
inline void cvt_f64_i32(E& e, const VectorOp& op) {
    define_f64(e, op, convert_halves(e, e.source(op, 0), [&](const Ymm& t, const Xbyak::Xmm& a) { e.vcvtdq2pd(t, a); }));
}
inline void cvt_f64_u32(E& e, const VectorOp& op) {
    const Ymm a = e.temporary();
    e.vpxor(a, e.source(op, 0), e.constant(kSign));
    const Wide t = convert_halves(e, a, [&](const Ymm& to, const Xbyak::Xmm& from) { e.vcvtdq2pd(to, from); });
    const Ymm offset = e.constant64(0x41e0000000000000);  // 2^31
    e.vaddpd(t.first, t.first, offset);
    e.vaddpd(t.second, t.second, offset);
    define_f64(e, op, t);
}
inline void cvt_f64_f32(E& e, const VectorOp& op) {
    define_f64(e, op, convert_halves(e, e.source(op, 0), [&](const Ymm& t, const Xbyak::Xmm& a) { e.vcvtps2pd(t, a); }));
}
/// @param to  its first register gets the floats; may be x
inline void narrow(E& e, const Wide& x, const Wide& to) {
    e.vcvtpd2ps(Xbyak::Xmm(to.first.getIdx()), x.first);
    e.vcvtpd2ps(Xbyak::Xmm(to.second.getIdx()), x.second);
    e.vinsertf128(to.first, to.first, Xbyak::Xmm(to.second.getIdx()), 1);
    e.vpermq(to.first, to.first, 0xd8);
}
inline void cvt_f32_f64(E& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0), t = e.wide_temporary();
    narrow(e, a, t);
    define_f32(e, op, t.first);
}
template <unsigned kByte>
void cvt_f32_ubyte(E& e, const VectorOp& op) {
    const Ymm a = e.source(op, 0), t = e.temporary();
    if constexpr (kByte == 3) {
        e.vpsrld(t, a, 24);
    } else {
        e.vpslld(t, a, 24 - kByte * 8);
        e.vpsrld(t, t, 24);
    }
    e.vcvtdq2ps(t, t);
    define_f32(e, op, t);
}

}  // namespace lyra::gcn::avx2

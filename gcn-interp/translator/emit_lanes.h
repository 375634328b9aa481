// SPDX-License-Identifier: MIT
// Emitters of vector instructions: the lanes of one strip; step 6 of the data flow. Each computes what the lane function of its
// row in exec/ computes. NaNs come from the first source that is one: x86 takes the first operand's. For emit_vector.cpp only.
#pragma once

#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn::lanes {

using Xbyak::Opmask;
using Xbyak::Zmm;
using Wide = Emitter::Wide;

/// A float result: the clamp bit with DX10_CLAMP. omod is without effect where denormals are kept.
inline void define_f32(Emitter& e, const VectorOp& op, const Zmm& value) {
    if (op.inst->clamp) {
        e.vmaxps(value, value, e.constant(0));
        e.vminps(value, value, e.constant(0x3f800000));
    }
    e.define(op.inst->dst, value);
}
inline void define_f64(Emitter& e, const VectorOp& op, const Wide& value) {
    if (op.inst->clamp) {
        const Zmm zero = e.constant(0), one = e.constant64(0x3ff0000000000000);
        for (const Zmm& part : {value.first, value.second}) {
            e.vmaxpd(part, part, zero);
            e.vminpd(part, part, one);
        }
    }
    e.define_wide(op.inst->dst, value);
}
inline void define(Emitter& e, const VectorOp& op, const Zmm& value) { e.define(op.inst->dst, value); }

/// result = insn(source kA, source kB)
template <auto kInsn, unsigned kA = 0, unsigned kB = 1>
void integer2(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, kA), b = e.source(op, kB), t = e.temporary();
    kInsn(e, t, a, b);
    define(e, op, t);
}
template <auto kInsn, unsigned kA = 0, unsigned kB = 1>
void float2(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, kA), b = e.source(op, kB), t = e.temporary();
    kInsn(e, t, a, b);
    define_f32(e, op, t);
}
template <auto kInsn>
void double2(Emitter& e, const VectorOp& op) {
    const Wide a = e.wide_source(op, 0), b = e.wide_source(op, 1), t{e.temporary(), e.temporary()};
    kInsn(e, t.first, a.first, b.first);
    kInsn(e, t.second, a.second, b.second);
    define_f64(e, op, t);
}
template <auto kInsn>
void unary(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), t = e.temporary();
    kInsn(e, t, a);
    define(e, op, t);
}
template <auto kInsn>
void float1(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), t = e.temporary();
    kInsn(e, t, a);
    define_f32(e, op, t);
}
/// result = outer(inner(a, b), c)
template <auto kInner, auto kOuter>
void integer3(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), b = e.source(op, 1), c = e.source(op, 2), t = e.temporary();
    kInner(e, t, a, b);
    kOuter(e, t, t, c);
    define(e, op, t);
}

#define LYRA_INSN(name) [](Emitter& e, const Zmm& t, const Zmm& a, const Zmm& b) { e.name(t, a, b); }
#define LYRA_INSN1(name) [](Emitter& e, const Zmm& t, const Zmm& a) { e.name(t, a); }
#define LYRA_ROUND(name, how) [](Emitter& e, const Zmm& t, const Zmm& a) { e.name(t, a, how); }

inline constexpr auto kAdd = LYRA_INSN(vpaddd);
inline constexpr auto kSub = LYRA_INSN(vpsubd);
inline constexpr auto kAnd = LYRA_INSN(vpandd);
inline constexpr auto kOr = LYRA_INSN(vpord);
inline constexpr auto kXor = LYRA_INSN(vpxord);
/// Shifts take the low five bits of the count.
template <auto kShift>
void shift_by(Emitter& e, const Zmm& t, const Zmm& value, const Zmm& count) {
    const Zmm bounded = e.temporary();
    e.vpandd(bounded, count, e.constant(31));
    kShift(e, t, value, bounded);
}
inline constexpr auto kShl = [](Emitter& e, const Zmm& t, const Zmm& a, const Zmm& b) {
    shift_by<LYRA_INSN(vpsllvd)>(e, t, a, b);
};
inline constexpr auto kShr = [](Emitter& e, const Zmm& t, const Zmm& a, const Zmm& b) {
    shift_by<LYRA_INSN(vpsrlvd)>(e, t, a, b);
};
inline constexpr auto kSar = [](Emitter& e, const Zmm& t, const Zmm& a, const Zmm& b) {
    shift_by<LYRA_INSN(vpsravd)>(e, t, a, b);
};

/// v_lshlrev_b32 and its kin: the count comes first, and mostly is a constant.
enum class Shift { Left, Right, Arithmetic };
template <Shift kShift>
void shift_reversed(Emitter& e, const VectorOp& op) {
    const Inst& inst = *op.inst;
    const Constant count = constant_of(inst, inst.src[0], 1, false);
    const bool whole = inst.src_sel[0] == 6;
    const Zmm value = e.source(op, 1);
    if (count.is_constant && whole) {
        const auto by = static_cast<uint8_t>(count.bits & 31);
        const Zmm t = e.temporary();
        if constexpr (kShift == Shift::Left) e.vpslld(t, value, by);
        if constexpr (kShift == Shift::Right) e.vpsrld(t, value, by);
        if constexpr (kShift == Shift::Arithmetic) e.vpsrad(t, value, by);
        return define(e, op, t);
    }
    const Zmm by = e.source(op, 0), t = e.temporary();
    if constexpr (kShift == Shift::Left) kShl(e, t, value, by);
    if constexpr (kShift == Shift::Right) kShr(e, t, value, by);
    if constexpr (kShift == Shift::Arithmetic) kSar(e, t, value, by);
    define(e, op, t);
}

template <Shift kShift>
void shift64_reversed(Emitter& e, const VectorOp& op) {
    const Inst& inst = *op.inst;
    const Constant count = constant_of(inst, inst.src[0], 1, false);
    const auto by = static_cast<uint8_t>(count.bits & 63);
    if (count.is_constant && by != 0 && by < 32 && kShift == Shift::Left) {
        const Zmm low = e.low_half(op, 1), high = e.high_half(op, 1), l = e.temporary(), h = e.temporary(),
                  part = e.temporary();
        e.vpslld(h, high, by);
        e.vpsrld(part, low, static_cast<uint8_t>(32 - by));
        e.vpord(h, h, part);
        e.vpslld(l, low, by);
        e.define(inst.dst, l);
        e.define(inst.dst + 1u, h);
        return;
    }
    const Wide value = e.wide_source(op, 1), t{e.temporary(), e.temporary()};
    Wide counts;
    if (count.is_constant) {
        counts = {e.constant64(by), e.constant64(by)};
    } else {
        const Zmm bounded = e.temporary();
        e.vpandd(bounded, e.source(op, 0), e.constant(63));
        counts = e.widen(bounded, e.constant(0));
    }
    const auto shift = [&](const Zmm& to, const Zmm& from, const Zmm& n) {
        if constexpr (kShift == Shift::Left) e.vpsllvq(to, from, n);
        if constexpr (kShift == Shift::Right) e.vpsrlvq(to, from, n);
        if constexpr (kShift == Shift::Arithmetic) e.vpsravq(to, from, n);
    };
    shift(t.first, value.first, counts.first);
    shift(t.second, value.second, counts.second);
    e.define_wide(inst.dst, t);
}

/// The count has three bits. By a constant, in halves: addresses are mostly computed so, and affine.
inline void lshl_add_u64(Emitter& e, const VectorOp& op) {
    constexpr uint8_t kLess = 1;
    const Inst& inst = *op.inst;
    if (const Constant count = constant_of(inst, inst.src[1], 1, false); count.is_constant) {
        const auto by = static_cast<uint8_t>(count.bits & 7);
        const Zmm low = e.low_half(op, 0), high = e.high_half(op, 0), addend = e.low_half(op, 2), l = e.temporary(),
                  h = e.temporary();
        const Opmask carry = e.temporary_mask();
        if (by != 0) {
            e.vpslld(l, high, by);
            e.vpsrld(h, low, static_cast<uint8_t>(32 - by));
            e.vpord(h, h, l);
            e.vpslld(l, low, by);
        }
        e.vpaddd(l, by != 0 ? l : low, addend);
        e.vpcmpud(carry, l, addend, kLess);
        e.vpaddd(h, by != 0 ? h : high, e.high_half(op, 2));
        e.vpaddd(h | carry, h, e.constant(1));
        e.define(inst.dst, l);
        e.define(inst.dst + 1u, h);
        return;
    }
    const Wide value = e.wide_source(op, 0), addend = e.wide_source(op, 2), t{e.temporary(), e.temporary()};
    const Zmm bounded = e.temporary();
    e.vpandd(bounded, e.source(op, 1), e.constant(7));
    const Wide counts = e.widen(bounded, e.constant(0));
    e.vpsllvq(t.first, value.first, counts.first);
    e.vpsllvq(t.second, value.second, counts.second);
    e.vpaddq(t.first, t.first, addend.first);
    e.vpaddq(t.second, t.second, addend.second);
    e.define_wide(inst.dst, t);
}

// Carries -----------------------------------------------------------------------------------------------------------------

enum class Sum { Add, Sub, SubReversed };
template <Sum kSum, bool kCarryIn>
void carry(Emitter& e, const VectorOp& op) {
    const Zmm s0 = e.source(op, 0), s1 = e.source(op, 1), t = e.temporary();
    const Zmm &a = kSum == Sum::SubReversed ? s1 : s0, &b = kSum == Sum::SubReversed ? s0 : s1;
    constexpr uint8_t kLess = 1;
    if (e.mask_is_dead()) {
        kSum == Sum::Add ? e.vpaddd(t, a, b) : e.vpsubd(t, a, b);
        if constexpr (kCarryIn) {
            const Opmask in = e.mask(static_cast<unsigned>(op.mask_in));
            kSum == Sum::Add ? e.vpaddd(t | in, t, e.constant(1)) : e.vpsubd(t | in, t, e.constant(1));
        }
        e.define(op.inst->dst, t);
        return;
    }
    const Opmask out = e.temporary_mask();
    if constexpr (kSum == Sum::Add) {
        e.vpaddd(t, a, b);
        e.vpcmpud(out | e.exec(), t, a, kLess);
    } else {
        e.vpsubd(t, a, b);
        e.vpcmpud(out | e.exec(), a, b, kLess);
    }
    if constexpr (kCarryIn) {
        const Opmask in = e.mask(static_cast<unsigned>(op.mask_in)), more = e.temporary_mask();
        e.kandw(more, in, e.exec());
        if constexpr (kSum == Sum::Add) {
            e.vpaddd(t | in, t, e.constant(1));
            e.vptestnmd(more | more, t, t);  // came round to 0  // NOLINT(misc-redundant-expression): a mask
        } else {
            e.vptestnmd(more | more, t, t);  // 0 - 1 borrows  // NOLINT(misc-redundant-expression): a mask
            e.vpsubd(t | in, t, e.constant(1));
        }
        e.korw(out, out, more);
    }
    e.define(op.inst->dst, t);
    e.define_mask(static_cast<unsigned>(op.mask_out), out);
}

inline void cndmask(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), b = e.source(op, 1), t = e.temporary();
    e.vpblendmd(t | e.mask(static_cast<unsigned>(op.mask_in)), a, b);
    define(e, op, t);
}

// Compares ----------------------------------------------------------------------------------------------------------------

enum class CompareKind { I32, U32, F32, I64, U64, F64 };
template <CompareKind kKind, uint8_t kHow>
void compare(Emitter& e, const VectorOp& op) {
    constexpr bool kWide = kKind == CompareKind::I64 || kKind == CompareKind::U64 || kKind == CompareKind::F64;
    const Opmask out = e.temporary_mask();
    if constexpr (!kWide) {
        const Zmm a = e.source(op, 0), b = e.source(op, 1);
        const Opmask masked = out | e.exec();
        if constexpr (kKind == CompareKind::I32) e.vpcmpd(masked, a, b, kHow);
        if constexpr (kKind == CompareKind::U32) e.vpcmpud(masked, a, b, kHow);
        if constexpr (kKind == CompareKind::F32) e.vcmpps(masked, a, b, kHow);
        e.define_mask(static_cast<unsigned>(op.mask_out), out);
    } else {
        const Wide a = e.wide_source(op, 0), b = e.wide_source(op, 1);
        const Opmask second = e.temporary_mask();
        const auto one = [&](const Opmask& k, const Zmm& x, const Zmm& y) {
            if constexpr (kKind == CompareKind::I64) e.vpcmpq(k, x, y, kHow);
            if constexpr (kKind == CompareKind::U64) e.vpcmpuq(k, x, y, kHow);
            if constexpr (kKind == CompareKind::F64) e.vcmppd(k, x, y, kHow);
        };
        one(out, a.first, b.first);
        one(second, a.second, b.second);
        e.join_masks(out, second);
        e.kandw(out, out, e.exec());
        e.define_mask(static_cast<unsigned>(op.mask_out), out);
    }
}

// Fields and bytes --------------------------------------------------------------------------------------------------------

inline void alignbit(Emitter& e, const VectorOp& op) {
    const Inst& inst = *op.inst;
    const Constant count = constant_of(inst, inst.src[2], 1, false);
    const Zmm high = e.source(op, 0), low = e.source(op, 1), t = e.temporary();
    if (count.is_constant) {
        const auto by = static_cast<uint8_t>(count.bits & 31);
        if (inst.src[0] == inst.src[1]) {
            e.vprord(t, low, by);
        } else if (by == 0) {
            e.vmovdqa32(t, low);
        } else {
            const Zmm part = e.temporary();
            e.vpsrld(t, low, by);
            e.vpslld(part, high, static_cast<uint8_t>(32 - by));
            e.vpord(t, t, part);
        }
    } else {
        const Zmm by = e.temporary(), part = e.temporary();
        e.vpandd(by, e.source(op, 2), e.constant(31));
        e.vpsrlvd(t, low, by);
        e.vpsubd(by, e.constant(32), by);
        e.vpsllvd(part, high, by);  // by 32: 0
        e.vpord(t, t, part);
    }
    define(e, op, t);
}
inline void bfe_u32(Emitter& e, const VectorOp& op) {
    const Zmm value = e.source(op, 0), at = e.temporary(), width = e.temporary(), t = e.temporary();
    e.vpandd(at, e.source(op, 1), e.constant(31));
    e.vpandd(width, e.source(op, 2), e.constant(31));
    e.vpsrlvd(t, value, at);
    e.vpsllvd(at, e.constant(1), width);
    e.vpsubd(at, at, e.constant(1));
    e.vpandd(t, t, at);
    define(e, op, t);
}
inline void bfe_i32(Emitter& e, const VectorOp& op) {
    const Zmm value = e.source(op, 0), at = e.temporary(), rest = e.temporary(), t = e.temporary();
    e.vpandd(at, e.source(op, 1), e.constant(31));
    e.vpandd(rest, e.source(op, 2), e.constant(31));
    e.vpsubd(rest, e.constant(32), rest);
    e.vpsravd(t, value, at);
    e.vpsllvd(t, t, rest);  // a width of 0: shifted out
    e.vpsravd(t, t, rest);
    define(e, op, t);
}
/// (s0 & s1) | (~s0 & s2)
inline void bfi_b32(Emitter& e, const VectorOp& op) {
    const Zmm b = e.source(op, 1), c = e.source(op, 2), t = e.temporary();
    e.vmovdqa32(t, e.source(op, 0));
    e.vpternlogd(t, b, c, 0xca);
    define(e, op, t);
}
template <bool kSigned>
void mul24(Emitter& e, const VectorOp& op, const Zmm& t) {
    const Zmm a = e.source(op, 0), b = e.source(op, 1), other = e.temporary();
    if constexpr (kSigned) {
        e.vpslld(t, a, 8);
        e.vpslld(other, b, 8);
        e.vpsrad(t, t, 8);
        e.vpsrad(other, other, 8);
    } else {
        const Zmm low = e.constant(0xffffff);
        e.vpandd(t, a, low);
        e.vpandd(other, b, low);
    }
    e.vpmulld(t, t, other);
}
template <bool kSigned, bool kAddend>
void mad24(Emitter& e, const VectorOp& op) {
    const Zmm t = e.temporary();
    mul24<kSigned>(e, op, t);
    if constexpr (kAddend) e.vpaddd(t, t, e.source(op, 2));
    define(e, op, t);
}
/// 64-bit products: sources doubled, so that the low half of each element is the lane's.
template <bool kSigned>
Wide products(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), b = e.source(op, 1);
    const Wide wa = e.widen(a, a), wb = e.widen(b, b);
    if constexpr (kSigned) {
        e.vpmuldq(wa.first, wa.first, wb.first);
        e.vpmuldq(wa.second, wa.second, wb.second);
    } else {
        e.vpmuludq(wa.first, wa.first, wb.first);
        e.vpmuludq(wa.second, wa.second, wb.second);
    }
    return wa;
}
template <bool kSigned>
void mul_hi(Emitter& e, const VectorOp& op) {
    const Wide product = products<kSigned>(e, op);
    const Zmm low = e.temporary(), high = e.temporary();
    e.narrow(product, low, high);
    define(e, op, high);
}
inline void mad_u64_u32(Emitter& e, const VectorOp& op) {
    const Wide product = products<false>(e, op), addend = e.wide_source(op, 2);
    e.vpaddq(product.first, product.first, addend.first);
    e.vpaddq(product.second, product.second, addend.second);
    const Opmask out = e.temporary_mask(), second = e.temporary_mask();
    e.vpcmpuq(out, product.first, addend.first, 1);
    e.vpcmpuq(second, product.second, addend.second, 1);
    e.join_masks(out, second);
    e.kandw(out, out, e.exec());
    e.define_wide(op.inst->dst, product);
    e.define_mask(static_cast<unsigned>(op.mask_out), out);
}

template <auto kLess>
void med3(Emitter& e, const VectorOp& op) {
    const Zmm a = e.source(op, 0), b = e.source(op, 1), c = e.source(op, 2), low = e.temporary(), high = e.temporary();
    kLess(e, low, high, a, b, c);
    define(e, op, low);
}

}  // namespace lyra::gcn::lanes

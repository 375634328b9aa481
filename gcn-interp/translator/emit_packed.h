// SPDX-License-Identifier: MIT
// Emitters of what moves and computes pairs of registers, for both back ends; step 6 of the data flow. VOP3P: OP_SEL and
// OP_SEL_HI say which register of a source's pair each part of the result is computed from. As emit_lanes.h; for
// emit_vector.cpp and avx2_vector.cpp only.
#pragma once

#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn::packed {

/// Number of the operand that source n is for one part of the result. Constants have one element.
inline unsigned number_of(const Inst& inst, unsigned n, bool element) {
    const unsigned number = inst.src[n];
    return number < 128 || number >= kSrcVgpr0 ? number + element : number;
}
inline bool element_of(const Inst& inst, unsigned n, unsigned part) { return bit(part != 0 ? inst.op_sel_hi : inst.op_sel, n); }

/// Source n of an f32 operation for one part of its result, with its sign.
template <class E>
auto source(E& e, const VectorOp& op, unsigned n, unsigned part) {
    const Inst& inst = *op.inst;
    const auto value = e.operand32(op, number_of(inst, n, element_of(inst, n, part)));
    if (!bit(part != 0 ? inst.neg_hi : inst.neg, n)) return value;
    const auto changed = e.temporary();
    e.vxorps(changed, value, e.constant(0x80000000));
    return changed;
}

inline bool reads(const VectorOp& op, unsigned part, unsigned vgpr) {
    const Inst& inst = *op.inst;
    bool found = false;
    for (unsigned n = 0; n < info(inst.op).profile->sources(); ++n)
        found |= number_of(inst, n, element_of(inst, n, part)) == kSrcVgpr0 + vgpr;
    return found;
}

/// Both parts of an f32 result, one after the other; the first one waits in a register where the second one reads what it
/// replaces. @param result_of  computes a part in a register of this instruction
template <class E, class Result>
void both(E& e, const VectorOp& op, Result result_of) {
    const unsigned dst = op.inst->dst;
    const unsigned first = reads(op, 1, dst) && !reads(op, 0, dst + 1) ? 1 : 0, second = 1 - first;
    const auto part_of = [&](unsigned part) {
        const auto t = result_of(part);
        if (op.inst->clamp) {
            e.vmaxps(t, t, e.constant(0));
            e.vminps(t, t, e.constant(0x3f800000));
        }
        return t;
    };
    const bool waits = reads(op, second, dst + first);
    const auto one = part_of(first);
    if (!waits) {
        e.define(dst + first, one);
        e.release_pins();
    }
    const auto other = part_of(second);
    if (waits) e.define(dst + first, one);
    e.define(dst + second, other);
}
/// @param kInsn  (e, result, a, b)
template <auto kInsn, class E>
void two(E& e, const VectorOp& op) {
    both(e, op, [&](unsigned part) {
        const auto a = source(e, op, 0, part), b = source(e, op, 1, part), t = e.temporary();
        kInsn(e, t, a, b);
        return t;
    });
}
template <class E>
void fma(E& e, const VectorOp& op) {
    both(e, op, [&](unsigned part) {
        const auto a = source(e, op, 0, part), b = source(e, op, 1, part), c = source(e, op, 2, part), t = e.temporary();
        e.vmovaps(t, c);
        e.vfmadd231ps(t, a, b);
        return t;
    });
}

template <class E, class Register>
void move_pair(E& e, const VectorOp& op, const Register& low, const Register& high) {
    const auto to_low = e.temporary(), to_high = e.temporary();
    e.vmovaps(to_low, low);
    e.vmovaps(to_high, high);
    e.define(op.inst->dst, to_low);
    e.define(op.inst->dst + 1u, to_high);
}
template <class E>
void mov_b64(E& e, const VectorOp& op) {
    const auto low = e.low_half(op, 0);
    move_pair(e, op, low, e.high_half(op, 0));
}
/// v_pk_mov_b32: one register of each source.
template <class E>
void mov(E& e, const VectorOp& op) {
    const Inst& inst = *op.inst;
    const auto low = e.operand32(op, number_of(inst, 0, bit(inst.op_sel, 0)));
    move_pair(e, op, low, e.operand32(op, number_of(inst, 1, bit(inst.op_sel, 1))));
}

}  // namespace lyra::gcn::packed

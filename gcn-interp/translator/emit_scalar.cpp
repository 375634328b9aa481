// SPDX-License-Identifier: MIT
// Emitters of scalar instructions; step 6 of the data flow. Each does what the function of its row in exec/ does.
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {
namespace {

using Xbyak::Reg32;
using Xbyak::Reg64;

bool is_constant(unsigned operand) {
    return operand == kSrcLiteral || (operand >= 128 && operand <= 208) || (operand >= 240 && operand <= 248);
}

class Scalar {
public:
    Scalar(Emitter& e, const Inst& inst) : e(e), inst(inst) {}

    /// Source n in a register of 32 or 64 bits.
    void get(const Reg32& reg, unsigned n) { get_operand(reg, inst.src[n]); }
    void get_operand(const Reg32& reg, unsigned operand) {
        if (!is_constant(operand)) return e.mov(reg, e.scalar32(operand));
        const uint32_t value = scalar::detail::special32(Wave{}, inst, operand);
        value == 0 ? e.xor_(reg, reg) : e.mov(reg, value);
    }
    void get(const Reg64& reg, unsigned n) {
        const unsigned operand = inst.src[n];
        if (!is_constant(operand)) return e.mov(reg, e.scalar64(operand));
        e.mov(reg, scalar::detail::special64(Wave{}, inst, operand));
    }
    void put(const Reg32& reg) { e.mov(e.scalar32(inst.dst), reg); }
    void put(const Reg64& reg) { e.mov(e.scalar64(inst.dst), reg); }
    Xbyak::Address scc() { return e.byte[e.rbx + kScc]; }
    /// SCC = value is not 0.
    template <class Reg>
    void put_with_scc(const Reg& reg) {
        e.test(reg, reg);
        e.setnz(scc());
        put(reg);
    }

    bool emit();

private:
    template <class Reg, class Do>
    void binary(const Reg& a, const Reg& b, Do what) {
        get(a, 0);
        get(b, 1);
        what();
        put_with_scc(a);
    }
    template <class Set>
    void compare(Set set) {
        get(e.eax, 0);
        get(e.ecx, 1);
        e.cmp(e.eax, e.ecx);
        set(scc());
    }
    template <class Set>
    void compare_imm(bool is_signed, Set set) {
        get_operand(e.eax, inst.src[0]);
        e.cmp(e.eax, is_signed ? static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(inst.imm)))
                               : static_cast<uint32_t>(inst.imm & 0xffff));
        set(scc());
    }
    /// rcx: the new EXEC from rax = s, rdx = e
    template <class Do>
    void save_exec(Do what) {
        get(e.rax, 0);
        e.mov(e.rdx, e.scalar64(kExecLo));
        put(e.rdx);
        what();
        e.mov(e.scalar64(kExecLo), e.rax);
        e.test(e.rax, e.rax);
        e.setnz(scc());
    }

    Emitter& e;
    const Inst& inst;
};

bool Scalar::emit() {
    const Reg32 &eax = e.eax, &ecx = e.ecx;
    const Reg64 &rax = e.rax, &rcx = e.rcx, &rdx = e.rdx;
    switch (inst.op) {
        case Op::s_mov_b32: get(eax, 0), put(eax); return true;
        case Op::s_mov_b64: get(rax, 0), put(rax); return true;
        case Op::s_movk_i32: e.mov(e.scalar32(inst.dst), static_cast<uint32_t>(static_cast<int16_t>(inst.imm))); return true;
        case Op::s_not_b32: get(eax, 0), e.not_(eax), put_with_scc(eax); return true;
        case Op::s_not_b64: get(rax, 0), e.not_(rax), put_with_scc(rax); return true;
        case Op::s_add_u32: get(eax, 0), get(ecx, 1), e.add(eax, ecx), e.setc(scc()), put(eax); return true;
        case Op::s_sub_u32: get(eax, 0), get(ecx, 1), e.sub(eax, ecx), e.setc(scc()), put(eax); return true;
        case Op::s_add_i32: get(eax, 0), get(ecx, 1), e.add(eax, ecx), e.seto(scc()), put(eax); return true;
        case Op::s_sub_i32: get(eax, 0), get(ecx, 1), e.sub(eax, ecx), e.seto(scc()), put(eax); return true;
        case Op::s_addk_i32:
            get_operand(eax, inst.dst);
            e.add(eax, static_cast<uint32_t>(static_cast<int16_t>(inst.imm)));
            e.seto(scc());
            put(eax);
            return true;
        case Op::s_addc_u32:
        case Op::s_subb_u32:
            get(eax, 0);
            get(ecx, 1);
            e.cmp(scc(), 1);  // the carry flag is its complement
            e.cmc();
            inst.op == Op::s_addc_u32 ? e.adc(eax, ecx) : e.sbb(eax, ecx);
            e.setc(scc());
            put(eax);
            return true;
        case Op::s_mul_i32: get(eax, 0), get(ecx, 1), e.imul(eax, ecx), put(eax); return true;
        case Op::s_mul_hi_u32: get(eax, 0), get(ecx, 1), e.imul(rax, rcx), e.shr(rax, 32), put(eax); return true;
        case Op::s_mulk_i32:
            get_operand(eax, inst.dst);
            e.imul(eax, eax, static_cast<int>(static_cast<int16_t>(inst.imm)));
            put(eax);
            return true;
        case Op::s_and_b32: binary(eax, ecx, [&] { e.and_(eax, ecx); }); return true;
        case Op::s_and_b64: binary(rax, rcx, [&] { e.and_(rax, rcx); }); return true;
        case Op::s_or_b32: binary(eax, ecx, [&] { e.or_(eax, ecx); }); return true;
        case Op::s_or_b64: binary(rax, rcx, [&] { e.or_(rax, rcx); }); return true;
        case Op::s_xor_b32: binary(eax, ecx, [&] { e.xor_(eax, ecx); }); return true;
        case Op::s_xor_b64: binary(rax, rcx, [&] { e.xor_(rax, rcx); }); return true;
        case Op::s_andn2_b32: binary(eax, ecx, [&] { e.andn(eax, ecx, eax); }); return true;
        case Op::s_andn2_b64: binary(rax, rcx, [&] { e.andn(rax, rcx, rax); }); return true;
        case Op::s_orn2_b32: binary(eax, ecx, [&] { e.not_(ecx), e.or_(eax, ecx); }); return true;
        case Op::s_orn2_b64: binary(rax, rcx, [&] { e.not_(rcx), e.or_(rax, rcx); }); return true;
        case Op::s_nand_b64: binary(rax, rcx, [&] { e.and_(rax, rcx), e.not_(rax); }); return true;
        case Op::s_nor_b64: binary(rax, rcx, [&] { e.or_(rax, rcx), e.not_(rax); }); return true;
        case Op::s_xnor_b64: binary(rax, rcx, [&] { e.xor_(rax, rcx), e.not_(rax); }); return true;
        case Op::s_lshl_b32: binary(eax, ecx, [&] { e.shl(eax, e.cl); }); return true;
        case Op::s_lshr_b32: binary(eax, ecx, [&] { e.shr(eax, e.cl); }); return true;
        case Op::s_ashr_i32: binary(eax, ecx, [&] { e.sar(eax, e.cl); }); return true;
        case Op::s_lshl_b64: get(rax, 0), get(ecx, 1), e.shl(rax, e.cl), put_with_scc(rax); return true;
        case Op::s_lshr_b64: get(rax, 0), get(ecx, 1), e.shr(rax, e.cl), put_with_scc(rax); return true;
        case Op::s_cselect_b32:
            get(eax, 1);
            get(ecx, 0);
            e.cmp(scc(), 0);
            e.cmovne(eax, ecx);
            put(eax);
            return true;
        case Op::s_cselect_b64:
            get(rax, 1);
            get(rcx, 0);
            e.cmp(scc(), 0);
            e.cmovne(rax, rcx);
            put(rax);
            return true;
        case Op::s_min_i32: get(eax, 0), get(ecx, 1), e.cmp(eax, ecx), e.setl(scc()), e.cmovge(eax, ecx), put(eax); return true;
        case Op::s_min_u32: get(eax, 0), get(ecx, 1), e.cmp(eax, ecx), e.setb(scc()), e.cmovae(eax, ecx), put(eax); return true;
        case Op::s_max_i32: get(eax, 0), get(ecx, 1), e.cmp(eax, ecx), e.setge(scc()), e.cmovl(eax, ecx), put(eax); return true;
        case Op::s_max_u32: get(eax, 0), get(ecx, 1), e.cmp(eax, ecx), e.setae(scc()), e.cmovb(eax, ecx), put(eax); return true;
        case Op::s_and_saveexec_b64: save_exec([&] { e.and_(rax, rdx); }); return true;
        case Op::s_or_saveexec_b64: save_exec([&] { e.or_(rax, rdx); }); return true;
        case Op::s_xor_saveexec_b64: save_exec([&] { e.xor_(rax, rdx); }); return true;
        case Op::s_andn2_saveexec_b64: save_exec([&] { e.andn(rax, rdx, rax); }); return true;
        case Op::s_andn1_saveexec_b64: save_exec([&] { e.andn(rax, rax, rdx); }); return true;
        case Op::s_cmp_eq_i32:
        case Op::s_cmp_eq_u32: compare([&](auto to) { e.sete(to); }); return true;
        case Op::s_cmp_lg_i32:
        case Op::s_cmp_lg_u32: compare([&](auto to) { e.setne(to); }); return true;
        case Op::s_cmp_gt_i32: compare([&](auto to) { e.setg(to); }); return true;
        case Op::s_cmp_ge_i32: compare([&](auto to) { e.setge(to); }); return true;
        case Op::s_cmp_lt_i32: compare([&](auto to) { e.setl(to); }); return true;
        case Op::s_cmp_le_i32: compare([&](auto to) { e.setle(to); }); return true;
        case Op::s_cmp_gt_u32: compare([&](auto to) { e.seta(to); }); return true;
        case Op::s_cmp_ge_u32: compare([&](auto to) { e.setae(to); }); return true;
        case Op::s_cmp_lt_u32: compare([&](auto to) { e.setb(to); }); return true;
        case Op::s_cmp_le_u32: compare([&](auto to) { e.setbe(to); }); return true;
        case Op::s_cmp_eq_u64: get(rax, 0), get(rcx, 1), e.cmp(rax, rcx), e.sete(scc()); return true;
        case Op::s_cmp_lg_u64: get(rax, 0), get(rcx, 1), e.cmp(rax, rcx), e.setne(scc()); return true;
        case Op::s_cmpk_eq_i32: compare_imm(true, [&](auto to) { e.sete(to); }); return true;
        case Op::s_cmpk_lg_i32: compare_imm(true, [&](auto to) { e.setne(to); }); return true;
        case Op::s_cmpk_gt_i32: compare_imm(true, [&](auto to) { e.setg(to); }); return true;
        case Op::s_cmpk_ge_i32: compare_imm(true, [&](auto to) { e.setge(to); }); return true;
        case Op::s_cmpk_lt_i32: compare_imm(true, [&](auto to) { e.setl(to); }); return true;
        case Op::s_cmpk_le_i32: compare_imm(true, [&](auto to) { e.setle(to); }); return true;
        case Op::s_cmpk_eq_u32: compare_imm(false, [&](auto to) { e.sete(to); }); return true;
        case Op::s_cmpk_lg_u32: compare_imm(false, [&](auto to) { e.setne(to); }); return true;
        case Op::s_cmpk_gt_u32: compare_imm(false, [&](auto to) { e.seta(to); }); return true;
        case Op::s_cmpk_ge_u32: compare_imm(false, [&](auto to) { e.setae(to); }); return true;
        case Op::s_cmpk_lt_u32: compare_imm(false, [&](auto to) { e.setb(to); }); return true;
        case Op::s_cmpk_le_u32: compare_imm(false, [&](auto to) { e.setbe(to); }); return true;
        default: return false;
    }
}

bool emit(Emitter& e, const Inst& inst) { return Scalar(e, inst).emit(); }

/// Which operations emit() knows: asked of it once, with a generator whose code nobody runs.
bool has_emitter(Op op) {
    static const auto known = [] {
        std::vector<bool> out(kOpCount);
        std::vector<uint8_t> buffer(1 << 16);
        Emitter scratch(buffer.data(), buffer.size(), {16, 4});
        for (size_t i = 1; i < kOpCount; ++i) {
            Inst inst;
            inst.op = static_cast<Op>(i);
            inst.dst = inst.src[0] = inst.src[1] = 0;
            out[i] = emit(scratch, inst);
        }
        return out;
    }();
    return known[op_index(op)];
}

}  // namespace

ScalarOp scalar_op(const Inst& inst, const CodeConfig& config) {
    const InstInfo& row = info(inst.op);
    if (row.format != Format::SOP1 && row.format != Format::SOP2 && row.format != Format::SOPC && row.format != Format::SOPK)
        return {};
    if (!has_emitter(inst.op)) return {};
    ScalarOp op;
    const auto registers = [&](ScalarSet& set, unsigned operand, unsigned dwords) {
        if (!are_scalar_registers(operand, dwords, config)) return false;
        for (unsigned i = 0; i < dwords; ++i) set.set(config.physical(operand) + i);
        return true;
    };
    for (unsigned n = 0; n < 2; ++n) {
        const unsigned dwords = row.format == Format::SOPK ? 1 : row.src_dwords(n);
        if (inst.src[n] == kNoOperand || dwords == 0 || is_constant(inst.src[n])) continue;
        if (!registers(op.uses.reads, inst.src[n], dwords)) return {};
    }
    if (inst.dst != kNoOperand && row.dst_dwords() != 0) {
        if (!registers(op.uses.writes, inst.dst, row.dst_dwords())) return {};
        if (row.format == Format::SOPK || row.has(flag::ReadsDst)) registers(op.uses.reads, inst.dst, row.dst_dwords());
    }
    if (row.has(flag::ReadsScc)) op.uses.reads.set(kSccBit);
    if (row.has(flag::WritesScc)) op.uses.writes.set(kSccBit);
    if (row.has(flag::ReadsExec)) op.uses.reads.set(kExecLo), op.uses.reads.set(kExecHi);
    if (row.has(flag::WritesExec)) op.uses.writes.set(kExecLo), op.uses.writes.set(kExecHi);
    op.emit = &emit;
    return op;
}

}  // namespace lyra::gcn

// SPDX-License-Identifier: MIT
// Loops over strips of eight lanes, and what their registers hold; step 6 of the data flow.
#include "gcn-interp/translator/avx2_emitter.h"

#include <algorithm>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emit_whole.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {
namespace {

constexpr std::array<uint64_t, 256> kLanesByMask = [] {
    std::array<uint64_t, 256> table{};
    for (unsigned mask = 0; mask < table.size(); ++mask) {
        for (unsigned lane = 0; lane < 8; ++lane) table[mask] |= (mask >> lane & 1) != 0 ? uint64_t{0xff} << (8 * lane) : 0;
    }
    return table;
}();

/// Lane masks that a segment writes. The byte of the strip is the lowest one; at the end of a strip they turn by one, so that
/// behind the last one each is where it belongs. In memory, eight bytes that have been stored one by one would have to reach
/// the cache before they can be loaded as one value.
Xbyak::Reg64 mask_register(size_t n) {
    constexpr std::array kRegisters{Xbyak::Operand::R8, Xbyak::Operand::R9, Xbyak::Operand::RCX};
    static_assert(kRegisters.size() == kMaxMasks);
    return Xbyak::Reg64(kRegisters.at(n));
}

}  // namespace

const uint64_t* Avx2Emitter::lanes_by_mask() { return kLanesByMask.data(); }

void Avx2Emitter::copy(const Xbyak::RegExp& to, const Xbyak::RegExp& from, int bytes, const Xbyak::Zmm& scratch) {
    const Xbyak::Ymm half(scratch.getIdx());
    const Xbyak::Xmm quarter(scratch.getIdx());
    if (bytes == 16) vmovdqu(quarter, ptr[from]), vmovdqu(ptr[to], quarter);
    for (int at = 0; at + 32 <= bytes; at += 32) vmovdqu(half, ptr[from + at]), vmovdqu(ptr[to + at], half);
}

transcendental::Routine Avx2Emitter::row_function(Op op) const {
    const transcendental::Routines* const routines = transcendental::routines(Backend::Avx2);
    switch (op) {
        case Op::v_exp_f32: return routines->exp;
        case Op::v_log_f32: return routines->log;
        case Op::v_rsq_f32: return routines->rsq;
        default: return nullptr;
    }
}

// Loops -------------------------------------------------------------------------------------------------------------------

void Avx2Emitter::vector_segment(const std::vector<VectorOp>& ops) {
    std::vector<const VectorOp*> pointers;
    pointers.reserve(ops.size());
    for (const VectorOp& op : ops) pointers.push_back(&op);
    now_ = together(std::move(pointers));
    written_masks_.clear();
    bool writes_exec = false;
    for (const VectorOp& op : ops) {
        if (op.mask_out < 0) continue;
        const auto pair = static_cast<unsigned>(op.mask_out);
        if (std::ranges::find(written_masks_, pair) == written_masks_.end()) written_masks_.push_back(pair);
        writes_exec |= op.uses.writes.test(kExecLo);
    }
    plan_uniform(ops);
    lanes_ = {};
    all_ = true;
    uniform_part();
    const UniformValues before = uniform_;
    Xbyak::Label some, end;
    for (unsigned i = 0; i < written_masks_.size(); ++i) xor_(mask_register(i).cvt32(), mask_register(i).cvt32());
    mov(r10, reinterpret_cast<uint64_t>(lanes_by_mask()));
    if (!is_affine_code_) {
        cmp(qword[rbx + kExec], -1);
        jne(some, T_NEAR);
    }
    all_ = true;
    strips(ops);
    if (!is_affine_code_) {
        jmp(end, T_NEAR);
        L(some);
        all_ = false;
        uniform_ = before;
        strips(ops);
    }
    L(end);
    write_masks(mask_register);
    if (writes_exec) uniform_rows();
    for (unsigned i = 0; i < written_masks_.size(); ++i) {
        if (writes_exec && static_cast<int>(written_masks_[i]) == ops.back().mask_out) mov(ptr[rbx + kExec], mask_register(i));
    }
}

void Avx2Emitter::strips(const std::vector<VectorOp>& ops) {
    if (!has_strips_) {
        for (size_t i = 0; i < ops.size(); ++i) note_results(ops[i], once_[i]);
        return;
    }
    Xbyak::Label again, skip;
    lanes_ = {};
    defined_masks_ = {};
    defined_ = {};
    xor_(r11d, r11d);
    xor_(r15d, r15d);
    align(16);
    L(again);
    if (!all_) {
        movzx(eax, byte[rbx + r11 + kExec]);
        test(eax, eax);
        jz(skip, T_NEAR);
        vpmovsxbd(Xbyak::Ymm(kExecLanes), ptr[r10 + rax * 8]);
    }
    for (at_ = 0; at_ < ops.size(); ++at_) {
        if (is_passed(at_))
            pass_uniform(ops[at_]);
        else
            emit_op(ops[at_]);
        note_results(ops[at_], once_[at_]);
    }
    write_back_dirty();
    L(skip);
    for (unsigned i = 0; i < written_masks_.size(); ++i) ror(mask_register(i), 8);
    inc(r11d);
    add(r15d, kLanesOfStrip * 4);
    cmp(r11d, kStripsOfWave);
    jb(again, T_NEAR);
}

void Avx2Emitter::emit_op(const VectorOp& op) {
    op.emit(*this, op);
    release_pins();
}

/// What registers hold of a uniform instruction's results is nobody's any more.
void Avx2Emitter::pass_uniform(const VectorOp& op) {
    for (Lanes& each : lanes_) {
        const bool is_vgpr = each.what == What::Vgpr && each.key - op.inst->dst < results_of(*op.inst);
        if (is_vgpr || (each.what == What::Mask && op.mask_out == static_cast<int>(each.key))) each = {};
    }
}

void Avx2Emitter::write_uniform_rows(const std::vector<std::pair<unsigned, unsigned>>& rows) {
    const auto strip_of = [this](unsigned vgpr, unsigned strip) {
        return ptr[row_of(vgpr) + static_cast<int>(strip * kLanesOfStrip * 4)];
    };
    Xbyak::Label some, end;
    if (!is_affine_code_) {
        cmp(qword[rbx + kExec], -1);
        jne(some, T_NEAR);
    }
    for (const auto& [vgpr, slot] : rows) {
        vmovaps(ymm0, ptr[uniform_slot(slot)]);
        for (unsigned strip = 0; strip < kStripsOfWave; ++strip) vmovaps(strip_of(vgpr, strip), ymm0);
    }
    if (is_affine_code_) return;
    jmp(end, T_NEAR);
    L(some);
    mov(r10, reinterpret_cast<uint64_t>(lanes_by_mask()));
    for (unsigned strip = 0; strip < kStripsOfWave; ++strip) {
        Xbyak::Label next;
        movzx(eax, byte[rbx + (kExec + static_cast<int>(strip))]);
        test(eax, eax);
        jz(next, T_NEAR);
        vpmovsxbd(ymm1, ptr[r10 + rax * 8]);
        for (const auto& [vgpr, slot] : rows) {
            vmovaps(ymm0, strip_of(vgpr, strip));
            vblendvps(ymm0, ymm0, ptr[uniform_slot(slot)], ymm1);
            vmovaps(strip_of(vgpr, strip), ymm0);
        }
        L(next);
    }
    L(end);
}

// Registers ---------------------------------------------------------------------------------------------------------------

int Avx2Emitter::find(What what, uint64_t key) const {
    for (unsigned reg = 0; reg < lanes_.size(); ++reg) {
        if (lanes_[reg].what == what && lanes_[reg].key == key) return static_cast<int>(reg);
    }
    return -1;
}

size_t Avx2Emitter::next_use(const Lanes& lanes) const {
    if (lanes.what != What::Vgpr) return at_ + 4;
    const size_t never = now_.ops.size();
    if (lanes.key < now_.reads.size()) {
        const auto& reads = now_.reads[lanes.key];
        if (const auto found = std::ranges::lower_bound(reads, at_ + 1); found != reads.end()) return *found;
    }
    return lanes.dirty ? never : never + 1;
}

Xbyak::Ymm Avx2Emitter::take() {
    int best = -1;
    size_t farthest = 0;
    for (unsigned reg = 0; reg < lanes_.size(); ++reg) {
        if (lanes_[reg].what == What::Nothing) {
            best = static_cast<int>(reg);
            break;
        }
        if (lanes_[reg].pinned) continue;
        if (const size_t use = next_use(lanes_[reg]); best < 0 || use > farthest) best = static_cast<int>(reg), farthest = use;
    }
    if (best < 0) throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // more than one instruction may need
    if (lanes_[static_cast<unsigned>(best)].dirty) write_back(static_cast<unsigned>(best));
    lanes_[static_cast<unsigned>(best)] = {};
    return Xbyak::Ymm(best);
}

void Avx2Emitter::release_pins() {
    for (Lanes& each : lanes_) {
        each.pinned = false;
        if (each.what == What::Temporary) each = {};
    }
}

void Avx2Emitter::write_back_dirty() {
    for (unsigned reg = 0; reg < lanes_.size(); ++reg) {
        if (lanes_[reg].dirty) write_back(reg);
    }
}

/// Lanes that are off keep what the row holds.
void Avx2Emitter::write_back(unsigned reg) {
    const Xbyak::Ymm value(static_cast<int>(reg)), whole(static_cast<int>(kScratchLanes));
    if (lanes_[reg].what == What::Mask) {
        lanes_[reg].dirty = false;
        const auto pair = static_cast<unsigned>(lanes_[reg].key);
        if (is_first_lanes_) {  // a byte each
            const Xbyak::Xmm low(value.getIdx()), bytes(whole.getIdx());
            vextracti128(bytes, value, 1);
            vpackssdw(bytes, low, bytes);
            vpacksswb(bytes, bytes, bytes);
            vmovq(scalar64(pair), bytes);
            return;
        }
        vmovmskps(eax, value);
        mov(written_mask(pair).cvt8(), al);
        return;
    }
    const Xbyak::Address to = ptr[lanes_to(static_cast<unsigned>(lanes_[reg].key))];
    lanes_[reg].dirty = false;
    if (all_) return vmovaps(to, value);
    vmovaps(whole, to);
    vblendvps(whole, whole, value, Xbyak::Ymm(static_cast<int>(kExecLanes)));
    vmovaps(to, whole);
}

Xbyak::Ymm Avx2Emitter::load(What what, uint64_t key) {
    if (const int reg = find(what, key); reg >= 0) {
        lanes_[static_cast<unsigned>(reg)].pinned = true;
        return Xbyak::Ymm(reg);
    }
    const Xbyak::Ymm reg = take();
    lanes_[static_cast<unsigned>(reg.getIdx())] = {what, false, true, key};
    fill(reg, what, key);
    return reg;
}

void Avx2Emitter::fill(const Xbyak::Ymm& to, What what, uint64_t key) {
    const auto number = static_cast<unsigned>(key);
    switch (what) {
        case What::Vgpr: return fill_vgpr(to, number);
        case What::Scalar: return vbroadcastss(to, scalar32(number));
        case What::Scalar64: return vbroadcastsd(to, scalar64(number));
        case What::Constant:
            if (key == 0) return vpxor(to, to, to);
            if (key == ~uint32_t{0}) return vpcmpeqd(to, to, to);
            return vbroadcastss(to, ptr[rip + pool(key)]);
        case What::Constant64: return vbroadcastsd(to, ptr[rip + pool(key)]);
        case What::Mask: return fill_mask(to, number);
        default: return;
    }
}

/// Its row may hold something else.
bool Avx2Emitter::comes_from_slot(unsigned vgpr) const {
    return is_affine_code_ && !is_first_lanes_ && segment_affine_.contains(vgpr) && !defined_.test(vgpr) &&
           !uniform_.vgprs.contains(vgpr);
}

Xbyak::Address Avx2Emitter::lanes_of(unsigned vgpr) const {
    const auto uniform = uniform_.vgprs.find(vgpr);
    if (is_first_lanes_ || uniform == uniform_.vgprs.end()) return ptr[lanes_to(vgpr)];
    return ptr[uniform_slot(uniform->second.slot)];
}

void Avx2Emitter::fill_vgpr(const Xbyak::Ymm& to, unsigned vgpr) {
    if (!comes_from_slot(vgpr)) return vmovaps(to, lanes_of(vgpr));
    vpbroadcastd(to, dword[slot(vgpr) + r11 * 4]);
    if (const uint32_t distance = segment_affine_.at(vgpr); distance != 0) vpaddd(to, to, ptr[rip + pool_lanes(distance, 0)]);
}

/// The lowest byte holds the bits of the strip, of a pair that the segment writes.
Xbyak::Reg64 Avx2Emitter::written_mask(unsigned pair) const {
    return mask_register(static_cast<size_t>(std::ranges::find(written_masks_, pair) - written_masks_.begin()));
}

void Avx2Emitter::fill_mask(const Xbyak::Ymm& to, unsigned pair) {
    if (is_first_lanes_) return vpmovsxbd(to, scalar64(pair));
    if (const auto uniform = uniform_.masks.find(pair); uniform != uniform_.masks.end())
        return vmovaps(to, ptr[uniform_slot(uniform->second)]);
    if (defined_masks_.test(pair)) {
        mov(eax, written_mask(pair).cvt32());
        movzx(eax, al);
    } else {
        movzx(eax, byte[scalar64(pair).getRegExp() + r11]);
    }
    vpmovsxbd(to, ptr[r10 + rax * 8]);
}

void Avx2Emitter::define_mask(unsigned pair, const Xbyak::Ymm& value) {
    if (!all_) vandps(value, value, Xbyak::Ymm(static_cast<int>(kExecLanes)));
    defined_masks_.set(pair);
    if (const int old = find(What::Mask, pair); old >= 0) lanes_[static_cast<unsigned>(old)] = {};
    lanes_[static_cast<unsigned>(value.getIdx())] = {What::Mask, !is_once_, true, pair};
    if (is_once_) vmovaps(ptr[slot_of_mask()], value);
}

Xbyak::Ymm Avx2Emitter::temporary() {
    const Xbyak::Ymm reg = take();
    lanes_[static_cast<unsigned>(reg.getIdx())] = {What::Temporary, false, true, 0};
    return reg;
}

void Avx2Emitter::define(unsigned vgpr, const Xbyak::Ymm& value) {
    defined_.set(vgpr);
    if (const int old = find(What::Vgpr, vgpr); old >= 0 && old != value.getIdx()) lanes_[static_cast<unsigned>(old)] = {};
    lanes_[static_cast<unsigned>(value.getIdx())] = {What::Vgpr, !is_once_, true, vgpr};
    if (is_once_) vmovaps(ptr[slot_of_result(vgpr)], value);
}

void Avx2Emitter::define_wide(unsigned vgpr, const Wide& value) {
    const Xbyak::Ymm low = temporary(), high = temporary();
    vshufps(low, value.first, value.second, 0x88);
    vshufps(high, value.first, value.second, 0xdd);
    define(vgpr, low);
    define(vgpr + 1, high);
}

// Sources -----------------------------------------------------------------------------------------------------------------

Xbyak::Ymm Avx2Emitter::operand(const VectorOp& op, unsigned number, unsigned half, unsigned dwords, bool is_float) {
    if (number >= kSrcVgpr0) return load(What::Vgpr, number - kSrcVgpr0 + half);
    if (const lyra::gcn::Constant value = constant_of(*op.inst, number, dwords, is_float); value.is_constant)
        return constant(half == 0 ? lo32(value.bits) : hi32(value.bits));
    return load(What::Scalar, config().physical(number) + half);
}

/// abs, then neg. @param sign  the bit that is the sign
void Avx2Emitter::with_sign(const Inst& inst, unsigned n, const Xbyak::Ymm& to, const Xbyak::Ymm& value,
                            const Xbyak::Ymm& sign) {
    const bool neg = inst.neg >> n & 1, abs = inst.abs >> n & 1;
    if (abs)
        neg ? vorps(to, value, sign) : vandnps(to, sign, value);
    else
        vxorps(to, value, sign);
}

Xbyak::Ymm Avx2Emitter::source(const VectorOp& op, unsigned n) {
    const Inst& inst = *op.inst;
    Xbyak::Ymm value = operand32(op, source_number(inst, n));
    const bool selects =
        inst.format == Format::VOP1_SDWA || inst.format == Format::VOP2_SDWA || inst.format == Format::VOPC_SDWA;
    if (selects && n < 2 && inst.src_sel[n] != 6) {
        const unsigned width = inst.src_sel[n] < 4 ? 8 : 16;
        const unsigned low = inst.src_sel[n] < 4 ? inst.src_sel[n] * 8u : (inst.src_sel[n] - 4u) * 16u;
        const Xbyak::Ymm part = temporary();
        vpslld(part, value, static_cast<uint8_t>(32 - low - width));
        inst.sext[n] ? vpsrad(part, part, static_cast<uint8_t>(32 - width))
                     : vpsrld(part, part, static_cast<uint8_t>(32 - width));
        value = part;
    }
    if (!info(inst.op).float_source(n) || ((inst.neg | inst.abs) >> n & 1) == 0) return value;
    const Xbyak::Ymm changed = temporary();
    with_sign(inst, n, changed, value, constant(0x80000000));
    return changed;
}

Xbyak::Ymm Avx2Emitter::low_half(const VectorOp& op, unsigned n) {
    return operand(op, source_number(*op.inst, n), 0, 2, info(op.inst->op).float_source(n));
}
Xbyak::Ymm Avx2Emitter::high_half(const VectorOp& op, unsigned n) {
    return operand(op, source_number(*op.inst, n), 1, 2, info(op.inst->op).float_source(n));
}

Avx2Emitter::Wide Avx2Emitter::wide_source(const VectorOp& op, unsigned n) {
    const Inst& inst = *op.inst;
    const unsigned number = source_number(inst, n);
    const bool is_float = info(inst.op).float_source(n), changes = is_float && ((inst.neg | inst.abs) >> n & 1) != 0;
    Wide out;
    if (number < kSrcVgpr0) {
        const lyra::gcn::Constant value = constant_of(inst, number, 2, is_float);
        const Xbyak::Ymm all = value.is_constant ? constant64(value.bits) : load(What::Scalar64, config().physical(number));
        out = {all, all};
    } else {
        out = wide_temporary();
        const unsigned vgpr = number - kSrcVgpr0;
        for (const unsigned each : {vgpr, vgpr + 1}) {
            if (comes_from_slot(each)) load(What::Vgpr, each);
        }
        const int low = find(What::Vgpr, vgpr), high = find(What::Vgpr, vgpr + 1);
        if (low < 0) vmovaps(out.second, lanes_of(vgpr));
        const Xbyak::Ymm from = low < 0 ? out.second : Xbyak::Ymm(low);
        const auto interleave = [&](const auto& other) {
            vunpcklps(out.first, from, other);
            vunpckhps(out.second, from, other);
        };
        high < 0 ? interleave(lanes_of(vgpr + 1)) : interleave(Xbyak::Ymm(high));
    }
    if (!changes) return out;
    const Xbyak::Ymm sign = constant64(uint64_t{1} << 63);
    if (!out.may_change) {  // one register
        const Xbyak::Ymm changed = temporary();
        with_sign(inst, n, changed, out.first, sign);
        return {changed, changed};
    }
    with_sign(inst, n, out.first, out.first, sign);
    with_sign(inst, n, out.second, out.second, sign);
    return out;
}

}  // namespace lyra::gcn

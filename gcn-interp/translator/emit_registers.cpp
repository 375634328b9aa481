// SPDX-License-Identifier: MIT
// What zmm and mask registers hold while instructions are emitted: VGPRs, 64-bit lanes, scalars, constants, lane masks; step 6
// of the data flow.
#include <algorithm>
#include <utility>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emitter.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {

void Emitter::note_rows_written() {
    if (!rows_noted_) mov(byte[r12 + static_cast<int>(offsetof(CodeFrame, rows_written))], 1);
    rows_noted_ = true;
}

/// Inactive lanes keep what the row holds. In registers they hold anything: EXEC stays what it is within a segment.
void Emitter::write_back(unsigned reg) {
    note_rows_written();
    const auto vgpr = static_cast<unsigned>(held_[reg].key);
    const unsigned strip = held_[reg].strip;
    if (strip == kFirstLanes) {
        const Xbyak::Zmm lanes(static_cast<int>(kScratch));
        for (unsigned each = 0; each < kStrips; ++each) {
            lanes_from_first(lanes, reg, each);
            vmovdqa32(row(vgpr, each), lanes);
        }
        held_[reg].dirty = false;
        return;
    }
    if (held_[reg].kind == Kind::Vgpr) {
        vmovdqa32(row(vgpr, strip) | exec_of(strip), Xbyak::Zmm(static_cast<int>(reg)));
        held_[reg].dirty = false;
        return;
    }
    std::array<int, 2> parts{};
    for (unsigned other = 0; other < held_.size(); ++other) {
        Held& held = held_[other];
        if ((held.kind != Kind::First && held.kind != Kind::Second) || held.key != vgpr || held.strip != strip) continue;
        parts[held.kind == Kind::Second] = static_cast<int>(other);
        held.dirty = false;
    }
    const Xbyak::Zmm half(static_cast<int>(kScratch));
    for (unsigned n = 0; n < 2; ++n) {
        vshufps(half, Xbyak::Zmm(parts[0]), Xbyak::Zmm(parts[1]), n == 0 ? 0x88 : 0xdd);
        vmovdqa32(row(vgpr + n, strip) | exec_of(strip), half);
    }
}

size_t Emitter::next_use(const Held& held) const {
    const bool wide = held.kind == Kind::First || held.kind == Kind::Second;
    if (held.kind != Kind::Vgpr && !wide) return held.kind == Kind::None ? ~size_t{0} : at_ + 8;
    if (held.strip == kFirstLanes) return at_ + (held.dirty ? 1 : 8);  // to write rows from it takes long
    const size_t next = held.strip > strip_ ? at_ : at_ + 1;
    const size_t never = now_.ops.size();
    size_t first = never;
    for (size_t vgpr = held.key; vgpr <= held.key + wide && vgpr < now_.reads.size(); ++vgpr) {
        const auto& reads = now_.reads[vgpr];
        if (const auto found = std::ranges::lower_bound(reads, next); found != reads.end())
            first = std::min<size_t>(first, *found);
    }
    if (first != never) return first;
    return held.dirty ? never : never + 1;
}

Emitter::Together Emitter::together(std::vector<const VectorOp*> ops) {
    Together out{std::move(ops), {}};
    for (size_t i = 0; i < out.ops.size(); ++i) {
        const VectorSet& reads = out.ops[i]->uses.vector_reads;
        for (size_t vgpr = reads._Find_first(); vgpr < reads.size(); vgpr = reads._Find_next(vgpr)) {
            if (out.reads.size() <= vgpr) out.reads.resize(vgpr + 1);
            out.reads[vgpr].push_back(static_cast<uint32_t>(i));
        }
    }
    return out;
}

bool Emitter::is_mantissa(const VectorOp& op, unsigned n) const {
    const unsigned number = source_number(*op.inst, n);
    if (number < kSrcVgpr0 || is_sdwa(op.inst->format) || is_dpp(op.inst->format)) return false;
    const unsigned vgpr = number - kSrcVgpr0;
    for (size_t i = at_; i-- > 0;) {
        const VectorOp& before = *now_.ops[i];
        const Inst& inst = *before.inst;
        if (has_no_effect(inst)) continue;
        if (before.emit == nullptr) return false;
        if (vgpr < inst.dst || vgpr >= inst.dst + results_of(inst)) continue;
        const bool plain = inst.format == Format::VOP1 || (inst.format == Format::VOP3 && !inst.clamp && inst.omod == 0);
        return inst.op == Op::v_frexp_mant_f32 && plain;
    }
    return false;
}

Xbyak::Zmm Emitter::take_register() {
    int best = -1;
    size_t farthest = 0;
    for (unsigned reg = 0; reg < registers_; ++reg) {
        if (held_[reg].kind == Kind::None) {
            best = static_cast<int>(reg);
            break;
        }
        if (held_[reg].pinned) continue;
        if (const size_t use = next_use(held_[reg]); best < 0 || use > farthest) best = static_cast<int>(reg), farthest = use;
    }
    if (best < 0) throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // more than one instruction may need
    Held& held = held_[static_cast<unsigned>(best)];
    if (held.dirty) write_back(static_cast<unsigned>(best));
    held = {};
    return Xbyak::Zmm(best);
}

void Emitter::release_pins() {
    for (Held& held : held_) {
        held.pinned = false;
        if (held.kind == Kind::Temporary) held = {};
    }
    for (Mask& mask : masks_) {
        mask.pinned = false;
        if (mask.pair == -2) mask = {};
    }
}

int Emitter::find(Kind kind, uint64_t key) const {
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        const bool here = (kind != Kind::Vgpr && kind != Kind::First && kind != Kind::Second) || held_[reg].strip == strip_;
        if (held_[reg].kind == kind && held_[reg].key == key && here) return static_cast<int>(reg);
    }
    return -1;
}

/// The pair that begins with a VGPR is only held as 64-bit lanes.
bool Emitter::is_dirty_wide(unsigned vgpr) const {
    if (!has_wide_) return false;
    const int reg = find(Kind::First, vgpr);
    return reg >= 0 && held_[static_cast<unsigned>(reg)].dirty;
}

/// If a VGPR is only held as half of 64-bit lanes, it and the other half come into registers of their own.
void Emitter::narrow_held(unsigned vgpr) {
    if (!has_wide_) return;
    for (const unsigned first : {vgpr, vgpr - 1}) {
        if (first > vgpr || !is_dirty_wide(first)) continue;
        const Wide wide{Xbyak::Zmm(find(Kind::First, first)), Xbyak::Zmm(find(Kind::Second, first))};
        std::array<bool, 2> pinned{};
        const auto held = [&](unsigned n) -> Held& {
            return held_[static_cast<unsigned>((n == 0 ? wide.first : wide.second).getIdx())];
        };
        for (unsigned n = 0; n < 2; ++n) pinned[n] = std::exchange(held(n).pinned, true);
        const Xbyak::Zmm low = temporary(), high = temporary();
        narrow(wide, low, high);
        held_[static_cast<unsigned>(low.getIdx())] = {Kind::Vgpr, true, true, first, strip_};
        held_[static_cast<unsigned>(high.getIdx())] = {Kind::Vgpr, true, true, first + 1, strip_};
        for (unsigned n = 0; n < 2; ++n) held(n).pinned = pinned[n], held(n).dirty = false;
    }
}

/// A VGPR gets another value: what holds it as half of 64-bit lanes does not any more.
void Emitter::forget_wide(unsigned vgpr) {
    if (!has_wide_) return;
    for (const unsigned first : {vgpr, vgpr - 1}) {
        if (first > vgpr) continue;
        for (const Kind part : {Kind::First, Kind::Second}) {
            if (const int reg = find(part, first); reg >= 0) held_[static_cast<unsigned>(reg)] = {};
        }
    }
}

Xbyak::Zmm Emitter::load(Kind kind, uint64_t key) {
    if (kind == Kind::Vgpr) narrow_held(static_cast<unsigned>(key));
    if (const int reg = find(kind, key); reg >= 0) {
        held_[static_cast<unsigned>(reg)].pinned = true;
        return Xbyak::Zmm(reg);
    }
    const int first_lanes = kind == Kind::Vgpr ? find_first_lanes(static_cast<unsigned>(key)) : -1;
    if (first_lanes >= 0) held_[static_cast<unsigned>(first_lanes)].pinned = true;
    const Xbyak::Zmm reg = take_register();
    held_[static_cast<unsigned>(reg.getIdx())] = {kind, false, true, key, strip_};
    if (kind == Kind::Vgpr && strip_ == kFirstLanes)
        held_[static_cast<unsigned>(reg.getIdx())].distance = affine_.at(static_cast<unsigned>(key));
    if (first_lanes >= 0 && held_[static_cast<unsigned>(first_lanes)].dirty)
        lanes_from_first(reg, static_cast<unsigned>(first_lanes), strip_);
    else
        fill(static_cast<unsigned>(reg.getIdx()));
    return reg;
}

/// A register gets what it is said to hold.
void Emitter::fill(unsigned number) {
    const Xbyak::Zmm reg(static_cast<int>(number));
    const uint64_t key = held_[number].key;
    switch (held_[number].kind) {
        case Kind::Vgpr:
            if (held_[number].strip == kFirstLanes)
                first_lanes_of_rows(reg, static_cast<unsigned>(key));
            else
                vmovdqa32(reg, home(static_cast<unsigned>(key), held_[number].strip));
            break;
        case Kind::First:
        case Kind::Second: {
            const unsigned strip = held_[number].strip;
            vmovdqa32(Xbyak::Zmm(static_cast<int>(kScratch)), home(static_cast<unsigned>(key), strip));
            const Xbyak::Address high = home(static_cast<unsigned>(key) + 1, strip);
            held_[number].kind == Kind::First ? vpunpckldq(reg, Xbyak::Zmm(static_cast<int>(kScratch)), high)
                                              : vpunpckhdq(reg, Xbyak::Zmm(static_cast<int>(kScratch)), high);
            break;
        }
        case Kind::Scalar: vpbroadcastd(reg, scalar32(static_cast<unsigned>(key))); break;
        case Kind::Constant:
            if (key == 0) {
                const Xbyak::Xmm part(reg.getIdx());
                if (reg.getIdx() < 16)
                    vpxor(part, part, part);
                else
                    vpxord(reg, reg, reg);
            } else {
                vpbroadcastd(reg, ptr[rip + pool(key)]);
            }
            break;
        case Kind::Constant64: vpbroadcastq(reg, ptr[rip + pool(key)]); break;
        default: break;
    }
}

Xbyak::Zmm Emitter::temporary() {
    const Xbyak::Zmm reg = take_register();
    held_[static_cast<unsigned>(reg.getIdx())] = {Kind::Temporary, false, true, 0, strip_};
    return reg;
}

Xbyak::Zmm Emitter::constant(uint32_t bits) { return load(Kind::Constant, bits); }
Xbyak::Zmm Emitter::constant64(uint64_t bits) { return load(Kind::Constant64, bits); }

/// Source 0 as the lanes of the strip see it; dpp_valid_ becomes those that have a source. The others read 0.
Xbyak::Zmm Emitter::through_dpp(const Inst& inst, const Xbyak::Zmm& value) {
    DppLabels& labels = dpp_pool_[inst.dpp_ctrl];
    const Xbyak::Zmm from = temporary(), active = temporary();
    dpp_valid_ = temporary_mask();
    vmovdqa32(from, ptr[rip + labels.from]);
    vpmovm2d(active, exec());
    vpermd(active, from, active);
    vpandd(active, active, ptr[rip + labels.valid]);
    vpmovd2m(dpp_valid_, active);
    vpermd(from | dpp_valid_ | T_z, from, value);
    return from;
}

/// Lanes that DPP does not let be written keep what they have.
void Emitter::keep_lanes(const Inst& inst, unsigned vgpr, const Xbyak::Zmm& value) {
    const auto enabled = static_cast<uint16_t>(dpp_enabled_lanes(inst) >> (strip_ * kStripLanes));
    if (inst.bound_ctrl && enabled == 0xffff) return;
    const Xbyak::Zmm before = load(Kind::Vgpr, vgpr);
    if (inst.bound_ctrl) {
        mov(eax, enabled);
    } else {
        kmovw(eax, dpp_valid_);
        and_(eax, enabled);
    }
    kmovw(dpp_valid_, eax);
    vpblendmd(value | dpp_valid_, before, value);
}

void Emitter::define(unsigned vgpr, const Xbyak::Zmm& value) {
    if (const Inst& inst = *now_.ops[at_]->inst; is_dpp(inst.format)) keep_lanes(inst, vgpr, value);
    for (const unsigned first : {vgpr, vgpr - 1}) {
        if (first <= vgpr && is_dirty_wide(first)) narrow_held(vgpr);  // the other half stays
    }
    forget_wide(vgpr);
    if (const int old = find(Kind::Vgpr, vgpr); old >= 0 && old != value.getIdx()) held_[static_cast<unsigned>(old)] = {};
    held_[static_cast<unsigned>(value.getIdx())] = {Kind::Vgpr, !is_once_, true, vgpr, strip_};
    if (is_once_) vmovdqa32(ptr[slot_of_result(vgpr)], value);
}

void Emitter::define_wide(unsigned vgpr, const Wide& value) {
    if (is_once_) {
        const Xbyak::Zmm low = temporary(), high = temporary();
        narrow(value, low, high);
        define(vgpr, low);
        return define(vgpr + 1, high);
    }
    // Pairs that share one VGPR with this one keep the other.
    if (vgpr != 0 && is_dirty_wide(vgpr - 1)) narrow_held(vgpr - 1);
    if (is_dirty_wide(vgpr + 1)) narrow_held(vgpr + 2);
    for (const unsigned half : {vgpr, vgpr + 1}) {
        forget_wide(half);
        if (const int old = find(Kind::Vgpr, half); old >= 0) held_[static_cast<unsigned>(old)] = {};
    }
    has_wide_ = true;
    held_[static_cast<unsigned>(value.first.getIdx())] = {Kind::First, true, true, vgpr, strip_};
    held_[static_cast<unsigned>(value.second.getIdx())] = {Kind::Second, true, true, vgpr, strip_};
}

Xbyak::Zmm Emitter::operand(const VectorOp& op, unsigned number, unsigned half, unsigned dwords, bool is_float) {
    if (number >= kSrcVgpr0) return load(Kind::Vgpr, number - kSrcVgpr0 + half);
    if (const Constant value = constant_of(*op.inst, number, dwords, is_float); value.is_constant)
        return load(Kind::Constant, half == 0 ? lo32(value.bits) : hi32(value.bits));
    return load(Kind::Scalar, config_.physical(number) + half);
}

Xbyak::Zmm Emitter::source(const VectorOp& op, unsigned n) {
    const Inst& inst = *op.inst;
    const InstInfo& row = info(inst.op);
    Xbyak::Zmm value = operand(op, source_number(inst, n), 0, 1, true);
    const bool selects =
        inst.format == Format::VOP1_SDWA || inst.format == Format::VOP2_SDWA || inst.format == Format::VOPC_SDWA;
    if (selects && n < 2 && inst.src_sel[n] != 6) {
        const unsigned width = inst.src_sel[n] < 4 ? 8 : 16;
        const unsigned low = inst.src_sel[n] < 4 ? inst.src_sel[n] * 8u : (inst.src_sel[n] - 4u) * 16u;
        const Xbyak::Zmm part = temporary();
        if (inst.sext[n] || low + width != 32) {
            if (low + width != 32) {
                vpslld(part, value, static_cast<uint8_t>(32 - low - width));
                inst.sext[n] ? vpsrad(part, part, static_cast<uint8_t>(32 - width))
                             : vpsrld(part, part, static_cast<uint8_t>(32 - width));
            } else {
                vpsrad(part, value, static_cast<uint8_t>(32 - width));
            }
        } else {
            vpsrld(part, value, static_cast<uint8_t>(32 - width));
        }
        value = part;
    }
    if (n == 0 && is_dpp(inst.format)) value = through_dpp(inst, value);
    if (!row.float_source(n)) return value;
    return with_sign(inst, n, value);
}

/// abs, then neg of the dword that has the sign.
Xbyak::Zmm Emitter::with_sign(const Inst& inst, unsigned n, const Xbyak::Zmm& value) {
    const bool neg = inst.neg >> n & 1, abs = inst.abs >> n & 1;
    if (!neg && !abs) return value;
    const Xbyak::Zmm changed = temporary(), sign = constant(0x80000000);
    if (abs)
        neg ? vpord(changed, value, sign) : vpandnd(changed, sign, value);
    else
        vpxord(changed, value, sign);
    return changed;
}

Xbyak::Zmm Emitter::low_half(const VectorOp& op, unsigned n) {
    return operand(op, source_number(*op.inst, n), 0, 2, info(op.inst->op).float_source(n));
}
Xbyak::Zmm Emitter::high_half(const VectorOp& op, unsigned n) {
    const bool is_float = info(op.inst->op).float_source(n);
    const Xbyak::Zmm value = operand(op, source_number(*op.inst, n), 1, 2, is_float);
    return is_float ? with_sign(*op.inst, n, value) : value;
}

/// Lanes 0, 1, 4, 5, 8, 9, 12, 13 and 2, 3, 6, 7, 10, 11, 14, 15: so they interleave without crossing 128 bits.
Emitter::Wide Emitter::widen(const Xbyak::Zmm& low, const Xbyak::Zmm& high) {
    const Wide out{temporary(), temporary()};
    vpunpckldq(out.first, low, high);
    vpunpckhdq(out.second, low, high);
    return out;
}
void Emitter::narrow(const Wide& wide, const Xbyak::Zmm& low, const Xbyak::Zmm& high) {
    vshufps(low, wide.first, wide.second, 0x88);
    vshufps(high, wide.first, wide.second, 0xdd);
}
void Emitter::join_masks(const Xbyak::Opmask& first, const Xbyak::Opmask& second) {
    kmovw(eax, first);
    kmovw(ecx, second);
    mov(edx, 0x3333);
    pdep(eax, eax, edx);
    not_(edx);
    pdep(ecx, ecx, edx);
    or_(eax, ecx);
    kmovw(first, eax);
}

Emitter::Wide Emitter::wide_source(const VectorOp& op, unsigned n) {
    const unsigned number = source_number(*op.inst, n);
    const bool is_float = info(op.inst->op).float_source(n);
    if (number < kSrcVgpr0) {
        Constant value = constant_of(*op.inst, number, 2, is_float);
        if (value.is_constant) {
            if (is_float && (op.inst->abs >> n & 1)) value.bits &= ~(uint64_t{1} << 63);
            if (is_float && (op.inst->neg >> n & 1)) value.bits ^= uint64_t{1} << 63;
            const Xbyak::Zmm all = constant64(value.bits);
            return {all, all};
        }
    }
    const bool changed = is_float && ((op.inst->abs | op.inst->neg) >> n & 1) != 0;
    if (number < kSrcVgpr0 || changed) return widen(low_half(op, n), high_half(op, n));
    const unsigned vgpr = number - kSrcVgpr0;
    const int first = find(Kind::First, vgpr), second = find(Kind::Second, vgpr);
    if (first >= 0 && second >= 0) {
        for (const int part : {first, second}) held_[static_cast<unsigned>(part)].pinned = true;
        return {Xbyak::Zmm(first), Xbyak::Zmm(second)};
    }
    const Wide wide = widen(low_half(op, n), high_half(op, n));
    for (const int part : {first, second}) {
        if (part >= 0) held_[static_cast<unsigned>(part)] = {};
    }
    has_wide_ = true;
    held_[static_cast<unsigned>(wide.first.getIdx())] = {Kind::First, false, true, vgpr, strip_};
    held_[static_cast<unsigned>(wide.second.getIdx())] = {Kind::Second, false, true, vgpr, strip_};
    return wide;
}

Xbyak::Zmm Emitter::consumed_source(const VectorOp& op, unsigned n) {
    const Xbyak::Zmm value = source(op, n);
    Held& held = held_[static_cast<unsigned>(value.getIdx())];
    if (held.kind == Kind::Temporary) return value;
    if (held.kind == Kind::Vgpr && held.key == op.inst->dst && !is_dpp(op.inst->format)) {
        held = {Kind::Temporary, false, true, 0, strip_};
        return value;
    }
    const Xbyak::Zmm copy = temporary();
    vmovdqa32(copy, value);
    return copy;
}

// Masks -------------------------------------------------------------------------------------------------------------------

Xbyak::Opmask Emitter::take_mask() {
    for (unsigned k = first_mask_; k <= last_mask_; ++k) {
        if (masks_[k].pair == -1) return Xbyak::Opmask(static_cast<int>(k));
    }
    for (unsigned k = first_mask_; k <= last_mask_; ++k) {
        if (masks_[k].pair >= 0 && !masks_[k].dirty && !masks_[k].pinned) return Xbyak::Opmask(static_cast<int>(k));
    }
    throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // more masks than a segment may have
}

Xbyak::Opmask Emitter::temporary_mask() {
    const Xbyak::Opmask k = take_mask();
    masks_[static_cast<unsigned>(k.getIdx())] = {-2, false, true, strip_};
    return k;
}

Xbyak::Opmask Emitter::mask(unsigned pair) {
    for (unsigned k = first_mask_; k < masks_.size(); ++k) {
        if (masks_[k].pair != static_cast<int>(pair) || masks_[k].strip != strip_) continue;
        masks_[k].pinned = true;
        return Xbyak::Opmask(static_cast<int>(k));
    }
    const Xbyak::Opmask k = take_mask();
    masks_[static_cast<unsigned>(k.getIdx())] = {static_cast<int>(pair), false, true, strip_};
    load_mask(k, pair, strip_);
    return k;
}

/// From its pair of SGPRs.
void Emitter::load_mask(const Xbyak::Opmask& to, unsigned pair, unsigned strip) {
    if (strip != kFirstLanes) {
        const auto uniform = uniform_.masks.find(pair);
        kmovw(to, uniform != uniform_.masks.end() ? ptr[uniform_slot(uniform->second)]
                                                  : ptr[(scalar32(pair).getRegExp() + static_cast<int>(strip) * 2)]);
        return;
    }
    mov(rcx, scalar64(pair));
    mov(rax, kFirstLaneBits);
    pext(rax, rcx, rax);
    kmovw(to, eax);
}

void Emitter::define_mask(unsigned pair, const Xbyak::Opmask& value) {
    for (Mask& mask : masks_) {
        if (mask.pair == static_cast<int>(pair) && mask.strip == strip_) mask = {};
    }
    masks_[static_cast<unsigned>(value.getIdx())] = {static_cast<int>(pair), !is_once_, true, strip_};
    if (is_once_) kmovw(ptr[slot_of_mask()], value);
}

}  // namespace lyra::gcn

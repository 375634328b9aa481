// SPDX-License-Identifier: MIT
// Reference model of a vector instruction: everything around the lane function.
// @source AMD Vega ISA document, chapters "Vector ALU operations", "SDWA", "DPP"; LLVM AMDGPUBaseInfo.cpp for constants of
// 16-bit operands; docs/spec/isa.md 3.3, 3.6, 4
#include "gcn-interp/golden/wave_model.h"

#include <vector>

#include "gcn-interp/golden/lane.h"
#include "gcn-interp/golden/operands.h"

namespace lyra::golden {
namespace {

using namespace gcn;

bool starts(const char* name, const char* prefix) {
    while (*prefix != 0)
        if (*name++ != *prefix++) return false;
    return true;
}
bool is_class(const InstInfo& row) { return starts(row.name, "v_cmp_class") || starts(row.name, "v_cmpx_class"); }
bool is_packed(const InstInfo& row) { return starts(row.name, "v_pk_"); }
bool is_whole_wave(Op op) {
    switch (op) {
        case Op::v_nop:
        case Op::v_clrexcp:
        case Op::v_readfirstlane_b32:
        case Op::v_readlane_b32:
        case Op::v_writelane_b32:
        case Op::v_swap_b32:
        case Op::v_pk_mov_b32:
        case Op::v_accvgpr_mov_b32:
        case Op::v_accvgpr_read_b32:
        case Op::v_accvgpr_write_b32: return true;
        default: return false;
    }
}

FloatFormat format_of(Type type) { return info(type).bits == 16 ? kF16 : info(type).bits == 32 ? kF32 : kF64; }

/// A destination register value of one lane, kept back until all lanes have read theirs.
struct Write {
    unsigned vgpr, lane;
    uint32_t value;
};

class Execution {
public:
    Execution(Wave& wave, const Inst& inst, int nudge)
        : wave_(wave), mode_{wave.mode}, inst_(mode_.gpr_index() ? indexed(wave, inst) : inst), row_(info(inst.op)),
          nudge_(nudge) {}

    Notes run() {
        if (is_whole_wave(inst_.op)) {
            whole_wave();
            return notes_;
        }
        uint64_t mask = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane)
            if (((wave_.exec >> lane) & 1) != 0 && run_lane(lane)) mask |= uint64_t{1} << lane;
        for (const Write& w : writes_)
            if (w.vgpr < wave_.vgpr_count) wave_.vgpr[w.vgpr].lane[w.lane] = w.value;
        if (row_.format == Format::VOPC || row_.has(flag::CarryOut)) {
            wave_.write_scalar64(inst_.sdst == kNoOperand ? uint16_t{kVccLo} : inst_.sdst, mask);
            if (row_.has(flag::WritesExec)) wave_.exec = mask;
        }
        return notes_;
    }

private:
    Type source_type(unsigned n) const {
        if (row_.has(flag::ReadsDst) && n == row_.profile->sources()) return row_.profile->dst;
        return row_.profile->src[n];
    }
    unsigned source_count() const {
        return row_.profile->sources() + (row_.has(flag::ReadsDst) && !row_.has(flag::Mix) ? 1 : 0);
    }

    /// Sources in the order of the lane function: v_madmk has its literal in the middle.
    void read_sources(Lane& l, unsigned lane) {
        for (unsigned n = 0; n < source_count(); ++n) {
            const Type type = source_type(n);
            if (info(type).kind == Kind::Mask) continue;
            uint16_t operand = inst_.src[n];
            unsigned modifier = n;
            if (row_.has(flag::MadMk)) operand = n == 1 ? kSrcLiteral : inst_.src[n / 2], modifier = n / 2;
            if (row_.has(flag::MadAk) && n == 2) operand = kSrcLiteral;
            if (operand == kNoOperand) operand = static_cast<uint16_t>(kSrcVgpr0 + inst_.dst);
            if (row_.has(flag::Mix)) {
                l.source[n] = mix_source(operand, n, lane);
            } else {
                const unsigned from = n == 0 ? source_lane_ : lane;
                const Value128 value = n == 0 && !source_valid_ ? Value128{} : read_operand(wave_, inst_, operand, type, from);
                if (n == 2) l.source2_high = value.high;
                l.source[n] = modified(value.low, type, modifier, operand);
            }
        }
    }
    /// Selection within the register, abs, neg, flush.
    uint64_t modified(uint64_t v, Type type, unsigned n, uint16_t operand) {
        const bool is_half = info(type).bits == 16 && !is_pair(type);
        if (is_sdwa(inst_.format) && n < 2 && operand == inst_.src[n])
            v = sdwa_field(static_cast<uint32_t>(v), inst_.src_sel[n], inst_.sext[n]);
        if (inst_.format == Format::VOP3 && is_half && ((inst_.op_sel >> n) & 1) != 0) v >>= 16;
        if (is_half) v &= 0xffff;
        if (is_pair(type) || type == Type::V2F32) return v;  // halves, or registers, are modified one by one
        if (n < 3 && row_.profile->src[n] == type && row_.float_source(n) && operand == inst_.src[n])
            v = signed_as_asked(v, width_of(type), n);
        return ruled(v, type);
    }
    static unsigned width_of(Type type) { return info(type).bits; }
    uint64_t signed_as_asked(uint64_t v, unsigned bits, unsigned n) const {
        const uint64_t sign = uint64_t{1} << (bits - 1);
        if (((inst_.abs >> n) & 1) != 0) v &= ~sign;
        if (((inst_.neg >> n) & 1) != 0) v ^= sign;
        return v;
    }
    /// Denormal sources of arithmetic.
    uint64_t ruled(uint64_t v, Type type) {
        if (info(type).kind != Kind::Float || is_class(row_)) return v;
        return ruled_as(v, format_of(type));
    }
    uint64_t ruled_as(uint64_t v, const FloatFormat& f) {
        if (!is_denormal(f, v)) return v;
        if (!mode_.input_denormals(f)) return flushed(f, v);
        notes_.flags |= excp::kInputDenormal;
        return v;
    }
    /// f32, or the f16 that op_sel_hi asks for and op_sel chooses; neg_hi means abs.
    uint64_t mix_source(uint16_t operand, unsigned n, unsigned lane) {
        uint64_t v;
        if (((inst_.op_sel_hi >> n) & 1) != 0) {
            v = read_operand(wave_, inst_, operand, Type::V2F16, lane).low;
            v = ruled_as((v >> (((inst_.op_sel >> n) & 1) != 0 ? 16 : 0)) & 0xffff, kF16);
            const uint64_t quiet = is_signaling(kF16, v) ? ~uint64_t{kF32.quiet_bit()} : ~uint64_t{0};
            uint32_t ignored = 0;
            v = round_to({kF32}, real_of(kF16, v), ignored) & quiet;  // widening is exact and leaves NaNs as they are
        } else {
            v = ruled_as(read_operand(wave_, inst_, operand, Type::F32, lane).low, kF32);
        }
        if (((inst_.neg_hi >> n) & 1) != 0) v &= ~kF32.sign_bit();
        if (((inst_.neg >> n) & 1) != 0) v ^= kF32.sign_bit();
        return v;
    }

    bool mask_source(unsigned lane) const {
        uint64_t mask = wave_.vcc();
        if (row_.has(flag::CarryIn) && inst_.src[2] != kNoOperand)
            mask = read_operand(wave_, inst_, inst_.src[2], Type::MASK, lane).low;
        return ((mask >> lane) & 1) != 0;
    }

    /// @return the lane's bit of the mask destination
    bool run_lane(unsigned lane) {
        source_lane_ = lane;
        source_valid_ = true;
        if (is_dpp(inst_.format)) {
            const DppSource from = dpp_source(inst_, lane, wave_.exec);
            source_valid_ = from.valid;
            if (from.valid) source_lane_ = from.lane;
            if (!dpp_writes(inst_, lane) || (!from.valid && !inst_.bound_ctrl)) return false;
        }
        Lane l;
        l.mode = mode_;
        l.number = lane;
        l.nudge = nudge_;
        l.clamp = inst_.clamp;
        l.mask = mask_source(lane);
        l.old = old_value(lane, 0);
        read_sources(l, lane);
        const LaneFunction function = lane_function(inst_.op);
        uint64_t value = 0;
        if (row_.profile->dst == Type::V2F32) {
            value = packed32(l, function, lane);
        } else if (is_packed(row_)) {
            value = packed(l, function);
        } else {
            if (row_.format == Format::VOP3P && !row_.has(flag::Mix))
                arrange_dot(l);
            else
                arrange_pairs(l);
            value = function(l);
            value = row_.has(flag::Mix) ? mix_result(l, value) : finished(l, value);
        }
        notes_.flags |= l.flags;
        if (row_.profile->dst != Type::MASK && row_.format != Format::VOPC) write(lane, value, l.high);
        return l.carry;
    }

    // Packed operations

    uint64_t half_of(uint64_t v, unsigned n, bool upper_result, Type type) {
        const uint8_t select = upper_result ? inst_.op_sel_hi : inst_.op_sel, neg = upper_result ? inst_.neg_hi : inst_.neg;
        uint64_t half = (v >> (((select >> n) & 1) != 0 ? 16 : 0)) & 0xffff;
        if (info(type).kind != Kind::Float) return half;
        if (((neg >> n) & 1) != 0) half ^= kF16.sign_bit();
        return ruled_as(half, kF16);
    }
    uint64_t packed(Lane& l, LaneFunction function) {
        const uint64_t whole[3] = {l.source[0], l.source[1], l.source[2]};
        uint64_t result = 0;
        for (unsigned h = 0; h < 2; ++h) {
            for (unsigned n = 0; n < source_count(); ++n) l.source[n] = half_of(whole[n], n, h != 0, source_type(n));
            uint64_t half = function(l);
            if (info(row_.profile->dst).kind == Kind::Float) half = finish_float(l, half, kF16);
            result |= (half & 0xffff) << (16 * h);
        }
        return result;
    }
    uint64_t packed32(Lane& l, LaneFunction function, unsigned lane) {
        uint64_t result = 0;
        for (unsigned h = 0; h < 2; ++h) {
            const unsigned select = h != 0 ? inst_.op_sel_hi : inst_.op_sel, neg = h != 0 ? inst_.neg_hi : inst_.neg;
            for (unsigned n = 0; n < row_.profile->sources(); ++n) {
                uint64_t v = element(inst_.src[n], (select >> n) & 1, lane);
                if (((neg >> n) & 1) != 0) v ^= kF32.sign_bit();
                l.source[n] = ruled_as(v, kF32);
            }
            result |= (finish_float(l, function(l), kF32) & 0xffffffff) << (32 * h);
        }
        return result;
    }
    /// Dot products of two halves take op_sel; all take neg of a float addend.
    void arrange_dot(Lane& l) {
        for (unsigned n = 0; n < 2; ++n) {
            const Type type = row_.profile->src[n];
            if (is_pair(type)) l.source[n] = half_of(l.source[n], n, false, type) | (half_of(l.source[n], n, true, type) << 16);
        }
    }
    /// neg and abs of VOP3 and DPP are those of both halves.
    void arrange_pairs(Lane& l) {
        for (unsigned n = 0; n < row_.profile->sources(); ++n) {
            if (row_.profile->src[n] != Type::V2F16) continue;
            const uint64_t low = ruled_as(signed_as_asked(l.source[n] & 0xffff, 16, n), kF16);
            l.source[n] = low | ruled_as(signed_as_asked((l.source[n] >> 16) & 0xffff, 16, n), kF16) << 16;
        }
    }
    uint64_t mix_result(Lane& l, uint64_t value) {
        if (row_.profile->dst == Type::F32) return finish_float(l, value, kF32);
        const uint64_t half = finish_float(l, l.round<kF16>(real_of(kF32, value)), kF16);
        const bool upper = starts(row_.name, "v_mad_mixhi") || starts(row_.name, "v_fma_mixhi");
        return upper ? (half << 16) | (l.old & 0xffff) : (l.old & 0xffff0000) | half;
    }

    // Results

    /// omod, clamp, flush.
    uint64_t finish_float(Lane& l, uint64_t v, const FloatFormat& f) {
        const bool denormals = mode_.output_denormals(f);
        if (inst_.omod != 0 && !denormals && !mode_.ieee() && inst_.format != Format::VOP3P) {
            constexpr int kPower[] = {0, 1, 2, -1};
            v = round_to({f, mode_.direction(f), true, f == kF16 && mode_.fp16_overflow()},
                         times_power(real_of(f, flushed(f, v)), kPower[inst_.omod]), l.flags);
            if (is_zero(f, v)) v = 0;
        }
        if (inst_.clamp) v = clamped(v, f);
        return denormals ? v : flushed(f, v);
    }
    uint64_t clamped(uint64_t v, const FloatFormat& f) const {
        if (is_nan(f, v)) return mode_.dx10_clamp() ? 0 : v | f.quiet_bit();
        if (is_negative(f, v)) return 0;
        const uint64_t one = uint64_t(f.bias()) << f.fraction;
        return v > one ? one : v;
    }
    uint64_t finished(Lane& l, uint64_t v) {
        const Type type = row_.profile->dst;
        if (info(type).kind != Kind::Float) return v;
        if (!is_pair(type)) return finish_float(l, v, format_of(type));
        return finish_float(l, v & 0xffff, kF16) | (finish_float(l, (v >> 16) & 0xffff, kF16) << 16);
    }
    uint32_t old_value(unsigned lane, unsigned dword) const {
        const unsigned n = inst_.dst + dword;
        return inst_.dst == kNoOperand ? 0 : wave_.vgpr[n < wave_.vgpr_count ? n : 0].lane[lane];
    }
    void write(unsigned lane, uint64_t value, uint64_t high) {
        const Type type = row_.profile->dst;
        const unsigned dwords = info(type).dwords;
        if (dwords > 1) {
            for (unsigned n = 0; n < dwords; ++n)
                writes_.push_back({inst_.dst + n, lane, static_cast<uint32_t>((n < 2 ? value : high) >> (32 * (n % 2)))});
            return;
        }
        auto v = static_cast<uint32_t>(value);
        const uint32_t old = old_value(lane, 0);
        const bool is_half = info(type).bits == 16 && !is_pair(type) && !row_.has(flag::Mix);
        if (is_half) v &= 0xffff;
        if (info(type).bits == 8) {
            const unsigned shift = 8 * (inst_.op_sel >> 2 & 3u);
            v = (old & ~(0xffu << shift)) | v << shift;
        }
        if (is_sdwa(inst_.format)) {
            v = sdwa_placed(inst_, v, old);
        } else if (is_half && row_.format == Format::VOP3 && row_.has(flag::OpSel)) {
            // Operations new in GFX9 keep the other half. @source LLVM GCNSubtarget::zeroesHigh16BitsOfDest
            v = (inst_.op_sel & 8) != 0 ? (v << 16) | (old & 0xffff) : (old & 0xffff0000) | v;
        }
        writes_.push_back({inst_.dst, lane, v});
    }

    // Instructions that are no matter of single lanes

    uint32_t read_lane(uint16_t operand, unsigned lane) const {
        return static_cast<uint32_t>(read_operand(wave_, inst_, operand, Type::B32, lane).low);
    }
    void whole_wave() {
        switch (inst_.op) {
            case Op::v_clrexcp: wave_.trapsts &= ~0x7fu; break;
            case Op::v_readfirstlane_b32: {
                unsigned lane = 0;
                while (lane < kLanes && ((wave_.exec >> lane) & 1) == 0) ++lane;
                wave_.write_scalar(inst_.sdst, read_lane(inst_.src[0], lane % kLanes));
                break;
            }
            case Op::v_readlane_b32:
                wave_.write_scalar(inst_.sdst, read_lane(inst_.src[0], read_lane(inst_.src[1], 0) % kLanes));
                break;
            case Op::v_writelane_b32: {
                const unsigned lane = read_lane(inst_.src[1], 0) % kLanes;
                const uint32_t value = read_lane(inst_.src[0], lane);
                if (inst_.dst < wave_.vgpr_count) wave_.vgpr[inst_.dst].lane[lane] = value;
                break;
            }
            case Op::v_swap_b32: swap(); break;
            case Op::v_pk_mov_b32: move_pair(); break;
            case Op::v_accvgpr_mov_b32:
            case Op::v_accvgpr_read_b32:
            case Op::v_accvgpr_write_b32: move_acc(); break;
            default: break;
        }
    }
    /// Of a pair of registers, or what the other operands of a packed f32 operation are, one dword.
    uint32_t element(uint16_t operand, unsigned number, unsigned lane) const {
        const bool pair = operand < 128 || operand >= kSrcVgpr0;
        return static_cast<uint32_t>(
            read_operand(wave_, inst_, static_cast<uint16_t>(operand + (pair ? number : 0)), Type::F32, lane).low);
    }
    void move_pair() {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (((wave_.exec >> lane) & 1) == 0) continue;
            uint32_t value[2];
            for (unsigned n = 0; n < 2; ++n) value[n] = element(inst_.src[n], (inst_.op_sel >> n) & 1, lane);
            for (unsigned n = 0; n < 2; ++n)
                if (inst_.dst + n < wave_.vgpr_count) wave_.vgpr[inst_.dst + n].lane[lane] = value[n];
        }
    }
    void move_acc() {
        const bool from = row_.profile->src[0] == Type::ACC, to = row_.profile->dst == Type::ACC;
        const unsigned source = inst_.src[0] + (from ? wave_.acc_first : 0u), target = inst_.dst + (to ? wave_.acc_first : 0u);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (((wave_.exec >> lane) & 1) == 0) continue;
            const uint32_t value = read_lane(static_cast<uint16_t>(source), lane);
            if (target < wave_.vgpr_count) wave_.vgpr[target].lane[lane] = value;
        }
    }
    void swap() {
        const unsigned other = inst_.src[0] - kSrcVgpr0;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (((wave_.exec >> lane) & 1) == 0) continue;
            const uint32_t a = old_value(lane, 0), b = read_lane(inst_.src[0], lane);
            if (inst_.dst < wave_.vgpr_count) wave_.vgpr[inst_.dst].lane[lane] = b;
            if (other < wave_.vgpr_count) wave_.vgpr[other].lane[lane] = a;
        }
    }

    Wave& wave_;
    MathMode mode_;
    Inst inst_;
    const InstInfo& row_;
    int nudge_;
    Notes notes_;
    std::vector<Write> writes_;
    unsigned source_lane_ = 0;
    bool source_valid_ = true;
};

}  // namespace

bool models(Op op) { return is_whole_wave(op) || lane_function(op) != nullptr; }

Notes execute(Wave& wave, const Inst& inst, int nudge) { return Execution(wave, inst, nudge).run(); }

}  // namespace lyra::golden

// SPDX-License-Identifier: MIT
// Exceptions of a whole vector instruction: its operands lane by lane, and the handler that notes what it raises; step 6 of the
// data flow. @source AMD Vega ISA document, "Trap status register"; docs/design/exceptions.md
#include "gcn-interp/exec/fp_exceptions.h"

#include <memory>

#include "gcn-interp/exec/observe.h"
#include "gcn-interp/exec/valu_passes.h"
#include "gcn-interp/isa/effects.h"

namespace lyra::gcn {
namespace {

bool is_float(Type type) { return info(type).kind == Kind::Float; }

Elem elem_of(Type type, bool takes_signs) {
    const TypeInfo& t = info(type);
    Elem elem;
    elem.bits = static_cast<uint8_t>(t.bits == 64 || t.bits == 16 ? t.bits : 32);
    elem.is_float = takes_signs;
    elem.is_signed = t.kind == Kind::Int;
    elem.half_pair = type == Type::V2F16;
    return elem;
}

/// What the lanes of an instruction see, and what they raise.
class Tracked {
public:
    Tracked(const Wave& wave, const Inst& inst)
        : wave_(wave), inst_(ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, inst) : inst), row_(info(inst.op)),
          mode_(wave.mode), rule_(fp_rule(inst.op)) {
        rows_.lanes = upper_rows_.lanes = kLanes;
    }

    uint32_t raised() {
        if (wave_.exec == 0) return 0;
        const uint64_t lanes = fetch() & wave_.exec;
        uint32_t raised = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (bit(lanes, lane)) raised |= of_lane(lane);
        }
        return raised | modifier(lanes);
    }

private:
    Type type(unsigned n) const { return n < row_.profile->sources() ? row_.profile->src[n] : row_.profile->dst; }

    /// Rows of the sources as the lane function numbers them. @return lanes that DPP lets execute
    uint64_t fetch() {
        const unsigned given = row_.profile->sources();
        const bool old = row_.has(flag::ReadsDst) && !row_.has(flag::Mix);
        desc_.sources = 0;
        if (row_.profile->dst == Type::V2F32) {
            desc_.sources = static_cast<uint8_t>(given);
            for (unsigned n = 0; n < given; ++n) {
                desc_.src[n] = elem_of(Type::F32, true);
                fetch_source(wave_, element_of(inst_, n, bit(inst_.op_sel, n)), n, desc_.src[n], false, scratch_, rows_);
                fetch_source(wave_, element_of(inst_, n, bit(inst_.op_sel_hi, n)), n, desc_.src[n], false, upper_scratch_,
                             upper_rows_);
            }
            return kAllLanes;
        }
        for (unsigned n = 0; n < given + old; ++n) {
            if (info(type(n)).kind == Kind::Mask || (n == 2 && row_.has(flag::MadMk | flag::MadAk))) continue;
            desc_.src[n] = elem_of(type(n), n < given ? row_.float_source(n) : is_float(type(n)));
            if (row_.has(flag::Mix)) desc_.src[n].bits = bit(inst_.op_sel_hi, n) ? 16 : 32;
            desc_.sources = static_cast<uint8_t>(n + 1);
            fetch_source(wave_, inst_, n, desc_.src[n], old, scratch_, rows_);
        }
        if (row_.format == Format::VOP3P) return kAllLanes;  // signs and halves are chosen lane by lane
        const uint64_t lanes = select();
        if (inst_.neg | inst_.abs) passes::apply_signs(inst_, desc_, scratch_, rows_);
        return lanes;
    }
    uint64_t select() {
        if (is_dpp(inst_.format)) {
            VgprRow picked[2];
            const uint64_t lanes = dpp_select(inst_, wave_.exec, rows_.low[0], picked[0].lane);
            scratch_.src[0][0] = picked[0];
            rows_.low[0] = scratch_.src[0][0].lane;
            if (desc_.src[0].bits == 64) {
                dpp_select(inst_, wave_.exec, rows_.high[0], picked[1].lane);
                scratch_.src[0][1] = picked[1];
                rows_.high[0] = scratch_.src[0][1].lane;
            }
            return lanes;
        }
        for (unsigned n = 0; n < 2 && n < desc_.sources && is_sdwa(inst_.format); ++n) {
            sdwa_source(inst_.src_sel[n], inst_.sext[n], rows_.low[n], scratch_.src[n][0].lane);
            rows_.low[n] = scratch_.src[n][0].lane;
        }
        for (unsigned n = 0; n < desc_.sources && inst_.format == Format::VOP3; ++n) {
            if (desc_.src[n].bits != 16 || !bit(inst_.op_sel, n)) continue;
            for (unsigned l = 0; l < kLanes; ++l) scratch_.src[n][0].lane[l] = rows_.low[n][l] >> 16;
            rows_.low[n] = scratch_.src[n][0].lane;
        }
        return kAllLanes;
    }

    uint64_t value(unsigned n, unsigned lane) const {
        const uint64_t low = rows_.low[n][lane];
        const Elem& elem = desc_.src[n];
        return elem.bits == 64                      ? make64(rows_.low[n][lane], rows_.high[n][lane])
               : elem.bits == 16 && !elem.half_pair ? low & 0xffff
                                                    : low;
    }
    /// A denormal source is an exception where MODE lets it be one, and a zero elsewhere.
    uint64_t ruled(FpLane& l, unsigned bits, uint64_t v) const {
        const exact::Layout& layout = exact::layout(bits);
        if (!layout.is_denormal(v)) return v;
        if (!(bits == 32 ? mode_.denorm_in32 : mode_.denorm_in16_64)) return layout.flushed(v);
        l.raised |= excp::kInputDenormal;
        return v;
    }

    uint32_t of_lane(unsigned lane) {
        FpLane l{mode_};
        l.scales = bit(wave_.vcc(), lane);
        l.signals = inst_.clamp && row_.format == Format::VOPC;
        if (row_.has(flag::Mix)) {
            mix(l, lane);
        } else if (row_.profile->dst == Type::V2F32) {
            packed32(l, lane);
        } else if (row_.format == Format::VOP3P || inst_.op == Op::v_pk_fmac_f16) {
            packed(l, lane);
        } else {
            plain(l, lane);
        }
        return l.raised;
    }
    void plain(FpLane& l, unsigned lane) const {
        for (unsigned n = 0; n < desc_.sources; ++n) {
            const bool middle = row_.has(flag::MadMk) && n == 1;  // the literal comes before it
            const uint64_t v = value(n, lane);
            if (desc_.src[n].half_pair)
                l.source[n] = ruled(l, 16, v & 0xffff) | ruled(l, 16, v >> 16) << 16;
            else
                l.source[middle ? 2 : n] = is_float(type(n)) ? ruled(l, desc_.src[n].bits, v) : v;
        }
        if (row_.has(flag::MadMk | flag::MadAk)) {
            const unsigned bits = info(row_.profile->dst).bits;
            l.source[row_.has(flag::MadMk) ? 1 : 2] = ruled(l, bits, bits == 16 ? inst_.literal & 0xffff : inst_.literal);
        }
        if (rule_ != nullptr) rule_(l);
    }

    /// Half of source n that op_sel or op_sel_hi chooses.
    uint64_t half(FpLane& l, unsigned n, bool upper, uint32_t v) const {
        const uint64_t chosen = v >> (bit(upper ? inst_.op_sel_hi : inst_.op_sel, n) ? 16 : 0) & 0xffff;
        return ruled(l, 16, chosen ^ (bit(upper ? inst_.neg_hi : inst_.neg, n) ? 0x8000u : 0u));
    }
    void packed(FpLane& l, unsigned lane) const {
        if (type(2) == Type::F32) {  // v_dot2_f32_f16: its halves are one operation's
            for (unsigned n = 0; n < 2; ++n) {
                const uint64_t low = half(l, n, false, rows_.low[n][lane]);
                l.source[n] = low | half(l, n, true, rows_.low[n][lane]) << 16;
            }
            l.source[2] = ruled(l, 32, rows_.low[2][lane] ^ (bit(inst_.neg, 2) ? 0x80000000u : 0u));
            if (rule_ != nullptr) rule_(l);
            return;
        }
        for (const bool upper : {false, true}) {
            for (unsigned n = 0; n < desc_.sources; ++n) l.source[n] = half(l, n, upper, rows_.low[n][lane]);
            if (rule_ != nullptr) rule_(l);
        }
    }
    void packed32(FpLane& l, unsigned lane) const {
        for (const bool upper : {false, true}) {
            for (unsigned n = 0; n < desc_.sources; ++n) {
                const uint32_t sign = bit(upper ? inst_.neg_hi : inst_.neg, n) ? 0x80000000u : 0u;
                l.source[n] = ruled(l, 32, (upper ? upper_rows_ : rows_).low[n][lane] ^ sign);
            }
            if (rule_ != nullptr) rule_(l);
        }
    }
    /// neg_hi is abs; a half is widened, which is exact.
    void mix(FpLane& l, unsigned lane) const {
        for (unsigned n = 0; n < 3; ++n) {
            uint64_t v = rows_.low[n][lane];
            if (bit(inst_.op_sel_hi, n)) {
                v = ruled(l, 16, v >> (bit(inst_.op_sel, n) ? 16 : 0) & 0xffff);
                v = std::bit_cast<uint32_t>(fp::half_to_float(static_cast<uint32_t>(v)));
            } else {
                v = ruled(l, 32, v);
            }
            if (bit(inst_.neg_hi, n)) v &= 0x7fffffff;
            if (bit(inst_.neg, n)) v ^= 0x80000000;
            l.source[n] = v;
        }
        const bool fused = inst_.op == Op::v_fma_mix_f32 || inst_.op == Op::v_fma_mixlo_f16 || inst_.op == Op::v_fma_mixhi_f16;
        fp_mix(l, fused, row_.profile->dst == Type::F16);
    }

    /// omod: needs the results without it, which the handler computes on a copy of the wave.
    uint32_t modifier(uint64_t lanes) const {
        const Type to = row_.profile->dst;
        const unsigned bits = info(to).bits;
        const bool denormals = bits == 32 ? mode_.denorm_out32 : mode_.denorm_out16_64;
        if (inst_.omod == 0 || !is_float(to) || denormals || mode_.ieee || row_.format == Format::VOP3P || lanes == 0) return 0;
        // Every register that the instruction may name: those past the allocation read as v0.
        constexpr unsigned kRows = 2 * kMaxVgprs + 1;
        thread_local const std::unique_ptr<VgprRow[]> registers = std::make_unique<VgprRow[]>(kRows);
        for (unsigned n = 0; n < kRows; ++n) registers[n] = wave_.vgpr[n < wave_.vgpr_count ? n : 0];
        Wave copy = wave_;
        copy.vgpr = registers.get();
        copy.vgpr_count = kRows;
        copy.mode = ModeBits::GprIdxEn::set(copy.mode, 0);
        Inst plain = inst_;
        plain.omod = 0;
        plain.clamp = false;
        plain.dst_sel = 6;
        plain.op_sel &= 7;
        ExecContext ctx{copy};
        exec_handler(plain.op, plain.format)(ctx, plain);
        FpLane l{mode_};
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (!bit(lanes, lane)) continue;
            const uint64_t v = make64(registers[plain.dst].lane[lane], registers[plain.dst + 1u].lane[lane]);
            fp_omod(l, bits, bits == 64 ? v : v & ((uint64_t{1} << bits) - 1), inst_.omod);
            if (to == Type::V2F16) fp_omod(l, 16, v >> 16 & 0xffff, inst_.omod);
        }
        return l.raised;
    }

    const Wave& wave_;
    const Inst inst_;
    const InstInfo& row_;
    const ModeView mode_;
    const FpRule rule_;
    OpDesc desc_;
    Rows rows_, upper_rows_;  ///< upper: of the second registers of pairs
    Scratch scratch_, upper_scratch_;
};

void execute_observed(ExecContext& ctx, const Inst& inst) { ctx.env->observer->execute(ctx, inst, &execute_tracked); }

}  // namespace

bool raises_exceptions(const Inst& inst) { return (effects_of(inst.op).writes & effect::Exception) != 0; }

uint32_t fp_exceptions(const Wave& wave, const Inst& inst) { return Tracked(wave, inst).raised(); }

void execute_tracked(ExecContext& ctx, const Inst& inst) {
    Wave& wave = ctx.wave;
    const uint32_t raised = fp_exceptions(wave, inst);
    exec_handler(inst.op, inst.format)(ctx, inst);
    wave.trapsts |= raised;
    if ((raised & ModeBits::ExcpEn::get(wave.mode)) == 0) return;
    ctx.ask(Request::Exception, RaisedRewind::set(RaisedBits::set(0u, raised), inst.size_bytes / 4));
}

ExecFn tracked_function(bool observed) { return observed ? &execute_observed : &execute_tracked; }

}  // namespace lyra::gcn

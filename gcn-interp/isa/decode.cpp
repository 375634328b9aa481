// SPDX-License-Identifier: MIT
// Bytes to Inst, driven by formats.def and the instruction tables; first half of step 6 of the data flow.
#include <utility>

#include "gcn-interp/isa/decode_tables.h"

namespace lyra::gcn {
namespace {

using namespace field;
constexpr uint16_t kRowNewBroadcast = 0x150;  ///< + lane of the row
constexpr uint16_t kNoDppControl = 0x1ff;     ///< one of the values that mean nothing
constexpr uint16_t kVcc = 106, kM0 = 124, kNull = 125, kLdsDirect = 254;

/// Registers of this many dwords start at multiples of this.
constexpr unsigned scalar_alignment(unsigned dwords) { return dwords >= 4 ? 4 : dwords; }

class Decoder {
public:
    Decoder(const uint32_t* words, std::size_t available, Chip chip) : words_(words), available_(available), chip_(chip) {
        word_ = make64(words[0], available > 1 ? words[1] : 0);
    }

    Inst run() {
        const uint8_t index = kFormatByTop[words_[0] >> 23];
        if (index == 0xff) return invalid();
        const FormatInfo& format = kFormats[index];
        if (available_ < format.dwords) return invalid();
        const unsigned opcode = format.op_bits ? bits(words_[0], format.op_low, format.op_bits) : 0;
        inst_.format = format.format;
        inst_.size_bytes = static_cast<uint8_t>(format.dwords * 4);
        const auto chip = static_cast<std::size_t>(chip_);
        inst_.op = format.format == Format::VOP3 ? kVop3Ops[chip][opcode]
                   : opcode < 256                ? kOps[chip][static_cast<std::size_t>(format.format)][opcode]
                                                 : Op::Invalid;
        if (inst_.op == Op::Invalid) return invalid();
        row_ = &info(inst_.op);
        fields();
        return ok_ ? inst_ : invalid();
    }

private:
    static Inst invalid() {
        Inst inst;
        inst.size_bytes = 4;
        return inst;
    }
    bool has_acc() const { return facts_of(chip_).acc_vgprs; }
    bool has_scopes() const { return facts_of(chip_).cache_scopes; }
    template <class F>
    uint16_t get() const {
        return static_cast<uint16_t>(F::get(word_));
    }
    void need(bool condition) { ok_ = ok_ && condition; }

    void fields() {
        switch (inst_.format) {
            case Format::SOP1: return sop1();
            case Format::SOP2: return sop2();
            case Format::SOPC: return sopc();
            case Format::SOPK: return sopk();
            case Format::SOPP: return sopp();
            case Format::SMEM: return smem();
            case Format::VOP1:
            case Format::VOP2:
            case Format::VOPC: return vop_short();
            case Format::VOP3: return row_->has(flag::Interp) ? vop3_interp() : vop3();
            case Format::VOP3P: return vop3p();
            case Format::VINTRP: return vintrp();
            case Format::DS: return ds();
            case Format::FLAT: return flat();
            case Format::MUBUF: return mubuf();
            case Format::MTBUF: return mtbuf();
            case Format::MIMG: return mimg();
            case Format::EXP: return exp();
            default: ok_ = false;
        }
    }

    // ---- operands ----

    unsigned dwords(unsigned source) const { return row_->src_dwords(source); }
    Type type(unsigned source) const { return row_->profile->src[source]; }
    static bool is_small_float(Type type) {
        return type == Type::FP8 || type == Type::BF8 || type == Type::V2FP8 || type == Type::V2BF8;
    }

    /// The result is a single 8-bit float, for which op_sel has one of four bytes.
    bool to_byte() const { return row_->profile->dst == Type::FP8 || row_->profile->dst == Type::BF8; }

    /// A scalar register or constant, rounded down to its register class as LLVM does; need() fails where there is none.
    uint16_t scalar(uint16_t n, unsigned size) {
        if (n <= 101 || (n >= 108 && n <= 123)) {
            const unsigned first = n <= 101 ? 0 : 108;
            const unsigned aligned = first + (n - first) / scalar_alignment(size) * scalar_alignment(size);
            need(aligned + size <= (first ? 124u : 106u));
            return static_cast<uint16_t>(aligned);
        }
        if (n < 128 && n != kNull) {
            need(size <= 2 && (size == 1 || (n % 2 == 0 && n != kM0)));
        } else {
            need(n == kNull || (n >= 128 && n <= 208) || (n >= 235 && n <= 248) || (n >= 251 && n <= 253) ||
                 (n == kLdsDirect && size == 1 && lds_direct_allowed_) || (n == kSrcLiteral && literal_allowed_));
            if (n == kSrcLiteral && ok_) take_literal();
        }
        return n;
    }
    uint16_t vgpr(unsigned n, unsigned size) {
        need(n + size <= kVgprs);
        return static_cast<uint16_t>(n);
    }
    /// A nine-bit source.
    uint16_t source(uint16_t n, unsigned size) {
        lds_direct_allowed_ = true;
        return n >= kSrcVgpr0 ? static_cast<uint16_t>(kSrcVgpr0 + vgpr(n - kSrcVgpr0, size)) : scalar(n, size);
    }

    void take_literal() {
        if (has_literal_) return;
        const unsigned at = inst_.size_bytes / 4;
        need(at < available_);
        if (!ok_) return;
        inst_.literal = words_[at];
        inst_.size_bytes += 4;
        has_literal_ = true;
    }

    // ---- scalar formats ----

    void scalar_dst(uint16_t n) {
        if (row_->profile->dst != Type::NONE) inst_.dst = scalar(n, row_->dst_dwords());
    }
    void scalar_sources(uint16_t a, uint16_t b) {
        literal_allowed_ = true;
        if (dwords(0)) inst_.src[0] = scalar(a, dwords(0));
        if (dwords(1)) inst_.src[1] = scalar(b, dwords(1));
    }
    void sop1() {
        scalar_dst(get<SOP1_dst>());
        scalar_sources(get<SOP1_src0>(), 0);
    }
    void sop2() {
        scalar_dst(get<SOP2_dst>());
        scalar_sources(get<SOP2_src0>(), get<SOP2_src1>());
    }
    void sopc() {
        scalar_sources(get<SOPC_src0>(), get<SOPC_src1>());
        if (type(1) == Type::GPRIDX) inst_.imm = get<SOPC_src1>();
    }
    void sopk() {
        inst_.imm = static_cast<int16_t>(get<SOPK_imm>());
        scalar_dst(get<SOPK_dst>());
        if (dwords(0)) inst_.src[0] = scalar(get<SOPK_dst>(), dwords(0));
        if (row_->has(flag::Literal)) take_literal();
    }
    void sopp() {
        inst_.imm = static_cast<int16_t>(get<SOPP_imm>());
        if (type(0) == Type::NONE && inst_.op != Op::s_endpgm) need(inst_.imm == 0);
    }
    /// M0 and EXEC cannot be loaded from or stored to memory.
    uint16_t smem_data(unsigned size) {
        const uint16_t n = get<SMEM_sdata>();
        need(n < kM0 || n == kNull);
        return scalar(n, size);
    }
    void smem() {
        const bool soe = get<SMEM_soe>();
        inst_.nv = get<SMEM_nv>();
        inst_.glc = get<SMEM_glc>();
        if (row_->profile->dst != Type::NONE && !row_->has(flag::Atomic)) inst_.dst = smem_data(row_->dst_dwords());
        if (row_->has(flag::Store | flag::Atomic)) inst_.src[0] = smem_data(dwords(1));
        if (row_->has(flag::Atomic) && inst_.glc) inst_.dst = inst_.src[0];
        if (type(1) == Type::IMM7) inst_.src[0] = get<SMEM_sdata>();
        if (type(0) == Type::NONE) return need(!get<SMEM_imm>());
        inst_.saddr = scalar(static_cast<uint16_t>(get<SMEM_sbase>() * 2), dwords(0));
        inst_.imm_offset = get<SMEM_imm>();
        if (inst_.imm_offset) inst_.imm = static_cast<int32_t>(sign_extend(SMEM_offset::get(word_), 21));
        if (soe)
            inst_.soffset = scalar(get<SMEM_soffset>(), 1);
        else if (!inst_.imm_offset)
            inst_.soffset = scalar(SMEM_offset::get(word_) & 0x7f, 1);
    }

    // ---- vector formats ----

    /// Destination of a vector operation that is not an e64 form.
    void vector_dst(unsigned n) {
        if (row_->format == Format::VOPC) {
            inst_.sdst = kVcc;
        } else if (row_->has(flag::ScalarDst)) {
            inst_.sdst = scalar(static_cast<uint16_t>(n), 1);
            need(n < 128);
        } else if (row_->profile->dst != Type::NONE) {
            inst_.dst = vgpr(n, row_->dst_dwords());
            if (row_->has(flag::CarryOut)) inst_.sdst = kVcc;
        }
        if (row_->has(flag::CarryIn)) inst_.src[2] = kVcc;
    }
    void vop_short() {
        const uint16_t src0 = get<VOP2_src0>();
        if (row_->profile->sources() == 0) return need(get<VOP1_dst>() == 0);
        if (row_->format == Format::VOP1)
            vector_dst(get<VOP1_dst>());
        else
            vector_dst(get<VOP2_dst>());
        if (src0 == kSrcSdwa) return sdwa();
        if (src0 == kSrcDpp) return dpp();
        literal_allowed_ = true;
        if (dwords(0)) inst_.src[0] = source(src0, dwords(0));
        if (dwords(1)) inst_.src[1] = kSrcVgpr0 + vgpr(get<VOP2_src1>(), dwords(1));
        if (row_->has(flag::Literal)) take_literal();
        if (inst_.op == Op::v_pk_fmac_f16) inst_.op_sel_hi = 7;
        if (row_->has(flag::ScalarDst)) need(src0 >= kSrcVgpr0 || src0 == kLdsDirect);
        if (inst_.op == Op::v_swap_b32 || type(0) == Type::ACC) need(src0 >= kSrcVgpr0);
    }
    /// The second dword of SDWA and DPP is there; the format follows the row's.
    void second_dword(Format vop1, Format vop2, Format vopc) {
        need(available_ >= 2);
        inst_.size_bytes = 8;
        inst_.format = row_->format == Format::VOP1 ? vop1 : row_->format == Format::VOP2 ? vop2 : vopc;
    }
    uint16_t sdwa_source(uint16_t n, bool is_scalar) {
        lds_direct_allowed_ = true;
        return is_scalar ? scalar(n, 1) : static_cast<uint16_t>(kSrcVgpr0 + n);
    }
    void sdwa_dst() {
        if (row_->format == Format::VOPC) {
            if (get<SDWA_sd>()) inst_.sdst = scalar(get<SDWA_sdst>(), 2);
            return;
        }
        inst_.clamp = get<SDWA_clamp>();
        inst_.omod = static_cast<uint8_t>(get<SDWA_omod>());
        if (is_small_float(type(0))) {  // the result is whole
            const bool modified = inst_.clamp || inst_.omod != 0;
            return need(get<SDWA_dst_sel>() == inst_.dst_sel && (row_->has(flag::Clamp) || !modified));
        }
        inst_.dst_sel = static_cast<uint8_t>(get<SDWA_dst_sel>());
        inst_.dst_unused = static_cast<uint8_t>(get<SDWA_dst_unused>());
        need(inst_.dst_sel <= 6 && inst_.dst_unused <= 2);
        need(info(row_->profile->dst).kind == Kind::Float || inst_.omod == 0);
    }
    void sdwa_modifiers(unsigned n, uint16_t sel, bool sext, bool neg, bool abs) {
        inst_.src_sel[n] = static_cast<uint8_t>(sel);
        inst_.sext[n] = sext;
        inst_.neg |= static_cast<uint8_t>(neg << n);
        inst_.abs |= static_cast<uint8_t>(abs << n);
        need(sel <= 6 && (row_->float_source(n) ? !sext : !neg && !abs));
    }
    void sdwa() {
        second_dword(Format::VOP1_SDWA, Format::VOP2_SDWA, Format::VOPC_SDWA);
        need(!row_->has(flag::NoSdwa));
        if (!ok_) return;
        sdwa_dst();
        inst_.src[0] = sdwa_source(get<SDWA_src0>(), get<SDWA_s0>());
        sdwa_modifiers(0, get<SDWA_src0_sel>(), get<SDWA_src0_sext>(), get<SDWA_src0_neg>(), get<SDWA_src0_abs>());
        if (row_->format == Format::VOP1) {
            need(!get<SDWA_src1_sext>() && !get<SDWA_src1_neg>() && !get<SDWA_src1_abs>() && !get<SDWA_s1>() &&
                 !get<SDWA_src1_sel>());
            return;
        }
        inst_.src[1] = sdwa_source(get<VOP2_src1>(), get<SDWA_s1>());
        sdwa_modifiers(1, get<SDWA_src1_sel>(), get<SDWA_src1_sext>(), get<SDWA_src1_neg>(), get<SDWA_src1_abs>());
    }
    void dpp() {
        second_dword(Format::VOP1_DPP, Format::VOP2_DPP, Format::Invalid);
        need(row_->has_dpp(chip_) && row_->format != Format::VOPC);
        inst_.src[0] = kSrcVgpr0 + vgpr(get<DPP_src0>(), dwords(0));
        if (row_->format == Format::VOP2) inst_.src[1] = kSrcVgpr0 + vgpr(get<VOP2_src1>(), dwords(1));
        dpp_control(get<DPP_ctrl>());
        inst_.bound_ctrl = get<DPP_bound_ctrl>();
        inst_.row_mask = static_cast<uint8_t>(get<DPP_row_mask>());
        inst_.bank_mask = static_cast<uint8_t>(get<DPP_bank_mask>());
        inst_.neg = static_cast<uint8_t>(get<DPP_src0_neg>() | get<DPP_src1_neg>() << 1);
        inst_.abs = static_cast<uint8_t>(get<DPP_src0_abs>() | get<DPP_src1_abs>() << 1);
        check_modifiers(inst_.neg);
        check_modifiers(inst_.abs);
    }

    /// row_newbcast is nothing where the chip lacks it, and the only one of 64-bit operands.
    void dpp_control(uint16_t ctrl) {
        const bool broadcast = ctrl >= kRowNewBroadcast && ctrl < kRowNewBroadcast + 16;
        inst_.dpp_ctrl = broadcast && !facts_of(chip_).row_newbcast ? kNoDppControl : ctrl;
        need(broadcast || !row_->has(flag::WideDpp));
    }

    /// neg or abs bits only where the source has them.
    void check_modifiers(uint8_t& mask) {
        uint8_t real = 0, ignored = 0;
        for (unsigned n = 0; n < 3; ++n) {
            if (row_->float_source(n))
                real |= static_cast<uint8_t>(1u << n);
            else if ((row_->has(flag::IntModsIgnored) && type(n) != Type::NONE) || to_byte())
                ignored |= static_cast<uint8_t>(1u << n);
        }
        need((mask & ~(real | ignored)) == 0);
        mask &= real;
    }
    void vop3_sources(uint16_t a, uint16_t b, uint16_t c) {
        const uint16_t encoded[3] = {a, b, c};
        for (unsigned n = 0; n < 3; ++n) {
            if (dwords(n))
                inst_.src[n] = source(encoded[n], dwords(n));
            else
                need(encoded[n] == 0);
            if (dwords(n) > 2) need(encoded[n] >= kSrcVgpr0);
            if (type(n) == Type::MASK) need(encoded[n] < kSrcVgpr0);
        }
        if (inst_.op == Op::v_readlane_b32 || inst_.op == Op::v_writelane_b32) lane_operands(a, b);
    }
    /// v_readlane reads a VGPR, v_writelane a scalar; the lane number is scalar.
    void lane_operands(uint16_t a, uint16_t b) {
        need((a >= kSrcVgpr0 || a == kLdsDirect) == (inst_.op == Op::v_readlane_b32) && b < kSrcVgpr0 && b != kLdsDirect);
    }
    void vop3() {
        const bool carry_out = row_->has(flag::CarryOut);
        if (row_->profile->sources() == 0) need(!get<VOP3_dst>() && !get<VOP3_abs>());
        inst_.clamp = get<VOP3_clamp>();
        inst_.omod = static_cast<uint8_t>(get<VOP3_omod>());
        inst_.neg = static_cast<uint8_t>(get<VOP3_neg>());
        inst_.abs = carry_out ? 0 : static_cast<uint8_t>(get<VOP3_abs>());
        need((row_->has(flag::Clamp) || !inst_.clamp) && (row_->has(flag::Omod) || !inst_.omod));
        check_modifiers(inst_.neg);
        check_modifiers(inst_.abs);
        if (row_->has(flag::OpSel)) {
            inst_.op_sel = static_cast<uint8_t>(get<VOP3_op_sel>());
            need(row_->profile->sources() == 3 || to_byte() || !(inst_.op_sel & 4));
        }
        if (row_->format == Format::VOPC || row_->has(flag::ScalarDst)) {
            inst_.sdst = scalar(get<VOP3_dst>(), row_->format == Format::VOPC ? 2 : 1);
            need(get<VOP3_dst>() < 128);
        } else if (row_->profile->dst != Type::NONE) {
            inst_.dst = vgpr(get<VOP3_dst>(), row_->dst_dwords());
        }
        if (carry_out) inst_.sdst = scalar(get<VOP3_sdst>(), 2);
        vop3_sources(get<VOP3_src0>(), get<VOP3_src1>(), get<VOP3_src2>());
    }
    void vop3p() {
        const unsigned sources = row_->profile->sources();
        const auto mask = static_cast<uint8_t>((1u << sources) - 1);
        inst_.dst = vgpr(get<VOP3P_dst>(), row_->dst_dwords());
        if (is_acc_move()) return acc_move();
        if (row_->has(flag::Matrix)) return matrix();
        inst_.clamp = get<VOP3P_clamp>();
        inst_.neg = static_cast<uint8_t>(get<VOP3P_neg>());
        inst_.neg_hi = static_cast<uint8_t>(get<VOP3P_neg_hi>());
        inst_.op_sel = static_cast<uint8_t>(get<VOP3P_op_sel>());
        inst_.op_sel_hi = static_cast<uint8_t>((get<VOP3P_op_sel_hi>() | get<VOP3P_op_sel_hi2>() << 2) & mask);
        need(!((inst_.neg | inst_.neg_hi | inst_.op_sel) & ~mask));
        vop3_sources(get<VOP3P_src0>(), get<VOP3P_src1>(), get<VOP3P_src2>());
    }
    bool is_acc_move() const { return row_->profile->dst == Type::ACC || type(0) == Type::ACC; }
    /// The registers of an AccVGPR have a bit of their own in the encoding, which says nothing that the operation does not.
    void acc_move() {
        need(!get<VOP3P_neg_hi>() && !get<VOP3P_op_sel>() && !get<VOP3P_src1>() && !get<VOP3P_src2>() && !get<VOP3P_neg>());
        const uint16_t src0 = get<VOP3P_src0>();
        if (type(0) == Type::ACC) need(src0 >= kSrcVgpr0);
        inst_.src[0] = source(src0, 1);
    }
    /// A and B are registers; C is one of the kind of the result, or a constant. What is in its place where A is sparse is a
    /// VGPR.
    void matrix() {
        inst_.neg_hi = static_cast<uint8_t>(get<VOP3P_MAI_cbsz>());
        inst_.op_sel = static_cast<uint8_t>(get<VOP3P_MAI_abid>());
        inst_.neg = static_cast<uint8_t>(get<VOP3P_MAI_blgp>());
        // A file of AccVGPRs is where C and D are.
        const bool acc_cd = get<VOP3P_MAI_acc_cd>() || facts_of(chip_).acc_file;
        inst_.op_sel_hi = static_cast<uint8_t>(get<VOP3P_MAI_acc>() | acc_cd << 2);
        const uint16_t encoded[3] = {get<VOP3P_src0>(), get<VOP3P_src1>(), get<VOP3P_src2>()};
        const bool sparse = row_->has(flag::Sparse);
        for (unsigned n = 0; n < 3; ++n) {
            need(encoded[n] >= kSrcVgpr0 || (n == 2 && encoded[n] >= 128 && !sparse));
            if (ok_) inst_.src[n] = source(encoded[n], dwords(n));
        }
        if (sparse) need(inst_.neg == 0);
    }
    void vintrp() {
        inst_.dst = get<VINTRP_dst>();
        inst_.src[0] = get<VINTRP_src>();
        if (type(0) == Type::F32) inst_.src[0] += kSrcVgpr0;
        inst_.attr = static_cast<uint8_t>(get<VINTRP_attr>());
        inst_.attr_chan = static_cast<uint8_t>(get<VINTRP_chan>());
    }
    /// VOP3 interpolation: src0 holds attribute, channel and half; src1 the VGPR, src2 the addend.
    void vop3_interp() {
        const bool three = type(2) != Type::NONE;
        const bool half = row_->format == Format::VOP3;
        inst_.dst = get<VOP3_dst>();
        inst_.clamp = get<VOP3_clamp>();
        inst_.omod = static_cast<uint8_t>(get<VOP3_omod>());
        inst_.attr = static_cast<uint8_t>(get<VOP3_interp_attr>());
        inst_.attr_chan = static_cast<uint8_t>(get<VOP3_interp_chan>());
        inst_.high = get<VOP3_interp_high>();
        const uint16_t allowed = type(0) != Type::F32 ? 0 : three ? 6 : 2;
        inst_.neg = static_cast<uint8_t>(get<VOP3_neg>());
        inst_.abs = static_cast<uint8_t>(get<VOP3_abs>());
        need(!((inst_.neg | inst_.abs) & ~allowed) && (half || !inst_.high));
        need((row_->has(flag::Clamp) || !half || !inst_.clamp) && (row_->has(flag::Omod) || !half || !inst_.omod));
        inst_.src[0] = type(0) == Type::F32 ? source(get<VOP3_src1>(), 1) : get<VOP3_src1>();
        if (type(0) == Type::F32) need(get<VOP3_src1>() >= kSrcVgpr0);
        if (three)
            inst_.src[2] = source(get<VOP3_src2>(), 1);
        else
            need(get<VOP3_src2>() == 0);
        if (three) need(get<VOP3_src2>() >= kSrcVgpr0);
    }

    // ---- memory formats ----

    /// Those of floats, which came with the AccVGPRs, are coherent with the system where there are scopes; while AccVGPRs had a
    /// file of their own, they did not return the old value. @source LLVM 19 AMDGPU disassembler
    void need_float_atomic(bool scc) {
        if (!row_->has(flag::Atomic) || row_->on(Chip::gfx900)) return;
        need((!scc || has_scopes()) && !(inst_.glc && facts_of(chip_).acc_file));
    }

    void ds() {
        const bool two = row_->has(flag::Two | flag::TwoSt64);
        // Chips without graphics have GDS for global wave sync only, and ignore the bit elsewhere.
        need(!get<DS_gds>() || !row_->has(flag::NoGds));
        inst_.gds = get<DS_gds>() && (!has_acc() || row_->has(flag::Gws));
        inst_.imm = two ? get<DS_offset0>() : get<DS_offset>();
        inst_.imm2 = two ? static_cast<uint8_t>(get<DS_offset1>()) : 0;
        const unsigned sizes[3] = {dwords(0), dwords(1), dwords(2)};
        uint16_t* const operands[3] = {&inst_.vaddr, &inst_.vdata, &inst_.vdata2};
        uint16_t encoded[3] = {get<DS_addr>(), get<DS_data0>(), get<DS_data1>()};
        // Global wave sync has no address; its data register is in the address field.
        if (row_->has(flag::Gws) && !sizes[0]) std::swap(encoded[0], encoded[1]);
        for (unsigned n = 0; n < 3; ++n) {
            if (sizes[n])
                *operands[n] = vgpr(encoded[n], sizes[n]);
            else
                need(encoded[n] == 0);
        }
        if (row_->profile->dst != Type::NONE)
            inst_.dst = vgpr(get<DS_dst>(), row_->dst_dwords());
        else
            need(get<DS_dst>() == 0);
        need(inst_.gds || !row_->has(flag::Gws));
        inst_.acc = has_acc() && get<DS_acc>() && (inst_.dst != kNoOperand || inst_.vdata != kNoOperand);
        // Bit 25 belongs to the data operand of later chips; it is free where there is one.
        need(!get<DS_acc>() || inst_.dst != kNoOperand || inst_.vdata != kNoOperand);
        if (type(0) == Type::NONE && type(1) == Type::NONE && inst_.dst == kNoOperand && !inst_.gds) need(inst_.imm == 0);
    }
    void flat() {
        inst_.seg = static_cast<uint8_t>(get<FLAT_seg>());
        inst_.glc = get<FLAT_glc>();
        inst_.slc = get<FLAT_slc>();
        inst_.scc = has_acc() && get<FLAT_scc>();
        need_float_atomic(get<FLAT_scc>());
        inst_.acc = has_acc() && get<FLAT_nv>();
        inst_.nv = !has_acc() && get<FLAT_nv>();
        // Where SCRATCH says whether it uses its VGPR, loads to LDS are operations of their own.
        const bool says_vgpr = facts_of(chip_).flat_scratch_from_start;
        inst_.lds = says_vgpr ? loads_lds_only(*row_) : get<FLAT_lds>();
        need(!says_vgpr || inst_.seg == 1 || !get<FLAT_lds>());
        need(!inst_.lds || !inst_.acc);
        constexpr uint64_t kSegment[4] = {flag::SegFlat, flag::SegScratch, flag::SegGlobal, 0};
        need(row_->has(kSegment[inst_.seg]) && (!inst_.lds || (inst_.seg && row_->has(flag::LdsDma) && !inst_.nv)));
        const uint32_t offset = FLAT_offset::get(word_);
        inst_.imm = inst_.seg ? static_cast<int32_t>(sign_extend(offset, 13)) : static_cast<int32_t>(offset & 0xfff);
        flat_address(get<FLAT_saddr>(), says_vgpr ? get<FLAT_lds>() : get<FLAT_saddr>() == kSaddrOff);
        if (row_->has(flag::Store | flag::Atomic)) inst_.vdata = vgpr(get<FLAT_data>(), dwords(1));
        if ((row_->has(flag::Load) && !inst_.lds) || (row_->has(flag::Atomic) && inst_.glc))
            inst_.dst = vgpr(get<FLAT_dst>(), row_->dst_dwords());
    }
    /// flat: 64-bit VGPR pair. global: the same, or SGPR pair + 32-bit VGPR. scratch: one VGPR, or one SGPR, or both, or none.
    void flat_address(uint16_t saddr, bool scratch_vgpr) {
        const bool has_saddr = inst_.seg != 0 && saddr != kSaddrOff;
        if (inst_.seg == 0) need(saddr == 0);
        if (has_saddr) inst_.saddr = scalar(saddr, inst_.seg == 2 ? 2 : 1);
        if (inst_.seg == 1 && !scratch_vgpr) return;
        inst_.vaddr = vgpr(get<FLAT_addr>(), inst_.seg == 1 || has_saddr ? 1 : 2);
    }
    void buffer(unsigned data_dwords) {
        const bool pair = inst_.offen && inst_.idxen;
        if (inst_.offen || inst_.idxen) inst_.vaddr = vgpr(get<MUBUF_vaddr>(), pair ? 2 : 1);
        inst_.saddr = scalar(static_cast<uint16_t>(get<MUBUF_srsrc>() * 4), 4);
        inst_.soffset = scalar(get<MUBUF_soffset>(), 1);
        if (inst_.lds) return;
        const uint16_t data = vgpr(get<MUBUF_vdata>(), data_dwords + inst_.tfe);
        if (row_->has(flag::Store | flag::Atomic)) inst_.vdata = data;
        if (row_->has(flag::Load) || (row_->has(flag::Atomic) && inst_.glc)) inst_.dst = data;
    }
    void mubuf() {
        if (row_->profile->none() && !row_->has(flag::LdsDma)) return cache_control();
        inst_.imm = get<MUBUF_offset>();
        inst_.offen = get<MUBUF_offen>();
        inst_.idxen = get<MUBUF_idxen>();
        inst_.glc = get<MUBUF_glc>();
        inst_.slc = get<MUBUF_slc>();
        inst_.lds = get<MUBUF_lds>();
        inst_.scc = has_acc() && get<MUBUF_scc>();
        need_float_atomic(inst_.scc);
        inst_.acc = has_acc() && get<MUBUF_tfe>();
        inst_.tfe = !has_acc() && get<MUBUF_tfe>();
        need(!inst_.lds || (row_->has(flag::LdsDma) && !inst_.acc));
        need(!inst_.tfe || (!inst_.lds && !row_->has(flag::Atomic)));
        const bool lds_only = row_->profile->none();
        if (lds_only) need(inst_.lds && !inst_.offen && !inst_.idxen);
        buffer(row_->has(flag::Load) ? row_->dst_dwords() : dwords(1));
    }
    void cache_control() {
        const bool coherence =
            inst_.op == Op::buffer_wbl2 || inst_.op == Op::buffer_inv;  // has the bits, which say nothing to us
        need(!get<MUBUF_offen>() && !get<MUBUF_idxen>() && !get<MUBUF_lds>() && !get<MUBUF_tfe>() &&
             (coherence || (!get<MUBUF_glc>() && !get<MUBUF_scc>())));
        if (!has_scopes() || !coherence) return;
        inst_.glc = get<MUBUF_glc>();
        inst_.scc = get<MUBUF_scc>();
    }
    void mtbuf() {
        inst_.imm = get<MTBUF_offset>();
        inst_.offen = get<MTBUF_offen>();
        inst_.idxen = get<MTBUF_idxen>();
        inst_.glc = get<MTBUF_glc>();
        inst_.slc = get<MTBUF_slc>();
        inst_.scc = has_acc() && get<MTBUF_scc>();
        inst_.acc = has_acc() && get<MTBUF_tfe>();
        need(has_acc() || !get<MTBUF_tfe>());
        inst_.dfmt = static_cast<uint8_t>(get<MTBUF_dfmt>());
        inst_.nfmt = static_cast<uint8_t>(get<MTBUF_nfmt>());
        buffer(row_->has(flag::Load) ? row_->dst_dwords() : dwords(1));
    }
    void mimg() {
        inst_.dmask = static_cast<uint8_t>(get<MIMG_dmask>());
        inst_.unorm = get<MIMG_unorm>();
        inst_.glc = get<MIMG_glc>();
        inst_.da = get<MIMG_da>();
        inst_.r128 = get<MIMG_r128>();
        inst_.tfe = get<MIMG_tfe>();
        inst_.lwe = get<MIMG_lwe>();
        inst_.slc = get<MIMG_slc>();
        inst_.d16 = get<MIMG_d16>();
        inst_.vaddr = vgpr(get<MIMG_vaddr>(), image_address_dwords(*row_));
        vgpr(get<MIMG_vdata>(), image_data_dwords(*row_));
        inst_.saddr = scalar(static_cast<uint16_t>(get<MIMG_srsrc>() * 4), 8);
        if (row_->has(flag::Sampler))
            inst_.ssamp = scalar(static_cast<uint16_t>(get<MIMG_ssamp>() * 4), 4);
        else
            need(get<MIMG_ssamp>() == 0);
        need(!inst_.d16 || row_->has(flag::D16));
        need(!get<MIMG_reserved>());
        if (row_->has(flag::Store | flag::Atomic)) inst_.vdata = get<MIMG_vdata>();
        if (row_->has(flag::Load | flag::Atomic)) inst_.dst = get<MIMG_vdata>();
    }
    void exp() {
        inst_.dmask = static_cast<uint8_t>(get<EXP_en>());
        inst_.attr = static_cast<uint8_t>(get<EXP_target>());
        inst_.compr = get<EXP_compr>();
        inst_.done = get<EXP_done>();
        inst_.vm = get<EXP_vm>();
        inst_.src[0] = kSrcVgpr0 + get<EXP_src0>();
        inst_.src[1] = kSrcVgpr0 + get<EXP_src1>();
        inst_.src[2] = kSrcVgpr0 + get<EXP_src2>();
        inst_.vdata = get<EXP_src3>();
    }

    static constexpr unsigned kVgprs = 256;
    const uint32_t* words_;
    std::size_t available_;
    Chip chip_;
    uint64_t word_ = 0;
    Inst inst_;
    const InstInfo* row_ = nullptr;
    bool ok_ = true;
    bool literal_allowed_ = false;
    bool lds_direct_allowed_ = false;
    bool has_literal_ = false;
};

}  // namespace

Inst decode(const uint32_t* words, std::size_t available, Chip chip) {
    if (available == 0) {
        Inst inst;
        inst.size_bytes = 4;
        return inst;
    }
    return Decoder(words, available, chip).run();
}

}  // namespace lyra::gcn

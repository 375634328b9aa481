// SPDX-License-Identifier: MIT
// Inst to text as LLVM 19's disassembler spells it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/bits.h"
#include "gcn-interp/isa/fields.h"
#include "gcn-interp/isa/operand_text.h"

namespace lyra::gcn {
namespace {

/// Builds "mnemonic a, b, c modifiers".
class Printer {
public:
    Printer(const Inst& inst, Chip chip)
        : inst_(inst), row_(info(inst.op)), profile_(*row_.profile), chip_(chip), scopes_(facts_of(chip).cache_scopes) {}

    std::string run() {
        switch (inst_.format) {
            case Format::SOP1:
            case Format::SOP2:
            case Format::SOPC:
            case Format::SOPK: scalar(); break;
            case Format::SOPP: sopp(); break;
            case Format::SMEM: smem(); break;
            case Format::VINTRP: vintrp(); break;
            case Format::DS: ds(); break;
            case Format::FLAT: flat(); break;
            case Format::MUBUF:
            case Format::MTBUF: buffer(); break;
            case Format::MIMG: mimg(); break;
            case Format::EXP: exp(); break;
            case Format::Invalid: return "<invalid>";
            default: vector();
        }
        std::string text = mnemonic();
        if (!operands_.empty()) text += " " + operands_;
        return text + modifiers_;
    }

private:
    std::string mnemonic() const {
        std::string name = row_.name;
        if (inst_.format == Format::FLAT && inst_.seg) name.replace(0, 4, inst_.seg == 1 ? "scratch" : "global");
        if (profile_.dst == Type::NONE && profile_.sources() == 0) return name;
        if (is_sdwa(inst_.format)) return name + "_sdwa";
        if (is_dpp(inst_.format)) return name + "_dpp";
        const bool two_forms = (row_.format == Format::VOP1 || row_.format == Format::VOP2 || row_.format == Format::VOPC ||
                                row_.format == Format::VINTRP) &&
                               !row_.has(flag::NoE64);
        if (inst_.op == Op::v_pk_fmac_f16) return name + "_e32";  // has no other, but LLVM says so
        if (!two_forms) return name;
        return name + (inst_.format == Format::VOP3 ? "_e64" : "_e32");
    }

    void operand(const std::string& text) {
        if (!operands_.empty()) operands_ += ", ";
        operands_ += text;
    }
    template <class... Args>
    void modifier(fmt::format_string<Args...> format, Args&&... args) {
        modifiers_ += fmt::format(format, std::forward<Args>(args)...);
    }
    void flag_text(bool on, const char* name) {
        if (on) modifier(" {}", name);
    }

    // ---- scalar ----

    std::string immediate(Type type) const {
        const auto imm = static_cast<uint16_t>(inst_.imm);
        switch (type) {
            case Type::BRANCH: return fmt::format("{}", imm);
            case Type::HWREG: return hwreg_text(imm, chip_);
            case Type::WAITCNT: return waitcnt_text(imm);
            case Type::SENDMSG: return sendmsg_text(imm);
            case Type::GPRIDX: return gpr_index_text(imm);
            case Type::LIT32: return literal_text(inst_.literal, Type::B32);
            default: return fmt::format("0x{:x}", imm);
        }
    }
    void scalar() {
        if (profile_.dst != Type::NONE) operand(sreg_text(inst_.dst, row_.dst_dwords()));
        for (unsigned n = 0; n < 3 && profile_.src[n] != Type::NONE; ++n) {
            const bool imm = info(profile_.src[n]).kind == Kind::Imm;
            operand(imm ? immediate(profile_.src[n]) : source_text(inst_, inst_.src[n], profile_.src[n]));
        }
        // s_setreg prints the register it writes first.
        if (inst_.op == Op::s_setreg_b32 || inst_.op == Op::s_setreg_imm32_b32) {
            const std::size_t comma = operands_.find(", hwreg");
            operands_ = operands_.substr(comma + 2) + ", " + operands_.substr(0, comma);
        }
    }
    void sopp() {
        const auto imm = static_cast<uint16_t>(inst_.imm);
        if (inst_.op == Op::s_endpgm) {
            if (imm) operand(fmt::format("{}", imm));
        } else if (profile_.src[0] == Type::IMM16) {
            operand(small_or_hex(imm));
        } else if (profile_.src[0] != Type::NONE) {
            operand(immediate(profile_.src[0]));
        }
    }
    static std::string small_or_hex(uint16_t imm) { return imm > 64 ? fmt::format("0x{:x}", imm) : fmt::format("{}", imm); }
    void smem() {
        if (profile_.src[1] == Type::IMM7)
            operand(small_or_hex(inst_.src[0]));
        else if (row_.has(flag::Store | flag::Atomic))
            operand(sreg_text(inst_.src[0], row_.src_dwords(1)));
        else if (profile_.dst != Type::NONE)
            operand(sreg_text(inst_.dst, row_.dst_dwords()));
        if (profile_.src[0] == Type::NONE) return;
        operand(sreg_text(inst_.saddr, row_.src_dwords(0)));
        const std::string offset = inst_.imm < 0 ? fmt::format("-0x{:x}", -inst_.imm) : fmt::format("0x{:x}", inst_.imm);
        if (inst_.soffset == kNoOperand)
            operand(offset);
        else
            operand(source_text(inst_, inst_.soffset, Type::B32));
        if (inst_.soffset != kNoOperand && inst_.imm_offset) modifier(" offset:{}", offset);
        flag_text(inst_.glc && (row_.has(flag::Load | flag::Store | flag::Atomic)), "glc");
    }

    // ---- vector ----

    /// Neg of a constant is written neg(1.0): -1.0 would be another constant.
    std::string with_modifiers(unsigned n, const std::string& text, unsigned abs_bits) const {
        const bool neg = bit(inst_.neg, n), abs = bit(abs_bits, n);
        const bool constant =
            inst_.src[n] < kSrcVgpr0 && ((inst_.src[n] >= 128 && inst_.src[n] <= 208) ||
                                         (inst_.src[n] >= 240 && inst_.src[n] <= 248) || inst_.src[n] == kSrcLiteral);
        if (inst_.sext[n < 2 ? n : 0] && n < 2) return "sext(" + text + ")";
        if (neg && !abs && constant) return "neg(" + text + ")";
        return std::string(neg ? "-" : "") + (abs ? "|" : "") + text + (abs ? "|" : "");
    }
    std::string vector_source(unsigned n) const {
        // The exponent of v_ldexp_f16 is an integer, but LLVM prints constants as f16.
        const Type type = inst_.op == Op::v_ldexp_f16 && n == 1 ? Type::F16 : profile_.src[n];
        const std::string text = source_text(inst_, inst_.src[n], type);
        if (row_.has(flag::Mix)) return with_modifiers(n, text, inst_.neg_hi);
        return inst_.format == Format::VOP3P ? text : with_modifiers(n, text, inst_.abs);
    }
    void vector() {
        if (row_.has(flag::Interp)) return vop3_interp();
        if (row_.has(flag::Matrix)) return matrix();
        const bool acc = profile_.dst == Type::ACC;
        if (inst_.dst != kNoOperand) operand(data_text(inst_.dst, row_.dst_dwords(), acc));
        if (inst_.sdst != kNoOperand) operand(sreg_text(inst_.sdst, row_.has(flag::ScalarDst) ? 1 : 2));
        for (unsigned n = 0; n < 3 && profile_.src[n] != Type::NONE; ++n) {
            const bool constant_slot = (row_.has(flag::MadMk) && n == 1) || (row_.has(flag::MadAk) && n == 2);
            if (constant_slot)
                operand(fmt::format("0x{:x}", inst_.literal));
            else
                operand(vector_source(row_.has(flag::MadMk) && n == 2 ? 1 : n));
        }
        if (acc || profile_.src[0] == Type::ACC) return;
        if (inst_.format == Format::VOP3P)
            packed_modifiers();
        else if (is_dpp(inst_.format))
            dpp_modifiers();
        else if (is_sdwa(inst_.format))
            sdwa_modifiers();
        else
            e64_modifiers();
    }
    void matrix() {
        operand(data_text(inst_.dst, row_.dst_dwords(), bit(inst_.op_sel_hi, 2)));
        for (unsigned n = 0; n < 3; ++n) {
            const bool index = n == 2 && row_.has(flag::Sparse);
            if (inst_.src[n] >= kSrcVgpr0)
                operand(data_text(inst_.src[n] - kSrcVgpr0, row_.src_dwords(n), bit(inst_.op_sel_hi, n) && !index));
            else
                operand(source_text(inst_, inst_.src[n], profile_.src[n]));
        }
        if (inst_.neg_hi) modifier(" cbsz:{}", inst_.neg_hi);
        if (inst_.op_sel) modifier(" abid:{}", inst_.op_sel);
        if (row_.has(flag::FloatMods))
            bit_list("neg", inst_.neg, 3, 0);
        else if (inst_.neg)
            modifier(" blgp:{}", inst_.neg);
    }
    void output_modifiers() {
        static constexpr const char* kOmod[] = {nullptr, "mul:2", "mul:4", "div:2"};
        flag_text(inst_.clamp, "clamp");
        flag_text(inst_.omod != 0, kOmod[inst_.omod]);
    }
    void bit_list(const char* name, unsigned mask, unsigned count, unsigned usual) {
        if ((mask & ((1u << count) - 1)) == usual) return;
        modifier(" {}:[", name);
        for (unsigned i = 0; i < count; ++i) modifier("{}{}", i ? "," : "", mask >> i & 1);
        modifiers_ += "]";
    }
    void e64_modifiers() {
        const unsigned sources = profile_.sources();
        if (row_.has(flag::OpSel)) {
            // The destination's half is bit 3 and printed last.
            const bool byte = profile_.dst == Type::FP8 || profile_.dst == Type::BF8;
            const unsigned selected = (inst_.op_sel & ((1u << sources) - 1)) | (inst_.op_sel >> 3 & 1u) << sources;
            bit_list("op_sel", byte ? inst_.op_sel : selected, byte ? 4 : sources + 1, 0);
        }
        output_modifiers();
    }
    void packed_modifiers() {
        const unsigned sources = profile_.sources(), all = (1u << sources) - 1;
        bit_list("op_sel", inst_.op_sel, sources, 0);
        bit_list("op_sel_hi", inst_.op_sel_hi, sources, row_.has(flag::Mix) ? 0 : all);
        if (!row_.has(flag::Mix)) {
            bit_list("neg_lo", inst_.neg, sources, 0);
            bit_list("neg_hi", inst_.neg_hi, sources, 0);
        }
        flag_text(inst_.clamp, "clamp");
    }
    void dpp_modifiers() {
        modifier("{} row_mask:0x{:x} bank_mask:0x{:x}", dpp_text(inst_.dpp_ctrl), inst_.row_mask, inst_.bank_mask);
        flag_text(inst_.bound_ctrl, "bound_ctrl:1");
    }
    void sdwa_modifiers() {
        static constexpr const char* kSel[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
        static constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
        if (profile_.sources() == 0) return;
        output_modifiers();
        const bool whole = info(profile_.src[0]).bits == 8;
        if (row_.format != Format::VOPC && !whole)
            modifier(" dst_sel:{} dst_unused:{}", kSel[inst_.dst_sel], kUnused[inst_.dst_unused]);
        modifier(" src0_sel:{}", kSel[inst_.src_sel[0]]);
        if (row_.format != Format::VOP1) modifier(" src1_sel:{}", kSel[inst_.src_sel[1]]);
    }
    std::string attribute() const { return fmt::format("attr{}.{}", inst_.attr, "xyzw"[inst_.attr_chan & 3]); }
    std::string interp_parameter(uint16_t number) const {
        static constexpr const char* kNames[] = {"p10", "p20", "p0"};
        return number < 3 ? kNames[number] : fmt::format("invalid_param_{}", number);
    }
    void vintrp() {
        operand(vgpr_text(inst_.dst, 1));
        operand(profile_.src[0] == Type::F32 ? vgpr_text(inst_.src[0] - kSrcVgpr0, 1) : interp_parameter(inst_.src[0]));
        operand(attribute());
    }
    /// Sources 1 and 2 of the encoding carry neg and abs; src[0] here is source 1 there.
    void vop3_interp() {
        const auto modified = [&](unsigned n, const std::string& text) {
            const bool neg = bit(inst_.neg, n), abs = bit(inst_.abs, n);
            return std::string(neg ? "-" : "") + (abs ? "|" : "") + text + (abs ? "|" : "");
        };
        operand(vgpr_text(inst_.dst, 1));
        if (profile_.src[0] == Type::F32)
            operand(modified(1, vgpr_text(inst_.src[0] - kSrcVgpr0, 1)));
        else
            operand(interp_parameter(inst_.src[0]));
        operand(attribute());
        if (inst_.src[2] != kNoOperand) operand(modified(2, source_text(inst_, inst_.src[2], Type::F32)));
        flag_text(inst_.high, "high");
        output_modifiers();
    }

    // ---- memory ----

    void ds() {
        if (inst_.dst != kNoOperand) operand(data_text(inst_.dst, row_.dst_dwords(), inst_.acc));
        if (inst_.vaddr != kNoOperand) operand(vgpr_text(inst_.vaddr, 1));
        if (inst_.vdata != kNoOperand) operand(data_text(inst_.vdata, row_.src_dwords(1), inst_.acc));
        if (inst_.vdata2 != kNoOperand) operand(data_text(inst_.vdata2, row_.src_dwords(2), inst_.acc));
        if (row_.has(flag::Two | flag::TwoSt64)) {
            if (inst_.imm) modifier(" offset0:{}", inst_.imm);
            if (inst_.imm2) modifier(" offset1:{}", inst_.imm2);
        } else if (row_.has(flag::Swizzle)) {
            modifiers_ += swizzle_text(static_cast<uint16_t>(inst_.imm));
        } else if (inst_.imm) {
            modifier(" offset:{}", inst_.imm);
        }
        flag_text(inst_.gds, "gds");
    }
    void flat() {
        if (inst_.dst != kNoOperand) operand(data_text(inst_.dst, row_.dst_dwords(), inst_.acc));
        if (inst_.vaddr == kNoOperand)
            operand("off");
        else
            operand(vgpr_text(inst_.vaddr, inst_.seg == 1 || inst_.saddr != kNoOperand ? 1 : 2));
        if (inst_.vdata != kNoOperand) operand(data_text(inst_.vdata, row_.src_dwords(1), inst_.acc));
        if (inst_.seg != 0) {
            if (inst_.saddr == kNoOperand)
                operand("off");
            else
                operand(sreg_text(inst_.saddr, inst_.seg == 2 ? 2 : 1));
        }
        if (inst_.imm) modifier(" offset:{}", inst_.imm);
        coherence();
        flag_text(inst_.lds && !loads_lds_only(row_), "lds");
    }
    void coherence() {
        flag_text(inst_.glc, scopes_ ? "sc0" : "glc");
        flag_text(inst_.slc, scopes_ ? "nt" : "slc");
        flag_text(inst_.scc, scopes_ ? "sc1" : "scc");
    }
    void buffer() {
        if (profile_.dst == Type::NONE && profile_.sources() == 0 && !inst_.lds) return coherence();
        const unsigned dwords = row_.has(flag::Load) ? row_.dst_dwords() : row_.src_dwords(1);
        const bool typed = inst_.format == Format::MTBUF;
        if (!inst_.lds) operand(data_text(inst_.vdata != kNoOperand ? inst_.vdata : inst_.dst, dwords + inst_.tfe, inst_.acc));
        if (inst_.vaddr != kNoOperand)
            operand(vgpr_text(inst_.vaddr, inst_.offen && inst_.idxen ? 2 : 1));
        else if (profile_.dst != Type::NONE || profile_.sources())
            operand("off");
        operand(sreg_text(inst_.saddr, 4));
        operand(source_text(inst_, inst_.soffset, Type::B32));
        if (typed) buffer_format();
        flag_text(inst_.idxen, "idxen");
        flag_text(inst_.offen, "offen");
        if (inst_.imm) modifier(" offset:{}", inst_.imm);
        const bool store_lds = inst_.op == Op::buffer_store_lds_dword;
        flag_text(store_lds, "lds");
        coherence();
        flag_text(inst_.tfe, "tfe");
        flag_text(inst_.lds && !store_lds, "lds");
    }
    void buffer_format() {
        static constexpr const char* kData[] = {"INVALID",     "8",        "16",          "8_8",        "32",      "16_16",
                                                "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10", "8_8_8_8", "32_32",
                                                "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
        static constexpr const char* kNumber[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                  "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
        const bool data = inst_.dfmt != 1, number = inst_.nfmt != 0;
        if (!data && !number) return;
        modifier(" format:[{}{}{}{}{}]", data ? "BUF_DATA_FORMAT_" : "", data ? kData[inst_.dfmt] : "",
                 data && number ? "," : "", number ? "BUF_NUM_FORMAT_" : "", number ? kNumber[inst_.nfmt] : "");
    }
    /// Data VGPRs by DMASK, D16 and TFE; the row's own number where there is no such form or register.
    unsigned image_dwords(unsigned first) const {
        const unsigned usual = image_data_dwords(row_);
        const unsigned channels = row_.has(flag::Gather) ? 4u : std::max(std::popcount(inst_.dmask), 1);
        const unsigned dwords = (inst_.d16 ? (channels + 1) / 2 : channels) + inst_.tfe;
        const bool exists = row_.has(flag::Gather)    ? dwords != 3
                            : row_.has(flag::CmpSwap) ? dwords % 2 == 0
                                                      : !row_.has(flag::Atomic) || dwords <= 2;
        return exists && first + dwords <= 256 ? dwords : usual;
    }
    void mimg() {
        const unsigned data = inst_.vdata != kNoOperand ? inst_.vdata : inst_.dst;
        operand(vgpr_text(data, image_dwords(data)));
        operand(vgpr_text(inst_.vaddr, image_address_dwords(row_)));
        operand(sreg_text(inst_.saddr, 8));
        if (row_.has(flag::Sampler)) operand(sreg_text(inst_.ssamp, 4));
        if (inst_.dmask) modifier(" dmask:0x{:x}", inst_.dmask);
        flag_text(inst_.unorm, "unorm");
        flag_text(inst_.glc, "glc");
        flag_text(inst_.slc, "slc");
        flag_text(inst_.scc, "scc");
        flag_text(inst_.r128, "a16");
        flag_text(inst_.tfe, "tfe");
        flag_text(inst_.lwe, "lwe");
        flag_text(inst_.da, "da");
        flag_text(inst_.d16, "d16");
    }
    std::string export_target() const {
        const unsigned t = inst_.attr;
        if (t <= 7) return fmt::format("mrt{}", t);
        if (t == 8) return "mrtz";
        if (t == 9) return "null";
        if (t >= 12 && t <= 15) return fmt::format("pos{}", t - 12);
        if (t >= 32) return fmt::format("param{}", t - 32);
        return fmt::format("invalid_target_{}", t);
    }
    void exp() {
        const uint16_t sources[4] = {inst_.src[0], inst_.src[1], inst_.src[2], static_cast<uint16_t>(kSrcVgpr0 + inst_.vdata)};
        operands_ = export_target();
        for (unsigned n = 0; n < 4; ++n) {
            const unsigned from = inst_.compr ? n / 2 : n;
            const std::string text = bit(inst_.dmask, n) ? vgpr_text(sources[from] - kSrcVgpr0, 1) : "off";
            operands_ += (n ? ", " : " ") + text;
        }
        flag_text(inst_.done, "done");
        flag_text(inst_.compr, "compr");
        flag_text(inst_.vm, "vm");
    }

    const Inst& inst_;
    const InstInfo& row_;
    const Profile& profile_;
    const Chip chip_;
    const bool scopes_;
    std::string operands_, modifiers_;
};

}  // namespace

std::string disassemble(const Inst& inst, Chip chip) { return Printer(inst, chip).run(); }

}  // namespace lyra::gcn

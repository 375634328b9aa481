// SPDX-License-Identifier: MIT
// Operands in LLVM's spelling; rows from operands.def and hwregs.def.
#include "gcn-interp/isa/operand_text.h"

#include <fmt/format.h>

#include <bit>

#include "common/bits.h"

namespace lyra::gcn {
namespace {

struct SregName {
    uint8_t number;
    const char* name;
    const char* pair;
};
constexpr SregName kSregNames[] = {
#define SREG(number, name, pair) {number, name, pair},
#include "gcn-interp/isa/operands.def"
#undef SREG
};

struct InlineFloat {
    uint8_t number;
    const char* text;
    uint16_t f16;
    uint32_t f32;
    uint64_t f64;
};
constexpr InlineFloat kInlineFloats[] = {
#define INLINE_FLOAT(number, text, f16, f32, f64) {number, text, f16, f32, f64},
#include "gcn-interp/isa/operands.def"
#undef INLINE_FLOAT
};

struct HwregName {
    uint8_t id;
    const char* name;
    ChipMask chips;
};
constexpr HwregName kHwregNames[] = {
#define HWREG(id, name, chips) {id, #name, chips},
#include "gcn-interp/isa/hwregs.def"
#undef HWREG
};

enum class MessageOps { None, Gs, GsDone, Sys };
struct MessageName {
    uint8_t id;
    const char* name;
    MessageOps ops;
};
constexpr MessageName kMessageNames[] = {
#define MESSAGE(id, name, ops) {id, #name, MessageOps::ops},
#include "gcn-interp/isa/hwregs.def"
#undef MESSAGE
};

std::string range_text(const char* prefix, unsigned first, unsigned dwords) {
    return dwords == 1 ? fmt::format("{}{}", prefix, first) : fmt::format("{}[{}:{}]", prefix, first, first + dwords - 1);
}

/// 1/(2*pi) has its own spelling in 64 bits.
const char* float_name(const InlineFloat& row, unsigned bits) {
    return bits == 64 && row.number == 248 ? "0.15915494309189532" : row.text;
}

uint64_t float_bits(const InlineFloat& row, unsigned bits) { return bits == 16 ? row.f16 : bits == 64 ? row.f64 : row.f32; }

/// The value of an operand of `bits` bits: as small integer, as inline float, or in hex.
std::string value_text(uint64_t value, unsigned bits, bool floats) {
    const int64_t number = sign_extend(value, bits);
    if (number >= -16 && number <= 64) return fmt::format("{}", number);
    if (floats) {
        for (const InlineFloat& row : kInlineFloats)
            if (float_bits(row, bits) == value) return float_name(row, bits);
    }
    return fmt::format("0x{:x}", value);
}

/// Single integer operands of 16 bits print a float pattern in hex; all others by name.
bool prints_floats(const TypeInfo& type) { return type.bits != 16 || type.kind == Kind::Float || type.name[0] == 'V'; }

const char* message_op(MessageOps ops, unsigned op) {
    static constexpr const char* kGs[] = {nullptr, "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
    static constexpr const char* kSys[] = {nullptr, "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", nullptr,
                                           "SYSMSG_OP_TTRACE_PC"};
    if (ops == MessageOps::GsDone && op == 0) return "GS_OP_NOP";
    if (ops == MessageOps::Gs || ops == MessageOps::GsDone) return op < std::size(kGs) ? kGs[op] : nullptr;
    if (ops == MessageOps::Sys) return op < std::size(kSys) ? kSys[op] : nullptr;
    return nullptr;
}

std::string bitmask_swizzle(unsigned and_mask, unsigned or_mask, unsigned xor_mask) {
    const unsigned zeros = ((0 & and_mask) | or_mask) ^ xor_mask, ones = ((0x1f & and_mask) | or_mask) ^ xor_mask;
    std::string text;
    for (int i = 4; i >= 0; --i) {
        const bool p0 = bit(zeros, i), p1 = bit(ones, i);
        text += p0 == p1 ? (p0 ? '1' : '0') : (p0 ? 'i' : 'p');
    }
    return fmt::format("BITMASK_PERM,\"{}\"", text);
}

}  // namespace

std::string vgpr_text(unsigned first, unsigned dwords) { return range_text("v", first, dwords); }
std::string data_text(unsigned first, unsigned dwords, bool acc) { return range_text(acc ? "a" : "v", first, dwords); }

std::string sreg_text(unsigned number, unsigned dwords) {
    if (number <= 101) return range_text("s", number, dwords);
    if (number >= 108 && number <= 123) return range_text("ttmp", number - 108, dwords);
    for (const SregName& row : kSregNames)
        if (row.number == number) return dwords == 2 ? row.pair : row.name;
    return fmt::format("s?{}", number);
}

std::string literal_text(uint32_t literal, Type type) {
    const TypeInfo& facts = info(type);
    if (type == Type::V2F16) {  // both halves; a number of 16 bits only where the upper one is 0
        constexpr uint32_t kMinus16 = 0xfff0;
        const auto number = static_cast<int32_t>(literal);
        if (number >= -16 && number < 0) return fmt::format("{}", number);
        return literal < kMinus16 ? value_text(literal, 16, true) : fmt::format("0x{:x}", literal);
    }
    if (facts.bits == 16 && facts.kind == Kind::Float) return value_text(literal & 0xffff, 16, true);
    if (facts.bits == 64 && facts.kind == Kind::Float) {
        const std::string text = value_text(uint64_t{literal} << 32, 64, true);
        return text.starts_with("0x") ? fmt::format("0x{:x}", literal) : text;
    }
    // A single 16-bit integer is compared as 32 bits and cut when printed.
    const std::string text = value_text(literal, facts.bits == 64 ? 64 : 32, true);
    const bool cut = facts.bits == 16 && type != Type::V2I16 && text.starts_with("0x");
    return cut ? fmt::format("0x{:x}", literal & 0xffff) : text;
}

std::string source_text(const Inst& inst, uint16_t number, Type type) {
    const TypeInfo& facts = info(type);
    if (number >= kSrcVgpr0) return data_text(number - kSrcVgpr0, facts.dwords, type == Type::ACC);
    if (number == kSrcLiteral) return literal_text(inst.literal, type);
    if (number >= 128 && number <= 192) return fmt::format("{}", number - 128);
    if (number >= 193 && number <= 208) return fmt::format("{}", 192 - number);
    for (const InlineFloat& row : kInlineFloats) {
        if (row.number != number) continue;
        return prints_floats(facts) ? float_name(row, facts.kind == Kind::Mask ? 32 : facts.bits)
                                    : fmt::format("0x{:x}", row.f16);
    }
    return sreg_text(number, facts.dwords);
}

std::string waitcnt_text(uint16_t imm) {
    const unsigned vm = bits(imm, 0, 4) | bits(imm, 14, 2) << 4, exp = bits(imm, 4, 3), lgkm = bits(imm, 8, 4);
    const bool all = vm == 63 && exp == 7 && lgkm == 15;
    std::string text;
    const auto add = [&](const char* name, unsigned value, unsigned full) {
        if (value != full || all) text += fmt::format("{}{}({})", text.empty() ? "" : " ", name, value);
    };
    add("vmcnt", vm, 63);
    add("expcnt", exp, 7);
    add("lgkmcnt", lgkm, 15);
    return text;
}

std::string sendmsg_text(uint16_t imm) {
    const unsigned id = bits(imm, 0, 4), op = bits(imm, 4, 3), stream = bits(imm, 8, 2);
    for (const MessageName& row : kMessageNames) {
        if (row.id != id) continue;
        if (row.ops == MessageOps::None && op == 0 && stream == 0) return fmt::format("sendmsg({})", row.name);
        const char* name = message_op(row.ops, op);
        if (!name) break;
        const bool streams = row.ops != MessageOps::Sys && op != 0;
        if (streams) return fmt::format("sendmsg({}, {}, {})", row.name, name, stream);
        if (stream == 0) return fmt::format("sendmsg({}, {})", row.name, name);
    }
    if ((id | op << 4 | stream << 8) != imm) return fmt::format("{}", imm);
    return fmt::format("sendmsg({}, {}, {})", id, op, stream);
}

std::string hwreg_text(uint16_t imm, Chip chip) {
    const unsigned id = bits(imm, 0, 6), offset = bits(imm, 6, 5), size = bits(imm, 11, 5) + 1;
    std::string name = fmt::format("{}", id);
    for (const HwregName& row : kHwregNames)
        if (row.id == id && (row.chips & only(chip)) != 0) name = row.name;
    if (offset == 0 && size == 32) return fmt::format("hwreg({})", name);
    return fmt::format("hwreg({}, {}, {})", name, offset, size);
}

std::string gpr_index_text(uint16_t imm) {
    static constexpr const char* kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
    if (imm > 15) return fmt::format("0x{:x}", imm);
    std::string text;
    for (unsigned i = 0; i < 4; ++i)
        if (bit(imm, i)) text += fmt::format("{}{}", text.empty() ? "" : ",", kModes[i]);
    return fmt::format("gpr_idx({})", text);
}

std::string swizzle_text(uint16_t imm) {
    if (imm == 0) return "";
    if ((imm & 0xff00) == 0x8000)
        return fmt::format(" offset:swizzle(QUAD_PERM,{},{},{},{})", imm & 3, imm >> 2 & 3, imm >> 4 & 3, imm >> 6 & 3);
    if (imm & 0x8000) return fmt::format(" offset:{}", imm);
    const unsigned and_mask = bits(imm, 0, 5), or_mask = bits(imm, 5, 5), xor_mask = bits(imm, 10, 5);
    const unsigned group = 32 - and_mask;
    std::string text;
    if (and_mask == 31 && or_mask == 0 && std::popcount(xor_mask) == 1)
        text = fmt::format("SWAP,{}", xor_mask);
    else if (and_mask == 31 && or_mask == 0 && xor_mask > 0 && std::has_single_bit(xor_mask + 1))
        text = fmt::format("REVERSE,{}", xor_mask + 1);
    else if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0)
        text = fmt::format("BROADCAST,{},{}", group, or_mask);
    else
        text = bitmask_swizzle(and_mask, or_mask, xor_mask);
    return fmt::format(" offset:swizzle({})", text);
}

std::string dpp_text(uint16_t ctrl) {
    static constexpr const char* kRowShift[] = {"row_shl", "row_shr", "row_ror"};
    if (ctrl < 0x100) return fmt::format(" quad_perm:[{},{},{},{}]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6 & 3);
    if (ctrl <= 0x12f && (ctrl & 15)) return fmt::format(" {}:{}", kRowShift[(ctrl >> 4) - 0x10], ctrl & 15);
    if (ctrl >= 0x150 && ctrl <= 0x15f) return fmt::format(" row_newbcast:{}", ctrl & 15);
    switch (ctrl) {
        case 0x130: return " wave_shl:1";
        case 0x134: return " wave_rol:1";
        case 0x138: return " wave_shr:1";
        case 0x13c: return " wave_ror:1";
        case 0x140: return " row_mirror";
        case 0x141: return " row_half_mirror";
        case 0x142: return " row_bcast:15";
        case 0x143: return " row_bcast:31";
        default: return "";
    }
}

}  // namespace lyra::gcn

// SPDX-License-Identifier: MIT
// Reference model: operands, DPP, SDWA.
// @source AMD Vega ISA document, "Data parallel primitives", "Sub-dword addressing", "Scalar source operands"
#include "gcn-interp/golden/operands.h"

namespace lyra::golden {

using namespace gcn;

namespace {

/// Inline floats: 240 and up, by the width of the operand.
struct InlineFloat {
    unsigned number;
    uint64_t half, single, twice;
};
constexpr InlineFloat kInlineFloats[] = {
#define INLINE_FLOAT(number, text, f16, f32, f64) {number, f16, f32, f64},
#include "gcn-interp/isa/operands.def"
#undef INLINE_FLOAT
};

/// Floats of 16 bits get an f16 in the low half. Integers of 16 bits get the f32, of which they see the low half.
/// @source LLVM AMDGPUBaseInfo.cpp, "the actual HW behavior is"
uint64_t inline_float(uint16_t operand, const TypeInfo& type) {
    for (const InlineFloat& f : kInlineFloats) {
        if (f.number != operand) continue;
        if (type.dwords == 2) return f.twice;
        return type.bits == 16 && type.kind == Kind::Float ? f.half : f.single;
    }
    return 0;
}

uint64_t literal(uint32_t bits, const TypeInfo& type) {
    if (type.dwords != 2) return bits;
    if (type.kind == Kind::Float) return uint64_t{bits} << 32;
    return type.kind == Kind::Int ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)}) : bits;
}

uint64_t scalar(const Wave& wave, const Inst& inst, uint16_t operand, const TypeInfo& type) {
    const bool wide = type.dwords == 2;
    if (operand < 128) return wide ? wave.read_scalar64(operand) : wave.read_scalar(operand);
    if (operand <= 208) {
        const int64_t value = operand <= 192 ? operand - 128 : 192 - operand;
        return wide ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
    }
    const auto aperture = [&](uint64_t address) { return wide ? address : address >> 32; };
    switch (operand) {
        case 235: return aperture(wave.shared_base);
        case 236: return aperture(wave.shared_base + 0xffffffff);
        case 237: return aperture(wave.private_base);
        case 238: return aperture(wave.private_base + 0xffffffff);
        case 251: return wave.vcc() == 0 ? 1 : 0;
        case 252: return wave.exec == 0 ? 1 : 0;
        case 253: return wave.scc ? 1 : 0;
        case kSrcLiteral: return literal(inst.literal, type);
        default: return inline_float(operand, type);
    }
}

}  // namespace

bool is_pair(Type type) { return type == Type::V2F16 || type == Type::V2I16 || type == Type::V2U16 || type == Type::V2B16; }

Value128 read_operand(const Wave& wave, const Inst& inst, uint16_t operand, Type type, unsigned lane) {
    if (operand < kSrcVgpr0) return {scalar(wave, inst, operand, info(type)), 0};
    uint32_t dword[4] = {};
    for (unsigned n = 0; n < info(type).dwords && n < 4; ++n) {
        const unsigned vgpr = operand - kSrcVgpr0 + n;
        dword[n] = wave.vgpr[vgpr < wave.vgpr_count ? vgpr : 0].lane[lane];
    }
    return {dword[0] | (uint64_t{dword[1]} << 32), dword[2] | (uint64_t{dword[3]} << 32)};
}

Inst indexed(const Wave& wave, const Inst& inst) {
    Inst r = inst;
    const auto offset = static_cast<uint16_t>(wave.m0 & 0xff);
    for (unsigned n = 0; n < 3; ++n) {
        const bool on = ((wave.m0 >> (12 + n)) & 1) != 0;
        if (on && r.src[n] != kNoOperand && r.src[n] >= kSrcVgpr0) r.src[n] = static_cast<uint16_t>(r.src[n] + offset);
    }
    if (((wave.m0 >> 15) & 1) != 0 && r.dst != kNoOperand) r.dst = static_cast<uint16_t>(r.dst + offset);
    return r;
}

uint32_t sdwa_field(uint32_t v, uint8_t select, bool sign_extended) {
    if (select == 6) return v;
    const unsigned bits = select < 4 ? 8 : 16, low = select < 4 ? 8u * select : 16u * (select - 4u);
    uint32_t field = 0;
    for (unsigned n = 0; n < 32; ++n) {
        const unsigned from = n < bits ? n : bits - 1;  // bits above repeat the sign
        if (n < bits || sign_extended) field |= ((v >> (low + from)) & 1) << n;
    }
    return field;
}

uint32_t sdwa_placed(const Inst& inst, uint32_t value, uint32_t old) {
    if (inst.dst_sel == 6) return value;
    const unsigned bits = inst.dst_sel < 4 ? 8 : 16, low = inst.dst_sel < 4 ? 8u * inst.dst_sel : 16u * (inst.dst_sel - 4u);
    uint32_t r = 0;
    for (unsigned n = 0; n < 32; ++n) {
        uint32_t bit = 0;
        if (n >= low && n < low + bits)
            bit = value >> (n - low);
        else if (inst.dst_unused == 2)
            bit = old >> n;  // preserve
        else if (inst.dst_unused == 1 && n >= low + bits)
            bit = value >> (bits - 1);  // sign; below the field: zeros
        r |= (bit & 1) << n;
    }
    return r;
}

DppSource dpp_source(const Inst& inst, unsigned lane, uint64_t exec) {
    const unsigned ctrl = inst.dpp_ctrl, row = lane & ~15u, place = lane & 15, amount = ctrl & 15;
    int from = -1;
    if (ctrl < 0x100)
        from = static_cast<int>((lane & ~3u) + ((ctrl >> (2 * (lane & 3))) & 3));
    else if (ctrl < 0x110)
        from = place + amount <= 15 ? static_cast<int>(lane + amount) : -1;  // row_shl
    else if (ctrl < 0x120)
        from = place >= amount ? static_cast<int>(lane - amount) : -1;  // row_shr
    else if (ctrl < 0x130)
        from = static_cast<int>(row + (place + 16 - amount) % 16);  // row_ror
    else if (ctrl >= 0x150 && ctrl < 0x160)
        from = static_cast<int>(row + amount);  // row_newbcast
    else
        switch (ctrl) {
            case 0x130: from = lane + 1 < kLanes ? static_cast<int>(lane + 1) : -1; break;  // wave_shl
            case 0x134: from = static_cast<int>((lane + 1) % kLanes); break;                // wave_rol
            case 0x138: from = static_cast<int>(lane) - 1; break;                           // wave_shr
            case 0x13c: from = static_cast<int>((lane + kLanes - 1) % kLanes); break;       // wave_ror
            case 0x140: from = static_cast<int>(row + 15 - place); break;                   // row_mirror
            case 0x141: from = static_cast<int>((lane & ~7u) + 7 - (lane & 7)); break;      // row_half_mirror
            case 0x142: from = row >= 16 ? static_cast<int>(row) - 1 : -1; break;           // row_bcast15
            case 0x143: from = lane >= 32 ? 31 : -1; break;                                 // row_bcast31
            default: break;
        }
    if (from < 0) return {0, false};
    return {static_cast<unsigned>(from), ((exec >> from) & 1) != 0};
}

bool dpp_writes(const Inst& inst, unsigned lane) {
    return ((inst.row_mask >> (lane / 16)) & 1) != 0 && ((inst.bank_mask >> ((lane / 4) % 4)) & 1) != 0;
}

}  // namespace lyra::golden

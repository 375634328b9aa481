// SPDX-License-Identifier: MIT
// Random instructions and operands for the tests of the reference model.
#include "gcn-interp/golden/cases.h"

#include <algorithm>

#include "gcn-interp/golden/operands.h"
#include "gcn-interp/golden/soft_float.h"

namespace lyra::golden::test {

using namespace gcn;

namespace {

constexpr unsigned kSdwaMarker = 249, kDppMarker = 250;

bool one_in(Random& random, unsigned n) { return random() % n == 0; }

/// A vector register: in the allocation, but now and then past it.
unsigned random_vgpr(Random& random) {
    return one_in(random, 40) ? static_cast<unsigned>(random() % 256) : static_cast<unsigned>(random() % WaveCopy::kVgprs);
}
unsigned random_scalar(Random& random) {
    constexpr unsigned kSpecial[] = {kFlatScratchLo, kXnackMaskLo, kVccLo, kVccHi, kM0, kExecLo, kExecHi};
    return one_in(random, 5) ? kSpecial[random() % std::size(kSpecial)] : static_cast<unsigned>(random() % 102);
}
unsigned random_constant(Random& random) {
    constexpr unsigned kSpecial[] = {235, 236, 237, 238, 251, 252, 253};
    switch (random() % 5) {
        case 0: return kSpecial[random() % std::size(kSpecial)];
        case 1: return 128 + static_cast<unsigned>(random() % 81);
        default: return 240 + static_cast<unsigned>(random() % 9);
    }
}
unsigned random_source(Random& random, bool literal) {
    if (!one_in(random, 3)) return kSrcVgpr0 + random_vgpr(random);
    if (literal && one_in(random, 3)) return kSrcLiteral;
    return one_in(random, 2) ? random_scalar(random) : random_constant(random);
}
/// Random bits, none of them often.
unsigned some(Random& random, unsigned bits, unsigned one_of) {
    return one_in(random, one_of) ? static_cast<unsigned>(random() % (1u << bits)) : 0;
}

struct Encoder {
    const InstInfo& row;
    Random& random;
    Chip chip;
    unsigned tries = 0;  ///< later tries have fewer modifiers
    uint32_t word[3] = {};
    unsigned sources = row.profile->sources();

    bool has(unsigned n) const { return n < sources && info(row.profile->src[n]).dwords > 0; }
    unsigned some_of(unsigned bits, unsigned one_of = 3) { return tries < 40 ? some(random, bits, one_of) : 0; }

    uint32_t first(unsigned src0) {
        const uint32_t vdst = row.profile->dst == Type::NONE ? 0 : random_vgpr(random), vsrc1 = random_vgpr(random);
        switch (row.format) {
            case Format::VOP1:
                return 0x7e000000u | (row.has(flag::ScalarDst) ? random_scalar(random) : vdst) << 17 |
                       uint32_t{row.opcode} << 9 | src0;
            case Format::VOP2: return uint32_t{row.opcode} << 25 | vdst << 17 | vsrc1 << 9 | src0;
            default: return 0x7c000000u | uint32_t{row.opcode} << 17 | vsrc1 << 9 | src0;
        }
    }
    void plain() {
        word[0] = first(has(0) ? random_source(random, true) : 0);
        word[1] = static_cast<uint32_t>(random());
    }
    void sdwa() {
        word[0] = first(kSdwaMarker);
        const bool s0 = one_in(random, 4), s1 = sources > 1 && one_in(random, 4);
        if (s1) word[0] = (word[0] & ~(0xffu << 9)) | random_scalar(random) << 9;
        uint32_t w = s0 ? random_scalar(random) : random_vgpr(random);
        if (row.format == Format::VOPC) {
            if (one_in(random, 2)) w |= 0x8000u | random_scalar(random) << 8;
        } else {
            w |= static_cast<uint32_t>(random() % 7) << 8 | static_cast<uint32_t>(random() % 3) << 11 | some_of(1) << 13 |
                 some_of(2) << 14;
        }
        w |= static_cast<uint32_t>(random() % 7) << 16 | some_of(1) << 19 | some_of(2) << 20 | uint32_t{s0} << 23;
        if (sources > 1)
            w |= static_cast<uint32_t>(random() % 7) << 24 | some_of(1) << 27 | some_of(2) << 28 | uint32_t{s1} << 31;
        word[1] = w;
    }
    void dpp() {
        constexpr uint32_t kControls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
        word[0] = first(kDppMarker);
        uint32_t ctrl = kControls[random() % std::size(kControls)];
        if (one_in(random, 3))
            ctrl = static_cast<uint32_t>(random() % 256);
        else if (one_in(random, 2))
            ctrl = 0x100 + static_cast<uint32_t>(random() % 3) * 16 + 1 + static_cast<uint32_t>(random() % 15);
        if (facts_of(chip).row_newbcast && (row.has(flag::WideDpp) || one_in(random, 4)))
            ctrl = 0x150 + static_cast<uint32_t>(random() % 16);
        const uint32_t masks = one_in(random, 2) ? 0xff : static_cast<uint32_t>(random() % 256);
        word[1] = random_vgpr(random) | ctrl << 8 | static_cast<uint32_t>(random() % 2) << 19 | some_of(4) << 20 | masks << 24;
    }
    unsigned vop3_source(unsigned n) {
        if (!has(n)) return 0;
        if (info(row.profile->src[n]).kind == Kind::Mask)
            return one_in(random, 8) ? random_constant(random) : random_scalar(random);
        const bool lane_number = n == 1 && row.has(flag::ScalarDst);
        return lane_number || (n == 1 && row.opcode == info(Op::v_writelane_b32).opcode) ? random_scalar(random)
                                                                                         : random_source(random, false);
    }
    void vop3() {
        unsigned opcode = row.opcode;
        if (row.format == Format::VOP2) opcode += 0x100;
        if (row.format == Format::VOP1) opcode += 0x140;
        uint32_t dst = row.profile->dst == Type::NONE ? 0 : random_vgpr(random);
        if (row.format == Format::VOPC || row.has(flag::ScalarDst)) dst = random_scalar(random);
        word[0] = 0xd0000000u | opcode << 16 | dst | some_of(1) << 15;
        if (row.has(flag::CarryOut))
            word[0] |= random_scalar(random) << 8;
        else
            word[0] |= some_of(3) << 8;
        if (row.has(flag::OpSel)) word[0] |= some_of(4, 2) << 11;
        word[1] = vop3_source(0) | vop3_source(1) << 9 | vop3_source(2) << 18 | some_of(2) << 27 | some_of(3) << 29;
    }
    void vop3p() {
        word[0] = 0xd3800000u | uint32_t{row.opcode} << 16 | random_vgpr(random) | some_of(3) << 8 | some_of(3, 2) << 11;
        const uint32_t high = one_in(random, 2) ? 7 : static_cast<uint32_t>(random() % 8);
        word[0] |= (high >> 2) << 14 | some_of(1) << 15;
        word[1] = vop3_source(0) | vop3_source(1) << 9 | vop3_source(2) << 18 | (high & 3) << 27 | some_of(3) << 29;
    }
};

/// What a wave that computes near the limits of floats has in MODE.
uint32_t random_mode(Random& random) {
    constexpr uint32_t kDefault = 0x3f0;
    switch (random() % 8) {
        case 0:
        case 1:
        case 2: return kDefault;
        case 3: return kDefault | static_cast<uint32_t>(random() % 16);
        case 4: return 0x300 | static_cast<uint32_t>(random() % 256);
        case 5: return kDefault | static_cast<uint32_t>(random() % 16) | 1u << 23;
        default: return static_cast<uint32_t>(random() % 1024) | some(random, 1, 3) << 23 | some(random, 1, 8) << 27;
    }
}
uint64_t random_exec(Random& random) {
    switch (random() % 8) {
        case 0: return 0;
        case 1: return random() % 256;
        case 2: return uint64_t{1} << (random() % 64);
        case 3:
        case 4: return random();
        default: return ~uint64_t{0};
    }
}

void put(WaveCopy& copy, uint16_t operand, Type type, unsigned lane, uint64_t value) {
    if (operand < kSrcVgpr0 || operand == kNoOperand) return;
    for (unsigned n = 0; n < info(type).dwords; ++n) {
        const unsigned vgpr = operand - kSrcVgpr0 + n;
        if (vgpr < WaveCopy::kVgprs) copy.rows[vgpr].lane[lane] = static_cast<uint32_t>(value >> (32 * (n % 2)));
    }
}

/// A number that stands in a relation to another: equal, of the other sign, next to it, of a near or far exponent.
uint64_t related(Type type, uint64_t v, Random& random) {
    const TypeInfo& t = info(type);
    const uint64_t sign = uint64_t{1} << (t.bits - 1);
    if (t.kind != Kind::Float) return one_in(random, 2) ? v : v + 1 - random() % 3;
    const unsigned fraction = t.bits == 16 ? 10 : t.bits == 32 ? 23 : 52;
    switch (random() % 5) {
        case 0: return v;
        case 1: return v ^ sign;
        case 2: return (v ^ (random() & sign)) + 1 - random() % 3;
        default: return v ^ (random() & sign) ^ ((random() % 8) << fraction) ^ (random() % 4);
    }
}

}  // namespace

std::vector<Op> vector_rows() {
    std::vector<Op> rows;
    for (size_t n = 1; n < kOpCount; ++n) {
        const Format f = kInstInfo[n].format;
        if (f == Format::VOP1 || f == Format::VOP2 || f == Format::VOP3 || f == Format::VOP3P || f == Format::VOPC)
            if (!kInstInfo[n].has(flag::Matrix)) rows.push_back(static_cast<Op>(n));
    }
    return rows;
}

std::vector<Format> formats_of(Op op) {
    const InstInfo& row = info(op);
    std::vector<Format> formats{row.format};
    const bool sdwa = !row.has(flag::NoSdwa), dpp = !row.has(flag::NoDpp);
    switch (row.format) {
        case Format::VOP1:
            if (sdwa && row.profile->sources() > 0) formats.push_back(Format::VOP1_SDWA);
            if (dpp) formats.push_back(Format::VOP1_DPP);
            break;
        case Format::VOP2:
            if (sdwa) formats.push_back(Format::VOP2_SDWA);
            if (dpp) formats.push_back(Format::VOP2_DPP);
            break;
        case Format::VOPC:
            if (sdwa) formats.push_back(Format::VOPC_SDWA);
            break;
        default: return formats;
    }
    if (!row.has(flag::NoE64)) formats.push_back(Format::VOP3);
    return formats;
}

Chip chip_of(Op op) {
    return *std::find_if(kAllChips.begin(), kAllChips.end(), [op](Chip chip) { return info(op).on(chip); });
}
Chip random_chip(Op op, Format format, Random& random) {
    std::vector<Chip> chips;
    for (const Chip chip : kAllChips)
        if (info(op).on(chip) && (!is_dpp(format) || info(op).has_dpp(chip))) chips.push_back(chip);
    return chips[random() % chips.size()];
}

Inst random_inst(Op op, Format format, Random& random) {
    Inst inst;
    const Chip chip = random_chip(op, format, random);
    // Of a conversion of packed FP8 one word in a few dozens is an instruction.
    for (unsigned tries = 0; tries < 2000; ++tries) {
        Encoder e{info(op), random, chip, tries};
        if (format == Format::VOP3)
            e.vop3();
        else if (format == Format::VOP3P)
            e.vop3p();
        else if (is_sdwa(format))
            e.sdwa();
        else if (is_dpp(format))
            e.dpp();
        else
            e.plain();
        inst = decode(e.word, 3, chip);
        if (inst.op == op && inst.format == format) return inst;
    }
    inst.format = Format::Invalid;
    return inst;
}

uint64_t corner(Type type, Random& random) {
    const TypeInfo& t = info(type);
    if (is_pair(type) && t.kind == Kind::Float) return corner(Type::F16, random) | corner(Type::F16, random) << 16;
    const uint64_t r = random();
    if (t.kind != Kind::Float) {
        switch (r % 6) {
            case 0: return (r >> 8) % 64;
            case 1: return ~((r >> 8) % 8);
            case 2: return (uint64_t{1} << ((r >> 8) % 64)) - (r >> 16) % 2;
            case 3: return (r >> 8) % 0x10001 | ((r >> 32) % 0x10001) << 16;
            default: return random();
        }
    }
    const FloatFormat f = t.bits == 16 ? kF16 : t.bits == 32 ? kF32 : kF64;
    const uint64_t sign = random() & f.sign_bit(), bits = random() & f.all_bits() & ~f.sign_bit();
    const uint64_t one = uint64_t(f.bias()) << f.fraction;
    switch (r % 16) {
        case 0: return sign;
        case 1: return sign | (bits & f.fraction_mask());
        case 2: return sign | f.infinity();
        case 3: return sign | f.infinity() | (bits & f.fraction_mask());
        case 4: return sign | (one + (bits & 3) - 1);
        case 5: return sign | (f.largest() - (bits & 3));
        case 6: return sign | ((uint64_t{1} << f.fraction) + (bits & 3) - 1);
        case 7:
            return sign | (uint64_t(f.bias() + static_cast<int>(bits % 40) - 8) << f.fraction) |
                   ((bits >> 8 & 3) << (f.fraction - 2));
        case 8:
        case 9:
            return sign | (uint64_t(f.bias() + static_cast<int>(bits % 24) - 8) << f.fraction) | (random() & f.fraction_mask());
        default: return (sign | bits);
    }
}

WaveCopy::WaveCopy() {
    wave.vgpr = rows.get();
    wave.vgpr_count = kVgprs;
    wave.sgpr_count = 104;
}

WaveCopy& WaveCopy::operator=(const WaveCopy& other) {
    wave = other.wave;
    wave.vgpr = rows.get();
    std::copy_n(other.rows.get(), kVgprs, rows.get());
    return *this;
}

void fill(WaveCopy& copy, const Inst& inst, Random& random) {
    const InstInfo& row = info(inst.op);
    Wave& wave = copy.wave;
    wave.exec = random_exec(random);
    wave.mode = random_mode(random);
    wave.m0 = static_cast<uint32_t>(random() % 12) | static_cast<uint32_t>(random() % 16) << 12;
    wave.scc = one_in(random, 2);
    wave.trapsts = static_cast<uint32_t>(random()) & 0x17f;
    wave.private_base = uint64_t{2} << 48;
    wave.shared_base = uint64_t{1} << 48;
    const Type first = row.profile->src[0];
    for (uint32_t& s : wave.sgpr) s = static_cast<uint32_t>(corner(info(first).dwords == 1 ? first : Type::U32, random));
    if (one_in(random, 8)) wave.set_vcc(0);
    for (unsigned n = 0; n < WaveCopy::kVgprs; ++n)
        for (unsigned lane = 0; lane < kLanes; ++lane) copy.rows[n].lane[lane] = static_cast<uint32_t>(random());
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        uint64_t value[3] = {};
        for (unsigned n = 0; n < 3; ++n) {
            Type type = row.profile->src[n];
            if (info(type).dwords == 0 || info(type).kind == Kind::Mask) continue;
            if (type == Type::MIX) type = ((inst.op_sel_hi >> n) & 1) != 0 ? Type::V2F16 : Type::F32;
            value[n] = corner(type, random);
            if (n > 0 && one_in(random, 4) && row.profile->src[n - 1] == row.profile->src[n])
                value[n] = related(type, value[random() % n], random);
            if (info(type).bits == 16 && !is_pair(type)) value[n] = (value[n] & 0xffff) | (corner(type, random) & 0xffff) << 16;
            put(copy, inst.src[n], type, lane, value[n]);
        }
        if (row.has(flag::ReadsDst) && one_in(random, 2))
            put(copy, static_cast<uint16_t>(kSrcVgpr0 + inst.dst), row.profile->dst, lane, corner(row.profile->dst, random));
    }
}

}  // namespace lyra::golden::test

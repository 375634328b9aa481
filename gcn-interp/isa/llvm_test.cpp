// SPDX-License-Identifier: MIT
// decode() and disassemble() against LLVM 19's disassembler: every opcode, every immediate with names, random words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "gcn-interp/isa/fields.h"
#include "gcn-interp/isa/known_differences.h"

namespace lyra::gcn {
namespace {

using test::Comparison;
using test::Decoded;

/// Compares words, counts known differences, and fails the test on any other.
class Comparer {
public:
    explicit Comparer(Chip chip = Chip::gfx900) : chip_(chip), oracle_(kChipNames[static_cast<std::size_t>(chip)]) {}
    ~Comparer() {
        const double percent = compared_ ? 100.0 * static_cast<double>(known_) / static_cast<double>(compared_) : 0;
        fmt::print("{} encodings compared, {} accepted by LLVM, {} of the others only for a wrong register, "
                   "{} known differences ({:.4f} %), {} not given to LLVM\n",
                   compared_, accepted_, wrong_register_, known_, percent, skipped_);
        for (const auto& [name, count] : by_name_) fmt::print("  {:8} {}\n", count, name);
        EXPECT_EQ(unknown_, 0u) << "differences from LLVM that known_differences.h does not name";
    }

    /// @return true when both accept the words and print the same text
    bool compare(const uint32_t (&words)[3]) {
        if (test::LlvmOracle::llvm_crashes(words)) {
            ++skipped_;
            return false;
        }
        const Inst inst = decode(words, 3, chip_);
        Comparison c{words, oracle_.decode(words, 3), {}};
        if (inst.format != Format::Invalid) c.ours = {inst.size_bytes, disassemble(inst), false};
        ++compared_;
        accepted_ += c.llvm.size != 0;
        wrong_register_ += c.llvm.wrong_register;
        if (c.agrees()) return c.llvm.size != 0;
        if (const test::KnownDifference* row = test::known_difference(c)) {
            ++known_;
            ++by_name_[row->name];
        } else if (++unknown_ <= 20) {
            ADD_FAILURE() << fmt::format("{:08x} {:08x} {:08x}\n  LLVM {} bytes: {}\n  ours {} bytes: {}", words[0], words[1],
                                         words[2], c.llvm.size, c.llvm.text, c.ours.size, c.ours.text);
        }
        return false;
    }

private:
    Chip chip_;
    test::LlvmOracle oracle_;
    uint64_t compared_ = 0, accepted_ = 0, wrong_register_ = 0, known_ = 0, unknown_ = 0, skipped_ = 0;
    std::map<std::string, uint64_t> by_name_;
};

/// Random dwords; some with few bits set, so that fields which must be zero sometimes are.
class Words {
public:
    explicit Words(uint64_t seed) : random_(seed) {}
    uint32_t any() { return static_cast<uint32_t>(random_()); }
    uint32_t sparse() {
        switch (random_() % 4) {
        case 0: return any() & any() & any();
        case 1: return any() & any();
        case 2: return any() & any() & any() & any() & any();
        default: return any();
        }
    }
    bool one_in(unsigned n) { return random_() % n == 0; }

private:
    std::mt19937_64 random_;
};

uint64_t random_count() {
    const char* text = std::getenv("LYRA_ISA_RANDOM");
    return text ? std::strtoull(text, nullptr, 10) : 1'000'000;
}

/// Fields whose value decides whether an instruction exists at all are often given the usual one.
void usual_values(const FormatInfo& format, Words& source, uint32_t (&words)[3]) {
    switch (format.format) {
    case Format::FLAT:
        if (source.one_in(2)) words[1] |= kSaddrOff << 16;
        else if (source.one_in(2)) words[1] &= ~(kSaddrOff << 16);
        if (source.one_in(2)) words[0] &= ~0x2000u;
        break;
    case Format::VOP3:
        if (source.one_in(2)) words[1] &= ~(0x1ffu << 18);
        if (source.one_in(2)) words[1] |= 0x20100u;
        if (source.one_in(2)) words[0] &= ~0x7f00u;
        break;
    case Format::DS:
        if (source.one_in(2)) words[1] &= ~0x00ff0000u;
        if (source.one_in(2)) words[1] &= ~0xff000000u;
        if (source.one_in(4)) words[1] &= ~0x0000ff00u;
        break;
    case Format::SOPP:
        if (source.one_in(2)) words[0] &= 0xffff0000u;
        break;
    case Format::VOP1:
        if (source.one_in(4)) words[0] &= ~(0xffu << 17);
        break;
    case Format::MUBUF:
    case Format::MTBUF:
        if (source.one_in(2)) words[0] &= ~0x1f000u;
        if (source.one_in(2)) words[1] &= ~0x800000u;
        break;
    case Format::MIMG:
        if (source.one_in(2)) words[1] &= ~0x83e00000u;
        words[0] &= ~1u;
        break;
    default: break;
    }
}

/// Every opcode value, with many operand fillings, in every form. An opcode that has a row must be accepted at least once
/// with the same text; one without a row LLVM has to reject always (compare() fails otherwise).
class EveryOpcode : public testing::TestWithParam<std::tuple<Chip, unsigned>> {};

bool has_row(Chip chip, Format format, unsigned opcode) {
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        if (row.has(absent_flag(chip))) continue;
        if (row.format == format && row.opcode == opcode) return true;
        if (format != Format::VOP3 || row.has(flag::NoE64)) continue;
        if ((row.format == Format::VOPC && row.opcode + kVop3OfVopc == opcode) ||
            (row.format == Format::VOP2 && row.opcode + kVop3OfVop2 == opcode) ||
            (row.format == Format::VOP1 && row.opcode + kVop3OfVop1 == opcode) ||
            (row.format == Format::VINTRP && row.opcode + kVop3OfVintrp == opcode))
            return true;
    }
    return false;
}

TEST_P(EveryOpcode, AgreesWithLlvm) {
    const auto [chip, number] = GetParam();
    const FormatInfo& format = kFormats[number];
    Comparer comparer(chip);
    Words source(format.match);
    for (unsigned opcode = 0; opcode < 1u << format.op_bits; ++opcode) {
        const uint32_t field = ((1u << format.op_bits) - 1) << format.op_low;
        unsigned agreed = 0;
        for (unsigned filling = 0; filling < 800; ++filling) {
            uint32_t words[3] = {source.sparse(), source.sparse(), source.sparse()};
            if (format.op_bits) words[0] = (words[0] & ~field) | opcode << format.op_low;
            words[0] = (words[0] & ~format.mask) | format.match;
            usual_values(format, source, words);
            agreed += comparer.compare(words);
        }
        // SOP2, VOP2 and VOP3 opcodes that other formats take, and opcode bits that the selecting bits cover, are theirs.
        const uint32_t first = ((opcode << format.op_low) & ~format.mask) | format.match;
        bool taken = format.op_bits && bits(first, format.op_low, format.op_bits) != opcode;
        for (unsigned other = 0; other < number; ++other) taken |= (first & kFormats[other].mask) == kFormats[other].match;
        if (taken) continue;
        EXPECT_EQ(agreed != 0, has_row(chip, format.format, opcode)) << format.name << " opcode " << opcode;
    }
}

const char* name_of(Chip chip) { return kChipNames[static_cast<std::size_t>(chip)]; }
std::string opcode_test_name(const testing::TestParamInfo<std::tuple<Chip, unsigned>>& parameter) {
    return fmt::format("{}_{}", name_of(std::get<0>(parameter.param)), kFormats[std::get<1>(parameter.param)].name);
}
INSTANTIATE_TEST_SUITE_P(Formats, EveryOpcode,
                         testing::Combine(testing::ValuesIn(kAllChips),
                                          testing::Range(0u, static_cast<unsigned>(std::size(kFormats)))),
                         opcode_test_name);

class OnChip : public testing::TestWithParam<Chip> {};
INSTANTIATE_TEST_SUITE_P(Chips, OnChip, testing::ValuesIn(kAllChips),
                         [](const auto& parameter) { return name_of(parameter.param); });

/// SDWA and DPP words of every VOP1, VOP2 and VOPC opcode.
TEST_P(OnChip, SecondDwordAgreesWithLlvm) {
    Comparer comparer(GetParam());
    Words source(249);
    std::map<std::string, unsigned> agreed;
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        const bool vop1 = row.format == Format::VOP1, vopc = row.format == Format::VOPC;
        if ((!vop1 && !vopc && row.format != Format::VOP2) || row.has(absent_flag(GetParam()))) continue;
        const uint32_t base = vop1 ? 0x7e000000u | row.opcode << 9 : vopc ? 0x7c000000u | row.opcode << 17 : row.opcode << 25;
        const uint32_t variable = vop1 ? 0xffu << 17 : vopc ? 0xffu << 9 : 0xffffu << 9;
        for (const unsigned selector : {unsigned{kSrcSdwa}, unsigned{kSrcDpp}}) {
            unsigned count = 0;
            for (unsigned filling = 0; filling < 600; ++filling) {
                uint32_t words[3] = {base | (source.any() & variable) | selector, source.sparse(), source.any()};
                if (selector == kSrcSdwa && source.one_in(2)) words[1] = (words[1] & ~0x2700u) | 0x0600u;
                if (selector == kSrcSdwa && source.one_in(2) && !vop1) words[1] = (words[1] & ~0x3f3f0000u) | 0x06060000u;
                if (source.one_in(2) && vop1 && selector == kSrcSdwa) words[1] &= 0x00ffffffu;
                count += comparer.compare(words);
            }
            const bool exists = selector == kSrcSdwa ? !row.has(flag::NoSdwa) : !row.has(flag::NoDpp) && !vopc;
            if (row.profile->sources() == 0) continue;
            EXPECT_EQ(count != 0, exists) << row.name << (selector == kSrcSdwa ? " SDWA" : " DPP");
        }
    }
}

/// All 65536 values where the text depends on the immediate.
TEST(Immediates, AgreeWithLlvm) {
    Comparer comparer;
    const uint32_t heads[] = {0xbf8c0000, 0xbf900000, 0xb8880000, 0xb9080000, 0xba000000, 0xbf9d0000,
                              0xd87a0000, 0xbf820000, 0xbf8e0000, 0xb0080000, 0xbf110000, 0xbf920000};
    for (const uint32_t head : heads) {
        for (uint32_t imm = 0; imm < 0x10000; ++imm) {
            const uint32_t words[3] = {head | imm, 0, 0x3f800000};
            comparer.compare(words);
        }
    }
    for (uint32_t control = 0; control < 0x200; ++control) {
        const uint32_t words[3] = {0x7e1002fa, 0xff000000u | control << 8, 0};
        comparer.compare(words);
    }
    for (uint32_t literal = 0; literal < 0x10000; ++literal) {
        for (const uint32_t head : {0xbe8800ffu, 0xbe8801ffu, 0x3e0000ffu, 0x4c0000ffu, 0x7e002effu}) {
            const uint32_t low[3] = {head, literal - 0x100, 0}, high[3] = {head, literal << 16, 0};
            comparer.compare(low);
            comparer.compare(high);
        }
    }
}

/// Uniform dwords, and dwords of a random format. LYRA_ISA_RANDOM sets how many (default 1000000).
TEST(RandomWords, UniformAgreeWithLlvm) {
    Comparer comparer;
    Words source(1);
    for (uint64_t i = 0, n = random_count() / 2; i < n; ++i) {
        const uint32_t words[3] = {source.any(), source.any(), source.any()};
        comparer.compare(words);
    }
}

TEST_P(OnChip, RandomWordsOfEveryFormatAgreeWithLlvm) {
    Comparer comparer(GetParam());
    Words source(2);
    for (uint64_t i = 0, n = random_count() / 2; i < n; ++i) {
        const FormatInfo& format = kFormats[i % std::size(kFormats)];
        uint32_t words[3] = {source.sparse(), source.sparse(), source.sparse()};
        words[0] = (words[0] & ~format.mask) | format.match;
        usual_values(format, source, words);
        comparer.compare(words);
    }
}

}  // namespace
}  // namespace lyra::gcn

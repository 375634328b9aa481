// SPDX-License-Identifier: MIT
// decode() and disassemble() against LLVM 19's disassembler: every opcode, every immediate with names, random words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "gcn-interp/isa/llvm_compare.h"

namespace lyra::gcn {
namespace {

using test::usual_values;
using test::Words;

/// Fails the test on any difference that is not known.
class Comparer : public test::LlvmComparer {
public:
    using LlvmComparer::LlvmComparer;
    ~Comparer() {
        fmt::print("{}\n{}", summary(), details());
        for (const std::string& example : examples()) ADD_FAILURE() << example;
        EXPECT_EQ(unknown(), 0u) << "differences from LLVM that known_differences.h does not name";
    }
};

uint64_t random_count() {
    const char* text = std::getenv("LYRA_ISA_RANDOM");
    return text ? std::strtoull(text, nullptr, 10) : 1'000'000;
}

/// Every opcode value, with many operand fillings, in every form. An opcode that has a row must be accepted at least once
/// with the same text; one without a row LLVM has to reject always (compare() fails otherwise).
class EveryOpcode : public testing::TestWithParam<std::tuple<Chip, unsigned>> {};

bool has_row(Chip chip, Format format, unsigned opcode) {
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        if (!row.on(chip)) continue;
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

const char* name_of(Chip chip) { return facts_of(chip).name; }
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
        if ((!vop1 && !vopc && row.format != Format::VOP2) || !row.on(GetParam())) continue;
        const uint32_t base = vop1 ? 0x7e000000u | row.opcode << 9 : vopc ? 0x7c000000u | row.opcode << 17 : row.opcode << 25;
        const uint32_t variable = vop1 ? 0xffu << 17 : vopc ? 0xffu << 9 : 0xffffu << 9;
        for (const unsigned selector : {unsigned{kSrcSdwa}, unsigned{kSrcDpp}}) {
            unsigned count = 0;
            for (unsigned filling = 0; filling < 600; ++filling) {
                uint32_t words[3] = {base | (source.any() & variable) | selector, source.sparse(), source.any()};
                if (selector == kSrcSdwa && source.one_in(2)) words[1] = (words[1] & ~0x2700u) | 0x0600u;
                if (selector == kSrcSdwa && source.one_in(2) && !vop1) words[1] = (words[1] & ~0x3f3f0000u) | 0x06060000u;
                if (row.has(flag::WideDpp) && selector == kSrcDpp && source.one_in(2))
                    words[1] = (words[1] & ~0x1f000u) | 0x15000u;
                if (source.one_in(2) && vop1 && selector == kSrcSdwa) words[1] &= 0x00ffffffu;
                count += comparer.compare(words);
            }
            const bool exists = selector == kSrcSdwa ? !row.has(flag::NoSdwa) : row.has_dpp(GetParam()) && !vopc;
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

/// A literal is both halves of a packed operand.
TEST(Immediates, OfPackedHalvesAgreeWithLlvm) {
    Comparer comparer(Chip::gfx908);
    for (uint32_t literal = 0; literal < 0x10000; ++literal) {
        for (const uint32_t head : {0x785600ffu, 0x6e5600ffu}) {  // v_pk_fmac_f16, v_dot2c_f32_f16
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
        uint32_t words[3];
        words_of(format, source, words);
        comparer.compare(words);
    }
}

}  // namespace
}  // namespace lyra::gcn

// SPDX-License-Identifier: MIT
// Generated code against the interpreter: the same programs on the same waves, every register compared.
#include "gcn-interp/translator/translator.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gcn-interp/exec/then.h"
#include "gcn-interp/fuzz/dependent_program.h"
#include "gcn-interp/fuzz/random_program.h"
#include "gcn-interp/testing/generated_backends.h"
#include "gcn-interp/translator/emitter.h"
#include "gcn-interp/translator/region.h"

namespace lyra::gcn {
namespace {

constexpr unsigned kSgprs = 48, kVgprs = 48;
constexpr unsigned kAccFirst = 24;  ///< of chips that have AccVGPRs: half of the rows

struct State {
    Wave wave;
    std::array<VgprRow, kVgprs> rows{};

    explicit State(Chip chip) {
        wave.chip = chip;
        wave.acc_first = facts_of(chip).has_acc() ? kAccFirst : 0;
        wave.sgpr_count = kSgprs;
        wave.vgpr_count = kVgprs;
        wave.mode = kModeDefault;
    }
    State(const State& other) : wave(other.wave), rows(other.rows) { wave.vgpr = rows.data(); }
};

uint32_t any_value(fuzz::Bytes& bytes) {
    static constexpr uint32_t kSpecial[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000,
                                            0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffffffff,
                                            0x4f000000, 0xcf000000, 0x4f800000, 0x3effffff, 0x7fffffff, 0x3ff00000, 31,
                                            32,         64,         0x40490fdb, 0x00ffffff, 0xff000000, 0x42ff0000};
    switch (bytes.below(4)) {
        case 0: return kSpecial[bytes.below(std::size(kSpecial))];
        case 1: return bytes.u8();
        case 2: return 0x3f000000 ^ (bytes.u32() & 0x81ffffff);
        default: return bytes.u32();
    }
}

void randomize(fuzz::Bytes& bytes, State& state) {
    state.wave.vgpr = state.rows.data();
    for (unsigned n = 0; n < kSgprs; ++n) state.wave.sgpr[n] = any_value(bytes);
    for (VgprRow& row : state.rows) {
        const unsigned kind = bytes.below(4);
        const uint32_t one = any_value(bytes), distance = bytes.one_in(3) ? 0 : bytes.below(300);
        std::array<uint32_t, 4> firsts{};  // of strips
        for (uint32_t& first : firsts) first = bytes.one_in(3) ? any_value(bytes) : one;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            row.lane[lane] = kind == 0 ? one : kind == 1 ? firsts[lane / 16] + distance * (lane % 16) : any_value(bytes);
        }
    }
    state.wave.exec = bytes.one_in(3) ? ~uint64_t{0} : bytes.one_in(8) ? 0 : bytes.one_in(4) ? 0xffff : bytes.u64();
    state.wave.scc = bytes.one_in(2);
    state.wave.m0 = bytes.u32();
}

std::string differences(const State& a, const State& b) {
    std::string out;
    const auto note = [&](const std::string& name, uint64_t x, uint64_t y) {
        char text[120];
        std::snprintf(text, sizeof text, "%s: interpreter %llx, generated %llx\n", name.c_str(),
                      static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
        if (out.size() < 1000) out += text;
    };
    const auto look = [&](const std::string& name, uint64_t x, uint64_t y) {
        if (x != y) note(name, x, y);
    };
    look("pc", a.wave.pc, b.wave.pc);
    look("exec", a.wave.exec, b.wave.exec);
    look("scc", a.wave.scc, b.wave.scc);
    look("m0", a.wave.m0, b.wave.m0);
    look("mode", a.wave.mode, b.wave.mode);
    for (unsigned n = 0; n < kSgprs; ++n) look("s" + std::to_string(n), a.wave.sgpr[n], b.wave.sgpr[n]);
    for (unsigned n = 0; n < kVgprs; ++n) {
        for (unsigned lane = 0; lane < kLanes; ++lane)
            look("v" + std::to_string(n) + "[" + std::to_string(lane) + "]", a.rows[n].lane[lane], b.rows[n].lane[lane]);
    }
    return out;
}

/// What ComputeUnit::execute() does, one instruction at a time.
uint64_t interpret(const std::vector<uint8_t>& page, State& state, uint64_t limit) {
    ExecContext ctx(state.wave);
    uint64_t done = 0;
    for (; done < limit && state.wave.pc < kPageBytes; ++done) {
        uint32_t words[3] = {};
        std::memcpy(words, page.data() + state.wave.pc, std::min<size_t>(sizeof words, kPageBytes - state.wave.pc));
        const Inst inst = decode(words, 3, state.wave.chip);
        if (inst.op == Op::s_setprio || inst.format == Format::Invalid) break;
        state.wave.pc += inst.size_bytes;
        exec_function(inst, false)(ctx, inst);
    }
    return done;
}

using BackendAndChip = std::tuple<Backend, Chip>;
std::string backend_and_chip(const ::testing::TestParamInfo<BackendAndChip>& info) {
    const auto [backend, chip] = info.param;
    return std::string(kBackendNames[static_cast<unsigned>(backend)]) + "_" + facts_of(chip).name;
}

class TranslatorTest : public ::testing::TestWithParam<BackendAndChip> {
protected:
    void SetUp() override { ASSERT_TRUE(translator.usable()); }
    VectorOp emitter_of(const Inst& encoded) const {
        const Inst inst = as_rows(encoded, config.acc_first);
        return std::get<Backend>(GetParam()) == Backend::Avx2 ? avx2_vector_op(inst, config) : vector_op(inst, config);
    }
    bool add_plain(fuzz::Bytes& bytes, std::vector<uint32_t>& code) const;
    static std::vector<uint8_t> page_of(const std::vector<uint32_t>& words) {
        std::vector<uint8_t> page(kPageBytes);
        std::memcpy(page.data(), words.data(), words.size() * 4);
        return page;
    }
    std::string text_of(const std::vector<uint32_t>& words) const {
        std::string text;
        for (size_t i = 0; i < words.size();) {
            const Inst inst = decode(words.data() + i, words.size() - i, chip);
            text += disassemble(inst) + "\n";
            i += std::max(1u, inst.size_bytes / 4u);
        }
        return text;
    }

    /// What differs after a program on a random wave. The last instruction is the interpreter's.
    std::string difference(const std::vector<uint32_t>& words, unsigned seed) {
        fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&seed), sizeof seed);
        State first(chip);
        randomize(bytes, first);
        return difference(words, first);
    }
    /// @param first  its wave, which the interpreter runs
    std::string difference(const std::vector<uint32_t>& words, State& first) {
        constexpr uint64_t kBudget = 300;
        const std::vector<uint8_t> page = page_of(words);
        const auto shared = translator_->page({page, {}, false});
        PageCode* const generated = shared->code(config);
        State second = first, third = first;
        ExecContext ctx(second.wave);
        uint64_t ran = 0, stopped_at = 0;
        for (uint64_t more = 1; more != 0; ran += more) {
            const auto pc = static_cast<uint32_t>(second.wave.pc);
            const uint8_t* at = generated->at(pc, second.wave);
            if (at == nullptr) at = generated->at(pc, second.wave);  // code of programs before has made room
            if (at == nullptr && pc == 0) return interpret(page, third, 1) == 0 ? "" : "nothing was generated";
            more = at != nullptr ? translator_->run(at, ctx, 0, kBudget - ran, stopped_at) : 0;
        }
        translated_ += ran;
        const uint64_t done = interpret(page, first, ran);
        if (ran != done) return "instructions: " + std::to_string(done) + ", generated " + std::to_string(ran);
        return differences(first, second);
    }

    const Chip chip = std::get<Chip>(GetParam());
    const CodeConfig config = CodeConfig::of(State(chip).wave);
    Translator translator{chip, {size_t{4} << 20, 0, false, true, std::get<Backend>(GetParam())}};
    /// Only what addresses are computed from is affine.
    Translator some_affine{chip, {size_t{4} << 20, 0, false, false, std::get<Backend>(GetParam())}};
    Translator* translator_ = &translator;
    uint64_t translated_ = 0;

    void compare(Program program, const State& first);
    std::vector<std::vector<uint32_t>> on_chip(std::initializer_list<const std::vector<std::vector<uint32_t>>*> lists) const {
        std::vector<std::vector<uint32_t>> out;
        for (const auto* list : lists) {
            for (const std::vector<uint32_t>& words : *list) {
                if (decode(words.data(), words.size(), chip).format != Format::Invalid) out.push_back(words);
            }
        }
        return out;
    }
};
INSTANTIATE_TEST_SUITE_P(OnThisHost, TranslatorTest,
                         ::testing::Combine(::testing::ValuesIn(generated_backends()),
                                            ::testing::Values(Chip::gfx900, Chip::gfx908, Chip::gfx90a, Chip::gfx942)),
                         backend_and_chip);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TranslatorTest);

class Gfx942Translator : public TranslatorTest {};
INSTANTIATE_TEST_SUITE_P(OnThisHost, Gfx942Translator,
                         ::testing::Combine(::testing::ValuesIn(generated_backends()), ::testing::Values(Chip::gfx942)),
                         backend_and_chip);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Gfx942Translator);

/// A random instruction without memory, messages or jumps; mostly one that has an emitter.
bool TranslatorTest::add_plain(fuzz::Bytes& bytes, std::vector<uint32_t>& code) const {
    std::vector<uint32_t> words;
    for (unsigned tries = 0; tries < 200; ++tries) {
        words.clear();
        fuzz::add_instruction(bytes, chip, words);
        if (words.empty()) continue;
        const Inst inst = decode(words.data(), words.size(), chip);
        if (inst.format == Format::Invalid || then_of(inst) != Then::Next || exec_handler(inst.op, inst.format) == nullptr)
            continue;
        const InstInfo& row = info(inst.op);
        if (row.has(flag::ReadsControl | flag::WritesControl | flag::ReadsHwreg | flag::WritesHwreg)) continue;
        const bool known = emitter_of(inst).emit != nullptr || scalar_op(inst, config).emit != nullptr;
        if (!known && !bytes.one_in(12)) continue;
        code.insert(code.end(), words.begin(), words.end());
        return true;
    }
    return false;
}

/// Fails with the shortest program that does.
void TranslatorTest::compare(Program program, const State& first) {
    const auto wrong_of = [&](const Program& each) {
        State wave(first);
        return difference(flat(each), wave);
    };
    for (Piece& each : program) each.target = std::min(each.target, static_cast<int>(program.size()));
    std::string wrong = wrong_of(program);
    if (wrong.empty()) return;
    for (size_t i = 0; i < program.size();) {
        const Program less = without(program, i);
        const std::string still = wrong_of(less);
        if (still.empty()) {
            ++i;
        } else {
            program = less;
            wrong = still;
        }
    }
    FAIL() << text_of(flat(program)) << wrong;
}

TEST_P(TranslatorTest, RandomProgramsDoWhatTheInterpreterDoes) {
    const auto list = on_chip({&kDependent, &kDependentOfPairs});
    const char* const wanted = std::getenv("LYRA_TRANSLATOR_PROGRAMS");
    const unsigned programs = wanted ? static_cast<unsigned>(std::atoi(wanted)) : 1200;
    for (unsigned seed = 0; seed < programs; ++seed) {
        SCOPED_TRACE("program " + std::to_string(seed));
        fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&seed), sizeof seed);
        Program program;
        const unsigned length = 1 + bytes.below(bytes.one_in(2) ? 4 : 40);
        const bool branches = bytes.one_in(2), dependent = bytes.one_in(2);
        for (unsigned n = 0; n < length; ++n) {
            std::vector<uint32_t> words;
            if (branches && bytes.one_in(5))
                program.push_back(branch(bytes, length));
            else if (dependent)
                program.push_back({list[bytes.below(static_cast<unsigned>(list.size()))]});
            else if (add_plain(bytes, words))
                program.push_back({words});
        }
        fuzz::Bytes of_wave(reinterpret_cast<const uint8_t*>(&seed), sizeof seed);
        State first(chip);
        randomize(of_wave, first);
        translator_ = bytes.one_in(2) ? &translator : &some_affine;
        ASSERT_NO_FATAL_FAILURE(compare(program, first));
    }
    EXPECT_GT(translated_, programs);
}

TEST_P(TranslatorTest, WhatIsTheSameInAllLanesIsComputedOnce) {
    const auto list = on_chip({&kUniform});
    constexpr unsigned kPrograms = 3000;
    for (unsigned seed = 0; seed < kPrograms; ++seed) {
        SCOPED_TRACE("program " + std::to_string(seed));
        fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&seed), sizeof seed);
        State first(chip);
        randomize(bytes, first);
        if (bytes.one_in(2)) first.wave.exec = ~uint64_t{0};
        if (bytes.one_in(2)) {
            for (unsigned lane = 0; lane < kLanes; ++lane) first.rows[0].lane[lane] = lane;
        }
        translator_ = bytes.one_in(2) ? &translator : &some_affine;
        Program program;
        const unsigned length = bytes.one_in(10) ? 100 : 2 + bytes.below(20);  // also more results than there are slots
        const bool branches = bytes.one_in(2);
        for (unsigned n = 0; n < length; ++n) {
            const bool jumps = branches && bytes.one_in(6);
            program.push_back(jumps ? branch(bytes, length) : Piece{list[bytes.below(static_cast<unsigned>(list.size()))]});
        }
        ASSERT_NO_FATAL_FAILURE(compare(program, first));
    }
    EXPECT_GT(translated_, 5 * kPrograms);
}

/// Classes that are known when code is generated, all of them: of a VGPR, of its negative magnitude, of one that is the same in
/// all lanes; and by a half of the constant.
TEST_P(TranslatorTest, KnownClassesAreThoseOfTheInterpreter) {
    constexpr uint32_t kNumbers[] = {0x7f800001, 0x7fc00000, 0x7f800000, 0x3f800000, 0x00000001, 0x00000000, 0x00800000};
    constexpr unsigned kClasses = 10;
    for (uint32_t classes = 0; classes < 1u << kClasses; ++classes) {
        const std::vector<uint32_t> words = {0x7e0202ff, classes | (~classes << 16),  // v_mov_b32_e32 v1, literal
                                             0xd1010002, 0x00000804,  // v_add_f32_e64 v2, s4, s4
                                             0xd0100006, 0x00020300,  // v_cmp_class_f32_e64 s[6:7], v0, v1
                                             0xd0100108, 0x20020300,  // v_cmp_class_f32_e64 s[8:9], -|v0|, v1
                                             0xd010000a, 0x00020302,  // v_cmp_class_f32_e64 s[10:11], v2, v1
                                             0x7c2002f9, 0x05060000,  // v_cmp_class_f32_sdwa vcc, v0, v1 src1_sel:WORD_1
                                             0xbe8c016a,  // s_mov_b64 s[12:13], vcc
                                             // v_cmp_class_f32_sdwa vcc, -|v0|, v1 src0_sel:WORD_1 src1_sel:WORD_1
                                             0x7c2002f9, 0x05350000, 0xbf8f0000};  // s_setprio: the interpreter's
        fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&classes), sizeof classes);
        State first(chip);
        randomize(bytes, first);
        if (bytes.one_in(2)) first.wave.exec = ~uint64_t{0};
        first.wave.sgpr[4] = kNumbers[classes % std::size(kNumbers)];
        for (unsigned lane = 0; lane < kLanes; ++lane)
            first.rows[0].lane[lane] = kNumbers[lane / 2 % std::size(kNumbers)] | lane << 31;
        ASSERT_EQ(difference(words, first), "") << text_of(words);
    }
}

/// v2 is a mantissa, of which no reciprocal is a denormal; or it was one, or v1 is not.
TEST_P(TranslatorTest, ReciprocalsOfMantissasAndOfOthers) {
    constexpr uint32_t kNumbers[] = {0x7f800001, 0x7fc00000, 0x7f800000, 0x7f000001, 0x00000001, 0, 0x00800000, 0x3f800000};
    const std::vector<uint32_t> mantissa{0x7e046901}, reciprocal{0x7e064502};  // v_frexp_mant_f32 v2, v1; v_rcp_f32 v3, v2
    const std::vector<std::vector<uint32_t>> between = {{},
                                                        {0x7e060301},  // v_mov_b32_e32 v3, v1
                                                        {0x7e040301},  // v_mov_b32_e32 v2, v1
                                                        {0xd2810002, 0x00020900},  // v_mul_f64 v[2:3], v[0:1], v[4:5]
                                                        {0xd1c10002, 0x02020304}};  // v_mad_f32 v2, v4, v1, 0
    for (const uint32_t exec : {~0u, 0x0ff0f00fu}) {
        for (const std::vector<uint32_t>& words : between) {
            for (const bool of_v1 : {false, true}) {
                std::vector<uint32_t> program = mantissa;
                program.insert(program.end(), words.begin(), words.end());
                program.push_back(reciprocal[0] - of_v1);
                program.push_back(0xbf8f0000);  // s_setprio: the interpreter's
                State first(chip);
                fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&exec), sizeof exec);
                randomize(bytes, first);
                first.wave.exec = make64(exec, exec);
                for (unsigned lane = 0; lane < kLanes; ++lane) {
                    first.rows[1].lane[lane] = kNumbers[lane / 2 % std::size(kNumbers)] | lane << 31;
                    first.rows[4].lane[lane] = 0x3f800000;
                }
                ASSERT_EQ(difference(program, first), "") << text_of(program);
            }
        }
    }
}

/// A function in C++ leaves in mask registers what it likes: above all where it has lanes that floats do not decide.
TEST_P(TranslatorTest, ALongCalculationGoesOnBehindAFunction) {
    constexpr uint32_t kUndecided[] = {0x3f6bae8c, 0x3eae8320};  // of v_exp_f32 and v_log_f32
    const std::vector<uint32_t> function[] = {{0x7e064101}, {0x7e064301}};  // v_exp_f32_e32, v_log_f32_e32 v3, v1
    const std::vector<uint32_t> behind[] = {{0x38080d05},  // v_addc_co_u32_e32 v4, vcc, v5, v6, vcc
                                            {0xd0640008, 0x00020902},  // v_cmp_gt_f64_e64 s[8:9], v[2:3], v[4:5]
                                            {0xd0100006, 0x00011103}};  // v_cmp_class_f32_e64 s[6:7], v3, 8
    translator_ = &some_affine;
    std::vector<uint32_t> before = {0x7e120300, 0x7e280509};  // v_mov_b32 v9, v0; v_readfirstlane_b32 s20, v9: no calculation
    for (uint32_t n = 4; n < 16; ++n) before.push_back(0x02000101 | (n - 1) << 9 | n << 17);  // v_add_f32 v4, v1, v3, ...
    for (unsigned of = 0; of < 2; ++of) {
        for (const std::vector<uint32_t>& words : behind) {
            std::vector<uint32_t> program = before;
            program.insert(program.end(), function[of].begin(), function[of].end());
            program.insert(program.end(), words.begin(), words.end());
            program.push_back(0xbf8f0000);  // s_setprio: the interpreter's
            State first(chip);
            fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&of), sizeof of);
            randomize(bytes, first);
            first.wave.exec = ~uint64_t{0};
            for (unsigned lane = 0; lane < kLanes; ++lane)
                first.rows[1].lane[lane] = lane % 3 == 0 ? kUndecided[of] : 0x3f800000 + lane;
            ASSERT_EQ(difference(program, first), "") << text_of(program);
        }
    }
}

/// Each of them alone, in VOP3 or VOP3P, on many waves: in random programs some are rare. Of VOP3P with any selections and
/// signs, and with a result that replaces a source.
TEST_P(TranslatorTest, EveryEmitterDoesWhatItsRowDoes) {
    constexpr uint32_t kVop3 = 0xd0000000, kPriority = 0xbf8f0000;  // s_setprio: the interpreter's
    constexpr unsigned kDst = 8, kMaskIn = 6, kMaskOut = 10, kWaves = 30, kUniformWaves = 6;
    // All that the instruction may read, the same in all lanes.
    std::vector<uint32_t> from_sgprs{0xd0cc0006, 0x00020600};  // v_cmp_gt_u32_e64 s[6:7], s0, v3
    for (uint32_t n = 0; n < kDst; ++n)  // v_mov_b32_e32
        from_sgprs.insert(from_sgprs.begin(), 0x7e000200 | (n + 2) << 17 | (n + 12));
    unsigned emitters = 0, packed = 0;
    for (const InstInfo& row : detail::kInstInfo) {
        const unsigned base = row.format == Format::VOPC    ? 0
                              : row.format == Format::VOP2  ? 0x100
                              : row.format == Format::VOP1  ? 0x140
                              : row.format == Format::VOP3  ? 0
                              : row.format == Format::VOP3P ? 0x380
                                                            : ~0u;
        if (base == ~0u || !row.on(chip) || row.has(flag::NoE64)) continue;
        const bool has_mask = row.format == Format::VOPC || row.has(flag::CarryOut);
        const uint32_t dst = row.format == Format::VOPC ? kMaskOut : kDst | (has_mask ? kMaskOut << 8 : 0);
        uint32_t sources = 0;
        for (unsigned n = 0; n < row.profile->sources(); ++n) {
            const bool is_mask = info(row.profile->src[n]).kind == Kind::Mask;
            sources |= (is_mask ? kMaskIn : kSrcVgpr0 + 2 + 2 * n) << (9 * n);
        }
        std::vector<uint32_t> words = {kVop3 | (base + row.opcode) << 16 | dst, sources, kPriority};
        const Inst inst = decode(words.data(), words.size(), chip);
        if (inst.format == Format::Invalid || emitter_of(inst).emit == nullptr) continue;
        ASSERT_STREQ(info(inst.op).name, row.name);
        ++emitters;
        const bool of_pairs = as_rows(inst, config.acc_first).format == Format::VOP3P;
        packed += of_pairs;
        for (unsigned seed = 0; seed < kWaves; ++seed) {
            if (of_pairs) {
                const uint32_t any = seed * 0x9e3779b9, each = (1u << row.profile->sources()) - 1;
                const uint32_t select = any >> 8 & each, select_high = any >> 12 & each;
                const uint32_t neg = row.float_source(0) ? any >> 16 & each : 0;
                const uint32_t neg_high = row.float_source(0) ? any >> 20 & each : 0;
                words[0] = kVop3 | (base + row.opcode) << 16 | (seed % 3 == 0 ? kDst : 2 * (seed % 3)) | neg_high << 8 |
                           select << 11 | (select_high >> 2) << 14;
                words[1] = sources | (select_high & 3) << 27 | neg << 29;
            }
            ASSERT_EQ(difference(words, seed * 977 + 1), "") << text_of(words) << ", wave " << seed;
            if (seed >= kUniformWaves) continue;
            std::vector<uint32_t> program = from_sgprs;
            program.insert(program.end(), words.begin(), words.end());
            ASSERT_EQ(difference(program, seed * 977 + 2), "") << text_of(program) << ", wave " << seed;
        }
    }
    EXPECT_GT(emitters, 150u);
    EXPECT_EQ(packed, facts_of(chip).acc_vgprs ? 4u : 0u);
    EXPECT_GE(translated_, uint64_t{emitters} * kWaves);
}

/// Results that replace sources, or lie among them; sums that begin with a constant; blocks and lanes that are selected.
TEST_P(TranslatorTest, MatricesAreMultipliedAsTheInterpreterDoes) {
    constexpr uint32_t kVop3p = 0xd3800000, kPriority = 0xbf8f0000;
    constexpr unsigned kPrograms = 60;
    unsigned compared = 0, rows = 0;
    for (const InstInfo& row : detail::kInstInfo) {
        if (!row.has(flag::Matrix) || !row.on(chip)) continue;
        ++rows;
        for (unsigned n = 0; n < kPrograms; ++n) {
            const uint32_t seed[] = {n, row.opcode};
            fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(seed), sizeof seed);
            const auto vgpr = [&](unsigned most) { return 4 * bytes.below(most / 4); };
            const uint32_t dst = vgpr(16), a = kSrcVgpr0 + vgpr(24), b = kSrcVgpr0 + vgpr(24);
            const uint32_t sums[] = {kSrcVgpr0 + dst, kSrcVgpr0 + dst, kSrcVgpr0 + vgpr(16), 128, 242};
            const uint32_t c = row.has(flag::Sparse) ? kSrcVgpr0 + vgpr(24) : sums[bytes.below(std::size(sums))];
            const uint32_t select = bytes.one_in(4) ? bytes.below(128) : 0, groups = bytes.one_in(4) ? bytes.below(8) : 0;
            const std::vector<uint32_t> words = {
                kVop3p | static_cast<uint32_t>(row.opcode) << 16 | bytes.below(2) << 15 | select << 8 | dst,
                a | b << 9 | c << 18 | bytes.below(4) << 27 | groups << 29, kPriority};
            if (decode(words.data(), words.size(), chip).format == Format::Invalid) continue;
            ASSERT_EQ(difference(words, n), "") << text_of(words) << ", wave " << n;
            // Sums of 16-bit products without NaNs, which random registers hardly have: numbers below two, zeros and denormals.
            State tame(chip);
            randomize(bytes, tame);
            for (VgprRow& registers : tame.rows)
                for (uint32_t& lane : registers.lane) lane &= bytes.one_in(8) ? 0x80078007u : 0xbfffbfffu;
            ASSERT_EQ(difference(words, tame), "") << text_of(words) << ", tame wave " << n;
            ++compared;
        }
    }
    EXPECT_EQ(rows != 0, facts_of(chip).has_acc());
    EXPECT_GE(compared, rows * kPrograms / 4);
}

/// 64-bit sums of affine VGPRs, of which lanes of some strips pass 2^32 before the shift, behind it or in the sum.
TEST_P(Gfx942Translator, AStripThatPassesAHalfIsNotAffine) {
    constexpr unsigned kWaves = 100;
    constexpr uint32_t kNear[] = {0, 0x100, 0x7fffff80, 0xffffff00, 0xfffffff0}, kNop = 0xbf800000, kPriority = 0xbf8f0000;
    constexpr uint32_t kVgprs45 = kSrcVgpr0 + 4, kSgprs45 = 4;
    const auto check = [&](unsigned by, uint32_t addend, uint32_t distance, uint32_t of_addend) {
        // Code is generated for the first wave: other distances are other programs.
        const std::vector<uint32_t> words = {0xd2080002,
                                             kSrcVgpr0 | (128 + by) << 9 | addend << 18,  // v_lshl_add_u64 v[2:3], v[0:1]
                                             kNop | distance, kNop | of_addend, kPriority};
        for (unsigned n = 0; n < kWaves; ++n) {
            const uint32_t seed[] = {n, by, addend, distance, of_addend};
            fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(seed), sizeof seed);
            State state(chip);
            randomize(bytes, state);
            state.wave.exec = ~uint64_t{0};
            const uint32_t low_is_near = kNear[bytes.below(std::size(kNear))],
                           addend_is_near = kNear[bytes.below(std::size(kNear))];
            const bool sum_is_near = bytes.one_in(3), is_shifted = bytes.one_in(2);
            const auto near = [&](uint32_t value) { return value + bytes.below(0x80) - 0x40; };
            state.wave.sgpr[4] = near(addend_is_near);
            for (unsigned strip = 0; strip < kLanes / 16; ++strip) {
                const uint32_t of_lanes = near(addend_is_near), added = addend == kSgprs45 ? state.wave.sgpr[4] : of_lanes;
                const uint32_t low = (sum_is_near ? near(0 - added) : near(low_is_near)) >> (is_shifted ? by : 0);
                const uint32_t high = bytes.u8();
                for (unsigned lane = 0; lane < 16; ++lane) {
                    const unsigned at = strip * 16 + lane;
                    state.rows[0].lane[at] = low + lane * distance;
                    state.rows[1].lane[at] = high;
                    state.rows[4].lane[at] = of_lanes + lane * of_addend;
                    state.rows[5].lane[at] = high + 3;
                }
            }
            ASSERT_EQ(difference(words, state), "") << text_of(words) << ", wave " << n;
        }
    };
    for (unsigned by = 0; by < 8; ++by) {
        for (const uint32_t distance : {0, 4}) {
            check(by, kSgprs45, distance, 0);
            for (const uint32_t of_addend : {0, 4}) check(by, kVgprs45, distance, of_addend);
        }
    }
    EXPECT_GT(translated_, 0u);
}

TEST_P(TranslatorTest, ALoopThatCrossesAPageIsOneRegion) {
    constexpr uint32_t kLoop = kPageBytes - 8;
    const uint32_t words[] = {0x80008100,  // s_add_u32 s0, s0, 1
                              0x680000ff, 0x00012345,  // v_add_u32 v0, 0x12345, v0: half of it in each page
                              0xbf078a00,  // s_cmp_lg_u32 s0, 10
                              0xbf85fffb,  // s_cbranch_scc1 back to the first
                              0xbf8f0000};  // s_setprio: the interpreter's
    std::vector<uint8_t> code(2 * kPageBytes);
    std::memcpy(code.data() + kLoop, words, sizeof words);
    const std::span<const uint8_t> both(code);
    const auto shared = translator.page({both.first(kPageBytes), both.subspan(kPageBytes), true});
    const uint8_t* const at = shared->code(config)->at(kLoop, State(chip).wave);
    ASSERT_NE(at, nullptr);
    State state(chip);
    state.wave.vgpr = state.rows.data();
    state.wave.pc = kLoop;
    state.wave.exec = ~uint64_t{0};
    ExecContext ctx(state.wave);
    uint64_t stopped_at = 0;
    EXPECT_GE(translator.run(at, ctx, 0, 1000, stopped_at), 10u * 4);
    EXPECT_EQ(state.wave.sgpr[0], 10u);
    EXPECT_EQ(state.rows[0].lane[63], 10u * 0x12345);
    // Without the other half of the instruction it ends before that.
    for (const std::span<const uint8_t> next : {both.subspan(kPageBytes), both.subspan(2 * kPageBytes)}) {
        const auto other = translator.page({both.first(kPageBytes), next, false});
        EXPECT_NE(other, shared);
        state.wave.pc = kLoop;
        EXPECT_EQ(translator.run(other->code(config)->at(kLoop, state.wave), ctx, 0, 1000, stopped_at), 1u);
        EXPECT_EQ(state.wave.pc, kLoop + 4);
    }
}

/// Two pages of what takes most code: the buffer holds it, with all that stands behind.
TEST_P(TranslatorTest, TheLongestRegionIsGenerated) {
    static constexpr uint32_t kLong[][2] = {{0xdc5c8000, 0x047f0000},  // global_load_dwordx4 v[4:7], v[0:1], off
                                            {0xdc7c8000, 0x007f0400},  // global_store_dwordx4 v[0:1], v[4:7], off
                                            {0xdc548000, 0x04040002},  // global_load_dwordx2 v[4:5], v2, s[4:5]
                                            {0xd3c00010, 0x04420500},  // v_mfma_f32_32x32x1f32 v[16:47], v0, v2, v[16:47]
                                            {0xd3ee0010, 0x04420500},  // v_mfma_f64_16x16x4f64 v[16:23], v[0:1], v[2:3]
                                            {0xd3c80010, 0x04420500},  // v_mfma_f32_32x32x4f16 v[16:47], v[0:1], v[2:3]
                                            {0xd3cc0010, 0x04420500},  // v_mfma_f32_32x32x8f16 v[16:31], v[0:1], v[2:3]
                                            {0xd3cd0010, 0x04420500},  // v_mfma_f32_16x16x16f16 v[16:19], v[0:1], v[2:3]
                                            {0xd3d40010, 0x04420500}};  // v_mfma_i32_32x32x8i8 v[16:31], v0, v2
    for (const auto& words : kLong) {
        if (decode(words, 2, chip).format == Format::Invalid) continue;
        std::vector<uint8_t> code(2 * kPageBytes);
        for (size_t at = 0; at < code.size(); at += sizeof words) std::memcpy(code.data() + at, words, sizeof words);
        const std::span<const uint8_t> both(code);
        const auto shared = translator.page({both.first(kPageBytes), both.subspan(kPageBytes), true});
        PageCode* const generated = shared->code(config);
        const uint8_t* at = generated->at(0, State(chip).wave);
        if (at == nullptr) at = generated->at(0, State(chip).wave);  // code of pages before has made room
        EXPECT_NE(at, nullptr) << std::hex << words[0];
    }
}

TEST_P(TranslatorTest, BlocksAndTheTimeThatTheyTookAreCounted) {
    const Translator::Generated before = Translator::generated_by_process();
    const auto shared = translator.page({page_of({0x7e000280, 0xbf810000}), {}, false});  // v_mov_b32 v0, 0; s_endpgm
    ASSERT_NE(shared->code(config)->at(0, State(chip).wave), nullptr);
    const uint64_t blocks = translator.counters().blocks, ns = translator.counters().generating_ns;
    EXPECT_GT(blocks, 0u);
    EXPECT_GT(ns, 0u);
    EXPECT_EQ(Translator::generated_by_process().blocks, before.blocks + blocks);
    EXPECT_EQ(Translator::generated_by_process().ns, before.ns + ns);
    // The same page is not generated again.
    ASSERT_NE(translator.page({page_of({0x7e000280, 0xbf810000}), {}, false})->code(config)->at(0, State(chip).wave), nullptr);
    EXPECT_EQ(translator.counters().blocks, blocks);
}

}  // namespace
}  // namespace lyra::gcn

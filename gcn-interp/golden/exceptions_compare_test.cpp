// SPDX-License-Identifier: MIT
// What exec/fp_exceptions.cpp says that an instruction raises, against the reference model: every row, encoding, modifier and
// MODE, a few lanes at a time so that one lane's flags do not hide another's. LYRA_GOLDEN_ROUNDS=n (default 12) instructions
// for each row and encoding.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/fp_exceptions.h"
#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/operands.h"
#include "gcn-interp/golden/wave_model.h"

namespace lyra::golden::test {
namespace {

using namespace gcn;

constexpr unsigned kSamples = 12;  // of the lanes of each instruction

unsigned rounds() {
    const char* text = std::getenv("LYRA_GOLDEN_ROUNDS");
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 12;
}
uint32_t raised(const Wave& wave, const Inst& inst) { return raises_exceptions(inst) ? fp_exceptions(wave, inst) : 0; }
uint32_t modelled(const WaveCopy& before, const Inst& inst, int nudge = 0) {
    WaveCopy model(before);
    return golden::execute(model.wave, inst, nudge).flags;
}
/// omod scales the result that the handler has, and the last bit of some is open. @source golden_test.cpp kOneUlp
bool same_with_another_last_bit(uint32_t got, const WaveCopy& before, const Inst& inst) {
    return inst.omod != 0 && (got == modelled(before, inst, 1) || got == modelled(before, inst, -1));
}

std::string operands_text(const Inst& inst, const WaveCopy& before, unsigned lane) {
    std::string text;
    for (const uint16_t source : inst.src) {
        if (source == kNoOperand) continue;
        const unsigned v = source - kSrcVgpr0;
        if (source < kSrcVgpr0)
            text += fmt::format(" {}", source);
        else if (v + 1 < WaveCopy::kVgprs)
            text += fmt::format(" {:08x}'{:08x}", before.rows[v + 1].lane[lane], before.rows[v].lane[lane]);
    }
    return text;
}

class ExceptionsOf : public testing::TestWithParam<Format> {};

TEST_P(ExceptionsOf, AreThoseOfTheModel) {
    unsigned failed = 0;
    std::map<uint32_t, unsigned> seen;  // by bit
    for (const Op op : vector_rows()) {
        for (const Format format : formats_of(op)) {
            if (info(op).format != GetParam() || !models(op)) continue;
            Random random(op_index(op) * 100 + static_cast<unsigned>(format) + 7);
            bool wrong = false;
            for (unsigned n = 0; n < rounds() && !wrong; ++n) {
                const Inst inst = random_inst(op, format, random);
                WaveCopy before;
                fill(before, inst, random);
                const uint64_t all = before.wave.exec;
                for (unsigned sample = 0; sample < kSamples && !wrong; ++sample) {
                    const unsigned lane = static_cast<unsigned>(random() % kLanes);
                    // DPP reads other lanes; once everything is looked at as it is.
                    before.wave.exec =
                        sample == 0 ? all : uint64_t{1} << lane | (is_dpp(format) ? uint64_t{3} << (lane & 62) : 0);
                    const uint32_t got = raised(before.wave, inst), model = modelled(before, inst);
                    for (unsigned b = 0; b < 7; ++b) seen[b] += (got >> b) & 1;
                    if (got == model || same_with_another_last_bit(got, before, inst)) continue;
                    wrong = true;
                    if (++failed > 40) continue;
                    ADD_FAILURE() << fmt::format("{} [format {}] mode {:08x} exec {:016x}:{} raises {:02x}, model {:02x}",
                                                 disassemble(inst), int(inst.format), before.wave.mode, before.wave.exec,
                                                 operands_text(inst, before, lane), got, model);
                }
            }
        }
    }
    EXPECT_EQ(failed, 0u);
    const bool integers_only = GetParam() == Format::VOPC;  // compares: no results that are rounded
    for (const uint32_t b : {0u, 1u}) EXPECT_GT(seen[b], 10u) << "bit " << b;
    for (const uint32_t b : {3u, 4u, 5u}) EXPECT_TRUE(integers_only || seen[b] > 10) << "bit " << b;
}

std::string case_name(const testing::TestParamInfo<Format>& info) {
    return info.param == Format::VOP1    ? "VOP1"
           : info.param == Format::VOP2  ? "VOP2"
           : info.param == Format::VOP3  ? "VOP3"
           : info.param == Format::VOP3P ? "VOP3P"
                                         : "VOPC";
}
INSTANTIATE_TEST_SUITE_P(Rows, ExceptionsOf,
                         testing::Values(Format::VOP1, Format::VOP2, Format::VOP3, Format::VOP3P, Format::VOPC), case_name);

/// The handler that notes them leaves everything else as the ordinary one does, and the bits stay.
TEST(TrackedInstructions, ComputeWhatOthersDo) {
    Random random(99);
    unsigned cases = 0;
    for (const Op op : vector_rows()) {
        for (const Format format : formats_of(op)) {
            const Inst inst = random_inst(op, format, random);
            if (!models(op) || !raises_exceptions(inst)) continue;
            WaveCopy before;
            fill(before, inst, random);
            before.wave.trapsts = excp::kIntDivideByZero | 0x100;
            WaveCopy plain(before), tracked(before);
            ExecContext a{plain.wave}, b{tracked.wave};
            exec_handler(op, format)(a, inst);
            execute_tracked(b, inst);
            for (unsigned n = 0; n < WaveCopy::kVgprs; ++n)
                ASSERT_EQ(0, std::memcmp(&plain.rows[n], &tracked.rows[n], sizeof(VgprRow))) << disassemble(inst) << " v" << n;
            ASSERT_EQ(plain.wave.exec, tracked.wave.exec);
            ASSERT_EQ(plain.wave.vcc(), tracked.wave.vcc());
            ASSERT_EQ(tracked.wave.trapsts, before.wave.trapsts | fp_exceptions(before.wave, inst)) << disassemble(inst);
            ASSERT_EQ(b.request, Request::None) << "none is enabled";
            ++cases;
        }
    }
    EXPECT_GT(cases, 300u);
}

}  // namespace
}  // namespace lyra::golden::test

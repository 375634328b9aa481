// SPDX-License-Identifier: MIT
// Every vector ALU handler against the reference model, on random instructions, modes and operands: every bit of registers,
// masks and EXEC has to be equal. LYRA_GOLDEN_ROUNDS=n (default 12) instructions for each row and encoding.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/operands.h"
#include "gcn-interp/golden/wave_model.h"
#include "gcn-interp/testing/executed.h"

namespace lyra::golden::test {
namespace {

using namespace gcn;
using gcn::test::note_executed;

const ExecTable& handlers(Backend backend) {
    static const std::vector<ExecTable> tables = [] {
        std::vector<ExecTable> all;
        for (const Backend each : kAllBackends) register_vector_alu(all.emplace_back(each));
        return all;
    }();
    return tables[static_cast<unsigned>(backend)];
}

std::vector<Backend> host_backends() {
    std::vector<Backend> found;
    for (const Backend backend : kAllBackends) {
        if (backend <= kWidest && supported(backend)) found.push_back(backend);
    }
    return found;
}

unsigned rounds() {
    const char* text = std::getenv("LYRA_GOLDEN_ROUNDS");
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 12;
}

/// Graphics only, without reference: exec/graphics_test.cpp has them. @source isa/vop1.def, vop3.def
const std::set<std::string> kNoReference = {"v_screen_partition_4se_b32", "v_interp_p1ll_f16", "v_interp_p1lv_f16",
                                            "v_interp_p2_legacy_f16", "v_interp_p2_f16"};
/// May differ by one unit in the last place. @source docs/design/decisions.md, "transcendentals"
const std::set<std::string> kOneUlp = {"v_exp_f16", "v_exp_f32",        "v_exp_legacy_f32", "v_log_f16",
                                       "v_log_f32", "v_log_legacy_f32", "v_sin_f16",        "v_sin_f32",
                                       "v_cos_f16", "v_cos_f32",        "v_rsq_f16",        "v_rsq_f32"};

/// Lanes whose registers differ, and everything else that does.
struct Compared {
    uint64_t lanes = 0;
    std::string scalars;
};
Compared compare_waves(const WaveCopy& real, const WaveCopy& model) {
    Compared c;
    for (unsigned n = 0; n < WaveCopy::kVgprs; ++n)
        for (unsigned lane = 0; lane < kLanes; ++lane)
            if (real.rows[n].lane[lane] != model.rows[n].lane[lane]) c.lanes |= uint64_t{1} << lane;
    const Wave &a = real.wave, &b = model.wave;
    if (a.exec != b.exec) c.scalars += fmt::format(" exec {:016x} model {:016x}", a.exec, b.exec);
    if (a.m0 != b.m0) c.scalars += fmt::format(" m0 {:08x} model {:08x}", a.m0, b.m0);
    if (a.scc != b.scc || a.mode != b.mode || a.status != b.status) c.scalars += " scc, mode or status";
    for (unsigned n = 0; n < a.sgpr.size(); ++n)
        if (a.sgpr[n] != b.sgpr[n]) c.scalars += fmt::format(" s{} {:08x} model {:08x}", n, a.sgpr[n], b.sgpr[n]);
    return c;
}

/// Registers of one lane that are the instruction's sources and destination.
std::string lane_text(const Inst& inst, const WaveCopy& before, const WaveCopy& real, const WaveCopy& model, unsigned lane) {
    std::string text;
    for (unsigned n = 0; n < 3; ++n) {
        if (inst.src[n] == kNoOperand) continue;
        if (inst.src[n] < kSrcVgpr0) {
            text += fmt::format(" src{}={}:{:08x}", n, inst.src[n],
                                inst.src[n] < 127 ? before.wave.read_scalar(inst.src[n]) : inst.literal);
            continue;
        }
        const unsigned v = inst.src[n] - kSrcVgpr0;
        if (v + 1 < WaveCopy::kVgprs)
            text += fmt::format(" src{}={:08x}'{:08x}", n, before.rows[v + 1].lane[lane], before.rows[v].lane[lane]);
    }
    for (unsigned n = 0; n < WaveCopy::kVgprs; ++n) {
        if (real.rows[n].lane[lane] != model.rows[n].lane[lane])
            text += fmt::format(" v{} was {:08x}, is {:08x}, model {:08x}", n, before.rows[n].lane[lane],
                                real.rows[n].lane[lane], model.rows[n].lane[lane]);
    }
    return text;
}

bool may_be_one_off(const Inst& inst) { return kOneUlp.count(info(inst.op).name) != 0; }

/// Run one case on both sides. @return empty, or what differs
std::string run_case(Backend backend, const Inst& inst, const WaveCopy& before) {
    WaveCopy real(before), model(before);
    ExecContext ctx{real.wave};
    handlers(backend).get(inst.op, inst.format)(ctx, inst);
    if (ctx.fault != Fault::None) return "fault";
    note_executed(inst);
    execute(model.wave, inst);
    Compared c = compare_waves(real, model);
    std::string text = c.scalars;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (((c.lanes >> lane) & 1) == 0) continue;
        bool close = false;
        for (const int nudge : {-1, 1}) {
            if (!may_be_one_off(inst) || close) continue;
            WaveCopy near(before);
            execute(near.wave, inst, nudge);
            close = ((compare_waves(real, near).lanes >> lane) & 1) == 0;
        }
        if (close) continue;
        text += fmt::format("\n    lane {}:", lane) + lane_text(inst, before, real, model, lane);
        break;
    }
    if (text.empty()) return text;
    return fmt::format("{} [format {}] mode {:08x} exec {:016x} omod {} clamp {} neg {} abs {} dst {}{}", disassemble(inst),
                       int(inst.format), before.wave.mode, before.wave.exec, inst.omod, inst.clamp, inst.neg, inst.abs,
                       inst.dst, text);
}

TEST(Golden, HasEveryVectorRow) {
    std::string missing;
    for (const Op op : vector_rows()) {
        if (models(op) != (kNoReference.count(info(op).name) == 0)) missing += std::string(" ") + info(op).name;
        for (const Format format : formats_of(op)) {
            for (const Backend backend : kAllBackends) {
                if (handlers(backend).get(op, format) == nullptr)
                    missing += fmt::format(" {}(handler of format {})", info(op).name, int(format));
            }
        }
    }
    EXPECT_EQ(missing, "") << "rows without reference function or handler, or with a function though listed as without";
}

class GoldenFormat : public testing::TestWithParam<std::tuple<Format, Backend>> {};

TEST_P(GoldenFormat, HandlersAgree) {
    const auto [row_format, backend] = GetParam();
    unsigned cases = 0, failed = 0;
    for (const Op op : vector_rows()) {
        for (const Format format : formats_of(op)) {
            const bool own = info(op).format == row_format;
            if (!own || !models(op) || handlers(backend).get(op, format) == nullptr)
                continue;  // HasEveryVectorRow says which may lack
            Random random(op_index(op) * 100 + static_cast<unsigned>(format));
            for (unsigned n = 0; n < rounds(); ++n) {
                const Inst inst = random_inst(op, format, random);
                ASSERT_EQ(inst.format, format) << info(op).name;
                WaveCopy before;
                fill(before, inst, random);
                const std::string text = run_case(backend, inst, before);
                ++cases;
                if (text.empty()) continue;
                if (++failed <= 40) ADD_FAILURE() << text;
                break;  // one report for each row and encoding
            }
        }
    }
    EXPECT_GT(cases, 0u);
    EXPECT_EQ(failed, 0u);
}

std::string case_name(const testing::TestParamInfo<std::tuple<Format, Backend>>& info) {
    const auto [format, backend] = info.param;
    const char* name = format == Format::VOP1    ? "VOP1"
                       : format == Format::VOP2  ? "VOP2"
                       : format == Format::VOP3  ? "VOP3"
                       : format == Format::VOP3P ? "VOP3P"
                                                 : "VOPC";
    return fmt::format("{}_{}", name, kBackendNames[static_cast<unsigned>(backend)]);
}
INSTANTIATE_TEST_SUITE_P(Rows, GoldenFormat,
                         testing::Combine(testing::Values(Format::VOP1, Format::VOP2, Format::VOP3, Format::VOP3P,
                                                          Format::VOPC),
                                          testing::ValuesIn(host_backends())),
                         case_name);

}  // namespace
}  // namespace lyra::golden::test

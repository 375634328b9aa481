// SPDX-License-Identifier: MIT
// Mistakes that are put in on purpose (faults.def): each is noticed by the invariant that is named beside it, on a trace in
// traces/ which anybody can replay. Without a mistake everything holds on these and on many more traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "scheduler/sim/replay.h"

namespace lyra::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

/// Clients that come, wait for each other and go, under random parameters.
Trace random_trace(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    const auto one_in = [&](uint64_t n) { return below(n) == 0; };
    Trace trace;
    qsched_params& p = trace.params;
    p.policy = one_in(3) ? static_cast<qsched_policy>(below(QSCHED_POLICIES)) : QSCHED_FIXED;
    p.quantum_ns = kMs + below(4 * kMs);
    p.min_run_ns = one_in(2) ? below(3 * kMs) : 0;
    p.hysteresis_ns = one_in(2) ? below(3 * kMs) : 0;
    p.starvation_ns = one_in(2) ? 4 * kMs + below(10 * kMs) : 0;
    p.turn_ns = kMs / 2 + below(2 * kMs);
    p.ageing_ns = kMs + below(4 * kMs);
    p.inherit = one_in(2);
    unsigned queues = 0;
    uint64_t at = 0;
    const auto add = [&] {
        const auto priority = static_cast<uint8_t>(5 * below(4));
        const auto weight = static_cast<uint32_t>(1 + below(3));
        const uint64_t deadline_ns = below(2) * kMs * (1 + below(20));
        trace.steps.push_back({at, one_in(4) ? StepKind::Ask : StepKind::Add, 0, -1, {priority, weight, deadline_ns}});
        ++queues;
    };
    while (queues < 3 + seed % 4) add();
    if (one_in(2)) {
        for (unsigned n = 0; n < queues; ++n) trace.steps.push_back({at, StepKind::Wants, n, -1, {}});
    }
    for (unsigned n = 0; n < 40; ++n) {
        at += one_in(3) ? below(40 * kMs) : below(500'000);
        const auto queue = static_cast<unsigned>(below(queues));
        switch (below(16)) {
            case 0: add(); break;
            case 1:
                trace.steps.push_back({at, StepKind::Remove, queue, -1, {}});
                if (one_in(2)) add();
                break;
            case 2:
            case 3:
            case 4: trace.steps.push_back({at, StepKind::Blocked, queue, static_cast<int>(below(queues)), {}}); break;
            case 5:
            case 6: trace.steps.push_back({at, StepKind::Unblocked, queue, -1, {}}); break;
            case 7:
            case 8:
            case 9: trace.steps.push_back({at, StepKind::Idle, queue, -1, {}}); break;
            default: trace.steps.push_back({at, StepKind::Wants, queue, -1, {}});
        }
    }
    trace.steps.push_back({at + 200 * kMs, StepKind::End, 0, -1, {}});
    return trace;
}

/// Without a queue that no other step names, or without another step. @return false: it is needed for others
bool take_away(Trace& trace, size_t step) {
    if (adds(trace.steps[step].kind)) {
        const auto self =
            static_cast<unsigned>(std::count_if(trace.steps.begin(), trace.steps.begin() + static_cast<std::ptrdiff_t>(step),
                                                [](const Step& s) { return adds(s.kind); }));
        for (const Step& s : trace.steps) {
            if (!adds(s.kind) && s.kind != StepKind::End && (s.queue == self || s.other == static_cast<int>(self)))
                return false;
        }
        for (Step& s : trace.steps) {
            s.queue -= s.queue > self;
            s.other -= s.other > static_cast<int>(self);
        }
    }
    trace.steps.erase(trace.steps.begin() + static_cast<std::ptrdiff_t>(step));
    return true;
}

/// Steps and parameters taken away as long as the same invariant is broken.
Trace shrunk(Trace trace, const FaultInfo& fault) {
    const auto keep = [&](const Trace& less) {
        if (replay(less, fault.fault).invariant != fault.noticed_by) return false;
        trace = less;
        return true;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = trace.steps.size() - 1; n-- > 0;) {
            Trace fewer = trace;
            if (take_away(fewer, n)) changed = keep(fewer) || changed;
        }
        for (uint64_t qsched_params::* each :
             {&qsched_params::min_run_ns, &qsched_params::hysteresis_ns, &qsched_params::starvation_ns, &qsched_params::turn_ns,
              &qsched_params::quantum_ns, &qsched_params::ageing_ns}) {
            Trace less = trace;
            less.params.*each = 0;
            if (trace.params.*each != 0) changed = keep(less) || changed;
        }
        Trace alone = trace;
        alone.params.inherit = false;
        if (trace.params.inherit) changed = keep(alone) || changed;
    }
    return trace;
}

std::string file_of(const FaultInfo& fault) { return std::string(LYRA_SIM_TRACES) + "/" + fault.name + ".trace"; }

std::string told(const Violation& v) {
    std::ostringstream out;
    out << invariant_name(v.invariant) << " at " << v.at_ns << " ns, queue " << v.queue;
    return out.str();
}

class Faults : public testing::TestWithParam<FaultInfo> {};

TEST_P(Faults, AreNoticedAndReplayed) {
    const FaultInfo fault = GetParam();
    std::ifstream in(file_of(fault));
    ASSERT_TRUE(in) << "no trace";
    std::string first;
    std::getline(in, first);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const Trace trace = read_trace(text);
    const Violation with = replay(trace, fault.fault), without = replay(trace);
    EXPECT_EQ(with.invariant, fault.noticed_by) << told(with);
    EXPECT_EQ(first, "# " + std::string(fault.name) + ": " + told(with)) << "the file says what replaying it shows";
    EXPECT_EQ(without.invariant, Invariant::None) << told(without);
    EXPECT_EQ(replay(read_trace(write_trace(trace)), fault.fault), with) << "the text has all of the trace";
}

/// With LYRA_WRITE_TRACES=1 the trace that was found goes to traces/, after steps that it does not need have been taken away.
TEST_P(Faults, AreFoundByRandomTraces) {
    const FaultInfo fault = GetParam();
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        Trace trace = random_trace(seed);
        if (trace.params.policy != QSCHED_FIXED || replay(trace, fault.fault).invariant != fault.noticed_by) continue;
        if (std::getenv("LYRA_WRITE_TRACES") != nullptr) {
            trace = shrunk(trace, fault);
            std::ofstream out(file_of(fault));
            out << "# " << fault.name << ": " << told(replay(trace, fault.fault)) << "\n# " << fault.text << '\n'
                << write_trace(trace);
        }
        return;
    }
    ADD_FAILURE() << "400 random traces did not show it";
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(kFaults), [](const auto& info) {
    std::string name = info.param.name;
    for (char& c : name) {
        if (c == '-') c = '_';
    }
    return name;
});

TEST(Replay, EverythingHoldsWithoutMistakes) {
    for (uint64_t seed = 1; seed <= 700; ++seed) {
        const Trace trace = random_trace(seed);
        const Violation v = replay(trace);
        ASSERT_EQ(v.invariant, Invariant::None) << "seed " << seed << ": " << told(v) << "\n" << write_trace(trace);
    }
}

std::string error_of(const std::string& text) {
    try {
        read_trace(text);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Replay, TracesThatAreNone) {
    EXPECT_EQ(error_of("policy fixed # why not\n\n10 add 3\n20 wants 0\n30 end\n"), "");
    EXPECT_EQ(error_of("policy fast\n"), "line 1: there is no policy 'fast'");
    EXPECT_EQ(error_of("\ncolour 3\n"), "line 2: unknown word 'colour'");
    EXPECT_EQ(error_of("5 wants 0\n"), "line 1: there is no queue 0 yet");
    EXPECT_EQ(error_of("5 add 1\n4 wants 0\n"), "line 2: goes back in time");
    EXPECT_EQ(error_of("5 add 1\n6 blocked 0\n"), "line 2: 'blocked' has too few words or too many");
    EXPECT_EQ(error_of("5 add 1\n6 blocked 0 x\n"), "line 2: 'x' is not a number");
    EXPECT_EQ(error_of("5 jump 1\n"), "line 1: unknown step 'jump'");
    EXPECT_EQ(error_of("5\n"), "line 1: one word alone");
    EXPECT_EQ(replay(read_trace("policy fixed\n")).invariant, Invariant::None);
}

}  // namespace
}  // namespace lyra::sim

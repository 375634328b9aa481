// SPDX-License-Identifier: MIT
// Queues that wait for each other in the simulator, and arrivals that depend on others or come in bursts.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000;

ClientClass client(const char* name, uint8_t priority, uint64_t kernel_ns, Arrival arrival, double rate_hz = 0) {
    ClientClass c;
    c.name = name;
    c.queue.priority = priority;
    c.kernel_ns = kernel_ns;
    c.arrival = arrival;
    c.rate_hz = rate_hz;
    return c;
}

/// High priority waits for low priority: what upstream gave up queue priority for.
Experiment inversion() {
    Experiment e;
    e.clients = {client("critical", 15, 50 * kUs, Arrival::Poisson, 100), client("effort", 0, kMs, Arrival::Closed)};
    e.clients[0].latency_critical = true;
    e.clients[0].waits_for = "effort";
    e.clients[1].context_bytes = 20 << 20;
    e.policy.policy = QSCHED_FIXED;
    e.detection = Detection::Notify;
    e.period_ns = 100 * kUs;
    e.unmap = Unmap::Queue;
    e.samples = 1000;
    e.most_ns = 100'000 * kMs;
    return e;
}

std::vector<uint64_t> from_ready(const Result& r) {
    std::vector<uint64_t> out;
    for (const Sample& s : r.samples) out.push_back(s.t8_first_wave - s.ready);
    std::sort(out.begin(), out.end());
    return out;
}

TEST(Waits, TakingAwayWhatIsWaitedForDeadlocks) {
    Experiment e = inversion();
    e.runnable_test = false;
    const Result r = simulate(e);
    EXPECT_TRUE(r.deadlocked);
    EXPECT_TRUE(r.samples.empty());
    EXPECT_EQ(r.displacements, 1u);
    EXPECT_EQ(r.wasted, 1u);
    EXPECT_LT(r.duration_ns, e.most_ns / 10) << "it is seen when it happens";
}

TEST(Waits, TurnsAgainstStarvationMakeItThrash) {
    Experiment e = inversion();
    e.runnable_test = false;
    e.policy.starvation_ns = 5 * kMs;
    e.policy.turn_ns = 300 * kUs;
    e.samples = 100;
    const Result r = simulate(e);
    EXPECT_FALSE(r.deadlocked);
    EXPECT_EQ(r.samples.size(), 100u);
    EXPECT_GT(r.wasted, 100u) << "several for each kernel";
    EXPECT_GT(from_ready(r).back() + r.samples.back().ready - r.samples.back().t0_doorbell, 5 * kMs);
}

TEST(Waits, TheLookAtTheHeadPacketCostsOneSwitchAtMost) {
    Experiment alone = inversion();
    alone.clients[0].waits_for.clear();
    const std::vector<uint64_t> reference = from_ready(simulate(alone));
    for (const bool inherit : {false, true}) {
        Experiment e = inversion();
        e.policy.inherit = inherit;
        const Result r = simulate(e);
        EXPECT_FALSE(r.deadlocked);
        EXPECT_EQ(r.samples.size(), e.samples);
        EXPECT_EQ(r.wasted, 0u);
        EXPECT_GT(r.displacements, e.samples / 2) << "the next kernel of the other one has begun by then";
        const std::vector<uint64_t> extra = from_ready(r);
        EXPECT_LE(extra.back(), reference.back() + e.timing.end_of_pipe_ns) << "the signal's interrupt, then one switch";
        for (const Sample& s : r.samples) {
            EXPECT_GE(s.ready, s.t0_doorbell);
            EXPECT_LE(s.ready, s.t0_doorbell + 3 * kMs) << "one kernel, and what it was away for";
        }
    }
}

/// With one in the middle the one that is waited for has to inherit.
TEST(Waits, InheritanceKeepsTheMiddleOneOut) {
    uint64_t longest[2];
    for (const bool inherit : {false, true}) {
        Experiment e = inversion();
        e.policy.inherit = inherit;
        e.clients.push_back(client("between", 7, 20 * kMs, Arrival::Poisson, 20));
        const Result r = simulate(e);
        EXPECT_FALSE(r.deadlocked);
        uint64_t& most = longest[inherit] = 0;
        for (const Sample& s : r.samples) most = std::max(most, s.t8_first_wave - s.t0_doorbell);
    }
    EXPECT_GT(longest[0], 15 * kMs);
    EXPECT_LT(longest[1], 3 * kMs);
}

/// A middle one that never rests: without inheritance what is waited for never runs, however long one looks.
TEST(Waits, SaysSoWhenTheMiddleOneNeverRests) {
    Experiment e = inversion();
    e.clients.push_back(client("between", 7, kMs, Arrival::Closed));
    e.most_ns = 2'000 * kMs;
    e.samples = 100'000;
    EXPECT_TRUE(simulate(e).deadlocked);
    e.policy.inherit = true;
    const Result r = simulate(e);
    EXPECT_FALSE(r.deadlocked);
    EXPECT_GT(r.samples.size(), 100u);
}

/// Whom the high one waits for is not known, as with signals of other processes: it gets turns beside the one in the middle,
/// and does not have to starve first.
TEST(Waits, UnknownOwnersGetOnBesideAMiddleOneThatNeverRests) {
    Experiment e = inversion();
    e.clients[0].arrival = Arrival::Closed;
    e.clients[1].kernel_ns = 100 * kUs;
    e.clients[1].context_bytes = 1 << 20;
    e.clients.push_back(client("between", 7, kMs, Arrival::Closed));
    e.clients[1].room = e.clients[2].room = 0.25;
    e.policy.inherit = true;
    e.policy.starvation_ns = 50 * kMs;
    e.policy.turn_ns = 5 * kMs;
    e.samples = 100;
    uint64_t duration[2];
    for (const bool known : {false, true}) {
        e.owner_known = known;
        const Result r = simulate(e);
        EXPECT_FALSE(r.deadlocked);
        EXPECT_EQ(r.samples.size(), 100u);
        duration[known] = r.duration_ns;
    }
    EXPECT_LT(duration[true], duration[false]);
    e.owner_known = false;
    e.policy.inherit = false;  // turns against starvation alone
    EXPECT_GT(simulate(e).duration_ns, 2 * duration[false]);
}

TEST(Waits, AChainOfTwo) {
    Experiment e = inversion();
    e.clients.push_back(client("first", 3, kMs, Arrival::Closed));
    e.clients[1].waits_for = "first";
    e.policy.inherit = true;
    e.samples = 200;
    const Result r = simulate(e);
    EXPECT_FALSE(r.deadlocked);
    EXPECT_EQ(r.samples.size(), 200u);
    e.runnable_test = false;
    EXPECT_TRUE(simulate(e).deadlocked);
}

/// A queue that waits has its slot and no compute units.
TEST(Waits, WhoWaitsUsesNoComputeUnits) {
    Experiment e = inversion();
    e.policy.policy = QSCHED_NONE;
    e.clients[0].arrival = Arrival::Closed;
    e.clients[1].kernel_ns = 10 * kMs;
    e.samples = 50;
    const Result r = simulate(e);
    // The other one's next kernel begins before the packet processor has looked at the signal: two of them for each, one at a
    // time.
    const double each = static_cast<double>(e.clients[0].kernel_ns + 2 * e.clients[1].kernel_ns);
    EXPECT_NEAR(static_cast<double>(r.duration_ns), 50 * each, 0.01 * 50 * each);
    EXPECT_EQ(r.queues_saved, 0u);
}

TEST(Waits, DependentKernelsComeAfterOthers) {
    Experiment e = inversion();
    e.policy.policy = QSCHED_NONE;
    e.clients[0] = client("critical", 15, 50 * kUs, Arrival::Dependent);
    e.clients[0].latency_critical = true;
    e.clients[0].after = "effort";
    e.clients[1].arrival = Arrival::Uniform;
    e.clients[1].rate_hz = 100;
    e.samples = 20;
    const Result r = simulate(e);
    ASSERT_EQ(r.samples.size(), 20u);
    for (size_t n = 1; n < r.samples.size(); ++n) {
        EXPECT_NEAR(static_cast<double>(r.samples[n].t0_doorbell - r.samples[n - 1].t0_doorbell), 10.0 * kMs, 10.0);
    }
}

TEST(Waits, BurstsHaveTheirRates) {
    Experiment e;
    e.clients = {client("bursty", 0, kUs, Arrival::Bursty, 10)};
    ClientClass& c = e.clients[0];
    c.latency_critical = true;
    c.burst_hz = 1000;
    c.burst_ns = 50 * kMs;
    c.calm_ns = 200 * kMs;
    e.samples = 20'000;
    const Result r = simulate(e);
    ASSERT_EQ(r.samples.size(), 20'000u);
    // (50 ms * 1000 + 200 ms * 10) / 250 ms = 208 a second
    const double seconds = static_cast<double>(r.duration_ns) / 1e9;
    EXPECT_NEAR(20'000 / seconds, 208, 20);
    // Poisson arrivals have a variance of their counts equal to the mean; these have many times that.
    std::vector<double> counts(static_cast<size_t>(seconds / 0.25));
    for (const Sample& s : r.samples) {
        const auto at = static_cast<size_t>(static_cast<double>(s.t0_doorbell) / 0.25e9);
        if (at < counts.size()) ++counts[at];
    }
    double mean = 0, square = 0;
    for (const double n : counts) mean += n / static_cast<double>(counts.size());
    for (const double n : counts) square += (n - mean) * (n - mean) / static_cast<double>(counts.size());
    EXPECT_GT(square / mean, 10.0);
}

TEST(Waits, TracesEndTheExperiment) {
    Experiment e = inversion();
    e.clients[0].waits_for.clear();
    e.clients[0].arrival = Arrival::Trace;
    e.clients[0].trace_ns = {kMs, 20 * kMs, 20 * kMs, 50 * kMs};
    const Result r = simulate(e);
    ASSERT_EQ(r.samples.size(), 4u);
    for (size_t n = 0; n < 4; ++n) EXPECT_EQ(r.samples[n].t0_doorbell, e.clients[0].trace_ns[n]);
    EXPECT_LT(r.duration_ns, 60 * kMs);
}

std::string error_of(const Experiment& e) {
    try {
        simulate(e);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Waits, SaysWhatIsWrong) {
    Experiment e = inversion();
    e.clients[0].waits_for = "nobody";
    EXPECT_EQ(error_of(e), "critical: there is no client named 'nobody'");
    e = inversion();
    e.clients[1].waits_for = "critical";
    EXPECT_EQ(error_of(e), "critical: clients wait for each other in a circle");
    e = inversion();
    e.clients[1].arrival = Arrival::Dependent;
    EXPECT_EQ(error_of(e), "effort: after whose kernels?");
    e = inversion();
    e.clients[1].after = "critical";
    EXPECT_EQ(error_of(e), "effort: only dependent arrivals are after others");
    e = inversion();
    e.clients[0].arrival = Arrival::Bursty;
    EXPECT_EQ(error_of(e), "critical: bursts need a rate, a length and a distance");
}

}  // namespace
}  // namespace lyra::sim

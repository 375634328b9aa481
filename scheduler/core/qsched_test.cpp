// SPDX-License-Identifier: MIT
// The policy core by itself: what each policy allows, and what must hold whatever happens.
extern "C" {
#include "scheduler/core/qsched.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr uint64_t kMs = 1'000'000;
constexpr uint8_t kLow = 0, kMiddle = 7, kHigh = 15;

/// A scheduler and its clock.
class Bench
{
      public:
	explicit Bench(const qsched_params &params)
	{
		qsched_init(sched.get(), &params, now);
	}

	uint16_t add(uint8_t priority, uint32_t weight = 1, uint64_t deadline = 0)
	{
		const qsched_queue_params params{ priority, weight, deadline };
		return qsched_add(sched.get(), &params);
	}
	qsched_decision event(qsched_event_type type, uint16_t queue,
			      uint16_t other = QSCHED_NO_QUEUE)
	{
		const qsched_event event{ type, queue, other, now, 0, 0 };
		last = qsched_handle(sched.get(), &event);
		return last;
	}
	void progress(uint16_t queue, uint64_t read, uint64_t written)
	{
		const qsched_event event{ QSCHED_PROGRESS, queue, QSCHED_NO_QUEUE, now, read,
					  written };
		last = qsched_handle(sched.get(), &event);
	}
	qsched_decision wants(uint16_t queue)
	{
		return event(QSCHED_WANTS, queue);
	}
	qsched_decision idle(uint16_t queue)
	{
		return event(QSCHED_IDLE, queue);
	}
	/// Let time pass; the timer comes when it was asked for.
	void pass(uint64_t ns)
	{
		const uint64_t until = now + ns;
		while (last.timer_ns <= until) {
			ASSERT_GT(last.timer_ns, now)
				<< "a timer that has come already would never end";
			step(last.timer_ns);
			event(QSCHED_TIMER, QSCHED_NO_QUEUE);
		}
		step(until);
		event(QSCHED_TIMER, QSCHED_NO_QUEUE);
	}
	bool allowed(uint16_t queue) const
	{
		return qsched_allowed(sched.get(), queue);
	}
	uint64_t service(uint16_t queue) const
	{
		return sched->queues[queue].service_ns;
	}

	std::unique_ptr<qsched> sched = std::make_unique<qsched>();
	uint64_t now = 1000;
	qsched_decision last{ 0, 0, QSCHED_NEVER };
	std::vector<uint64_t> away, longest_away; ///< by queue, of those that watch() looks at

	void watch(uint16_t queue)
	{
		away.resize(std::max<size_t>(away.size(), queue + 1u));
		longest_away.resize(away.size());
		watched_.push_back(queue);
	}

      private:
	void step(uint64_t to)
	{
		for (const uint16_t queue : watched_) {
			away[queue] = allowed(queue) ? 0 : away[queue] + to - now;
			longest_away[queue] = std::max(longest_away[queue], away[queue]);
		}
		now = to;
	}
	std::vector<uint16_t> watched_;
};

qsched_params policy(qsched_policy which)
{
	qsched_params params{};
	params.policy = which;
	return params;
}

TEST(Qsched, PoliciesHaveNames)
{
	for (unsigned n = 0; n < QSCHED_POLICIES; ++n) {
		const char *name = qsched_policy_name(static_cast<qsched_policy>(n));
		ASSERT_NE(name, nullptr);
		EXPECT_EQ(qsched_policy_of(name), n);
	}
	EXPECT_EQ(qsched_policy_name(QSCHED_POLICIES), nullptr);
	EXPECT_EQ(qsched_policy_of("fixe"), QSCHED_POLICIES);
	EXPECT_EQ(qsched_policy_of("fixedly"), QSCHED_POLICIES);
	EXPECT_EQ(qsched_policy_of(""), QSCHED_POLICIES);
}

TEST(Qsched, NoneAllowsAll)
{
	Bench b(policy(QSCHED_NONE));
	const uint16_t low = b.add(kLow), high = b.add(kHigh);
	b.wants(low);
	const qsched_decision d = b.wants(high);
	EXPECT_TRUE(b.allowed(low));
	EXPECT_TRUE(b.allowed(high));
	EXPECT_EQ(d.taken + d.returned, 0u);
	EXPECT_EQ(d.timer_ns, QSCHED_NEVER);
}

TEST(Qsched, FixedLetsOnlyTheHighestRun)
{
	Bench b(policy(QSCHED_FIXED));
	const uint16_t low = b.add(kLow), idle_low = b.add(kLow), high = b.add(kHigh),
		       other_high = b.add(kHigh);
	EXPECT_EQ(b.wants(low).taken, 0u);
	EXPECT_EQ(b.wants(high).taken, 2u);
	EXPECT_FALSE(b.allowed(low));
	EXPECT_FALSE(b.allowed(idle_low)) << "what it brings would run before anybody can look";
	b.wants(other_high);
	EXPECT_TRUE(b.allowed(high));
	EXPECT_TRUE(b.allowed(other_high)) << "equals share";
	b.idle(high);
	EXPECT_FALSE(b.allowed(low));
	EXPECT_EQ(b.idle(other_high).returned, 2u);
	EXPECT_TRUE(b.allowed(low));
}

TEST(Qsched, WhoWaitsDisplacesNobody)
{
	Bench b(policy(QSCHED_FIXED));
	const uint16_t low = b.add(kLow), high = b.add(kHigh);
	b.wants(low);
	b.event(QSCHED_BLOCKED, high, low);
	b.wants(high);
	EXPECT_TRUE(b.allowed(low));
	EXPECT_TRUE(b.allowed(high)) << "it may go on as soon as it can";
	b.event(QSCHED_UNBLOCKED, high);
	EXPECT_FALSE(b.allowed(low));
	b.event(QSCHED_BLOCKED, high, low);
	EXPECT_TRUE(b.allowed(low));
}

TEST(Qsched, InheritanceGoesAlongTheChain)
{
	for (const bool inherit : { false, true }) {
		qsched_params params = policy(QSCHED_FIXED);
		params.inherit = inherit;
		Bench b(params);
		const uint16_t first = b.add(kLow), second = b.add(kLow), middle = b.add(kMiddle),
			       high = b.add(kHigh);
		for (const uint16_t queue : { first, second, middle, high })
			b.wants(queue);
		b.event(QSCHED_BLOCKED, second, first);
		b.event(QSCHED_BLOCKED, high, second);
		EXPECT_EQ(b.allowed(first), inherit);
		EXPECT_EQ(b.allowed(middle), !inherit);
		b.event(QSCHED_BLOCKED, first,
			high); // a circle: nobody can ever go on, and nothing hangs
		EXPECT_TRUE(b.allowed(middle));
		qsched_remove(b.sched.get(), first);
		b.event(QSCHED_TIMER, QSCHED_NO_QUEUE);
		EXPECT_FALSE(b.allowed(first));
		EXPECT_TRUE(b.allowed(middle));
	}
}

/// Who is waited for may be a queue that is kept away: of another process, or too far back in its ring.
TEST(Qsched, UnknownOwnersGetATurnWithTheRankOfWhoWaits)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.inherit = true;
	params.starvation_ns = 50 * kMs;
	params.turn_ns = 2 * kMs;
	Bench b(params);
	const uint16_t low = b.add(kLow), other = b.add(2), middle = b.add(kMiddle),
		       high = b.add(kHigh);
	for (const uint16_t queue : { low, other, middle, high })
		b.wants(queue);
	b.pass(kMs);
	EXPECT_FALSE(b.allowed(low));
	b.event(QSCHED_BLOCKED, high);
	EXPECT_TRUE(b.allowed(low)) << "at once, not when it starves";
	EXPECT_TRUE(b.allowed(other));
	EXPECT_TRUE(b.allowed(middle)) << "it shares, it does not go";
	b.pass(kMs);
	b.event(QSCHED_UNBLOCKED, high);
	EXPECT_FALSE(b.allowed(low));
	EXPECT_FALSE(b.allowed(middle));
	b.event(QSCHED_BLOCKED, high);
	EXPECT_TRUE(b.allowed(low)) << "its turn is not over";
	b.pass(kMs);
	EXPECT_FALSE(b.allowed(low));
	EXPECT_TRUE(b.allowed(middle));
}

/// Who waits for ever for nobody costs the others no more than sharing one turn in starvation_ns, beside the turns of those
/// that starve, which keep theirs. Nobody above notices.
TEST(Qsched, UnknownOwnersAreNoAttack)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.inherit = true;
	params.starvation_ns = 50 * kMs;
	params.turn_ns = 2 * kMs;
	for (const uint8_t priority : { kHigh, kMiddle, kLow }) {
		Bench b(params);
		const uint16_t low = b.add(kLow), middle = b.add(kMiddle);
		b.wants(low);
		b.wants(middle);
		for (unsigned n = 0; n < 16; ++n) {
			const uint16_t waits = b.add(priority);
			b.event(QSCHED_BLOCKED, waits);
			b.wants(waits);
		}
		const uint64_t before = b.service(low);
		b.pass(10'000 * kMs);
		const uint64_t alone = 10'000 / 52 * params.turn_ns;
		const uint64_t expected = priority == kLow ? alone : 2 * alone;
		EXPECT_LE(b.service(low) - before, expected + 2 * params.turn_ns);
		EXPECT_GE(b.service(low) - before, expected * 9 / 10);
		EXPECT_GE(b.service(middle), 9'600 * kMs);
	}
	for (const bool turns : { true, false }) {
		params.inherit = !turns;
		params.turn_ns = turns ? 2 * kMs : 0;
		Bench b(params);
		const uint16_t low = b.add(kLow), middle = b.add(kMiddle), high = b.add(kHigh);
		for (const uint16_t queue : { low, middle, high })
			b.wants(queue);
		b.event(QSCHED_BLOCKED, high);
		EXPECT_FALSE(b.allowed(low)) << "neither without inheritance nor without turns";
	}
}

/// It is the one who waits that lends its rank, and what it has inherited with it; a known owner needs no turn.
TEST(Qsched, UnknownOwnersAtTheEndOfAChain)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.inherit = true;
	params.starvation_ns = 50 * kMs;
	params.turn_ns = 2 * kMs;
	params.hysteresis_ns = 3 * kMs;
	Bench b(params);
	const uint16_t low = b.add(kLow), between = b.add(2), middle = b.add(kMiddle),
		       high = b.add(kHigh), top = b.add(kHigh);
	for (const uint16_t queue : { low, between, middle, high })
		b.wants(queue);
	b.event(QSCHED_BLOCKED, high, middle);
	EXPECT_FALSE(b.allowed(low));
	b.event(QSCHED_UNBLOCKED, high);
	b.event(QSCHED_BLOCKED, between);
	EXPECT_FALSE(b.allowed(low)) << "nobody displaces one above";
	b.event(QSCHED_BLOCKED, high, between);
	EXPECT_TRUE(b.allowed(low));
	EXPECT_TRUE(b.allowed(middle));
	b.wants(top);
	EXPECT_TRUE(b.allowed(low)) << "as high as who waits";
	b.idle(top);
	EXPECT_FALSE(b.allowed(low)) << "the hysteresis comes first";
	EXPECT_FALSE(b.allowed(middle));
}

TEST(Qsched, HysteresisKeepsLowerOnesAwayForAWhile)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.hysteresis_ns = 3 * kMs;
	Bench b(params);
	const uint16_t low = b.add(kLow), high = b.add(kHigh);
	b.wants(low);
	b.wants(high);
	b.pass(kMs);
	b.idle(high);
	b.pass(2 * kMs);
	EXPECT_FALSE(b.allowed(low));
	b.wants(high);
	b.idle(high);
	b.pass(2 * kMs);
	EXPECT_FALSE(b.allowed(low)) << "it counts from the last end";
	b.pass(kMs);
	EXPECT_TRUE(b.allowed(low));
}

TEST(Qsched, WhoCameBackStaysForMinRun)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.min_run_ns = 2 * kMs;
	Bench b(params);
	const uint16_t low = b.add(kLow), high = b.add(kHigh);
	b.pass(10 * kMs);
	b.wants(low);
	b.wants(high);
	EXPECT_FALSE(b.allowed(low)) << "it has been there for long";
	b.idle(high);
	b.pass(kMs);
	b.wants(high);
	EXPECT_TRUE(b.allowed(low));
	b.pass(kMs);
	EXPECT_FALSE(b.allowed(low));
}

TEST(Qsched, NobodyStarvesBeyondTheBound)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.starvation_ns = 50 * kMs;
	params.turn_ns = 2 * kMs;
	Bench b(params);
	std::vector<uint16_t> low;
	for (unsigned n = 0; n < 3; ++n)
		low.push_back(b.add(kLow));
	const uint16_t high = b.add(kHigh);
	for (const uint16_t queue : low) {
		b.watch(queue);
		b.wants(queue);
	}
	b.wants(high);
	b.pass(10'000 * kMs);
	for (const uint16_t queue : low) {
		EXPECT_LE(b.longest_away[queue],
			  low.size() * (params.starvation_ns + params.turn_ns));
		EXPECT_GE(b.service(queue), 10'000 / 160 * params.turn_ns);
	}
	EXPECT_GE(b.service(high), 9'600 * kMs);
}

/// However many queues starve, all of them together get one turn at a time: many queues are not worth more.
TEST(Qsched, ManyWhoStarveLeaveTheRest)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.starvation_ns = 50 * kMs;
	params.turn_ns = 2 * kMs;
	Bench b(params);
	std::vector<uint16_t> low;
	for (unsigned n = 0; n < 32; ++n)
		low.push_back(b.add(kLow));
	const uint16_t high = b.add(kHigh);
	for (const uint16_t queue : low)
		b.wants(queue);
	b.wants(high);
	b.pass(10'000 * kMs);
	EXPECT_GE(b.service(high), 9'600 * kMs) << "96 percent";
	for (const uint16_t queue : low)
		EXPECT_GE(b.service(queue), 5 * params.turn_ns) << "each in its turn";
	params.starvation_ns = 10 * kMs; // the old distance does not last
	qsched_set_params(b.sched.get(), &params);
	const uint64_t before = b.service(high);
	b.pass(1'200 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(high) - before), 1'000.0 * kMs, 15.0 * kMs);
}

/// One above that pauses again and again, each time for less than a restore takes, must not start the waiting anew.
TEST(Qsched, AMomentOnTheHardwareIsNoTurn)
{
	qsched_params params = policy(QSCHED_FIXED);
	params.starvation_ns = 10 * kMs;
	params.turn_ns = 2 * kMs;
	Bench b(params);
	const uint16_t low = b.add(kLow), high = b.add(kHigh);
	b.wants(low);
	b.wants(high);
	const uint64_t before = b.service(low);
	for (unsigned n = 0; n < 50; ++n) {
		b.pass(2 * kMs);
		b.idle(high);
		EXPECT_TRUE(b.allowed(low));
		b.pass(1000);
		b.wants(high);
	}
	EXPECT_GE(b.service(low) - before, 7 * params.turn_ns);
	EXPECT_LE(b.service(low) - before, 9 * params.turn_ns);
}

TEST(Qsched, AgeingBringsATurnAndNoMore)
{
	qsched_params params = policy(QSCHED_AGEING);
	params.ageing_ns = kMs;
	params.turn_ns = 2 * kMs;
	Bench b(params);
	const uint16_t low = b.add(kLow), high = b.add(kHigh);
	b.wants(low);
	b.wants(high);
	b.pass(15 * kMs - 1);
	EXPECT_FALSE(b.allowed(low));
	b.pass(1);
	EXPECT_TRUE(b.allowed(low));
	EXPECT_TRUE(b.allowed(high)) << "no more than equal";
	b.pass(2 * kMs - 1);
	EXPECT_TRUE(b.allowed(low));
	b.pass(1);
	EXPECT_FALSE(b.allowed(low));
}

TEST(Qsched, EarliestDeadlineFirst)
{
	Bench b(policy(QSCHED_EDF));
	const uint16_t none = b.add(kHigh), relaxed = b.add(kLow, 1, 10 * kMs),
		       tight = b.add(kLow, 1, 3 * kMs);
	b.wants(none);
	b.wants(relaxed);
	EXPECT_FALSE(b.allowed(none));
	b.pass(8 * kMs);
	b.wants(tight);
	EXPECT_TRUE(b.allowed(relaxed)) << "its deadline is in 2 ms";
	EXPECT_FALSE(b.allowed(tight));
	b.idle(relaxed);
	EXPECT_TRUE(b.allowed(tight));
	b.wants(relaxed);
	EXPECT_TRUE(b.allowed(tight));
	EXPECT_FALSE(b.allowed(relaxed));
	b.idle(tight);
	b.idle(relaxed);
	EXPECT_TRUE(b.allowed(none));
}

/// A queue that always has another job does not keep the deadline of its first one for ever.
TEST(Qsched, EveryJobHasItsDeadline)
{
	Bench b(policy(QSCHED_EDF));
	const uint16_t stream = b.add(kLow, 1, 10 * kMs), other = b.add(kLow, 1, 5 * kMs);
	b.progress(stream, 0, 1);
	b.wants(stream);
	b.pass(6 * kMs);
	b.progress(stream, 1, 2); // its packet is taken, and may still run
	b.wants(other);
	EXPECT_TRUE(b.allowed(stream)) << "4 ms are left of its first job, 5 for the other";
	EXPECT_FALSE(b.allowed(other));
	b.pass(kMs);
	b.progress(stream, 2, 2);
	EXPECT_FALSE(b.allowed(stream)) << "its second job came 1 ms ago: it has 9 ms, the other 4";
	EXPECT_TRUE(b.allowed(other));
	b.idle(other);
	EXPECT_TRUE(b.allowed(stream));
	b.idle(stream);
	// What is written while it is idle is the next job's, whichever is told first.
	b.pass(100 * kMs);
	b.wants(other);
	b.progress(stream, 2, 3);
	b.wants(stream);
	EXPECT_TRUE(b.allowed(other));
	EXPECT_FALSE(b.allowed(stream));
}

TEST(Qsched, MoreJobsThanAreKnownJoinTheLast)
{
	Bench b(policy(QSCHED_EDF));
	const uint16_t queue = b.add(kLow, 1, 10 * kMs);
	b.wants(queue);
	for (uint64_t n = 1; n <= 2 * QSCHED_MAX_JOBS; ++n) {
		b.progress(queue, 0, n);
		b.pass(kMs);
	}
	EXPECT_EQ(b.sched->queues[queue].jobs, unsigned{ QSCHED_MAX_JOBS });
	b.progress(queue, QSCHED_MAX_JOBS, 2 * QSCHED_MAX_JOBS);
	ASSERT_EQ(b.sched->queues[queue].jobs, 1u);
	EXPECT_EQ(b.sched->queues[queue].job[0].arrived_ns, 1000 + (QSCHED_MAX_JOBS - 1) * kMs);
	b.progress(queue, 2 * QSCHED_MAX_JOBS + 1, 2 * QSCHED_MAX_JOBS + 1);
	EXPECT_LE(b.sched->queues[queue].jobs, 1u);
	b.progress(queue, ~uint64_t{ 0 }, 5); // nonsense from user memory
	b.progress(queue, 0, ~uint64_t{ 0 });
	EXPECT_LE(b.sched->queues[queue].jobs, 1u);
}

/// Two queues without deadlines have half of the time each, and one with a deadline is in time: nobody who comes later has to
/// wait for, or gets, what others have used while there was nobody else.
TEST(Qsched, BestEffortHasConstantBandwidth)
{
	qsched_params params = policy(QSCHED_EDF);
	params.budget_ns = 2 * kMs;
	params.period_ns = 10 * kMs;
	Bench b(params);
	const uint16_t one = b.add(kHigh), two = b.add(kLow), urgent = b.add(kLow, 1, 4 * kMs);
	b.wants(one);
	b.pass(kMs);
	b.wants(two);
	b.pass(999 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(one)), 500.0 * kMs, 5.0 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(two)), 500.0 * kMs, 5.0 * kMs);
	for (unsigned n = 0; n < 50; ++n) {
		const uint64_t came = b.now;
		b.wants(urgent);
		while (b.service(urgent) < (n + 1) * kMs && b.now < came + 10 * kMs)
			b.pass(kMs / 10);
		EXPECT_LE(b.now, came + 4 * kMs) << "its deadline";
		b.idle(urgent);
		b.pass(came + 10 * kMs - b.now);
	}
	EXPECT_GT(b.service(one), 600 * kMs);
	// One that has slept does not get what it did not use.
	b.idle(two);
	const uint64_t before = b.service(two);
	b.pass(1003 * kMs); // equal deadlines would share the hardware
	b.wants(two);
	b.pass(100 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(two) - before), 50.0 * kMs, 15.0 * kMs);
	// Without servers it is as before: no deadline, last.
	params.budget_ns = 0;
	qsched_set_params(b.sched.get(), &params);
	b.wants(urgent);
	EXPECT_FALSE(b.allowed(one));
	b.pass(100 * kMs);
	EXPECT_FALSE(b.allowed(one));
}

TEST(Qsched, SharesFollowWeights)
{
	qsched_params params = policy(QSCHED_SHARE);
	params.quantum_ns = kMs;
	Bench b(params);
	const uint16_t three = b.add(kLow, 3), one = b.add(kHigh, 1);
	b.wants(three);
	b.wants(one);
	b.pass(400 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(three)), 300.0 * kMs, 2.0 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(one)), 100.0 * kMs, 2.0 * kMs);
	b.idle(one);
	b.pass(100 * kMs);
	b.wants(one);
	b.pass(40 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(one)), 110.0 * kMs, 2.0 * kMs)
		<< "the past gives no claim";
}

TEST(Qsched, EqualsTakeTurnsOfAQuantum)
{
	qsched_params params = policy(QSCHED_QUANTUM);
	params.quantum_ns = 5 * kMs;
	Bench b(params);
	const uint16_t first = b.add(kLow), second = b.add(kLow), high = b.add(kHigh);
	b.wants(first);
	b.wants(second);
	EXPECT_TRUE(b.allowed(first));
	EXPECT_FALSE(b.allowed(second));
	b.pass(5 * kMs);
	EXPECT_FALSE(b.allowed(first));
	EXPECT_TRUE(b.allowed(second));
	b.wants(high);
	EXPECT_TRUE(b.allowed(high));
	EXPECT_FALSE(b.allowed(second));
	b.idle(high);
	b.pass(50 * kMs);
	EXPECT_NEAR(static_cast<double>(b.service(first)), static_cast<double>(b.service(second)),
		    5.0 * kMs);
}

TEST(Qsched, FullTableAndStrangers)
{
	Bench b(policy(QSCHED_FIXED));
	for (unsigned n = 0; n < QSCHED_MAX_QUEUES; ++n)
		ASSERT_EQ(b.add(200), n);
	EXPECT_EQ(b.add(kLow), QSCHED_NO_QUEUE);
	EXPECT_EQ(b.sched->queues[0].params.priority, kHigh);
	qsched_remove(b.sched.get(), 17);
	EXPECT_FALSE(b.allowed(17));
	EXPECT_EQ(b.wants(17).taken, 0u);
	EXPECT_FALSE(qsched_runnable(b.sched.get(), 17));
	EXPECT_EQ(b.add(kLow), 17u);
	EXPECT_EQ(b.wants(QSCHED_NO_QUEUE).taken, 0u);
	EXPECT_FALSE(b.allowed(QSCHED_MAX_QUEUES));
	qsched_remove(b.sched.get(), QSCHED_MAX_QUEUES);
}

/// Random events under random parameters of each policy.
class QschedAny : public testing::TestWithParam<unsigned>
{
};

TEST_P(QschedAny, HoldsWhateverHappens)
{
	std::mt19937_64 random(GetParam());
	const auto below = [&](uint64_t n) { return random() % n; };
	for (unsigned round = 0; round < 60; ++round) {
		qsched_params params = policy(static_cast<qsched_policy>(GetParam()));
		const auto some = [&] { return below(2) == 0 ? 0 : 1 + below(20 * kMs); };
		params.quantum_ns = 1 + below(5 * kMs);
		params.min_run_ns = some();
		params.hysteresis_ns = some();
		params.starvation_ns = some();
		params.turn_ns = some();
		params.ageing_ns = some();
		params.inherit = below(2) != 0;
		Bench b(params);
		std::vector<uint16_t> queues;
		for (unsigned n = 0; n < 12; ++n)
			queues.push_back(b.add(static_cast<uint8_t>(below(16)),
					       static_cast<uint32_t>(below(4)), some()));
		for (unsigned n = 0; n < 400; ++n) {
			const uint16_t queue = queues[below(queues.size())],
				       other = queues[below(queues.size())];
			const qsched &before = *b.sched;
			std::vector<bool> was;
			for (const uint16_t q : queues)
				was.push_back(qsched_allowed(&before, q));
			const auto type = static_cast<qsched_event_type>(below(QSCHED_TIMER + 1));
			const qsched_decision d = b.event(type, queue, other);
			unsigned taken = 0, returned = 0, runnable = 0, running = 0;
			for (size_t i = 0; i < queues.size(); ++i) {
				taken += was[i] && !b.allowed(queues[i]);
				returned += !was[i] && b.allowed(queues[i]);
				runnable += qsched_runnable(b.sched.get(), queues[i]);
				running += qsched_runnable(b.sched.get(), queues[i]) &&
					   b.allowed(queues[i]);
			}
			EXPECT_EQ(d.taken, taken);
			EXPECT_EQ(d.returned, returned);
			EXPECT_GT(d.timer_ns, b.now);
			const bool held = b.sched->held_until_ns > b.now;
			if (runnable != 0 && !held) {
				EXPECT_NE(running, 0u) << "work, and nobody may do it";
			}
			if (held) {
				EXPECT_LE(d.timer_ns, b.sched->held_until_ns)
					<< "nobody would look when it is over";
			}
			b.pass(below(3) == 0 ? 0 : below(8 * kMs));
			ASSERT_FALSE(HasFailure()) << "round " << round << " event " << n;
		}
	}
}

INSTANTIATE_TEST_SUITE_P(Policies, QschedAny,
			 testing::Range(0u, static_cast<unsigned>(QSCHED_POLICIES)),
			 [](const auto &info) {
				 return std::string(qsched_policy_name(
					 static_cast<qsched_policy>(info.param)));
			 });

} // namespace

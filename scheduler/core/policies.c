// SPDX-License-Identifier: MIT
/* The policies: what makes a queue come before another one. */
#include "policies.h"

static const char *const names[] = {
#define POLICY(id, name, text) name,
#include "policies.def"
#undef POLICY
};

static bool waits(const struct qsched_queue *q)
{
	return q->used && q->wants && !q->blocked;
}

/* fixed: highest priority first. */

static uint64_t by_priority(unsigned int priority)
{
	return priority < QSCHED_MAX_PRIORITY ? QSCHED_MAX_PRIORITY - priority : 0;
}

static uint64_t fixed_key(const struct qsched *sched, uint16_t queue)
{
	return by_priority(sched->queues[queue].params.priority);
}

/* ageing: waiting brings steps of priority. */

static unsigned int ageing_gained(const struct qsched *sched, const struct qsched_queue *q)
{
	uint64_t steps;

	if (sched->params.ageing_ns == 0 || !waits(q))
		return 0;
	if (q->allowed)
		return sched->now_ns - q->since_ns < sched->params.turn_ns ? q->gained : 0;
	steps = (sched->now_ns - qsched_away_since(q)) / sched->params.ageing_ns;
	return steps < QSCHED_MAX_PRIORITY ? (unsigned int)steps : QSCHED_MAX_PRIORITY;
}

static uint64_t ageing_key(const struct qsched *sched, uint16_t queue)
{
	const struct qsched_queue *q = &sched->queues[queue];

	return by_priority(q->params.priority + ageing_gained(sched, q));
}

static uint64_t ageing_next_change(const struct qsched *sched)
{
	uint64_t next = QSCHED_NEVER;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];
		const unsigned int steps = ageing_gained(sched, q);
		uint64_t at;

		if (!waits(q) || sched->params.ageing_ns == 0)
			continue;
		if (q->allowed) {
			if (steps != 0 && sched->params.turn_ns < QSCHED_NEVER - q->since_ns &&
			    q->since_ns + sched->params.turn_ns < next)
				next = q->since_ns + sched->params.turn_ns;
			continue;
		}
		if (q->params.priority + steps >= QSCHED_MAX_PRIORITY)
			continue;
		if (sched->params.ageing_ns > (QSCHED_NEVER - qsched_away_since(q)) / (steps + 1))
			continue;
		at = qsched_away_since(q) + (steps + 1) * sched->params.ageing_ns;
		next = at < next ? at : next;
	}
	return next;
}

/* edf: the deadline of the oldest job, or of the queue's server. */

static bool has_server(const struct qsched *sched, const struct qsched_queue *q)
{
	return q->params.deadline_ns == 0 && sched->params.budget_ns != 0 &&
	       sched->params.period_ns >= sched->params.budget_ns &&
	       sched->params.period_ns <= QSCHED_MAX_PERIOD_NS;
}

/*
 * A server's bandwidth as part of 1 << BANDWIDTH_BITS; QSCHED_MAX_PERIOD_NS keeps all products in
 * 64 bits, and no time counts as more than LONG_NS, two hours.
 */
#define BANDWIDTH_BITS 20
#define LONG_NS 8796093022208ull

static uint64_t bandwidth(const struct qsched *sched)
{
	return (sched->params.budget_ns << BANDWIDTH_BITS) / sched->params.period_ns;
}

static uint64_t served_in(const struct qsched *sched, uint64_t ns)
{
	return (ns < LONG_NS ? ns : LONG_NS) * bandwidth(sched) >> BANDWIDTH_BITS;
}

static uint64_t edf_key(const struct qsched *sched, uint16_t queue)
{
	const struct qsched_queue *q = &sched->queues[queue];
	uint64_t deadline;

	if (!q->wants)
		return QSCHED_NEVER;
	if (has_server(sched, q))
		return q->server_until_ns;
	if (q->params.deadline_ns == 0)
		return QSCHED_NEVER;
	deadline =
		qsched_later(q->jobs ? q->job[0].arrived_ns : q->arrived_ns, q->params.deadline_ns);
	return deadline < QSCHED_NEVER ? deadline : QSCHED_NEVER - 1;
}

/*
 * What is left of the budget may be used until the old deadline only where that is no more than
 * the server's bandwidth.
 */
static void edf_wants(struct qsched *sched, struct qsched_queue *q)
{
	const uint64_t until = q->server_until_ns;

	if (!has_server(sched, q))
		return;
	if (until > sched->now_ns && q->server_left_ns < served_in(sched, until - sched->now_ns))
		return;
	q->server_until_ns = qsched_later(sched->now_ns, sched->params.period_ns);
	q->server_left_ns = sched->params.budget_ns;
}

/*
 * How many servers' bandwidths a time of running costs: as many as have work, so that what the
 * others leave is nobody's loss (Lipari and Baruah, Greedy reclamation of unused bandwidth in
 * constant-bandwidth servers, 2000). 0: all of it, as somebody with a deadline has work, or the
 * servers have no bandwidth to spare.
 */
static unsigned int reclaimed(const struct qsched *sched)
{
	unsigned int servers = 0;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];

		if (!q->used || !q->wants)
			continue;
		if (!has_server(sched, q))
			return 0;
		++servers;
	}
	return servers < sched->params.period_ns / sched->params.budget_ns ? servers : 0;
}

/* A budget that is used up comes again with a later deadline. */
static void edf_ran(const struct qsched *sched, struct qsched_queue *q, uint64_t ns)
{
	unsigned int servers;

	if (!has_server(sched, q))
		return;
	servers = reclaimed(sched);
	if (servers) {
		/* Not nothing: it has to come to an end. */
		const uint64_t part = served_in(sched, ns) * servers + 1;

		ns = part < ns ? part : ns;
	}
	if (ns >= q->server_left_ns) {
		const uint64_t budgets = (ns - q->server_left_ns) / sched->params.budget_ns + 1;

		q->server_left_ns += budgets * sched->params.budget_ns;
		q->server_until_ns =
			budgets > QSCHED_NEVER / sched->params.period_ns ?
				QSCHED_NEVER :
				qsched_later(q->server_until_ns, budgets * sched->params.period_ns);
	}
	q->server_left_ns -= ns;
}

/* When a budget will be used up. */
static uint64_t edf_next_change(const struct qsched *sched)
{
	uint64_t next = QSCHED_NEVER;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];
		uint64_t left = q->server_left_ns, at;
		unsigned int servers;

		if (!waits(q) || !q->allowed || !has_server(sched, q))
			continue;
		servers = reclaimed(sched);
		if (servers && bandwidth(sched))
			left = (left << BANDWIDTH_BITS) / (bandwidth(sched) * servers);
		at = qsched_later(sched->now_ns, left ? left : 1);
		next = at < next ? at : next;
	}
	return next;
}

/* share, quantum: one queue has its turn. */

static bool in_turn(const struct qsched *sched, uint16_t queue)
{
	return sched->turn == queue || sched->turn == QSCHED_NO_QUEUE;
}

static uint64_t share_key(const struct qsched *sched, uint16_t queue)
{
	return in_turn(sched, queue) ? 0 : 1;
}

static uint64_t quantum_key(const struct qsched *sched, uint16_t queue)
{
	return 2 * by_priority(sched->queues[queue].params.priority) +
	       (in_turn(sched, queue) ? 0 : 1);
}

/*
 * Which of the runnable queues comes next: the one that was served least for its weight, or the
 * next one by number of the best priority.
 */
static uint16_t next_turn(const struct qsched *sched, bool share)
{
	uint16_t best = QSCHED_NO_QUEUE;

	for (unsigned int n = 1; n <= sched->top; ++n) {
		const unsigned int from = sched->turn == QSCHED_NO_QUEUE ? n - 1 : sched->turn + n;
		const uint16_t at = (uint16_t)(from % sched->top);
		const struct qsched_queue *q = &sched->queues[at];
		const struct qsched_queue *other;

		if (!waits(q))
			continue;
		if (best == QSCHED_NO_QUEUE) {
			best = at;
			continue;
		}
		other = &sched->queues[best];
		if (share ? q->virtual_ns < other->virtual_ns :
			    q->params.priority > other->params.priority)
			best = at;
	}
	return best;
}

static void take_turns(struct qsched *sched, bool share)
{
	const struct qsched_queue *holder = 0;
	const uint16_t next = next_turn(sched, share);

	if (sched->turn < sched->top)
		holder = &sched->queues[sched->turn];
	if (holder && waits(holder) &&
	    sched->now_ns - sched->turn_since_ns < sched->params.quantum_ns) {
		/* In the middle of its turn only a higher priority displaces it. */
		if (share || next == QSCHED_NO_QUEUE ||
		    sched->queues[next].params.priority <= holder->params.priority)
			return;
	}
	sched->turn = next;
	sched->turn_since_ns = sched->now_ns;
}

static void share_take_turns(struct qsched *sched)
{
	take_turns(sched, true);
}

static void quantum_take_turns(struct qsched *sched)
{
	take_turns(sched, false);
}

static uint64_t turns_next_change(const struct qsched *sched)
{
	unsigned int waiting = 0;

	for (unsigned int n = 0; n < sched->top; ++n)
		waiting += waits(&sched->queues[n]);
	if (waiting < 2)
		return QSCHED_NEVER;
	return qsched_later(sched->turn_since_ns, sched->params.quantum_ns);
}

static const struct qsched_policy_ops ops[QSCHED_POLICIES] = {
	[QSCHED_NONE] = { .all_run = true },
	[QSCHED_FIXED] = { .key = fixed_key, .idle_key = fixed_key },
	[QSCHED_AGEING] = {
		.key = ageing_key,
		.idle_key = fixed_key,
		.next_change = ageing_next_change,
		.gained = ageing_gained,
	},
	[QSCHED_EDF] = {
		.key = edf_key,
		.next_change = edf_next_change,
		.wants = edf_wants,
		.ran = edf_ran,
	},
	[QSCHED_SHARE] = {
		.key = share_key,
		.take_turns = share_take_turns,
		.next_change = turns_next_change,
	},
	[QSCHED_QUANTUM] = {
		.key = quantum_key,
		.idle_key = fixed_key,
		.take_turns = quantum_take_turns,
		.next_change = turns_next_change,
	},
};

const struct qsched_policy_ops *qsched_ops(const struct qsched *sched)
{
	return &ops[(unsigned int)sched->params.policy < QSCHED_POLICIES ? sched->params.policy :
									   QSCHED_NONE];
}

const char *qsched_policy_name(enum qsched_policy policy)
{
	return (unsigned int)policy < QSCHED_POLICIES ? names[policy] : 0;
}

enum qsched_policy qsched_policy_of(const char *name)
{
	for (unsigned int n = 0; n < QSCHED_POLICIES; ++n) {
		const char *own = names[n];
		unsigned int at = 0;

		while (own[at] != 0 && own[at] == name[at])
			++at;
		if (own[at] == name[at])
			return (enum qsched_policy)n;
	}
	return QSCHED_POLICIES;
}

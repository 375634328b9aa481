// SPDX-License-Identifier: MIT
/* The policies: what makes a queue come before another one. */
#include "policies.h"

static const char *const names[] = {
#define POLICY(id, name, text) name,
#include "policies.def"
#undef POLICY
};

const char *qsched_policy_name(enum qsched_policy policy)
{
	return (unsigned int)policy < QSCHED_POLICIES ? names[policy] : 0;
}

enum qsched_policy qsched_policy_of(const char *name)
{
	for (unsigned int n = 0; n < QSCHED_POLICIES; ++n) {
		unsigned int at = 0;

		while (names[n][at] != 0 && names[n][at] == name[at])
			++at;
		if (names[n][at] == name[at])
			return (enum qsched_policy)n;
	}
	return QSCHED_POLICIES;
}

static bool waits(const struct qsched_queue *q)
{
	return q->used && q->wants && !q->blocked;
}

/* Highest priority first. */
static uint64_t by_priority(unsigned int priority)
{
	return priority < QSCHED_MAX_PRIORITY ? QSCHED_MAX_PRIORITY - priority : 0;
}

unsigned int qsched_steps_gained(const struct qsched *sched, const struct qsched_queue *q)
{
	uint64_t steps;

	if (sched->params.policy != QSCHED_AGEING || sched->params.ageing_ns == 0 || !waits(q))
		return 0;
	if (q->allowed)
		return sched->now_ns - q->since_ns < sched->params.turn_ns ? q->gained : 0;
	steps = (sched->now_ns - qsched_away_since(q)) / sched->params.ageing_ns;
	return steps < QSCHED_MAX_PRIORITY ? (unsigned int)steps : QSCHED_MAX_PRIORITY;
}

static bool in_turn(const struct qsched *sched, uint16_t queue)
{
	return sched->turn == queue || sched->turn == QSCHED_NO_QUEUE;
}

uint64_t qsched_key(const struct qsched *sched, uint16_t queue)
{
	const struct qsched_queue *q = &sched->queues[queue];

	switch (sched->params.policy) {
	case QSCHED_FIXED:
		return by_priority(q->params.priority);
	case QSCHED_AGEING:
		return by_priority(q->params.priority + qsched_steps_gained(sched, q));
	case QSCHED_EDF:
		if (q->params.deadline_ns == 0 || !q->wants)
			return QSCHED_NEVER;
		if (q->params.deadline_ns > QSCHED_NEVER - 1 - q->arrived_ns)
			return QSCHED_NEVER - 1;
		return q->arrived_ns + q->params.deadline_ns;
	case QSCHED_SHARE:
		return in_turn(sched, queue) ? 0 : 1;
	case QSCHED_QUANTUM:
		return 2 * by_priority(q->params.priority) + (in_turn(sched, queue) ? 0 : 1);
	case QSCHED_NONE:
	case QSCHED_POLICIES:
		break;
	}
	return 0;
}

/*
 * Which of the runnable queues comes next: the one that was served least for its weight, or the
 * next one by number of the best priority.
 */
static uint16_t next_turn(const struct qsched *sched)
{
	const bool share = sched->params.policy == QSCHED_SHARE;
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

void qsched_take_turns(struct qsched *sched)
{
	const bool share = sched->params.policy == QSCHED_SHARE;
	const struct qsched_queue *holder = 0;
	uint16_t next;

	if (!share && sched->params.policy != QSCHED_QUANTUM)
		return;
	next = next_turn(sched);
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

static uint64_t next_ageing(const struct qsched *sched)
{
	uint64_t next = QSCHED_NEVER;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];
		const unsigned int steps = qsched_steps_gained(sched, q);
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

uint64_t qsched_next_change(const struct qsched *sched)
{
	unsigned int waiting = 0;

	if (sched->params.policy == QSCHED_AGEING)
		return next_ageing(sched);
	if (sched->params.policy != QSCHED_SHARE && sched->params.policy != QSCHED_QUANTUM)
		return QSCHED_NEVER;
	for (unsigned int n = 0; n < sched->top; ++n)
		waiting += waits(&sched->queues[n]);
	if (waiting < 2 || sched->params.quantum_ns > QSCHED_NEVER - sched->turn_since_ns)
		return QSCHED_NEVER;
	return sched->turn_since_ns + sched->params.quantum_ns;
}

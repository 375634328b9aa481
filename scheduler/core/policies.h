/* SPDX-License-Identifier: MIT */
/* What the state machine asks of the policies, and what they may use of it. */
#ifndef QSCHED_POLICIES_H
#define QSCHED_POLICIES_H

#include "qsched.h"

/* What a policy is. A function that is not there does nothing. */
struct qsched_policy_ops {
	/* Every queue may run at any time. */
	bool all_run;
	/* The lesser runs. Ties share the hardware. Not there: all are equal. */
	uint64_t (*key)(const struct qsched *sched, uint16_t queue);
	/*
	 * An idle queue is kept away while one with a lesser idle key runs, as it could begin
	 * before anybody notices. Not there: idle queues may stay.
	 */
	uint64_t (*idle_key)(const struct qsched *sched, uint16_t queue);
	/* Choose whose turn it is. */
	void (*take_turns)(struct qsched *sched);
	/* When keys change though nothing happens; QSCHED_NEVER: they do not. */
	uint64_t (*next_change)(const struct qsched *sched);
	/* It has work, after it had none. */
	void (*wants)(struct qsched *sched, struct qsched_queue *q);
	/* It wanted and was allowed for so long. */
	void (*ran)(const struct qsched *sched, struct qsched_queue *q, uint64_t ns);
	/* Steps of priority that waiting has brought. */
	unsigned int (*gained)(const struct qsched *sched, const struct qsched_queue *q);
};

const struct qsched_policy_ops *qsched_ops(const struct qsched *sched);

static inline uint64_t qsched_key(const struct qsched *sched, uint16_t queue)
{
	return qsched_ops(sched)->key ? qsched_ops(sched)->key(sched, queue) : 0;
}

static inline uint64_t qsched_later(uint64_t time, uint64_t by)
{
	return by > QSCHED_NEVER - time ? QSCHED_NEVER : time + by;
}

/* <0, 0, >0 */
int qsched_compare(struct qsched_rank a, struct qsched_rank b);

/* Since when a queue that may not run has been waiting. */
static inline uint64_t qsched_away_since(const struct qsched_queue *q)
{
	return q->since_ns > q->arrived_ns ? q->since_ns : q->arrived_ns;
}

/* Since when it has had no turn. */
static inline uint64_t qsched_hungry_since(const struct qsched_queue *q)
{
	return q->hungry_ns > q->arrived_ns ? q->hungry_ns : q->arrived_ns;
}

#endif

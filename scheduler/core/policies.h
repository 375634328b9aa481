/* SPDX-License-Identifier: MIT */
/* What the state machine asks of the policies, and what they may use of it. */
#ifndef QSCHED_POLICIES_H
#define QSCHED_POLICIES_H

#include "qsched.h"

/* The lesser runs. Ties share the hardware. */
uint64_t qsched_key(const struct qsched *sched, uint16_t queue);
/* Choose whose turn it is, for policies with turns. */
void qsched_take_turns(struct qsched *sched);
/* When keys change though nothing happens; QSCHED_NEVER: they do not. */
uint64_t qsched_next_change(const struct qsched *sched);

/* A queue of higher priority keeps lower ones away. */
static inline bool qsched_ranks_by_priority(const struct qsched *sched)
{
	return sched->params.policy == QSCHED_FIXED || sched->params.policy == QSCHED_AGEING ||
	       sched->params.policy == QSCHED_QUANTUM;
}

/* ageing: steps of priority that waiting has brought. */
unsigned int qsched_steps_gained(const struct qsched *sched, const struct qsched_queue *q);

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

// SPDX-License-Identifier: MIT
/*
 * The state machine around the policies: time, waiting, inheritance, starvation, hysteresis, and
 * the change of state.
 */
#include "policies.h"

static struct qsched_queue *find(struct qsched *sched, uint16_t queue)
{
	return queue < sched->top && sched->queues[queue].used ? &sched->queues[queue] : 0;
}

static bool runnable(const struct qsched_queue *q)
{
	return q->used && q->wants && !q->blocked;
}

static void note_timer(struct qsched_decision *decision, uint64_t at)
{
	if (at < decision->timer_ns)
		decision->timer_ns = at;
}

int qsched_compare(struct qsched_rank a, struct qsched_rank b)
{
	if (a.step != b.step)
		return a.step < b.step ? -1 : 1;
	if (a.key != b.key)
		return a.key < b.key ? -1 : 1;
	return 0;
}

void qsched_init(struct qsched *sched, const struct qsched_params *params, uint64_t now_ns)
{
	qsched_set_params(sched, params);
	sched->now_ns = now_ns;
	sched->turn_since_ns = now_ns;
	sched->held_priority = 0;
	sched->top = 0;
}

void qsched_set_params(struct qsched *sched, const struct qsched_params *params)
{
	sched->params = *params;
	sched->turn = QSCHED_NO_QUEUE;
	sched->held_until_ns = 0;
	sched->next_turn_ns = 0;
	sched->boost_until_ns = 0;
	sched->next_boost_ns = 0;
}

/* Queues may have turns that their rank does not bring. */
static bool has_turns(const struct qsched *sched)
{
	return sched->params.starvation_ns != 0 && sched->params.turn_ns != 0;
}

/* When there may be another one after one that begins now. */
static uint64_t after_turn(const struct qsched *sched)
{
	return qsched_later(qsched_later(sched->now_ns, sched->params.turn_ns),
			    sched->params.starvation_ns);
}

static struct qsched_queue_params checked(const struct qsched_queue_params *params)
{
	struct qsched_queue_params out = *params;

	if (out.priority > QSCHED_MAX_PRIORITY)
		out.priority = QSCHED_MAX_PRIORITY;
	if (out.weight == 0)
		out.weight = 1;
	return out;
}

/* A queue that comes to turns late has no claim on those of the past. */
static uint64_t least_virtual(const struct qsched *sched)
{
	uint64_t least = QSCHED_NEVER;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];

		if (runnable(q) && q->virtual_ns < least)
			least = q->virtual_ns;
	}
	return least == QSCHED_NEVER ? 0 : least;
}

uint16_t qsched_add(struct qsched *sched, const struct qsched_queue_params *params)
{
	for (uint16_t n = 0; n < QSCHED_MAX_QUEUES; ++n) {
		if (n < sched->top && sched->queues[n].used)
			continue;
		if (n == sched->top)
			++sched->top;
		sched->queues[n] = (struct qsched_queue){
			.used = true,
			.allowed = true,
			.params = checked(params),
			.waits_for = QSCHED_NO_QUEUE,
			.arrived_ns = sched->now_ns,
			.since_ns = sched->now_ns,
			.hungry_ns = sched->now_ns,
		};
		return n;
	}
	return QSCHED_NO_QUEUE;
}

void qsched_remove(struct qsched *sched, uint16_t queue)
{
	struct qsched_queue *gone = find(sched, queue);

	if (!gone)
		return;
	gone->used = false;
	if (sched->turn == queue)
		sched->turn = QSCHED_NO_QUEUE;
	for (unsigned int n = 0; n < sched->top; ++n)
		if (sched->queues[n].waits_for == queue)
			sched->queues[n].waits_for = QSCHED_NO_QUEUE;
}

void qsched_update(struct qsched *sched, uint16_t queue, const struct qsched_queue_params *params)
{
	struct qsched_queue *q = find(sched, queue);

	if (q)
		q->params = checked(params);
}

/* Everything up to now_ns happened in the state in which the queues are. */
static void pass_time(struct qsched *sched, uint64_t now_ns)
{
	if (now_ns <= sched->now_ns)
		return;
	for (unsigned int n = 0; n < sched->top; ++n) {
		struct qsched_queue *q = &sched->queues[n];

		if (!runnable(q) || !q->allowed)
			continue;
		if (qsched_ops(sched)->ran)
			qsched_ops(sched)->ran(sched, q, now_ns - sched->now_ns);
		q->service_ns += now_ns - sched->now_ns;
		q->virtual_ns += (now_ns - sched->now_ns) / q->params.weight;
	}
	sched->now_ns = now_ns;
}

/* The last queue of its priority goes: those below wait a while for it. */
static void hold(struct qsched *sched, const struct qsched_queue *q)
{
	const uint64_t until = qsched_later(sched->now_ns, sched->params.hysteresis_ns);

	if (sched->params.hysteresis_ns == 0 || !q->allowed || !qsched_ops(sched)->idle_key)
		return;
	if (sched->held_until_ns > sched->now_ns && sched->held_priority > q->params.priority)
		return;
	sched->held_priority = q->params.priority;
	sched->held_until_ns = until;
}

/*
 * A job that has come, and those of which nothing is left. The last packet of a job may still be
 * executed when it has been taken: a job is over when the next one has begun.
 */
static void take_progress(struct qsched *sched, struct qsched_queue *q,
			  const struct qsched_event *event)
{
	unsigned int over = 0;

	if (event->written > q->written) {
		if (q->jobs < QSCHED_MAX_JOBS)
			q->job[q->jobs++].arrived_ns = sched->now_ns;
		q->job[q->jobs - 1].end = event->written;
	}
	q->written = event->written;
	while (over < q->jobs && q->job[over].end < event->read)
		++over;
	for (unsigned int n = over; over != 0 && n < q->jobs; ++n)
		q->job[n - over] = q->job[n];
	q->jobs -= over;
}

static void take_event(struct qsched *sched, const struct qsched_event *event)
{
	struct qsched_queue *q = find(sched, event->queue);

	if (!q)
		return;
	switch (event->type) {
	case QSCHED_WANTS:
		if (q->wants)
			break;
		if (q->virtual_ns < least_virtual(sched))
			q->virtual_ns = least_virtual(sched);
		q->wants = true;
		q->arrived_ns = sched->now_ns;
		if (qsched_ops(sched)->wants)
			qsched_ops(sched)->wants(sched, q);
		break;
	case QSCHED_IDLE:
		if (runnable(q))
			hold(sched, q);
		q->wants = false;
		q->blocked = false;
		q->waits_for = QSCHED_NO_QUEUE;
		q->turn_until_ns = 0;
		q->jobs = 0;
		break;
	case QSCHED_BLOCKED:
		q->blocked = true;
		q->waits_for = event->other;
		break;
	case QSCHED_UNBLOCKED:
		q->blocked = false;
		q->waits_for = QSCHED_NO_QUEUE;
		break;
	case QSCHED_PROGRESS:
		take_progress(sched, q, event);
		break;
	case QSCHED_TIMER:
		break;
	}
}

/*
 * A queue that has been away for too long gets a turn by itself, one queue at a time: the one that
 * has waited longest. The distance between turns does not depend on how many wait for one.
 */
static void give_turns(struct qsched *sched)
{
	struct qsched_queue *longest = 0;

	if (!has_turns(sched))
		return;
	for (unsigned int n = 0; n < sched->top; ++n) {
		struct qsched_queue *q = &sched->queues[n];

		if (!q->used)
			continue;
		if (q->turn_until_ns > sched->now_ns)
			return;
		q->turn_until_ns = 0;
		if (!runnable(q) || q->allowed ||
		    sched->now_ns - qsched_hungry_since(q) < sched->params.starvation_ns)
			continue;
		if (!longest || qsched_hungry_since(q) < qsched_hungry_since(longest))
			longest = q;
	}
	if (!longest || sched->next_turn_ns > sched->now_ns)
		return;
	longest->turn_until_ns = qsched_later(sched->now_ns, sched->params.turn_ns);
	sched->next_turn_ns = after_turn(sched);
}

/* The best of those that wait for somebody who is not known. */
static const struct qsched_queue *waits_for_anybody(struct qsched *sched)
{
	const struct qsched_queue *best = 0;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];

		if (q->used && q->wants && q->blocked && !find(sched, q->waits_for) &&
		    (!best || qsched_compare(q->rank, best->rank) < 0))
			best = q;
	}
	return best;
}

/* Nobody above who waits has work, and somebody is kept away who may be waited for. */
static bool boost_helps(const struct qsched *sched, struct qsched_rank rank)
{
	const struct qsched_queue *best = 0, *last = 0;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];

		if (!runnable(q))
			continue;
		if (!best || qsched_compare(q->rank, best->rank) < 0)
			best = q;
		if (!last || qsched_compare(q->rank, last->rank) > 0)
			last = q;
	}
	return best && qsched_compare(rank, best->rank) <= 0 &&
	       qsched_compare(best->rank, last->rank) < 0;
}

/*
 * Who is waited for may be a queue of another process, or further back in its ring than anybody
 * looks. All that are kept away get one turn together with the rank of who waits, which displaces
 * nobody of those that run. There are so few of these turns because anybody can wait for a signal
 * that never comes. They have a distance of their own: otherwise who does that would take the turns
 * of those that starve.
 */
static void boost(struct qsched *sched)
{
	const struct qsched_queue *waiter;

	if (!has_turns(sched) || sched->held_until_ns > sched->now_ns)
		return;
	waiter = waits_for_anybody(sched);
	if (!waiter || !boost_helps(sched, waiter->rank))
		return;
	if (sched->boost_until_ns <= sched->now_ns) {
		if (sched->next_boost_ns > sched->now_ns)
			return;
		sched->boost_until_ns = qsched_later(sched->now_ns, sched->params.turn_ns);
		sched->next_boost_ns = after_turn(sched);
	}
	for (unsigned int n = 0; n < sched->top; ++n) {
		struct qsched_queue *q = &sched->queues[n];

		if (runnable(q) && qsched_compare(waiter->rank, q->rank) < 0)
			q->rank = waiter->rank;
	}
}

static void rank_queues(struct qsched *sched)
{
	if (qsched_ops(sched)->take_turns)
		qsched_ops(sched)->take_turns(sched);
	for (unsigned int n = 0; n < sched->top; ++n) {
		struct qsched_queue *q = &sched->queues[n];

		if (!q->used)
			continue;
		q->rank.step = q->turn_until_ns > sched->now_ns ? 0 : 1;
		q->rank.key = qsched_key(sched, (uint16_t)n);
	}
	if (!sched->params.inherit)
		return;
	/* A chain has at most as many links as there are queues, a circular one too. */
	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *from = &sched->queues[n];
		const bool waits = from->used && from->wants && from->blocked;
		struct qsched_queue *owner = waits ? find(sched, from->waits_for) : 0;

		for (unsigned int length = 0; owner && length < sched->top; ++length) {
			if (qsched_compare(from->rank, owner->rank) < 0)
				owner->rank = from->rank;
			owner = owner->wants && owner->blocked ? find(sched, owner->waits_for) : 0;
		}
	}
	boost(sched);
}

static bool idle_may_stay(const struct qsched *sched, const struct qsched_queue *q,
			  const struct qsched_queue *best)
{
	const struct qsched_policy_ops *ops = qsched_ops(sched);

	return !ops->idle_key || ops->idle_key(sched, (uint16_t)(q - sched->queues)) <=
					 ops->idle_key(sched, (uint16_t)(best - sched->queues));
}

static bool should_run(const struct qsched *sched, const struct qsched_queue *q,
		       const struct qsched_queue *best)
{
	if (qsched_ops(sched)->all_run)
		return true;
	if (best && !runnable(q) && !q->blocked)
		return idle_may_stay(sched, q, best);
	if (best && qsched_compare(q->rank, best->rank) > 0)
		return false;
	if (q->rank.step != 0 && sched->held_until_ns > sched->now_ns &&
	    q->params.priority < sched->held_priority)
		return best && sched->params.inherit &&
		       q->rank.key != qsched_key(sched, (uint16_t)(q - sched->queues));
	return true;
}

/* When a queue that is kept away may get a turn, if it is the next. */
static uint64_t turn_comes(const struct qsched *sched, const struct qsched_queue *q)
{
	const uint64_t starved = qsched_later(qsched_hungry_since(q), sched->params.starvation_ns);
	const uint64_t at = starved > sched->next_turn_ns ? starved : sched->next_turn_ns;

	return at > sched->now_ns ? at : qsched_later(sched->now_ns, sched->params.turn_ns);
}

static void decide(struct qsched *sched, struct qsched_decision *decision)
{
	const struct qsched_queue *best = 0;

	for (unsigned int n = 0; n < sched->top; ++n) {
		const struct qsched_queue *q = &sched->queues[n];

		if (runnable(q) && (!best || qsched_compare(q->rank, best->rank) < 0))
			best = q;
	}
	if (sched->held_until_ns > sched->now_ns)
		note_timer(decision, sched->held_until_ns);
	if (sched->boost_until_ns > sched->now_ns)
		note_timer(decision, sched->boost_until_ns);
	else if (sched->next_boost_ns > sched->now_ns)
		note_timer(decision, sched->next_boost_ns);
	for (unsigned int n = 0; n < sched->top; ++n) {
		struct qsched_queue *q = &sched->queues[n];
		const uint64_t stays_until = qsched_later(q->since_ns, sched->params.min_run_ns);
		bool run;

		if (!q->used)
			continue;
		run = should_run(sched, q, best);
		if (q->allowed && !run && runnable(q) && stays_until > sched->now_ns) {
			note_timer(decision, stays_until);
			run = true;
		}
		if (run != q->allowed) {
			q->gained = (uint8_t)(run && qsched_ops(sched)->gained ?
						      qsched_ops(sched)->gained(sched, q) :
						      0);
			if (!run && sched->now_ns - q->since_ns >= sched->params.turn_ns)
				q->hungry_ns = sched->now_ns;
			q->allowed = run;
			q->since_ns = sched->now_ns;
			decision->taken += !run;
			decision->returned += run;
		}
		if (q->turn_until_ns > sched->now_ns)
			note_timer(decision, q->turn_until_ns);
		if (runnable(q) && !run && has_turns(sched))
			note_timer(decision, turn_comes(sched, q));
	}
	if (qsched_ops(sched)->next_change)
		note_timer(decision, qsched_ops(sched)->next_change(sched));
}

struct qsched_decision qsched_handle(struct qsched *sched, const struct qsched_event *event)
{
	struct qsched_decision decision = { 0, 0, QSCHED_NEVER };

	pass_time(sched, event->now_ns);
	take_event(sched, event);
	give_turns(sched);
	rank_queues(sched);
	decide(sched, &decision);
	return decision;
}

bool qsched_allowed(const struct qsched *sched, uint16_t queue)
{
	return queue < sched->top && sched->queues[queue].used && sched->queues[queue].allowed;
}

bool qsched_runnable(const struct qsched *sched, uint16_t queue)
{
	return queue < sched->top && runnable(&sched->queues[queue]);
}

/* SPDX-License-Identifier: MIT */
/*
 * Which compute queues may run: a state machine that is fed with events and says which queues have
 * to be taken from the hardware, which may come back, and when it wants to be asked again.
 *
 * Freestanding C11: no allocation, no locks, no floating point, no calls to anything outside. The
 * same files are compiled into the kernel module, the simulator and the tests, in C. Times are
 * nanoseconds of one monotonic clock that the caller reads; it must not go back. The caller
 * serialises the calls for one struct qsched.
 *
 * A queue "wants" when it has packets that the hardware has not finished. It is "blocked" while its
 * head packet waits for another queue. It is "runnable" when it wants and is not blocked: only
 * runnable queues displace others, so that a queue of high priority that waits for one of low
 * priority does not take away what it waits for.
 */
#ifndef QSCHED_H
#define QSCHED_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

enum { QSCHED_MAX_QUEUES = 256, QSCHED_MAX_PRIORITY = 15, QSCHED_NO_QUEUE = 0xffff };

#define QSCHED_NEVER (~(uint64_t)0)
#define QSCHED_MAX_PERIOD_NS 100000000000ull

enum qsched_policy {
#define POLICY(id, name, text) QSCHED_##id,
#include "policies.def"
#undef POLICY
	QSCHED_POLICIES
};

struct qsched_params {
	enum qsched_policy policy;
	/* quantum, share: a queue whose rank others share keeps its turn so long. */
	uint64_t quantum_ns;
	/* A queue that came back is not taken again before, whoever waits. */
	uint64_t min_run_ns;
	/*
	 * When the last queue of a rank has become idle, lower ones stay away for so long: it may
	 * come again at once.
	 */
	uint64_t hysteresis_ns;
	/*
	 * A queue that wants and has been away for so long gets a turn of turn_ns by itself; 0:
	 * never. To be back for less than turn_ns does not count: it may not even have been
	 * restored by then. After a turn there is none for so long, so that the others keep their
	 * part of the time however many queues starve; those have their turns one after another.
	 */
	uint64_t starvation_ns;
	uint64_t turn_ns;
	/*
	 * ageing: waiting so long is worth one step of priority, which lasts for turn_ns after the
	 * queue has come back.
	 */
	uint64_t ageing_ns;
	/*
	 * edf: a queue without a deadline has a constant bandwidth server, budget_ns of each
	 * period_ns, and competes by the server's deadline. 0: such queues come after all others.
	 * Abeni and Buttazzo, Integrating Multimedia Applications in Hard Real-Time Systems, 1998.
	 * A period of more than QSCHED_MAX_PERIOD_NS, or less than the budget, counts as 0.
	 */
	uint64_t budget_ns;
	uint64_t period_ns;
	/*
	 * A queue that others wait for has the best of their ranks. When it is not known, it may be
	 * any: for a turn of turn_ns all queues that come after them have that rank, beside those
	 * that run. After such a turn there is none for starvation_ns, whoever waits.
	 */
	bool inherit;
};

struct qsched_queue_params {
	/* 0 (lowest) to QSCHED_MAX_PRIORITY, as in KFD's ioctl; more counts as the highest. */
	uint8_t priority;
	/* share: part of the time in relation to others'; 0 counts as 1. */
	uint32_t weight;
	/* edf: each of its jobs has to be done so long after it came; 0: none. */
	uint64_t deadline_ns;
};

enum qsched_event_type {
	/* It has work, after it had none. */
	QSCHED_WANTS,
	/* All its work is done. */
	QSCHED_IDLE,
	/*
	 * Its head packet waits for a signal; other: the queue that will give it, QSCHED_NO_QUEUE
	 * when that is not known.
	 */
	QSCHED_BLOCKED,
	/* It does not wait any more. */
	QSCHED_UNBLOCKED,
	/*
	 * How far it is, in packets or dwords, before or after QSCHED_WANTS: written have come,
	 * read have been taken by the hardware. What has come since the last such event is a job.
	 */
	QSCHED_PROGRESS,
	/* Nothing but time has passed. */
	QSCHED_TIMER,
};

struct qsched_event {
	enum qsched_event_type type;
	uint16_t queue;
	uint16_t other;
	uint64_t now_ns;
	uint64_t read, written;
};

struct qsched_decision {
	/* Numbers of queues whose qsched_allowed() has changed. */
	unsigned int taken, returned;
	/* Send QSCHED_TIMER then, unless another event comes first; QSCHED_NEVER: not needed. */
	uint64_t timer_ns;
};

/* What counts in comparing two queues: the lesser one runs. Equal ranks share the hardware. */
struct qsched_rank {
	/* 0: it has its turn against starvation. */
	uint32_t step;
	uint64_t key;
};

/* Of so many jobs a queue knows when each came; what comes beside them joins the last. */
#define QSCHED_MAX_JOBS 8

struct qsched_job {
	uint64_t end; /* of what had been written when it came */
	uint64_t arrived_ns;
};

struct qsched_queue {
	bool used, wants, blocked, allowed;
	struct qsched_queue_params params;
	uint8_t gained; /* ageing: steps of priority with which it came back, for turn_ns */
	uint16_t waits_for;
	uint64_t arrived_ns;	/* when its present work came */
	uint64_t since_ns;	/* when allowed changed */
	uint64_t hungry_ns;	/* when it was last taken after turn_ns or more of being allowed */
	uint64_t turn_until_ns; /* its turn against starvation; 0: none */
	uint64_t service_ns;	/* how long it wanted and was allowed */
	uint64_t virtual_ns;	/* share: service in relation to weight */
	uint64_t written;	/* by the last QSCHED_PROGRESS */
	unsigned int jobs;
	struct qsched_job job[QSCHED_MAX_JOBS]; /* the oldest first */
	uint64_t server_until_ns;		/* edf: deadline of its server */
	uint64_t server_left_ns;		/* what is left of the budget until then */
	struct qsched_rank rank;
};

struct qsched {
	struct qsched_params params;
	uint64_t now_ns;
	/* quantum, share: whose turn it is, and since when. */
	uint16_t turn;
	uint64_t turn_since_ns;
	/* What lower ranks have to respect until held_until_ns though nobody of it is runnable. */
	uint8_t held_priority;
	uint64_t held_until_ns;
	/* No turn against starvation before. */
	uint64_t next_turn_ns;
	/* Until then anybody may be the one that is waited for; and no such turn before. */
	uint64_t boost_until_ns;
	uint64_t next_boost_ns;
	uint16_t top; /* queues beyond have never been used */
	struct qsched_queue queues[QSCHED_MAX_QUEUES];
};

/* The name as it is written in parameters; NULL when there is no such policy. */
const char *qsched_policy_name(enum qsched_policy policy);
/* QSCHED_POLICIES when no policy has that name. */
enum qsched_policy qsched_policy_of(const char *name);

void qsched_init(struct qsched *sched, const struct qsched_params *params, uint64_t now_ns);
/* Other rules from now on; the queues stay. */
void qsched_set_params(struct qsched *sched, const struct qsched_params *params);

/*
 * A new queue, idle and allowed, since the last event: precede it with a QSCHED_TIMER event.
 * Returns its number, QSCHED_NO_QUEUE when there are too many.
 */
uint16_t qsched_add(struct qsched *sched, const struct qsched_queue_params *params);
/* Gone: whoever waits for it waits for somebody unknown. Follow it with a QSCHED_TIMER event. */
void qsched_remove(struct qsched *sched, uint16_t queue);
/* Other priority, weight or deadline. Follow it with a QSCHED_TIMER event. */
void qsched_update(struct qsched *sched, uint16_t queue, const struct qsched_queue_params *params);

/* Events for queues that do not exist only let time pass. */
struct qsched_decision qsched_handle(struct qsched *sched, const struct qsched_event *event);

/* The queue may have the hardware. */
bool qsched_allowed(const struct qsched *sched, uint16_t queue);
/* It has work and waits for nobody. */
bool qsched_runnable(const struct qsched *sched, uint16_t queue);

#endif

/*
 * gang_job.h - a job of a shared cluster: a gang of GPUs that starts and stops as a whole.
 *
 * Times are whole microseconds, so that two events at one instant compare equal and a run repeats
 * bit by bit. A trace keeps its jobs in the order of FIFO: by submission, then by number.
 */
#pragma once

#include "sim/base/ground.h"

#define ORR_GANG_US_PER_S 1e6
/* The longest time that a trace may state, in seconds (30 years), so that sums do not overflow. */
#define ORR_GANG_MOST_S 1e9
/* Where the clock of a run with failures ends (127,000 years): what would fail later never does, so
 * a run that comes there is given up. */
#define ORR_GANG_END_S 4e12

/* Resources that jobs request besides nodes: counted over the whole cluster. */
enum { ORR_GANG_GPUS, ORR_GANG_CPUS, ORR_GANG_MEMORY, ORR_GANG_RESOURCES };
enum { ORR_GANG_KINDS = 8 }; /* most kinds of GPUs of a cluster */

/* Where a gang sits: @gpus of node @bin. */
typedef struct {
  guint32 bin;
  gint32 gpus;
} OrrGangShare;

/* A job whose speed changes while it runs: one that raises its batch size as its
 * gradients allow does more samples in the same time.
 *
 *   phases of a trace: 0.25:1.5|0.75:2      1 |        _______
 *                                             |   ____|       1.5, then 2 times the first speed
 *                                             |__|______________
 *                                              0 .25  .75     1   of its work
 *
 * The run time in the trace is the one at the first speed; the job takes the sum of width / speed
 * of it. A scheduler does not know what is to come: it sees the work that is left at the present
 * speed. */
typedef struct {
  double from, speed; /* from this fraction of the work on; relative to the first */
} OrrGangPhase;

typedef struct OrrGangPhases {
  guint n;
  OrrGangPhase *at; /* the first from 0, at speed 1 */
} OrrGangPhases;

/* "FROM:SPEED|FROM:SPEED|...", FROM rising within (0, 1), SPEED above 0. NULL: the text is not of
 * this form. */
OrrGangPhases *orr_gang_phases_read(const char *text);
void orr_gang_phases_free(OrrGangPhases *phases);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGangPhases, orr_gang_phases_free)

/* Its run time over that at the first speed. */
double orr_gang_phases_time(const OrrGangPhases *phases);
/* Where it is once @left of this run time (again over that at the first speed) is left. */
guint orr_gang_phases_index(const OrrGangPhases *phases, double left);
/* The run time that is left as a scheduler sees it: all of its work at the present speed. */
double orr_gang_phases_seen(const OrrGangPhases *phases, double left);

typedef struct {
  const char *id, *user, *queue, *model; /* of the trace's chunk; "" where the trace has none */
  gint64 number;                         /* the id as a number, or the row: breaks ties */
  gint64 submit_us, work_us;             /* work: run time without interruption */
  gint64 limit_us;                       /* time limit, at which it is stopped; 0: none */
  gint64 restart_us;    /* it takes to run again after a preemption; -1: the policy's */
  gint64 checkpoint_us; /* work from checkpoint to checkpoint; 0: none is lost; -1: the policy's */
  gint64 checkpoint_cost_us; /* the time that one takes; -1: the policy's */
  gint64 detection_us; /* from a failure until it is noticed; -1: as workload.failures has it */
  double priority;     /* the higher, the earlier; 0 where the trace has none */
  gint64 run_us;       /* set by a run: its work, or the limit if that is less */
  gint64 saving_us;    /* set by a run: what its checkpoints take, on top of that */
  gint64 saved_us;     /* part of overhead_us, once it has ended: checkpoints that counted */
  gint64 gpus;
  double cpus, memory_bytes;    /* of the whole gang; 0: not stated */
  gint64 asked_gpus;            /* set by a run: gpus as the trace has them, gpus its last size */
  gint64 min_gpus, max_gpus;    /* of an elastic gang; 0: gpus */
  gint64 segment;               /* nodes that must share a block; 0: the placement's */
  double steps;                 /* of its training; 0: not stated */
  const OrrGangPhases *phases;  /* its speed as it goes on; NULL: constant */
  const char *after;            /* ids of jobs that must have ended, "1|2"; NULL or "": none */
  double rates[ORR_GANG_KINDS]; /* work per time on each kind of GPU; 0: it cannot run there */
  guint account;                /* of its user, where the order goes by usage (gang_account.c) */
  /* The results of a run. While it waits, @left_us is what remains; while it runs, @end_us says. */
  gint64 left_us, first_start_us, end_us; /* first_start_us -1: it has not started */
  gint64 promised_us;                     /* the first start that backfill promised; -1: none */
  gint64 planned_us;                      /* conservative: its start as now planned */
  gint64 done_us;                         /* work that no preemption can take back */
  gint64 overhead_us;                     /* run time beyond the work: restarts, work done again */
  guint preemptions;
  double key;            /* its place in the order, where that drifts: at the last sort */
  guint queue_index;     /* in the tree of queues */
  guint level;           /* of an order with turns: its queue, */
  guint64 turn;          /* and its place there */
  guint kind;            /* of its GPUs while it runs */
  guint n_after;         /* jobs that it still waits for */
  gint64 started_us;     /* its last start */
  gint64 since_us;       /* until then its time and energy are booked */
  gint64 held_us;        /* booked: the time that it had its GPUs */
  double rate;           /* work per time while it runs, by kind and size of its gang; its place
                          * slows that down: rate / slow. 1 on the trace's own machine */
  gboolean is_cancelled; /* preempted for good */
  gboolean is_timed_out; /* its limit cuts its work */
  gboolean is_suspended; /* preempted; it keeps its place in memory and goes on there */
  gboolean is_running;
  gboolean goes_on;   /* within a pass that gives out all places: it ran until now */
  gboolean is_chosen; /* within a pass of an order that preempts: it is to run */
  GArray *shares;     /* of OrrGangShare, while it runs; NULL: it never ran */
  guint n_nodes;      /* of its last start */
  /* What its place does to it (gang_speed.h); 0 and NULL where run times are as given. */
  double slow; /* times as long as without its place does its work take now */
  const struct OrrGangPace *pace;
  gint64 slowed_us; /* of held_us, what its places took beyond its work; once it has ended */
  double paced_us;  /* booked: the same, as its paces had it */
  /* The same sums in GPUs x time, of gangs that change their size. */
  double held_gpu_us, overhead_gpu_us, failed_gpu_us, paced_gpu_us;
  double run_gpu_us;      /* of run_us in GPUs x time, whatever its sizes were; once it has ended */
  gint64 restart_us_due;  /* time that its next start takes first, */
  gint64 restart_work_us; /* and what left_us has for that */
  gint64 restart_gpus;    /* for as many the overhead has it */
  gboolean restart_fails; /* a failure brought it: it is in failed_us */
  double energy_j;        /* booked: of its GPUs; NAN: not known */
  gint64 fail_us;         /* its present attempt fails by itself; G_MAXINT64: never */
  gint64 failed_us;       /* part of overhead_us that is due to failures */
  guint failures;         /* that stopped it, */
  guint in_vain;          /* and the last of them, since it last kept some work */
  double demand_begin;    /* OrrGangTotals.demand at its submission; -1: not yet in the queue */
  double demand;          /* the same over its life, once it has ended */
  guint index;            /* in the trace */
  guint span;             /* its open span in the history, from 1; 0: none */
} OrrGangJob;

/* The run time at which @job is stopped: its own limit or the policy's, @policy_us; 0: none. */
static inline gint64 orr_gang_job_limit_us(const OrrGangJob *job, gint64 policy_us) {
  if (job->limit_us <= 0 || policy_us <= 0) return MAX(job->limit_us, policy_us);
  return MIN(job->limit_us, policy_us);
}

/* The time after which the scheduler counts on its end: the limit, or the true run time; at least
 * one microsecond, so that a job without work has a place in a plan. */
static inline gint64 orr_gang_job_estimate_us(const OrrGangJob *job) {
  return job->limit_us > 0 ? job->limit_us : MAX(job->work_us + job->saving_us, 1);
}

/* When the scheduler counts on the end of @job, which runs: its first start and the estimate. Of a
 * job that its place slows or that has failed it knows its limit, counted from its last start, or
 * its true end. */
static inline gint64 orr_gang_job_expected_us(const OrrGangJob *job) {
  if (job->slow == 0 && job->failures == 0)
    return job->first_start_us + orr_gang_job_estimate_us(job);
  return job->limit_us > 0 ? job->started_us + job->limit_us : job->end_us;
}

/* The rest of the work of @job at @now_us. */
static inline gint64 orr_gang_job_left_us(const OrrGangJob *job, gint64 now_us) {
  if (!job->is_running) return job->left_us;
  const gint64 time_us = job->end_us - now_us;
  const double slow = job->slow > 0 ? job->slow : 1;
  return job->rate == slow ? time_us : llround((double)time_us * job->rate / slow);
}

/* GPU-microseconds that @job has received until @now_us, overheads included: the time for which it
 * had its GPUs, whatever its place made of it. So it grows by `gpus` per microsecond, exactly. */
static inline double orr_gang_job_attained(const OrrGangJob *job, gint64 now_us) {
  const gint64 span_us = job->is_running ? now_us - job->since_us : 0;
  return (double)job->gpus * (double)(job->held_us + span_us);
}

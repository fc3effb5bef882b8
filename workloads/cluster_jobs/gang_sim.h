/*
 * gang_sim.h - the event simulation of jobs on a cluster.
 *
 *   submit --> waiting --(fits, in order)--> running --(work done, or limit)--> ended
 *                 ^                             |
 *                 +--------- preempted ---------+      (orders that preempt)
 *
 * Invariants:
 *  1. At every instant the GPUs held on each node are at most the node's.
 *  2. A gang starts, stops and is preempted as a whole.
 *  3. With strict order and no backfill, no job starts before one that precedes it.
 *  4. EASY: the start promised to the first waiting job never moves later.
 *  5. Conservative: no waiting job's promised start moves later, unless ends do: where places slow
 *     jobs or nodes fail.
 *  6. No queue has more GPUs than its quota and what it may borrow; what a queue may not lend, no
 *     other queue has.
 *  7. A job ends after it has run for its work, whatever interrupted it, or at its limit, and for
 *     what preemptions cost it.
 *
 * At one instant all ends come first, then all submissions, then one pass over the queue.
 */
#ifndef ORR_GANG_SIM_H
#define ORR_GANG_SIM_H

#include "workloads/cluster_jobs/gang_bins.h"
#include "workloads/cluster_jobs/gang_failures.h"
#include "workloads/cluster_jobs/gang_history.h"
#include "workloads/cluster_jobs/gang_order.h"
#include "workloads/cluster_jobs/gang_queue.h"
#include "workloads/cluster_jobs/gang_speed.h"

G_BEGIN_DECLS

typedef enum {
  ORR_BACKFILL_NONE,
  ORR_BACKFILL_EASY,
  ORR_BACKFILL_CONSERVATIVE,
  ORR_BACKFILL_WINDOW
} OrrBackfill;
extern const char *const orr_backfill_words[]; /* "none", "easy", "conservative", "window", NULL */
typedef enum { ORR_BLOCKED_WAIT, ORR_BLOCKED_SKIP } OrrBlocked;
extern const char *const orr_blocked_words[]; /* "wait", "skip", NULL */

typedef enum { ORR_CHARGE_PREEMPTED, ORR_CHARGE_EVENTS } OrrCharge;
extern const char *const orr_charge_words[]; /* "preempted", "events", NULL */

/* What becomes of a preempted gang. */
typedef enum {
  ORR_PREEMPT_REQUEUE, /* it waits, and goes on from its last checkpoint */
  ORR_PREEMPT_CANCEL,  /* it ends, and what it did is lost */
  ORR_PREEMPT_SUSPEND, /* it stays in memory, and goes on where it was */
  ORR_PREEMPT_SHRINK   /* an elastic gang goes on with its fewest GPUs; others are requeued */
} OrrPreemptMode;
extern const char *const orr_preempt_mode_words[];

/* Which running jobs a waiting one of the same queue may take GPUs from. */
typedef enum { ORR_TAKE_NEVER, ORR_TAKE_LOWER_PRIORITY } OrrTake;
extern const char *const orr_take_words[];

/* What makes a better victim; the first criterion that differs decides. */
typedef enum {
  ORR_VICTIM_BORROWING, /* its queue uses more than its quota */
  ORR_VICTIM_LOWEST_PRIORITY,
  ORR_VICTIM_NEWEST,     /* it started last */
  ORR_VICTIM_LEAST_LOST, /* it loses the least GPU time */
  ORR_VICTIM_FEWEST_GPUS,
  ORR_VICTIM_MOST_GPUS
} OrrVictim;
extern const char *const orr_victim_words[];
enum { ORR_GANG_VICTIMS = 6 };

/* Which queue goes first. */
typedef enum {
  ORR_BETWEEN_ORDER,         /* of all jobs of all queues the first in the order */
  ORR_BETWEEN_FAIR_SHARE,    /* below its quota; priority; the least of its fair share */
  ORR_BETWEEN_DOMINANT_SHARE /* the least dominant share over weight (DRF) */
} OrrBetween;
extern const char *const orr_between_words[];

/* Of backfill by window (gang_window.c). */
typedef struct {
  gint64 ahead_us, resolution_us, interval_us; /* interval 0: at every pass */
  guint depth;                                 /* most jobs that are planned; 0: all */
} OrrGangWindow;

/* Who gets GPUs beyond its fewest (gang_elastic.c). */
typedef enum { ORR_ELASTIC_NONE, ORR_ELASTIC_EQUAL, ORR_ELASTIC_FASTEST } OrrElastic;
extern const char *const orr_elastic_words[]; /* "none", "equal", "fastest", NULL */

typedef struct OrrGangThroughputs OrrGangThroughputs; /* gang_throughputs.h */

/* Nodes of one kind of GPU, after those of the kinds before. */
typedef struct {
  const char *name;
  guint n_nodes;
  gint64 gpus_per_node;
} OrrGangKind;

typedef struct {
  const OrrGangOrder *order;
  const void *order_params;
  const OrrGangPlacement *placement;
  const void *placement_params;
  OrrBlocked blocked;
  OrrBackfill backfill;
  OrrCharge charge; /* whom a preemption costs: the preempted, or at every event all that run on */
  gint64 restart_us, checkpoint_us, checkpoint_cost_us; /* of jobs whose trace has none */
  guint n_nodes;
  gint64 gpus_per_node;
  /* What follows may stay zero: one kind, no queues, no preemption but the order's. */
  const OrrGangKind *kinds;
  guint n_kinds;
  gboolean
      by_speed; /* the kind on which a job is fastest is tried first; FALSE: the kinds' order */
  const GPtrArray *queues; /* of OrrGangQueueParams, checked */
  OrrBetween between;
  OrrTake take;
  OrrPreemptMode mode;
  int victims[ORR_GANG_VICTIMS]; /* OrrVictim */
  guint n_victims;
  gint64 min_run_us;         /* from its start no job is preempted for so long */
  guint consolidate;         /* most pods that move to make room for one job; 0: none */
  double cpus, memory_bytes; /* of the cluster, for dominant shares; 0: not counted */
  gint64 period_us;          /* from pass to pass over the queue; 0: at every event */
  guint depth;               /* most jobs that a pass tries; 0: all */
  gint64 limit_us;           /* run time at which any job is stopped; 0: none */
  OrrReclaim reclaim;        /* of queues that state none; 0: never */
  OrrGangWindow window;
  OrrElastic elastic;
  double scaling; /* of a gang of another size than asked for; 0: 1, in proportion */
  const OrrGangThroughputs *speeds; /* NULL: no table */
  const OrrGangMap *map;            /* NULL: not known */
  OrrGangSpeed *speed;              /* NULL: run times are as given, whatever the place */
  OrrGangFailures *failures;        /* of this run; NULL: nothing fails */
  OrrGangHistory *history;          /* that the run fills; NULL: none is kept */
} OrrGangRules;

/* What a run sums up over time, in GPU-microseconds. */
typedef struct {
  gint64 begin_us, end_us; /* the first submission, the last end */
  double used;             /* by running gangs */
  double overhead;         /* of this, for restarts and work that was done again */
  double free_waiting;     /* free while jobs wait: fragmentation and order */
  double slowed;           /* of used: what places took beyond the work */
  double failed;           /* of overhead: after failures */
  double saved;            /* of overhead: checkpoints */
  double out;              /* in repair */
  double stranded;         /* free, beyond the largest gang that would start */
  double free;
  double demand; /* of jobs that run or wait */
  guint64 events, preemptions, failures, strikes;
  guint most_waiting;
  gboolean has_given_up; /* too many failures for the jobs to end */
} OrrGangTotals;

/* Whether a job could start on an empty cluster, once its queue's jobs are gone. */
typedef struct OrrGangProbe OrrGangProbe;
OrrGangProbe *orr_gang_probe_new(const OrrGangRules *rules);
gboolean orr_gang_probe_fits(OrrGangProbe *probe, const OrrGangJob *job);
void orr_gang_probe_free(OrrGangProbe *probe);

/* Whether any rule takes GPUs from running jobs (gang_victims.c). */
gboolean orr_gang_victims_any(const OrrGangRules *rules);

/* Runs @jobs (of OrrGangJob, in FIFO order, each with at most the cluster's GPUs) until all have
 * ended, and fills what a run finds of each. */
void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals);

G_END_DECLS

#endif

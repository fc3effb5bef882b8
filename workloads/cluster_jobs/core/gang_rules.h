/*
 * gang_rules.h - what a run of jobs goes by, and what it sums up.
 */
#pragma once

#include "workloads/cluster_jobs/core/gang_history.h"
#include "workloads/cluster_jobs/core/gang_order.h"
#include "workloads/cluster_jobs/core/gang_queue.h"
#include "workloads/cluster_jobs/core/gang_speed.h"
#include "workloads/cluster_jobs/failures/gang_failures.h"

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

/* The fate of a preempted gang. */
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

/* The order of victims; the first criterion that differs decides. */
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

/* Which jobs get GPUs beyond their minimum (gang_elastic.c). */
typedef enum { ORR_ELASTIC_NONE, ORR_ELASTIC_EQUAL, ORR_ELASTIC_FASTEST } OrrElastic;
extern const char *const orr_elastic_words[]; /* "none", "equal", "fastest", NULL */

/* Nodes of one kind of GPU, after the kinds before. */
typedef struct {
  const char *name;
  guint n_nodes;
  gint64 gpus_per_node;
} OrrGangKind;

/* How fast each model trains on each kind and number of GPUs, from a table:
 *
 *   model,gpus,gpu_type,steps_per_s
 *   ResNet-18 (batch size 128),1,v100,69.95
 *
 * `scale_factor` is another name of gpus (Gavel's throughput tables). */
typedef struct OrrGangThroughputs OrrGangThroughputs;

/* NULL with all findings. */
OrrGangThroughputs *orr_gang_throughputs_read(const char *path, GError **error);
void orr_gang_throughputs_free(OrrGangThroughputs *speeds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGangThroughputs, orr_gang_throughputs_free)

/* The models of the table, in its order; NULL-terminated. */
const char *const *orr_gang_throughputs_models(const OrrGangThroughputs *speeds);

/* Steps per second; 0: not in the table. */
double orr_gang_throughputs_find(const OrrGangThroughputs *speeds, const char *model, gint64 gpus,
                                 const char *kind);

/* The same for a size that the table may lack: the largest smaller gang's that it has. */
double orr_gang_throughputs_between(const OrrGangThroughputs *speeds, const char *model,
                                    gint64 gpus, const char *kind);

/* Sets the rates of @job on all kinds, relative to the first kind that the table has for its model
 * and gang; where it states steps, its work is what they take there. FALSE: the table has none. */
gboolean orr_gang_throughputs_apply(const OrrGangThroughputs *speeds, const OrrGangKind *kinds,
                                    guint n_kinds, OrrGangJob *job);

/* Rounds over kinds of GPUs (passes/gang_rounds.c). */
typedef struct {
  const struct OrrGangAllotment *allotment; /* allotments/gang_allot.h */
  gint64 length_us, reset_us;               /* length 0: no rounds */
  gint64 start_us; /* a job takes it in a round after one in which it did not run */
  guint64 seed;
} OrrGangRounds;

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
  OrrGangRounds rounds;
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
  double timed_out;        /* work of jobs that a time limit stopped before it was done */
  double out;              /* in repair */
  double stranded;         /* free, beyond the largest gang that would start */
  double free;
  double demand; /* of jobs that run or wait */
  guint64 events, preemptions, failures, strikes;
  guint most_waiting;
  gboolean has_given_up; /* the jobs fail too often to end */
} OrrGangTotals;

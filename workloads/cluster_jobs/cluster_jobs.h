/*
 * cluster_jobs.h - the workload `cluster`: the jobs of a trace on the GPUs of a cluster, for weeks,
 * under a scheduler's policy.
 *
 *   workload:
 *     kind: cluster
 *     jobs: trace.csv
 *     policy: {order: fifo, backfill: easy, placement: first-fit}
 *
 * Orders that preempt take a job's GPUs; `policy.preemption` says what that costs.
 *
 * It is an event simulation of its own (gang_sim.c): a job runs for the time that its trace states,
 * or as its place lets it (`speed`, gang_speed.h), for which steps are replayed on links.
 */
#pragma once

#include "workloads/cluster_jobs/core/gang_rules.h"
#include "workloads/cluster_jobs/traces/job_trace.h"
#include "workloads/workload.h"

/* gang_sim.c: the event simulation of jobs on a cluster.
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

/* Whether a job could start on an empty cluster, once its queue's jobs are gone. */
typedef struct OrrGangProbe OrrGangProbe;
OrrGangProbe *orr_gang_probe_new(const OrrGangRules *rules);
gboolean orr_gang_probe_fits(OrrGangProbe *probe, const OrrGangJob *job);
void orr_gang_probe_free(OrrGangProbe *probe);

/* Runs @jobs (of OrrGangJob, in FIFO order, each with at most the cluster's GPUs) until all have
 * ended, and fills what a run finds of each. */
void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals);

/* Which jobs are preempted, and the cost for a job whose trace does not state it. */
typedef struct {
  double checkpoint_s; /* work from one checkpoint to the next; 0: nothing is lost */
  double checkpoint_cost_s, restart_s;
  int charge;     /* OrrCharge */
  int take;       /* OrrTake */
  int mode;       /* OrrPreemptMode */
  char **victims; /* of orr_victim_words */
  double min_run_s;
  gint64 consolidate; /* pods */
} OrrClusterPreemption;

/* Of backfill by window. */
typedef struct {
  double ahead_s, resolution_s, interval_s;
  gint64 depth;
} OrrClusterPlanWindow;

/* Scheduling in rounds, over kinds of GPUs. */
typedef struct {
  double length_s, reset_s, start_s; /* length 0: no rounds */
  OrrChoice allotment;               /* OrrGangAllotment */
} OrrClusterRounds;

/* A kind of GPU of the cluster. */
typedef struct {
  char *name;
  gint64 nodes, gpus; /* gpus of a node; 0: the cluster's */
  double speed;       /* of every job, relative to its run time in the trace */
} OrrClusterKind;

typedef struct {
  OrrChoice order;     /* OrrGangOrder */
  OrrChoice placement; /* OrrGangPlacement */
  int blocked;         /* OrrBlocked */
  int backfill;        /* OrrBackfill */
  OrrClusterPreemption preemption;
  char *name, *source; /* of a policy in the library */
  GPtrArray *queues;   /* of OrrGangQueueParams */
  int between;         /* OrrBetween */
  int kind_choice;
  int reclaim; /* OrrReclaim - 1 */
  int elastic; /* OrrElastic */
  double scaling;
  double limit_s;
  OrrClusterPlanWindow window;
  OrrClusterRounds rounds;
  double period_s;
  gint64 depth;
} OrrClusterPolicy;

/* What fails, which jobs count in statistics, and a job that is asked about
 * (cluster_sections.c). */
typedef struct {
  OrrFailures set; /* no processes: nothing fails */
  double repair_s, detection_s;
  int on_failure; /* OrrGangOnFailure */
  gint64 seed;
} OrrClusterFailures;

/* Jobs at both ends of the trace see a cluster that fills or empties. */
typedef struct {
  double warm_up, cool_down; /* fractions of the jobs, by submission */
  gboolean overloaded;       /* means are stated even where more is offered than fits */
} OrrClusterWindow;

typedef struct {
  gint64 gpus; /* 0: nothing is asked */
  double work_s, at_s, limit_s;
  double priority;
  char *queue, *user, *model;
} OrrClusterAsk;

typedef struct {
  char *stack; /* "none": this kind has no software */
  char *jobs;
  char *queue; /* only its jobs; "all" */
  OrrClusterPolicy policy;
  GPtrArray *kinds; /* of OrrClusterKind; empty: one kind, the cluster's nodes */
  char *throughputs;
  double node_cpus, node_memory_bytes;
  OrrJobGenerate generate; /* where jobs is "generate" */
  OrrChoice speed;         /* OrrGangSpeedKind */
  OrrClusterFailures failures;
  OrrClusterWindow window;
  OrrClusterAsk ask;
} OrrClusterJobs;

typedef struct OrrClusterWork {
  OrrWork work; /* first */
  OrrGangRules rules;
  OrrJobTrace *trace;
  guint n_too_large; /* jobs left out: no empty cluster could start them, */
  guint n_waiting;   /* or they wait for jobs that are left out */
  OrrGangThroughputs *speeds;
  GArray *kinds; /* of OrrGangKind, what rules.kinds points to */
  OrrGangTotals totals;
  OrrGangMap *map;
  OrrGangHistory *history;
  GPtrArray *unused; /* of const char *: sentences on keys that change nothing */
  guint first, end;  /* the jobs that statistics count: from first on, before end */
  gboolean overloaded;
} OrrClusterWork;

extern const OrrFieldTable orr_cluster_policy_table; /* documents of kind policy, too */
extern const OrrFieldTable orr_cluster_plan_window_table, orr_cluster_preemption_table;
/* The rules that @policy states, without cluster and jobs. */
OrrGangRules orr_cluster_policy_rules(const OrrClusterPolicy *policy);
/* Findings about a policy with the features @more (of OrrGangFeature) of its surroundings; 0: a
 * policy alone. */
void orr_cluster_policy_check(const OrrClusterPolicy *policy, guint more, const char *const *kinds,
                              OrrPlace place, OrrDiags *diags);
/* Findings about what does not go together. */
void orr_cluster_refuse(const OrrClusterPolicy *policy, guint more, OrrPlace place,
                        OrrDiags *diags);
/* What a document has besides its policy. */
guint orr_cluster_refuse_features(const OrrClusterJobs *jobs, const OrrCluster *cluster);
gboolean orr_cluster_refuse_has_failures(const OrrClusterJobs *jobs);
/* Fills @work->unused (cluster_unused.c). */
void orr_cluster_unused(const OrrClusterJobs *params, OrrClusterWork *work);

extern const OrrFieldTable orr_cluster_failures_table, orr_cluster_window_table,
    orr_cluster_ask_table;

/* The id of the job that is asked about. */
#define ORR_CLUSTER_ASKED "asked"

/* Puts the job of @ask into @trace, in its place. */
void orr_cluster_sections_ask(const OrrClusterAsk *ask, OrrJobTrace *trace);
/* The jobs that statistics count: from the first index on, before the last. */
void orr_cluster_sections_window(const OrrClusterWindow *window, guint n_jobs, guint *ret_first,
                                 guint *ret_end);

extern const OrrWorkloadKind orr_cluster_jobs_kind;

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
 *  5. Conservative: no waiting job's promised start moves later.
 *  6. A job ends after it has run for its work, whatever interrupted it, or at its limit, and for
 *     what preemptions cost it.
 *
 * At one instant all ends come first, then all submissions, then one pass over the queue.
 */
#ifndef ORR_GANG_SIM_H
#define ORR_GANG_SIM_H

#include "workloads/cluster_jobs/gang_bins.h"
#include "workloads/cluster_jobs/gang_order.h"

G_BEGIN_DECLS

typedef enum { ORR_BACKFILL_NONE, ORR_BACKFILL_EASY, ORR_BACKFILL_CONSERVATIVE } OrrBackfill;
extern const char *const orr_backfill_words[]; /* "none", "easy", "conservative", NULL */
typedef enum { ORR_BLOCKED_WAIT, ORR_BLOCKED_SKIP } OrrBlocked;
extern const char *const orr_blocked_words[]; /* "wait", "skip", NULL */

typedef enum { ORR_CHARGE_PREEMPTED, ORR_CHARGE_EVENTS } OrrCharge;
extern const char *const orr_charge_words[]; /* "preempted", "events", NULL */

typedef struct {
  const OrrGangOrder *order;
  const void *order_params;
  const OrrGangPlacement *placement;
  OrrBlocked blocked;
  OrrBackfill backfill;
  OrrCharge charge; /* whom a preemption costs: the preempted, or at every event all that run on */
  gint64 restart_us, checkpoint_us; /* of jobs whose trace does not state them */
  guint n_nodes;
  gint64 gpus_per_node;
} OrrGangRules;

/* What a run sums up over time, in GPU-microseconds. */
typedef struct {
  gint64 begin_us, end_us; /* the first submission, the last end */
  double used;             /* by running gangs */
  double overhead;         /* of this, for restarts and work that was done again */
  double free_waiting;     /* free while jobs wait: fragmentation and order */
  guint64 events, preemptions;
  guint most_waiting;
} OrrGangTotals;

/* Runs @jobs (of OrrGangJob, in FIFO order, each with at most the cluster's GPUs) until all have
 * ended, and fills what a run finds of each. */
void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals);

G_END_DECLS

#endif

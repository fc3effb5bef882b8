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

#include "workloads/cluster_jobs/core/gang_rules.h"

G_BEGIN_DECLS

/* Whether a job could start on an empty cluster, once its queue's jobs are gone. */
typedef struct OrrGangProbe OrrGangProbe;
OrrGangProbe *orr_gang_probe_new(const OrrGangRules *rules);
gboolean orr_gang_probe_fits(OrrGangProbe *probe, const OrrGangJob *job);
void orr_gang_probe_free(OrrGangProbe *probe);

/* Runs @jobs (of OrrGangJob, in FIFO order, each with at most the cluster's GPUs) until all have
 * ended, and fills what a run finds of each. */
void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals);

G_END_DECLS

#endif

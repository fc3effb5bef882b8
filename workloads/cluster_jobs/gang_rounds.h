/*
 * gang_rounds.h - a scheduler in rounds over several kinds of GPUs (Gavel, Narayanan et al., OSDI
 * 2020, section 5).
 *
 *   round 1          round 2          round 3
 *   | j1 on v100     | j3 on v100     | ...
 *   | j2 on k80      | j1 on p100     |
 *
 * An allotment says which fraction x(m, k) of time each job should have each kind. A round gives
 * each kind, in turn, to the jobs of the highest priority that still fit:
 *
 *   priority(m, k) = x(m, k) / f(m, k)      f: what m has had of all time on k since the last reset
 *
 * A job that ends leaves its GPUs idle until the round ends; the round ends early when all its jobs
 * have ended. Fractions are computed anew after a job came, ended, or changed its speed, but not
 * more often than every `reset`; the time had since begins at half a round. A job that came since
 * has no fraction and does not run, and what would be its GPUs by priority stays idle, as in Gavel.
 *
 * Invariants: at most a kind's GPUs are held in a round, by whole gangs on one kind; a job runs
 * until its work is done, at its kind's rate; a run repeats.
 *
 * GPUs are counted, nodes not seen: gangs are taken to be consolidated.
 */
#ifndef ORR_GANG_ROUNDS_H
#define ORR_GANG_ROUNDS_H

#include "workloads/cluster_jobs/gang_allot.h"

G_BEGIN_DECLS

typedef struct {
  const OrrGangAllotment *allotment;
  gint64 length_us, reset_us;
  gint64 start_us; /* a job takes it in a round after one in which it did not run */
  guint64 seed;
} OrrGangRounds;

/* As orr_gang_sim_run: @rules gives kinds and the cost of a restart, which a job pays when it did
 * not run in the round before, on the same kind; @rounds the cost of any start, the first, too. */
void orr_gang_rounds_run(const OrrGangRules *rules, const OrrGangRounds *rounds, GArray *jobs,
                         OrrGangTotals *ret_totals);

G_END_DECLS

#endif

/*
 * fair_share.c - the user who has received least goes first (Slurm's fair tree, gang_account.c):
 * among the trace's queues, then among the users of a queue. FIFO among the jobs of one user, and
 * among users of equal usage. Running jobs stay.
 *
 *   workload: {policy: {order: {kind: fair-share, half-life: 7 d}}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

typedef struct {
  double half_life_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "order-fair-share", "Least decayed usage first.", Params,
    ORR_UNSIGNED_REAL(
        Params, "half-life", half_life_s, ORR_UNIT_SECONDS, "7 d",
        "Time in which past usage loses half of its weight (PriorityDecayHalfLife); 0 s: "
        "it keeps it.",
        .min = 0, .max = ORR_GANG_MOST_S));

static double half_life(const void *params) { return ((const Params *)params)->half_life_s; }

static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return -orr_gang_accounts_factor(question->accounts, job);
}

const OrrGangOrder orr_gang_fair_share = {
    .entry = {"fair-share", "The user who has received least goes first; running jobs stay.",
              &table},
    .half_life_s = half_life,
    .key = key,
};

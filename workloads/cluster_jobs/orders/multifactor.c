/*
 * multifactor.c - Slurm's priority/multifactor: a weighted sum of factors from 0 to 1, the highest
 * first. Running jobs stay.
 *
 *   priority = age min(wait / max-age, 1) + fair-share F + job-size gpus / cluster
 *              + partition priority / most of the trace
 *
 * F is fair tree's (gang_account.c). All weights are 0 by default, as Slurm's are: the order is
 * then FIFO. Slurm computes it every PriorityCalcPeriod, 5 minutes; here it is exact at each event.
 *
 *   workload: {policy: {order: {kind: multifactor, age: 1000, fair-share: 10000}}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

typedef struct {
  double half_life_s, max_age_s, age, fair_share, job_size, priority;
} Params;

#define WEIGHT(key_, member_, sentence_)                                                           \
  ORR_FIELD_REAL(Params, key_, member_, ORR_UNIT_NONE, "0", sentence_,                             \
                 .flags = ORR_FIELD_UNSIGNED, .min = 0, .max = 1e9)
static const OrrFieldTable table = ORR_FIELDS(
    "order-multifactor", "Slurm's weighted priority.", Params,
    WEIGHT("age", age, "Weight of the time waited (PriorityWeightAge)."),
    WEIGHT("fair-share", fair_share, "Weight of fair share (PriorityWeightFairshare)."),
    WEIGHT("job-size", job_size,
           "Weight of the fraction of the cluster asked for (PriorityWeightJobSize)."),
    WEIGHT("priority", priority,
           "Weight of the trace's column priority, relative to its highest (PriorityWeightQOS)."),
    ORR_POSITIVE_REAL(Params, "max-age", max_age_s, ORR_UNIT_SECONDS, "7 d",
                      "Wait after which a job's age no longer grows (PriorityMaxAge).", .min = 1e-6,
                      .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(
        Params, "half-life", half_life_s, ORR_UNIT_SECONDS, "7 d",
        "Time in which past usage loses half of its weight (PriorityDecayHalfLife); 0 s: "
        "it keeps it.",
        .min = 0, .max = ORR_GANG_MOST_S));

static double half_life(const void *params) { return ((const Params *)params)->half_life_s; }

static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  const Params *params = question->params;
  const double waited_s = (double)(question->now_us - job->submit_us) / ORR_GANG_US_PER_S;
  double sum = params->age * fmin(waited_s / params->max_age_s, 1);
  sum += params->job_size * (double)job->gpus / (double)question->n_gpus;
  if (params->fair_share > 0)
    sum += params->fair_share * orr_gang_accounts_factor(question->accounts, job);
  if (question->most_priority > 0)
    sum += params->priority * job->priority / question->most_priority;
  return -sum;
}

const OrrGangOrder orr_gang_multifactor = {
    .entry = {"multifactor", "Slurm's weighted sum of age, fair share, size and priority.", &table},
    .half_life_s = half_life,
    .key = key,
};

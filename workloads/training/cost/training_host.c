/*
 * training_host.c - the cores' time of a step, whether or not GPUs wait for it.
 *
 *   host = sum over layers of passes * (launches of forward + launches of backward) / stages
 *          + sequences of the step * sample-time / ranks
 *
 * A split backward launches the same kernels as a whole one. The optimizer's few launches, and
 * processes that poll while they wait, are left out.
 */
#include "workloads/training/cost/training_costs.h"

static double layer_s(const OrrTrainingCosts *costs, const OrrJob *job, guint spec) {
  const OrrRun *runs = costs->layers[spec].runs;
  return (double)orr_job_forwards(job) * runs[ORR_RUN_FORWARD].host_s +
         (job->params->evaluation ? 0 : runs[ORR_RUN_BACKWARD].host_s);
}

double orr_training_host_s(const OrrTrainingCosts *costs, const OrrJob *job) {
  const double passes = (double)orr_job_passes(job);
  const double ranks = (double)(orr_job_replica_ranks(job) * job->pp * job->dp);
  double sum_s = 0;
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (guint spec = 0; spec < costs->n_specs; spec++)
      sum_s += passes * (double)orr_job_n_layers(job, stage, spec) * layer_s(costs, job, spec);
  const double sequences = (double)job->params->batch.global_size;
  return sum_s / (double)job->pp + sequences * job->params->loader.sample_s / ranks;
}

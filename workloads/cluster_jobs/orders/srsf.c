/*
 * srsf.c - shortest remaining service first: remaining time times GPUs (Tiresias, NSDI 2019).
 *
 *   workload: {policy: {order: srsf}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return (double)orr_gang_job_left_us(job, question->now_us) * (double)job->gpus;
}

const OrrGangOrder orr_gang_srsf = {
    .entry = {"srsf", "Shortest remaining service first: remaining time times GPUs; preempts.",
              NULL},
    .preempts = TRUE,
    .key = key,
};

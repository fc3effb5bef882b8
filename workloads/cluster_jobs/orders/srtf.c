/*
 * srtf.c - shortest remaining time first: the least mean time in the system on one server
 * (Schrage 1968), and the lower bound that schedulers of training jobs are compared with.
 *
 *   workload: {policy: {order: srtf}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return (double)orr_gang_job_left_us(job, question->now_us);
}

const OrrGangOrder orr_gang_srtf = {
    .entry = {"srtf", "Shortest remaining time first; preempts.", NULL},
    .preempts = TRUE,
    .key = key,
};

/*
 * srtf.c - shortest remaining time first: the least mean time in the system on one server
 * (Schrage 1968), and the lower bound that schedulers of training jobs are compared with.
 *
 *   workload: {policy: {order: srtf}}
 */
#include "workloads/cluster_jobs/gang_order.h"

static double key(const void *params, const OrrGangJob *job, gint64 now_us) {
  (void)params;
  return (double)orr_gang_job_left_us(job, now_us);
}

const OrrGangOrder orr_gang_srtf = {
    .entry = {"srtf", "Shortest remaining time first; preempts.", NULL},
    .preempts = TRUE,
    .key = key,
};

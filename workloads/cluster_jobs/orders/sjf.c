/*
 * sjf.c - shortest job first, by the whole run time. Running jobs stay.
 *
 *   workload: {policy: {order: sjf}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return (double)job->work_us;
}

const OrrGangOrder orr_gang_sjf = {
    .entry = {"sjf", "Shortest job first, by its whole run time; running jobs stay.", NULL},
    .preempts = FALSE,
    .key = key,
};

/*
 * gang_priority_preempt.c - the highest priority of the trace first; it takes GPUs from running
 * jobs of lower priority. Among equals running jobs stay, then FIFO.
 *
 *   workload: {policy: {order: priority-preempt, preemption: {checkpoint: 1 h, restart: 2 min}}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

/* Priorities are whole numbers (job_trace.c). */
static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return -2 * job->priority + !job->is_running;
}

const OrrGangOrder orr_gang_priority_preempt = {
    .entry = {"priority-preempt", "The trace's highest priority first; preempts lower ones.", NULL},
    .preempts = TRUE,
    .by_priority = TRUE,
    .key = key,
};

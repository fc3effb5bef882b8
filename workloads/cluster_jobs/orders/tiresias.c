/*
 * tiresias.c - Tiresias-L as its simulator and Muri's have it (Gu et al., NSDI 2019; Zhao et al.,
 * SIGCOMM 2022): least attained service in queues, and within a queue a list. New jobs, and jobs
 * that fall into the queue, join its end; after every pass the jobs that wait are moved behind
 * those that run. So a job that runs keeps its GPUs until a higher queue wants them, or it falls.
 *
 *   queue 0   [ j8 j9 | j5 j7 ]      running | waiting
 *   queue 1   [ j2 | j1 j4 ]         a job falls here after 3,250 GPU-seconds,
 *   queue 2   [ j3 ]                 and here after 7,200
 *
 *   workload: {policy: {order: tiresias, blocked: skip, placement: count}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static const OrrFieldTable table =
    ORR_FIELDS("order-tiresias", "Tiresias-L: queues of lists.", OrrGangThresholds,
               ORR_GANG_ORDER_THRESHOLDS("[3250 s, 7200 s]"));

/* The turn is below 2^40 (gang_repack.c). */
static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return (double)job->level * 0x1p40 + (double)job->turn;
}

const OrrGangOrder orr_gang_tiresias = {
    .entry = {"tiresias",
              "Least attained service in queues; a running job keeps its turn; preempts.", &table},
    .preempts = TRUE,
    .key = key,
    .level = orr_gang_order_level,
    .changes_us = orr_gang_order_level_changes_us,
};

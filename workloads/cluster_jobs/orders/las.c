/*
 * las.c - least attained service in queues (Tiresias, Gu et al., NSDI 2019): a job moves to the
 * next queue when it has received a threshold of GPU time; lower queues go first, FIFO within a
 * queue. It needs no knowledge of run times.
 *
 *   workload: {policy: {order: {kind: las, thresholds: [16 h]}}}
 *
 *      queue 0                queue 1
 *   [ j5 j7 j9 ]  -- 16 GPU-h --> [ j1 j2 ]
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static const OrrFieldTable table =
    ORR_FIELDS("order-las", "Least attained service, in queues.", OrrGangThresholds,
               ORR_GANG_ORDER_THRESHOLDS("[16 h]"));

static double threshold(const OrrGangThresholds *params, guint queue) {
  return g_array_index(params->thresholds, double, queue) * ORR_GANG_US_PER_S;
}

guint orr_gang_order_level(const void *data, const OrrGangJob *job, gint64 now_us) {
  const OrrGangThresholds *params = data;
  const double attained = orr_gang_job_attained(job, now_us);
  guint queue = 0;
  while (queue < params->thresholds->len && attained >= threshold(params, queue)) queue++;
  return queue;
}

gint64 orr_gang_order_level_changes_us(const void *data, const OrrGangJob *job, gint64 now_us) {
  const OrrGangThresholds *params = data;
  const guint queue = orr_gang_order_level(params, job, now_us);
  if (queue >= params->thresholds->len) return G_MAXINT64;
  const double missing = threshold(params, queue) - orr_gang_job_attained(job, now_us);
  const double wait_us = fmax(ceil(missing / (double)job->gpus), 1);
  return wait_us < (double)(job->end_us - now_us) ? now_us + (gint64)wait_us : G_MAXINT64;
}

static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  return orr_gang_order_level(question->params, job, question->now_us);
}

const OrrGangOrder orr_gang_las = {
    .entry = {"las", "Least attained service, in queues by GPU time received; preempts.", &table},
    .preempts = TRUE,
    .key = key,
    .changes_us = orr_gang_order_level_changes_us,
};

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

typedef struct {
  GArray *thresholds; /* of double: GPU-seconds */
} Params;

static const OrrField fields[] = {
    ORR_FIELD_REALS(Params, "thresholds", thresholds, ORR_UNIT_SECONDS, "[3250 s, 7200 s]",
                    "GPU time (GPUs times run time) after which a job falls into the next queue, "
                    "in rising order.",
                    .flags = ORR_FIELD_POSITIVE),
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("order-tiresias", "Tiresias-L: queues of lists.", Params, fields);

static double threshold(const Params *params, guint queue) {
  return g_array_index(params->thresholds, double, queue) * ORR_GANG_US_PER_S;
}

static guint level(const void *data, const OrrGangJob *job, gint64 now_us) {
  const Params *params = data;
  const double attained = orr_gang_job_attained(job, now_us);
  guint queue = 0;
  while (queue < params->thresholds->len && attained >= threshold(params, queue)) queue++;
  return queue;
}

/* The turn is below 2^40 (gang_repack.c). */
static double key(const OrrGangQuestion *question, const OrrGangJob *job) {
  (void)question;
  return (double)job->level * 0x1p40 + (double)job->turn;
}

static gint64 changes_us(const void *data, const OrrGangJob *job, gint64 now_us) {
  const Params *params = data;
  const guint queue = level(data, job, now_us);
  if (queue >= params->thresholds->len) return G_MAXINT64;
  const double missing = threshold(params, queue) - orr_gang_job_attained(job, now_us);
  const double wait_us = fmax(ceil(missing / (double)job->gpus), 1);
  return wait_us < (double)(job->end_us - now_us) ? now_us + (gint64)wait_us : G_MAXINT64;
}

const OrrGangOrder orr_gang_tiresias = {
    .entry = {"tiresias",
              "Least attained service in queues; a running job keeps its turn; "
              "preempts.",
              &table},
    .preempts = TRUE,
    .key = key,
    .level = level,
    .changes_us = changes_us,
};

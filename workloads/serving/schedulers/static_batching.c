/*
 * static_batching.c - FasterTransformer's batches: nobody joins before all have ended.
 *
 * A batch is filled from the waiting, computes its prompts in one step, and decodes until its
 * longest output ends; who ended earlier still takes part in each step, for nothing.
 *
 *   makespan of n equal batches = n (t_prefill + (longest output - 1) t_decode)
 *
 *   workload: {engine: {scheduler: static}}
 */
#include "workloads/serving/schedulers/scheduler.h"

static void plan(OrrCore *core, const void *params) {
  (void)params;
  if (core->running->len == 0) {
    orr_scheduler_whole_prompts(core, ORR_RESERVE_ALL);
    core->slots = core->running->len;
    return;
  }
  core->padding = core->slots - (gint64)core->running->len;
  orr_scheduler_decodes(core);
}

const OrrScheduler orr_scheduler_static = {
    .entry = {"static", "Static batching: a batch runs until its longest output ends.", NULL},
    .plan = plan,
    .reserves = TRUE,
    .without_chunks = TRUE,
};

/*
 * prefill_first.c - vLLM v0: prompts before decodes, never both in one step
 * (vllm/core/scheduler.py, v0.6).
 *
 * While a waiting prompt fits, a step is whole prompts alone; decodes stand still meanwhile, which
 * is short first tokens for long gaps between the others.
 *
 *   workload: {engine: {scheduler: prefill-first}}
 */
#include "workloads/serving/schedulers/scheduler.h"

static void plan(OrrCore *core, const void *params, gpointer state) {
  orr_scheduler_whole_prompts(core, ORR_RESERVE_PROMPT);
  if (core->batch->len == 0) orr_scheduler_decodes(core);
}

const OrrScheduler orr_scheduler_prefill_first = {
    .entry = {"prefill-first", "vLLM v0: whole prompts before decodes, never both in one step.",
              NULL},
    .plan = plan,
    .without_chunks = TRUE,
    .needs_longest = TRUE,
};

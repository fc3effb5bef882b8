/*
 * vllm.c - vLLM v1's scheduler (vllm/v1/core/sched/scheduler.py, v0.19): one budget of tokens for
 * prompts and decodes.
 *
 * First the running requests, in order of admission, each as many tokens as it lacks (one where it
 * decodes, a chunk of its prompt otherwise); then waiting ones while there are budget, sequences
 * and blocks. Who finds no block preempts the last of the running, and then nobody is admitted in
 * that step. Chunked prefill lets a prompt be cut by the budget; without it a prompt waits for a
 * step that it fits.
 *
 *   workload: {engine: {scheduler: {kind: vllm, chunked-prefill: true,
 *                                    long-prefill-token-threshold: 0}}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gboolean chunked_prefill;
  gint64 longest_chunk;
} Params;

const OrrFieldTable orr_scheduler_vllm_table =
    ORR_FIELDS("scheduler-vllm", "vLLM v1: one budget for prompts and decodes.", Params,
               ORR_FIELD_BOOL(Params, "chunked-prefill", chunked_prefill, "true",
                              "Whether a prompt may be cut where the budget of a step ends."),
               ORR_FIELD_INT(Params, "long-prefill-token-threshold", longest_chunk, "0",
                             "Most prompt tokens of one request in a step; 0: the budget alone.",
                             .flags = ORR_FIELD_UNSIGNED));

void orr_scheduler_vllm_plan(OrrCore *core, const void *data, gpointer state) {
  const Params *params = data;
  orr_scheduler_running(core, params->longest_chunk);
  if (params->chunked_prefill)
    orr_scheduler_waiting(core, params->longest_chunk, FALSE, ORR_RESERVE_PROMPT);
  else if (core->batch->len == 0)
    orr_scheduler_whole_prompts(core,
                                ORR_RESERVE_PROMPT); /* alone it may be larger than the budget */
  else
    orr_scheduler_waiting(core, 0, TRUE, ORR_RESERVE_PROMPT);
}

gboolean orr_scheduler_vllm_keeps_whole(const void *params) {
  return !((const Params *)params)->chunked_prefill;
}

const OrrScheduler orr_scheduler_vllm = {
    .entry = {"vllm",
              "vLLM v1: running requests first, then waiting ones, one budget of tokens, chunked "
              "prefill.",
              &orr_scheduler_vllm_table},
    .plan = orr_scheduler_vllm_plan,
    .keeps_whole = orr_scheduler_vllm_keeps_whole,
    .needs_longest = TRUE,
};

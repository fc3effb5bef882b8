/*
 * trtllm.c - TensorRT-LLM's scheduler with its default policy, GUARANTEED_NO_EVICT
 * (capacityScheduler.h).
 *
 * A request begins when the cache has room for its prompt and its whole output beside what those
 * before it may still need: it is never preempted. A step takes one token of every decode, then
 * prompts under way, then new ones, in chunks within the budget (microBatchScheduler.cpp, chunked
 * context as trtllm-bench enables it).
 *
 * With batch-wait-timeout-iters, prompts wait beside decodes until a step would have
 * batch-wait-max-tokens-ratio of its budget, or for so many steps (py_executor.py,
 * _waiting_requests): fewer steps are slowed by a prompt, and first tokens come later.
 *
 *   workload: {engine: {scheduler: {kind: trtllm, batch-wait-timeout-iters: 20, batch-wait-max-tokens-ratio: 90 %}}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gint64 wait_steps;
  double wait_share;
} Params;

static const OrrField fields[] = {
    {.name = "batch-wait-timeout-iters",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Params, wait_steps),
     .sentence = "Steps that prompts wait beside decodes for others to come; 0: none.",
     .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED},
    {.name = "batch-wait-max-tokens-ratio",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(Params, wait_share),
     .sentence = "Share of a step's tokens from which on they do not wait.",
     .fallback = "0",
     .min = 0,
     .max = 1},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("scheduler-trtllm", "TensorRT-LLM: nobody is preempted.", Params, fields);

/* Tokens of the step if every prompt joined it now, up to @enough. */
static gint64 tokens_at_hand(const OrrCore *core, gint64 enough) {
  gint64 tokens = 0;
  for (guint i = 0; i < core->running->len && tokens < enough; i++) {
    const OrrRequest *request = core->running->pdata[i];
    if (!request->is_in_flight) tokens += orr_request_left(request);
  }
  for (guint q = 0; q < core->n_queues; q++)
    for (guint i = 0; i < core->waiting[q]->len && tokens < enough; i++)
      tokens += orr_request_wanted(core->waiting[q]->pdata[i]);
  return tokens;
}

static gboolean prompts_wait(OrrCore *core, const Params *params) {
  const gint64 enough = (gint64)(params->wait_share * (double)core->limits.max_batched_tokens);
  if (core->batch->len == 0 || core->n_waiting == 0 || core->steps_waited >= params->wait_steps ||
      tokens_at_hand(core, enough) >= enough) {
    core->steps_waited = 0;
    return FALSE;
  }
  core->steps_waited++;
  return TRUE;
}

static void plan(OrrCore *core, const void *data) {
  orr_scheduler_decodes(core);
  if (prompts_wait(core, data)) return;
  orr_scheduler_running(core, 0);
  orr_scheduler_waiting(core, 0, FALSE, ORR_RESERVE_ALL);
}

const OrrScheduler orr_scheduler_trtllm = {
    .entry = {"trtllm",
              "TensorRT-LLM: decodes first, chunked prompts; room for the output reserved, nobody "
              "preempted.",
              &table},
    .plan = plan,
    .reserves = TRUE,
};

/*
 * trtllm.c - TensorRT-LLM's scheduler with its default policy, GUARANTEED_NO_EVICT
 * (capacityScheduler.h).
 *
 * A request begins when the cache has room for its prompt and its whole output, on top of what
 * running requests can still need: it is never preempted. A step takes one token of every decode,
 * then prompts under way, then new ones, in chunks within the budget (microBatchScheduler.cpp,
 * chunked context as trtllm-bench enables it).
 *
 * With batch-wait-timeout-iters, prompts wait while decodes go on, until a step would fill
 * batch-wait-max-tokens-ratio of its budget or that many steps have passed (py_executor.py,
 * _waiting_requests): prompts slow fewer steps, and first tokens come later.
 *
 *   workload: {engine: {scheduler: {kind: trtllm, batch-wait-timeout-iters: 20, batch-wait-max-tokens-ratio: 90 %}}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gint64 wait_steps;
  double wait_fraction;
} Params;

typedef struct {
  gint64 steps_waited; /* that prompts have waited for others */
} State;

static const OrrField fields[] = {
    {.name = "batch-wait-timeout-iters",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Params, wait_steps),
     .sentence = "Steps for which prompts wait for others while decodes go on; 0: none.",
     .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED},
    {.name = "batch-wait-max-tokens-ratio",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(Params, wait_fraction),
     .sentence = "Fraction of a step's tokens at which prompts stop waiting.",
     .fallback = "0",
     .min = 0,
     .max = 1},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("scheduler-trtllm", "TensorRT-LLM: no request is preempted.", Params, fields);

/* Tokens that the step would have if every prompt joined it now, counted up to @enough. */
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

static gboolean prompts_wait(OrrCore *core, const Params *params, State *state) {
  const gint64 enough = (gint64)(params->wait_fraction * (double)core->limits.max_batched_tokens);
  if (core->batch->len == 0 || core->n_waiting == 0 || state->steps_waited >= params->wait_steps ||
      tokens_at_hand(core, enough) >= enough) {
    state->steps_waited = 0;
    return FALSE;
  }
  state->steps_waited++;
  return TRUE;
}

static gpointer open(void) { return g_new0(State, 1); }

static void plan(OrrCore *core, const void *params, gpointer state) {
  orr_scheduler_decodes(core);
  if (prompts_wait(core, params, state)) return;
  orr_scheduler_running(core, 0);
  orr_scheduler_waiting(core, 0, FALSE, ORR_RESERVE_ALL);
}

const OrrScheduler orr_scheduler_trtllm = {
    .entry = {"trtllm",
              "TensorRT-LLM: decodes first, chunked prompts; room for the output reserved, no "
              "preemption.",
              &table},
    .open = open,
    .close = g_free,
    .plan = plan,
    .reserves = TRUE,
};

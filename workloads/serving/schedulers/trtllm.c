/*
 * trtllm.c - TensorRT-LLM's scheduler with its default policy, GUARANTEED_NO_EVICT
 * (capacityScheduler.h).
 *
 * A request begins when the cache has room for its prompt and its whole output, on top of what
 * running requests can still need: it is never preempted. A step takes one token of every decode,
 * then prompts under way, then new ones, in chunks within the budget (microBatchScheduler.cpp,
 * chunked context as trtllm-bench enables it). Without chunked-prefill, as trtllm-serve begins, a
 * prompt is computed whole, and one above max-num-batched-tokens is refused (llmapi/llm.py,
 * _check_arguments).
 *
 * With batch-wait-timeout-iters, prompts wait while decodes go on, until a step would fill
 * batch-wait-max-tokens-ratio of its budget or that many steps have passed (py_executor.py,
 * _waiting_requests): prompts slow fewer steps, and first tokens come later.
 *
 *   workload: {engine: {scheduler: {kind: trtllm, batch-wait-timeout-iters: 20,
 *                                    batch-wait-max-tokens-ratio: 90 %}}}
 *
 * With balance-timeout-iters (attention_dp_config: enable_balance, timeout_iters), the prompts of
 * attention data-parallel ranks wait for each other: while every rank has a free sequence and some
 * rank has no prompt, none computes one, up to that many steps, or until a rank has nothing to
 * decode (py_executor.py, _balance_adp_requests).
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gboolean chunked_prefill;
  gint64 wait_steps;
  double wait_fraction;
  gint64 balance_steps;
} Params;

typedef struct {
  gint64 steps_waited;   /* that prompts have waited for others */
  gint64 steps_balanced; /* that prompts of all ranks have waited for one rank's; of rank 0 */
  gboolean is_held;      /* prompts wait for another rank's in this plan */
} State;

static const OrrFieldTable table = ORR_FIELDS(
    "scheduler-trtllm", "TensorRT-LLM: no request is preempted.", Params,
    ORR_FIELD_BOOL(Params, "chunked-prefill", chunked_prefill, "true",
                   "Whether a prompt may be cut where the budget of a step ends (enable_chunked_"
                   "prefill, which trtllm-serve begins without); else one above "
                   "max-num-batched-tokens is an error."),
    ORR_FIELD_INT(Params, "batch-wait-timeout-iters", wait_steps, "0",
                  "Steps for which prompts wait for others while decodes go on; 0: none.",
                  .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "batch-wait-max-tokens-ratio", wait_fraction, ORR_UNIT_NONE, "0",
                   "Fraction of a step's tokens at which prompts stop waiting.", .min = 0,
                   .max = 1),
    ORR_FIELD_INT(Params, "balance-timeout-iters", balance_steps, "0",
                  "Steps for which prompts of attention data-parallel ranks wait until all of them "
                  "have one; 0: none.",
                  .flags = ORR_FIELD_UNSIGNED));

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

/* What the ranks tell each other before a step. */
typedef struct {
  guint with_room, with_prompts, with_decodes;
} Ranks;

static void look_at(const OrrCore *core, Ranks *ranks) {
  gboolean prompts = core->n_waiting > 0, decodes = FALSE;
  ORR_EACH_POINTER(const OrrRequest, request, core->running) {
    if (request->computed < request->prompt)
      prompts = TRUE;
    else
      decodes = TRUE;
  }
  ranks->with_room += (gint64)core->running->len < core->limits.max_sequences;
  ranks->with_prompts += prompts;
  ranks->with_decodes += decodes;
}

static void balance(OrrCore *cores, guint n_cores, const void *user) {
  const Params *params = user;
  State *first = cores[0].scheduler_state;
  Ranks ranks = {0};
  if (params->balance_steps == 0) return;
  for (guint i = 0; i < n_cores; i++) look_at(&cores[i], &ranks);
  gboolean is_held = ranks.with_prompts > 0 && ranks.with_prompts < n_cores &&
                     ranks.with_room == n_cores && ranks.with_decodes == n_cores;
  first->steps_balanced = is_held ? first->steps_balanced + 1 : 0;
  if (first->steps_balanced >= params->balance_steps) is_held = FALSE;
  if (!is_held) first->steps_balanced = 0;
  for (guint i = 0; i < n_cores; i++) ((State *)cores[i].scheduler_state)->is_held = is_held;
}

static gboolean refuses_long(const void *params) {
  return !((const Params *)params)->chunked_prefill;
}

static void plan(OrrCore *core, const void *params, gpointer state) {
  orr_scheduler_decodes(core);
  if (((State *)state)->is_held || prompts_wait(core, params, state)) return;
  orr_scheduler_running(core, 0);
  orr_scheduler_waiting(core, 0, refuses_long(params), ORR_RESERVE_ALL);
}

const OrrScheduler orr_scheduler_trtllm = {
    .entry = {"trtllm",
              "TensorRT-LLM: decodes first, chunked prompts; room for the output reserved, no "
              "preemption.",
              &table},
    .open = open,
    .close = g_free,
    .plan = plan,
    .balance = balance,
    .refuses_long = refuses_long,
    .reserves = TRUE,
};

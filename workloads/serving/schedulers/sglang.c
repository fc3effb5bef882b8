/*
 * sglang.c - SGLang's scheduler (python/sglang/srt/managers/scheduler.py, v0.5): longest cached
 * prefix first.
 *
 * While requests wait and there is room, a step computes prompts alone: at most
 * `chunked-prefill-size` tokens, which groups of attention (dp-attention) divide among themselves
 * (server_args.py, _handle_data_parallelism); one prompt of them can be cut. Otherwise it computes
 * decodes. With `enable-mixed-chunk` decodes join a step of prompts, and count among its tokens.
 * The waiting request with the longest prefix in the cache is next (schedule-policy lpm); when more
 * than 128 wait, the first to come is, as in SGLang. Admission expects running requests to write
 * new_token_ratio of what is left of their outputs. The ratio falls with every decode, from
 * init_new_token_ratio to min_new_token_ratio, and rises again when the cache is full and requests
 * are retracted.
 *
 *   workload: {engine: {scheduler: {kind: sglang, chunked-prefill-size: 8192}}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gint64 chunk;
  gboolean mixed_chunk, longest_prefix;
} Params;

enum { MOST_SORTED = 128, MOST_NEW_TOKENS = 4096 };
typedef struct {
  double new_token_ratio; /* of their outputs, what running requests are expected to write yet */
} State;

/* init_new_token_ratio 0.7, min_new_token_ratio 0.14 of it, within 600 decodes: global_config.py */
#define RATIO_INIT 0.7
#define RATIO_LEAST (RATIO_INIT * 0.14)
#define RATIO_DECAY ((RATIO_INIT - RATIO_LEAST) / 600)

static const OrrFieldTable table = ORR_FIELDS(
    "scheduler-sglang", "SGLang: longest cached prefix first, prompts before decodes.", Params,
    ORR_FIELD_INT(Params, "chunked-prefill-size", chunk, "8192",
                  "Most prompt tokens in a step, of all groups of attention together: "
                  "each takes an equal part. 0: prompts are not cut.",
                  .min = 0, .max = 1e9),
    ORR_FIELD_BOOL(Params, "enable-mixed-chunk", mixed_chunk, "false",
                   "Let decodes join a step of prompts."),
    ORR_FIELD_BOOL(
        Params, "longest-prefix-first", longest_prefix, "false",
        "Order the waiting requests by the length of their cached prefix; else first come, first "
        "served."));

static gpointer open(void) {
  State *state = g_new(State, 1);
  *state = (State){.new_token_ratio = RATIO_INIT};
  return state;
}

static OrrRequest *pick(OrrCore *core, const void *data, GPtrArray *heap) {
  const Params *params = data;
  OrrRequest *best = heap->pdata[0];
  if (!params->longest_prefix || heap->len > MOST_SORTED) return best;
  gint64 longest = -1;
  ORR_EACH_POINTER(OrrRequest, request, heap) {
    const gint64 hit = orr_kv_lookup(core->kv, request);
    if (hit < longest || (hit == longest && !orr_request_is_before(request, best))) continue;
    best = request;
    longest = hit;
  }
  return best;
}

static double still_to_write(const OrrRequest *request) {
  return MIN(request->output - request->generated, (gint32)MOST_NEW_TOKENS);
}

/* Tokens that running requests are expected to write: the ratio of their outputs, or the whole
 * output of one that has not begun to write. */
static double promised(const OrrCore *core, const State *state) {
  double sum = 0;
  ORR_EACH_POINTER(const OrrRequest, request, core->running)
    sum += still_to_write(request) * (request->generated > 0 ? state->new_token_ratio : 1);
  return sum;
}

static void admit(OrrCore *core, const State *state) {
  OrrRequest *request;
  double expected = promised(core, state);
  while (core->budget > 0 && (gint64)core->running->len < core->limits.max_sequences &&
         (request = orr_core_first(core))) {
    const double room = (double)(orr_kv_n_free(core->kv) * orr_kv_block_size(core->kv)) - expected;
    if (core->running->len > 0 &&
        (double)orr_request_wanted(request) + still_to_write(request) > room)
      break;
    if (!orr_core_admit(core, request, core->budget, FALSE, 0)) break;
    expected += still_to_write(request);
    if (orr_request_left(request) > request->scheduled)
      break; /* only one prompt of a step is cut */
  }
}

static void retracted(const OrrCore *core, State *state) {
  double written = 0, wanted = 0;
  ORR_EACH_POINTER(const OrrRequest, request, core->running) {
    written += request->generated;
    wanted += MIN(request->output, (gint32)MOST_NEW_TOKENS);
  }
  state->new_token_ratio = fmin(1, (written + 20.0 * core->running->len) / fmax(wanted, 1));
}

static gint64 n_decodes(const OrrCore *core) {
  gint64 n = 0;
  for (guint i = 0; i < core->running->len; i++) n += orr_request_decodes(core->running->pdata[i]);
  return n;
}

static void plan(OrrCore *core, const void *data, gpointer own) {
  const Params *params = data;
  State *state = own;
  const gint64 budget = core->budget, decodes = params->mixed_chunk ? n_decodes(core) : 0;
  const gint64 most = params->chunk > 0 ? MAX(params->chunk / core->limits.groups, 1) : G_MAXINT64;
  core->budget = MAX(MIN(core->budget, most) - decodes, 0);
  for (guint i = 0; i < core->running->len && core->budget > 0;
       i++) { /* continues the prompt that was cut */
    OrrRequest *request = core->running->pdata[i];
    if (!request->is_in_flight && !orr_request_decodes(request) &&
        !orr_core_give(core, request, MIN(orr_request_left(request), core->budget)))
      break;
  }
  admit(core, state);
  if (core->batch->len > 0 && !params->mixed_chunk) return;
  core->budget = budget;
  orr_scheduler_decodes(core);
  if (core->has_preempted)
    retracted(core, state);
  else if (core->batch->len > 0)
    state->new_token_ratio = fmax(state->new_token_ratio - RATIO_DECAY, RATIO_LEAST);
}

const OrrScheduler orr_scheduler_sglang = {
    .entry = {"sglang", "SGLang: prompts before decodes, the longest cached prefix first.", &table},
    .open = open,
    .close = g_free,
    .plan = plan,
    .pick = pick,
};

/*
 * sglang.c - SGLang's scheduler (python/sglang/srt/managers/scheduler.py, v0.5): longest cached
 * prefix first.
 *
 * While somebody waits and there is room, a step is prompts alone, `chunked-prefill-size` tokens at
 * most, of which one prompt may be a part; else it is decodes. Of the waiting, the one with the
 * longest prefix in the cache is next (schedule-policy lpm; first come, first served where more
 * than 128 wait, as SGLang does). Admission counts on running requests to write new_token_ratio of
 * what is left of their outputs: 0.7 at first, less with every decode down to 0.098, and up again
 * when the cache ran full and requests were retracted.
 *
 *   workload: {engine: {scheduler: {kind: sglang, chunked-prefill-size: 8192}}}
 */
#include <math.h>

#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gint64 chunk;
  gboolean mixed_chunk, longest_prefix;
} Params;

enum { MOST_SORTED = 128, MOST_NEW_TOKENS = 4096 };
/* init_new_token_ratio 0.7, min_new_token_ratio 0.14 of it, within 600 decodes: global_config.py */
#define RATIO_INIT 0.7
#define RATIO_LEAST (RATIO_INIT * 0.14)
#define RATIO_DECAY ((RATIO_INIT - RATIO_LEAST) / 600)

static const OrrField fields[] = {
    {.name = "chunked-prefill-size",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Params, chunk),
     .sentence = "Most prompt tokens of a step.",
     .fallback = "8192",
     .flags = ORR_FIELD_POSITIVE},
    {.name = "enable-mixed-chunk",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(Params, mixed_chunk),
     .sentence = "Let decodes join a step of prompts.",
     .fallback = "false"},
    {.name = "longest-prefix-first",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(Params, longest_prefix),
     .sentence =
         "Order the waiting by what of them is in the cache; else first come, first served.",
     .fallback = "true"},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("scheduler-sglang",
                    "SGLang: longest cached prefix first, prompts before decodes.", Params, fields);

static OrrRequest *pick(OrrCore *core, GPtrArray *heap) {
  const Params *params = core->scheduler_params;
  OrrRequest *best = heap->pdata[0];
  if (!params->longest_prefix || heap->len > MOST_SORTED) return best;
  gint64 longest = -1;
  for (guint i = 0; i < heap->len; i++) {
    OrrRequest *request = heap->pdata[i];
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

/* Tokens that running requests are expected to write, and the outputs of new ones. */
static double promised(const OrrCore *core) {
  double sum = 0;
  for (guint i = 0; i < core->running->len; i++) {
    const OrrRequest *request = core->running->pdata[i];
    sum += still_to_write(request) * (request->generated > 0 ? core->new_token_ratio : 1);
  }
  return sum;
}

static void admit(OrrCore *core) {
  OrrRequest *request;
  double expected = promised(core);
  while (core->budget > 0 && (gint64)core->running->len < core->limits.max_sequences &&
         (request = orr_core_first(core))) {
    const double room = (double)(orr_kv_n_free(core->kv) * orr_kv_block_size(core->kv)) - expected;
    if (core->running->len > 0 &&
        (double)orr_request_wanted(request) + still_to_write(request) > room)
      break;
    if (!orr_core_admit(core, request, core->budget, FALSE, 0)) break;
    expected += still_to_write(request);
    if (orr_request_left(request) > request->scheduled) break; /* one prompt at a time is cut */
  }
}

static void retracted(OrrCore *core) {
  double written = 0, wanted = 0;
  for (guint i = 0; i < core->running->len; i++) {
    const OrrRequest *request = core->running->pdata[i];
    written += request->generated;
    wanted += MIN(request->output, (gint32)MOST_NEW_TOKENS);
  }
  core->new_token_ratio = fmin(1, (written + 20.0 * core->running->len) / fmax(wanted, 1));
}

static void plan(OrrCore *core, const void *data) {
  const Params *params = data;
  const gint64 budget = core->budget;
  core->budget = MIN(core->budget, params->chunk);
  for (guint i = 0; i < core->running->len && core->budget > 0;
       i++) { /* the prompt that was cut goes on */
    OrrRequest *request = core->running->pdata[i];
    if (!request->is_in_flight && !orr_request_decodes(request) &&
        !orr_core_give(core, request, MIN(orr_request_left(request), core->budget)))
      break;
  }
  admit(core);
  if (core->batch->len > 0 && !params->mixed_chunk) return;
  core->budget = budget;
  orr_scheduler_decodes(core);
  if (core->has_preempted)
    retracted(core);
  else if (core->batch->len > 0)
    core->new_token_ratio = fmax(core->new_token_ratio - RATIO_DECAY, RATIO_LEAST);
}

const OrrScheduler orr_scheduler_sglang = {
    .entry = {"sglang", "SGLang: prompts before decodes, the longest cached prefix first.", &table},
    .plan = plan,
    .pick = pick,
};

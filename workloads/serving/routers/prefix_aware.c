/*
 * prefix_aware.c - the replica that received most of this prompt before, as SGLang's router
 * estimates it (cache_aware).
 *
 * The router gets no reports from engines. For each replica it remembers the prompts that it sent
 * there (a cache of `remembered` tokens in blocks, least recently used out first; the same code as
 * the engine's cache, kv.h). It may therefore count on a block that the engine has evicted
 * since, or that still waits to be computed.
 *
 *   if most - least requests > balance-abs and most > balance-rel * least:   fewest requests
 *   else if the best match covers > cache-threshold of the prompt:           the best match
 *   else                                                                     remembers least
 *
 * Thresholds default to the flags of SGLang's router (`--cache-threshold 0.3`,
 * `--balance-abs-threshold 64`, `--balance-rel-threshold 1.5`; its documentation of 2025, from
 * memory).
 *
 *   workload: {replicas: 4, router: {kind: prefix-aware},
 *              engine: {prefix-caching: radix, scheduler: sglang}}
 */
#include "workloads/serving/routers/router.h"
#include "workloads/serving/core/kv.h"
#include "workloads/serving/routers/prefix_index.h"

typedef struct {
  double cache_threshold, balance_rel;
  gint64 balance_abs, remembered;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "router-prefix-aware", "What was sent where before.", Params,
    ORR_FIELD_REAL(Params, "cache-threshold", cache_threshold, ORR_UNIT_NONE, "0.3",
                   "Fraction of a prompt that a match must cover.", .min = 0, .max = 1),
    ORR_FIELD_INT(
        Params, "balance-abs", balance_abs, "64",
        "Difference in requests between replicas above which balance can take precedence.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "balance-rel", balance_rel, ORR_UNIT_NONE, "1.5",
                   "Ratio of requests between replicas above which balance takes precedence, if "
                   "the difference is also exceeded.",
                   .min = 1, .max = 1e9),
    ORR_FIELD_INT(Params, "remembered", remembered, "1000000",
                  "Tokens of prompts to remember per replica.", .min = 1, .max = 1e10));

typedef struct {
  OrrPrefixIndex *index; /* of all replicas */
  guint replica;
  OrrKv *memory;
  gint64 n_known; /* blocks sent there that its memory did not hold */
} Sent;

typedef struct {
  const Params *params;
  OrrRouterLoads loads;
  OrrPrefixIndex *index; /* of what the memories hold */
  Sent *sent;            /* one per replica */
} State;

static void on_blocks(const OrrTextBlocks *blocks, gboolean is_there, void *user) {
  const Sent *sent = user;
  orr_prefix_index_change(sent->index, sent->replica, blocks, is_there);
}

static gpointer open_router(const void *data, const OrrRouterView *view) {
  State *state = g_new(State, 1);
  *state =
      (State){.params = data, .index = orr_prefix_index_new(view->n), .sent = g_new(Sent, view->n)};
  orr_router_loads_init(&state->loads, view, ORR_LOAD_REQUESTS, 0);
  const gint64 blocks = MAX(state->params->remembered / view->block_size, 1);
  for (guint i = 0; i < view->n; i++) {
    state->sent[i] =
        (Sent){state->index, i, orr_kv_new(blocks, view->block_size, ORR_PREFIX_RADIX), 0};
    orr_kv_observe(state->sent[i].memory, on_blocks, &state->sent[i]);
  }
  return state;
}

static void close_router(gpointer data) {
  State *state = data;
  for (guint i = 0; i < state->loads.view.n; i++) orr_kv_free(state->sent[i].memory);
  g_free(state->sent);
  orr_prefix_index_free(state->index);
  orr_router_loads_clear(&state->loads);
  g_free(state);
}

/* Passes the prompt through the replica's memory as a request that ends at once. */
static void remember(State *state, guint replica, const OrrRequest *request) {
  OrrKv *memory = state->sent[replica].memory;
  OrrRequest sent = *request;
  sent.table = sent.state_table = (OrrBlockTable){0};
  sent.blocks = sent.computed = sent.generated = 0;
  const gint64 hit = orr_kv_lookup(memory, &sent);
  orr_kv_share(memory, &sent, hit);
  if (orr_kv_grow(memory, &sent, sent.prompt)) {
    sent.computed = sent.prompt;
    orr_kv_publish(memory, &sent, hit);
    state->sent[replica].n_known += (sent.prompt - hit) / state->loads.view.block_size;
  }
  orr_kv_release(memory, &sent);
}

static gboolean is_unbalanced(State *state, double now_s) {
  const OrrRouterView *view = &state->loads.view;
  gint64 least = G_MAXINT64, most = 0;
  for (guint i = 0; i < view->n; i++) {
    if (!view->is_open(view->user, i)) continue;
    const gint64 load = orr_router_loads_at(&state->loads, i, now_s);
    least = MIN(least, load);
    most = MAX(most, load);
  }
  return most - least > state->params->balance_abs &&
         (double)most > state->params->balance_rel * (double)least;
}

static guint best_match(State *state, const OrrRequest *request) {
  const OrrRouterView *view = &state->loads.view;
  const gint64 most = (orr_request_wanted(request) - 1) / view->block_size;
  const gint64 *matches = orr_prefix_index_match(state->index, request, most, view->block_size);
  guint best = view->n, emptiest = view->n;
  gint64 longest = -1;
  for (guint i = 0; i < view->n; i++) {
    if (!view->is_open(view->user, i)) continue;
    if (emptiest == view->n || state->sent[i].n_known < state->sent[emptiest].n_known) emptiest = i;
    if (matches[i] <= longest) continue;
    best = i;
    longest = matches[i];
  }
  return (double)(longest * view->block_size) > state->params->cache_threshold * request->prompt
             ? best
             : emptiest;
}

static guint pick(gpointer data, const OrrRequest *request, double now_s) {
  State *state = data;
  const guint replica = is_unbalanced(state, now_s) ? orr_router_loads_least(&state->loads, now_s)
                                                    : best_match(state, request);
  remember(state, replica, request);
  return replica;
}

const OrrRouter orr_router_prefix_aware = {
    .entry =
        {"prefix-aware",
         "The replica that received most of the prompt before, unless load is uneven (SGLang).",
         &table},
    .open = open_router,
    .pick = pick,
    .close = close_router,
};

/*
 * kv_aware.c - the replica with the lowest cost for this prompt: blocks to compute plus blocks in
 * use (NVIDIA Dynamo).
 *
 *   cost = overlap-weight * (blocks of the prompt - those its prefix cache has
 *                            + blocks that prompts before it have yet to compute)
 *          + blocks of its requests
 *
 * (blocks in use, and those that waiting requests will use: Dynamo counts a request as active from
 * the moment it is routed, and all tokens that its prompt lacked there until its first token:
 * lib/kv-router, scheduling/selector.rs, "prefill tokens the worker would have"). The lowest cost
 * wins (Dynamo's KV router at temperature 0). Engines report which blocks enter and leave their
 * caches. With `staleness`, these events and the numbers of used blocks arrive that much later, so
 * the router may count on a block that is gone, and two requests with the same prefix may go to
 * different replicas because neither has been reported yet. Prompts to compute are the router's
 * own count, of what it sent and whose first token has passed.
 *
 *   workload: {replicas: 4, router: {kind: kv-aware, staleness: 50 ms},
 *              engine: {prefix-caching: block-hash}}
 *
 * Oracle: without staleness the index equals the caches' content; with a staleness longer than the
 * run it is empty, and the router uses the loads of the first report.
 */
#include "workloads/serving/routers/prefix_index.h"
#include "workloads/serving/routers/router.h"

typedef struct {
  double overlap_weight, staleness_s;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("router-kv-aware", "What caches hold.", Params,
               ORR_FIELD_REAL(Params, "overlap-weight", overlap_weight, ORR_UNIT_NONE, "1",
                              "Weight of a block to compute, relative to a block in use.",
                              .flags = ORR_FIELD_UNSIGNED),
               ORR_ROUTER_STALENESS(Params, staleness_s));

typedef struct {
  double known_s;
  OrrTextBlocks blocks;
  guint replica;
  gboolean is_there;
} Event;

typedef struct {
  const Params *params;
  OrrRouterLoads loads;
  OrrPrefixIndex *index;
  GArray *events; /* of Event; those before `at` are already in the index */
  guint at;
} State;

static gpointer open_router(const void *params, const OrrRouterView *view) {
  State *state = g_new(State, 1);
  *state = (State){.params = params,
                   .index = orr_prefix_index_new(view->n),
                   .events = g_array_new(FALSE, FALSE, sizeof(Event))};
  orr_router_loads_init(&state->loads, view, ORR_LOAD_KV_BLOCKS, state->params->staleness_s);
  return state;
}

static void close_router(gpointer data) {
  State *state = data;
  orr_prefix_index_free(state->index);
  g_array_unref(state->events);
  orr_router_loads_clear(&state->loads);
  g_free(state);
}

static void on_blocks(gpointer data, guint replica, const OrrTextBlocks *blocks, gboolean is_there,
                      double now_s) {
  State *state = data;
  ORR_APPEND(state->events, Event,
             {now_s + state->params->staleness_s, *blocks, replica, is_there});
}

static void hear(State *state, double now_s) {
  while (state->at < state->events->len &&
         g_array_index(state->events, Event, state->at).known_s <= now_s) {
    const Event *event = &g_array_index(state->events, Event, state->at++);
    orr_prefix_index_change(state->index, event->replica, &event->blocks, event->is_there);
  }
  if (state->at < 1024 || 2 * state->at < state->events->len) return;
  g_array_remove_range(state->events, 0, state->at);
  state->at = 0;
}

static guint pick(gpointer data, const OrrRequest *request, double now_s) {
  State *state = data;
  const OrrRouterView *view = &state->loads.view;
  hear(state, now_s);
  const gint64 blocks = (request->prompt + view->block_size - 1) / view->block_size;
  const gint64 *hits = orr_prefix_index_match(state->index, request, blocks, view->block_size);
  guint best = view->n;
  double least = 0;
  for (guint k = 1; k <= view->n; k++) {
    const guint i = (state->loads.after + k) % view->n;
    if (!view->is_open(view->user, i)) continue;
    const double before = (double)view->load(view->user, i, ORR_LOAD_PROMPT_TOKENS);
    const double cost = state->params->overlap_weight *
                            ((double)(blocks - hits[i]) + before / (double)view->block_size) +
                        (double)orr_router_loads_at(&state->loads, i, now_s);
    if (best < view->n && cost >= least) continue;
    best = i;
    least = cost;
  }
  return state->loads.after = best;
}

static gboolean sees_blocks(const void *params) { return TRUE; }

/* Each event is heard of a staleness after it. */
static gboolean dates_blocks(const void *params) {
  return ((const Params *)params)->staleness_s > 0;
}

const OrrRouter orr_router_kv_aware = {
    .entry =
        {"kv-aware",
         "The replica with the fewest blocks to compute, earlier prompts' included, and in use, "
         "by its cache's events (Dynamo).",
         &table},
    .open = open_router,
    .pick = pick,
    .close = close_router,
    .on_blocks = on_blocks,
    .sees_blocks = sees_blocks,
    .dates_blocks = dates_blocks,
};

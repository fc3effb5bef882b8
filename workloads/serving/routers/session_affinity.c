/*
 * session_affinity.c - a conversation stays on the replica where it began.
 *
 * Rendezvous hashing (Thaler, Ravishankar 1998): the open replica with the largest
 * hash(conversation, replica). When a replica closes, only its conversations move, evenly over the
 * others. Requests without a conversation go to the replica with the fewest requests. `by: class`
 * keeps a class of requests together instead, `by: prefix` a shared system prompt.
 *
 *   workload: {replicas: 4, router: {kind: session-affinity, by: session}}
 *
 * Oracle: closing one of n replicas moves its conversations and no others.
 */
#include "workloads/serving/routers/router.h"

typedef enum { BY_SESSION, BY_CLASS, BY_PREFIX } By;
static const char *const by_words[] = {"session", "class", "prefix", NULL};

typedef struct {
  int by;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "router-session-affinity", "What stays together.", Params,
    ORR_FIELD_WORD(Params, "by", by, by_words, "session",
                   "Requests that stay together: conversations, classes, or prompts with the same "
                   "beginning (a shared prefix, or the first block of a trace's prompt). A request "
                   "without one goes to the replica with the fewest requests."));

typedef struct {
  By by;
  OrrRouterLoads loads;
} State;

static gpointer open_router(const void *params, const OrrRouterView *view) {
  State *state = g_new(State, 1);
  state->by = (By)((const Params *)params)->by;
  orr_router_loads_init(&state->loads, view, ORR_LOAD_REQUESTS, 0);
  return state;
}

static guint64 key_of(const State *state, const OrrRequest *request) {
  if (state->by == BY_CLASS) return (guint64)request->group + 1;
  if (state->by == BY_SESSION) return request->stream;
  if (request->shared) return request->shared;
  return request->n_spans > 0 ? orr_random_hash3(request->spans[0].id, 0, 0)
                              : 0; /* ids begin at 0 */
}

static guint pick(gpointer data, const OrrRequest *request, double now_s) {
  State *state = data;
  const OrrRouterView *view = &state->loads.view;
  const guint64 key = key_of(state, request);
  if (key == 0) return orr_router_loads_least(&state->loads, now_s);
  guint best = view->n;
  guint64 largest = 0;
  for (guint i = 0; i < view->n; i++) {
    if (!view->is_open(view->user, i)) continue;
    const guint64 hash = orr_random_hash3(key, i, view->seed);
    if (best < view->n && hash <= largest) continue;
    best = i;
    largest = hash;
  }
  return best;
}

static void close_router(gpointer data) {
  State *state = data;
  orr_router_loads_clear(&state->loads);
  g_free(state);
}

const OrrRouter orr_router_session_affinity = {
    .entry = {"session-affinity",
              "A conversation stays on the replica where it began (rendezvous hashing).", &table},
    .open = open_router,
    .pick = pick,
    .close = close_router,
};

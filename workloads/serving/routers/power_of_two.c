/*
 * power_of_two.c - the less loaded of two random replicas (with `choices`: of d; with one choice, a
 * random replica).
 *
 * Azar et al. 1994, Mitzenmacher 2001: n requests over n replicas leave at most ln ln n / ln d +
 * O(1) on any replica, where one random choice leaves about ln n / ln ln n. For large n, the
 * fraction of replicas with at least i requests follows
 *
 *   ds_i/dt = s_{i-1}^d - s_i^d,   s_0 = 1,  t = requests over replicas    (the test's oracle)
 *
 * Draws are with replacement among the open replicas. The router tolerates late loads well, since
 * requests do not all go to the same replica.
 *
 *   workload: {replicas: 16, router: {kind: power-of-two, choices: 2, staleness: 0.1 s}}
 */
#include "workloads/serving/routers/router.h"

typedef struct {
  gint64 choices;
  double staleness_s;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("router-power-of-two", "The best of a few.", Params,
               ORR_FIELD_INT(Params, "choices", choices, "2",
                             "Number of random replicas to compare; 1: a random router.", .min = 1,
                             .max = 1000),
               ORR_ROUTER_STALENESS(Params, staleness_s));

typedef struct {
  const Params *params;
  OrrRouterLoads loads;
  OrrRandom random;
} State;

static gpointer open_router(const void *params, const OrrRouterView *view) {
  State *state = g_new(State, 1);
  *state = (State){.params = params, .random = orr_random_stream(view->seed, "router")};
  orr_router_loads_init(&state->loads, view, ORR_LOAD_REQUESTS, state->params->staleness_s);
  return state;
}

static guint draw(State *state) {
  const OrrRouterView *view = &state->loads.view;
  guint i;
  do i = (guint)orr_random_below(&state->random, view->n);
  while (!view->is_open(view->user, i));
  return i;
}

static guint pick(gpointer data, const OrrRequest *request, double now_s) {
  State *state = data;
  guint best = draw(state);
  for (gint64 k = 1; k < state->params->choices; k++) {
    const guint other = draw(state);
    if (orr_router_loads_at(&state->loads, other, now_s) <
        orr_router_loads_at(&state->loads, best, now_s))
      best = other;
  }
  return best;
}

static void close_router(gpointer data) {
  State *state = data;
  orr_router_loads_clear(&state->loads);
  g_free(state);
}

const OrrRouter orr_router_power_of_two = {
    .entry = {"power-of-two", "The less loaded of two random replicas.", &table},
    .open = open_router,
    .pick = pick,
    .close = close_router,
};

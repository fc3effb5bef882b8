/*
 * round_robin.c - replicas in cyclic order, regardless of load.
 *
 *   workload: {replicas: 4, router: round-robin}
 *
 * Oracle: after k n requests to n open replicas each has received k.
 */
#include "workloads/serving/routers/router.h"

typedef struct {
  OrrRouterView view;
  guint turn;
} State;

static gpointer open_router(const void *params, const OrrRouterView *view) {
  State *state = g_new(State, 1);
  *state = (State){*view, 0};
  return state;
}

static guint pick(gpointer data, const OrrRequest *request, double now_s) {
  State *state = data;
  while (!state->view.is_open(state->view.user, state->turn % state->view.n)) state->turn++;
  return state->turn++ % state->view.n;
}

const OrrRouter orr_router_round_robin = {
    .entry = {"round-robin", "Replicas in cyclic order, regardless of load.", NULL},
    .open = open_router,
    .pick = pick,
    .close = g_free,
};

/*
 * router.c - the registry of routers, and loads as last reported.
 */
#include "workloads/serving/routers/router.h"

extern const OrrRouter orr_router_kv_aware, orr_router_least_loaded, orr_router_power_of_two,
    orr_router_prefix_aware, orr_router_round_robin, orr_router_session_affinity;

/* Alphabetical. To add one, see router.h. */
static const OrrEntry *const entries[] = {&orr_router_kv_aware.entry,
                                          &orr_router_least_loaded.entry,
                                          &orr_router_power_of_two.entry,
                                          &orr_router_prefix_aware.entry,
                                          &orr_router_round_robin.entry,
                                          &orr_router_session_affinity.entry,
                                          NULL};
const OrrRegistry orr_router_registry = {"router", entries};

const char *const orr_router_load_words[] = {"requests", "waiting", "kv-blocks", NULL};

void orr_router_loads_init(OrrRouterLoads *loads, const OrrRouterView *view, OrrRouterLoad by,
                           double staleness_s) {
  *loads = (OrrRouterLoads){
      .view = *view, .by = by, .staleness_s = staleness_s, .seen_s = -1, .after = view->n - 1};
  if (staleness_s > 0) loads->seen = g_new0(gint64, view->n);
}

void orr_router_loads_clear(OrrRouterLoads *loads) { g_clear_pointer(&loads->seen, g_free); }

/* Reports are due at whole multiples of the staleness; their values are read at the first
 * decision after one. */
static void report(OrrRouterLoads *loads, double now_s) {
  if (loads->seen_s >= 0 && now_s < loads->seen_s + loads->staleness_s) return;
  for (guint i = 0; i < loads->view.n; i++)
    loads->seen[i] = loads->view.load(loads->view.user, i, loads->by);
  loads->seen_s = (double)(gint64)(now_s / loads->staleness_s) * loads->staleness_s;
}

gint64 orr_router_loads_at(OrrRouterLoads *loads, guint replica, double now_s) {
  if (!loads->seen) return loads->view.load(loads->view.user, replica, loads->by);
  report(loads, now_s);
  return loads->seen[replica];
}

guint orr_router_loads_least(OrrRouterLoads *loads, double now_s) {
  const guint n = loads->view.n;
  guint best = n;
  gint64 least = 0;
  for (guint k = 1; k <= n; k++) {
    const guint i = (loads->after + k) % n;
    if (!loads->view.is_open(loads->view.user, i)) continue;
    const gint64 load = orr_router_loads_at(loads, i, now_s);
    if (best < n && load >= least) continue;
    best = i;
    least = load;
  }
  loads->after = best;
  return best;
}

/*
 * router.c - loads as replicas last reported them.
 */
#include "workloads/serving/routers/router.h"

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

/*
 * least_loaded.c - the replica with the lowest load; ties in round-robin order.
 *
 * If loads are reported late, the least loaded replica receives all requests until the next report.
 * That is worse than a random choice once a report spans many arrivals (Mitzenmacher 2000).
 *
 *   workload: {replicas: 4, router: {kind: least-loaded, by: requests, staleness: 0 s}}
 *
 * Oracle: with `by: requests`, without staleness and departures, the numbers of requests differ by
 * 1 at most.
 */
#include "workloads/serving/routers/router.h"

typedef struct {
  int by;
  double staleness_s;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("router-least-loaded", "The lowest load.", Params,
               ORR_FIELD_WORD(Params, "by", by, orr_router_load_words, "requests",
                              "The measure of load: requests at the replica, requests that wait "
                              "there, or blocks of the cache held."),
               ORR_ROUTER_STALENESS(Params, staleness_s));

static gpointer open_router(const void *data, const OrrRouterView *view) {
  const Params *params = data;
  OrrRouterLoads *loads = g_new(OrrRouterLoads, 1);
  orr_router_loads_init(loads, view, (OrrRouterLoad)params->by, params->staleness_s);
  return loads;
}

static guint pick(gpointer loads, const OrrRequest *request, double now_s) {
  return orr_router_loads_least(loads, now_s);
}

static void close_router(gpointer loads) {
  orr_router_loads_clear(loads);
  g_free(loads);
}

static gboolean sees_blocks(const void *data) {
  return ((const Params *)data)->by == ORR_LOAD_KV_BLOCKS;
}

const OrrRouter orr_router_least_loaded = {
    .entry = {"least-loaded", "The replica with the lowest load.", &table},
    .open = open_router,
    .pick = pick,
    .close = close_router,
    .sees_blocks = sees_blocks,
};

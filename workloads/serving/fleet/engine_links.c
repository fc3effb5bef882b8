/*
 * engine_links.c - what faults of links do to the engines themselves: their collectives, exchanges
 * of experts' tokens, and sends between pipeline stages.
 *
 * When the machine's links change, the steps of each replica are priced anew on the links as they
 * are now, at the replica's own GPUs; a step under way keeps its end. A replica that needs a lost
 * link begins no step until it is back or routes go around it, as NCCL's kernels would wait. Where
 * a step of a prompt and a decode takes as long as before, the replica keeps its group's costs.
 * Measured times of a scale-up domain do not depend on links.
 */
#include "workloads/serving/fleet/fleet_private.h"

/* How many times as long says that a link is lost, and not slow. */
#define CUT 1e6

static double probe(OrrServingCost *cost) {
  const OrrStepShape shape = {.tokens = 1025,
                              .chunk = 1024,
                              .chunk_key_sum = 1024 * 512,
                              .chunk_pairs = 1024 * 512,
                              .n_chunks = 1,
                              .decodes = 1,
                              .key_sum = 1024,
                              .keys_least = 1024,
                              .keys_most = 1024,
                              .sequences = 2,
                              .group_tokens = 1025,
                              .logits = 2};
  return orr_serving_cost_step(cost, &shape).comm_s;
}

static gboolean reprice(OrrRoute *route, guint i, const OrrFabric *fabric, GError **error) {
  OrrServingRun *run = route->run;
  OrrWorld world;
  g_autoptr(OrrServingCost) built =
      orr_group_costs_at(run, i, run->work->world->fabric, &world, error);
  g_autoptr(OrrServingCost) price =
      built ? orr_group_costs_at(run, i, fabric, &run->own_worlds[i], error) : NULL;
  if (!price) return FALSE;
  const double built_s = probe(built), now_s = probe(price);
  const gboolean is_cut = now_s > CUT * built_s, is_same = fabs(now_s - built_s) <= 1e-9 * built_s;
  orr_replica_reprice(route->replicas[i], is_same ? NULL : g_steal_pointer(&price), is_cut);
  return TRUE;
}

void orr_engine_links_change(OrrRoute *route, const OrrFabric *fabric) {
  OrrServingRun *run = route->run;
  for (gint64 i = 0; i < run->work->params.replicas && !run->error; i++) {
    if (!fabric || run->pools[run->work->replicas[i].group])
      orr_replica_reprice(route->replicas[i], NULL, FALSE);
    else
      reprice(route, (guint)i, fabric, &run->error);
  }
}

/*
 * shuffled.c - random: free nodes in a random order, fixed by the scenario's seed and the job's
 * name.
 *
 *   placement: random
 */
#include "sim/base/random.h"
#include "topologies/job_placement.h"

/* The Fisher-Yates shuffle. */
static void shuffle(gint64 *items, gint64 n, OrrRandom *random) {
  for (gint64 i = n - 1; i > 0; i--) {
    const gint64 other = (gint64)orr_random_below(random, (guint64)i + 1), item = items[i];
    items[i] = items[other];
    items[other] = item;
  }
}

static gboolean choose(const void *params, const OrrPlacementRequest *request, gint64 n,
                       gint64 *ret_gpus, GError **error) {
  const gint64 per_node = request->cluster->node.gpus,
               n_nodes = (request->n_gpus + per_node - 1) / per_node;
  g_autofree char *name = g_strconcat("placement ", request->job, NULL);
  OrrRandom random = orr_random_stream(request->seed, name);
  g_autofree gint64 *nodes = g_new(gint64, n_nodes);
  g_autofree gint64 *order = g_new(gint64, request->n_gpus + 1);
  gint64 n_order = 0;
  for (gint64 node = 0; node < n_nodes; node++) nodes[node] = node;
  shuffle(nodes, n_nodes, &random);
  for (gint64 i = 0; i < n_nodes; i++)
    for (gint64 gpu = nodes[i] * per_node; gpu < MIN((nodes[i] + 1) * per_node, request->n_gpus);
         gpu++)
      order[n_order++] = gpu;
  return orr_job_placement_take(request, order, n_order, n, ret_gpus, error);
}

const OrrJobPlacementKind orr_placement_random = {
    .entry = {"random", "Free nodes in a random order, fixed by the seed.", NULL},
    .choose = choose,
};

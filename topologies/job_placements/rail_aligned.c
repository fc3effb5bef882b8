/*
 * rail_aligned.c - the same GPUs of every node: several jobs share nodes, each on its own rails.
 *
 *   gpus-per-node: 2        n0: a a b b . . . .     a and b on 4 nodes each: rails 0-1 and 2-3
 *                           n1: a a b b . . . .
 *
 *   placement: {kind: rail-aligned, gpus-per-node: 2}
 */
#include "topologies/job_placement.h"

typedef struct {
  gint64 gpus_per_node;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "rail-aligned", "The same GPUs of every node.", Params,
    ORR_FIELD_INT(
        Params, "gpus-per-node", gpus_per_node, NULL,
        "GPUs that the job takes in each node: the first positions that are free on every node.",
        .flags = ORR_FIELD_POSITIVE));

static gboolean is_free_everywhere(const OrrPlacementRequest *request, gint64 place,
                                   gint64 n_nodes) {
  for (gint64 node = 0; node < n_nodes; node++)
    if (request->taken[node * request->cluster->node.gpus + place]) return FALSE;
  return TRUE;
}

static gboolean choose(const void *data, const OrrPlacementRequest *request, gint64 n,
                       gint64 *ret_gpus, GError **error) {
  const gint64 per_node = request->cluster->node.gpus,
               rails = ((const Params *)data)->gpus_per_node;
  const gint64 n_nodes = MIN((n + rails - 1) / rails, request->n_gpus / per_node);
  g_autofree gint64 *places = g_new(gint64, per_node);
  g_autofree gint64 *order = g_new(gint64, n_nodes * per_node + 1);
  gint64 n_places = 0, n_order = 0;
  for (gint64 place = 0; place < per_node && n_places < rails; place++)
    if (is_free_everywhere(request, place, n_nodes)) places[n_places++] = place;
  for (gint64 node = 0; node < n_nodes; node++)
    for (gint64 i = 0; i < n_places; i++) order[n_order++] = node * per_node + places[i];
  return orr_job_placement_take(request, order, n_order, n, ret_gpus, error);
}

const OrrJobPlacementKind orr_placement_rail_aligned = {
    .entry = {"rail-aligned",
              "The same GPUs of every node: several jobs share nodes, each on its own rails.",
              &table},
    .choose = choose,
};

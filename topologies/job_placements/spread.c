/*
 * spread.c - whole free nodes, spread evenly over the machine: what a scheduler finds on a busy
 * cluster, and the worst placement for oversubscribed leaves.
 *
 *   4 of 16 nodes:  x . . . x . . . x . . . x . . .
 *
 *   placement: spread
 */
#include "topologies/job_placement.h"

static GArray *free_nodes(const OrrPlacementRequest *request) {
  const gint64 per_node = request->cluster->node.gpus;
  GArray *nodes = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint64 node = 0; (node + 1) * per_node <= request->n_gpus; node++) {
    gint64 n_free = 0;
    for (gint64 i = 0; i < per_node; i++) n_free += !request->taken[node * per_node + i];
    if (n_free == per_node) g_array_append_val(nodes, node);
  }
  return nodes;
}

static gboolean choose(const void *params, const OrrPlacementRequest *request, gint64 n,
                       gint64 *ret_gpus, GError **error) {
  const gint64 per_node = request->cluster->node.gpus, needed = (n + per_node - 1) / per_node;
  g_autoptr(GArray) nodes = free_nodes(request);
  if (needed > (gint64)nodes->len)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "job %s needs %ld whole nodes and only %u are free: use fewer jobs, "
                         "smaller jobs or more cluster.nodes",
                         request->job, needed, nodes->len);
  for (gint64 i = 0; i < n; i++) {
    const gint64 node = g_array_index(nodes, gint64, i / per_node * nodes->len / needed);
    ret_gpus[i] = node * per_node + i % per_node;
  }
  return TRUE;
}

const OrrJobPlacementKind orr_placement_spread = {
    .entry = {"spread", "Whole free nodes, spread evenly over the machine.", NULL},
    .choose = choose,
};

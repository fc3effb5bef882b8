/*
 * packed.c - the first free GPUs, node by node: a job's nodes are neighbours and share leaves.
 *
 *   placement: packed
 */
#include "topologies/job_placement.h"

static gboolean choose(const void *params, const OrrPlacementRequest *request, gint64 n,
                       gint64 *ret_gpus, GError **error) {
  g_autofree gint64 *order = g_new(gint64, request->n_gpus);
  for (gint64 gpu = 0; gpu < request->n_gpus; gpu++) order[gpu] = gpu;
  return orr_job_placement_take(request, order, request->n_gpus, n, ret_gpus, error);
}

const OrrJobPlacementKind orr_placement_packed = {
    .entry = {"packed", "The first free GPUs, node by node.", NULL},
    .choose = choose,
};

/*
 * serving_groups.c - the groups of replicas of a fleet, and which GPUs they are on.
 *
 * GPUs are numbered through the machine; groups take them in their order. Where a replica that a
 * node could hold would be on two then, groups take them by the size of their replicas, the largest
 * first, as one would place them:
 *
 *   prefill 1 x 1, decode 1 x 8, nodes of 8    in order    | p d d d d d d d | d             |
 *                                              by size     | d d d d d d d d | p             |
 */
#include "workloads/serving/fleet/fleet_private.h"
#include "workloads/serving/tasks/task_run.h"

OrrServing orr_serving_groups_params(const OrrServing *params, guint g, const OrrCluster *cluster) {
  OrrServing own = *params;
  const OrrReplicaGroup *group = g > 0 ? params->groups->pdata[g - 1] : NULL;
  if (group) own.parallel = group->parallel;
  orr_feed_pool_cap(&own, cluster);
  if (group) {
    own.replicas = group->replicas;
    own.formats = group->formats;
    if (group->engine.scheduler.entry) own.engine = group->engine;
    return own;
  }
  gint64 left = orr_cluster_n_gpus(cluster);
  ORR_EACH_POINTER(const OrrReplicaGroup, other, params->groups)
    if (!other->shares) left -= other->replicas * orr_serving_parallel_gpus(&other->parallel);
  left -= params->encoders.replicas + orr_tasks_gpus(&params->tasks, G_MAXUINT);
  if (own.replicas == 0) own.replicas = MAX(left / orr_serving_parallel_gpus(&own.parallel), 1);
  return own;
}

OrrCluster orr_serving_groups_cluster(const OrrServing *params, guint g,
                                      const OrrCluster *cluster) {
  OrrCluster own = *cluster;
  const OrrReplicaGroup *group = g > 0 ? params->groups->pdata[g - 1] : NULL;
  if (!group || !group->device.name) return own;
  const double rack_w = orr_cluster_power_board_cap_w(cluster);
  own.device = group->device;
  if (rack_w > 0) own.device.power.cap_w = orr_device_power_limit_w(&own.device.power, rack_w);
  return own;
}

OrrModel orr_serving_groups_model(const OrrServing *params, guint g, const OrrModel *model) {
  const OrrReplicaGroup *group = g > 0 ? params->groups->pdata[g - 1] : NULL;
  if (!group || !group->model.name) return *model;
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* refusals.c reports them */
  OrrModel own = group->model;
  orr_model_settle(&own, (OrrPlace){0}, ignored);
  return own;
}

gboolean orr_serving_groups_shares(const OrrServing *params, guint g) {
  return g > 0 && ((const OrrReplicaGroup *)params->groups->pdata[g - 1])->shares;
}

/* --- places --- */

/* GPUs that reach each other without the network. */
static gint64 near_gpus(const OrrCluster *cluster) {
  return MAX(cluster->node.gpus, cluster->node.scale_up_domain);
}

/* Whether one of @n replicas of @gpus GPUs each, from GPU @first on, is on two nodes though one
 * could hold it. */
static gboolean is_split(gint64 first, gint64 n, gint64 gpus, gint64 near) {
  for (gint64 i = 0; gpus <= near && i < n; i++, first += gpus)
    if (first / near != (first + gpus - 1) / near) return TRUE;
  return FALSE;
}

/* Places the groups in the order of @order; returns the first that is split, or G_MAXUINT. */
static guint place(const OrrServing *params, const OrrCluster *cluster, const guint *order,
                   gint64 *ret_first) {
  const gint64 near = near_gpus(cluster);
  guint split = G_MAXUINT;
  gint64 next = 0;
  for (guint i = 0; i < orr_serving_n_groups(params); i++) {
    const OrrServing own = orr_serving_groups_params(params, order[i], cluster);
    const gint64 gpus = orr_serving_parallel_gpus(&own.parallel);
    if (orr_serving_groups_shares(params, order[i])) continue;
    if (split == G_MAXUINT && is_split(next, own.replicas, gpus, near)) split = order[i];
    ret_first[order[i]] = next;
    next += own.replicas * gpus;
  }
  for (guint g = 1; g < orr_serving_n_groups(params); g++)
    if (orr_serving_groups_shares(params, g)) ret_first[g] = ret_first[g - 1];
  return split;
}

static void sort_by_size(const OrrServing *params, const OrrCluster *cluster, guint *order) {
  for (guint i = 1; i < orr_serving_n_groups(params); i++) {
    const guint moved = order[i];
    const OrrServing own = orr_serving_groups_params(params, moved, cluster);
    guint k = i;
    for (; k > 0; k--) {
      const OrrServing before = orr_serving_groups_params(params, order[k - 1], cluster);
      if (orr_serving_parallel_gpus(&before.parallel) >= orr_serving_parallel_gpus(&own.parallel))
        break;
      order[k] = order[k - 1];
    }
    order[k] = moved;
  }
}

guint orr_serving_groups_place(const OrrServing *params, const OrrCluster *cluster,
                               gint64 *ret_first) {
  const guint n = orr_serving_n_groups(params);
  g_autofree guint *order = g_new(guint, n);
  for (guint g = 0; g < n; g++) order[g] = g;
  if (place(params, cluster, order, ret_first) == G_MAXUINT) return G_MAXUINT;
  sort_by_size(params, cluster, order);
  return place(params, cluster, order, ret_first);
}

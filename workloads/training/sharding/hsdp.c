/*
 * hsdp - hybrid sharding: FSDP inside groups, replicas across them (FSDP's HYBRID_SHARD; a 2-D mesh
 * in FSDP2).
 *
 * Groups of `group` ranks (0: the ranks of a node) shard one copy. Gathers and scatters stay inside
 * a group, and each rank all-reduces its shard of the gradients with its counterparts in the other
 * n / k groups.
 *
 * A rank sends (k-1)/k m (2 w + g) P + 2 (r-1)/r m g P / k bytes per step with r = n / k, and holds
 * (w + g + optimizer) P / k.
 *
 *   optimizer: {sharding: {kind: hsdp, group: 8}}
 */
#include "workloads/training/sharding/zero.h"

static gint64 group_of(const OrrFullyShardedParams *params, const OrrShardingShape *shape) {
  return params->group > 0 ? params->group : MIN(shape->ranks, shape->ranks_a_node);
}

static char *refuse(const void *params, const OrrShardingShape *shape) {
  const gint64 group = group_of(params, shape);
  if (shape->ranks % group == 0) return NULL;
  return g_strdup_printf("hsdp: the data-parallel ranks (%ld) cannot be divided by its group (%ld)",
                         shape->ranks, group);
}

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  orr_fsdp_plan(params, shape, group_of(params, shape), ret_plan);
}

static const OrrFieldTable table = ORR_FIELDS(
    "hsdp", "Parameters of hybrid sharding.", OrrFullyShardedParams, ORR_FULLY_SHARDED_FIELDS,
    ORR_FIELD_INT(OrrFullyShardedParams, "group", group, "0",
                  "Ranks that shard one copy; 0: the ranks of a node.", .min = 0, .max = 1e6));

const OrrShardingKind orr_sharding_hsdp = {
    .entry = {"hsdp", "Hybrid sharding: FSDP inside groups of ranks, replicas across them.",
              &table},
    .refuse = refuse,
    .plan = plan,
};

/*
 * zero-1 - DeepSpeed's stage 1: the optimizer's state sharded (Rajbhandari et al. 2020, ZeRO,
 * P_os).
 *
 * Gradients stay whole and are reduced in buckets of reduce-bucket elements once per step, each
 * slice to the rank that updates it; then the parameters are all-gathered. overlap-comm is off by
 * default (DeepSpeed, docs config-json, zero_optimization). It works with pipelines;
 * Megatron-DeepSpeed uses this combination.
 *
 * A rank sends (n-1)/n (g + w) P bytes per step and holds (w + g) P + optimizer P / n.
 *
 *   optimizer: {sharding: {kind: zero-1, reduce-bucket: 500000000}}
 */
#include "workloads/training/sharding/zero.h"

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const OrrZeroParams *p = params;
  const double bucket = (double)p->reduce_bucket * shape->gradient_bytes;
  *ret_plan = (OrrShardingPlan){.ranks = shape->ranks,
                                .optimizer = TRUE,
                                .overlap = p->overlap_comm,
                                .flat_bytes = bucket * (p->overlap_comm ? 2 : 1),
                                .update_bytes = 4 + shape->gradient_bytes,
                                .bucket_bytes = bucket,
                                .first_bucket_bytes = bucket};
}

static const OrrFieldTable table = ORR_FIELDS("zero-1", "Parameters of DeepSpeed's ZeRO stage 1.",
                                              OrrZeroParams, ORR_ZERO_FIELDS("false"));

const OrrShardingKind orr_sharding_zero_1 = {
    .entry = {"zero-1", "DeepSpeed ZeRO stage 1: the optimizer's state sharded.", &table},
    .plan = plan,
};

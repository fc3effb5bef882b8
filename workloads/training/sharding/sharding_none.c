/*
 * none - every replica holds everything; gradients are all-reduced, as in Megatron-LM's own DDP.
 *
 * Gradients occupy one buffer. It is reduced after the last backward or, with
 * data-parallel.overlap, in buckets of data-parallel.bucket bytes as they fill during the last
 * micro-batch's backward.
 *
 * A rank sends 2 (n-1)/n g P bytes per step and holds everything: (w + g + optimizer) P.
 *
 *   optimizer: {kind: adam, sharding: none}
 */
#include "workloads/training/sharding/sharding.h"

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const double bucket = shape->overlap ? shape->bucket_bytes : INFINITY;
  *ret_plan = (OrrShardingPlan){
      .ranks = 1, .overlap = shape->overlap, .bucket_bytes = bucket, .first_bucket_bytes = bucket};
}

const OrrShardingKind orr_sharding_none = {
    .entry =
        {"none",
         "Whole replicas; gradients are all-reduced after or during the backward (Megatron's DDP).",
         NULL},
    .plan = plan,
};

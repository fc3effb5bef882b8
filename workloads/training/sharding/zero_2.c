/*
 * zero-2 - DeepSpeed's stage 2: gradients and the optimizer's state sharded (ZeRO, P_os+g).
 *
 * Each micro-batch's backward reduces its gradients in buckets of reduce-bucket elements, each part
 * to its owner, and drops the rest: with m micro-batches, m times the bytes of stage 1. Parameters
 * are all-gathered after the update. DeepSpeed refuses it under a pipeline, whose stages keep whole
 * gradients over micro-batches (deepspeed/runtime/pipe/engine.py).
 *
 * A rank sends (n-1)/n (m g + w) P bytes per step and holds w P + (g + optimizer) P / n, and one
 * bucket.
 *
 *   optimizer: {sharding: {kind: zero-2, reduce-bucket: 500000000, overlap-comm: true}}
 */
#include "workloads/training/sharding/zero.h"

static char *refuse(const void *params, const OrrShardingShape *shape) {
  return orr_sharding_refuse_pipeline(
      "zero-2", shape,
      "DeepSpeed's pipeline engine keeps whole gradients over micro-batches; use zero-1");
}

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const OrrZeroParams *p = params;
  const double bucket = (double)p->reduce_bucket * shape->gradient_bytes;
  *ret_plan = (OrrShardingPlan){.ranks = shape->ranks,
                                .gradients = TRUE,
                                .optimizer = TRUE,
                                .overlap = p->overlap_comm,
                                .reduces_each_pass = TRUE,
                                .flat_bytes = bucket * (p->overlap_comm ? 2 : 1),
                                .update_bytes = 4 + shape->gradient_bytes,
                                .bucket_bytes = bucket,
                                .first_bucket_bytes = bucket};
}

static const OrrFieldTable table = ORR_FIELDS("zero-2", "Parameters of DeepSpeed's ZeRO stage 2.",
                                              OrrZeroParams, ORR_ZERO_FIELDS("false"));

const OrrShardingKind orr_sharding_zero_2 = {
    .entry = {"zero-2", "DeepSpeed ZeRO stage 2: gradients and the optimizer's state sharded.",
              &table},
    .refuse = refuse,
    .plan = plan,
};

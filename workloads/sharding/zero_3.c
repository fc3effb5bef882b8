/*
 * zero-3 - DeepSpeed's stage 3: weights, gradients and the optimizer's state shared out (ZeRO, P_os+g+p).
 *
 * A unit's weights are all-gathered before its forward and again before its backward, in every micro-batch, up to
 * prefetch-bucket elements ahead of use, and dropped after; its gradients are reduce-scattered as they come. Tensors of
 * at most persistence-threshold elements (norms, biases) stay whole. Defaults: stage3_prefetch_bucket_size 5e7,
 * stage3_param_persistence_threshold 1e5, overlap_comm true (DeepSpeed, docs config-json). DeepSpeed refuses it under a
 * pipeline.
 *
 * A rank sends (n-1)/n m (2 w + g) P bytes a step (with m = 1 and w = g 3 P where plain data parallelism sends 2 P) and
 * holds (w + g + optimizer) P / n, and what is gathered.
 *
 *   optimizer: {sharding: {kind: zero-3, prefetch-bucket: 50000000}}
 */
#include "workloads/sharding/zero.h"

static char *refuse(const void *params, const OrrShardingShape *shape) {
  (void)params;
  return orr_sharding_refuse_pipeline("zero-3", shape,
                                      "DeepSpeed's pipeline engine takes stages 0 and 1 only; use zero-1");
}

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const OrrZeroParams *p = params;
  const double bucket = (double)p->reduce_bucket * shape->gradient_bytes;
  *ret_plan = (OrrShardingPlan){.ranks = shape->ranks,
                                .weights = TRUE,
                                .gradients = TRUE,
                                .optimizer = TRUE,
                                .overlap = p->overlap_comm,
                                .reduces_each_pass = TRUE,
                                .gathers_again = TRUE,
                                .update_bytes = 4,
                                .bucket_bytes = bucket,
                                .first_bucket_bytes = bucket,
                                .gather_bytes = (double)p->prefetch_bucket * shape->weight_bytes,
                                .ahead = p->overlap_comm ? 1 : 0,
                                .whole_below = (double)p->persistence_threshold};
}

static const OrrField fields[] = {
    ORR_ZERO_FIELDS("true"),
    {.name = "prefetch-bucket",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrZeroParams, prefetch_bucket),
     .sentence = "Weights (elements) that may be gathered ahead of their use (stage3_prefetch_bucket_size).",
     .fallback = "50000000",
     .min = 0,
     .max = 1e12},
    {.name = "persistence-threshold",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrZeroParams, persistence_threshold),
     .sentence = "Tensors of at most as many elements stay whole (stage3_param_persistence_threshold).",
     .fallback = "100000",
     .min = 0,
     .max = 1e12},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("zero-3", "Parameters of DeepSpeed's ZeRO stage 3.", OrrZeroParams, fields);

const OrrShardingKind orr_sharding_zero_3 = {
    .entry = {"zero-3", "DeepSpeed ZeRO stage 3: weights, gradients and the optimizer's state shared out.", &table},
    .refuse = refuse,
    .plan = plan,
    .refuses_expert_parallel = "DeepSpeed's expert-parallel layers take stages 0 to 2; use zero-2, or fsdp",
};

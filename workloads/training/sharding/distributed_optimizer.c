/*
 * distributed-optimizer - Megatron's: replicas shard the optimizer's state, and nothing else.
 *
 * Gradients are reduce-scattered in buckets, each rank updates its 1/n of the parameters, and the
 * updated parameters are all-gathered in the weights' format. Both overlap with compute if
 * `overlap-grad-reduce` (here data-parallel.overlap) and `overlap-param-gather` say so; the gather
 * then runs bucket by bucket during the next step's first forward. Buckets have max(40 million, 1
 * million n) parameters unless `bucket` says otherwise
 * (megatron/core/distributed/distributed_data_parallel.py).
 *
 * With `narrow-gather` (fp8-param-gather) the weights of linear layers are cast from the fp32
 * masters, exist only in their narrow format, and are gathered in it.
 *
 * A rank sends (n-1)/n (g + w) P bytes per step and holds (w + g) P + optimizer P / n.
 *
 *   optimizer: {sharding: {kind: distributed-optimizer, overlap-param-gather: true}}
 */
#include "workloads/training/sharding/sharding.h"

typedef struct {
  gboolean overlap_param_gather;
  gint64 bucket;
  gboolean narrow_gather;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "distributed-optimizer", "Parameters of Megatron's distributed optimizer.", Params,
    ORR_FIELD_BOOL(Params, "overlap-param-gather", overlap_param_gather, "false",
                   "Gather the updated parameters during the next step's forward."),
    ORR_FIELD_INT(Params, "bucket", bucket, "0",
                  "Parameters whose gradients are reduced together; 0: max(40 million, 1 million "
                  "per replica).",
                  .min = 0, .max = 1e12),
    ORR_FIELD_BOOL(
        Params, "narrow-gather", narrow_gather, "false",
        "Hold weights of linear layers in the format of their products alone, and gather them in "
        "it (Megatron's fp8-param-gather)."));

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const Params *p = params;
  const double parameters =
      p->bucket > 0 ? (double)p->bucket : fmax(40e6, 1e6 * (double)shape->ranks);
  const double bucket = shape->overlap ? parameters * shape->gradient_bytes : INFINITY;
  *ret_plan = (OrrShardingPlan){.ranks = shape->ranks,
                                .optimizer = TRUE,
                                .overlap = shape->overlap,
                                .gathers_narrow = p->narrow_gather,
                                .gather_beside_forward = p->overlap_param_gather,
                                .bucket_bytes = bucket,
                                .first_bucket_bytes = bucket};
}

const OrrShardingKind orr_sharding_distributed_optimizer = {
    .entry = {"distributed-optimizer",
              "Megatron's: the optimizer's state sharded, parameters gathered after the update.",
              &table},
    .plan = plan,
};

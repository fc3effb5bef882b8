/*
 * fsdp - PyTorch's fully sharded data parallelism: one block of the model is whole at a time (Zhao
 * et al. 2023, arXiv 2304.11277; FSDP2, torch.distributed.fsdp.fully_shard).
 *
 *   gather   |g0|g1|  |g2|    |g3|                        one block ahead of the one that computes
 *   compute     |f0 |f1  |f2  |f3  | b3 | b2 | ...        gathered again if dropped
 *   scatter                             |s3 | |s2 |       beside the backward
 *
 * Every block is a unit; embedding and head are one unit each (auto_wrap_policy over transformer
 * blocks). A unit's weights are all-gathered before its forward and, with reshard-after-forward,
 * again before its backward, in every micro-batch. The rate limiter (limit_all_gathers) keeps two
 * units in flight, which is `prefetch: 1`. A unit's gradients are reduce-scattered after its
 * backward.
 *
 * A rank sends (n-1)/n m (2 w + g) P bytes per step, m (w + g) P without resharding, and holds (w +
 * g + optimizer) P / n plus 1 + prefetch gathered blocks. Without reshard-after-forward all
 * gathered weights stay until their backward. The rank's shard of the weights exists only in fp32:
 * it belongs to the optimizer and is cast as it is gathered (MixedPrecisionPolicy). A block's
 * gradients are copied (and cast) from its backward into the buffer that is scattered
 * (_fsdp_collectives.py, foreach_reduce; NVIDIA/Megatron-LM pull request 6551 bounds the same peak:
 * two gathered blocks, one block's gradients, one buffer).
 *
 * Under a pipeline torchtitan keeps blocks whole (apply_fsdp: "do not reshard after forward to
 * avoid per-microbatch all-gathers"), and torch.distributed.pipelining accumulates gradients, whole
 * and in the format of the reduction, until the last micro-batch (stage.py:
 * set_requires_gradient_sync). reshard-after-forward and reduce-each-micro-batch follow both unless
 * set. The scattered gradients are then allocated on a separate stream, to whose pool the gradients
 * that they replace do not return (pytorch/pytorch pull request 129721), so shards of the gradients
 * occupy memory together with whole gradients.
 *
 *   optimizer: {sharding: {kind: fsdp, reshard-after-forward: true, prefetch: 1}}
 */
#include "workloads/training/sharding/zero.h"

const char *const orr_fully_sharded_words[] = {"auto", "true", "false", NULL};

/* auto: off under a pipeline. */
static gboolean settle(int word, const OrrShardingShape *shape) {
  return word == 0 ? shape->stages == 1 : word == 1;
}

void orr_fsdp_plan(const OrrFullyShardedParams *params, const OrrShardingShape *shape, gint64 ranks,
                   OrrShardingPlan *ret_plan) {
  const gboolean reduces = settle(params->reduce_each_micro_batch, shape);
  *ret_plan = (OrrShardingPlan){.ranks = ranks,
                                .weights = TRUE,
                                .gradients = reduces,
                                .optimizer = TRUE,
                                .overlap = TRUE,
                                .reduces_each_pass = reduces,
                                .gathers_again = settle(params->reshard_after_forward, shape),
                                .copies_gradients = TRUE,
                                .master_alone = TRUE,
                                .gathers_narrow = params->narrow_gather,
                                .ahead = params->prefetch};
}

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  orr_fsdp_plan(params, shape, shape->ranks, ret_plan);
}

static const OrrFieldTable table = ORR_FIELDS("fsdp", "Parameters of PyTorch's FSDP.",
                                              OrrFullyShardedParams, ORR_FULLY_SHARDED_FIELDS);

const OrrShardingKind orr_sharding_fsdp = {
    .entry = {"fsdp",
              "PyTorch FSDP: weights, gradients and optimizer state sharded, one block at a time "
              "made whole.",
              &table},
    .shards_weights = TRUE,
    .plan = plan,
};

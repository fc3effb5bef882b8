/*
 * zero-3 - DeepSpeed's stage 3: weights, gradients and the optimizer's state sharded (ZeRO,
 * P_os+g+p).
 *
 * A unit's weights are all-gathered before its forward and again before its backward, in every
 * micro-batch, one unit ahead of use (stage3_prefetch_bucket_size, 5e7 elements by default, is of
 * that order), and dropped after; its gradients are reduce-scattered as they come. overlap_comm is
 * on by default (DeepSpeed, docs config-json). DeepSpeed refuses this stage under a pipeline.
 *
 * by-tensor is the stage as it was released in March 2021, until pull requests 1188 (August 2021)
 * and 1453 (January 2022) put tensors together (microsoft/DeepSpeed,
 * runtime/zero/partition_parameters.py, _allgather_param and _reduce_scatter_gradient; PyTorch 1.8,
 * ProcessGroupNCCL.cpp). Each tensor is a collective of its own over a list with a part for each of
 * n ranks: `narrow`, `select` and `copy_` of each part on the host for a gather, `view` besides for
 * a scatter, after torch.cuda.synchronize(): the GPU waits meanwhile. On the GPU a gather writes
 * zeros (1), copies its result into the list (2) and reads it for a norm that only debugging prints
 * (1), a scatter moves gradients into the bucket, divides them and copies the list (6 moves). A
 * tensor used again after more than max-reuse-distance parameters is dropped after recomputation
 * too and gathered a third time. Nothing overlaps anything: the synchronisation waits for all
 * streams ("the async version is not async at all", pull request 1188).
 *
 *   t(tensor) = n operators host-launch + moves w P / HBM + its compute + its collective
 *
 * A rank sends (n-1)/n m (2 w + g) P bytes per step (with m = 1 and w = g 3 P where plain data
 * parallelism sends 2 P) and holds (w + g + optimizer) P / n, and what is gathered.
 *
 *   optimizer: {sharding: {kind: zero-3, prefetch-bucket: 50000000}}
 */
#include "workloads/training/sharding/zero.h"

static char *refuse(const void *params, const OrrShardingShape *shape) {
  return orr_sharding_refuse_pipeline(
      "zero-3", shape, "DeepSpeed's pipeline engine works with stages 0 and 1 only; use zero-1");
}

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const OrrZeroParams *p = params;
  const double bucket = (double)p->reduce_bucket * shape->gradient_bytes;
  *ret_plan = (OrrShardingPlan){.ranks = shape->ranks,
                                .weights = TRUE,
                                .gradients = TRUE,
                                .optimizer = TRUE,
                                .overlap = p->overlap_comm && !p->by_tensor,
                                .reduces_each_pass = TRUE,
                                .gathers_again = TRUE,
                                .update_bytes = 4,
                                .bucket_bytes = bucket,
                                .first_bucket_bytes = bucket,
                                .ahead = p->overlap_comm && !p->by_tensor ? 1 : 0,
                                .whole_below = (double)p->persistence_threshold,
                                .by_tensor = p->by_tensor,
                                .fetch_s = p->fetch_s,
                                .reuse_within = (double)p->max_reuse_distance};
  if (p->by_tensor) ret_plan->bucket_bytes = ret_plan->first_bucket_bytes = 0;
}

static const OrrFieldTable table = ORR_FIELDS(
    "zero-3", "Parameters of DeepSpeed's ZeRO stage 3.", OrrZeroParams, ORR_ZERO_FIELDS("true"),
    ORR_FIELD_INT(
        OrrZeroParams, "persistence-threshold", persistence_threshold, "100000",
        "Of by-tensor: tensors with at most this many elements (norms, biases) stay whole "
        "(stage3_param_persistence_threshold).",
        .min = 0, .max = 1e12),
    ORR_FIELD_INT(
        OrrZeroParams, "max-reuse-distance", max_reuse_distance, "1000000000",
        "Of by-tensor: a tensor is kept where it is used again after fewer elements of others "
        "(stage3_max_reuse_distance).",
        .min = 0, .max = 1e12),
    ORR_FIELD_REAL(OrrZeroParams, "fetch", fetch_s, ORR_UNIT_SECONDS, "0 s",
                   "Host time to gather and release the weights of one product, forward and "
                   "again backward: DeepSpeed's hooks around each module.",
                   .min = 0, .max = 1),
    ORR_FIELD_BOOL(
        OrrZeroParams, "by-tensor", by_tensor, "false",
        "Gather and scatter each tensor separately, without overlap, through lists of one "
        "slice per rank that the host processes while the GPU waits, as DeepSpeed did "
        "until August 2021."));

const OrrShardingKind orr_sharding_zero_3 = {
    .entry = {"zero-3",
              "DeepSpeed ZeRO stage 3: weights, gradients and the optimizer's state sharded.",
              &table},
    .shards_weights = TRUE,
    .refuse = refuse,
    .plan = plan,
    .refuses_expert_parallel =
        "DeepSpeed's expert-parallel layers work with stages 0 to 2; use zero-2, or fsdp",
};

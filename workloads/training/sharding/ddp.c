/*
 * ddp - PyTorch's DistributedDataParallel: all-reduce in buckets, overlapped with the backward (Li
 * et al. 2020, VLDB 13(12)).
 *
 * Gradient hooks fire in the order of the backward, the reverse of the model's. They fill buckets
 * of `bucket` bytes; the first bucket has `first-bucket` bytes, so that reduction begins early
 * (torch/nn/parallel/distributed.py, bucket_cap_mb = 25, dist._DEFAULT_FIRST_BUCKET_BYTES = 1 MiB).
 * A full bucket is all-reduced at once, on its own stream. With several micro-batches only the last
 * backward reduces (no_sync).
 *
 * A rank sends 2 (n-1)/n g P bytes per step and holds everything.
 *
 *   optimizer: {sharding: {kind: ddp, bucket: 25 MiB, first-bucket: 1 MiB}}
 */
#include "workloads/training/sharding/sharding.h"

typedef struct {
  double bucket_bytes, first_bucket_bytes;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("ddp", "Parameters of PyTorch's DDP.", Params,
               ORR_POSITIVE_REAL(Params, "bucket", bucket_bytes, ORR_UNIT_BYTES, "25 MiB",
                                 "Bytes of gradients reduced together (bucket_cap_mb)."),
               ORR_POSITIVE_REAL(Params, "first-bucket", first_bucket_bytes, ORR_UNIT_BYTES,
                                 "1 MiB", "The same for the first bucket."));

static char *refuse(const void *params, const OrrShardingShape *shape) {
  return orr_sharding_refuse_pipeline("ddp", shape,
                                      "DDP reduces while one backward runs, and a stage has "
                                      "several; use none or distributed-optimizer");
}

static void plan(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan) {
  const Params *p = params;
  *ret_plan = (OrrShardingPlan){.ranks = 1,
                                .overlap = TRUE,
                                .gradients_again = 1,
                                .bucket_bytes = p->bucket_bytes,
                                .first_bucket_bytes = p->first_bucket_bytes};
}

const OrrShardingKind orr_sharding_ddp = {
    .entry = {"ddp",
              "PyTorch DDP: gradients all-reduced in buckets as the backward's hooks fill them.",
              &table},
    .refuse = refuse,
    .plan = plan,
};

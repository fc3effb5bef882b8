/*
 * zero.h - the parameters that DeepSpeed's stages share. Only zero_*.c include it.
 */
#pragma once

#include "workloads/training/sharding/sharding.h"

typedef struct {
  gint64 reduce_bucket;
  gboolean overlap_comm;
  gint64 persistence_threshold, max_reuse_distance; /* stage 3 */
  gboolean by_tensor;
  double fetch_s;
} OrrZeroParams;

/* Names and defaults of DeepSpeed's zero_optimization section, in elements. */
#define ORR_ZERO_FIELDS(overlap_)                                                                  \
  ORR_FIELD_INT(OrrZeroParams, "reduce-bucket", reduce_bucket, "500000000",                        \
                "Gradients (elements) that are reduced together (reduce_bucket_size).", .min = 1,  \
                .max = 1e12),                                                                      \
      ORR_FIELD_BOOL(OrrZeroParams, "overlap-comm", overlap_comm, overlap_,                        \
                     "Reduce during the backward (overlap_comm).")

/* fully_sharded.c: the parameters that fsdp and hsdp share. Only those two include it. */

typedef struct {
  int reshard_after_forward; /* words "auto", "true", "false" */
  gint64 prefetch;
  int reduce_each_micro_batch; /* the same */
  gboolean narrow_gather;
  gint64 group; /* hsdp */
} OrrFullyShardedParams;

#define ORR_FULLY_SHARDED_FIELDS                                                                   \
  ORR_FIELD_WORD(OrrFullyShardedParams, "reshard-after-forward", reshard_after_forward,            \
                 orr_fully_sharded_words, "auto",                                                  \
                 "Drop a block's weights after its forward (FULL_SHARD), or keep them for the "    \
                 "backward (SHARD_GRAD_OP); auto: keep them under a pipeline, as torchtitan "      \
                 "does."),                                                                         \
      ORR_FIELD_INT(OrrFullyShardedParams, "prefetch", prefetch, "1",                              \
                    "Blocks whose weights are gathered while one computes, in forward and "        \
                    "backward; 0: none ahead.",                                                    \
                    .min = 0, .max = 1000),                                                        \
      ORR_FIELD_WORD(OrrFullyShardedParams, "reduce-each-micro-batch", reduce_each_micro_batch,    \
                     orr_fully_sharded_words, "auto",                                              \
                     "Reduce-scatter in every micro-batch's backward, or (no_sync) hold whole "    \
                     "gradients until the last one; auto: the latter under a pipeline, as "        \
                     "torch.distributed.pipelining does."),                                        \
      ORR_FIELD_BOOL(OrrFullyShardedParams, "narrow-gather", narrow_gather, "false",               \
                     "Gather weights of linear layers in the format of their products "            \
                     "(enable_fsdp_float8_all_gather).")

extern const char *const orr_fully_sharded_words[]; /* "auto", "true", "false", NULL */

void orr_fsdp_plan(const OrrFullyShardedParams *params, const OrrShardingShape *shape, gint64 ranks,
                   OrrShardingPlan *ret_plan);

/*
 * fully_sharded.h - what fsdp and hsdp have in common. Only those two include it.
 */
#ifndef ORR_FULLY_SHARDED_H
#define ORR_FULLY_SHARDED_H

#include "workloads/sharding/sharding.h"

G_BEGIN_DECLS

typedef struct {
  gboolean reshard_after_forward;
  gint64 prefetch;
  gboolean reduce_each_micro_batch;
  gint64 group; /* hsdp */
} OrrFullyShardedParams;

#define ORR_FULLY_SHARDED_FIELDS                                                                                       \
  {.name = "reshard-after-forward",                                                                                    \
   .kind = ORR_FIELD_BOOL,                                                                                             \
   .offset = offsetof(OrrFullyShardedParams, reshard_after_forward),                                                   \
   .sentence =                                                                                                         \
       "Drop a block's weights after its forward (FULL_SHARD), or keep them for the backward (SHARD_GRAD_OP).",        \
   .fallback = "true"},                                                                                                \
      {.name = "prefetch",                                                                                             \
       .kind = ORR_FIELD_INT,                                                                                          \
       .offset = offsetof(OrrFullyShardedParams, prefetch),                                                            \
       .sentence = "Blocks whose weights are gathered while one computes, in forward and backward; 0: none ahead.",    \
       .fallback = "1",                                                                                                \
       .min = 0,                                                                                                       \
       .max = 1000},                                                                                                   \
  {                                                                                                                    \
    .name = "reduce-each-micro-batch", .kind = ORR_FIELD_BOOL,                                                         \
    .offset = offsetof(OrrFullyShardedParams, reduce_each_micro_batch),                                                \
    .sentence = "Reduce-scatter in every micro-batch's backward, or (no_sync) hold whole gradients until the last.",   \
    .fallback = "true"                                                                                                 \
  }

void orr_fully_sharded_plan(const OrrFullyShardedParams *params, gint64 ranks, OrrShardingPlan *ret_plan);

G_END_DECLS

#endif

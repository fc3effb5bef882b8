/*
 * fully_sharded.h - the parameters that fsdp and hsdp share. Only those two include it.
 */
#ifndef ORR_FULLY_SHARDED_H
#define ORR_FULLY_SHARDED_H

#include "workloads/training/sharding/sharding.h"

G_BEGIN_DECLS

typedef struct {
  int reshard_after_forward; /* words "auto", "true", "false" */
  gint64 prefetch;
  int reduce_each_micro_batch; /* the same */
  gboolean narrow_gather;
  gint64 group; /* hsdp */
} OrrFullyShardedParams;

#define ORR_FULLY_SHARDED_FIELDS                                                                   \
  {.name = "reshard-after-forward",                                                                \
   .kind = ORR_FIELD_WORD,                                                                         \
   .offset = offsetof(OrrFullyShardedParams, reshard_after_forward),                               \
   .sentence = "Drop a block's weights after its forward (FULL_SHARD), or keep them for the "      \
               "backward (SHARD_GRAD_OP); auto: "                                                  \
               "keep them under a pipeline, as torchtitan does.",                                  \
   .fallback = "auto",                                                                             \
   .words = orr_fully_sharded_words},                                                              \
      {.name = "prefetch",                                                                         \
       .kind = ORR_FIELD_INT,                                                                      \
       .offset = offsetof(OrrFullyShardedParams, prefetch),                                        \
       .sentence = "Blocks whose weights are gathered while one computes, in forward and "         \
                   "backward; 0: none ahead.",                                                     \
       .fallback = "1",                                                                            \
       .min = 0,                                                                                   \
       .max = 1000},                                                                               \
      {.name = "reduce-each-micro-batch",                                                          \
       .kind = ORR_FIELD_WORD,                                                                     \
       .offset = offsetof(OrrFullyShardedParams, reduce_each_micro_batch),                         \
       .sentence = "Reduce-scatter in every micro-batch's backward, or (no_sync) hold whole "      \
                   "gradients until the last; auto: "                                              \
                   "the latter under a pipeline, as torch.distributed.pipelining does.",           \
       .fallback = "auto",                                                                         \
       .words = orr_fully_sharded_words},                                                          \
  {                                                                                                \
    .name = "narrow-gather", .kind = ORR_FIELD_BOOL,                                               \
    .offset = offsetof(OrrFullyShardedParams, narrow_gather),                                      \
    .sentence = "Gather weights of linear layers in the format of their products "                 \
                "(enable_fsdp_float8_all_gather).",                                                \
    .fallback = "false"                                                                            \
  }

extern const char *const orr_fully_sharded_words[]; /* "auto", "true", "false", NULL */

void orr_fully_sharded_plan(const OrrFullyShardedParams *params, const OrrShardingShape *shape,
                            gint64 ranks, OrrShardingPlan *ret_plan);

G_END_DECLS

#endif

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

void orr_fully_sharded_plan(const OrrFullyShardedParams *params, const OrrShardingShape *shape,
                            gint64 ranks, OrrShardingPlan *ret_plan);

G_END_DECLS

#endif

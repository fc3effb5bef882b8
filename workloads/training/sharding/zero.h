/*
 * zero.h - the parameters that DeepSpeed's stages share. Only zero_*.c include it.
 */
#ifndef ORR_ZERO_H
#define ORR_ZERO_H

#include "workloads/training/sharding/sharding.h"

G_BEGIN_DECLS

typedef struct {
  gint64 reduce_bucket;
  gboolean overlap_comm;
  gint64 persistence_threshold, max_reuse_distance; /* stage 3 */
  gboolean by_tensor;
} OrrZeroParams;

/* Names and defaults of DeepSpeed's zero_optimization section, in elements. */
#define ORR_ZERO_FIELDS(overlap_)                                                                  \
  ORR_FIELD_INT(OrrZeroParams, "reduce-bucket", reduce_bucket, "500000000",                        \
                "Gradients (elements) that are reduced together (reduce_bucket_size).", .min = 1,  \
                .max = 1e12),                                                                      \
      ORR_FIELD_BOOL(OrrZeroParams, "overlap-comm", overlap_comm, overlap_,                        \
                     "Reduce during the backward (overlap_comm).")

G_END_DECLS

#endif

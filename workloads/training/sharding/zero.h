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
  gint64 prefetch_bucket, persistence_threshold, max_reuse_distance; /* stage 3 */
  gboolean by_tensor;
} OrrZeroParams;

/* Names and defaults of DeepSpeed's zero_optimization section, in elements. */
#define ORR_ZERO_FIELDS(overlap_)                                                                  \
  {.name = "reduce-bucket",                                                                        \
   .kind = ORR_FIELD_INT,                                                                          \
   .offset = offsetof(OrrZeroParams, reduce_bucket),                                               \
   .sentence = "Gradients (elements) that are reduced together (reduce_bucket_size).",             \
   .fallback = "500000000",                                                                        \
   .min = 1,                                                                                       \
   .max = 1e12},                                                                                   \
  {                                                                                                \
    .name = "overlap-comm", .kind = ORR_FIELD_BOOL,                                                \
    .offset = offsetof(OrrZeroParams, overlap_comm),                                               \
    .sentence = "Reduce beside the backward (overlap_comm).", .fallback = overlap_                 \
  }

G_END_DECLS

#endif

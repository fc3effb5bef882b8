/*
 * precision.h - training precision recipes: which product runs in which format, what is cast for
 * it, what is kept.
 *
 * A recipe has a storage format (weights as the framework holds them, activations between kernels,
 * norms, attention) and formats of the inputs of linear layers' products. Where those are narrower,
 * Transformer Engine casts: the input and the output's gradient of each linear layer once a
 * micro-batch, both as they are and transposed (products by weight want their other side), the
 * weights once a step. `cast_bytes` is what such a kernel moves an element.
 *
 * Router, embedding, output layer, norms and attention stay in the storage format, as in every
 * recipe below.
 */
#ifndef ORR_PRECISION_H
#define ORR_PRECISION_H

#include "sim/base/dtype.h"

G_BEGIN_DECLS

typedef enum {
  ORR_PRECISION_FP16,
  ORR_PRECISION_BF16,
  ORR_PRECISION_FP32,
  ORR_PRECISION_TF32,
  ORR_PRECISION_FP8, /* as serving has it: fp8-current */
  ORR_PRECISION_FP8_DELAYED,
  ORR_PRECISION_FP8_CURRENT,
  ORR_PRECISION_FP8_BLOCKWISE,
  ORR_PRECISION_MXFP8,
  ORR_PRECISION_NVFP4,
  ORR_N_PRECISIONS
} OrrPrecision;

typedef struct {
  const char *sentence; /* what it is and where it is from */
  OrrDtype storage;
  OrrDtype forward, dgrad, wgrad; /* products of linear layers */
  /* the tensor cores apply a scale to each block: Blackwell's, which also multiply fp4 */
  gboolean block_scaled;
  /* moved an element of a linear layer's input, or its gradient: reads, and both writes; 0: none */
  double cast_bytes;
  double weight_cast_bytes; /* moved an element of the weights, once a step */
  double saved_bytes;       /* of a linear layer's input, kept for the product by weight */
  double weight_copy_bytes; /* of the weights' narrow copies beside the storage format */
  /* weights that are not trained are held as narrow copies alone, cast when they are loaded */
  gboolean frozen_narrow;
  /* an element of a tensor-parallel all-gather of a linear layer's input or gradient */
  double gather_bytes;
  /* an element of an expert-parallel dispatch forward; the combine has the storage format */
  double dispatch_bytes;
} OrrPrecisionRecipe;

extern const char *const orr_precision_words[]; /* "fp16", "bf16", ..., NULL, by OrrPrecision */
const OrrPrecisionRecipe *orr_precision_recipe(OrrPrecision precision);

/* Whether linear layers' products run in another format than the one things are stored in. */
gboolean orr_precision_casts(const OrrPrecisionRecipe *recipe); /* NULL: no */

G_END_DECLS

#endif

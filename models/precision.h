/*
 * precision.h - training precision recipes: the format of each product, the casts, and what is
 * kept.
 *
 * A recipe has a storage format (of the framework's weights, activations between kernels, norms,
 * attention) and formats for the inputs of the products in linear layers. Where these are narrower,
 * Transformer Engine casts: the input and the output gradient of each linear layer once per
 * micro-batch, both plain and transposed (products by weight need the transpose), the weights once
 * per step. `cast_bytes` is what such a kernel moves per element.
 *
 * Router, embedding, output layer, norms and attention stay in the storage format, as in every
 * recipe below.
 */
#pragma once

#include "sim/base/dtype.h"

typedef enum {
  ORR_PRECISION_FP16,
  ORR_PRECISION_BF16,
  ORR_PRECISION_FP32,
  ORR_PRECISION_TF32,
  ORR_PRECISION_FP8, /* serving's word for fp8-current */
  ORR_PRECISION_FP8_DELAYED,
  ORR_PRECISION_FP8_CURRENT,
  ORR_PRECISION_FP8_BLOCKWISE,
  ORR_PRECISION_MXFP8,
  ORR_PRECISION_NVFP4,
  ORR_PRECISION_FP8_ROWWISE,
  ORR_N_PRECISIONS
} OrrPrecision;

typedef struct {
  const char *sentence; /* what it is and its source */
  OrrDtype storage;
  OrrDtype forward, dgrad, wgrad; /* formats of the products of linear layers */
  /* The tensor cores apply a scale to each block: Blackwell's, which also multiply fp4. */
  gboolean block_scaled;
  /* A scale per row or column: weights are cast again for each product. */
  gboolean row_scaled;
  /* Moved per element of a linear layer's input or gradient: the reads and both writes; 0: no
   * cast. */
  double cast_bytes;
  double weight_cast_bytes; /* moved per weight, once per step */
  double saved_bytes;       /* per element of a linear layer's input, kept for the product by
                             * weight */
  double weight_copy_bytes; /* per weight, of narrow copies in addition to the storage format */
  /* Frozen weights are stored only as narrow copies, cast when they are loaded. */
  gboolean frozen_narrow;
  /* Per element of a tensor-parallel all-gather of a linear layer's input or gradient. */
  double gather_bytes;
  /* Per element of an expert-parallel dispatch, forward; the combine has the storage format. */
  double dispatch_bytes;
} OrrPrecisionRecipe;

extern const char *const orr_precision_words[]; /* "fp16", "bf16", ..., NULL, by OrrPrecision */
const OrrPrecisionRecipe *orr_precision_recipe(OrrPrecision precision);
/* The recipe whose products have the storage format, too. */
const OrrPrecisionRecipe *orr_precision_plain(OrrDtype storage);

/* Whether products of linear layers run in another format than the storage format. */
gboolean orr_precision_casts(const OrrPrecisionRecipe *recipe); /* NULL: no */

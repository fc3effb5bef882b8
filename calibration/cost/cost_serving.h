/*
 * cost_serving.h - predicts the attention of one step of a serving engine, prompt chunks and
 * decodes together, and its small kernels.
 */
#pragma once

#include "calibration/cost/cost.h"

/* The attention of one layer in one step, on one rank. */
typedef struct {
  OrrDtype dtype, kv_dtype;
  gint64 heads, kv_heads, head_dim; /* of the rank */
  double chunk;                     /* prompt tokens; 0: none */
  double chunk_keys; /* mean keys that one of them sees: sum of c (h + c / 2) over sum of c */
  double decodes;    /* sequences that decode; 0: none */
  double keys_mean, keys_least, keys_most;
} OrrBatchAttention;

/* The table of whole steps for these heads and formats, or NULL. */
typedef struct OrrCostBatch OrrCostBatch;
const OrrCostBatch *orr_cost_batch_find(const OrrCostModel *model, const OrrBatchAttention *of);

/* Interpolates linearly over the chunk, its keys, the decodes and their keys; the table's skew
 * corrects decodes of unequal contexts. Beyond the table's last chunk, decodes or keys the line
 * goes on, and `how` is outside. */
OrrCost orr_cost_batch_attention(const OrrCostModel *model, const OrrCostBatch *batch,
                                 const OrrBatchAttention *step);

/* Fused attention whose keys and values are stored in another format than it computes in. */
OrrCost orr_cost_serving_attention_over(const OrrCostModel *model, const OrrOperator *op,
                                        OrrDtype kv_dtype);

/* A kernel of @operator_name on @tokens of @width elements each, from the profile's
 * `token-kernels`; FALSE where it has none. Another width is looked up at the same number of
 * elements (modelled). */
gboolean orr_cost_serving_token_kernel(const OrrCostModel *model, const char *operator_name,
                                       double tokens, double width, OrrCost *ret_cost);

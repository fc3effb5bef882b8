/*
 * cuda_attention_graph.c - the graphs of operations that cuDNN's flash engines recognise;
 * cuda_attention.c's head comment has the equations.
 */
#include "calibration/measure/cuda/cuda_attention.h"

#include <float.h>

/* [b, h, s, d] as [b, s, h, d] in memory; transposed: [b, h, d, s]. */
static OrrTensor *real(OrrCudnnGraph *graph, const OrrAttention *a, gint64 heads, gint64 tokens,
                       gint64 dim, gboolean transposed) {
  const gint64 dims[4] = {a->batch, heads, transposed ? dim : tokens, transposed ? tokens : dim};
  const gint64 strides[4] = {tokens * heads * dim, dim, transposed ? 1 : heads * dim,
                             transposed ? heads * dim : 1};
  return orr_cudnn_graph_real(graph, a->type, dims, strides);
}

static OrrTensor *stats_tensor(OrrCudnnGraph *graph, const OrrAttention *a) {
  const gint64 dims[4] = {a->batch, a->heads, a->rows, 1},
               strides[4] = {a->heads * a->rows, a->rows, 1, 1};
  return orr_cudnn_graph_real(graph, CUDNN_DATA_FLOAT, dims, strides);
}

static OrrTensor *scores(OrrCudnnGraph *graph, const OrrAttention *a, cudnnDataType_t type) {
  const gint64 dims[4] = {a->batch, a->heads, a->rows, a->keys};
  return orr_cudnn_graph_virtual(graph, type, dims);
}

static OrrTensor *per_row(OrrCudnnGraph *graph, const OrrAttention *a) {
  const gint64 dims[4] = {a->batch, a->heads, a->rows, 1};
  return orr_cudnn_graph_virtual(graph, CUDNN_DATA_FLOAT, dims);
}

/* op(x, b) as a new tensor of scores. */
static OrrTensor *apply(OrrCudnnGraph *graph, const OrrAttention *a, cudnnPointwiseMode_t op,
                        OrrTensor *x, OrrTensor *b) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_FLOAT);
  orr_cudnn_graph_pointwise(graph, op, -1, CUDNN_DATA_FLOAT, x, b, NULL, y);
  return y;
}

static OrrTensor *indexes(OrrCudnnGraph *graph, const OrrAttention *a, OrrTensor *x, gint64 axis) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_INT32);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_GEN_INDEX, axis, CUDNN_DATA_INT32, x, NULL, NULL,
                            y);
  return y;
}

static OrrTensor *compare(OrrCudnnGraph *graph, const OrrAttention *a, cudnnPointwiseMode_t op,
                          OrrTensor *x, OrrTensor *b) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_BOOLEAN);
  orr_cudnn_graph_pointwise(graph, op, -1, CUDNN_DATA_BOOLEAN, x, b, NULL, y);
  return y;
}

static OrrTensor *keep_where(OrrCudnnGraph *graph, const OrrAttention *a, OrrTensor *x,
                             OrrTensor *mask) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_FLOAT);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_BINARY_SELECT, -1, CUDNN_DATA_FLOAT, x,
                            orr_cudnn_graph_scalar(graph, -FLT_MAX), mask, y);
  return y;
}

static OrrTensor *moved(OrrCudnnGraph *graph, const OrrAttention *a, cudnnPointwiseMode_t op,
                        OrrTensor *x, OrrTensor *by) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_INT32);
  orr_cudnn_graph_pointwise(graph, op, -1, CUDNN_DATA_INT32, x, by, NULL, y);
  return y;
}

/* Masks keys after the row's own position, with the prefix before it: row + keys - rows >=
 * column. The sum is two operations, ADD keys and SUB rows, each with a scalar or, in a mixed
 * batch, each sequence's own number. cuDNN's engines recognise graphs by their operations, and
 * cudnn-frontend's sdpa nodes emit these for a mask aligned to the bottom right
 * (scaled_dot_product_flash_attention.h: "row_idx_add_skv", then the subtraction of s_q). A
 * single ADD of the difference is equivalent, but finds no engine, or a slower one. */
static OrrTensor *mask_causal(OrrCudnnGraph *graph, const OrrAttention *a, OrrTensor *x,
                              OrrTensor *row_ends, OrrTensor *key_ends) {
  OrrTensor *row = indexes(graph, a, x, 2), *column = indexes(graph, a, x, 3);
  if (a->is_mixed)
    row = moved(graph, a, CUDNN_POINTWISE_SUB, moved(graph, a, CUDNN_POINTWISE_ADD, row, key_ends),
                row_ends);
  else if (a->keys > a->rows)
    row = moved(
        graph, a, CUDNN_POINTWISE_SUB,
        moved(graph, a, CUDNN_POINTWISE_ADD, row, orr_cudnn_graph_integer(graph, (gint32)a->keys)),
        orr_cudnn_graph_integer(graph, (gint32)a->rows));
  return keep_where(graph, a, x, compare(graph, a, CUDNN_POINTWISE_CMP_GE, row, column));
}

/* Masks the rows and keys after @row_ends and @key_ends of each sequence. */
static OrrTensor *mask_padding(OrrCudnnGraph *graph, const OrrAttention *a, OrrTensor *x,
                               OrrTensor *row_ends, OrrTensor *key_ends) {
  OrrTensor *rows = compare(graph, a, CUDNN_POINTWISE_CMP_LT, indexes(graph, a, x, 2), row_ends);
  OrrTensor *keys = compare(graph, a, CUDNN_POINTWISE_CMP_LT, indexes(graph, a, x, 3), key_ends);
  return keep_where(graph, a, x, compare(graph, a, CUDNN_POINTWISE_LOGICAL_AND, rows, keys));
}

/* S of cuda_attention.c's head comment. @row_ends, @key_ends: where mixed. */
static OrrTensor *masked_scores(OrrCudnnGraph *graph, const OrrAttention *a, OrrTensor *q,
                                OrrTensor *k, OrrTensor *row_ends, OrrTensor *key_ends) {
  OrrTensor *product = scores(graph, a, CUDNN_DATA_FLOAT);
  orr_cudnn_graph_matmul(graph, q, k, product);
  OrrTensor *scaled =
      apply(graph, a, CUDNN_POINTWISE_MUL, product, orr_cudnn_graph_scalar(graph, a->scale));
  if (a->is_mixed) scaled = mask_padding(graph, a, scaled, row_ends, key_ends);
  return a->is_causal ? mask_causal(graph, a, scaled, row_ends, key_ends) : scaled;
}

static OrrTensor *lengths_tensor(OrrCudnnGraph *graph, const OrrAttention *a) {
  const gint64 dims[4] = {a->batch, 1, 1, 1}, strides[4] = {1, 1, 1, 1};
  return orr_cudnn_graph_real(graph, CUDNN_DATA_INT32, dims, strides);
}

void orr_attention_build_forward(OrrCudnnGraph *graph, const OrrAttention *a) {
  OrrTensor *q = real(graph, a, a->heads, a->rows, a->dim, FALSE),
            *k = real(graph, a, a->kv_heads, a->keys, a->dim, TRUE);
  OrrTensor *v = real(graph, a, a->kv_heads, a->keys, a->v_dim, FALSE),
            *out = real(graph, a, a->heads, a->rows, a->v_dim, FALSE);
  OrrTensor *stats = stats_tensor(graph, a);
  OrrTensor *row_ends = a->is_mixed ? lengths_tensor(graph, a) : NULL;
  OrrTensor *key_ends = a->is_mixed ? lengths_tensor(graph, a) : NULL;
  OrrTensor *s = masked_scores(graph, a, q, k, row_ends, key_ends);
  OrrTensor *max = per_row(graph, a), *sum = per_row(graph, a),
            *weights = scores(graph, a, a->type);
  orr_cudnn_graph_reduce(graph, CUDNN_REDUCE_TENSOR_MAX, s, max);
  OrrTensor *e =
      apply(graph, a, CUDNN_POINTWISE_EXP, apply(graph, a, CUDNN_POINTWISE_SUB, s, max), NULL);
  orr_cudnn_graph_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, e, sum);
  OrrTensor *log_sum = per_row(graph, a);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_LOG, -1, CUDNN_DATA_FLOAT, sum, NULL, NULL,
                            log_sum);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_ADD, -1, CUDNN_DATA_FLOAT, max, log_sum, NULL,
                            stats);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_DIV, -1, CUDNN_DATA_FLOAT, e, sum, NULL,
                            weights);
  orr_cudnn_graph_matmul(graph, weights, v, out);
}

/* x^T of scores, in the operands' format: the same memory with swapped strides. */
static OrrTensor *transposed(OrrCudnnGraph *graph, const OrrAttention *a, OrrTensor *x) {
  const gint64 dims[4] = {a->batch, a->heads, a->keys, a->rows};
  const gint64 strides[4] = {a->heads * a->rows * a->keys, a->rows * a->keys, 1, a->keys};
  OrrTensor *y = orr_cudnn_graph_view(graph, a->type, dims, strides);
  orr_cudnn_graph_reshape(graph, x, y);
  return y;
}

/* k of k^T, likewise. */
static OrrTensor *untransposed(OrrCudnnGraph *graph, const OrrAttention *a,
                               OrrTensor *k_transposed) {
  const gint64 dims[4] = {a->batch, a->kv_heads, a->keys, a->dim};
  const gint64 strides[4] = {a->keys * a->kv_heads * a->dim, a->dim, a->kv_heads * a->dim, 1};
  OrrTensor *k = orr_cudnn_graph_view(graph, a->type, dims, strides);
  orr_cudnn_graph_reshape(graph, k_transposed, k);
  return k;
}

/* @weights^T @right, summed over the heads of a group where they share a key head. */
static void key_gradient(OrrCudnnGraph *graph, OrrTensor *weights, OrrTensor *right, OrrTensor *all,
                         OrrTensor *gradient) {
  orr_cudnn_graph_matmul(graph, weights, right, all ? all : gradient);
  if (all) orr_cudnn_graph_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, all, gradient);
}

void orr_attention_build_backward(OrrCudnnGraph *graph, const OrrAttention *a) {
  const gboolean is_grouped = a->heads != a->kv_heads;
  /* Real tensors in the order of Attention.at. */
  OrrTensor *q = real(graph, a, a->heads, a->rows, a->dim, FALSE),
            *k = real(graph, a, a->kv_heads, a->keys, a->dim, TRUE);
  OrrTensor *v = real(graph, a, a->kv_heads, a->keys, a->v_dim, TRUE),
            *out = real(graph, a, a->heads, a->rows, a->v_dim, FALSE);
  OrrTensor *stats = stats_tensor(graph, a),
            *d_out = real(graph, a, a->heads, a->rows, a->v_dim, FALSE);
  OrrTensor *dq = real(graph, a, a->heads, a->rows, a->dim, FALSE),
            *dk = real(graph, a, a->kv_heads, a->keys, a->dim, FALSE);
  OrrTensor *dv = real(graph, a, a->kv_heads, a->keys, a->v_dim, FALSE);
  OrrTensor *dk_all = is_grouped ? real(graph, a, a->heads, a->keys, a->dim, FALSE) : NULL;
  OrrTensor *dv_all = is_grouped ? real(graph, a, a->heads, a->keys, a->v_dim, FALSE) : NULL;
  const gint64 out_dims[4] = {a->batch, a->heads, a->rows, a->v_dim};
  OrrTensor *products = orr_cudnn_graph_virtual(graph, CUDNN_DATA_FLOAT, out_dims),
            *d = per_row(graph, a);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_MUL, -1, CUDNN_DATA_FLOAT, d_out, out, NULL,
                            products);
  orr_cudnn_graph_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, products, d);
  OrrTensor *s = masked_scores(graph, a, q, k, NULL, NULL);
  OrrTensor *p =
      apply(graph, a, CUDNN_POINTWISE_EXP, apply(graph, a, CUDNN_POINTWISE_SUB, s, stats), NULL);
  key_gradient(graph, transposed(graph, a, p), d_out, dv_all, dv);
  OrrTensor *dp = scores(graph, a, CUDNN_DATA_FLOAT), *ds = scores(graph, a, a->type);
  orr_cudnn_graph_matmul(graph, d_out, v, dp);
  OrrTensor *off =
      apply(graph, a, CUDNN_POINTWISE_MUL, apply(graph, a, CUDNN_POINTWISE_SUB, dp, d), p);
  orr_cudnn_graph_pointwise(graph, CUDNN_POINTWISE_MUL, -1, CUDNN_DATA_FLOAT, off,
                            orr_cudnn_graph_scalar(graph, a->scale), NULL, ds);
  key_gradient(graph, transposed(graph, a, ds), q, dk_all, dk);
  orr_cudnn_graph_matmul(graph, ds, untransposed(graph, a, k), dq);
}

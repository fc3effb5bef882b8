/*
 * cuda_attention.h - a fused attention for cuDNN; shared by cuda_attention*.c.
 */
#pragma once

#include "calibration/measure/cuda/cudnn_graph.h"

enum { Q = 0, K, V, OUT, STATS, D_OUT, DQ, DK, DV, DK_ALL, DV_ALL, N_POINTERS };

typedef struct {
  gint64 batch, heads, kv_heads, rows, keys, dim,
      v_dim; /* rows: queries per sequence; keys: rows and prefix */
  /* of sequence 0 of a mixed batch, which has all rows then; below 0: it is as the others */
  gint64 chunk_prefix;
  gint64 decode_keys; /* keys of the longest of the others, which have one row each */
  gboolean is_causal;
  gboolean is_mixed; /* arrays on the device give each sequence's number of rows and keys */
  cudnnDataType_t type;
  OrrFormat format;
  float scale;
  OrrCudnnGraph *forward, *backward; /* backward: NULL where forward is measured */
  char *at[N_POINTERS];
  gsize stride[N_POINTERS];
  gint32 *n_rows, *n_keys;   /* of each sequence, on the host; NULL: all have `rows` and `keys` */
  void *row_ends, *key_ends; /* the same on the device */
  void *workspace;
} OrrAttention;

/* The real tensors, in order: for forward q, k, v, out, stats, and if mixed row_ends and
 * key_ends; for backward the members of OrrAttention.at that it has. */
void orr_attention_build_forward(OrrCudnnGraph *graph, const OrrAttention *attention);
void orr_attention_build_backward(OrrCudnnGraph *graph, const OrrAttention *attention);

/*
 * layer.h - a layer as a table of matrices, on one rank of its tensor- and expert-parallel groups.
 *
 * One row names a matrix, its widths, how ranks split it, the part whose weight format it has, and
 * the adapter that it can have. Everything that depends on matrices reads the table: parameters and
 * FLOPs (model_size.c), weights of a rank (transformer_weights.c, inference_memory.c), products of
 * training (transformer_*.c) and of serving (inference.c), kept inputs (transformer_memory.c),
 * adapters (inference_lora.c). A new kind of mixer or feed-forward is a function in layer.c that
 * adds some rows, and a list of steps that runs them (transformer_layer.c, inference.c).
 *
 * With q = heads * head_dim, kv = kv_heads * head_dim, f = ffn, r and w as in model.h, t = tp:
 *
 *   attention         qkv          h -> (q + 2 kv) / t         projection  q / t -> h
 *                     (an output gate: q / t wider)
 *     factorized      qkv          h -> Rq + 2 kv (whole)      q-up        Rq -> q / t
 *                     (an output gate: a matrix of its own, h -> q / t)
 *   latent attention  q-down       h -> Rq                     kv-down     h -> Rk + r
 *                     q-up         Rq or h -> a (n + r) / t    kv-up       Rk -> a (n + v) / t
 *                     projection   a v / t -> h               gate        h -> a v / t
 *   indexer           index-q      Rq or h -> i d                index-k     h -> d
 *                     index-weights h -> i                      (whole on each rank)
 *   compressed        q-down       h -> Rq                     kv-down     h -> d
 *                     q-up         Rq -> a d / t               compress    h -> 2 d (csa: 4 d)
 *                     out-down     a d / t -> o                projection  g o / t -> h
 *                     (g groups of rank o: out-down is g products of a d / g; csa: index-k has
 *                     4 d for its own compression)
 *   cross-attention   cross-q      h -> q / t                  cross-kv    w -> 2 kv / t
 *                     projection   q / t -> h                  (w: width of the encoder's result)
 *   Mamba-2           mamba-in     h -> (2 d + 2 g N + H) / t  mamba-out   d / t -> h
 *   linear attention  linear-in    h -> (2 K + 2 V) / t        linear-out  V / t -> h
 *                     (gated delta: two gates for each value head more; Kimi's: one, and without
 *                     a full gate K + 2 V; RWKV-7: K + 2 V, K = V = h)
 *                     linear-low   h -> R (whole)              linear-up   R / n -> V / t
 *                     (n results, each a row of that name)
 *   dense             fc1          h -> f / t (gated: 2 f / t) fc2         f / t -> h
 *   experts           router       h -> E                      shared-gate h -> 1
 *                     shared-fc1, shared-fc2                   as dense
 *                     latent-down  h -> w                      latent-up   w -> h
 *                     experts-fc1, experts-fc2                 as dense, for each expert
 */
#pragma once

#include "models/lora.h"
#include "models/model.h"

/* How a matrix is split over the tensor-parallel group: along its outputs, along its inputs, or not
 * (each rank has a copy and works on its own tokens). */
typedef enum { ORR_SPLIT_COLUMN, ORR_SPLIT_ROW, ORR_SPLIT_NONE } OrrSplit;

/* One product that runs instead of its matrix' whole product. */
typedef struct {
  const char *name;
  gint64 n; /* width of its result */
} OrrProduct;

typedef struct {
  const char *name;   /* of its product in training */
  const char *served; /* and in serving */
  gint64 in, out;     /* widths on this rank */
  OrrSplit split;
  OrrQuantizedPart part; /* routed experts: the row is one of `experts` equal matrices */
  guint lora;            /* the bit of the adapter that it can have; 0: none */
  gboolean bias;         /* its result has a bias */
  gboolean plain;        /* stays in the storage format, and has no adapter */
  OrrProduct pieces[3];  /* the products of a framework that does not join them; none: one */
} OrrMatrix;

/* The scan of a mixer with a state. */
typedef struct {
  gint64 heads, groups; /* groups share their scores */
  gint64 key, value;    /* sizes of a head's state: N and P, or K and V */
  gint64 chunk;
  gint64 taps;          /* of the convolution */
  gint64 in, conv, out; /* widths of the first projection, of the convolution, and of the output */
  int kind;             /* OrrLinearKind */
  gint64 gates;         /* of `in`, numbers of a head */
  gint64 ups;           /* results of the low-rank projections */
  gint64 shift;         /* numbers that the next token reads of this one (RWKV's token shift) */
} OrrScan;

static inline gboolean orr_scan_is_delta(const OrrScan *scan) {
  return scan->kind != ORR_LINEAR_LIGHTNING;
}
/* Whether each channel of a key has a decay of its own. */
static inline gboolean orr_scan_has_channels(const OrrScan *scan) {
  return scan->kind >= ORR_LINEAR_KIMI_DELTA;
}

enum { ORR_MAX_MATRICES = 20 };

typedef struct {
  OrrLayerKind kind;
  int activation, norm; /* OrrActivation, OrrNorm */
  gboolean bias, causal;
  gboolean latent;     /* multi-head latent attention */
  gboolean compressed; /* DeepSeek-V4's */
  gboolean gated;      /* attention has an output gate */
  gint64 hidden;
  gint64 heads, kv_heads;     /* MLA: each head has its own key */
  gint64 head_dim, value_dim; /* sizes of a key and of a value */
  gint64 q, kv;               /* widths of queries and keys; MLA: both with position */
  gint64 value;               /* and of values (kv, except in MLA) */
  gint64 context;             /* and of the attention's result: heads times the size of a value */
  gint64 ffn;
  gint64 fc1_width; /* ffn, twice that where gated */
  OrrScan scan;
  double experts; /* routed experts on this rank */
  double vectors; /* parameters outside matrices and their biases: norms, convolutions ... */
  guint n_matrices;
  OrrMatrix matrices[ORR_MAX_MATRICES];
} OrrLayer;

/* A layer of @kind, settled, on one of @tp ranks; its routed experts are split over @ep groups of
 * whole experts, and each over @etp ranks. With 1, 1, 1 the whole layer. */
OrrLayer orr_layer(const OrrModel *model, guint kind, gint64 tp, gint64 ep, gint64 etp);

/* The first of that name; NULL: the layer has no such matrix. */
const OrrMatrix *orr_layer_matrix(const OrrLayer *layer, const char *name);

/* Weights of one row, and its biases; of routed experts, of @experts of them. */
/* The low-rank adapters of @matrix: how many, and the width of each one's result; each has an A of
 * its own for the whole input. One where the framework joins the pieces and all are targets; else
 * one for each piece that is. */
guint orr_matrix_adapters(const OrrMatrix *matrix, const OrrLora *lora, gboolean is_joined,
                          gint64 ret_widths[3]);
double orr_matrix_weights(const OrrMatrix *matrix, double experts);
double orr_matrix_biases(const OrrMatrix *matrix, double experts);

/*
 * transformer_private.h - what the transformer_*.c files share. Nobody else includes it.
 */
#ifndef ORR_TRANSFORMER_PRIVATE_H
#define ORR_TRANSFORMER_PRIVATE_H

#include "models/transformer.h"

G_BEGIN_DECLS

/* A model as one rank holds it: widths after tensor-parallel sharding. */
typedef struct {
  const OrrModel *model;
  const OrrShard *shard;
  double element_bytes;
  gint64 tokens;      /* of the micro-batch */
  double own_tokens;  /* on which norms, dropouts and residuals work: 1 / tp of them under sequence parallelism */
  gint64 heads, kv_heads;
  gint64 q, kv;       /* widths of this rank's queries and keys */
  gint64 ffn;
  gint64 fc1_width;   /* ffn, twice that where gated */
  gint64 vocab;
  gboolean sequence_parallel; /* and tp > 1 */
} OrrTransformerView;

OrrTransformerView orr_transformer_view(const OrrModel *model, const OrrShard *shard);

/* Kernels of 2021-22: see transformer.h at OrrAttention. */
static inline gboolean orr_transformer_is_eager(const OrrTransformerView *view) {
  return view->shard->kernels == ORR_KERNELS_EAGER;
}

static inline gboolean orr_transformer_is_unfused(const OrrTransformerView *view) {
  return view->shard->attention == ORR_ATTENTION_UNFUSED;
}

static inline double orr_transformer_own_elements(const OrrTransformerView *view) {
  return view->own_tokens * view->model->hidden;
}

/* A kernel bound by memory: reads and writes of @elements add up to @moves, those of a 1-byte mask to @masks. */
void orr_transformer_put_memory(const OrrTransformerView *view, GArray *operators, const char *name, OrrPass pass,
                                double elements, double moves, double masks);

/* A collective of the tensor-parallel group over the activations of all tokens, where tp > 1. */
void orr_transformer_put_comm(const OrrTransformerView *view, GArray *operators, const char *name, OrrPass pass,
                              OrrOperatorComm comm);

/* y[tokens,n] = x[tokens,k] w[n,k]^T, forward. */
void orr_transformer_put_linear(const OrrTransformerView *view, GArray *operators, const char *name, gint64 n,
                                gint64 k);

/* Its backward; a column-parallel one has its input re-gathered and its input's gradient reduced. */
void orr_transformer_put_linear_backward(const OrrTransformerView *view, GArray *operators, const char *name, gint64 n,
                                         gint64 k, gboolean column_parallel);

/* Adds a gradient of @parameters to the buffer that gathers those of all micro-batches. */
void orr_transformer_put_main_grad(const OrrTransformerView *view, GArray *operators, double parameters);

void orr_transformer_put_norm(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_norm_backward(const OrrTransformerView *view, GArray *operators);

G_END_DECLS

#endif

/*
 * transformer_memory.c - activations kept from forward to backward.
 *
 * Korthikanti et al. 2022 (arXiv 2205.05198), eq. 1-6, for 2-byte activations, 1-byte dropout masks, GPT. Bytes of one
 * layer for one micro-batch, by what keeps them, in units of s b h:
 *
 *                     whole on each rank (split by t under sequence parallelism)   split by t
 *   layer norms       2 + 2  inputs
 *   attention         2      input of QKV                                          2 + 2 Q, K; 2 V; 2 context
 *                     1      dropout mask
 *   attention core                                                                 5 a s / h: 2 softmax, 1 mask, 2 out
 *   MLP               2      input of fc1                                          8 GELU's input, 8 fc2's input
 *                     1      dropout mask
 *                     --                                                           --
 *                     10                                                           24 + 5 a s / h
 *
 * selective drops the core's 5 a s / h, full keeps the layer's input alone: 2.
 */
#include "models/transformer_private.h"

/* The first column, of one token of the residual stream. */
static double whole_bytes(const OrrTransformerView *view) {
  double elements = 4.0 * view->model->hidden, masks = view->shard->dropout ? 2.0 * view->model->hidden : 0;
  return view->own_tokens * (elements * view->element_bytes + masks);
}

/* The second without the core. Unfused attention keeps keys and values repeated for each query head. */
static double split_bytes(const OrrTransformerView *view) {
  double kv = orr_transformer_is_unfused(view) ? view->q : view->kv;
  double attention = view->q + 2 * kv + view->q, mlp = view->fc1_width + (double)view->ffn;
  return view->element_bytes * view->tokens * (attention + mlp);
}

/* Without dropout the softmax' output is also what multiplies V: kept once. Fused attention keeps one fp32 log-sum-exp
 * a row instead. */
static double core_bytes(const OrrTransformerView *view) {
  double rows = (double)view->tokens * view->heads;
  if (!orr_transformer_is_unfused(view))
    return 4 * rows;
  return rows * view->shard->sequence * (view->shard->dropout ? 2 * view->element_bytes + 1 : view->element_bytes);
}

double orr_transformer_layer_activation_bytes(const OrrModel *model, guint kind, const OrrShard *shard, guint modules) {
  (void)kind;
  OrrTransformerView view = orr_transformer_view(model, shard);
  if (modules & ORR_MODULE_LAYER)
    return view.element_bytes * orr_transformer_own_elements(&view);
  double core = modules & ORR_MODULE_CORE_ATTN ? 0 : core_bytes(&view);
  return whole_bytes(&view) + split_bytes(&view) + core;
}

double orr_transformer_embedding_activation_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, shard);
  return shard->dropout ? orr_transformer_own_elements(&view) : 0;
}

/* Section 4.3: the final norm's input 2 s b h, the output layer's input 2 s b h, the logits in fp32 4 s b v (split by
 * t): with sequence parallelism 4 s b h / t (1 + v / h). */
double orr_transformer_head_activation_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, shard);
  return 2 * view.element_bytes * orr_transformer_own_elements(&view) + 4.0 * view.tokens * view.vocab;
}

/*
 * transformer_sparse.c - the indexer of sparse attention, as it is trained (DeepSeek-V3.2, arXiv
 * 2512.02556, section 2.1): before the core of a layer that has one,
 *
 *   index-q, index-k, index-weights   GEMMs, whole on each rank
 *   index-scores   2 i d for each causal pair of tokens: half of s x s, as a product of s x s / 2
 *   index-topk     reads the scores, fp32
 *
 * The choice itself has no gradient; the indexer learns from the distribution of the attention's
 * scores, so its own products have the usual two gradients. The core then costs as much as
 * attention with a window of topk tokens (transformer_attention.c): a query sees min(topk, i) keys.
 */
#include "models/transformer_private.h"

static gboolean has_indexer(const OrrTransformerView *view) {
  return orr_layer_matrix(&view->layer, "index-q") != NULL;
}

void orr_transformer_put_index_products(const OrrTransformerView *view, GArray *operators,
                                        OrrPass pass) {
  static const char *const names[] = {"index-q", "index-k", "index-weights"};
  for (guint i = 0; i < G_N_ELEMENTS(names) && has_indexer(view); i++)
    orr_transformer_put_linear(view, operators, names[i], pass);
}

void orr_transformer_put_index_scores(const OrrTransformerView *view, GArray *operators,
                                      OrrPass pass) {
  const OrrSparse *sparse = &view->model->sparse;
  const gint64 s = view->sequence, half = MAX(1, s / 2);
  const OrrGemmShape shape = {view->sequences, s, half, sparse->index_heads * sparse->index_dim};
  if (!has_indexer(view)) return;
  for (int i = 0; i < (pass == ORR_PASS_FORWARD ? 1 : 2); i++)
    ORR_APPEND(operators, OrrOperator,
               orr_operator_gemm("index-scores", pass, view->shard->dtype, shape));
  if (pass == ORR_PASS_FORWARD)
    orr_transformer_put_memory(view, operators, "index-topk", pass,
                               (double)view->sequences * (double)s * (double)half,
                               4 / view->element_bytes, 0);
}

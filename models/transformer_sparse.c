/*
 * transformer_sparse.c - the indexer of sparse attention, and compressed attention, as they are
 * trained.
 *
 * The indexer (DeepSeek-V3.2, arXiv 2512.02556, section 2.1), before the core of a layer that has
 * one:
 *
 *   index-q, index-k, index-weights   GEMMs, whole on each rank
 *   index-scores   2 i d for each causal pair of tokens: half of s x s, as a product of s x s / 2
 *   index-topk     reads the scores, fp32
 *
 * The choice itself has no gradient; the indexer learns from the distribution of the attention's
 * scores, so its own products have the usual two gradients. The core then costs as much as
 * attention with a window of topk tokens (transformer_attention.c): a query sees min(topk, i) keys.
 *
 * Compressed attention (DeepSeek-V4), with entries of r tokens, d wide, and e = 2 for those that
 * overlap (csa), else 1:
 *
 *   q-down, kv-down   GEMM   h -> Rq, h -> d          whole on each rank
 *   latent-norm       2 own (Rq + d)
 *   [tp-all-gather    of both and of entries: sequence parallelism only, T (Rq + d + d / r);
 *                     backward the gradients of keys and entries, T (d + d / r), are summed, since
 *                     all ranks' heads have a part in them]
 *   q-up              GEMM   Rq -> a d / t            columns
 *   rope              2 T (a / t + 1) of the widths with position
 *   compress          GEMM   h -> 2 e d               each entry's keys and gates, whole
 *   entries           softmax over an entry's tokens: reads T 2 e d, writes T d / r; twice backward
 *   index-...         as above, over T / r entries (csa)
 *   attention         a / t heads over one of d, keys and values alike
 *   out-down          GEMM   a d / t -> g / t ranks of o
 *   projection        GEMM   g o / t -> h             rows
 *
 * A query i sees its window and i / r entries, topk of them at most. All pairs P of a sequence of s
 * tokens are as many as a window W = s - sqrt(s^2 - 2 P) has, W s - W^2 / 2 (where P is above s^2 /
 * 2, as many as a longer sequence without one), and the core is costed by them.
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
  const gint64 s = view->sequence, half = MAX(1, s / 2 /
                                                     (view->layer.kind.mixer == ORR_MIXER_CSA
                                                          ? view->model->compressed.ratio
                                                          : 1));
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

/* --- compressed attention --- */

static double entry_tokens(const OrrTransformerView *view) {
  const OrrCompressed *compressed = &view->model->compressed;
  return (double)(view->layer.kind.mixer == ORR_MIXER_CSA ? compressed->ratio : compressed->heavy);
}

/* Pairs of query and key among @s; a query sees the last @most keys at most. */
static double pairs_of(double s, double most) {
  const double seen = most > 0 ? fmin(most, s) : s;
  return s * seen - seen * seen / 2;
}

double orr_transformer_compressed_pairs(const OrrTransformerView *view) {
  const double s = (double)view->sequence, r = entry_tokens(view);
  const double top = view->layer.kind.mixer == ORR_MIXER_CSA ? (double)view->model->sparse.topk : 0;
  return pairs_of(s, (double)view->model->window.size) + r * pairs_of(s / r, top);
}

static void put_compressed_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  orr_transformer_put_norm_of(view, operators, "latent-norm", pass,
                              view->own_tokens *
                                  (double)(view->model->compressed.q_rank + view->layer.head_dim));
}

static gboolean has_entries(const OrrTransformerView *view) {
  return orr_layer_matrix(&view->layer, "compress") != NULL;
}

static void put_compressed_gather(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const double d = (double)view->layer.head_dim,
               entries = has_entries(view) ? d / entry_tokens(view) : 0;
  if (pass == ORR_PASS_FORWARD)
    orr_transformer_put_gather(view, operators,
                               (double)view->model->compressed.q_rank + d + entries);
  else
    orr_transformer_put_reduce(view, operators, d + entries);
}

static void put_compressed_rope(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  orr_transformer_put_memory(
      view, operators, "rope", pass,
      (double)(view->tokens * (view->layer.heads + 1) * view->model->compressed.rope_dim), 2, 0);
}

static void put_entries(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrMatrix *compress = orr_layer_matrix(&view->layer, "compress");
  if (!compress) return;
  orr_transformer_put_memory(view, operators, "entries", pass,
                             view->own_tokens * ((double)compress->out +
                                                 (double)view->layer.head_dim / entry_tokens(view)),
                             pass == ORR_PASS_FORWARD ? 1 : 2, 0);
}

static const OrrTransformerStep steps[] = {
    {.matrix = "q-down"},
    {.matrix = "kv-down"},
    {put_compressed_norm, .modules = ORR_MODULE_MLA_UP_PROJ},
    {.matrix = "compress"},
    {put_entries},
    {put_compressed_gather, .modules = ORR_MODULE_MLA_UP_PROJ},
    {.matrix = "q-up", .modules = ORR_MODULE_MLA_UP_PROJ},
    {put_compressed_rope, .modules = ORR_MODULE_MLA_UP_PROJ},
    {orr_transformer_put_index_products},
    {orr_transformer_put_index_scores, .modules = ORR_MODULE_CORE_ATTN},
    {orr_transformer_put_core, .modules = ORR_MODULE_CORE_ATTN},
    {.matrix = "out-down"},
    {.matrix = "projection"},
};
const OrrTransformerBlock orr_transformer_compressed = {steps, G_N_ELEMENTS(steps), FALSE, TRUE};

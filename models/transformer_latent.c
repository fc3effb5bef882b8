/*
 * transformer_latent.c - multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1),
 * as it is trained.
 *
 *   q-down        GEMM   h -> Rq          whole on each rank, on own tokens (Megatron-Core:
 *                                         parallel_mode duplicated)
 *   kv-down       GEMM   h -> Rk + r      the last r are the key's part with position, common to
 *                                         all heads
 *   -- mla-up-proj: what that module recomputes --
 *   latent-norm   2 own (Rq + Rk)
 *   [tp-all-gather of the compressed forms: sequence parallelism only, T (Rq + Rk + r), and T h
 *                 where a gate reads the norm's result]
 *   q-up          GEMM   Rq -> a (n + r) / t      columns
 *   kv-up         GEMM   Rk -> a (n + v) / t      columns
 *   rope          2 T (a r / t + r), then the common key is laid beside each head's own: 2 T a (n +
 *                 r) / t
 *   -- end --
 *   attention     a / t heads of n + r, values of v
 *   [gate, output-gate   GEMM h -> a v / t, and 3 T a v / t: where results are gated (Kimi-K3)]
 *   projection    GEMM   a v / t -> h     rows
 *
 * Without compression of queries (DeepSeek-V2-Lite) there is no q-down, and q-up is h -> a (n + r)
 * on gathered tokens. Backward: up-projections reduce their input's gradient, T (Rq + Rk) in total,
 * as any column-parallel layer does; the common key's gradient, T r, is reduced because each rank
 * has its own heads' part. Decoding uses the absorbed form, where kv-up is multiplied into queries
 * and results and the cache has Rk + r elements per token.
 */
#include "models/transformer_private.h"

static void put_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrMla *mla = &view->model->mla;
  orr_transformer_put_norm_of(view, operators, "latent-norm", pass,
                              view->own_tokens * (mla->q_rank + mla->kv_rank));
}

static void put_gather(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrMla *mla = &view->model->mla;
  const gboolean reads_stream = mla->q_rank == 0 || view->layer.gated;
  const gint64 stream = reads_stream ? view->layer.hidden : 0;
  if (pass == ORR_PASS_FORWARD)
    orr_transformer_put_gather(view, operators,
                               (double)(stream + mla->q_rank + mla->kv_rank + mla->rope_dim));
  else
    orr_transformer_put_reduce(view, operators, (double)mla->rope_dim);
}

static void put_rope(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  gint64 rope = view->model->mla.rope_dim;
  double turned = (double)view->tokens * (view->layer.heads + 1) * rope,
         laid = (double)view->tokens * view->layer.kv;
  orr_transformer_put_memory(view, operators, "rope", pass, turned + laid, 2, 0);
}

static const OrrTransformerStep steps[] = {
    {.matrix = "q-down"},
    {.matrix = "kv-down"},
    {put_norm, .modules = ORR_MODULE_MLA_UP_PROJ},
    {put_gather, .modules = ORR_MODULE_MLA_UP_PROJ},
    {.matrix = "q-up", .modules = ORR_MODULE_MLA_UP_PROJ},
    {.matrix = "kv-up", .modules = ORR_MODULE_MLA_UP_PROJ},
    {put_rope, .modules = ORR_MODULE_MLA_UP_PROJ},
    {orr_transformer_put_index_products},
    {orr_transformer_put_index_scores, .modules = ORR_MODULE_CORE_ATTN},
    {orr_transformer_put_core, .modules = ORR_MODULE_CORE_ATTN},
    {.matrix = "gate"},
    {orr_transformer_put_output_gate},
    {.matrix = "projection", .modules = ORR_MODULE_PROJECTION},
};
const OrrTransformerBlock orr_transformer_latent = {steps, G_N_ELEMENTS(steps), FALSE, TRUE};

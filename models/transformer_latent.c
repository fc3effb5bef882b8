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
 *   [tp-all-gather of the compressed forms: sequence parallelism only, T (Rq + Rk + r)]
 *   q-up          GEMM   Rq -> a (n + r) / t      columns
 *   kv-up         GEMM   Rk -> a (n + v) / t      columns
 *   rope          2 T (a r / t + r), then the common key is laid beside each head's own: 2 T a (n +
 *                 r) / t
 *   -- end --
 *   attention     a / t heads of n + r, values of v
 *   projection    GEMM   a v / t -> h     rows
 *
 * Without compression of queries (DeepSeek-V2-Lite) there is no q-down, and q-up is h -> a (n + r)
 * on gathered tokens. Backward: up-projections reduce their input's gradient, T (Rq + Rk) in total,
 * as any column-parallel layer does. Decoding uses the absorbed form, where kv-up is multiplied
 * into queries and results and the cache has Rk + r elements per token.
 */
#include "models/transformer_private.h"

typedef struct {
  gint64 q_rank, kv_rank, rope;
  gint64 kv_up; /* width on this rank */
} Widths;

static Widths widths_of(const OrrTransformerView *view) {
  const OrrMla *mla = &view->model->mla;
  return (Widths){mla->q_rank, mla->kv_rank, mla->rope_dim,
                  view->heads * (mla->nope_dim + mla->value_dim)};
}

static void put_gather(const OrrTransformerView *view, GArray *operators, double width) {
  if (view->sequence_parallel && width > 0)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_GATHER, width);
}

static void put_rope(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  gint64 rope = view->model->mla.rope_dim;
  double turned = (double)view->tokens * (view->heads + 1) * rope,
         laid = (double)view->tokens * view->kv;
  orr_transformer_put_memory(view, operators, "rope", pass, turned + laid, 2, 0);
}

static void put_down(const OrrTransformerView *view, GArray *operators) {
  Widths w = widths_of(view);
  if (w.q_rank)
    orr_transformer_put_linear(view, operators, "q-down", w.q_rank, view->hidden, ORR_SPLIT_NONE);
  orr_transformer_put_linear(view, operators, "kv-down", w.kv_rank + w.rope, view->hidden,
                             ORR_SPLIT_NONE);
}

void orr_transformer_put_latent_up(const OrrTransformerView *view, GArray *operators) {
  Widths w = widths_of(view);
  orr_transformer_put_norm_of(view, operators, "latent-norm",
                              view->own_tokens * (w.q_rank + w.kv_rank));
  put_gather(view, operators, (double)(w.q_rank ? w.q_rank : view->hidden) + w.kv_rank + w.rope);
  orr_transformer_put_linear(view, operators, "q-up", view->q, w.q_rank ? w.q_rank : view->hidden,
                             ORR_SPLIT_COLUMN);
  orr_transformer_put_linear(view, operators, "kv-up", w.kv_up, w.kv_rank, ORR_SPLIT_COLUMN);
  put_rope(view, operators, ORR_PASS_FORWARD);
}

void orr_transformer_put_latent(const OrrTransformerView *view, GArray *operators) {
  put_down(view, operators);
  orr_transformer_put_latent_up(view, operators);
  orr_transformer_put_core(view, operators);
  orr_transformer_put_linear(view, operators, "projection", view->hidden, view->context,
                             ORR_SPLIT_ROW);
}

void orr_transformer_put_latent_backward(const OrrTransformerView *view, GArray *operators) {
  Widths w = widths_of(view);
  orr_transformer_put_linear_backward(view, operators, "projection", view->hidden, view->context,
                                      ORR_SPLIT_ROW);
  orr_transformer_put_core_backward(view, operators);
  put_rope(view, operators, ORR_PASS_DGRAD);
  orr_transformer_put_linear_backward(view, operators, "kv-up", w.kv_up, w.kv_rank,
                                      ORR_SPLIT_COLUMN);
  orr_transformer_put_linear_backward(view, operators, "q-up", view->q,
                                      w.q_rank ? w.q_rank : view->hidden, ORR_SPLIT_COLUMN);
  orr_transformer_put_norm_of_backward(view, operators, "latent-norm",
                                       view->own_tokens * (w.q_rank + w.kv_rank));
  orr_transformer_put_linear_backward(view, operators, "kv-down", w.kv_rank + w.rope, view->hidden,
                                      ORR_SPLIT_NONE);
  if (w.q_rank)
    orr_transformer_put_linear_backward(view, operators, "q-down", w.q_rank, view->hidden,
                                        ORR_SPLIT_NONE);
}

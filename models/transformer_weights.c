/*
 * transformer_weights.c - the parameters that one rank holds, and their bytes.
 *
 * Invariant: with every size of group 1, all layers, the embedding and the head add up to
 * orr_model_parameters.
 *
 * Column- and row-parallel matrices are split over tp, biases of row-parallel ones and norms whole;
 * compressions of latent attention, router and latent projections of experts whole; routed experts
 * over ep and etp. Frozen, all of it moves to `frozen`, and the adapters' r (n + k) each are what
 * is trained; a frozen encoder has none.
 */
#include "models/transformer_private.h"

/* `linear` counts the matrices of linear layers, `rest` all else; experts' separately. */
typedef struct {
  double linear, rest, expert_linear, expert_rest, adapters, copied;
} Count;

static void count_matrix(const OrrTransformerView *view, const OrrMatrix *matrix, Count *count) {
  const gboolean routed = matrix->part == ORR_QUANTIZED_EXPERTS;
  const OrrLora *lora = &view->shard->lora;
  double *rest = routed ? &count->expert_rest : &count->rest;
  double *linear = routed ? &count->expert_linear : matrix->plain ? rest : &count->linear;
  *linear += orr_matrix_weights(matrix, view->layer.experts);
  *rest += orr_matrix_biases(matrix, view->layer.experts);
  gint64 widths[3];
  const guint n = orr_transformer_adapters(view, matrix, widths);
  for (guint i = 0; i < n; i++) {
    const double a = (double)lora->rank * (double)matrix->in,
                 b = (double)lora->rank * (double)widths[i];
    count->adapters += a + b;
    count->copied +=
        (matrix->split == ORR_SPLIT_ROW ? 0 : a) + (matrix->split == ORR_SPLIT_COLUMN ? 0 : b);
  }
}

static OrrWeights settle(gboolean is_frozen, const Count *count) {
  if (is_frozen)
    return (OrrWeights){.dense = count->adapters,
                        .copied = count->copied,
                        .frozen =
                            count->linear + count->rest + count->expert_linear + count->expert_rest,
                        .linear = count->linear + count->expert_linear};
  return (OrrWeights){.dense = count->linear + count->rest,
                      .experts = count->expert_linear + count->expert_rest,
                      .linear = count->linear + count->expert_linear};
}

OrrWeights orr_transformer_layer_weights(const OrrModel *model, guint kind, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  Count count = {.rest = view.layer.vectors};
  for (guint i = 0; i < view.layer.n_matrices; i++)
    count_matrix(&view, &view.layer.matrices[i], &count);
  return settle(shard->lora.rank > 0 || orr_transformer_is_frozen_encoder(&view), &count);
}

/* --- ends --- */

static double table_parameters(const OrrModel *model, const OrrShard *shard) {
  return (double)orr_transformer_view(model, 0, shard).vocab * model->hidden;
}

/* The encoder's ends, whole on each rank: what orr_model_embedding_parameters has beyond tables,
 * positions, a norm. */
static double encoder_end_parameters(const OrrModel *model) {
  OrrModel bare = *model;
  bare.encoder.layers = 0;
  return orr_model_embedding_parameters(model) - orr_model_embedding_parameters(&bare);
}

OrrWeights orr_transformer_embedding_weights(const OrrModel *model, const OrrShard *shard) {
  double positions =
      model->position == ORR_POSITION_LEARNED ? (double)model->context * model->hidden : 0;
  Count count = {.rest =
                     table_parameters(model, shard) + positions + encoder_end_parameters(model)};
  return settle(shard->lora.rank > 0, &count);
}

OrrWeights orr_transformer_head_weights(const OrrModel *model, const OrrShard *shard,
                                        gboolean shares_embedding) {
  double logits = shares_embedding ? 0 : table_parameters(model, shard);
  Count count = {.rest = orr_model_norm_parameters(model) + logits};
  return settle(shard->lora.rank > 0, &count);
}

OrrWeights orr_transformer_mtp_weights(const OrrModel *model, const OrrShard *shard) {
  double h = model->hidden, tp = MAX(1, shard->tp);
  OrrWeights layer =
      orr_transformer_layer_weights(model, orr_model_layer_kind(model, model->layers - 1), shard);
  Count count = {.linear = 2 * h * h / tp, .rest = 3 * orr_model_norm_parameters(model)};
  OrrWeights own = settle(shard->lora.rank > 0, &count);
  return (OrrWeights){.dense = layer.dense + own.dense,
                      .experts = layer.experts + own.experts,
                      .frozen = layer.frozen + own.frozen,
                      .copied = layer.copied + own.copied,
                      .linear = layer.linear + own.linear};
}

/* --- bytes --- */

/* Beside adapters all of `linear` is frozen. */
gboolean orr_shard_is_frozen_narrow(const OrrShard *shard) {
  return shard->lora.rank > 0 && !shard->lora.quantised && orr_precision_casts(shard->recipe) &&
         shard->recipe->frozen_narrow;
}

double orr_transformer_weight_bytes(const OrrShard *shard, OrrWeights weights) {
  double all = orr_weights_sum(weights), element_bytes = orr_dtype_bytes(shard->dtype);
  if (shard->lora.rank > 0 && shard->lora.quantised)
    return (all - weights.linear) * element_bytes + weights.linear * ORR_NF4_BYTES;
  if (orr_shard_is_frozen_narrow(shard))
    return (all - weights.linear) * element_bytes +
           weights.linear * shard->recipe->weight_copy_bytes;
  double copies = orr_precision_casts(shard->recipe) ? shard->recipe->weight_copy_bytes : 0;
  return all * element_bytes + weights.linear * copies;
}

void orr_transformer_weight_cast(const OrrShard *shard, OrrWeights weights, GArray *operators) {
  if (!orr_precision_casts(shard->recipe) || weights.linear <= 0) return;
  ORR_APPEND(operators, OrrOperator,
             orr_operator_memory("weight-cast", ORR_PASS_OPTIMIZER, shard->dtype,
                                 weights.linear * shard->recipe->weight_cast_bytes, 0));
}

/*
 * inference_lora.c - low-rank adapters of a served model: many in one batch.
 *
 * y += (x A_i) B_i with each token's own adapter i, in two kernels per target, shrink and expand.
 * They read the matrices of the d adapters in the batch once and iterate over the tokens (SGMV:
 * Chen et al. 2023, Punica, arXiv 2310.18547; vLLM's lora_shrink and lora_expand). For rank r, T
 * tokens and a target of `in` -> `out` on this rank, in 16 bits:
 *
 *   shrink   2 (d r in + T (in + r)) bytes      expand   2 (d r out + T (r + 2 out)), the output
 *                                                        read and written
 *
 * Column-parallel targets have a whole copy of A, row-parallel ones of B, as by vLLM's default. Of
 * queries, keys and values, which the engine joins, each keeps its own adapter, as it was trained
 * (vLLM's MergedQKVParallelLinearWithLoRA); so do gate and up.
 */
#include "models/inference.h"
#include "models/layer.h"

/* The operators of each target, by its bit. */
static const struct {
  const char *shrink, *expand;
} names[] = {{"lora-shrink-qkv", "lora-expand-qkv"},
             {"lora-shrink-projection", "lora-expand-projection"},
             {"lora-shrink-fc1", "lora-expand-fc1"},
             {"lora-shrink-fc2", "lora-expand-fc2"}};

static double width_of(const gint64 *widths, guint n) {
  double sum = 0;
  for (guint i = 0; i < n; i++) sum += (double)widths[i];
  return sum;
}

void orr_inference_adapters(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                            const OrrLora *lora, gint64 tokens, gint64 adapters,
                            GArray *operators) {
  const OrrLayer layer = orr_layer(model, kind, shard->tp, 1, 1);
  const double r = (double)lora->rank, t = (double)tokens, d = (double)adapters;
  const double element = orr_dtype_bytes(shard->activations);
  gint64 widths[3];
  for (guint i = 0; i < layer.n_matrices; i++) {
    const OrrMatrix *matrix = &layer.matrices[i];
    const guint n = orr_matrix_adapters(matrix, lora, FALSE, widths);
    if (n == 0) continue;
    const double in = (double)matrix->in, out = width_of(widths, n), nr = n * r;
    const gint target = g_bit_nth_lsf(matrix->lora, -1);
    const OrrOperator pair[] = {
        orr_operator_memory(names[target].shrink, ORR_PASS_FORWARD, shard->activations,
                            element * (d * nr * in + t * (in + nr)), 2 * t * nr * in),
        orr_operator_memory(names[target].expand, ORR_PASS_FORWARD, shard->activations,
                            element * (d * r * out + t * (nr + 2 * out)), 2 * t * r * out)};
    g_array_append_vals(operators, pair, G_N_ELEMENTS(pair));
  }
}

double orr_inference_adapter_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                   const OrrLora *lora, gint64 first, gint64 n_layers) {
  double sum = 0;
  for (gint64 i = first; i < first + n_layers; i++) {
    const OrrLayer layer = orr_layer(model, orr_model_layer_kind(model, i), shard->tp, 1, 1);
    for (guint m = 0; m < layer.n_matrices; m++) {
      gint64 widths[3];
      const guint n = orr_matrix_adapters(&layer.matrices[m], lora, FALSE, widths);
      sum += (double)lora->rank * ((double)(n * layer.matrices[m].in) + width_of(widths, n));
    }
  }
  return sum * orr_dtype_bytes(shard->activations);
}

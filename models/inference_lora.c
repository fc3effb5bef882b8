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
 * Column-parallel targets have a whole copy of A, row-parallel ones of B, as by vLLM's default.
 */
#include "models/inference.h"

typedef struct {
  const char *shrink, *expand;
  gint64 in, out;
} Target;

enum { MOST_TARGETS = 4 };

static guint targets_of(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                        const OrrLora *lora, Target *ret_targets) {
  guint n = 0;
  if (orr_inference_attends(model, kind)) {
    const OrrInferenceHeads heads = orr_inference_heads(model, kind, shard);
    const gint64 q = heads.heads * heads.head_dim, kv = heads.kv_heads * heads.head_dim;
    if (lora->targets & ORR_LORA_QKV)
      ret_targets[n++] = (Target){"lora-shrink-qkv", "lora-expand-qkv", model->hidden, q + 2 * kv};
    if (lora->targets & ORR_LORA_PROJECTION)
      ret_targets[n++] =
          (Target){"lora-shrink-projection", "lora-expand-projection", q, model->hidden};
  }
  if (orr_model_kind(model, kind).feed == ORR_FEED_DENSE) {
    const gint64 ffn = model->ffn / shard->tp,
                 up = orr_activation_is_gated(model->activation) ? 2 * ffn : ffn;
    if (lora->targets & ORR_LORA_FC1)
      ret_targets[n++] = (Target){"lora-shrink-fc1", "lora-expand-fc1", model->hidden, up};
    if (lora->targets & ORR_LORA_FC2)
      ret_targets[n++] = (Target){"lora-shrink-fc2", "lora-expand-fc2", ffn, model->hidden};
  }
  return n;
}

void orr_inference_adapters(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                            const OrrLora *lora, gint64 tokens, gint64 adapters,
                            GArray *operators) {
  Target targets[MOST_TARGETS];
  const guint n = targets_of(model, kind, shard, lora, targets);
  const double r = (double)lora->rank, t = (double)tokens, d = (double)adapters;
  const double element = orr_dtype_bytes(shard->activations);
  for (guint i = 0; i < n; i++) {
    const double in = (double)targets[i].in, out = (double)targets[i].out;
    const OrrOperator pair[] = {
        orr_operator_memory(targets[i].shrink, ORR_PASS_FORWARD, shard->activations,
                            element * (d * r * in + t * (in + r)), 2 * t * r * in),
        orr_operator_memory(targets[i].expand, ORR_PASS_FORWARD, shard->activations,
                            element * (d * r * out + t * (r + 2 * out)), 2 * t * r * out)};
    g_array_append_vals(operators, pair, G_N_ELEMENTS(pair));
  }
}

double orr_inference_adapter_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                   const OrrLora *lora, gint64 first, gint64 n_layers) {
  double sum = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++) {
    Target targets[MOST_TARGETS];
    const guint n = targets_of(model, orr_model_layer_kind(model, layer), shard, lora, targets);
    for (guint i = 0; i < n; i++) sum += (double)(lora->rank * (targets[i].in + targets[i].out));
  }
  return sum * orr_dtype_bytes(shard->activations);
}

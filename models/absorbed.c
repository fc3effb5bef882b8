/*
 * absorbed.c - appends the operators of the block of absorbed latent attention, part by part.
 */
#include "models/absorbed.h"

static void put(GArray *operators, OrrOperator op) { g_array_append_val(operators, op); }

static void put_memory(const OrrAbsorbedStep *step, GArray *operators, const char *name,
                       gint64 width, double moves) {
  double bytes = (double)step->sequences * width * moves * orr_dtype_bytes(step->activations);
  OrrOperator op = orr_operator_memory(name, ORR_PASS_FORWARD, step->activations, bytes, 0);
  op.memory.rows = step->sequences;
  op.memory.width = width;
  put(operators, op);
}

static void put_gemm(const OrrAbsorbedStep *step, GArray *operators, const char *name, gint64 n,
                     gint64 k) {
  OrrOperator op = orr_operator_gemm(name, ORR_PASS_FORWARD, step->weights,
                                     (OrrGemmShape){1, step->sequences, n, k});
  op.gemm.stored.weight_bytes = step->weight_bytes;
  put(operators, op);
}

/* One product per head, in 16 bits as in serving engines. */
static void put_heads(const OrrAbsorbedStep *step, GArray *operators, const char *name,
                      gint64 heads, gint64 n, gint64 k) {
  put(operators, orr_operator_gemm(name, ORR_PASS_FORWARD, step->activations,
                                   (OrrGemmShape){heads, step->sequences, n, k}));
}

static void put_attention(const OrrModel *model, const OrrAbsorbedStep *step, gint64 heads,
                          GArray *operators) {
  OrrOperator op = orr_operator_attention(
      "attention", ORR_PASS_FORWARD, step->kv,
      (OrrAttentionShape){.batch = step->sequences,
                          .q_length = 1,
                          .kv_length = step->context,
                          .heads = heads,
                          .kv_heads = 1,
                          .value_dim = model->mla.kv_rank,
                          .latent = TRUE,
                          .head_dim = model->mla.kv_rank + model->mla.rope_dim});
  put(operators, op);
}

static gint64 heads_of(const OrrModel *model, const OrrAbsorbedStep *step) {
  return model->heads / MAX(1, step->tp);
}

void orr_absorbed_before(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators) {
  const OrrMla *mla = &model->mla;
  gint64 heads = heads_of(model, step), q = heads * (mla->nope_dim + mla->rope_dim);
  put_memory(step, operators, model->norm == ORR_NORM_RMSNORM ? "rms-norm" : "layer-norm",
             model->hidden, 4);
  put_gemm(step, operators, mla->q_rank ? "qkv-down" : "kv-down",
           mla->q_rank + mla->kv_rank + mla->rope_dim, model->hidden);
  put_memory(step, operators, "latent-norm", mla->q_rank + mla->kv_rank, 2);
  put_gemm(step, operators, "q-up", q, mla->q_rank ? mla->q_rank : model->hidden);
  put_memory(step, operators, "rope", (heads + 1) * mla->rope_dim, 2);
}

void orr_absorbed_queries(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators) {
  put_heads(step, operators, "q-absorb", heads_of(model, step), model->mla.kv_rank,
            model->mla.nope_dim);
}

void orr_absorbed_values(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators) {
  put_heads(step, operators, "v-absorb", heads_of(model, step), model->mla.value_dim,
            model->mla.kv_rank);
}

void orr_absorbed_after(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators) {
  put_gemm(step, operators, "projection", model->hidden,
           heads_of(model, step) * model->mla.value_dim);
  if (step->tp > 1)
    put(operators,
        orr_operator_comm("tp-all-reduce", ORR_PASS_FORWARD, ORR_GROUP_TP, ORR_COMM_ALL_REDUCE,
                          (double)step->sequences * model->hidden *
                              orr_dtype_bytes(step->activations)));
}

void orr_absorbed_attention(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators) {
  orr_absorbed_before(model, step, operators);
  orr_absorbed_queries(model, step, operators);
  put_attention(model, step, heads_of(model, step), operators);
  orr_absorbed_values(model, step, operators);
  orr_absorbed_after(model, step, operators);
}

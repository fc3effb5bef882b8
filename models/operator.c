/*
 * operator.c - FLOPs and bytes of a kernel from its shape.
 */
#include "models/operator.h"

#include <math.h>

const char *const orr_kernels_words[] = {"modern", "eager", NULL};
const char *const orr_group_words[] = {"tp", "cp", "ep", "etp", "cp-inner", "cp-outer", NULL};

OrrOperator orr_operator_gemm(const char *name, OrrPass pass, OrrDtype dtype, gint64 batch,
                              gint64 m, gint64 n, gint64 k) {
  double b = batch, rows = m, columns = n, depth = k;
  return (OrrOperator){
      .name = name,
      .kind = ORR_OPERATOR_GEMM,
      .pass = pass,
      .dtype = dtype,
      .batch = batch,
      .m = m,
      .n = n,
      .k = k,
      .flops = 2 * b * rows * columns * depth,
      .bytes = orr_dtype_bytes(dtype) * b * (rows * depth + columns * depth + rows * columns),
  };
}

/* Of one query and one key head's tensors, in head_dim = d, value_dim = v. Forward: two
 * products, 2 d and 2 v a pair; reads q, k, v, writes out and one fp32 log-sum-exp a row.
 * Backward: five products (it makes the scores again: Dao et al. 2022, algorithm 4), those of
 * scores, of q and of k over d, those of probabilities and of v over v; reads q, k, v, out, its
 * gradient and the log-sum-exp, writes the gradients of q, k, v. */
static void settle_attention(OrrOperator *op) {
  gboolean forward = op->pass == ORR_PASS_FORWARD;
  double b = op->batch, d = op->head_dim, v = op->value_dim ? op->value_dim : op->head_dim;
  double pairs = op->causal ? op->q_length * (op->kv_length - op->q_length / 2.0)
                            : (double)op->q_length * op->kv_length;
  double queries = (double)op->heads * op->q_length, keys = (double)op->kv_heads * op->kv_length;
  double values = op->latent ? 0 : keys * v; /* latent: read with the keys */
  double elements =
      forward ? queries * (d + v) + keys * d + values : 2 * (queries * (d + v) + keys * d + values);
  op->flops = b * 2.0 * op->heads * pairs * (forward ? d + v : 3 * d + 2 * v);
  op->bytes = b * (orr_dtype_bytes(op->dtype) * elements + 4.0 * op->heads * op->q_length);
}

OrrOperator orr_operator_attention(const char *name, OrrPass pass, OrrDtype dtype, gint64 batch,
                                   gint64 q_length, gint64 kv_length, gint64 heads, gint64 kv_heads,
                                   gint64 head_dim, gboolean causal) {
  OrrOperator op = {
      .name = name,
      .kind = ORR_OPERATOR_ATTENTION,
      .pass = pass,
      .dtype = dtype,
      .causal = causal,
      .batch = batch,
      .q_length = q_length,
      .kv_length = kv_length,
      .heads = heads,
      .kv_heads = kv_heads,
      .head_dim = head_dim,
  };
  settle_attention(&op);
  return op;
}

void orr_operator_set_value_dim(OrrOperator *op, gint64 value_dim) {
  op->value_dim = value_dim;
  settle_attention(op);
}

double orr_operator_moe_awake(double local, double tokens, double topk, double experts) {
  return local * -expm1(tokens * log1p(-fmin(topk / experts, 1)));
}

/* Activations stay in 16 bits where the weights have fewer. */
static double moe_bytes(const OrrOperator *op) {
  const double pairs =
      (double)op->m * (double)op->topk / (double)op->expert_ep; /* of a token and an expert */
  const double local = (double)op->experts / (double)op->expert_ep, hidden = (double)op->k;
  const double width = (double)op->n / (double)op->expert_tp,
               products = op->projections ? (double)op->projections : 3;
  const double awake = op->drawn ? orr_operator_moe_awake(local, (double)op->m, (double)op->topk,
                                                          (double)op->experts)
                                 : MIN(local, pairs);
  const double element = orr_dtype_bytes((OrrDtype)op->dtype);
  return element * products * hidden * width * awake +
         MAX(element, 2) * pairs * (2.0 * hidden + products * width);
}

void orr_operator_set_drawn(OrrOperator *op) {
  op->drawn = TRUE;
  op->bytes = moe_bytes(op);
}

OrrOperator orr_operator_moe(const char *name, OrrPass pass, OrrDtype dtype, gint64 tokens,
                             gint64 hidden, gint64 inter, gint64 topk, gint64 experts,
                             gint64 expert_tp, gint64 expert_ep, gint64 projections,
                             double imbalance) {
  double pairs = (double)tokens * (double)topk / (double)expert_ep; /* of a token and an expert */
  double width = (double)inter / (double)expert_tp,
         products = projections ? (double)projections : 3;
  OrrOperator op = {
      .name = name,
      .kind = ORR_OPERATOR_MOE,
      .pass = pass,
      .dtype = dtype,
      .m = tokens,
      .n = inter,
      .k = hidden,
      .topk = topk,
      .experts = experts,
      .expert_tp = expert_tp,
      .expert_ep = expert_ep,
      .projections = projections,
      .imbalance = imbalance,
      .flops = 2 * products * pairs * hidden * width,
  };
  op.bytes = moe_bytes(&op);
  return op;
}

OrrOperator orr_operator_memory(const char *name, OrrPass pass, OrrDtype dtype, double bytes,
                                double flops) {
  return (OrrOperator){.name = name,
                       .kind = ORR_OPERATOR_MEMORY,
                       .pass = pass,
                       .dtype = dtype,
                       .flops = flops,
                       .bytes = bytes};
}

OrrOperator orr_operator_comm(const char *name, OrrPass pass, OrrOperatorGroup group,
                              OrrOperatorComm comm, double bytes) {
  return (OrrOperator){.name = name,
                       .kind = ORR_OPERATOR_COMM,
                       .pass = pass,
                       .comm = comm,
                       .group = group,
                       .bytes = bytes};
}

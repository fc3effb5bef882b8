/*
 * operator.c - FLOPs and bytes of a kernel from its shape.
 */
#include "models/operator.h"

const char *const orr_kernels_words[] = {"modern", "eager", NULL};
const char *const orr_group_words[] = {"tp", "cp", "ep", "etp", NULL};

OrrOperator orr_operator_gemm(const char *name, OrrPass pass, OrrDtype dtype, gint64 batch, gint64 m, gint64 n,
                              gint64 k) {
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

/* Forward: two products of 2 q kv d, reads q, k, v, writes out and one fp32 log-sum-exp a row. Backward: five products
 * (it makes the scores again: Dao et al. 2022, algorithm 4), reads q, k, v, out, its gradient and the log-sum-exp,
 * writes the gradients of q, k, v. */
OrrOperator orr_operator_attention(const char *name, OrrPass pass, OrrDtype dtype, gint64 batch, gint64 q_length,
                                   gint64 kv_length, gint64 heads, gint64 kv_heads, gint64 head_dim, gboolean causal) {
  gboolean forward = pass == ORR_PASS_FORWARD;
  double b = batch, product = 2.0 * heads * q_length * kv_length * head_dim;
  double q = (double)heads * q_length * head_dim, kv = (double)kv_heads * kv_length * head_dim;
  double elements = forward ? 2 * q + 2 * kv : 4 * q + 4 * kv;
  return (OrrOperator){
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
      .flops = b * product * (forward ? 2 : 5) / (causal ? 2 : 1),
      .bytes = b * (orr_dtype_bytes(dtype) * elements + 4.0 * heads * q_length),
  };
}

/* Activations stay in 16 bits where the weights have fewer. */
OrrOperator orr_operator_moe(const char *name, OrrPass pass, OrrDtype dtype, gint64 tokens, gint64 hidden, gint64 inter,
                             gint64 topk, gint64 experts, gint64 expert_tp, gint64 expert_ep, gint64 projections,
                             double imbalance) {
  double pairs = (double)tokens * (double)topk / (double)expert_ep; /* of a token and an expert */
  double local = (double)experts / (double)expert_ep, width = (double)inter / (double)expert_tp;
  double products = projections ? (double)projections : 3;
  double weights = products * hidden * width * MIN(local, pairs),
         activations = pairs * (2.0 * hidden + products * width);
  return (OrrOperator){
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
      .bytes = orr_dtype_bytes(dtype) * weights + MAX(orr_dtype_bytes(dtype), 2) * activations,
  };
}

OrrOperator orr_operator_memory(const char *name, OrrPass pass, OrrDtype dtype, double bytes, double flops) {
  return (OrrOperator){
      .name = name, .kind = ORR_OPERATOR_MEMORY, .pass = pass, .dtype = dtype, .flops = flops, .bytes = bytes};
}

OrrOperator orr_operator_comm(const char *name, OrrPass pass, OrrOperatorGroup group, OrrOperatorComm comm,
                              double bytes) {
  return (OrrOperator){
      .name = name, .kind = ORR_OPERATOR_COMM, .pass = pass, .comm = comm, .group = group, .bytes = bytes};
}

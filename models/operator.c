/*
 * operator.c - computes the FLOPs and bytes of an operator from its shape.
 */
#include "models/operator.h"

const char *const orr_kernels_words[] = {"modern", "eager", NULL};
const char *const orr_kernel_library_words[] = {"any", "aiter", "sglang", "trtllm", "vllm", NULL};
const char *const orr_group_words[] = {"tp", "cp", "ep", "etp", "cp-inner", "cp-outer", NULL};

OrrOperator orr_operator_gemm(const char *name, OrrPass pass, OrrDtype dtype, OrrGemmShape shape) {
  double b = shape.batch, rows = shape.m, columns = shape.n, depth = shape.k;
  return (OrrOperator){
      .name = name,
      .kind = ORR_OPERATOR_GEMM,
      .pass = pass,
      .dtype = dtype,
      .flops = 2 * b * rows * columns * depth,
      .bytes = orr_dtype_bytes(dtype) * b * (rows * depth + columns * depth + rows * columns),
      .gemm = shape,
  };
}

/* With head_dim = d and value_dim = v. Forward: two products, 2 d and 2 v FLOPs per pair of a
 * query and a key; reads q, k, v, writes out and one fp32 log-sum-exp per row. Backward: five
 * products (it computes the scores again: Dao et al. 2022, algorithm 4); the products of the
 * scores, of q and of k run over d, the products of the probabilities and of v over v; reads q, k,
 * v, out, its gradient and the log-sum-exp, writes the gradients of q, k, v. */
OrrOperator orr_operator_attention(const char *name, OrrPass pass, OrrDtype dtype,
                                   OrrAttentionShape shape) {
  gboolean forward = pass == ORR_PASS_FORWARD;
  double b = shape.batch, d = shape.head_dim,
         v = shape.value_dim ? shape.value_dim : shape.head_dim;
  double pairs = shape.causal ? shape.q_length * (shape.kv_length - shape.q_length / 2.0)
                              : (double)shape.q_length * shape.kv_length;
  double queries = (double)shape.heads * shape.q_length,
         keys = (double)shape.kv_heads * shape.kv_length;
  double values = shape.latent ? 0 : keys * v; /* latent: read with the keys */
  double elements =
      forward ? queries * (d + v) + keys * d + values : 2 * (queries * (d + v) + keys * d + values);
  return (OrrOperator){
      .name = name,
      .kind = ORR_OPERATOR_ATTENTION,
      .pass = pass,
      .dtype = dtype,
      .flops = b * 2.0 * shape.heads * pairs * (forward ? d + v : 3 * d + 2 * v),
      .bytes = b * (orr_dtype_bytes(dtype) * elements + 4.0 * shape.heads * shape.q_length),
      .attention = shape,
  };
}

double orr_operator_moe_awake(double local, double tokens, double topk, double experts) {
  return local * -expm1(tokens * log1p(-fmin(topk / experts, 1)));
}

/* Activations stay in 16 bits where the weights have fewer. */
static double moe_bytes(const OrrMoeShape *shape, OrrDtype dtype) {
  const double pairs = (double)shape->tokens * (double)shape->topk /
                       (double)shape->ep; /* of a token and an expert */
  const double local = (double)shape->experts / (double)shape->ep, hidden = (double)shape->hidden;
  const double width = (double)shape->inter / (double)shape->tp, products = orr_moe_products(shape);
  const double awake = shape->drawn
                           ? orr_operator_moe_awake(local, (double)shape->tokens,
                                                    (double)shape->topk, (double)shape->experts)
                           : MIN(local, pairs);
  const double element = orr_dtype_bytes(dtype);
  const double weight = shape->stored.weight_bytes > 0 ? shape->stored.weight_bytes : element;
  return weight * products * hidden * width * awake +
         MAX(element, 2) * pairs * ((shape->without_last ? 1 : 2) * hidden + products * width);
}

OrrOperator orr_operator_moe(const char *name, OrrPass pass, OrrDtype dtype, OrrMoeShape shape) {
  double pairs = (double)shape.tokens * (double)shape.topk / (double)shape.ep;
  double width = (double)shape.inter / (double)shape.tp, products = orr_moe_products(&shape);
  return (OrrOperator){
      .name = name,
      .kind = ORR_OPERATOR_MOE,
      .pass = pass,
      .dtype = dtype,
      .flops = 2 * products * pairs * shape.hidden * width,
      .bytes = moe_bytes(&shape, dtype),
      .moe = shape,
  };
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
                       .bytes = bytes,
                       .comm = {.op = comm, .group = group}};
}

/*
 * generator_backward.c - the backward of a generator's block, from the operators of its forward.
 *
 * In reverse order. A product y[m,n] = x[m,k] w[n,k]^T gives dx[m,k] and dw[n,k], each of its
 * FLOPs; a convolution's dx is a convolution of the same size. Attention is one kernel of 2.5 times
 * the FLOPs. A pointwise kernel that reads x and writes y reads dy and x and writes dx: half more
 * bytes. An all-reduce after a row-parallel product has a counterpart before the column-parallel
 * one; an exchange of heads has its inverse.
 */
#include "models/generator.h"

static void put(GArray *backward, OrrOperator op, const OrrBlockOperator *forward) {
  op.kernels = forward->op.kernels;
  ORR_APPEND(backward, OrrBlockOperator, {op, forward->times, forward->dispatches});
}

static void put_product(GArray *backward, const OrrBlockOperator *forward) {
  const OrrGemmShape shape = forward->op.gemm;
  const gboolean is_convolution = strcmp(forward->op.name, "convolution") == 0;
  OrrGemmShape by_data = {
      .batch = shape.batch, .m = shape.m, .n = shape.k, .k = shape.n, .stored = shape.stored};
  const OrrGemmShape by_weight = {
      .batch = shape.batch, .m = shape.n, .n = shape.k, .k = shape.m, .stored = shape.stored};
  if (is_convolution) by_data = shape;
  OrrOperator dgrad =
      orr_operator_gemm(forward->op.name, ORR_PASS_DGRAD, (OrrDtype)forward->op.dtype, by_data);
  OrrOperator wgrad =
      orr_operator_gemm(forward->op.name, ORR_PASS_WGRAD, (OrrDtype)forward->op.dtype, by_weight);
  dgrad.bytes = wgrad.bytes = forward->op.bytes;
  put(backward, dgrad, forward);
  put(backward, wgrad, forward);
}

void orr_generator_backward(const GArray *forward, GArray *backward) {
  for (guint i = forward->len; i > 0; i--) {
    const OrrBlockOperator *one = &g_array_index(forward, OrrBlockOperator, i - 1);
    OrrOperator op = one->op;
    switch (one->op.kind) {
    case ORR_OPERATOR_GEMM:
      put_product(backward, one);
      break;
    case ORR_OPERATOR_ATTENTION:
      put(backward,
          orr_operator_attention(op.name, ORR_PASS_DGRAD, (OrrDtype)op.dtype, op.attention), one);
      break;
    case ORR_OPERATOR_MEMORY:
      put(backward,
          orr_operator_memory(op.name, ORR_PASS_DGRAD, (OrrDtype)op.dtype, 1.5 * op.bytes, 0), one);
      break;
    default:
      op.pass = ORR_PASS_DGRAD;
      put(backward, op, one);
    }
  }
}

/* A matrix from the width to the vectors of each picture: 6 w (without a shift 4 w) for each of the
 * two streams of a double block, 3 w (2 w) for a single one (generator.c counts the same). */
gboolean orr_generator_modulation(const OrrBlock *block, const OrrGeneratorShape *shape,
                                  OrrOperator *ret_op) {
  const gint64 widths = block->kind == ORR_BLOCK_DOUBLE
                            ? 2 * (block->width + orr_generator_text_block(block).width)
                            : block->width;
  const gint64 results = orr_generator_vectors(block) * widths;
  const OrrGemmShape gemm = {
      .batch = 1, .m = shape->batch, .n = MAX(1, results / shape->tp), .k = block->width};
  if (!block->modulated || block->kind == ORR_BLOCK_TRANSFORMER) return FALSE;
  *ret_op = orr_operator_gemm("modulation", ORR_PASS_FORWARD, shape->dtype, gemm);
  return TRUE;
}

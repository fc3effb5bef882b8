/* test_operator.c - FLOPs and bytes from shapes. */
#include <math.h>

#include "models/operator.h"

static void test_gemm(void) {
  /* 5 products of 2 x 3 over 4: 2 * 5 * 2 * 3 * 4 = 240; elements 5 (2*4 + 3*4 + 2*3) = 130 of 2
   * bytes. */
  OrrOperator op = orr_operator_gemm("x", ORR_PASS_WGRAD, ORR_BF16, (OrrGemmShape){5, 2, 3, 4});
  g_assert_cmpfloat(op.flops, ==, 240);
  g_assert_cmpfloat(op.bytes, ==, 260);
  g_assert_cmpint(op.kind, ==, ORR_OPERATOR_GEMM);
  g_assert_cmpint(op.pass, ==, ORR_PASS_WGRAD);
  g_assert_cmpint(op.dtype, ==, ORR_BF16);
  g_assert_cmpint(op.gemm.batch * 1000 + op.gemm.m * 100 + op.gemm.n * 10 + op.gemm.k, ==, 5234);
}

static void test_gemm_beyond_32_bits(void) {
  /* 2 (2^20)^3 = 2^61; a product in int would be 0. */
  OrrOperator op = orr_operator_gemm("x", ORR_PASS_FORWARD, ORR_FP16,
                                     (OrrGemmShape){1, 1 << 20, 1 << 20, 1 << 20});
  g_assert_cmpfloat(op.flops, ==, 2305843009213693952.0);
}

static void test_attention(void) {
  /* 2 sequences, 8 heads of 16 on 2 key-value heads, 10 queries over 20 keys: two products of
   * 2*8*10*20*16 = 51,200 a sequence; q and out 2*8*10*16 = 2,560, k and v 2*2*20*16 = 1,280
   * elements, 80 log-sum-exps. */
  OrrOperator op = orr_operator_attention(
      "x", ORR_PASS_FORWARD, ORR_FP16,
      (OrrAttentionShape){
          .batch = 2, .q_length = 10, .kv_length = 20, .heads = 8, .kv_heads = 2, .head_dim = 16});
  g_assert_cmpfloat(op.flops, ==, 2 * 2 * 51200);
  g_assert_cmpfloat(op.bytes, ==, 2 * (2 * (2560 + 1280) + 4 * 80));
  OrrOperator causal = orr_operator_attention("x", ORR_PASS_FORWARD, ORR_FP16,
                                              (OrrAttentionShape){.batch = 2,
                                                                  .q_length = 10,
                                                                  .kv_length = 20,
                                                                  .heads = 8,
                                                                  .kv_heads = 2,
                                                                  .head_dim = 16,
                                                                  .causal = TRUE});
  g_assert_cmpfloat(causal.flops, ==, op.flops * 3 / 4); /* 10 (20 - 10 / 2) = 150 of 200 pairs */
  g_assert_cmpfloat(causal.bytes, ==, op.bytes);
  OrrOperator backward = orr_operator_attention("x", ORR_PASS_DGRAD, ORR_FP16,
                                                (OrrAttentionShape){.batch = 2,
                                                                    .q_length = 10,
                                                                    .kv_length = 20,
                                                                    .heads = 8,
                                                                    .kv_heads = 2,
                                                                    .head_dim = 16,
                                                                    .causal = TRUE});
  g_assert_cmpfloat(backward.flops, ==, 2.5 * causal.flops);
  g_assert_cmpfloat(backward.bytes, ==, 2 * (2 * 2 * (2560 + 1280) + 4 * 80));
}

/* 10 tokens to 2 of 8 experts, those on 4 ranks: 5 pairs a rank, 2 experts there, half as wide
 * (32 / 2 = 16). FLOPs 2 3 5 64 16 = 30,720. Weights of both experts 3 64 16 2 = 6,144 elements
 * of 1 byte; activations 5 (2 64 + 3 16) = 880 of 2. With 1 token, half an expert is read. */
static void test_moe(void) {
  OrrOperator op = orr_operator_moe("x", ORR_PASS_FORWARD, ORR_FP8,
                                    (OrrMoeShape){.tokens = 10,
                                                  .hidden = 64,
                                                  .inter = 32,
                                                  .topk = 2,
                                                  .experts = 8,
                                                  .tp = 2,
                                                  .ep = 4,
                                                  .imbalance = 1.2});
  g_assert_cmpint(op.kind, ==, ORR_OPERATOR_MOE);
  g_assert_cmpfloat(op.flops, ==, 30720);
  g_assert_cmpfloat(op.bytes, ==, 6144 + 2 * 880);
  g_assert_cmpfloat(op.moe.imbalance, ==, 1.2);
  op = orr_operator_moe("x", ORR_PASS_WGRAD, ORR_FP8,
                        (OrrMoeShape){.tokens = 1,
                                      .hidden = 64,
                                      .inter = 32,
                                      .topk = 2,
                                      .experts = 8,
                                      .tp = 2,
                                      .ep = 4,
                                      .projections = 3});
  g_assert_cmpfloat(op.bytes, ==, 6144 / 4 + 2 * 88);
  op = orr_operator_moe("x", ORR_PASS_FORWARD, ORR_FP8,
                        (OrrMoeShape){.tokens = 10,
                                      .hidden = 64,
                                      .inter = 32,
                                      .topk = 2,
                                      .experts = 8,
                                      .tp = 2,
                                      .ep = 4,
                                      .projections = 2}); /* no gate */
  g_assert_cmpfloat(op.flops, ==, 30720 * 2 / 3);
  g_assert_cmpfloat(op.bytes, ==, 6144 * 2 / 3 + 2 * 5 * (2 * 64 + 2 * 16));
}

/* Drawn, T tokens wake 8 (1 - (1 - 2/8)^T) of 8 experts: 2 for one token, 3.5 for two (each of
 * the other's two is new with 3/4), all but 8 0.75^100 for 100. The bytes of the case above, a
 * quarter of them on a rank: 10 tokens wake 2 (1 - 0.75^10) of its 2. */
static void test_drawn_experts(void) {
  g_assert_cmpfloat_with_epsilon(orr_operator_moe_awake(8, 1, 2, 8), 2, 1e-12);
  g_assert_cmpfloat_with_epsilon(orr_operator_moe_awake(8, 2, 2, 8), 3.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(orr_operator_moe_awake(8, 100, 2, 8), 8, 1e-10);
  g_assert_cmpfloat(orr_operator_moe_awake(4, 1, 8, 8), ==, 4); /* each token takes all */
  OrrOperator op = orr_operator_moe("x", ORR_PASS_FORWARD, ORR_FP8,
                                    (OrrMoeShape){.tokens = 10,
                                                  .hidden = 64,
                                                  .inter = 32,
                                                  .topk = 2,
                                                  .experts = 8,
                                                  .tp = 2,
                                                  .ep = 4,
                                                  .drawn = TRUE});
  g_assert_cmpfloat_with_epsilon(op.bytes, 6144 * (1 - pow(0.75, 10)) + 2 * 880, 1e-6);
}

static void test_memory_and_comm(void) {
  OrrOperator memory = orr_operator_memory("x", ORR_PASS_OPTIMIZER, ORR_FP32, 12, 3);
  g_assert_cmpint(memory.kind, ==, ORR_OPERATOR_MEMORY);
  g_assert_cmpfloat(memory.bytes, ==, 12);
  g_assert_cmpfloat(memory.flops, ==, 3);
  OrrOperator comm =
      orr_operator_comm("x", ORR_PASS_DGRAD, ORR_GROUP_EP, ORR_COMM_REDUCE_SCATTER, 7);
  g_assert_cmpint(comm.kind, ==, ORR_OPERATOR_COMM);
  g_assert_cmpint(comm.comm.op, ==, ORR_COMM_REDUCE_SCATTER);
  g_assert_cmpint(comm.comm.group, ==, ORR_GROUP_EP);
  g_assert_cmpint(comm.comm.n_overlap, ==, 0);
  g_assert_cmpfloat(comm.bytes, ==, 7);
  g_assert_cmpfloat(comm.flops, ==, 0);
}

/* Keys of 24, values of 16, one head: 5 queries over 5 keys, all: 2 25 (24 + 16) = 2,000;
 * backward 2 25 (3 24 + 2 16). Bytes: q, k 2 5 24, v, out 2 5 16 = 400 elements of 2, 5
 * log-sum-exps of 4. Latent: v lies in k. */
static OrrOperator two_widths(OrrPass pass, gint64 value_dim, gboolean latent) {
  const OrrAttentionShape shape = {.batch = 1,
                                   .q_length = 5,
                                   .kv_length = 5,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .head_dim = 24,
                                   .value_dim = value_dim,
                                   .latent = latent};
  return orr_operator_attention("x", pass, ORR_BF16, shape);
}

static void test_attention_of_two_widths(void) {
  const OrrOperator op = two_widths(ORR_PASS_FORWARD, 16, FALSE);
  g_assert_cmpfloat(op.flops, ==, 2000);
  g_assert_cmpfloat(op.bytes, ==, 800 + 20);
  g_assert_cmpfloat(two_widths(ORR_PASS_DGRAD, 16, FALSE).flops, ==, 50 * (3 * 24 + 2 * 16));
  g_assert_cmpfloat(two_widths(ORR_PASS_FORWARD, 16, TRUE).bytes, ==, 800 + 20 - 2 * 5 * 16);
  /* Equal widths: as without. */
  g_assert_cmpfloat(two_widths(ORR_PASS_FORWARD, 24, FALSE).flops, ==,
                    two_widths(ORR_PASS_FORWARD, 0, FALSE).flops);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/operator/gemm", test_gemm);
  g_test_add_func("/operator/gemm-beyond-32-bits", test_gemm_beyond_32_bits);
  g_test_add_func("/operator/attention", test_attention);
  g_test_add_func("/operator/attention-of-two-widths", test_attention_of_two_widths);
  g_test_add_func("/operator/moe", test_moe);
  g_test_add_func("/operator/drawn-experts", test_drawn_experts);
  g_test_add_func("/operator/memory-and-comm", test_memory_and_comm);
  return g_test_run();
}

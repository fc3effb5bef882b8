/* test_scans.c - scans of Mamba-2 and linear attention: their kernels, added up by hand. */
#include <math.h>
#include <string.h>

#include "models/transformer.h"
#include "tests/models/zoo_fixture.h"

/* Mamba-2's products of Nemotron-H, by hand: a token has 2 Q G N of scores, 2 Q H P inside a
 * chunk, 4 N H P with states; Q = 128, G = 8, N = 128, H = 128, P = 64. Megatron's estimate, 7 H
 * P N, is within a fifth. */
static void test_flops_of_mamba(void) {
  OrrModel model = zoo("nemotron-h-8b");
  OrrShard shard = plain(8192);
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(&model, 0, &shard, ORR_MODULE_CORE_ATTN, operators);
  double by_hand = 8192.0 * (2 * 128.0 * 8 * 128 + 2 * 128.0 * 128 * 64 + 4 * 128.0 * 128 * 64);
  assert_near(flops_of(operators), by_hand);
  g_assert_cmpfloat(fabs(by_hand / orr_model_core_flops(&model, 0, 1, 8192) - 1), <, 0.2);
  orr_field_clear(&orr_model_table, &model);
}

/* The kernels of Nemotron-H's scan by hand, with Q, G, N, H, P as above. Forward, bytes of a token:
 * x once for the states, x and the result for the output; B and C in 16 bits; scores and states in
 * fp32, carried states in 16 bits. Backward, FLOPs: 3 times the scores, twice over G alone to give
 * B and C; 3 products inside a chunk (of x, of the scores, of the decays); 5 with states, one of
 * them the forward's again. Its bytes: 19 reads and writes of B or C, 11 of x, 6 of the scores in
 * fp32; states 34: 4 and 8 (carried in fp32) for the forward again, 4 and 12 for their gradients, 2
 * for each of three that read carried ones. */
static void test_kernels_of_mamba(void) {
  OrrModel model = zoo("nemotron-h-8b");
  OrrShard shard = plain(8192);
  g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) backward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(&model, 0, &shard, ORR_MODULE_CORE_ATTN, forward);
  double bytes = 0, flops = 0, back = 0;
  for (guint i = 0; i < forward->len; i++) bytes += g_array_index(forward, OrrOperator, i).bytes;
  assert_near(bytes, 8192.0 * (3 * 2 * 128 * 64 + 4 * 2 * 8 * 128 + 2 * 4 * 8 * 128 +
                               (4 + 4 + 2 + 2) * 128 * 64 * 128 / 128.0));
  orr_transformer_layer_backward(&model, 0, &shard, backward);
  for (guint i = 0; i < backward->len; i++) {
    const OrrOperator *op = &g_array_index(backward, OrrOperator, i);
    if (!g_str_has_prefix(op->name, "scan-")) continue;
    flops += op->flops;
    back += op->bytes;
  }
  assert_near(flops, 8192.0 * (3 * 2 * 128.0 * 8 * 128 + 3 * 2 * 128.0 * 128 * 64 +
                               5 * 2 * 128.0 * 128 * 64));
  assert_near(back, 8192.0 * (19 * 2 * 8 * 128 + 11 * 2 * 128 * 64 + 6 * 4 * 8 * 128 +
                              34 * 128 * 64 * 128 / 128.0));
  orr_field_clear(&orr_model_table, &model);
}

/* Lightning attention's are the formula; backward has each product twice, computes states again,
 * and scores twice (for the values, and for the decays): 4 Q H N and 2 H N P; Q = 256, H = 64,
 * N = P = 128. */
static void test_flops_of_lightning(void) {
  OrrModel model = zoo("minimax-text-01");
  OrrShard shard = plain(8192);
  g_autoptr(GArray) core = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) backward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(&model, 0, &shard, ORR_MODULE_CORE_ATTN, core);
  assert_near(flops_of(core), orr_model_core_flops(&model, 0, 1, 8192));
  orr_transformer_layer_forward(&model, 0, &shard, forward);
  orr_transformer_layer_backward(&model, 0, &shard, backward);
  assert_near(flops_of(backward) - 2 * flops_of(forward),
              8192.0 * (4 * 256 * 64 * 128 + 2 * 64 * 128 * 128));
  orr_field_clear(&orr_model_table, &model);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/scans/flops-of-mamba", test_flops_of_mamba);
  g_test_add_func("/scans/kernels-of-mamba", test_kernels_of_mamba);
  g_test_add_func("/scans/flops-of-lightning", test_flops_of_lightning);
  return g_test_run();
}

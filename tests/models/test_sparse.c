/* test_sparse.c - sparse attention of shipped models: weights, cache and FLOPs, counted by hand. */
#include <math.h>
#include <string.h>

#include "models/inference.h"
#include "models/transformer.h"
#include "tests/models/zoo_fixture.h"

/* The indexer's weights: 1,536 x 64 x 128 queries, 7,168 x 128 keys, 7,168 x 64 weights of heads,
 * and a norm of 2 x 128. In the cache 128 bytes and a scale of 4 beside 576
 * elements. Scores of 32,768 tokens: half of s x s pairs of 64 x 128; the core sees 2,048 keys. */
static void test_indexer(void) {
  OrrModel dense = zoo("deepseek-v3"), sparse = zoo("deepseek-v3.2");
  const double s = 32768, own = 1536. * 8192 + 7168. * 128 + 7168. * 64 + 256;
  assert_near(orr_model_parameters(&sparse) - orr_model_parameters(&dense), 61 * own);
  assert_near(orr_model_kv_bytes(&sparse, 1, 2), 576 * 2 + 132);
  assert_near(orr_model_kv_bytes(&dense, 1, 2), 576 * 2);
  const double seen = 2 * 2048 - 2048. * 2048 / s;
  assert_near(orr_model_core_flops(&sparse, 1, 1, s),
              2 * s * seen * 128 * (192 + 128) + 2 * s * s * 64 * 128);
  const OrrShard shard = plain((gint64)s);
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&sparse, 1, &shard, operators);
  double scores = 0, core = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (strcmp(op->name, "index-scores") == 0) scores += op->flops;
    if (op->kind == ORR_OPERATOR_ATTENTION) core += op->flops;
  }
  assert_near(scores, 2 * s * s / 2 * 64 * 128);
  g_assert_cmpfloat(core / (s * seen * 128 * (192 + 128)), <, 1.01);
  g_assert_cmpfloat(core / (s * seen * 128 * (192 + 128)), >, 0.99);
  orr_field_clear(&orr_model_table, &dense);
  orr_field_clear(&orr_model_table, &sparse);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sparse/indexer", test_indexer);
  return g_test_run();
}

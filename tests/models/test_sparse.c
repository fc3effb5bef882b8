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

/* --- DeepSeek-V4 Flash in training: h = 4,096, 64 heads of 512, entries of 4 tokens (csa, the best
 * 512) and of 128 (hca), a window of 128 --- */

enum { FLASH_CSA = 2, FLASH_HCA = 3 }; /* layers */

static double named(const GArray *operators, const char *names, OrrPass pass) {
  g_auto(GStrv) words = g_strsplit(names, " ", -1);
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    const gboolean is_forward = op->pass == ORR_PASS_FORWARD;
    if (g_strv_contains((const char *const *)words, op->name) &&
        is_forward == (pass == ORR_PASS_FORWARD))
      sum += op->flops;
  }
  return sum;
}

/* Pairs of query and key or entry, one by one. */
static double pairs_of(gint64 s, gint64 ratio, gint64 topk) {
  double pairs = 0;
  for (gint64 i = 1; i <= s; i++) pairs += (double)(MIN(i, 128) + MIN(i / ratio, topk));
  return pairs;
}

/* Products of a token: the compressed query (1,024) and key (512), keys and gates of entries (twice
 * for overlapping ones), heads, 32,768 results in 8 groups to 1,024 each and back; csa's indexer of
 * 64 x 128. Backward is twice that; of attention five products for two. Eight sequences, so that
 * whole windows are within 1 %. */
static void test_compressed_flops(void) {
  static const char products[] =
      "q-down kv-down compress q-up index-q index-k index-weights out-down projection";
  const gint64 s = 8192;
  const double tokens = 8 * (double)s, h = 4096, q = 64 * 512;
  const double both = h * 1024 + h * 512 + 1024 * q + q * 1024 + 8 * 1024 * h;
  const struct {
    gint64 layer, ratio, topk;
    double products, scores;
  } kinds[] = {{FLASH_CSA, 4, 512, both + h * 2048 + 1024 * 8192. + h * 512 + h * 64,
                2 * tokens * (double)s / 2 / 4 * 64 * 128},
               {FLASH_HCA, 128, s, both + h * 1024, 0}};
  OrrModel model = zoo("deepseek-v4-flash");
  OrrShard shard = plain(s);
  shard.micro_batch = 8;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    const guint kind = orr_model_layer_kind(&model, kinds[i].layer);
    const double core = 8 * 4 * q * pairs_of(s, kinds[i].ratio, kinds[i].topk);
    g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    g_autoptr(GArray) backward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_layer_forward(&model, kind, &shard, forward);
    orr_transformer_layer_backward(&model, kind, &shard, backward);
    assert_near(named(forward, products, ORR_PASS_FORWARD), 2 * tokens * kinds[i].products);
    assert_near(named(backward, products, ORR_PASS_DGRAD), 4 * tokens * kinds[i].products);
    g_assert_cmpfloat(named(forward, "index-scores", ORR_PASS_FORWARD), ==, kinds[i].scores);
    g_assert_cmpfloat(named(backward, "index-scores", ORR_PASS_DGRAD), ==, 2 * kinds[i].scores);
    g_assert_cmpfloat_with_epsilon(named(forward, "attention", ORR_PASS_FORWARD) / core, 1, 0.01);
    g_assert_cmpfloat_with_epsilon(named(backward, "attention", ORR_PASS_DGRAD) / core, 2.5, 0.025);
  }
  orr_field_clear(&orr_model_table, &model);
}

/* Bytes of a token that csa keeps in 16 bits: input h; both compressed forms before their norm and
 * after it; keys and gates of entries; queries, the key and a log-sum-exp of each head; results and
 * their 8 x 1,024; 64 queries and a key of the indexer, and 512 positions. hca has half of the
 * entries' and no indexer. */
static void test_compressed_memory(void) {
  static const struct {
    const char *operator;
    double csa, hca;
  } all[] = {{"latent-down", 2 * 4096, 2 * 4096},
             {"latent-norm", 2 * 1536, 2 * 1536},
             {"latent-up", 2 * 1536, 2 * 1536},
             {"entries", 2 * 2048, 2 * 1024},
             {"attention", 2 * (32768 + 512) + 4 * 64, 2 * (32768 + 512) + 4 * 64},
             {"out-down", 2 * 32768, 2 * 32768},
             {"projection", 2 * 8192, 2 * 8192},
             {"indexer", 2 * 65 * 128 + 4 * 512, 0}};
  OrrModel model = zoo("deepseek-v4-flash");
  const OrrShard shard = plain(4096);
  for (gint64 layer = FLASH_CSA; layer <= FLASH_HCA; layer++) {
    g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
    orr_transformer_layer_kept(&model, orr_model_layer_kind(&model, layer), &shard, 0, kept);
    for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
      double bytes = 0;
      for (guint j = 0; j < kept->len; j++) {
        const OrrKeptBytes *one = &g_array_index(kept, OrrKeptBytes, j);
        if (strcmp(one->operator, all[i].operator) == 0) bytes += one->bytes;
      }
      g_test_message("%s", all[i].operator);
      g_assert_cmpfloat(bytes, ==, 4096 * (layer == FLASH_CSA ? all[i].csa : all[i].hca));
    }
  }
  orr_field_clear(&orr_model_table, &model);
}

static void assert_splits(gint64 tp, const char *part) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model = zoo("deepseek-v4-flash");
  OrrShard shard = plain(4096);
  shard.tp = tp;
  shard.sequence_parallel = TRUE;
  orr_transformer_check(&model, &shard, (OrrPlace){.file = "s.yaml", .line = 7, .column = 3},
                        diags);
  g_autofree char *findings = orr_diags_text(diags);
  if (!strstr(findings, part) || (!*part && *findings)) g_error("'%s' in '%s'", part, findings);
  orr_field_clear(&orr_model_table, &model);
}

/* Under sequence parallelism a layer gathers the compressed query and key of each token and, of its
 * entries, a fourth or a 128th of 512, instead of h. Eight groups do not split over 16 ranks. */
static void test_compressed_splits(void) {
  OrrModel model = zoo("deepseek-v4-flash");
  OrrShard shard = plain(4096);
  shard.tp = 8;
  shard.sequence_parallel = TRUE;
  for (gint64 layer = FLASH_CSA; layer <= FLASH_HCA; layer++) {
    const double ratio = layer == FLASH_CSA ? 4 : 128;
    g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_layer_forward(&model, orr_model_layer_kind(&model, layer), &shard, forward);
    double bytes = 0;
    for (guint i = 0; i < forward->len && bytes <= 0; i++) { /* the first: the second is experts' */
      const OrrOperator *op = &g_array_index(forward, OrrOperator, i);
      if (strcmp(op->name, "tp-all-gather") == 0) bytes = op->bytes;
    }
    assert_near(bytes, 4096 * 2 * (1024 + 512 + 512 / ratio));
  }
  orr_field_clear(&orr_model_table, &model);
  assert_splits(8, "");
  assert_splits(16, "s.yaml:7:3: error: ");
  assert_splits(16, "8 groups of the output projection cannot be split over tp = 16");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sparse/indexer", test_indexer);
  g_test_add_func("/sparse/compressed-flops", test_compressed_flops);
  g_test_add_func("/sparse/compressed-memory", test_compressed_memory);
  g_test_add_func("/sparse/compressed-splits", test_compressed_splits);
  return g_test_run();
}

/*
 * test_transformer_inference.c - a serving step's operators: sizes worked by hand, sums over ranks, what is refused.
 */
#include <math.h>
#include <string.h>

#include "models/transformer_inference.h"
#include "sim/base/library.h"

static void read_model(const char *name, OrrModel *ret_model) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {.file = name};
  g_autoptr(OrrNode) node = orr_library_load(library, "model", name, place, diags);
  g_assert_true(orr_fields_read(&orr_model_table, node, library, diags, ret_model));
  orr_model_settle(ret_model, node->place, diags);
}

static OrrInferenceShard shard_of(gint64 tp, OrrDtype weights) {
  return (OrrInferenceShard){.tp = tp, .weights = weights, .activations = ORR_BF16, .kv = ORR_BF16};
}

static double sum(const OrrModel *model, const OrrInferenceShard *shard, OrrOperatorKind kind, gboolean bytes) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  double total = 0;
  orr_inference_layer(model, 0, shard, 100, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == kind) total += bytes ? op->bytes : op->flops;
  }
  return total;
}

/* Llama 3.1 8B, 100 tokens: 2 * 100 * (6144 * 4096 + 4096^2 + 3 * 4096 * 14336) FLOPs; ranks of tp 8 have an eighth;
 * two all-reduces of 100 * 4096 * 2 bytes. */
static void test_dense(void) {
  OrrModel model;
  read_model("llama-3.1-8b", &model);
  OrrInferenceShard one = shard_of(1, ORR_BF16), eight = shard_of(8, ORR_BF16);
  const double flops = 2 * 100 * (6144.0 * 4096 + 4096.0 * 4096 + 3 * 4096.0 * 14336);
  g_assert_cmpfloat(sum(&model, &one, ORR_OPERATOR_GEMM, FALSE), ==, flops);
  g_assert_cmpfloat(sum(&model, &eight, ORR_OPERATOR_GEMM, FALSE), ==, flops / 8);
  g_assert_cmpfloat(sum(&model, &one, ORR_OPERATOR_COMM, TRUE), ==, 0);
  g_assert_cmpfloat(sum(&model, &eight, ORR_OPERATOR_COMM, TRUE), ==, 2 * 100 * 4096 * 2);
  /* 2 * 8 heads * 128 * 2 bytes * 32 layers = 128 KiB a token; a rank of 8 has one head, of 16 a copy of one */
  OrrInferenceShard sixteen = shard_of(16, ORR_BF16);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &one, 0, 32), ==, 131072);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &eight, 0, 32), ==, 131072 / 8);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &sixteen, 0, 32), ==, 131072 / 8);
  /* 8.03 billion parameters of 2 bytes, but for the final norm */
  g_assert_cmpfloat_with_epsilon(orr_inference_weight_bytes(&model, &one, 0, 32, TRUE, TRUE), 2 * 8030261248.0, 1e4);
  OrrInferenceShard fp8 = shard_of(1, ORR_FP8);
  g_assert_cmpfloat_with_epsilon(orr_inference_weight_bytes(&model, &fp8, 0, 32, TRUE, TRUE),
                                 8030261248.0 + 2 * 128256.0 * 4096, 1e5);
  orr_fields_clear(&orr_model_table, &model);
}

/* Experts take their share and no dense MLP; ep 4 of tp 8 halves each of a quarter of them. */
static void test_experts(void) {
  OrrModel model;
  read_model("mixtral-8x7b", &model);
  OrrInferenceShard shard = shard_of(8, ORR_BF16);
  shard.ep = 4;
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_layer(&model, 0, &shard, 64, operators);
  guint n = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    g_assert_cmpstr(op->name, !=, "mlp-up");
    if (op->kind != ORR_OPERATOR_MOE) continue;
    n++;
    g_assert_cmpint(op->expert_ep, ==, 4);
    g_assert_cmpint(op->expert_tp, ==, 2);
    g_assert_cmpint(op->m, ==, 64);
  }
  g_assert_cmpuint(n, ==, 1);
  orr_fields_clear(&orr_model_table, &model);
}

static void assert_refused(const char *name, gint64 tp, gint64 ep, const char *wanted) {
  OrrModel model;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  read_model(name, &model);
  OrrInferenceShard shard = shard_of(tp, ORR_BF16);
  shard.ep = ep;
  orr_inference_check(&model, &shard, (OrrPlace){.file = "t"}, diags);
  g_autofree char *text = orr_diags_text(diags);
  if (!strstr(text, wanted)) g_error("%s: wanted '%s' in '%s'", name, wanted, text);
  orr_fields_clear(&orr_model_table, &model);
}

static void test_refused(void) {
  assert_refused("llama-3.1-8b", 64, 1, "above the 32 attention heads");
  assert_refused("llama-3.1-8b", 3, 1, "heads (32) cannot be divided by tp (3)");
  assert_refused("deepseek-v3", 8, 1, "latent attention");
  assert_refused("nemotron-h-8b", 1, 1, "layers with a state");
  assert_refused("mixtral-8x7b", 8, 16, "ep (16) is above the 8 experts");
  assert_refused("mixtral-8x7b", 4, 8, "tp (4) cannot be divided by ep (8)");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/models/transformer-inference/dense", test_dense);
  g_test_add_func("/models/transformer-inference/experts", test_experts);
  g_test_add_func("/models/transformer-inference/refused", test_refused);
  return g_test_run();
}

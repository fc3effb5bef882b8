/* test_model.c - reading, defaults, complaints, parameters, FLOPs. */
#include "models/model.h"

#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"

static OrrModel gpt(gint64 layers, gint64 hidden, gint64 heads) {
  return (OrrModel){.layers = layers,
                    .hidden = hidden,
                    .heads = heads,
                    .kv_heads = heads,
                    .head_dim = hidden / heads,
                    .ffn = 4 * hidden,
                    .vocab = 51200,
                    .context = 2048,
                    .tied_embeddings = TRUE,
                    .bias = TRUE};
}

static void assert_near(double value, double expected) {
  g_assert_cmpfloat_with_epsilon(value, expected, 1e-12 * fabs(expected));
}

static gboolean read_model(const char *text, OrrModel *ret_model, OrrDiags *diags) {
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "m.yaml", diags);
  g_assert_nonnull(node);
  gboolean fine = orr_field_read(&orr_model_table, node, NULL, diags, ret_model);
  orr_model_settle(ret_model, orr_node_place(node), diags);
  return fine && !orr_diags_n_errors(diags);
}

static void test_every_field_has_a_sentence(void) {
  for (size_t i = 0; i < orr_model_table.n_fields; i++)
    g_assert_cmpuint(strlen(orr_model_table.fields[i].sentence), >, 10);
}

static void test_defaults(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model;
  g_assert_true(read_model(
      "{schema: model/1, layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32}", &model, diags));
  g_assert_cmpstr(model.name, ==, "unnamed");
  g_assert_cmpint(model.kv_heads, ==, 4);
  g_assert_cmpint(model.head_dim, ==, 16);
  g_assert_cmpint(model.ffn, ==, 256);
  g_assert_cmpint(model.activation, ==, ORR_ACTIVATION_GELU);
  g_assert_cmpint(model.norm, ==, ORR_NORM_LAYERNORM);
  g_assert_cmpint(model.position, ==, ORR_POSITION_LEARNED);
  g_assert_true(model.tied_embeddings);
  g_assert_true(model.bias);
  g_assert_cmpuint(orr_diags_n_warnings(diags), ==, 0);
  orr_field_clear(&orr_model_table, &model);
}

static void assert_complaint(const char *text, const char *part) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model;
  read_model(text, &model, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_test_message("%s", findings);
  g_assert_nonnull(strstr(findings, part));
  orr_field_clear(&orr_model_table, &model);
}

static void test_complaints(void) {
  assert_complaint("{layers: 2, hidden: 100, heads: 24, vocab: 100, context: 32}",
                   "'hidden' 100 is not a multiple of 'heads' 24");
  assert_complaint("{layers: 2, hidden: 96, heads: 24, kv-heads: 5, vocab: 100, context: 32}",
                   "'heads' 24 is not a multiple of 'kv-heads' 5");
  assert_complaint(
      "{layers: 2, hidden: 64, heads: 4, vocab: 100, context: 32, parameters: 70e9}",
      "warning: these dimensions make 1.085e+05 parameters, but 'parameters' is 7e+10");
  assert_complaint("{layers: 2, hidden: 64, heads: 4, vocab: 100, context: 32, window: {size: 8}}",
                   "warning: window has no effect: no layer of layout is 'window'");
  assert_complaint("{layers: 0, hidden: 64, heads: 4, vocab: 100, context: 32}", "layers");
  assert_complaint("{layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32, layout: [linear], "
                   "linear-attention: {kind: rwkv-7, key-heads: 4, low-rank: 3}}",
                   "'linear-attention.low-rank' is 3: of kind rwkv-7 it is 4 or more");
  assert_complaint(
      "{layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32, layout: [linear], "
      "linear-attention: {kind: gated-delta, key-heads: 4, low-rank: 8}}",
      "m.yaml:1:1: error: 'linear-attention.low-rank' is 8: of kind gated-delta it is 0");
  assert_complaint(
      "{layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32, output-gate: true, "
      "compressed-attention: {ratio: 4, heavy-ratio: 128, q-lora-rank: 8, o-groups: 2, "
      "o-lora-rank: 8}}",
      "'output-gate' and 'compressed-attention' exclude each other");
  assert_complaint("{layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32, "
                   "linear-attention: {kind: rwkv-8}}",
                   "lightning, gated-delta, kimi-delta, rwkv-7");
  assert_complaint("{hidden: 64, heads: 4, vocab: 100, context: 32}", "layers");
}

static void test_head_dim_may_stand_apart(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model;
  g_assert_true(read_model("{layers: 1, hidden: 100, heads: 24, head-dim: 8, vocab: 9, context: 4}",
                           &model, diags));
  /* qkv and projection: 4 * 100 * 192 = 76,800 weights instead of 40,000. */
  OrrModel square = gpt(1, 100, 1);
  g_assert_cmpfloat(orr_model_layer_parameters(&model, 0) - orr_model_layer_parameters(&square, 0),
                    ==, 4 * 100 * 92 + 3 * 92);
  orr_field_clear(&orr_model_table, &model);
}

/* SC21, eq. 2: P = 12 l h^2 (1 + 13 / (12 h) + (V + s) / (12 l h)); it leaves the final norm's 2
 * h out. */
static void test_parameters_of_gpt(void) {
  OrrModel model = gpt(96, 12288, 96);
  double l = 96, h = 12288,
         paper = 12 * l * h * h * (1 + 13 / (12 * h) + (51200.0 + 2048) / (12 * l * h));
  assert_near(orr_model_parameters(&model) - 2 * h, paper);
  g_assert_cmpfloat(orr_model_layer_parameters(&model, 0), ==, 12 * h * h + 13 * h);
}

/* Llama 3 8B by hand: a layer 4096 (4096 + 2*1024) + 4096^2 + 3 * 4096 * 14336 + 2 * 4096 =
 * 218,112,000; times 32, plus 2 * 128,256 * 4096 + 4096. Published: 8,030,261,248. */
static void test_parameters_of_llama(void) {
  OrrModel model = {.layers = 32,
                    .hidden = 4096,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .ffn = 14336,
                    .vocab = 128256,
                    .context = 8192,
                    .activation = ORR_ACTIVATION_SWIGLU,
                    .norm = ORR_NORM_RMSNORM,
                    .position = ORR_POSITION_ROPE};
  g_assert_cmpfloat(orr_model_layer_parameters(&model, 0), ==, 218112000);
  g_assert_cmpfloat(orr_model_parameters(&model), ==, 8030261248);
}

/* SC21, eq. 3: 96 B s l h^2 (1 + s / (6 h) + V / (16 l h)) with recomputation; without, 72 and V
 * / (12 l h). */
static void test_flops_of_gpt(void) {
  const double shapes[][3] = {{24, 2304, 24}, {96, 12288, 96}, {128, 25600, 160}};
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    double l = shapes[i][0], h = shapes[i][1], b = 512, s = 2048, v = 51200;
    OrrModel model = gpt(shapes[i][0], shapes[i][1], shapes[i][2]);
    assert_near(orr_model_flops(&model, b, s),
                72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)));
    assert_near(orr_model_flops(&model, b, s) + l * orr_model_layer_flops(&model, 0, b, s),
                96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)));
    /* A core has scores and context, 2 B s^2 h each. */
    assert_near(orr_model_core_flops(&model, 0, b, s), 4 * b * s * s * h);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/model/sentences", test_every_field_has_a_sentence);
  g_test_add_func("/model/defaults", test_defaults);
  g_test_add_func("/model/complaints", test_complaints);
  g_test_add_func("/model/head-dim", test_head_dim_may_stand_apart);
  g_test_add_func("/model/parameters-gpt", test_parameters_of_gpt);
  g_test_add_func("/model/parameters-llama", test_parameters_of_llama);
  g_test_add_func("/model/flops-gpt", test_flops_of_gpt);
  return g_test_run();
}

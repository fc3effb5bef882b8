/* test_layout.c - the kind of each layer, as a document says it. */
#include <string.h>

#include "models/model.h"
#include "sim/base/yaml.h"

static OrrModel read_model(const char *text, const char *complaint) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "m.yaml", diags);
  OrrModel model;
  g_assert_nonnull(node);
  orr_field_read(&orr_model_table, node, NULL, diags, &model);
  orr_model_settle(&model, node->place, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_test_message("%s", findings);
  if (complaint)
    g_assert_nonnull(strstr(findings, complaint));
  else
    g_assert_cmpstr(findings, ==, "");
  return model;
}

static void assert_complaint(const char *layout, const char *complaint) {
  g_autofree char *text = g_strdup_printf(
      "{layers: 6, hidden: 64, heads: 4, vocab: 9, context: 32, layout: %s}", layout);
  OrrModel model = read_model(text, complaint);
  orr_field_clear(&orr_model_table, &model);
}

/* --- layout --- */

static void test_layout(void) {
  OrrModel model =
      read_model("{layers: 8, hidden: 64, heads: 4, vocab: 9, context: 32, window: {size: 8}, "
                 "moe: {experts: 4}, layout: [2 window+dense, attention + moe, dense]}",
                 NULL);
  static const guint kinds[] = {0, 0, 1, 2, 0, 0, 1, 2};
  g_assert_cmpuint(orr_model_n_layer_kinds(&model), ==, 3);
  for (gint64 i = 0; i < 8; i++) g_assert_cmpuint(orr_model_layer_kind(&model, i), ==, kinds[i]);
  g_autofree char *one = orr_model_kind_name(&model, 1), *two = orr_model_kind_name(&model, 2);
  g_assert_cmpstr(one, ==, "attention+moe");
  g_assert_cmpstr(two, ==, "dense");
  g_assert_cmpint(orr_model_kind_layers(&model, 0), ==, 4);
  g_assert_cmpint(orr_model_kind_layers(&model, 2), ==, 2);
  g_assert_cmpint(orr_model_encoder_kind(&model), ==, -1);
  orr_field_clear(&orr_model_table, &model);
}

/* A list that is cut by the last layer; kinds that no layer has are left out. */
static void test_layout_is_cut(void) {
  OrrModel model =
      read_model("{layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32, window: {size: 8}, "
                 "layout: [5 window+dense, attention+dense]}",
                 NULL);
  g_assert_cmpuint(orr_model_n_layer_kinds(&model), ==, 1);
  g_assert_cmpint(orr_model_kind_layers(&model, 0), ==, 2);
  orr_field_clear(&orr_model_table, &model);
}

/* Widths of their own: kinds that differ in width alone are two, 3 w h weights each where gated. */
static void test_layout_widths(void) {
  OrrModel model = read_model("{layers: 6, hidden: 64, heads: 4, vocab: 9, context: 32, ffn: 128, "
                              "activation: swiglu, bias: false, norm: rmsnorm, "
                              "layout: [attention+dense, 2 dense:96, dense]}",
                              NULL);
  static const guint kinds[] = {0, 1, 1, 2, 0, 1};
  g_assert_cmpuint(orr_model_n_layer_kinds(&model), ==, 3);
  for (gint64 i = 0; i < 6; i++) g_assert_cmpuint(orr_model_layer_kind(&model, i), ==, kinds[i]);
  g_autofree char *name = orr_model_kind_name(&model, 1);
  g_assert_cmpstr(name, ==, "dense:96");
  g_assert_cmpfloat(orr_model_layer_parameters(&model, 1), ==, 3 * 96 * 64 + 64);
  g_assert_cmpfloat(orr_model_layer_parameters(&model, 2), ==, 3 * 128 * 64 + 64);
  orr_field_clear(&orr_model_table, &model);
}

static void test_layout_complaints(void) {
  assert_complaint("[\"dense:0\"]", "m.yaml:1:1: error: layout 'dense:0': unknown 'dense:0'");
  assert_complaint("[\"dense:x\"]", "dense, dense:WIDTH, moe");
  assert_complaint("[\"dense:64:64\"]", "unknown 'dense:64:64'");
  assert_complaint("[\"dense:1000000000\"]", "unknown 'dense:1000000000'");
  assert_complaint("[\"attention:64\"]", "unknown 'attention:64'");
  GString *many = g_string_new("[");
  for (int i = 1; i <= 33; i++) g_string_append_printf(many, "\"dense:%d\",", i);
  g_string_append(many, "dense]");
  assert_complaint(many->str, "there are more than 32 kinds");
  g_string_free(many, TRUE);
  assert_complaint("[atention]", "unknown 'atention', did you mean 'attention'?");
  assert_complaint("[attention+moe]", "the model has no 'moe' with 'experts'");
  assert_complaint("[window]", "the model has no 'window' with 'size'");
  assert_complaint("[mamba]", "the model has no 'mamba' with 'heads'");
  assert_complaint("[linear]", "the model has no 'linear-attention' with 'key-heads'");
  assert_complaint("[dense+attention]", "'attention' cannot stand there");
  assert_complaint("[0 dense]", "a round of the layout is 1 to 512 layers");
  assert_complaint("[600 dense]", "a round of the layout is 1 to 512 layers");
  assert_complaint("[\"\"]", "it is empty");
  OrrModel model = read_model(
      "{layers: 2, hidden: 64, heads: 4, vocab: 9, context: 32, moe: {experts: 4, topk: 5}}",
      "'moe.topk' is 5, but there are 4 experts");
  orr_field_clear(&orr_model_table, &model);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/layout/kinds", test_layout);
  g_test_add_func("/layout/is-cut", test_layout_is_cut);
  g_test_add_func("/layout/widths", test_layout_widths);
  g_test_add_func("/layout/complaints", test_layout_complaints);
  return g_test_run();
}

/* test_zoo.c - every shipped model is read without a finding, and is as large as published. */
#include <string.h>

#include "models/model.h"
#include "sim/base/library.h"

static void read_zoo_model(OrrLibrary *library, const char *name, OrrModel *ret_model) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace place = {.file = name};
  g_autoptr(OrrNode) node = orr_library_load(library, "model", name, place, diags);
  if (node) {
    orr_fields_read(&orr_model_table, node, library, diags, ret_model);
    orr_model_settle(ret_model, node->place, diags);
  }
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, ""); /* warnings too: 'parameters' is within 5 % of the count */
}

static void test_all_are_sound(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_auto(GStrv) names = orr_library_names(library, "model");
  g_assert_cmpuint(g_strv_length(names), >=, 28);
  for (guint i = 0; names[i]; i++) {
    OrrModel model;
    read_zoo_model(library, names[i], &model);
    g_assert_cmpstr(model.name, ==, names[i]);
    g_assert_nonnull(model.source);
    g_assert_cmpfloat(model.parameters, >, 0);
    orr_fields_clear(&orr_model_table, &model);
  }
}

/* Sums of the tensors of the published checkpoints. */
static void test_llamas_are_exact(void) {
  static const struct {
    const char *name;
    double parameters;
  } published[] = {
      {"llama-2-7b", 6738415616},   {"llama-2-13b", 13015864320}, {"llama-2-70b", 68976648192},
      {"llama-3-8b", 8030261248},   {"llama-3-70b", 70553706496}, {"llama-3.1-8b", 8030261248},
      {"llama-3.1-70b", 70553706496}, {"llama-3.1-405b", 405853388800},
  };
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    OrrModel model;
    read_zoo_model(library, published[i].name, &model);
    g_assert_cmpfloat(orr_model_parameters(&model), ==, published[i].parameters);
    orr_fields_clear(&orr_model_table, &model);
  }
}

/* SC21, table 1, prints billions with one digit; its formula leaves out the final norm's 2 h. */
static void test_sc21_to_the_printed_digit(void) {
  static const struct {
    const char *name;
    const char *printed;
  } table[] = {
      {"megatron-1.7b", "1.7"},    {"megatron-3.6b", "3.6"},    {"megatron-7.5b", "7.5"},    {"megatron-18b", "18.4"},
      {"megatron-39b", "39.1"},    {"megatron-76b", "76.1"},    {"megatron-145b", "145.6"},  {"megatron-310b", "310.1"},
      {"megatron-530b", "529.6"},  {"megatron-1t", "1008.0"},
  };
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
    OrrModel model;
    read_zoo_model(library, table[i].name, &model);
    g_autofree char *text = g_strdup_printf("%.1f", (orr_model_parameters(&model) - 2.0 * model.hidden) / 1e9);
    g_assert_cmpstr(text, ==, table[i].printed);
    orr_fields_clear(&orr_model_table, &model);
  }
}

static void test_base_gives_dimensions(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  OrrModel megatron, gpt3;
  read_zoo_model(library, "megatron-175b", &megatron);
  read_zoo_model(library, "gpt3-175b", &gpt3);
  g_assert_cmpfloat(orr_model_parameters(&megatron), ==, orr_model_parameters(&gpt3));
  g_assert_cmpint(megatron.heads, ==, 96);
  g_assert_nonnull(strstr(megatron.source, "Korthikanti"));
  orr_fields_clear(&orr_model_table, &megatron);
  orr_fields_clear(&orr_model_table, &gpt3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/zoo/sound", test_all_are_sound);
  g_test_add_func("/zoo/llamas-exact", test_llamas_are_exact);
  g_test_add_func("/zoo/sc21", test_sc21_to_the_printed_digit);
  g_test_add_func("/zoo/base", test_base_gives_dimensions);
  return g_test_run();
}

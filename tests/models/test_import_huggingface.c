/* test_import_huggingface.c - config.json files: each makes the model that the zoo has; what is wrong is told. */
#include <glib/gstdio.h>
#include <string.h>

#include "models/import_huggingface.h"
#include "sim/base/fault.h"
#include "sim/base/library.h"
#include "sim/base/yaml.h"

static OrrModel settle(const OrrNode *node, OrrLibrary *library) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model;
  orr_fields_read(&orr_model_table, node, library, diags, &model);
  orr_model_settle(&model, node->place, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return model;
}

static char *config_path(const char *name) {
  return g_strdup_printf("%s/models/huggingface/%s.json", g_getenv("G_TEST_SRCDIR"), name);
}

static OrrModel imported(const char *name, char **ret_left_out) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *path = config_path(name), *text = orr_import_huggingface(path, NULL, ret_left_out, &error);
  g_assert_no_error(error);
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "imported.yaml", diags);
  g_assert_nonnull(node);
  g_assert_cmpstr(orr_node_get_text(node, "schema"), ==, "model/1");
  return settle(node, NULL);
}

static OrrModel zoo(OrrLibrary *library, const char *name) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_library_load(library, "model", name, (OrrPlace){.file = name}, diags);
  g_assert_nonnull(node);
  return settle(node, library);
}

/* What a config cannot say (kept by hand in the zoo) or says more of. */
static void assert_same(const char *name, const OrrModel *a, const OrrModel *b) {
  g_test_message("%s: %.0f and %.0f", name, orr_model_parameters(a), orr_model_parameters(b));
  g_assert_cmpfloat(orr_model_parameters(a), ==, orr_model_parameters(b));
  g_assert_cmpfloat(orr_model_active_parameters(a), ==, orr_model_active_parameters(b));
  g_assert_cmpfloat(orr_model_kv_bytes_per_token(a, 2), ==, orr_model_kv_bytes_per_token(b, 2));
  g_assert_cmpfloat(orr_model_flops(a, 1, 16384), ==, orr_model_flops(b, 1, 16384));
  g_assert_cmpint(a->activation, ==, b->activation);
  g_assert_cmpint(a->context, ==, b->context);
  g_assert_cmpint(a->window.size, ==, b->window.size);
  for (gint64 layer = 0; layer < a->layers; layer++) {
    OrrLayerKind one = orr_model_kind(a, orr_model_layer_kind(a, layer));
    OrrLayerKind other = orr_model_kind(b, orr_model_layer_kind(b, layer));
    g_assert_true(one.mixer == other.mixer && one.feed == other.feed);
  }
}

static void test_makes_the_zoo(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_strdup_printf("%s/models/huggingface", g_getenv("G_TEST_SRCDIR"));
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  guint n = 0;
  g_assert_nonnull(dir);
  for (const char *file = g_dir_read_name(dir); file; file = g_dir_read_name(dir)) {
    g_autofree char *name = g_strndup(file, strlen(file) - strlen(".json")), *left_out = NULL;
    OrrModel read = imported(name, &left_out), known = zoo(library, name);
    assert_same(name, &read, &known);
    orr_fields_clear(&orr_model_table, &read);
    orr_fields_clear(&orr_model_table, &known);
    n++;
  }
  g_assert_cmpuint(n, >=, 25);
}

static void assert_left_out(const char *name, const char *expected) {
  g_autofree char *left_out = NULL;
  OrrModel model = imported(name, &left_out);
  g_assert_cmpstr(left_out, ==, expected);
  orr_fields_clear(&orr_model_table, &model);
}

/* Nothing that costs falls away in silence, and nothing else is told. */
static void test_left_out(void) {
  assert_left_out("llama-3.1-8b", "");
  assert_left_out("qwen3-235b-a22b", "");
  assert_left_out("mixtral-8x7b", "");
  assert_left_out("glm-5", "index_head_dim: 128\nindex_n_heads: 32\nindex_topk: 2048\n");
  assert_left_out("deepseek-v3", "quantization_config\n");
  assert_left_out("llama-4-maverick", "boi_token_index: 200080\nvision_config\n");
}

/* --- what is wrong --- */

static void assert_refused(const char *text, const char *part, int code) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = NULL, *left_out = NULL;
  int file = g_file_open_tmp("orrery-config-XXXXXX.json", &path, NULL);
  g_assert_cmpint(file, >=, 0);
  g_close(file, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  g_autofree char *document = orr_import_huggingface(path, NULL, &left_out, &error);
  g_unlink(path);
  g_assert_null(document);
  g_assert_error(error, ORR_FAULT, code);
  g_test_message("%s", error->message);
  g_assert_nonnull(strstr(error->message, part));
}

static void test_refused(void) {
  const int document = ORR_FAULT_DOCUMENT;
  assert_refused("{\"model_type\": \"lama\"}", "json:1:16: error: unknown model_type 'lama': did you mean 'llama'?",
                 document);
  assert_refused("{\"model_type\": \"mamba3\"}", "(known: bloom, cohere, deepseek_v2,", document);
  assert_refused("{\"hidden_size\": 5}", "missing key 'model_type'", document);
  assert_refused("{\"model_type\": \"llama\"}", "missing key for 'layers': one of num_hidden_layers, n_layer",
                 document);
  assert_refused("{\"model_type\": \"llama\",\n \"hidden_size\": 12,,}", "json:2:", document);
  assert_refused("{\"model_type\": \"llama\"", "error:", document);
  assert_refused("", "error:", document);
  assert_refused("[1, 2]", "a config is a JSON object", document);
  assert_refused("{\"model_type\": \"llama\"} 7", "the file goes on", document);
  assert_refused("{\"model_type\": \"llama\", \"num_hidden_layers\": 2.5, \"hidden_size\": 64, \"vocab_size\": 9,\n"
                 "\"num_attention_heads\": 4, \"max_position_embeddings\": 8}",
                 "must be a whole number of 0 or more, found '2.5'", document);
  assert_refused("{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"vocab_size\": 9,\n"
                 "\"num_attention_heads\": 4, \"num_key_value_heads\": 3, \"max_position_embeddings\": 8}",
                 "'heads' 4 is no multiple of 'kv-heads' 3", document);
}

static void test_no_file(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *left_out = NULL;
  g_assert_null(orr_import_huggingface("/nowhere/config.json", NULL, &left_out, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
}

/* Types are alphabetical, so that a new one has its place. */
static void test_types_are_alphabetical(void) {
  g_autofree char *names = orr_huggingface_type_names();
  g_auto(GStrv) words = g_strsplit(names, ", ", -1);
  for (guint i = 1; words[i]; i++) g_assert_cmpstr(words[i - 1], <, words[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/import-huggingface/makes-the-zoo", test_makes_the_zoo);
  g_test_add_func("/import-huggingface/left-out", test_left_out);
  g_test_add_func("/import-huggingface/refused", test_refused);
  g_test_add_func("/import-huggingface/no-file", test_no_file);
  g_test_add_func("/import-huggingface/types-are-alphabetical", test_types_are_alphabetical);
  return g_test_run();
}

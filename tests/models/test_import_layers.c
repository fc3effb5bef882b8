/*
 * test_import_layers.c - keys of Hugging Face's configs that choose layers.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "models/import_huggingface.h"

static char *written(const char *text) {
  char *path = NULL;
  int file = g_file_open_tmp("orrery-config-XXXXXX.json", &path, NULL);
  g_assert_cmpint(file, >=, 0);
  g_close(file, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  return path;
}

/* Experts in layers 1 to 2 of ERNIE's 4, and to the last by -1; MLPs of two widths. */
static void test_layers_with_experts(void) {
  static const struct {
    const char *keys, *part; /* of the document, or of the warnings */
  } cases[] = {
      {"\"moe_layer_end_index\": 2", "- attention+dense\n- 2 attention+moe\n- attention+dense"},
      {"\"moe_layer_end_index\": -1", "- attention+dense\n- 3 attention+moe"},
      {"\"use_double_wide_mlp\": true", "use_double_wide_mlp: true: the MLPs of layers that share"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *left_out = NULL, *warnings = NULL;
    g_autofree char *json = g_strdup_printf(
        "{\"model_type\": \"ernie4_5_moe\", \"num_hidden_layers\": 4, \"hidden_size\": 64, "
        "\"vocab_size\": 9, \"num_attention_heads\": 4, \"intermediate_size\": 128, "
        "\"moe_num_experts\": 8, \"moe_k\": 2, \"moe_intermediate_size\": 32, "
        "\"moe_layer_start_index\": 1, \"max_position_embeddings\": 8, %s}",
        cases[i].keys);
    g_autofree char *path = written(json);
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_no_error(error);
    if (!strstr(text, cases[i].part) && !strstr(warnings, cases[i].part))
      g_error("'%s' is missing in:\n%s%s", cases[i].part, text, warnings);
  }
}

/* Qwen2: of 4 layers only those from max_window_layers on have the window
 * (configuration_qwen2.py). */
static void test_window_layers(void) {
  static const struct {
    const char *keys, *part; /* NULL: no layout */
  } cases[] = {
      {"\"max_window_layers\": 3", "- 3 attention+dense\n- window+dense"},
      {"\"max_window_layers\": 0", "- window+dense\n"},
      {"\"max_window_layers\": 4", NULL},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *left_out = NULL, *warnings = NULL;
    g_autofree char *json = g_strdup_printf(
        "{\"model_type\": \"qwen2\", \"num_hidden_layers\": 4, \"hidden_size\": 64, "
        "\"vocab_size\": 9, \"num_attention_heads\": 4, \"intermediate_size\": 128, "
        "\"use_sliding_window\": true, \"sliding_window\": 8, \"max_position_embeddings\": 64, %s}",
        cases[i].keys);
    g_autofree char *path = written(json);
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_no_error(error);
    if (cases[i].part ? !strstr(text, cases[i].part) : !!strstr(text, "layout:"))
      g_error("%s: '%s' is not the layout in:\n%s", cases[i].keys, cases[i].part, text);
  }
}

/* Falcon's first models have the blocks one after another, and positions by ALiBi. */
static void test_falcon(void) {
  static const char *const words[] = {"false", "true"};
  for (guint i = 0; i < 2; i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *json = g_strdup_printf(
        "{\"model_type\": \"falcon\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
        "\"num_attention_heads\": 4, \"vocab_size\": 100, \"parallel_attn\": %s, \"alibi\": %s}",
        words[i], words[1 - i]);
    g_autofree char *path = written(json), *left_out = NULL, *warnings = NULL;
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_no_error(error);
    g_assert_cmpstr(left_out, ==, "");
    g_assert_true((strstr(text, "parallel-blocks: true") != NULL) == (i == 1));
    g_assert_nonnull(strstr(text, i == 1 ? "position: rope" : "position: alibi"));
  }
}

/* More heads of keys than of queries; a number in quotes. */
static void test_refused(void) {
  static const char *const cases[][2] = {
      {"\"num_key_value_heads\": 8", "'heads' 4 is not a multiple of 'kv-heads' 8"},
      {"\"num_experts\": 8, \"decoder_sparse_step\": \"2\"",
       "'decoder_sparse_step' must be a whole number"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *left_out = NULL, *warnings = NULL;
    g_autofree char *json = g_strdup_printf(
        "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
        "\"vocab_size\": 9, \"num_attention_heads\": 4, \"intermediate_size\": 128, "
        "\"max_position_embeddings\": 8, %s}",
        cases[i][0]);
    g_autofree char *path = written(json);
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_null(text);
    g_assert_nonnull(strstr(error->message, cases[i][1]));
    const char *first = strstr(error->message, cases[i][1]);
    g_assert_null(strstr(first + 1, cases[i][1])); /* once, not for each layer */
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/import-layers/experts", test_layers_with_experts);
  g_test_add_func("/import-layers/window-layers", test_window_layers);
  g_test_add_func("/import-layers/falcon", test_falcon);
  g_test_add_func("/import-layers/refused", test_refused);
  return g_test_run();
}

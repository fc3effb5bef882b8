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

/* Each layer by itself. 2 x 1.5 x 384 / 3 = 384 becomes a multiple of 256: 512. */
#define BLOCK(attention, ffn) "{\"attention\": {" attention "}, \"ffn\": {" ffn "}}"
#define HEADS "\"n_heads_in_group\": 2"
#define NONE "\"no_op\": true"

static char *import_blocks(const char *blocks, GError **error) {
  g_autofree char *left_out = NULL, *warnings = NULL;
  g_autofree char *json = g_strdup_printf(
      "{\"model_type\": \"nemotron-nas\", \"num_hidden_layers\": 3, \"hidden_size\": 384, "
      "\"vocab_size\": 9, \"num_attention_heads\": 4, \"max_position_embeddings\": 8,\n"
      "\"block_configs\": [%s]}",
      blocks);
  g_autofree char *path = written(json);
  char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, error);
  g_unlink(path);
  return text;
}

static void test_blocks(void) {
  static const char *const refused[][2] = {
      {BLOCK(HEADS, NONE), "'block_configs' must be a list of the model's 3 layers"},
      {"1, 2, 3", "json:2:19: error: 'block_configs': layer 0 is not a map"},
      {BLOCK(HEADS, NONE) ", " BLOCK(NONE, NONE) ", " BLOCK(HEADS, NONE),
       "layer 1 has neither attention nor a feed-forward"},
      {BLOCK(HEADS, NONE) ", " BLOCK("\"n_heads_in_group\": 4", NONE) ", " BLOCK(HEADS, NONE),
       "layer 1 has another n_heads_in_group than earlier ones"},
      {BLOCK(HEADS, "\"ffn_mult\": -1") ", " BLOCK(HEADS, NONE) ", " BLOCK(HEADS, NONE),
       "layer 0 has a feed-forward without intermediate_size whose ffn_mult is not a number"},
      {BLOCK(HEADS, "\"replace_with_linear\": true, \"intermediate_size\": 8") ", " BLOCK(
           HEADS, NONE) ", " BLOCK(HEADS, NONE),
       "layer 0 has a linear layer in place of a part"},
      {BLOCK(HEADS ", \"window_length\": 8", NONE) ", " BLOCK(HEADS, NONE) ", " BLOCK(HEADS, NONE),
       "layer 0 has attention with a window"},
      {"{\"ffn\": {}}, 1, 2", "layer 0 has no map 'attention'"},
      {BLOCK("\"no_op\": 1", NONE) ", 1, 2", "'no_op' must be true or false, found '1'"},
  };
  g_autoptr(GError) error = NULL;
  g_autofree char *text =
      import_blocks(BLOCK(HEADS, "\"ffn_mult\": 1.5") ", " BLOCK(
                        NONE, "\"intermediate_size\": 640") ", " BLOCK(HEADS, NONE),
                    &error);
  g_assert_no_error(error);
  if (!strstr(text, "- attention+dense:512\n- dense\n- attention\n") ||
      !strstr(text, "\nffn: 640\n") || !strstr(text, "\nkv-heads: 2\n"))
    g_error("layers, ffn or kv-heads are wrong in:\n%s", text);
  for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autoptr(GError) own = NULL;
    g_autofree char *document = import_blocks(refused[i][0], &own);
    if (document || !strstr(own->message, refused[i][1]))
      g_error("'%s' is missing in:\n%s", refused[i][1], document ? document : own->message);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/import-layers/experts", test_layers_with_experts);
  g_test_add_func("/import-layers/window-layers", test_window_layers);
  g_test_add_func("/import-layers/falcon", test_falcon);
  g_test_add_func("/import-layers/blocks", test_blocks);
  g_test_add_func("/import-layers/refused", test_refused);
  return g_test_run();
}

/*
 * huggingface_blocks.c - layers that an architecture search made, each given by itself (Llama
 * Nemotron Super and Ultra, DeciLM).
 *
 *   block_configs: [{attention: {no_op, replace_with_linear, n_heads_in_group},
 *                    ffn: {no_op, replace_with_linear, ffn_mult, intermediate_size}}, ...]
 *
 * no_op: the layer lacks the part. A feed-forward is as wide as intermediate_size or, where it is
 * absent, as 2 ffn_mult h / 3, up to a multiple of 256 (modeling_decilm.py,
 * _ffn_mult_to_intermediate_size). The widest is the document's `ffn`. Heads share keys and values
 * in groups of n_heads_in_group, alike in all layers. Linear layers in place of a part, and layers
 * without either, are refused.
 */
#include "models/import_huggingface.h"

enum { WIDTH_STEP = 256 };

typedef struct {
  const OrrHuggingfaceConfig *config;
  const OrrNode *place; /* of the layer */
  gint64 layer;
} Reading;

static void refuse(const Reading *reading, const char *what) {
  orr_diags_error(reading->config->diags, reading->place->place, "'block_configs': layer %ld %s",
                  reading->layer, what);
}

gboolean orr_huggingface_blocks_are_given(const OrrHuggingfaceConfig *config) {
  const OrrNode *list = orr_huggingface_config_find(config, "block_configs");
  return orr_node_length(list) > 0;
}

/* The part @key of the layer; FALSE: it lacks it. */
static gboolean read_part(const Reading *reading, const char *key, OrrHuggingfaceConfig *ret_part) {
  const OrrHuggingfaceConfig *config = reading->config;
  const OrrHuggingfaceConfig layer = {reading->place, config->used, config->diags};
  const OrrNode *map = orr_huggingface_config_map(&layer, key);
  if (!map) {
    g_autofree char *what = g_strdup_printf("has no map '%s'", key);
    refuse(reading, what);
    return FALSE;
  }
  *ret_part = (OrrHuggingfaceConfig){map, config->used, config->diags};
  if (orr_huggingface_config_flag(ret_part, "replace_with_linear", FALSE))
    refuse(reading, "has a linear layer in place of a part, which is not simulated");
  return !orr_huggingface_config_flag(ret_part, "no_op", FALSE);
}

/* A whole number of heads; 0: an error, or no attention. */
static gint64 read_group(const Reading *reading) {
  OrrHuggingfaceConfig part;
  if (!read_part(reading, "attention", &part)) return 0;
  const gint64 group = orr_huggingface_config_number(&part, "n_heads_in_group", 0);
  if (group < 1) refuse(reading, "has attention without n_heads_in_group");
  if (orr_huggingface_config_find(&part, "window_length"))
    refuse(reading, "has attention with a window, which is not simulated");
  return group;
}

static double read_multiple(const Reading *reading, const OrrHuggingfaceConfig *part) {
  const OrrNode *node = orr_huggingface_config_find(part, "ffn_mult");
  char *end = NULL;
  const double value =
      node && node->kind == ORR_NODE_SCALAR && !node->quoted ? g_ascii_strtod(node->text, &end) : 0;
  if (end && *end == '\0' && value > 0 && value <= 1000) return value;
  refuse(reading, "has a feed-forward without intermediate_size whose ffn_mult is not a number "
                  "above 0, at most 1000");
  return 0;
}

/* 0: no feed-forward, or an error. */
static gint64 read_width(const Reading *reading, gint64 hidden) {
  OrrHuggingfaceConfig part;
  if (!read_part(reading, "ffn", &part)) return 0;
  const gint64 given = orr_huggingface_config_number(&part, "intermediate_size", 0);
  if (given > 0) return given;
  const gint64 width = (gint64)(2 * read_multiple(reading, &part) * (double)hidden / 3);
  return (width + WIDTH_STEP - 1) / WIDTH_STEP * WIDTH_STEP;
}

static const char *kind_of(gint64 group, gint64 width, gint64 widest) {
  g_autofree char *feed = width == widest ? g_strdup("dense") : g_strdup_printf("dense:%ld", width);
  g_autofree char *kind = g_strdup_printf("%s%s%s", group ? "attention" : "",
                                          group && width ? "+" : "", width ? feed : "");
  return g_intern_string(kind);
}

/* Reads layer @i, whose group must be as @common's, where that is above 0. */
static void read_layer(const OrrHuggingfaceConfig *config, const OrrNode *node, gint64 i,
                       gint64 hidden, gint64 *common, gint64 ret_parts[2]) {
  const Reading reading = {config, node, i};
  if (node->kind != ORR_NODE_MAP) return refuse(&reading, "is not a map");
  ret_parts[0] = read_group(&reading);
  ret_parts[1] = read_width(&reading, hidden);
  if (ret_parts[0] && *common && ret_parts[0] != *common)
    refuse(&reading, "has another n_heads_in_group than earlier ones, which is not simulated");
  if (ret_parts[0]) *common = ret_parts[0];
  if (!ret_parts[0] && !ret_parts[1])
    refuse(&reading, "has neither attention nor a feed-forward, which is not simulated");
}

void orr_huggingface_blocks_kinds(const OrrHuggingfaceConfig *config, gint64 layers,
                                  const char **ret_kinds, OrrNode *model) {
  const OrrNode *list = orr_huggingface_config_find(config, "block_configs");
  const gint64 hidden = orr_huggingface_config_number(config, "hidden_size", 0),
               heads = orr_huggingface_config_number(config, "num_attention_heads", 1);
  const guint before = orr_diags_n_errors(config->diags);
  g_autofree gint64(*parts)[2] = g_malloc0_n((gsize)layers + 1, sizeof(*parts));
  gint64 group = 0, widest = 0;
  if (list->kind != ORR_NODE_LIST || (gint64)orr_node_length(list) != layers)
    return orr_diags_error(config->diags, list->place,
                           "'block_configs' must be a list of the model's %ld layers", layers);
  for (gint64 i = 0; i < layers && orr_diags_n_errors(config->diags) == before; i++) {
    read_layer(config, list->items->pdata[i], i, hidden, &group, parts[i]);
    widest = MAX(widest, parts[i][1]);
  }
  if (orr_diags_n_errors(config->diags) > before) return;
  for (gint64 i = 0; i < layers; i++) ret_kinds[i] = kind_of(parts[i][0], parts[i][1], widest);
  if (widest > 0) orr_huggingface_config_set_number(model, "ffn", widest);
  if (group > 0) orr_huggingface_config_set_number(model, "kv-heads", MAX(1, heads / group));
}

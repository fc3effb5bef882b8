/*
 * huggingface_config.c - looks up keys under their several names, reads their values, and reports
 * values of the wrong kind.
 */
#include "models/import_huggingface.h"

enum { MOST_ITEMS = 100000 }; /* the largest number of layers of a model (models/model.c) */

static gboolean is_word(const OrrNode *node, const char *word) {
  return node->kind == ORR_NODE_SCALAR && !node->quoted && strcmp(node->text, word) == 0;
}

const OrrNode *orr_huggingface_config_find(const OrrHuggingfaceConfig *config, const char *keys) {
  g_auto(GStrv) names = g_strsplit(keys, "|", -1);
  const OrrNode *found = NULL;
  for (guint i = 0; names[i]; i++) {
    const OrrNode *node = orr_node_get(config->map, names[i]);
    if (!node) continue;
    g_hash_table_add(config->used, (gpointer)g_intern_string(names[i]));
    if (!found && !is_word(node, "null")) found = node;
  }
  return found;
}

/* Reports that the value of @keys must be @wanted, and what was found. */
static void refuse(const OrrHuggingfaceConfig *config, const char *keys, const OrrNode *node,
                   const char *wanted) {
  g_auto(GStrv) names = g_strsplit(keys, "|", -1);
  g_autofree char *known = g_strjoinv("' or '", names);
  if (node->kind != ORR_NODE_SCALAR)
    orr_diags_error(config->diags, node->place, "'%s' must be %s, found a %s", known, wanted,
                    node->kind == ORR_NODE_LIST ? "list" : "map");
  else
    orr_diags_error(config->diags, node->place, "'%s' must be %s, found %s'%.60s'", known, wanted,
                    node->quoted ? "the text " : "", node->text);
}

/* Accepts 4096 and 4096.0; refuses fractions, negative numbers and numbers out of range. */
static gboolean read_whole(const OrrNode *node, gint64 *ret_value) {
  char *end = NULL;
  if (node->kind != ORR_NODE_SCALAR || node->quoted) return FALSE;
  const double value = g_ascii_strtod(node->text, &end);
  if (end == node->text || *end || !(value >= 0 && value <= ORR_HUGGINGFACE_MOST) ||
      value != floor(value))
    return FALSE;
  *ret_value = (gint64)value;
  return TRUE;
}

/* Hunyuan's configs have a list with a number for each layer: all equal, it is that number. */
static const OrrNode *only_item(const OrrNode *node) {
  if (!node || node->kind != ORR_NODE_LIST || orr_node_length(node) == 0) return node;
  const OrrNode *first = node->items->pdata[0];
  ORR_EACH_ITEM(item, node) {
    if (item->kind != ORR_NODE_SCALAR || strcmp(item->text, first->text) != 0) return node;
  }
  return first;
}

gint64 orr_huggingface_config_number(const OrrHuggingfaceConfig *config, const char *keys,
                                     gint64 fallback) {
  const OrrNode *node = only_item(orr_huggingface_config_find(config, keys));
  gint64 value = fallback;
  if (node && !read_whole(node, &value))
    refuse(config, keys, node, "a whole number from 0 to 2147483647");
  return value;
}

gboolean orr_huggingface_config_flag(const OrrHuggingfaceConfig *config, const char *keys,
                                     gboolean fallback) {
  const OrrNode *node = orr_huggingface_config_find(config, keys);
  if (!node || is_word(node, "false") || is_word(node, "true"))
    return node ? is_word(node, "true") : fallback;
  refuse(config, keys, node, "true or false");
  return fallback;
}

const char *orr_huggingface_config_text(const OrrHuggingfaceConfig *config, const char *keys) {
  const OrrNode *node = orr_huggingface_config_find(config, keys);
  if (!node || (node->kind == ORR_NODE_SCALAR && node->quoted)) return node ? node->text : NULL;
  refuse(config, keys, node, "a text");
  return NULL;
}

const OrrNode *orr_huggingface_config_list(const OrrHuggingfaceConfig *config, const char *keys) {
  const OrrNode *node = orr_huggingface_config_find(config, keys);
  if (node && node->kind != ORR_NODE_LIST) refuse(config, keys, node, "a list");
  if (!node || node->kind != ORR_NODE_LIST) return NULL;
  if (orr_node_length(node) > MOST_ITEMS) {
    orr_diags_error(config->diags, node->place, "'%s' has %u items: at most %d are read", keys,
                    orr_node_length(node), MOST_ITEMS);
    return NULL;
  }
  ORR_EACH_ITEM(item, node) {
    if (item->kind == ORR_NODE_SCALAR) continue;
    refuse(config, keys, item, "a list of numbers or words");
    return NULL;
  }
  return node;
}

const OrrNode *orr_huggingface_config_map(const OrrHuggingfaceConfig *config, const char *keys) {
  const OrrNode *node = orr_huggingface_config_find(config, keys);
  if (!node || node->kind == ORR_NODE_MAP) return node;
  refuse(config, keys, node, "a map");
  return NULL;
}

OrrNode *orr_huggingface_config_section(const OrrHuggingfaceConfig *config,
                                        const OrrHuggingfacePair *pairs, guint n_pairs) {
  OrrNode *map = orr_node_new_map((OrrPlace){0});
  for (guint i = 0; i < n_pairs; i++) {
    const gint64 value = orr_huggingface_config_number(config, pairs[i].from, 0);
    if (value > 0) orr_huggingface_config_set_number(map, pairs[i].key, value);
  }
  return map;
}

void orr_huggingface_config_set_text(OrrNode *map, const char *key, const char *text) {
  orr_node_set(map, key, orr_node_new_scalar((OrrPlace){0}, text));
}

void orr_huggingface_config_set_number(OrrNode *map, const char *key, gint64 value) {
  g_autofree char *text = g_strdup_printf("%ld", value);
  orr_huggingface_config_set_text(map, key, text);
}

void orr_huggingface_config_set_flag(OrrNode *map, const char *key, gboolean value) {
  orr_huggingface_config_set_text(map, key, value ? "true" : "false");
}

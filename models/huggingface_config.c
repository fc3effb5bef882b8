/*
 * huggingface_config.c - see huggingface_config.h.
 */
#include "models/huggingface_config.h"

#include <string.h>

const OrrNode *orr_huggingface_find(const OrrHuggingfaceConfig *config, const char *keys) {
  g_auto(GStrv) names = g_strsplit(keys, "|", -1);
  const OrrNode *found = NULL;
  for (guint i = 0; names[i]; i++) {
    const OrrNode *node = orr_node_get(config->map, names[i]);
    if (!node) continue;
    g_hash_table_add(config->used, (gpointer)g_intern_string(names[i]));
    const gboolean is_null = node->kind == ORR_NODE_SCALAR && strcmp(node->text, "null") == 0;
    if (!found && !is_null) found = node;
  }
  return found;
}

gint64 orr_huggingface_number(const OrrHuggingfaceConfig *config, const char *keys, gint64 fallback) {
  const OrrNode *node = orr_huggingface_find(config, keys);
  if (!node) return fallback;
  const char *text = node->kind == ORR_NODE_SCALAR ? node->text : "";
  char *end = NULL;
  const gint64 value = g_ascii_strtoll(text, &end, 10);
  if (end != text && !*end && value >= 0) return value;
  g_auto(GStrv) names = g_strsplit(keys, "|", -1);
  g_autofree char *known = g_strjoinv("' or '", names);
  orr_diags_error(config->diags, node->place, "'%s' must be a whole number of 0 or more, found %s%s%s", known,
                  *text ? "'" : "a list or a map", text, *text ? "'" : "");
  return fallback;
}

gboolean orr_huggingface_flag(const OrrHuggingfaceConfig *config, const char *keys, gboolean fallback) {
  const OrrNode *node = orr_huggingface_find(config, keys);
  return node && node->kind == ORR_NODE_SCALAR ? strcmp(node->text, "true") == 0 : fallback;
}

OrrNode *orr_huggingface_section(const OrrHuggingfaceConfig *config, const OrrHuggingfacePair *pairs, guint n_pairs) {
  OrrNode *map = orr_node_new_map((OrrPlace){0});
  for (guint i = 0; i < n_pairs; i++) {
    const gint64 value = orr_huggingface_number(config, pairs[i].from, 0);
    if (value > 0) orr_huggingface_set_number(map, pairs[i].key, value);
  }
  return map;
}

void orr_huggingface_set_text(OrrNode *map, const char *key, const char *text) {
  orr_node_set(map, key, orr_node_new_scalar((OrrPlace){0}, text));
}

void orr_huggingface_set_number(OrrNode *map, const char *key, gint64 value) {
  g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
  orr_huggingface_set_text(map, key, text);
}

void orr_huggingface_set_flag(OrrNode *map, const char *key, gboolean value) {
  orr_huggingface_set_text(map, key, value ? "true" : "false");
}

/*
 * huggingface_json.c - reads a config.json as a tree. Duplicate keys are refused; Infinity and NaN,
 * which Python's writer prints, are texts.
 */
#include "models/import_huggingface.h"
#include "sim/base/file.h"
#include "sim/base/json.h"

static OrrNode *read_value(OrrJson *json);

static OrrNode *read_list(OrrJson *json, OrrPlace place) {
  OrrNode *list = orr_node_new_list(place);
  orr_json_open(json);
  while (orr_json_more(json)) orr_node_append(list, read_value(json));
  return list;
}

/* Refuses duplicate keys: Python would read the last, a person sees the first. The set keeps the
 * time for maps of many keys from growing with the square of their number. */
static OrrNode *read_map(OrrJson *json, OrrPlace place) {
  OrrNode *map = orr_node_new_map(place);
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  orr_json_open(json);
  while (orr_json_more(json)) {
    const OrrPlace at = orr_json_place(json);
    g_autofree char *key = orr_json_key(json);
    OrrNode *name = orr_node_new_scalar(at, key);
    if (!g_hash_table_add(seen, name->text))
      orr_diags_error(json->diags, at, "duplicate key '%s'", key);
    g_ptr_array_add(map->keys, name);
    g_ptr_array_add(map->items, read_value(json));
  }
  return map;
}

/* Python's writer of JSON prints Infinity and NaN, which JSON does not have. */
static gboolean skip_python_number(OrrJson *json) {
  static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
  const gsize left = (gsize)(json->end - json->at);
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    const gsize length = strlen(words[i]);
    if (left < length || strncmp(json->at, words[i], length) != 0) continue;
    json->at += length;
    return TRUE;
  }
  return FALSE;
}

static OrrNode *read_value(OrrJson *json) {
  const OrrPlace place = orr_json_place(json);
  const char next = orr_json_peek(json);
  if (next == '{') return read_map(json, place);
  if (next == '[') return read_list(json, place);
  if (next == '"') {
    g_autofree char *text = orr_json_text(json);
    OrrNode *node = orr_node_new_scalar(place, text ? text : "");
    node->quoted = TRUE;
    return node;
  }
  const char *begin = json->at;
  if (!skip_python_number(json)) orr_json_skip(json);
  g_autofree char *text = g_strndup(begin, MAX(0, json->at - begin));
  return orr_node_new_scalar(place, g_strstrip(text));
}

OrrNode *orr_huggingface_json_read(const char *path, OrrDiags *diags, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  if (!g_utf8_validate_len(text, length, NULL))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: is not text in UTF-8", path);
  OrrJson json = orr_json_begin(text, length, g_intern_string(path), diags);
  json.names_keys = TRUE;
  g_autoptr(OrrNode) root = read_value(&json);
  if (!json.is_bad && orr_json_peek(&json))
    orr_diags_error(diags, orr_json_place(&json), "the file goes on after its JSON value");
  if (!orr_diags_n_errors(diags) && root->kind != ORR_NODE_MAP)
    orr_diags_error(diags, root->place, "a config is a JSON object");
  return orr_diags_check(diags, error) ? g_steal_pointer(&root) : NULL;
}

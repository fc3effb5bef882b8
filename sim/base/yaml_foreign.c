/*
 * yaml_foreign.c - trees from libyaml's documents, in which an alias is a second reference to the
 * same node.
 *
 * libyaml compares every anchor, and every line %TAG, with all earlier ones: their number is
 * limited before it reads.
 */
#include "sim/base/yaml_foreign.h"

#include <yaml.h>

/* libyaml looks at every open bracket for each token, and reads a document before we see its depth.
 */
enum { MAX_ANCHORS = 2000, MAX_BRACKETS = 4 * ORR_YAML_FOREIGN_MAX_DEPTH };

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_parser_t, yaml_parser_delete)

typedef struct {
  yaml_document_t *document;
  const char *file; /* interned */
  OrrDiags *diags;
  guint n_nodes;
  gboolean is_bad;
} Reader;

static OrrNode *read_node(Reader *reader, int index, guint depth);

static OrrPlace place_of(const Reader *reader, yaml_mark_t mark) {
  return (OrrPlace){
      .file = reader->file, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
}

/* --- Maps --- */

static void put(Reader *reader, OrrNode *map, GHashTable *seen, OrrNode *taken_key,
                OrrNode *taken_value) {
  const gpointer at = g_hash_table_lookup(seen, taken_key->text);
  if (!at) {
    g_ptr_array_add(map->keys, taken_key);
    g_ptr_array_add(map->items, taken_value);
    g_hash_table_insert(seen, taken_key->text, GUINT_TO_POINTER(map->keys->len));
    return;
  }
  OrrNode **slot = (OrrNode **)&map->items->pdata[GPOINTER_TO_UINT(at) - 1];
  orr_diags_warning(reader->diags, taken_key->place, "'%s' comes twice: the later value wins",
                    taken_key->text);
  orr_node_free(*slot);
  *slot = taken_value;
  orr_node_free(taken_key);
}

/* The entries of @from, a map or a list of maps, that @map lacks. */
static void merge_under(OrrNode *map, GHashTable *seen, const OrrNode *from) {
  for (guint i = 0; i < orr_node_length(from); i++) {
    const OrrNode *item = from->items->pdata[i];
    if (from->kind == ORR_NODE_LIST) {
      if (item->kind == ORR_NODE_MAP) merge_under(map, seen, item);
      continue;
    }
    const OrrNode *key = from->keys->pdata[i];
    if (g_hash_table_contains(seen, key->text)) continue;
    OrrNode *copy = orr_node_copy(key);
    g_ptr_array_add(map->keys, copy);
    g_ptr_array_add(map->items, orr_node_copy(item));
    g_hash_table_insert(seen, copy->text, GUINT_TO_POINTER(map->keys->len));
  }
}

/* A key as text; NULL with an error. */
static OrrNode *read_key(Reader *reader, int index, guint depth) {
  g_autoptr(OrrNode) key = read_node(reader, index, depth);
  if (!key || key->kind == ORR_NODE_SCALAR) return g_steal_pointer(&key);
  orr_diags_error(reader->diags, key->place, "a list or a map as a key: keys are words");
  reader->is_bad = TRUE;
  return NULL;
}

static OrrNode *read_map(Reader *reader, const yaml_node_t *node, guint depth) {
  g_autoptr(OrrNode) map = orr_node_new_map(place_of(reader, node->start_mark));
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GPtrArray) merged = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
  for (; pair < node->data.mapping.pairs.top; pair++) {
    g_autoptr(OrrNode) key = read_key(reader, pair->key, depth + 1);
    OrrNode *value = key ? read_node(reader, pair->value, depth + 1) : NULL;
    if (!value) return NULL;
    if (!key->quoted && strcmp(key->text, "<<") == 0)
      g_ptr_array_add(merged, value);
    else
      put(reader, map, seen, g_steal_pointer(&key), value);
  }
  for (guint i = 0; i < merged->len; i++) merge_under(map, seen, merged->pdata[i]);
  return g_steal_pointer(&map);
}

/* --- Nodes --- */

static OrrNode *read_list(Reader *reader, const yaml_node_t *node, guint depth) {
  g_autoptr(OrrNode) list = orr_node_new_list(place_of(reader, node->start_mark));
  const yaml_node_item_t *item = node->data.sequence.items.start;
  for (; item < node->data.sequence.items.top; item++) {
    OrrNode *value = read_node(reader, *item, depth + 1);
    if (!value) return NULL;
    orr_node_append(list, value);
  }
  return g_steal_pointer(&list);
}

static OrrNode *read_scalar(Reader *reader, const yaml_node_t *node) {
  const OrrPlace place = place_of(reader, node->start_mark);
  const char *text = (const char *)node->data.scalar.value;
  if (strlen(text) != node->data.scalar.length)
    orr_diags_error(reader->diags, place, "a NUL character in a text");
  OrrNode *scalar = orr_node_new_scalar(place, text);
  scalar->quoted = node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  return scalar;
}

static void note_tag(const Reader *reader, const yaml_node_t *node) {
  const char *tag = (const char *)node->tag;
  if (tag && !g_str_has_prefix(tag, "tag:yaml.org,2002:"))
    orr_diags_warning(reader->diags, place_of(reader, node->start_mark),
                      "the tag '%.60s' is not interpreted", tag);
}

static OrrNode *fail(Reader *reader, const yaml_node_t *node, const char *problem) {
  if (!reader->is_bad)
    orr_diags_error(reader->diags, place_of(reader, node->start_mark), "%s", problem);
  reader->is_bad = TRUE;
  return NULL;
}

static OrrNode *read_node(Reader *reader, int index, guint depth) {
  const yaml_node_t *node = yaml_document_get_node(reader->document, index);
  if (!node || reader->is_bad) return NULL;
  if (depth > ORR_YAML_FOREIGN_MAX_DEPTH)
    return fail(reader, node, "nested too deeply, or an alias inside its own anchor");
  if (++reader->n_nodes > ORR_YAML_FOREIGN_MAX_NODES)
    return fail(reader, node, "too many values, aliases included");
  note_tag(reader, node);
  switch (node->type) {
  case YAML_SCALAR_NODE:
    return read_scalar(reader, node);
  case YAML_SEQUENCE_NODE:
    return read_list(reader, node, depth);
  case YAML_MAPPING_NODE:
    return read_map(reader, node, depth);
  default:
    return NULL;
  }
}

/* --- Documents --- */

static guint count(const char *text, gsize length, char letter) {
  guint n = 0;
  for (gsize i = 0; i < length; i++) n += text[i] == letter;
  return n;
}

/* The most brackets that are open at once; those in quotes count as well. */
static guint bracket_depth(const char *text, gsize length) {
  guint depth = 0, deepest = 0;
  for (gsize i = 0; i < length; i++) {
    if (text[i] == '[' || text[i] == '{') depth++;
    deepest = MAX(deepest, depth);
    if ((text[i] == ']' || text[i] == '}') && depth > 0) depth--;
  }
  return deepest;
}

static gboolean check_limits(const char *text, gsize length, OrrPlace place, OrrDiags *diags) {
  const char *problem = NULL;
  if (length > ORR_YAML_FOREIGN_MAX_BYTES)
    problem = "larger than 2 MiB: no config is";
  else if (!g_utf8_validate(text, (gssize)length, NULL))
    problem = "not a text in UTF-8";
  else if (count(text, length, '&') > MAX_ANCHORS)
    problem = "more than 2,000 anchors";
  else if (bracket_depth(text, length) > MAX_BRACKETS)
    problem = "brackets nested too deeply";
  else if (g_strstr_len(text, (gssize)length, "%TAG"))
    problem = "a %TAG line: these are not read";
  if (problem) orr_diags_error(diags, place, "%s", problem);
  return problem == NULL;
}

static void report(const yaml_parser_t *parser, const char *file, OrrDiags *diags) {
  const OrrPlace place = {.file = file,
                          .line = (int)parser->problem_mark.line + 1,
                          .column = (int)parser->problem_mark.column + 1};
  orr_diags_error(diags, place, "is not valid YAML: %s%s%s",
                  parser->problem ? parser->problem : "out of memory", parser->context ? " " : "",
                  parser->context ? parser->context : "");
}

/* Appends the next document. FALSE at the end of the text, or after an error. */
static gboolean read_document(yaml_parser_t *parser, Reader *reader, GPtrArray *trees) {
  yaml_document_t document;
  if (!yaml_parser_load(parser, &document)) {
    report(parser, reader->file, reader->diags);
    reader->is_bad = TRUE;
    return FALSE;
  }
  const gboolean is_end = yaml_document_get_root_node(&document) == NULL;
  reader->document = &document;
  g_autoptr(OrrNode) tree = is_end ? NULL : read_node(reader, 1, 1);
  yaml_document_delete(&document);
  const gboolean is_empty = tree && tree->kind == ORR_NODE_SCALAR && !*tree->text;
  if (tree && !is_empty) g_ptr_array_add(trees, g_steal_pointer(&tree));
  return !is_end && !reader->is_bad;
}

GPtrArray *orr_yaml_foreign_parse(const char *text, gsize length, const char *file,
                                  OrrDiags *diags) {
  const OrrPlace whole = {.file = g_intern_string(file)};
  Reader reader = {.file = whole.file, .diags = diags};
  if (!check_limits(text, length, whole, diags)) return NULL;
  g_auto(yaml_parser_t) parser = {0};
  if (!yaml_parser_initialize(&parser)) return NULL;
  g_autoptr(GPtrArray) trees = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const guchar *)text, length);
  while (read_document(&parser, &reader, trees)) continue;
  return reader.is_bad ? NULL : g_steal_pointer(&trees);
}

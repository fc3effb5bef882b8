/*
 * node.c - trees of scalars, lists and maps.
 *
 * Invariants
 *  1. A node owns its children; no node has two parents.
 *  2. A map's keys and items have equal lengths, and its keys are distinct scalars.
 *  3. Maps are searched linearly: a document's maps are small, and their order matters.
 */
#include "sim/base/node.h"

static void free_child(gpointer node) { orr_node_free(node); }

static OrrNode *new_node(OrrNodeKind kind, OrrPlace place) {
  OrrNode *node = g_new0(OrrNode, 1);
  node->kind = kind;
  node->place = place;
  if (kind == ORR_NODE_MAP) node->keys = g_ptr_array_new_with_free_func(free_child);
  if (kind != ORR_NODE_SCALAR) node->items = g_ptr_array_new_with_free_func(free_child);
  return node;
}

OrrNode *orr_node_new_scalar(OrrPlace place, const char *text) {
  OrrNode *node = new_node(ORR_NODE_SCALAR, place);
  node->text = g_strdup(text ? text : "");
  return node;
}

OrrNode *orr_node_new_list(OrrPlace place) { return new_node(ORR_NODE_LIST, place); }

OrrNode *orr_node_new_map(OrrPlace place) { return new_node(ORR_NODE_MAP, place); }

static void copy_children(GPtrArray *to, const GPtrArray *from) {
  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add(to, orr_node_copy(g_ptr_array_index(from, i)));
}

OrrNode *orr_node_copy(const OrrNode *node) {
  if (!node) return NULL;
  OrrNode *copy = new_node(node->kind, node->place);
  copy->text = g_strdup(node->text);
  copy->quoted = node->quoted;
  if (node->keys) copy_children(copy->keys, node->keys);
  if (node->items) copy_children(copy->items, node->items);
  copy->replaced = orr_node_copy(node->replaced);
  return copy;
}

void orr_node_free(OrrNode *node) {
  if (!node) return;
  g_clear_pointer(&node->keys, g_ptr_array_unref);
  g_clear_pointer(&node->items, g_ptr_array_unref);
  orr_node_free(node->replaced);
  g_free(node->text);
  g_free(node);
}

guint orr_node_length(const OrrNode *node) { return node && node->items ? node->items->len : 0; }

/* G_MAXUINT where absent. */
static guint find(const OrrNode *map, const char *key) {
  if (!map || map->kind != ORR_NODE_MAP) return G_MAXUINT;
  for (guint i = 0; i < map->keys->len; i++)
    if (g_str_equal(((OrrNode *)g_ptr_array_index(map->keys, i))->text, key)) return i;
  return G_MAXUINT;
}

OrrNode *orr_node_get(const OrrNode *map, const char *key) {
  guint at = find(map, key);
  return at == G_MAXUINT ? NULL : g_ptr_array_index(map->items, at);
}

const char *orr_node_get_text(const OrrNode *map, const char *key) {
  const OrrNode *value = orr_node_get(map, key);
  return value && value->kind == ORR_NODE_SCALAR ? value->text : NULL;
}

void orr_node_append(OrrNode *list, OrrNode *item) {
  g_return_if_fail(list->kind == ORR_NODE_LIST);
  g_ptr_array_add(list->items, item);
}

void orr_node_set(OrrNode *map, const char *key, OrrNode *value) {
  g_return_if_fail(map->kind == ORR_NODE_MAP);
  guint at = find(map, key);
  if (at == G_MAXUINT) {
    g_ptr_array_add(map->keys, orr_node_new_scalar(value->place, key));
    g_ptr_array_add(map->items, value);
    return;
  }
  OrrNode *old = g_ptr_array_index(map->items, at);
  g_ptr_array_index(map->items, at) = value;
  if (old != value) orr_node_free(old);
}

gboolean orr_node_remove(OrrNode *map, const char *key) {
  guint at = find(map, key);
  if (at == G_MAXUINT) return FALSE;
  g_ptr_array_remove_index(map->keys, at);
  g_ptr_array_remove_index(map->items, at);
  return TRUE;
}

static gboolean children_equal(const GPtrArray *a, const GPtrArray *b) {
  if (a->len != b->len) return FALSE;
  for (guint i = 0; i < a->len; i++)
    if (!orr_node_equal(g_ptr_array_index(a, i), g_ptr_array_index(b, i))) return FALSE;
  return TRUE;
}

gboolean orr_node_equal(const OrrNode *a, const OrrNode *b) {
  if (!a || !b || a->kind != b->kind) return a == b;
  switch (a->kind) {
  case ORR_NODE_SCALAR:
    return g_str_equal(a->text, b->text);
  case ORR_NODE_LIST:
    return children_equal(a->items, b->items);
  case ORR_NODE_MAP:
    return children_equal(a->keys, b->keys) && children_equal(a->items, b->items);
  }
  return FALSE;
}

static gboolean chosen_otherwise(const OrrNode *base, const OrrNode *over, const char *key) {
  const char *was = orr_node_get_text(base, key), *is = orr_node_get_text(over, key);
  return was && is && !g_str_equal(was, is);
}

/* A base that is a name, under a map without `kind` or `base`: the map overrides keys of the named
 * document. */
static OrrNode *merge_name(const OrrNode *name, const OrrNode *over) {
  OrrNode *merged = orr_node_copy(over);
  orr_node_set(merged, "base", orr_node_copy(name));
  return merged;
}

/* Links @base below the innermost list that @over overrides. */
static OrrNode *replace_list(const OrrNode *base, const OrrNode *over) {
  OrrNode *list = orr_node_copy(over), *last = list;
  while (last->replaced) last = last->replaced;
  last->replaced = orr_node_copy(base);
  return list;
}

const char *const orr_node_uncertain_keys[] = {"value", "low", "high", NULL};

gboolean orr_node_is_uncertain(const OrrNode *node) {
  for (const char *const *key = orr_node_uncertain_keys; *key; key++)
    if (orr_node_get(node, *key)) return TRUE;
  return FALSE;
}

OrrNode *orr_node_merge(const OrrNode *base, const OrrNode *over) {
  if (!over) return orr_node_copy(base);
  if (base && base->kind == ORR_NODE_SCALAR && over->kind == ORR_NODE_MAP &&
      !orr_node_is_uncertain(over) && find(over, "base") == G_MAXUINT &&
      find(over, "kind") == G_MAXUINT)
    return merge_name(base, over);
  if (base && base->kind == ORR_NODE_LIST && over->kind == ORR_NODE_LIST)
    return replace_list(base, over);
  if (!base || base->kind != ORR_NODE_MAP || over->kind != ORR_NODE_MAP ||
      chosen_otherwise(base, over, "kind") || chosen_otherwise(base, over, "base"))
    return orr_node_copy(over);
  OrrNode *merged = orr_node_new_map(over->place);
  for (guint i = 0; i < base->keys->len; i++) {
    const OrrNode *key = g_ptr_array_index(base->keys, i);
    guint at = find(over, key->text);
    const OrrNode *laid = at == G_MAXUINT ? NULL : g_ptr_array_index(over->items, at);
    g_ptr_array_add(merged->keys, orr_node_copy(laid ? g_ptr_array_index(over->keys, at) : key));
    g_ptr_array_add(merged->items, orr_node_merge(g_ptr_array_index(base->items, i), laid));
  }
  for (guint i = 0; i < over->keys->len; i++) {
    const OrrNode *key = g_ptr_array_index(over->keys, i);
    if (find(base, key->text) != G_MAXUINT) continue;
    g_ptr_array_add(merged->keys, orr_node_copy(key));
    g_ptr_array_add(merged->items, orr_node_copy(g_ptr_array_index(over->items, i)));
  }
  return merged;
}

OrrPlace orr_node_place(const OrrNode *node) {
  OrrPlace place = node->place;
  place.node = node;
  return place;
}

OrrPlace orr_node_place_in(OrrPlace place, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  const OrrNode *node = place.node;
  for (guint i = 0; node && keys[i]; i++) {
    const OrrNode *next = orr_node_get(node, keys[i]);
    if (!next) break;
    node = next;
  }
  return node ? orr_node_place(node) : place;
}

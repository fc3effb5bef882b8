/*
 * node.c - trees of scalars, lists and maps.
 *
 * Invariants
 *  1. A node owns its children. A node with several owners is not changed, nor is anything below
 *     it; only orr_node_ref, orr_node_copy_top and orr_node_lay make such nodes.
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

OrrNode *orr_node_ref(const OrrNode *node) {
  if (node) ((OrrNode *)node)->n_more++;
  return (OrrNode *)node;
}

/* How a node gets another tree's node as its child: as a copy, or shared. */
typedef OrrNode *(*Take)(const OrrNode *node);

static OrrNode *copy_top(const OrrNode *node, Take take) {
  OrrNode *copy = new_node(node->kind, node->place);
  copy->text = g_strdup(node->text);
  copy->quoted = node->quoted;
  for (guint i = 0; node->keys && i < node->keys->len; i++)
    g_ptr_array_add(copy->keys, take(node->keys->pdata[i]));
  for (guint i = 0; node->items && i < node->items->len; i++)
    g_ptr_array_add(copy->items, take(node->items->pdata[i]));
  copy->replaced = take(node->replaced);
  return copy;
}

OrrNode *orr_node_copy(const OrrNode *node) { return node ? copy_top(node, orr_node_copy) : NULL; }

OrrNode *orr_node_copy_top(const OrrNode *node) { return copy_top(node, orr_node_ref); }

static void own_children(GPtrArray *children) {
  for (guint i = 0; children && i < children->len; i++)
    children->pdata[i] = orr_node_own(children->pdata[i]);
}

OrrNode *orr_node_own(OrrNode *node) {
  if (!node) return NULL;
  if (node->n_more > 0) {
    OrrNode *copy = orr_node_copy(node);
    orr_node_free(node);
    return copy;
  }
  own_children(node->keys);
  own_children(node->items);
  node->replaced = orr_node_own(node->replaced);
  return node;
}

void orr_node_free(OrrNode *node) {
  if (!node) return;
  if (node->n_more > 0) {
    node->n_more--;
    return;
  }
  g_clear_pointer(&node->keys, g_ptr_array_unref);
  g_clear_pointer(&node->items, g_ptr_array_unref);
  orr_node_free(node->replaced);
  ORR_FREE(node->text, node);
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
static OrrNode *merge_name(const OrrNode *name, const OrrNode *over, Take take) {
  OrrNode *merged = copy_top(over, take);
  orr_node_set(merged, "base", take(name));
  return merged;
}

/* Links @base below the innermost list that @over overrides. */
static OrrNode *replace_list(const OrrNode *base, const OrrNode *over, Take take) {
  OrrNode *list = copy_top(over, take), *last = list;
  for (; last->replaced; last = last->replaced) {
    OrrNode *shared = last->replaced;
    last->replaced = copy_top(shared, take);
    orr_node_free(shared);
  }
  last->replaced = take(base);
  return list;
}

const char *const orr_node_uncertain_keys[] = {"value", "low", "high", NULL};

gboolean orr_node_is_uncertain(const OrrNode *node) {
  for (const char *const *key = orr_node_uncertain_keys; *key; key++)
    if (orr_node_get(node, *key)) return TRUE;
  return FALSE;
}

static OrrNode *merge(const OrrNode *base, const OrrNode *over, Take take);

static OrrNode *merge_maps(const OrrNode *base, const OrrNode *over, Take take) {
  OrrNode *merged = orr_node_new_map(over->place);
  ORR_EACH_POINTER_AT(i, const OrrNode, key, base->keys) {
    guint at = find(over, key->text);
    const OrrNode *laid = at == G_MAXUINT ? NULL : g_ptr_array_index(over->items, at);
    g_ptr_array_add(merged->keys, take(laid ? g_ptr_array_index(over->keys, at) : key));
    g_ptr_array_add(merged->items, merge(g_ptr_array_index(base->items, i), laid, take));
  }
  ORR_EACH_POINTER_AT(i, const OrrNode, key, over->keys) {
    if (find(base, key->text) != G_MAXUINT) continue;
    g_ptr_array_add(merged->keys, take(key));
    g_ptr_array_add(merged->items, take(g_ptr_array_index(over->items, i)));
  }
  return merged;
}

static OrrNode *merge(const OrrNode *base, const OrrNode *over, Take take) {
  if (!over) return take(base);
  if (base && base->kind == ORR_NODE_SCALAR && over->kind == ORR_NODE_MAP &&
      !orr_node_is_uncertain(over) && find(over, "base") == G_MAXUINT &&
      find(over, "kind") == G_MAXUINT)
    return merge_name(base, over, take);
  if (base && base->kind == ORR_NODE_LIST && over->kind == ORR_NODE_LIST)
    return replace_list(base, over, take);
  if (!base || base->kind != ORR_NODE_MAP || over->kind != ORR_NODE_MAP ||
      chosen_otherwise(base, over, "kind") || chosen_otherwise(base, over, "base"))
    return take(over);
  return merge_maps(base, over, take);
}

OrrNode *orr_node_merge(const OrrNode *base, const OrrNode *over) {
  return merge(base, over, orr_node_copy);
}

OrrNode *orr_node_lay(const OrrNode *base, const OrrNode *over) {
  return merge(base, over, orr_node_ref);
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

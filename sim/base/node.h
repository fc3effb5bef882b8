/*
 * node.h - a document as a tree of scalars, lists and maps, each with its place in the file.
 *
 * The YAML reader builds the tree, `base:` merges trees, `--set a.b=c` edits one, and field tables
 * read and dump it. A node owns its children. YAML's syntax is in yaml.h alone.
 *
 * Trees that nobody changes, such as a library's documents and their bases, may share parts
 * (orr_node_ref). A tree that is changed must not: orr_node_copy and orr_node_own make one.
 */
#pragma once

#include "sim/base/diag.h"

typedef enum { ORR_NODE_SCALAR, ORR_NODE_LIST, ORR_NODE_MAP } OrrNodeKind;

typedef struct OrrNode OrrNode;
struct OrrNode {
  OrrNodeKind kind;
  OrrPlace place;   /* of the value */
  char *text;       /* scalar: its text, never NULL */
  gboolean quoted;  /* scalar: was in quotes, so it is text even where it looks like a number */
  GPtrArray *keys;  /* map: OrrNode* scalars, in document order */
  GPtrArray *items; /* list: OrrNode*; map: the values, parallel to keys */
  /* list: the list of the base that this one overrides (orr_node_merge), or NULL */
  OrrNode *replaced;
  guint n_more; /* owners beyond the first; above 0 the node is not changed */
};

OrrNode *orr_node_new_scalar(OrrPlace place, const char *text);
OrrNode *orr_node_new_list(OrrPlace place);
OrrNode *orr_node_new_map(OrrPlace place);
/* A tree of its own, which may be changed. */
OrrNode *orr_node_copy(const OrrNode *node);
/* Makes the caller one more owner; each owner calls orr_node_free. */
OrrNode *orr_node_ref(const OrrNode *node);
/* A new node with the children of @node, shared. */
OrrNode *orr_node_copy_top(const OrrNode *node);
/* Takes @node, which nobody else owns, copies what it shares, and returns it: it may be changed. */
OrrNode *orr_node_own(OrrNode *node);
void orr_node_free(OrrNode *node); /* with all children nobody else owns; NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNode, orr_node_free)

guint orr_node_length(const OrrNode *node); /* entries of a list or map, 0 for a scalar */
/* @node, NULL where it is NULL or of another kind */
static inline const OrrNode *orr_node_as(OrrNodeKind kind, const OrrNode *node) {
  return node && node->kind == kind ? node : NULL;
}
/* NULL where the key is absent or @map is not a map */
OrrNode *orr_node_get(const OrrNode *map, const char *key);
const char *orr_node_get_text(const OrrNode *map, const char *key); /* a scalar's text, or NULL */
void orr_node_append(OrrNode *list, OrrNode *item);                 /* takes ownership of @item */
/* takes ownership of @value; replaces or appends */
void orr_node_set(OrrNode *map, const char *key, OrrNode *value);
gboolean orr_node_remove(OrrNode *map, const char *key); /* TRUE where the key existed */
/* ignores places and quotes; the order of keys counts */
gboolean orr_node_equal(const OrrNode *a, const OrrNode *b);

/* Loops over the items of a list or the values of a map, and over a map's keys with their values. A
 * scalar, and NULL, have none. `break` and `continue` work as in a plain loop (arrays.h).
 *
 *   ORR_EACH_ITEM(item, list) n += strlen(item->text);
 *   ORR_EACH_PAIR(key, value, map) printf("%s: %s\n", key->text, value->text); */
#define ORR_EACH_ITEM(item_, node_)                                                                \
  ORR_EACH_POINTER(const OrrNode, item_, (node_) ? (node_)->items : NULL)
#define ORR_EACH_KEY(key_, map_) ORR_EACH_POINTER(const OrrNode, key_, (map_) ? (map_)->keys : NULL)
#define ORR_EACH_PAIR(key_, value_, map_)                                                          \
  for (guint key_##_at = 0, key_##_goes_on = TRUE;                                                 \
       key_##_goes_on && key_##_at < orr_node_length(orr_node_as(ORR_NODE_MAP, map_));             \
       key_##_goes_on = !key_##_goes_on, key_##_at++)                                              \
    for (const OrrNode *key_ = (map_)->keys->pdata[key_##_at],                                     \
                       *value_ = (map_)->items->pdata[key_##_at];                                  \
         key_##_goes_on; key_##_goes_on = !key_##_goes_on)

/* A number with bounds, {value: 4, low: 3, high: 5}, whole or not: a map with one of these keys. No
 * field of a scenario has such a name (tests/run/test_uncertain_scenario.c). */
gboolean orr_node_is_uncertain(const OrrNode *node);
extern const char *const orr_node_uncertain_keys[]; /* "value", "low", "high", NULL */

/* A new tree: @base overridden by @over.
 *  - Maps merge key by key, at all depths.
 *  - Anything else replaces the base's value. A list keeps the base's list in `replaced`, for
 *    readers that use both.
 *  - A map whose `kind` (or `base`) differs replaces the base's map: parameters belong to one
 *    choice.
 *  - A map with neither key, over a name, becomes {base: name, ...}; a number with bounds
 *    replaces it. */
OrrNode *orr_node_merge(const OrrNode *base, const OrrNode *over);
/* The same, as a tree that shares what it can with both. */
OrrNode *orr_node_lay(const OrrNode *base, const OrrNode *over);

/* The place of @node, with `node` set. */
OrrPlace orr_node_place(const OrrNode *node);

/* The place of the key @path ("parallel.tp") below the node at @place. Where the key is absent: the
 * place of the map that would contain it. Where @place has no node: @place itself. */
OrrPlace orr_node_place_in(OrrPlace place, const char *path);

/*
 * node.h - a document as a tree of scalars, lists and maps that know their place.
 *
 * The tree is what the YAML reader makes, what `base:` merges, what `--set a.b=c` edits and what
 * field tables read and dump. A node owns its children. Nothing here knows YAML's syntax: yaml.h
 * does.
 */
#ifndef ORR_NODE_H
#define ORR_NODE_H

#include "sim/base/diag.h"

G_BEGIN_DECLS

typedef enum { ORR_NODE_SCALAR, ORR_NODE_LIST, ORR_NODE_MAP } OrrNodeKind;

typedef struct OrrNode OrrNode;
struct OrrNode {
  OrrNodeKind kind;
  OrrPlace place;  /* of the value */
  char *text;      /* scalar: its text, never NULL */
  gboolean quoted; /* scalar: was written in quotes, so it is text even if it looks like a number */
  GPtrArray *keys; /* map: OrrNode* scalars, in document order */
  GPtrArray *items; /* list: OrrNode*; map: the values, parallel to keys */
  /* list: the base's list that this one was laid on (orr_node_merge); NULL: none */
  OrrNode *replaced;
};

OrrNode *orr_node_new_scalar(OrrPlace place, const char *text);
OrrNode *orr_node_new_list(OrrPlace place);
OrrNode *orr_node_new_map(OrrPlace place);
OrrNode *orr_node_copy(const OrrNode *node);
void orr_node_free(OrrNode *node); /* with all children; NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNode, orr_node_free)

guint orr_node_length(const OrrNode *node); /* entries of a list or map, 0 for a scalar */
/* NULL where absent or @map is no map */
OrrNode *orr_node_get(const OrrNode *map, const char *key);
const char *orr_node_get_text(const OrrNode *map, const char *key); /* a scalar's text, or NULL */
void orr_node_append(OrrNode *list, OrrNode *item);                 /* takes @item */
/* takes @value; replaces or appends */
void orr_node_set(OrrNode *map, const char *key, OrrNode *value);
gboolean orr_node_remove(OrrNode *map, const char *key); /* TRUE when it was there */
/* places and quotes aside; map order counts */
gboolean orr_node_equal(const OrrNode *a, const OrrNode *b);

/* @base with @over laid on it: maps merge key by key and in depth, anything else is replaced; a
 * list that replaces another one keeps that in `replaced`, for readers to whom both mean
 * something. A map whose `kind` (or `base`) differs from the base's replaces it whole: the
 * parameters of one choice mean nothing to another. A map that picks nothing (neither key) on a
 * name becomes {base: name, ...}. New tree. */
OrrNode *orr_node_merge(const OrrNode *base, const OrrNode *over);

/* The place of @node, which knows what stands there. */
OrrPlace orr_node_place(const OrrNode *node);

/* Where the key of @path ("parallel.tp") stands in what @place knows; where it is absent the map
 * that it would be in, and @place itself where that knows nothing. */
OrrPlace orr_node_place_in(OrrPlace place, const char *path);

G_END_DECLS

#endif

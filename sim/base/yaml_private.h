/*
 * yaml_private.h - the reader of plain YAML, for yaml.c and its test.
 */
#ifndef ORR_YAML_PRIVATE_H
#define ORR_YAML_PRIVATE_H

#include "sim/base/node.h"

G_BEGIN_DECLS

/* The tree of a text that is plain (yaml_plain.c says what that is) and has fewer than @most_nodes
 * values; NULL: it is not, and libyaml reads it. @file: interned. The caller owns the tree. */
OrrNode *orr_yaml_plain(const char *text, gsize length, const char *file, guint most_nodes);

G_END_DECLS

#endif

/*
 * yaml_tree.h - the tree of a large YAML text in a binary form, so that it is parsed once.
 *
 * Parsing the measured rows of a profile takes longer than the whole of a short run. The build
 * writes the trees of the shipped profiles (yaml_tree_main.c); a user's own are kept in the user's
 * cache.
 *
 * A binary form is used only where it belongs to exactly this text: it holds a copy of the text,
 * and all of it is compared. A checksum finds damage, and every number in it is checked before it
 * is used. Whatever does not fit is ignored, and the text is parsed.
 *
 * The trees of one process live until it ends, and a text is read once.
 */
#pragma once

#include "sim/base/node.h"

/* Like orr_yaml_read_file, as a tree that shares its nodes: it may be read, referred to
 * (orr_node_ref) and laid under another one; orr_node_own makes a tree that may be changed. */
OrrNode *orr_yaml_tree_read_file(const char *path, OrrDiags *diags);

/* The binary form of @root, the tree of the YAML @text. */
GBytes *orr_yaml_tree_bytes(const OrrNode *root, const char *text, gsize length);

/* Sets the checksum of a form that was changed, for tests of the checks behind it. */
void orr_yaml_tree_seal(guint8 *form, gsize size);

typedef struct OrrYamlTree OrrYamlTree;

/* NULL where @bytes are not the undamaged form of exactly @text. @file is interned. Each node has
 * the tree as one of its owners. */
OrrYamlTree *orr_yaml_tree_new(GBytes *bytes, const char *text, gsize length, const char *file);
void orr_yaml_tree_free(OrrYamlTree *tree); /* NULL is fine; nobody may refer to a node of it */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrYamlTree, orr_yaml_tree_free)

/* The caller owns the reference: orr_node_free. */
OrrNode *orr_yaml_tree_root(const OrrYamlTree *tree);

/* The files that may hold the form of the document at @path: next to it, where `meson install` put
 * it; in the build folder; last, in the user's cache ($XDG_CACHE_HOME/orrery). Strv, newly
 * allocated. */
char **orr_yaml_tree_files(const char *path);

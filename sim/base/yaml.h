/*
 * yaml.h - YAML text to and from OrrNode. Only its files, and yaml_foreign.c, include libyaml.
 *
 * The subset is what a configuration needs: one document, maps with scalar keys, lists, scalars.
 * Anchors, aliases, tags and merge keys are refused by name, so that no document can expand beyond
 * its own size. Limits: ORR_YAML_MAX_BYTES of text, ORR_YAML_MAX_DEPTH levels. Duplicate keys are
 * errors. All findings go to @diags; the result is NULL where the text does not form a tree.
 */
#pragma once

#include "sim/base/file.h"
#include "sim/base/node.h"

#define ORR_YAML_MAX_BYTES ORR_FILE_MAX_DOCUMENT
#define ORR_YAML_MAX_DEPTH 64

/* The caller owns the tree. @file is the source in diagnostics (interned here). Empty and binary
 * input are errors. */
OrrNode *orr_yaml_parse(const char *text, gsize length, const char *file, OrrDiags *diags);
OrrNode *orr_yaml_read_file(const char *path, OrrDiags *diags);

/* Block-style YAML that orr_yaml_parse reads back to an equal tree. Newly allocated. */
char *orr_yaml_text(const OrrNode *node);

/*
 * toml.h - TOML 1.0 as a tree (https://toml.io/en/v1.0.0).
 *
 * Numbers lose their underscores and become decimal ("1_200" is "1200", "0x10" is "16"); dates and
 * times stay text. Quoted text is marked as such. Tables may be opened in any order; a table or a
 * key that comes twice is an error. Limits: ORR_TOML_MAX_NODES values and keys, ORR_TOML_MAX_DEPTH
 * levels.
 */
#pragma once

#include "sim/base/node.h"

enum { ORR_TOML_MAX_NODES = 20000, ORR_TOML_MAX_DEPTH = 32 };

/* The caller owns the tree, a map. NULL with an error in @diags, which names the place. @file is
 * interned here. */
OrrNode *orr_toml_parse(const char *text, gsize length, const char *file, OrrDiags *diags);

/* The text that toml.c and toml_text.c read together. */

typedef struct {
  const char *at, *end, *line_begin;
  int line;
  const char *file; /* interned */
  OrrDiags *diags;
  gboolean is_bad; /* an error was reported: reading ends */
  guint n_nodes;
  GHashTable *opened; /* of OrrNode *: tables with a header, and inline values: closed */
} OrrToml;

OrrPlace orr_toml_place(const OrrToml *toml);
/* Reports the first error. FALSE. */
gboolean orr_toml_fail(OrrToml *toml, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The character at @offset, or 0 at the end of the text. */
char orr_toml_peek(const OrrToml *toml, gsize offset);
/* Passes one character, counting lines. */
void orr_toml_next(OrrToml *toml);
/* Text in quotes, of one line or of several; newly allocated, NULL with an error. */
char *orr_toml_quoted(OrrToml *toml);

/*
 * toml_private.h - the text that toml.c and toml_text.c read together.
 */
#pragma once

#include "sim/import/launch/toml.h"

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

/*
 * json.h - reads JSON as a stream, without building a tree: a trace can hold hundreds of megabytes
 * of small objects.
 *
 *   OrrJson json = orr_json_begin(text, length, "file.json", diags);
 *   orr_json_open(&json);                               an object or an array
 *   while (orr_json_more(&json)) {                      FALSE at its end, which is then consumed
 *     g_autofree char *key = orr_json_key(&json);       in objects
 *     if (!strcmp(key, "n")) orr_json_number(&json, &n); else orr_json_skip(&json);
 *   }
 *
 * The first error goes to @diags with line and column; after it every function behaves as at the
 * end of the text.
 */
#pragma once

#include "sim/base/diag.h"

enum { ORR_JSON_MAX_DEPTH = 64 };

typedef struct {
  const char *at, *end, *line_begin;
  OrrPlace place; /* of the next token; the column is computed when needed */
  OrrDiags *diags;
  int depth;
  gboolean is_first[ORR_JSON_MAX_DEPTH]; /* nothing of the container has been read yet */
  char closes[ORR_JSON_MAX_DEPTH];
  /* Quote the key in messages. Set it only for files that the user named: a document names a trace,
   * and a stranger's document could make a message quote a private file. */
  gboolean names_keys;
  char key[40]; /* the beginning of the last key read */
  gboolean is_bad;
} OrrJson;

OrrJson orr_json_begin(const char *text, gsize length, const char *file, OrrDiags *diags);
OrrPlace orr_json_place(OrrJson *json); /* of the next token */
/* The first character of the next token: '{', '[', '"', a digit or '-', 't', 'f', 'n'; 0 at the
 * end. */
char orr_json_peek(OrrJson *json);
/* FALSE with an error where the next token opens neither an object nor an array */
gboolean orr_json_open(OrrJson *json);
gboolean orr_json_more(OrrJson *json);
char *orr_json_key(OrrJson *json); /* newly allocated; "" in an array or after an error */
gboolean orr_json_number(OrrJson *json, double *ret_value); /* a number, or one in quotes */
char *orr_json_text(OrrJson *json); /* newly allocated, escapes decoded; NULL with an error */
void orr_json_skip(OrrJson *json);  /* the next value, of any type */

/*
 * json.h - reads JSON text as it goes by, with no tree: traces of hundreds of megabytes are files
 * of small objects.
 *
 *   OrrJson json = orr_json_begin(text, length, "file.json", diags);
 *   orr_json_open(&json);                               an object or an array
 *   while (orr_json_more(&json)) {                      FALSE at its end, which is then behind
 *     g_autofree char *key = orr_json_key(&json);       in objects
 *     if (!strcmp(key, "n")) orr_json_number(&json, &n); else orr_json_skip(&json);
 *   }
 *
 * What is wrong is told to @diags once, with line and column; from then on there is nothing more to
 * read.
 */
#ifndef ORR_JSON_H
#define ORR_JSON_H

#include "sim/base/diag.h"

G_BEGIN_DECLS

enum { ORR_JSON_MAX_DEPTH = 64 };

typedef struct {
  const char *at, *end, *line_begin;
  OrrPlace place; /* of what is next; column is worked out when told */
  OrrDiags *diags;
  int depth;
  gboolean is_first[ORR_JSON_MAX_DEPTH]; /* nothing of the container was read yet */
  char closes[ORR_JSON_MAX_DEPTH];
  /* Name the key in messages: for files that the user named. A trace is named by a document,
   * which a stranger may have written to have another file quoted. */
  gboolean names_keys;
  char key[40]; /* the beginning of the last key read */
  gboolean is_bad;
} OrrJson;

OrrJson orr_json_begin(const char *text, gsize length, const char *file, OrrDiags *diags);
OrrPlace orr_json_place(OrrJson *json); /* of what comes next */
/* The first character of what comes next: '{', '[', '"', a digit or '-', 't', 'f', 'n'; 0 at the
 * end. */
char orr_json_peek(OrrJson *json);
/* FALSE and told where neither an object nor an array comes */
gboolean orr_json_open(OrrJson *json);
gboolean orr_json_more(OrrJson *json);
char *orr_json_key(OrrJson *json); /* newly allocated; "" where there is none */
gboolean orr_json_number(OrrJson *json, double *ret_value); /* a number, or one in quotes */
char *orr_json_text(OrrJson *json); /* newly allocated, escapes undone; NULL and told */
void orr_json_skip(OrrJson *json);  /* whatever comes */

G_END_DECLS

#endif

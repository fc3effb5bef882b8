/*
 * diag.h - diagnostics about a user's document: all of them, not only the first.
 *
 * Every reader adds its findings to one OrrDiags and continues; at the end the caller checks
 * whether any of them is an error. A diagnostic gives file:line:column, what was found, what is
 * allowed, and the nearest known name where one is near.
 *
 *   a.yaml:7:9: error: unknown key 'modle': did you mean 'model'? (allowed: cluster, model, ...)
 */
#pragma once

#include "sim/base/arrays.h"

struct OrrNode;

/* A place in a document. @file is interned (g_intern_string), never freed; line and column count
 * from 1; line 0 means "the whole file". */
typedef struct {
  const char *file;
  int line;
  int column;
  /* the node at this place, for orr_node_place_in; valid while its tree lives. NULL: unknown */
  const struct OrrNode *node;
} OrrPlace;

typedef struct OrrDiags OrrDiags;

OrrDiags *orr_diags_new(void);
void orr_diags_free(OrrDiags *diags); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrDiags, orr_diags_free)

void orr_diags_error(OrrDiags *diags, OrrPlace place, const char *format, ...) G_GNUC_PRINTF(3, 4);
void orr_diags_warning(OrrDiags *diags, OrrPlace place, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

guint orr_diags_n_errors(const OrrDiags *diags);
guint orr_diags_n_warnings(const OrrDiags *diags);

/* All diagnostics in the order of file, line, column, one per line: "FILE:LINE:COLUMN: error:
 * MESSAGE\n". Findings at the same place keep the order in which they were added. A message is one
 * line, with control characters escaped. Newly allocated; "" when there are none. */
char *orr_diags_text(const OrrDiags *diags);

/* TRUE when there is no error. Else FALSE with ORR_FAULT_DOCUMENT, whose message is the text of all
 * diagnostics without the last newline. */
gboolean orr_diags_check(const OrrDiags *diags, GError **error);

/* The entry of @words (NULL-terminated) that @word most likely means: the nearest by edit distance
 * where at most a third of the letters differ, else one that has all its parts ("h100-sxm" for
 * "h100", "double-binary-tree" for "double-tree"), else one whose parts it has. NULL: none. Case is
 * ignored, and '-' equals '_'. Points into @words. */
const char *orr_diag_nearest_word(const char *word, const char *const *words);

/* The known words for a message: all of up to 20, "a, b, c", or the five nearest to @word and how
 * to see the rest, "a, b, ...; 'orrery list models' has all 113". "none" for none. Newly
 * allocated. */
char *orr_diag_known_words(const char *word, const char *const *words, const char *catalog);

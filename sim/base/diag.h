/*
 * diag.h - diagnostics about a user's document, collected and never cut short.
 *
 * Every reader adds what it finds to one OrrDiags and goes on; the caller asks at the end whether
 * any was an error. A diagnostic names file:line:column, what was found and what is allowed, and
 * the nearest known name where there is one.
 */
#ifndef ORR_DIAG_H
#define ORR_DIAG_H

#include <glib.h>

G_BEGIN_DECLS

struct OrrNode;

/* A place in a document. @file is interned (g_intern_string), never freed; line and column count
 * from 1; line 0 means "the whole file". */
typedef struct {
  const char *file;
  int line;
  int column;
  /* what stands there, for orr_node_place_in; only while its tree lives. NULL: not told */
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

/* All diagnostics in the order of file, line, column, one a line: "FILE:LINE:COLUMN: error:
 * MESSAGE\n". What is found in one place keeps the order of finding. Messages are one line:
 * control characters in them are escaped. Newly allocated; "" when there are none. */
char *orr_diags_text(const OrrDiags *diags);

/* TRUE when there is no error; else FALSE with @error set to ORR_FAULT_DOCUMENT and the text of
 * all of them, with no newline at the end. */
gboolean orr_diags_check(const OrrDiags *diags, GError **error);

/* The entry of @words (NULL-terminated) nearest to @word by edit distance, or NULL when none is
 * near enough (more than a third of the letters differ; case, and '-' or '_', are no
 * difference). Points into @words. */
const char *orr_diag_nearest_word(const char *word, const char *const *words);

G_END_DECLS

#endif

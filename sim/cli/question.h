/*
 * question.h - shared by the verbs that query the results database: parses run numbers and values
 * of parameters, and checks names of views.
 */
#ifndef ORR_QUESTION_H
#define ORR_QUESTION_H

#include "results/store.h"

G_BEGIN_DECLS

/* Parses "NAME=VALUE" texts (@params may be NULL) into an array of OrrBinding; the array owns
 * their texts. NULL with ORR_FAULT_USAGE. */
GArray *orr_question_bindings(char **params, GError **error);

/* Refuses a single word that does not name a view: SQL has blanks, so the word must be a misspelt
 * view. */
/* Why @view has no rows: which runs have some, and that none has what @bindings ask for. Newly
 * allocated. */
char *orr_question_empty(const OrrView *view, const GArray *bindings);

gboolean orr_question_check_view(const char *question, GError **error);

/* Parses the number of a run. */
gboolean orr_question_run(const char *word, gint64 *ret_run, GError **error);

G_END_DECLS

#endif

/*
 * question.h - what the verbs that ask the results database share: names of views and runs, values
 * for parameters.
 */
#ifndef ORR_QUESTION_H
#define ORR_QUESTION_H

#include "results/store.h"

G_BEGIN_DECLS

/* "NAME=VALUE" texts (may be NULL) as OrrBinding, which point into copies that go with the
 * array. NULL with ORR_FAULT_USAGE. */
GArray *orr_question_bindings(char **params, GError **error);

/* A lone word that is no view is a misspelt one: SQL has blanks. */
gboolean orr_question_check_view(const char *question, GError **error);

/* A run's number as a word of the command line. */
gboolean orr_question_run(const char *word, gint64 *ret_run, GError **error);

G_END_DECLS

#endif

/*
 * page.h - the text of an answer: lines that begin with a label, and the words in them.
 *
 *   g_autoptr(OrrPage) page = orr_page_new();
 *   orr_page_line(page, "memory", "%s at the peak", orr_page_bytes(page, peak));
 *   if (is_over) orr_page_more(page, ": it does NOT fit");
 *   orr_page_print(page);
 *
 *     memory        35.5 GiB at the peak: it does NOT fit
 *
 * The page owns the words that its functions return, so that a line is one call.
 */
#pragma once

#include "results/store.h"
#include "sim/base/quantity.h"
#include "sim/run/run_private.h"

typedef struct OrrPage OrrPage;

OrrPage *orr_page_new(void);
void orr_page_free(OrrPage *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrPage, orr_page_free)

/* From here on the page calls GPUs what the device's document calls them: @noun, "chip"
 * (device.noun), which is copied. */
void orr_page_call(OrrPage *page, const char *noun);

/* Prints the text to stdout; the page is empty then. */
void orr_page_print(OrrPage *page);
/* The text; frees the page. Newly allocated. */
char *orr_page_end(OrrPage *page);

/* A line of its own. @label: at most 13 letters; "" continues the line above. */
void orr_page_line(OrrPage *page, const char *label, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Appends to the last line. */
void orr_page_more(OrrPage *page, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Appends to the last line an item of a list: with ", " before it, unless it is the first after the
 * label or after '('. */
void orr_page_item(OrrPage *page, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Appends @format as it stands. */
void orr_page_add(OrrPage *page, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Words, which live as long as the page. */
const char *orr_page_keep(OrrPage *page, char *text); /* takes @text; NULL: "" */
const char *orr_page_text(OrrPage *page, const char *format, ...) G_GNUC_PRINTF(2, 3);
const char *orr_page_quantity(OrrPage *page, double value, OrrUnit unit); /* quantity.h */
const char *orr_page_seconds(OrrPage *page, double value);
const char *orr_page_bytes(OrrPage *page, double value);
const char *orr_page_watts(OrrPage *page, double value);
const char *orr_page_percent(OrrPage *page, double fraction);         /* cli.h */
const char *orr_page_count(OrrPage *page, double count);              /* rounded */
const char *orr_page_things(OrrPage *page, gint64 n, const char *of); /* "1 GPU", "2 GPUs" */

/* run_jobs.c: `orrery run` for a scenario of several jobs. */

typedef struct {
  const char *file;     /* the scenario's file or name, as on the command line */
  OrrStore *store;      /* NULL: nothing is stored */
  const char *database; /* its path */
  gboolean as_json, keep_spans;
  guint many_spans;      /* a job with more spans stores none; 0: no limit */
  const char *label;     /* of every job's run; NULL: none */
  double level;          /* of error bands */
  const GPtrArray *said; /* of char *: warnings that are printed, which the answers have, too */
} OrrRunJobs;

/* Simulates, stores and prints the jobs; returns the exit status. */
int orr_run_jobs(OrrLibrary *library, const OrrScenario *scenario, const OrrRunJobs *how,
                 GError **error);

/* question.c: shared by the verbs that query the results database: parses run numbers and values
 * of parameters, and checks names of views. */

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

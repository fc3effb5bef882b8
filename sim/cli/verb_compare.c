/*
 * verb_compare.c - orrery compare DB RUN RUN: prints how the inputs, the results and the times of
 * two runs differ. Each table is a view: compare-inputs, compare-results, compare-time.
 */
#include <stdio.h>

#include "sim/base/fault.h"
#include "sim/cli/cli.h"
#include "sim/cli/compare_verdict.h"
#include "sim/cli/question.h"

static gboolean as_json, as_markdown;

static const GOptionEntry options[] = {
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json,
     "Print one JSON object: the tables as arrays, and verdicts", NULL},
    {"markdown", 0, 0, G_OPTION_ARG_NONE, &as_markdown, "Print Markdown tables", NULL},
    {NULL},
};

static const struct {
  const char *view, *heading, *same;
} parts[] = {
    {"compare-inputs", "Inputs", "none: the inputs are equal"},
    {"compare-results", "Results", "no results to compare"},
    {"compare-time", "Times", "no times to compare"},
};
enum { N_PARTS = G_N_ELEMENTS(parts) };

static void print_parts(OrrAnswer *const *answers, const char *other, const char *this) {
  for (guint i = 0; i < N_PARTS; i++) {
    g_autofree char *table =
        as_markdown ? orr_answer_markdown(answers[i]) : orr_answer_table(answers[i]);
    if (as_markdown)
      printf("%s## %s: run %s against run %s\n\n", i > 0 ? "\n" : "", parts[i].heading, this,
             other);
    else
      printf("%s%s: run %s against run %s\n\n", i > 0 ? "\n" : "", parts[i].heading, this, other);
    if (answers[i]->rows->len > 0)
      fputs(table, stdout);
    else
      printf("%s\n", parts[i].same);
  }
}

static void print_verdicts(const OrrVerdicts *verdicts, const char *other, const char *this) {
  g_autofree char *text =
      as_markdown ? orr_compare_verdict_markdown(verdicts) : orr_compare_verdict_lines(verdicts);
  printf("\n%sWhich is better: run %s against run %s\n\n%s", as_markdown ? "## " : "", this, other,
         text);
}

static void print_json(OrrAnswer *const *answers, const OrrVerdicts *verdicts) {
  for (guint i = 0; i < N_PARTS; i++) {
    g_autofree char *rows = orr_answer_json(answers[i]);
    printf("%s\"%s\": %s", i > 0 ? ",\n" : "{", parts[i].view, g_strchomp(rows));
  }
  g_autofree char *judged = orr_compare_verdict_json(verdicts);
  printf(",\n%s}\n", judged);
}

static gboolean check_same_kind(OrrStore *store, const char *other, const char *this,
                                GError **error) {
  const OrrBinding pair[] = {{"this", this}, {"other", other}};
  g_autoptr(OrrAnswer) runs = orr_store_ask(
      store, "SELECT id, kind FROM run WHERE id IN (:this, :other) ORDER BY id = :this", 0, pair, 2,
      error);
  if (!runs) return FALSE;
  if (g_ascii_strtoll(other, NULL, 10) == g_ascii_strtoll(this, NULL, 10))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "run %s compared with itself: give two different runs", this);
  else if (runs->rows->len < 2)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "there is no run %s: 'orrery query DB runs' lists the runs",
                runs->rows->len == 1 && g_str_equal(((char **)runs->rows->pdata[0])[0], this)
                    ? other
                    : this);
  else if (!g_str_equal(((char **)runs->rows->pdata[0])[1], ((char **)runs->rows->pdata[1])[1]))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "run %s is of kind %s and run %s of kind %s: their results cannot be compared",
                other, ((char **)runs->rows->pdata[0])[1], this,
                ((char **)runs->rows->pdata[1])[1]);
  else
    return TRUE;
  return FALSE;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  gint64 other = 0, this = 0;
  if (!orr_cli_check_args(args, 3, 3, "compare takes a database and the numbers of two runs",
                          error) ||
      !orr_question_run(args[1], &other, error) || !orr_question_run(args[2], &this, error))
    return 2;
  if (as_json && as_markdown) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "give --json or --markdown, not both");
    return 2;
  }
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  if (!store || !check_same_kind(store, args[1], args[2], error)) return 1;
  OrrAnswer *answers[N_PARTS] = {NULL};
  gboolean has_answers = TRUE;
  for (guint i = 0; i < N_PARTS && has_answers; i++) {
    answers[i] =
        orr_store_ask(store, parts[i].view, this, &(OrrBinding){"other", args[1]}, 1, error);
    has_answers = answers[i] != NULL;
  }
  g_autoptr(OrrVerdicts) verdicts =
      has_answers ? orr_compare_verdict_new(library, store, other, this, error) : NULL;
  if (verdicts && as_json) {
    print_json(answers, verdicts);
  } else if (verdicts) {
    print_parts(answers, args[1], args[2]);
    print_verdicts(verdicts, args[1], args[2]);
  }
  for (guint i = 0; i < N_PARTS; i++) orr_answer_free(answers[i]);
  return verdicts ? 0 : 1;
}

const OrrCommand orr_verb_compare = {
    .verb = "compare",
    .sentence = "Compare two runs: their inputs, their results, and where the time went.",
    .usage = "DB RUN RUN [--json|--markdown]",
    .more =
        "Prints the changes of the second run against the first. The three tables are the "
        "views compare-inputs, compare-results and compare-time. Then says which run is better, "
        "and how sure that is, from measured pairs that differ in the same way.",
    .options = options,
    .run = run,
};

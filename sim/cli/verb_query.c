/*
 * verb_query.c - orrery query DB SQL-or-VIEW: asks the results database.
 */
#include <stdio.h>
#include <string.h>

#include "results/store.h"
#include "sim/base/fault.h"
#include "sim/cli/cli.h"

static gint64 run_id;
static gboolean as_csv, as_json;

static const GOptionEntry options[] = {
    {"run", 0, 0, G_OPTION_ARG_INT64, &run_id, "Show run N instead of the newest", "N"},
    {"csv", 0, 0, G_OPTION_ARG_NONE, &as_csv, "Print CSV (RFC 4180)", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print an array of JSON objects", NULL},
    {NULL},
};

/* A lone word that is no view is a misspelt one: SQL has blanks. */
static gboolean check_view(const char *question, GError **error) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  if (orr_view_find(question) || strpbrk(question, " \n(;")) return TRUE;
  g_autofree const char **names = g_new0(const char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = views[i].name;
  orr_cli_unknown("view", question, names, error);
  return FALSE;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  (void)library;
  if (!orr_cli_check_args(args, 2, 2, "query wants a database and a question: SQL, or a name of 'orrery list views'",
                          error))
    return 2;
  if (as_csv && as_json) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--csv or --json, not both");
    return 2;
  }
  if (!check_view(args[1], error)) return 2;
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  g_autoptr(OrrAnswer) answer = store ? orr_store_query(store, args[1], run_id, error) : NULL;
  if (!answer) return 1;
  g_autofree char *text = as_csv    ? orr_answer_csv(answer)
                          : as_json ? orr_answer_json(answer)
                                    : orr_answer_table(answer);
  fputs(text, stdout);
  return 0;
}

const OrrCommand orr_verb_query = {
    .verb = "query",
    .sentence = "Ask the results database: SQL, or a named view.",
    .usage = "DB SQL-or-VIEW [--run N] [--csv|--json]",
    .more = "Views are one question each: 'orrery list views', 'orrery describe view NAME'. SQL is read-only.",
    .options = options,
    .run = run,
};

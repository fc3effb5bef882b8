/*
 * verb_query.c - orrery query DB SQL-or-VIEW: queries a results database.
 */
#include <stdio.h>

#include "results/store.h"
#include "sim/base/fault.h"
#include "sim/cli/cli.h"
#include "sim/cli/question.h"

static gint64 run_id;
static gboolean as_csv, as_json, as_markdown;
static char **params;

static const GOptionEntry options[] = {
    {"run", 0, 0, G_OPTION_ARG_INT64, &run_id, "Show run N instead of the newest run", "N"},
    {"csv", 0, 0, G_OPTION_ARG_NONE, &as_csv, "Print CSV (RFC 4180)", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print an array of JSON objects", NULL},
    {"markdown", 0, 0, G_OPTION_ARG_NONE, &as_markdown, "Print a Markdown table", NULL},
    {"param", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &params,
     "Set a parameter of the query; may be repeated", "NAME=VALUE"},
    {NULL},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  (void)library;
  if (!orr_cli_check_args(
          args, 2, 2, "query takes a database, and SQL or a name from 'orrery list views'", error))
    return 2;
  if (as_csv + as_json + as_markdown > 1) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "give at most one of --csv, --json and --markdown");
    return 2;
  }
  g_autoptr(GArray) bindings = orr_question_bindings(params, error);
  if (!bindings || !orr_question_check_view(args[1], error)) return 2;
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  const OrrBinding *values = (const OrrBinding *)bindings->data;
  g_autoptr(OrrAnswer) answer =
      store ? orr_store_ask(store, args[1], run_id, values, bindings->len, error) : NULL;
  if (!answer) return 1;
  g_autofree char *text = as_csv        ? orr_answer_csv(answer)
                          : as_json     ? orr_answer_json(answer)
                          : as_markdown ? orr_answer_markdown(answer)
                                        : orr_answer_table(answer);
  fputs(text, stdout);
  return 0;
}

const OrrCommand orr_verb_query = {
    .verb = "query",
    .sentence = "Query the results database with SQL or a named view.",
    .usage = "DB SQL-or-VIEW [--run N] [--param NAME=VALUE]... [--csv|--json|--markdown]",
    .more = "Each view answers one question: see 'orrery list views' and 'orrery describe view "
            "NAME'. SQL is read-only.\n"
            ":run is the newest simulation; with a first line '-- about: validation', it is the "
            "newest run of that kind.",
    .options = options,
    .run = run,
};

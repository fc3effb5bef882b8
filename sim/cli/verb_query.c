/*
 * verb_query.c - orrery query [DB [SQL-or-VIEW]]: queries a results database, or lists its
 * views.
 */
#include "sim/cli/cli.h"
#include "sim/cli/page.h"

static gint64 run_id;
static char **params;

static const GOptionEntry options[] = {
    ORR_OPTION_INT64("run", run_id, "Show run N instead of the newest run"),
    ORR_OPTION_CSV("Print CSV (RFC 4180)"),
    ORR_OPTION_JSON("an array of JSON objects"),
    ORR_OPTION_MARKDOWN("a Markdown table"),
    ORR_OPTION_TEXTS("param", params, "NAME=VALUE",
                     "Set a parameter of the query; may be repeated"),
    {NULL},
};

/* --- Without a view --- */

static void list_named(void) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  printf("orrery query DB NAME:\n");
  for (guint i = 0; i < n; i++) {
    g_autofree char *runs = orr_view_rows_from(&views[i]);
    printf("  %-20s %s\n  %-20s rows for %s\n", views[i].name, views[i].question, "", runs);
  }
}

/* The views that lie in the database, with the comment that each begins with. */
static gboolean list_stored(const char *database, GError **error) {
  g_autoptr(OrrStore) store = orr_store_open_read(database, error);
  g_autoptr(OrrAnswer) views =
      store ? orr_store_query(store,
                              "SELECT name, iif(instr(sql, '-- '), substr(sql, instr(sql, '-- ') + "
                              "3, instr(substr(sql, instr(sql, '-- ') + 3), char(10)) - 1), '') "
                              "FROM sqlite_schema WHERE type = 'view' ORDER BY name",
                              0, error)
            : NULL;
  if (!views) return FALSE;
  printf("orrery query DB \"SELECT * FROM NAME\", or any client of SQLite, over all runs:\n");
  ORR_EACH_POINTER(char *, row, views->rows) printf("  %-20s %s\n", row[0], row[1]);
  return TRUE;
}

static int list(const char *database, GError **error) {
  list_named();
  return !database || list_stored(database, error) ? 0 : 1;
}

/* A view without rows: which runs have some. To stderr, since the answer itself is complete. */
static void explain_empty(const char *name, const OrrAnswer *answer, const GArray *bindings) {
  const OrrView *view = orr_view_find(name);
  if (!view || answer->rows->len > 0) return;
  g_autofree char *why = orr_question_empty(view, bindings);
  fprintf(stderr, "orrery: no rows here: %s\n", why);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 0, 2, "query takes a database, and SQL or a name from 'orrery list views'", error))
    return 2;
  if (!args[0] || !args[1]) return list(args[0], error);
  if (!orr_options_check_form(error)) return 2;
  g_autoptr(GArray) bindings = orr_question_bindings(params, error);
  if (!bindings || !orr_question_check_view(args[1], error)) return 2;
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  const OrrBinding *values = (const OrrBinding *)bindings->data;
  g_autoptr(OrrAnswer) answer =
      store ? orr_store_ask(store, args[1], run_id, values, bindings->len, error) : NULL;
  if (!answer) return 1;
  g_autofree char *text = orr_options_answer(answer);
  fputs(text, stdout);
  explain_empty(args[1], answer, bindings);
  return 0;
}

const OrrCommand orr_verb_query = {
    .verb = "query",
    .group = "Look",
    .sentence = "Query the results database with SQL or a named view.",
    .usage = "DB SQL-or-VIEW [--run N] [--param NAME=VALUE]... [--csv|--json|--markdown] | [DB]",
    .more = "Each view answers one question: see 'orrery list views' and 'orrery describe view "
            "NAME'. SQL is read-only. Without one, query lists the views, the runs that have rows "
            "for each, and the views in DB.\n"
            ":run is the newest simulation; with a first line '-- about: validation', it is the "
            "newest run of that kind.",
    .options = options,
    .run = run,
};

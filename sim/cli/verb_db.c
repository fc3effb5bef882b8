/*
 * verb_db.c - orrery db ACTION DB: maintains a results database; one table entry per action.
 */
#include <glib/gstdio.h>

#include "sim/base/paths.h"
#include "sim/cli/cli.h"

static const GOptionEntry options[] = {
    ORR_OPTION('o', FILENAME, "output", orr_options.output, "DIR",
               "export: write into DIR, which is created if needed (default: DB.csv.d)"),
    {NULL},
};

typedef struct {
  const char *name, *takes;
  guint least, most;                       /* arguments, including the action's name */
  int (*act)(char **args, GError **error); /* args: the database and further arguments */
} Action;

static gint64 file_size(const char *path) {
  GStatBuf facts;
  return g_stat(path, &facts) == 0 ? facts.st_size : 0;
}

static int info(char **args, GError **error) {
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  g_autoptr(OrrAnswer) version =
      store ? orr_store_query(store, "PRAGMA user_version", 0, error) : NULL;
  g_autoptr(OrrAnswer) kinds =
      version
          ? orr_store_query(
                store,
                "SELECT kind, count(*) AS runs, min(started_at) AS first, max(started_at) AS last"
                " FROM run GROUP BY kind ORDER BY kind",
                0, error)
          : NULL;
  g_autoptr(OrrAnswer) tables = kinds ? orr_store_tables(store, error) : NULL;
  if (!tables) return 1;
  g_autofree char *size = g_format_size_full(file_size(args[0]), G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *runs = orr_answer_table(kinds), *rows = orr_answer_table(tables);
  printf("%s: %s, schema version %s\n\n%s\n%s", args[0], size,
         ((char **)version->rows->pdata[0])[0], runs, rows);
  return 0;
}

static int vacuum(char **args, GError **error) {
  const gint64 before = file_size(args[0]);
  if (before == 0) { /* opening it for writing would create it */
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: no such results database", args[0]);
    return 1;
  }
  g_autoptr(OrrStore) store = orr_store_open(args[0], error);
  if (!store || !orr_store_vacuum(store, error)) return 1;
  g_clear_pointer(&store, orr_store_free);
  g_autofree char *was = g_format_size_full(before, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *is = g_format_size_full(file_size(args[0]), G_FORMAT_SIZE_IEC_UNITS);
  printf("%s: %s, was %s\n", args[0], is, was);
  return 0;
}

static int export_tables(char **args, GError **error) {
  g_autofree char *folder =
      orr_options.output ? g_strdup(orr_options.output) : g_strconcat(args[0], ".csv.d", NULL);
  const OrrPath paths[] = {{"the database", args[0], ORR_PATH_READ, TRUE},
                           {"-o", folder, ORR_PATH_WRITTEN, FALSE, TRUE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  if (!store || !orr_store_export(store, folder, error)) return 1;
  printf("%s\n", folder);
  return 0;
}

static gboolean merge_all(OrrStore *store, char **paths, OrrMergeFacts *facts, GError **error) {
  for (guint i = 0; paths[i]; i++)
    if (!orr_store_merge(store, paths[i], &facts[i], error)) return FALSE;
  return orr_store_end_batch(store, error);
}

static void print_merged(char **paths, const OrrMergeFacts *facts) {
  for (guint i = 0; paths[i]; i++) {
    printf("%s: %ld %s added", paths[i], facts[i].runs, facts[i].runs == 1 ? "run" : "runs");
    if (facts[i].points) printf(", %ld points of sweeps", facts[i].points);
    if (facts[i].duplicates) printf("; %ld exist already and are skipped", facts[i].duplicates);
    if (facts[i].differing)
      printf("; %ld have the hash of an existing one but different rows (runs are added, points "
             "are not)",
             facts[i].differing);
    printf("\n");
  }
}

static gboolean check_merge(char **args, GError **error) {
  g_autoptr(GArray) paths = g_array_new(FALSE, FALSE, sizeof(OrrPath));
  for (char **path = args; *path; path++)
    ORR_APPEND(paths, OrrPath,
               {path == args ? "db merge" : "the database to merge", *path,
                path == args ? ORR_PATH_WRITTEN : ORR_PATH_READ, TRUE});
  return orr_paths_check((const OrrPath *)paths->data, paths->len, error);
}

/* Merges all databases or none: a database that was created for it is removed on failure. */
static int merge(char **args, GError **error) {
  if (!check_merge(args, error)) return 2;
  const gboolean is_new = file_size(args[0]) == 0,
                 was_there = g_file_test(args[0], G_FILE_TEST_EXISTS);
  g_autofree OrrMergeFacts *facts = g_new0(OrrMergeFacts, g_strv_length(args));
  g_autoptr(OrrStore) store = orr_store_open(args[0], error);
  const gboolean merged =
      store && orr_store_begin_batch(store, error) && merge_all(store, args + 1, facts, error);
  if (store && !merged) g_prefix_error(error, "nothing was merged: ");
  g_clear_pointer(&store, orr_store_free);
  if (!merged && is_new && !was_there) g_unlink(args[0]);
  if (merged) print_merged(args + 1, facts);
  return merged ? 0 : 1;
}

static const Action actions[] = {
    {"export", "db export takes a database", 2, 2, export_tables},
    {"info", "db info takes a database", 2, 2, info},
    {"merge", "db merge takes a database and the databases to merge into it", 3, G_MAXUINT, merge},
    {"vacuum", "db vacuum takes a database", 2, 2, vacuum},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, G_MAXUINT,
                          "db takes an action (export, info, log, merge, vacuum) and a database",
                          error))
    return 2;
  const char *names[G_N_ELEMENTS(actions) + 2] = {NULL};
  for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
    const Action *action = &actions[i];
    if (strcmp(action->name, args[0]) == 0)
      return orr_cli_check_args(args, action->least, action->most, action->takes, error)
                 ? action->act(args + 1, error)
                 : 2;
    names[i] = actions[i].name;
  }
  names[G_N_ELEMENTS(actions)] = orr_verb_db_log.verb;
  if (strcmp(args[0], orr_verb_db_log.verb) == 0)
    return orr_fault_set(error, ORR_FAULT_USAGE, "log comes first: orrery db log [DB]") ? 0 : 2;
  return orr_cli_unknown("action", args[0], names, error);
}

static const OrrCommand *const parts[] = {&orr_verb_db_log, NULL};

const OrrCommand orr_verb_db = {
    .verb = "db",
    .group = "Look",
    .sentence = "Look after a results database: log, export, info, merge, vacuum.",
    .usage = "export|info|merge|vacuum DB [OTHER]... [-o DIR] | log [DB]",
    .more = "export writes every table as a CSV file. info prints size, schema version, runs and "
            "rows. vacuum frees unused space.\n"
            "merge copies the runs of OTHER... into DB, all or none, and creates DB if needed. "
            "Runs get new numbers, points of the same sweep join it, and existing rows are skipped "
            "and listed.",
    .options = options,
    .run = run,
    .part = "action",
    .parts = parts,
};

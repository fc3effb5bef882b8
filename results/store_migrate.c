/*
 * store_migrate.c - migrates databases of older versions when they are opened for writing.
 *
 *   version 1   0.1.0's first databases
 *   version 2   run.origin; metric_def.unit is 'run' for a column that holds a run's number, so
 *               that merging (store_merge.c) can map it without knowing what the table means; the
 *               text of a sweep's point no longer names the sweep's run, whose number can change
 *
 * A step removes nothing, so an older Orrery that has the file open continues to work. All steps
 * are one transaction. Opening for reading changes nothing: views supply missing tables and columns
 * themselves (views.c).
 *
 * To add a version: a step below, its line above, ORR_STORE_VERSION, the schema in store.c, and a
 * file of the version before in tests/results/.
 */
#include "results/store_private.h"

/* Columns of version 1 that hold runs' numbers. */
#define REFERENCES "('job', 'first_run'), ('sweep_point', 'sweep')"

/* "# The scenario of run 7 with", above a point's settings. */
#define RESOLVED                                                                                   \
  "CASE WHEN resolved LIKE '# The scenario of run % with%'"                                        \
  " THEN '# The scenario of the sweep with' || substr(resolved, instr(resolved, char(10))) ELSE "  \
  "resolved END"

const char orr_store_resolved[] = RESOLVED;

/* Step i turns version i into version i + 1. */
static const char *const steps[ORR_STORE_VERSION] = {
    NULL,
    "ALTER TABLE run ADD COLUMN origin TEXT;"
    "INSERT OR REPLACE INTO metric_def VALUES ('run', 'origin', '', '" ORR_STORE_ORIGIN_SENTENCE
    "');"
    "UPDATE metric_def SET unit = 'run' WHERE (table_name, name) IN (VALUES " REFERENCES ");"
    "UPDATE run SET resolved = " RESOLVED " WHERE resolved LIKE '# The scenario of run %'",
};

static gboolean take_steps(const OrrStore *store, GError **error) {
  gint64 version = 0; /* read again, since another process may have migrated it */
  if (!orr_store_ask_number(store, "PRAGMA user_version", &version, error)) return FALSE;
  for (; version < ORR_STORE_VERSION; version++)
    if (!orr_store_exec(store, steps[version], error)) return FALSE;
  return orr_store_exec(store, "PRAGMA user_version = " G_STRINGIFY(ORR_STORE_VERSION), error);
}

gboolean orr_store_migrate(const OrrStore *store, GError **error) {
  gint64 version = 0;
  if (!orr_store_ask_number(store, "PRAGMA user_version", &version, error)) return FALSE;
  if (version >= ORR_STORE_VERSION) return TRUE;
  if (!orr_store_exec(store, "BEGIN IMMEDIATE", error)) return FALSE;
  if (take_steps(store, error) && orr_store_exec(store, "COMMIT", error)) return TRUE;
  sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

gboolean orr_store_was_reference(const char *table, const char *column) {
  g_autofree char *pair = g_strdup_printf("('%s', '%s')", table, column);
  return strstr(REFERENCES, pair) != NULL;
}

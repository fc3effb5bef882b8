/*
 * store_merge.c - runs of one database copied into another: shards of a sweep, or what a colleague ran.
 *
 * Every table of the other database is copied by the names of its columns, whatever this program knows of it: a table
 * or a column that is not here is made, with its metric_def rows. All in one transaction: runs come whole or not at
 * all. A run that is here already is left as it is, so merging again, or after it was cut short, does no harm.
 *
 * Numbers of runs move by a shift; 0 keeps them. Those are run.id, run_id of every other table, and `sweep` of
 * sweep_point. The text of a sweep's point ("# The scenario of run 7 with ...") moves with them.
 */
#include <string.h>

#include "results/store_private.h"
#include "sim/base/fault.h"

typedef struct {
  OrrStore *store;
  gint64 shift;
} Merge;

/* The first column of all rows of @sql; NULL with @error. */
static GPtrArray *ask_texts(const OrrStore *store, const char *sql, GError **error) {
  g_autoptr(sqlite3_stmt) stmt = orr_store_prepare(store, sql, error);
  if (!stmt) return NULL;
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  int code;
  while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
    g_ptr_array_add(texts, g_strdup((const char *)sqlite3_column_text(stmt, 0)));
  if (code == SQLITE_DONE) return g_steal_pointer(&texts);
  orr_store_fail(store, "cannot be merged into", error);
  return NULL;
}

/* --- The schema --- */

static gboolean exec_each(const OrrStore *store, const char *ask, GError **error) {
  g_autoptr(GPtrArray) statements = ask_texts(store, ask, error);
  for (guint i = 0; statements && i < statements->len; i++)
    if (!orr_store_exec(store, statements->pdata[i], error)) return FALSE;
  return statements != NULL;
}

/* Statements are those that made the other database's tables (store_rows.c). Tables come before their indexes. */
static gboolean add_schema(const OrrStore *store, GError **error) {
  return exec_each(store,
                   "SELECT sql FROM other.sqlite_schema AS o WHERE type IN ('table', 'index') AND sql IS NOT NULL"
                   " AND name NOT LIKE 'sqlite_%'"
                   " AND NOT EXISTS (SELECT 1 FROM main.sqlite_schema AS m WHERE m.type = o.type AND m.name = o.name)"
                   " ORDER BY type DESC, name",
                   error) &&
         exec_each(store,
                   "SELECT format('ALTER TABLE main.\"%w\" ADD COLUMN \"%w\" %s', t.name, c.name, c.type)"
                   " FROM other.sqlite_schema AS t, pragma_table_info(t.name, 'other') AS c WHERE t.type = 'table'"
                   " AND c.name NOT IN (SELECT name FROM pragma_table_info(t.name, 'main')) ORDER BY t.name, c.cid",
                   error) &&
         orr_store_exec(store, "INSERT OR IGNORE INTO main.metric_def SELECT * FROM other.metric_def", error);
}

/* --- The rows --- */

static gboolean is_run_number(const char *table, const char *column) {
  return strcmp(column, "run_id") == 0 || (strcmp(table, "run") == 0 && strcmp(column, "id") == 0) ||
         (strcmp(table, "sweep_point") == 0 && strcmp(column, "sweep") == 0);
}

/* What is selected for a column: itself, or itself moved. */
static char *moved(const Merge *merge, const char *table, const char *column) {
  if (merge->shift == 0) return g_strdup_printf("\"%s\"", column);
  if (is_run_number(table, column)) return g_strdup_printf("\"%s\" + %" G_GINT64_FORMAT, column, merge->shift);
  if (strcmp(table, "run") != 0 || strcmp(column, "resolved") != 0) return g_strdup_printf("\"%s\"", column);
  return g_strdup_printf("CASE WHEN resolved LIKE '# The scenario of run %% with%%' THEN '# The scenario of run '"
                         " || (CAST(substr(resolved, 23) AS INTEGER) + %" G_GINT64_FORMAT ")"
                         " || substr(resolved, instr(resolved, ' with')) ELSE resolved END",
                         merge->shift);
}

static gboolean copy_table(const Merge *merge, const char *table, GError **error) {
  const gboolean is_run = strcmp(table, "run") == 0;
  g_autofree char *ask = g_strdup_printf("SELECT name FROM pragma_table_info('%s', 'other')", table);
  g_autoptr(GPtrArray) columns = ask_texts(merge->store, ask, error);
  if (!columns) return FALSE;
  g_autoptr(GString) into = g_string_new(NULL), from = g_string_new(NULL);
  for (guint i = 0; i < columns->len; i++) {
    g_autofree char *value = moved(merge, table, columns->pdata[i]);
    g_string_append_printf(into, "%s\"%s\"", i > 0 ? ", " : "", (char *)columns->pdata[i]);
    g_string_append_printf(from, "%s%s", i > 0 ? ", " : "", value);
  }
  g_autofree char *sql = g_strdup_printf("INSERT INTO main.\"%s\" (%s) SELECT %s FROM other.\"%s\" WHERE %s IN"
                                         " (SELECT id FROM temp.merged)",
                                         table, into->str, from->str, table, is_run ? "id" : "run_id");
  return orr_store_exec(merge->store, sql, error);
}

static gboolean copy_rows(const Merge *merge, GError **error) {
  if (!copy_table(merge, "run", error)) return FALSE; /* what the others refer to */
  g_autoptr(GPtrArray) tables =
      ask_texts(merge->store,
                "SELECT name FROM other.sqlite_schema AS t WHERE type = 'table' AND name <> 'run' AND EXISTS"
                " (SELECT 1 FROM pragma_table_info(t.name, 'other') WHERE name = 'run_id') ORDER BY name",
                error);
  for (guint i = 0; tables && i < tables->len; i++)
    if (!copy_table(merge, tables->pdata[i], error)) return FALSE;
  return tables != NULL;
}

/* --- The whole --- */

static gboolean note_runs(const Merge *merge, const OrrStoreSpan *span, guint64 *ret_n, GError **error) {
  g_autofree char *sql =
      g_strdup_printf("CREATE TEMP TABLE merged AS SELECT id FROM other.run WHERE id BETWEEN %" G_GINT64_FORMAT
                      " AND %" G_GINT64_FORMAT " AND id + %" G_GINT64_FORMAT " NOT IN (SELECT id FROM main.run)",
                      span->first, span->last, merge->shift);
  if (!orr_store_exec(merge->store, sql, error)) return FALSE;
  g_autoptr(GPtrArray) count = ask_texts(merge->store, "SELECT count(*) FROM temp.merged", error);
  if (count) *ret_n = g_ascii_strtoull(count->pdata[0], NULL, 10);
  return count != NULL;
}

static gboolean attach(const OrrStore *store, const char *path, GError **error) {
  gboolean is_fresh = FALSE;
  if (!orr_store_file_check(path, &is_fresh, error)) return FALSE;
  if (is_fresh) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: there is no such results database, or it is empty", path);
    return FALSE;
  }
  g_autofree char *absolute = g_canonicalize_filename(path, NULL);
  g_autoptr(sqlite3_stmt) stmt = orr_store_prepare(store, "ATTACH ?1 AS other", error);
  if (!stmt) return FALSE;
  sqlite3_bind_text(stmt, 1, absolute, -1, SQLITE_STATIC);
  return orr_store_step(store, stmt, path, error);
}

/* A file whose maker was killed before its first commit has none: SQLite rolled it back to nothing. */
static gboolean has_runs(const OrrStore *store) {
  g_autoptr(GPtrArray) n = ask_texts(store, "SELECT count(*) FROM other.sqlite_schema WHERE name = 'run'", NULL);
  return !n || strcmp(n->pdata[0], "0") != 0;
}

gboolean orr_store_merge(OrrStore *store, const char *path, const OrrStoreSpan *span, guint64 *ret_n, GError **error) {
  const Merge merge = {store, span->shift};
  guint64 n = 0;
  if (!attach(store, path, error)) return FALSE;
  const gboolean is_made = has_runs(store);
  gboolean fine = !is_made || orr_store_exec(store, "BEGIN IMMEDIATE", error);
  if (fine && is_made) {
    fine = note_runs(&merge, span, &n, error) && add_schema(store, error) && copy_rows(&merge, error) &&
           orr_store_exec(store, "DROP TABLE temp.merged; COMMIT", error);
    if (!fine) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  }
  orr_store_forget_inserts(store); /* their tables may have gained columns, or be gone with the transaction */
  sqlite3_exec(store->db, "DETACH other", NULL, NULL, NULL);
  if (!fine) g_prefix_error(error, "merging %s: ", path);
  if (fine && ret_n) *ret_n = n;
  return fine;
}

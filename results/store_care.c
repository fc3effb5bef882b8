/*
 * store_care.c - maintains a database: lists tables, vacuums, removes runs, exports.
 */
#include <glib/gstdio.h>

#include "results/store_private.h"
#include "sim/base/file.h"

/* A row of two cells in one block, as an answer frees it. */
static char **row_of(const char *first, const char *second) {
  const gsize n = strlen(first) + 1, n_second = strlen(second) + 1;
  char **cells = g_malloc(2 * sizeof *cells + n + n_second);
  cells[0] = memcpy(cells + 2, first, n);
  cells[1] = memcpy(cells[0] + n, second, n_second);
  return cells;
}

/* The name of one table and how many rows it has. */
static char **count_rows(OrrStore *store, const char *name, GError **error) {
  char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", name);
  g_autoptr(OrrAnswer) count = orr_store_query(store, sql, 0, error);
  sqlite3_free(sql);
  return count ? row_of(name, ((char **)count->rows->pdata[0])[0]) : NULL;
}

/* The query selects a second cell per row to make room for the count. Virtual tables (rootpage 0)
 * are skipped, since reading one runs its module. */
OrrAnswer *orr_store_tables(OrrStore *store, GError **error) {
  g_autoptr(OrrAnswer) tables = orr_store_query(
      store,
      "SELECT name AS \"table\", 0 AS rows FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
      " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      0, error);
  if (!tables) return NULL;
  for (guint r = 0; r < tables->rows->len; r++) {
    char **row = tables->rows->pdata[r], **counted = count_rows(store, row[0], error);
    if (!counted) return NULL;
    g_free(row);
    tables->rows->pdata[r] = counted;
  }
  return g_steal_pointer(&tables);
}

gboolean orr_store_vacuum(OrrStore *store, GError **error) {
  return orr_store_exec(store, "PRAGMA wal_checkpoint(TRUNCATE)", error) &&
         orr_store_exec(store, "VACUUM", error);
}

gboolean orr_store_remove_run(OrrStore *store, gint64 run_id, GError **error) {
  g_autofree char *view = g_strdup_printf("points_%ld", run_id); /* of a sweep */
  g_autofree char *sql = g_strdup_printf(
      "DELETE FROM run WHERE id = %ld%s%s", run_id,
      g_strcmp0(orr_foreign_kind(store->db, view), "view") == 0 ? "; DROP VIEW " : "",
      g_strcmp0(orr_foreign_kind(store->db, view), "view") == 0 ? view : "");
  return orr_store_exec(store, sql, error);
}

gboolean orr_store_is_table_name(const char *name) {
  const char *c = name;
  while (g_ascii_isalnum(*c) || *c == '_' || *c == '-') c++;
  return *name && !*c;
}

/* A table's name becomes a file name, and one with a slash could leave the folder. */
static gboolean check_names(const OrrStore *store, const OrrAnswer *tables, GError **error) {
  for (guint r = 0; r < tables->rows->len; r++) {
    const char *name = ((char **)tables->rows->pdata[r])[0];
    if (orr_store_is_table_name(name)) continue;
    g_autofree char *shown = g_strescape(name, NULL);
    return orr_fault_set(
        error, ORR_FAULT_RESOURCE,
        "%s: table '%s' cannot be a file: want letters, digits, '_' and '-'; nothing was exported",
        store->path, shown);
  }
  return TRUE;
}

static gboolean export_table(OrrStore *store, const char *name, const char *folder,
                             GError **error) {
  char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY 1", name);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
  sqlite3_free(sql);
  if (!answer) return FALSE;
  g_autofree char *csv = orr_answer_csv(answer), *file = g_strconcat(name, ".csv", NULL);
  g_autofree char *path = g_build_filename(folder, file, NULL);
  return orr_file_write(path, csv, -1, error);
}

gboolean orr_store_export(OrrStore *store, const char *folder, GError **error) {
  g_autoptr(OrrAnswer) tables = orr_store_tables(store, error);
  if (!tables || !check_names(store, tables, error)) return FALSE;
  if (g_mkdir_with_parents(folder, 0777) != 0)
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: cannot be made a folder", folder);
  for (guint r = 0; r < tables->rows->len; r++)
    if (!export_table(store, ((char **)tables->rows->pdata[r])[0], folder, error)) return FALSE;
  return TRUE;
}

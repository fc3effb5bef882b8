/*
 * store_care.c - looking after a database: what is in it, smaller, and out of it.
 */
#include <string.h>

#include <glib/gstdio.h>

#include "results/store_private.h"
#include "sim/base/fault.h"

OrrAnswer *orr_store_tables(OrrStore *store, GError **error) {
  g_autoptr(OrrAnswer) names = orr_store_query(
      store, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name", 0,
      error);
  if (!names) return NULL;
  g_autoptr(GString) sql = g_string_new(NULL);
  for (guint r = 0; r < names->rows->len; r++) { /* names are ours: letters and '_' */
    const char *name = ((char **)names->rows->pdata[r])[0];
    g_string_append_printf(sql, "%sSELECT '%s' AS \"table\", count(*) AS rows FROM \"%s\"", r > 0 ? " UNION ALL " : "",
                           name, name);
  }
  return orr_store_query(store, sql->str, 0, error);
}

gboolean orr_store_vacuum(OrrStore *store, GError **error) {
  return orr_store_exec(store, "PRAGMA wal_checkpoint(TRUNCATE)", error) && orr_store_exec(store, "VACUUM", error);
}

gboolean orr_store_remove_run(OrrStore *store, gint64 run_id, GError **error) {
  g_autofree char *sql = g_strdup_printf("DELETE FROM run WHERE id = %" G_GINT64_FORMAT, run_id);
  return orr_store_exec(store, sql, error);
}

static gboolean export_table(OrrStore *store, const char *name, const char *folder, GError **error) {
  g_autofree char *sql = g_strdup_printf("SELECT * FROM \"%s\" ORDER BY 1", name);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
  if (!answer) return FALSE;
  g_autofree char *csv = orr_answer_csv(answer), *file = g_strconcat(name, ".csv", NULL);
  g_autofree char *path = g_build_filename(folder, file, NULL);
  g_autoptr(GError) reason = NULL;
  if (g_file_set_contents(path, csv, -1, &reason)) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", reason->message);
  return FALSE;
}

gboolean orr_store_export(OrrStore *store, const char *folder, GError **error) {
  g_autoptr(OrrAnswer) tables = orr_store_tables(store, error);
  if (!tables) return FALSE;
  if (g_mkdir_with_parents(folder, 0777) != 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: cannot be made a folder", folder);
    return FALSE;
  }
  for (guint r = 0; r < tables->rows->len; r++)
    if (!export_table(store, ((char **)tables->rows->pdata[r])[0], folder, error)) return FALSE;
  return TRUE;
}

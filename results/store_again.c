/*
 * store_again.c - rows of runs that are stored already: facts that are known only later (how the
 * points of a sweep compare), and rows that have become superfluous.
 */
#include "results/store_private.h"

gboolean orr_store_begin_again(OrrStore *store, gint64 run_id, GError **error) {
  g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM run WHERE id = %ld", run_id);
  gint64 n = 0;
  if (!orr_store_ask_number(store, sql, &n, error)) return FALSE;
  if (n == 0 || store->run_id || !store->in_batch)
    return orr_fault_set(error, ORR_FAULT_INTERNAL, "%s: rows cannot be added to run %lld",
                         store->path, (long long)run_id);
  if (!orr_store_exec(store, "SAVEPOINT run", error)) return FALSE;
  store->run_id = run_id;
  return TRUE;
}

gboolean orr_store_end_again(OrrStore *store, GError **error) {
  if (!orr_store_check_run(store, error)) return FALSE;
  if (!orr_store_exec(store, "RELEASE run", error)) {
    orr_store_abandon_run(store);
    return FALSE;
  }
  store->run_id = 0;
  return TRUE;
}

gboolean orr_store_remove_rows(OrrStore *store, const OrrFieldTable *table, gint64 from, gint64 to,
                               const GArray *kept, GError **error) {
  if (!orr_store_has_column(store, table->name, NULL)) return TRUE;
  g_autoptr(GString) sql = g_string_new(NULL);
  g_string_printf(sql, "DELETE FROM \"%s\" WHERE run_id BETWEEN %ld AND %ld AND run_id NOT IN (",
                  table->name, from, to);
  for (guint i = 0; kept && i < kept->len; i++)
    g_string_append_printf(sql, "%s%ld", i > 0 ? ", " : "", g_array_index(kept, gint64, i));
  g_string_append_c(sql, ')');
  return orr_store_exec(store, sql->str, error);
}

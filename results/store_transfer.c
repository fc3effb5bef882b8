/*
 * store_transfer.c - reads the tables of the other database, creates and widens the tables here,
 * and compares rows. store_copy.c copies them.
 */
#include "results/store_private.h"

typedef OrrTransferColumn Column;
typedef OrrTransferTable Table;

static const char *text_at(sqlite3_stmt *stmt, int column) {
  return (const char *)sqlite3_column_text(stmt, column);
}

static const Column *column_at(const Table *table, guint i) {
  return &g_array_index(table->columns, Column, i);
}

/* --- Creating a table of the other database here --- */

/* metric_def marks the columns that hold runs' numbers, except in version 1. */
static gboolean holds_run(const OrrStore *source, const char *table, const char *column) {
  g_autoptr(sqlite3_stmt) stmt = orr_store_prepare(
      source, "SELECT 1 FROM metric_def WHERE table_name = ?1 AND name = ?2 AND unit = 'run'",
      NULL);
  if (!stmt) return FALSE;
  sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
  sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC);
  return sqlite3_step(stmt) == SQLITE_ROW || orr_store_was_reference(table, column);
}

static gboolean exec_and_free(const OrrStore *store, char *sql, GError **error) {
  const gboolean fine = orr_store_exec(store, sql, error);
  sqlite3_free(sql);
  return fine;
}

/* Defines a column; @not_null only where the table is created with it. */
static void append_definition(GString *sql, const char *name, const char *type, gboolean not_null) {
  char *text = sqlite3_mprintf(",\n  \"%w\" %s%s", name, type, not_null ? " NOT NULL" : "");
  g_string_append(sql, text);
  sqlite3_free(text);
}

static gboolean create_table(const OrrStore *store, const char *name, const char *definitions,
                             GError **error) {
  return exec_and_free(
      store,
      sqlite3_mprintf("CREATE TABLE \"%w\" (\n  run_id INTEGER NOT NULL REFERENCES run(id)"
                      " ON DELETE CASCADE%s) STRICT",
                      name, definitions),
      error);
}

static gboolean index_table(const OrrStore *store, const char *name, GError **error) {
  return exec_and_free(
      store, sqlite3_mprintf("CREATE INDEX \"%w_run\" ON \"%w\" (run_id)", name, name), error);
}

static sqlite3_stmt *ask_columns(const OrrStore *store, const char *table, GError **error) {
  sqlite3_stmt *stmt = orr_store_prepare(
      store, "SELECT name, type, \"notnull\" FROM pragma_table_info(?1) WHERE name <> 'run_id'",
      error);
  if (stmt) sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
  return stmt;
}

/* Recreates the table with nullable columns: the other database is from an older Orrery and lacks a
 * column that is NOT NULL here. */
static gboolean loosen_table(const OrrStore *store, const char *name, GError **error) {
  static const char passing[] = "the table that is made anew";
  g_autoptr(sqlite3_stmt) columns = ask_columns(store, name, error);
  if (!columns) return FALSE;
  g_autoptr(GString) definitions = g_string_new(NULL);
  while (sqlite3_step(columns) == SQLITE_ROW)
    append_definition(definitions, text_at(columns, 0), text_at(columns, 1), FALSE);
  sqlite3_reset(columns);
  return create_table(store, passing, definitions->str, error) &&
         exec_and_free(store,
                       sqlite3_mprintf("INSERT INTO \"%w\" SELECT * FROM \"%w\"; DROP TABLE \"%w\";"
                                       "ALTER TABLE \"%w\" RENAME TO \"%w\"",
                                       passing, name, name, passing, name),
                       error) &&
         index_table(store, name, error);
}

static gboolean has_column(const Table *table, const char *name) {
  for (guint i = 0; i < table->columns->len; i++)
    if (strcmp(column_at(table, i)->name, name) == 0) return TRUE;
  return FALSE;
}

static gboolean fit_table(const OrrStore *store, const Table *table, GError **error) {
  g_autoptr(sqlite3_stmt) columns = ask_columns(store, table->name, error);
  gboolean is_tight = FALSE;
  while (columns && sqlite3_step(columns) == SQLITE_ROW)
    is_tight |= sqlite3_column_int(columns, 2) && !has_column(table, text_at(columns, 0));
  if (!columns) return FALSE;
  sqlite3_reset(columns);
  return !is_tight || loosen_table(store, table->name, error);
}

/* Reads one column of the other database into @table, and adds it to the table here; where that
 * does not exist, to @definitions. */
static gboolean add_column(const OrrTransfer *transfer, Table *table, sqlite3_stmt *info,
                           GString *definitions, GError **error) {
  static const char *const types[] = {"INTEGER", "REAL", "TEXT", NULL};
  const char *name = text_at(info, 0), *type = text_at(info, 1);
  if (!type || !g_strv_contains(types, type))
    return orr_fault_set(error, ORR_FAULT_RESOURCE,
                         "%s: table %s has a column of type '%s': no Orrery made it",
                         transfer->source->path, table->name, type ? type : "");
  Column column = {.name = g_strdup(name),
                   .is_run = holds_run(transfer->source, table->name, name)};
  column.is_compared = !column.is_run && strcmp(name, "wall_time_s") != 0;
  g_array_append_val(table->columns, column);
  append_definition(definitions, name, type, sqlite3_column_int(info, 2));
  if (!orr_store_has_column(transfer->store, table->name, NULL) ||
      orr_store_has_column(transfer->store, table->name, name))
    return TRUE;
  return exec_and_free(
      transfer->store,
      sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w\" %s", table->name, name, type), error);
}

static gboolean make_table(const OrrTransfer *transfer, Table *table, GError **error) {
  const OrrStore *store = transfer->store;
  g_autoptr(sqlite3_stmt) info = ask_columns(transfer->source, table->name, error);
  g_autoptr(GString) definitions = g_string_new(NULL);
  g_autoptr(GError) reason = NULL;
  if (!info) return FALSE;
  while (orr_store_next_row(transfer->source, info, &reason) &&
         add_column(transfer, table, info, definitions, &reason))
    continue;
  if (reason) {
    g_propagate_error(error, g_steal_pointer(&reason));
    return FALSE;
  }
  if (orr_store_has_column(store, table->name, NULL)) return fit_table(store, table, error);
  return create_table(store, table->name, definitions->str, error) &&
         index_table(store, table->name, error);
}

char *orr_transfer_columns(const Table *table) {
  GString *list = g_string_new("run_id");
  for (guint i = 0; i < table->columns->len; i++) {
    char *name = sqlite3_mprintf(", \"%w\"", column_at(table, i)->name);
    g_string_append(list, name);
    sqlite3_free(name);
  }
  return g_string_free(list, FALSE);
}

static gboolean prepare(const OrrTransfer *transfer, Table *table, GError **error) {
  g_autofree char *columns = orr_transfer_columns(table);
  char *all = sqlite3_mprintf("SELECT %s FROM \"%w\"", columns, table->name);
  char *of_run = sqlite3_mprintf("%s WHERE run_id = ?", all);
  const gboolean fine = (table->all = orr_store_prepare(transfer->source, all, error)) &&
                        (table->there = orr_store_prepare(transfer->source, of_run, error)) &&
                        (table->here = orr_store_prepare(transfer->store, of_run, error));
  sqlite3_free(all);
  sqlite3_free(of_run);
  return fine;
}

/* --- All tables --- */

static void column_clear(gpointer column) { g_free(((Column *)column)->name); }

static void table_free(gpointer data) {
  Table *table = data;
  g_free(table->name);
  g_array_unref(table->columns);
  sqlite3_finalize(table->all);
  sqlite3_finalize(table->there);
  sqlite3_finalize(table->here);
  g_free(table);
}

static gboolean add_table(const OrrTransfer *transfer, const char *name, GError **error) {
  if (!orr_store_is_table_name(name)) {
    g_autofree char *shown = g_strescape(name, NULL);
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: no Orrery made the table '%s'",
                         transfer->source->path, shown);
  }
  Table *table = g_new0(Table, 1);
  g_ptr_array_add(transfer->tables, table);
  table->name = g_strdup(name);
  table->columns = g_array_new(FALSE, FALSE, sizeof(Column));
  g_array_set_clear_func(table->columns, column_clear);
  return make_table(transfer, table, error) && prepare(transfer, table, error);
}

static gboolean add_tables(const OrrTransfer *transfer, GError **error) {
  g_autoptr(GError) reason = NULL;
  g_autoptr(sqlite3_stmt) names = orr_store_prepare(
      transfer->source,
      "SELECT name FROM sqlite_schema AS s WHERE type = 'table' AND rootpage > 0 AND EXISTS"
      " (SELECT 1 FROM pragma_table_info(s.name) WHERE name = 'run_id') ORDER BY name",
      error);
  if (!names) return FALSE;
  while (orr_store_next_row(transfer->source, names, &reason) &&
         add_table(transfer, text_at(names, 0), &reason))
    continue;
  if (!reason) return TRUE;
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

static gboolean add_meanings(const OrrTransfer *transfer, GError **error) {
  g_autoptr(GError) reason = NULL;
  g_autoptr(sqlite3_stmt) from = orr_store_prepare(
      transfer->source, "SELECT table_name, name, unit, sentence FROM metric_def ORDER BY rowid",
      error);
  g_autoptr(sqlite3_stmt) to = orr_store_prepare(
      transfer->store, "INSERT OR IGNORE INTO metric_def VALUES (?1, ?2, ?3, ?4)", error);
  if (!from || !to) return FALSE;
  while (orr_store_next_row(transfer->source, from, &reason)) {
    for (int i = 0; i < 4; i++) sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
    if (orr_store_was_reference(text_at(from, 0), text_at(from, 1)))
      sqlite3_bind_text(to, 3, "run", -1, SQLITE_STATIC);
    if (!orr_store_step(transfer->store, to, "metric_def", error)) return FALSE;
  }
  if (!reason) return TRUE;
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

gboolean orr_transfer_init(OrrTransfer *ret_transfer, const OrrStore *store, const OrrStore *source,
                           GError **error) {
  *ret_transfer = (OrrTransfer){store, source, g_ptr_array_new_with_free_func(table_free),
                                g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free)};
  return add_tables(ret_transfer, error) && add_meanings(ret_transfer, error);
}

void orr_transfer_clear(OrrTransfer *transfer) {
  g_clear_pointer(&transfer->tables, g_ptr_array_unref);
  g_clear_pointer(&transfer->runs, g_hash_table_unref);
}

/* --- Rows --- */

void orr_transfer_note(OrrTransfer *transfer, gint64 there, gint64 here, gboolean is_taken) {
  OrrTransferRun *run = g_new(OrrTransferRun, 1);
  *run = (OrrTransferRun){there, here, is_taken};
  g_hash_table_insert(transfer->runs, &run->there, run);
}

gint64 orr_transfer_number(const OrrTransfer *transfer, gint64 there) {
  const OrrTransferRun *run = g_hash_table_lookup(transfer->runs, &there);
  return run ? run->here : there;
}

static gboolean is_same_cell(sqlite3_stmt *a, sqlite3_stmt *b, int at) {
  const int type = sqlite3_column_type(a, at);
  if (type != sqlite3_column_type(b, at)) return FALSE;
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(a, at) == sqlite3_column_int64(b, at);
  if (type == SQLITE_FLOAT) return sqlite3_column_double(a, at) == sqlite3_column_double(b, at);
  return type == SQLITE_NULL || g_strcmp0(text_at(a, at), text_at(b, at)) == 0;
}

static gboolean is_same_table(const Table *table, gint64 there, gint64 here) {
  gboolean is_same = TRUE, is_more = TRUE;
  sqlite3_bind_int64(table->there, 1, there);
  sqlite3_bind_int64(table->here, 1, here);
  while (is_same && is_more) {
    is_more = sqlite3_step(table->there) == SQLITE_ROW;
    is_same = is_more == (sqlite3_step(table->here) == SQLITE_ROW);
    for (guint i = 0; is_same && is_more && i < table->columns->len; i++)
      is_same =
          !column_at(table, i)->is_compared || is_same_cell(table->there, table->here, (int)i + 1);
  }
  sqlite3_reset(table->there);
  sqlite3_reset(table->here);
  return is_same;
}

/* What a point is like follows from its other rows, and is stored only where a sweep's report shows
 * the point, which depends on the other points. */
static gboolean follows_from_others(const Table *table) {
  return g_str_equal(table->name, "likeness");
}

gboolean orr_transfer_is_same(const OrrTransfer *transfer, gint64 there, gint64 here) {
  ORR_EACH_POINTER(const Table, table, transfer->tables)
    if (!follows_from_others(table) && !is_same_table(table, there, here)) return FALSE;
  return TRUE;
}

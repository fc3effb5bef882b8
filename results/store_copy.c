/*
 * store_copy.c - copies the rows of one database's table into another's.
 *
 * A virtual table shows the rows of the other connection under the numbers that their runs have
 * here, so that one INSERT ... SELECT copies a whole table: a third of the time that a statement
 * for each row takes. Rows of runs that are not taken do not show.
 */
#include "results/store_private.h"

typedef struct {
  const OrrTransfer *transfer;
  const OrrTransferTable *table;
  GError *reason; /* why the other database could not be read */
} Copy;

typedef struct {
  sqlite3_vtab base;
  Copy *copy;
} Shown;

typedef struct {
  sqlite3_vtab_cursor base;
  Copy *copy;
  const OrrTransferRun *run; /* of the present row; rows of a run are adjacent */
  gboolean is_over;
} Cursor;

static int connect(sqlite3 *db, void *user, int argc, const char *const *argv,
                   sqlite3_vtab **ret_shown, char **ret_message) {
  Copy *copy = user;
  g_autofree char *columns = orr_transfer_columns(copy->table);
  g_autofree char *sql = g_strdup_printf("CREATE TABLE shown (%s)", columns);
  const int code = sqlite3_declare_vtab(db, sql);
  if (code != SQLITE_OK) return code;
  Shown *shown = g_new0(Shown, 1);
  shown->copy = copy;
  *ret_shown = &shown->base;
  return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *shown) {
  g_free(shown);
  return SQLITE_OK;
}

static int plan(sqlite3_vtab *shown, sqlite3_index_info *info) { return SQLITE_OK; }

static int open_cursor(sqlite3_vtab *shown, sqlite3_vtab_cursor **ret_cursor) {
  Cursor *cursor = g_new0(Cursor, 1);
  cursor->copy = ((Shown *)shown)->copy;
  *ret_cursor = &cursor->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
  g_free(cursor);
  return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base) {
  Cursor *cursor = (Cursor *)base;
  Copy *copy = cursor->copy;
  while (orr_store_next_row(copy->transfer->source, copy->table->all, &copy->reason)) {
    const gint64 there = sqlite3_column_int64(copy->table->all, 0);
    if (!cursor->run || cursor->run->there != there)
      cursor->run = g_hash_table_lookup(copy->transfer->runs, &there);
    if (cursor->run && cursor->run->is_taken) return SQLITE_OK;
  }
  cursor->is_over = TRUE;
  return copy->reason ? SQLITE_ERROR : SQLITE_OK;
}

static int first(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                 sqlite3_value **argv) {
  return next(cursor);
}

static int is_over(sqlite3_vtab_cursor *cursor) { return ((Cursor *)cursor)->is_over; }

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int at) {
  const Cursor *cursor = (Cursor *)base;
  const Copy *copy = cursor->copy;
  sqlite3_stmt *all = copy->table->all;
  if (at == 0)
    sqlite3_result_int64(result, cursor->run->here);
  else if (g_array_index(copy->table->columns, OrrTransferColumn, at - 1).is_run &&
           sqlite3_column_type(all, at) == SQLITE_INTEGER)
    sqlite3_result_int64(result,
                         orr_transfer_number(copy->transfer, sqlite3_column_int64(all, at)));
  else
    sqlite3_result_value(result, sqlite3_column_value(all, at));
  return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_id) {
  *ret_id = 0; /* nothing asks */
  return SQLITE_OK;
}

/* Without xCreate: it is there under the module's name, and in no schema. */
static const sqlite3_module module = {.xConnect = connect,
                                      .xDisconnect = disconnect,
                                      .xBestIndex = plan,
                                      .xOpen = open_cursor,
                                      .xClose = close_cursor,
                                      .xFilter = first,
                                      .xNext = next,
                                      .xEof = is_over,
                                      .xColumn = column,
                                      .xRowid = rowid};

static gboolean copy_table(const OrrTransfer *transfer, const OrrTransferTable *table,
                           GError **error) {
  static const char name[] = "rows there";
  Copy copy = {transfer, table, NULL};
  sqlite3 *db = transfer->store->db;
  if (sqlite3_create_module(db, name, &module, &copy) != SQLITE_OK)
    return orr_store_fail(transfer->store, table->name, error);
  g_autofree char *columns = orr_transfer_columns(table);
  char *sql =
      sqlite3_mprintf("INSERT INTO \"%w\" (%s) SELECT * FROM \"%w\"", table->name, columns, name);
  g_autoptr(GError) failed = NULL;
  orr_store_exec(transfer->store, sql, &failed);
  sqlite3_free(sql);
  sqlite3_create_module(db, name, NULL, NULL);
  if (!copy.reason && !failed) return TRUE;
  g_propagate_error(error, copy.reason ? copy.reason : g_steal_pointer(&failed));
  return FALSE;
}

/* Every row belongs to a run that this transaction has added, so SQLite need not look that up. */
gboolean orr_transfer_rows(const OrrTransfer *transfer, GError **error) {
  gboolean fine = TRUE;
  sqlite3_db_config(transfer->store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
  for (guint i = 0; i < transfer->tables->len && fine; i++)
    fine = copy_table(transfer, transfer->tables->pdata[i], error);
  sqlite3_db_config(transfer->store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
  return fine;
}

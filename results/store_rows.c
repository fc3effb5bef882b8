/*
 * store_rows.c - adds rows: a field table gives the SQL table, its metric_def rows and its INSERT.
 *
 *   BOOL, INT    INTEGER
 *   TEXT, WORD   TEXT
 *   REAL         REAL, NULL where the value is not finite
 *   OPTIONAL     may be NULL: for a number outside its own limits (a micro-batch of -1 in an
 *                UNSIGNED field), or an absent text
 *
 * A table from an older Orrery gains the columns it lacks, which are NULL in the older runs.
 */
#include "results/store_private.h"

/* Rows of one INSERT, where as many are left: what SQLite does once for each statement takes as
 * long as a row. 16 * 100 columns are far below its 32,766 parameters. */
enum { ROWS_AT_ONCE = 16 };

static char *sql_name(const char *name) { return g_strdelimit(g_strdup(name), "-", '_'); }

static const char *sql_type(const OrrField *field) {
  switch (field->kind) {
  case ORR_FIELD_BOOL:
  case ORR_FIELD_INT:
    return "INTEGER";
  case ORR_FIELD_REAL:
    return "REAL";
  case ORR_FIELD_TEXT:
  case ORR_FIELD_WORD:
    return "TEXT";
  default:
    return NULL;
  }
}

static const char *sql_null(const OrrField *field) {
  gboolean may_be_null = field->kind == ORR_FIELD_REAL || field->flags & ORR_FIELD_OPTIONAL;
  return may_be_null ? "" : " NOT NULL";
}

/* --- Creating the table --- */

static gboolean check_table(const OrrFieldTable *table, GError **error) {
  static const char *const own[] = {"run", "param", "metric_def", NULL};
  if (g_strv_contains(own, table->name))
    return orr_fault_set(error, ORR_FAULT_INTERNAL,
                         "rows cannot be called '%s': the store's own table", table->name);
  for (size_t i = 0; i < table->n_fields; i++)
    if (!sql_type(&table->fields[i]))
      return orr_fault_set(error, ORR_FAULT_INTERNAL, "row table '%s': field '%s' is not a scalar",
                           table->name, table->fields[i].name);
  return TRUE;
}

static char *create_sql(const OrrFieldTable *table, const char *name) {
  GString *sql = g_string_new(NULL);
  g_string_append_printf(sql, "CREATE TABLE IF NOT EXISTS \"%s\" (\n", name);
  g_string_append(sql, "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE");
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    g_autofree char *column = sql_name(field->name);
    g_string_append_printf(sql, ",\n  \"%s\" %s%s", column, sql_type(field), sql_null(field));
  }
  /* Rows of a run are added together, so the index grows at its end and costs little. */
  g_string_append_printf(
      sql, ") STRICT;\nCREATE INDEX IF NOT EXISTS \"%s_run\" ON \"%s\" (run_id);", name, name);
  return g_string_free(sql, FALSE);
}

static gboolean add_missing_columns(const OrrStore *store, const OrrFieldTable *table,
                                    const char *name, GError **error) {
  for (size_t i = 0; i < table->n_fields; i++) {
    g_autofree char *column = sql_name(table->fields[i].name);
    if (orr_store_has_column(store, name, column)) continue;
    g_autofree char *sql = g_strdup_printf("ALTER TABLE \"%s\" ADD COLUMN \"%s\" %s", name, column,
                                           sql_type(&table->fields[i]));
    if (!orr_store_exec(store, sql, error)) return FALSE;
  }
  return TRUE;
}

static gboolean add_metric_defs(const OrrStore *store, const OrrFieldTable *table, const char *name,
                                GError **error) {
  g_autoptr(sqlite3_stmt) stmt =
      orr_store_prepare(store, "INSERT OR REPLACE INTO metric_def VALUES (?1, ?2, ?3, ?4)", error);
  for (size_t i = 0; stmt && i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    g_autofree char *column = sql_name(field->name);
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC);
    const char *unit = field->flags & ORR_FIELD_RUN    ? "run"
                       : field->kind == ORR_FIELD_REAL ? orr_unit_symbol(field->unit)
                                                       : "";
    sqlite3_bind_text(stmt, 3, unit, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 4, field->sentence ? field->sentence : "", -1, SQLITE_STATIC);
    if (!orr_store_step(store, stmt, "metric_def", error)) return FALSE;
  }
  return stmt != NULL;
}

/* An INSERT of @n_rows rows: ?1 is the run, the fields of the rows follow one after the other. */
static sqlite3_stmt *prepare_insert(const OrrStore *store, const OrrFieldTable *table,
                                    const char *name, guint n_rows, GError **error) {
  g_autoptr(GString) sql = g_string_new(NULL);
  g_string_printf(sql, "INSERT INTO \"%s\" (run_id", name);
  for (size_t i = 0; i < table->n_fields; i++) {
    g_autofree char *column = sql_name(table->fields[i].name);
    g_string_append_printf(sql, ", \"%s\"", column);
  }
  g_string_append(sql, ") VALUES ");
  for (guint r = 0; r < n_rows; r++) {
    g_string_append(sql, r > 0 ? ", (?1" : "(?1");
    for (size_t i = 0; i < table->n_fields; i++)
      g_string_append_printf(sql, ", ?%zu", r * table->n_fields + i + 2);
    g_string_append_c(sql, ')');
  }
  return orr_store_prepare(store, sql->str, error);
}

/* Whether the table, or a column of it, is missing. */
static gboolean is_new(const OrrStore *store, const OrrFieldTable *table, const char *name) {
  for (size_t i = 0; i < table->n_fields; i++) {
    g_autofree char *column = sql_name(table->fields[i].name);
    if (!orr_store_has_column(store, name, column)) return TRUE;
  }
  return FALSE;
}

static sqlite3_stmt *make_insert(OrrStore *store, const OrrFieldTable *table, GError **error) {
  if (!check_table(table, error)) return NULL;
  g_autofree char *name = sql_name(table->name);
  g_autofree char *create = create_sql(table, name);
  store->has_new_tables = store->has_new_tables || is_new(store, table, name);
  if (!orr_store_exec(store, create, error) || !add_missing_columns(store, table, name, error) ||
      !add_metric_defs(store, table, name, error))
    return NULL;
  return prepare_insert(store, table, name, 1, error);
}

static sqlite3_stmt *find_insert(OrrStore *store, const OrrFieldTable *table, GError **error) {
  if (store->last_table == table) return store->last_insert;
  sqlite3_stmt *stmt = g_hash_table_lookup(store->inserts, table);
  if (!stmt) {
    stmt = make_insert(store, table, error);
    if (!stmt) return NULL;
    g_hash_table_insert(store->inserts, (gpointer)table, stmt);
  }
  store->last_table = table;
  store->last_insert = stmt;
  return stmt;
}

/* --- Adding rows --- */

/* An optional number outside its own limits is absent. */
static gboolean is_absent(const OrrField *field, double value) {
  if (!(field->flags & ORR_FIELD_OPTIONAL)) return FALSE;
  return (field->flags & ORR_FIELD_POSITIVE && value <= 0) ||
         (field->flags & ORR_FIELD_UNSIGNED && value < 0) ||
         (field->min < field->max && (value < field->min || value > field->max));
}

static const char *word_of(const OrrField *field, int index) {
  for (int i = 0; i <= index && field->words; i++)
    if (!field->words[i]) return NULL;
  return index >= 0 && field->words ? field->words[index] : NULL;
}

static void bind_int(sqlite3_stmt *stmt, int at, const OrrField *field, gint64 value) {
  if (is_absent(field, (double)value))
    sqlite3_bind_null(stmt, at);
  else
    sqlite3_bind_int64(stmt, at, value);
}

static void bind_real(sqlite3_stmt *stmt, int at, const OrrField *field, double value) {
  if (!isfinite(value) || is_absent(field, value))
    sqlite3_bind_null(stmt, at);
  else
    sqlite3_bind_double(stmt, at, value);
}

static void bind_field(sqlite3_stmt *stmt, int at, const OrrField *field, const void *row) {
  const char *member = (const char *)row + field->offset;
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    sqlite3_bind_int(stmt, at, *(const gboolean *)member != 0);
    break;
  case ORR_FIELD_INT:
    bind_int(stmt, at, field, *(const gint64 *)member);
    break;
  case ORR_FIELD_REAL:
    bind_real(stmt, at, field, *(const double *)member);
    break;
  case ORR_FIELD_TEXT:
    sqlite3_bind_text(stmt, at, *(char *const *)member, -1, SQLITE_STATIC);
    break;
  case ORR_FIELD_WORD:
    sqlite3_bind_text(stmt, at, word_of(field, *(const int *)member), -1, SQLITE_STATIC);
    break;
  default: /* check_table refused all other kinds */
    break;
  }
}

/* One step of @stmt, an INSERT of @n_rows rows. */
static gboolean insert_rows(const OrrStore *store, sqlite3_stmt *stmt, const OrrFieldTable *table,
                            const char *rows, guint n_rows, GError **error) {
  int at = 1;
  sqlite3_bind_int64(stmt, at++, store->run_id);
  for (guint r = 0; r < n_rows; r++)
    for (size_t i = 0; i < table->n_fields; i++)
      bind_field(stmt, at++, &table->fields[i], rows + r * table->size);
  return orr_store_step(store, stmt, table->name, error);
}

/* Rows by the 16, as far as they go. Returns how many were added. */
static guint insert_many(const OrrStore *store, const OrrFieldTable *table, const char *rows,
                         guint n_rows, GError **error) {
  guint n = 0;
  if (n_rows < ROWS_AT_ONCE) return 0;
  g_autofree char *name = sql_name(table->name);
  g_autoptr(sqlite3_stmt) stmt = prepare_insert(store, table, name, ROWS_AT_ONCE, error);
  while (stmt && n_rows - n >= ROWS_AT_ONCE &&
         insert_rows(store, stmt, table, rows + n * table->size, ROWS_AT_ONCE, error))
    n += ROWS_AT_ONCE;
  return n;
}

gboolean orr_store_add_rows(OrrStore *store, const OrrFieldTable *table, const void *rows,
                            guint n_rows, GError **error) {
  if (!orr_store_check_run(store, error)) return FALSE;
  if (n_rows == 0) return TRUE; /* and no table: the first row creates it */
  sqlite3_stmt *stmt = find_insert(store, table, error);
  if (!stmt) {
    g_prefix_error(error, "table %s: ", table->name);
    return FALSE;
  }
  guint n = insert_many(store, table, rows, n_rows, error);
  if (n_rows - n >= ROWS_AT_ONCE) return FALSE;
  for (; n < n_rows; n++)
    if (!insert_rows(store, stmt, table, (const char *)rows + n * table->size, 1, error))
      return FALSE;
  return TRUE;
}

/*
 * store_points.c - the points of one sweep as a wide table: a row per point, a column per axis and
 * per result.
 *
 *   point run rung status eligible reason objective_1 tp pp recompute iteration_time_s mfu ...
 *
 * Tables keep axes as rows of `param`, since every sweep has others; a reader wants them as
 * columns. An axis is named by the last word of its path, or by the whole path where two axes or
 * facts would have one name. A result with the name of an axis is left out: it has the same value.
 * Values that are numbers are numbers, so that tp > 4 compares as one expects.
 *
 * orr_store_points_view makes the view points_S of it in the database; the report's explorer asks
 * the same SELECT itself, since a view in a stranger's database can say anything.
 */
#include "results/store_private.h"

static const char *const facts[] = {"point",       "run",         "rung",        "status",
                                    "eligible",    "reason",      "objective_1", "objective_2",
                                    "objective_3", "objective_4", "memory_bytes"};

static void column_free(gpointer data) {
  OrrPointsColumn *column = data;
  ORR_FREE(column->name, column->source, column->table, column);
}

static gboolean is_known(const GPtrArray *columns, const char *name) {
  for (guint i = 0; i < columns->len; i++)
    if (g_ascii_strcasecmp(((const OrrPointsColumn *)columns->pdata[i])->name, name) == 0)
      return TRUE;
  return FALSE;
}

static void add_column(GPtrArray *columns, OrrPointsKind kind, const char *name, const char *table,
                       const char *source) {
  OrrPointsColumn *column = g_new0(OrrPointsColumn, 1);
  *column = (OrrPointsColumn){kind, g_strdup(name), g_strdup(table), g_strdup(source)};
  g_ptr_array_add(columns, column);
}

static gboolean add_facts(const OrrStore *store, GPtrArray *columns) {
  for (guint i = 0; i < G_N_ELEMENTS(facts); i++) {
    const char *source = strcmp(facts[i], "run") == 0 ? "run_id" : facts[i];
    if (orr_store_has_column(store, "sweep_point", source))
      add_column(columns, ORR_POINTS_FACT, facts[i], "sweep_point", source);
  }
  return columns->len > 0;
}

static const char *last_word(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot ? dot + 1 : path;
}

/* TRUE where another axis ends in the same word. */
static gboolean is_shared(const OrrAnswer *axes, guint at) {
  const char *word = last_word(((char **)axes->rows->pdata[at])[0]);
  for (guint i = 0; i < axes->rows->len; i++)
    if (i != at && strcmp(last_word(((char **)axes->rows->pdata[i])[0]), word) == 0) return TRUE;
  return FALSE;
}

static gboolean add_axes(OrrStore *store, gint64 sweep, GPtrArray *columns, GError **error) {
  g_autoptr(OrrAnswer) axes = orr_store_query(
      store,
      "SELECT DISTINCT path FROM sweep JOIN param ON param.run_id BETWEEN sweep.run_id + 1 AND "
      "sweep.run_id + sweep.n_points WHERE sweep.run_id = :run ORDER BY path",
      sweep, error);
  if (!axes) return FALSE;
  for (guint i = 0; i < axes->rows->len; i++) {
    const char *path = ((char **)axes->rows->pdata[i])[0];
    const char *name =
        is_shared(axes, i) || is_known(columns, last_word(path)) ? path : last_word(path);
    if (!is_known(columns, name)) add_column(columns, ORR_POINTS_AXIS, name, "param", path);
  }
  return TRUE;
}

/* The tables of results, NAME_result, that have rows of the sweep: one, as all points are of one
 * kind. */
static gboolean add_results(OrrStore *store, gint64 sweep, GPtrArray *columns, GError **error) {
  g_autoptr(OrrAnswer) defs = orr_store_query(
      store,
      "SELECT table_name, name FROM metric_def WHERE table_name LIKE '%\\_result' ESCAPE '\\' "
      "ORDER BY table_name, rowid",
      0, error);
  g_autofree char *known = NULL;
  gboolean has_rows = FALSE;
  for (guint i = 0; defs && i < defs->rows->len; i++) {
    char **def = defs->rows->pdata[i];
    if (!orr_store_has_column(store, def[0], def[1]) || is_known(columns, def[1])) continue;
    if (g_strcmp0(known, def[0]) != 0) {
      char *sql =
          sqlite3_mprintf("SELECT 1 FROM \"%w\" r JOIN sweep s ON r.run_id BETWEEN s.run_id "
                          "+ 1 AND s.run_id + s.n_points WHERE s.run_id = :run LIMIT 1",
                          def[0]);
      g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, sweep, error);
      sqlite3_free(sql);
      if (!answer) return FALSE;
      has_rows = answer->rows->len > 0;
      g_free(known);
      known = g_strdup(def[0]);
    }
    if (has_rows) add_column(columns, ORR_POINTS_RESULT, def[1], def[0], def[1]);
  }
  return defs != NULL;
}

GPtrArray *orr_store_points_columns(OrrStore *store, gint64 sweep, GError **error) {
  g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func(column_free);
  if (!orr_store_has_column(store, "sweep", "n_points") || !add_facts(store, columns))
    return g_steal_pointer(&columns);
  if (!add_axes(store, sweep, columns, error) || !add_results(store, sweep, columns, error))
    return NULL;
  return g_steal_pointer(&columns);
}

/* --- The SELECT --- */

static void append_sql(GString *out, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  g_string_append(out, text);
  sqlite3_free(text);
}

static void append_column(GString *sql, const OrrPointsColumn *column) {
  if (column->kind == ORR_POINTS_AXIS)
    append_sql(sql,
               "(SELECT iif(number IS NULL OR value GLOB '*[^-+.0-9e]*', value, CAST(value AS "
               "NUMERIC))\n    FROM param WHERE run_id = p.run_id AND path = %Q) AS \"%w\"",
               column->source, column->name);
  else if (column->kind == ORR_POINTS_FACT)
    append_sql(sql, "p.\"%w\" AS \"%w\"", column->source, column->name);
  else
    append_sql(sql, "\"%w\".\"%w\"", column->table, column->source);
}

char *orr_store_points_select(const GPtrArray *columns, gint64 sweep, const gboolean *wanted) {
  GString *sql = g_string_new("SELECT\n  "), *joins = g_string_new(NULL);
  const char *joined = "", *comma = "";
  ORR_EACH_POINTER_AT(i, const OrrPointsColumn, column, columns) {
    if (wanted && !wanted[i]) continue;
    g_string_append(sql, comma);
    append_column(sql, column);
    comma = ",\n  ";
    if (column->kind != ORR_POINTS_RESULT || strcmp(joined, column->table) == 0) continue;
    joined = column->table;
    append_sql(joins, "LEFT JOIN \"%w\" ON \"%w\".run_id = p.run_id\n", joined, joined);
  }
  g_string_append_printf(sql,
                         "\nFROM sweep s\nJOIN sweep_point p ON p.run_id BETWEEN s.run_id + 1 AND "
                         "s.run_id + s.n_points\n%sWHERE s.run_id = %ld",
                         joins->str, sweep);
  g_string_free(joins, TRUE);
  return g_string_free(sql, FALSE);
}

/* --- The view --- */

gboolean orr_store_points_view(OrrStore *store, gint64 sweep, GError **error) {
  g_autoptr(GPtrArray) columns = orr_store_points_columns(store, sweep, error);
  if (!columns) return FALSE;
  g_autofree char *name = g_strdup_printf("points_%ld", sweep);
  const char *kind = orr_foreign_kind(store->db, name);
  if (columns->len == 0 || g_strcmp0(kind, "table") == 0 || g_strcmp0(kind, "virtual table") == 0)
    return TRUE;
  g_autofree char *select = orr_store_points_select(columns, sweep, NULL);
  g_autofree char *sql =
      g_strdup_printf("DROP VIEW IF EXISTS \"%s\";\nCREATE VIEW \"%s\" AS\n"
                      "-- Points of the sweep of run %ld: a column per axis and per result.\n%s",
                      name, name, sweep, select);
  return orr_store_exec(store, sql, error);
}

gboolean orr_store_points_views(OrrStore *store, GError **error) {
  if (!orr_store_has_column(store, "sweep", "n_points")) return TRUE;
  g_autoptr(OrrAnswer) sweeps = orr_store_query(store, "SELECT run_id FROM sweep", 0, error);
  for (guint i = 0; sweeps && i < sweeps->rows->len; i++) {
    const char *sweep = ((char **)sweeps->rows->pdata[i])[0];
    if (!orr_store_points_view(store, g_ascii_strtoll(sweep, NULL, 10), error)) return FALSE;
  }
  return sweeps != NULL;
}

/*
 * views.c - the library of named views, compiled in from results/views/NAME.sql.
 *
 * To add a view: write results/views/NAME.sql, and list it in meson.build. The file is
 *
 *   -- The question that the view answers?
 *   -- reads: span(lane, category, end_s); lane(name)     all but run, param and metric_def
 *   -- about: validation                  kinds of the newest run; default: simulations
 *   -- rows-from: training runs           which runs have rows for it
 *   -- takes: other (meaning; the default when not given)   for each parameter but :run
 *   -- column: sentence                   for each column of the answer, in order
 *   SELECT ... WHERE run_id = :run ...;
 *
 * A database lacks the tables of results that it never stored, and a table from an older Orrery can
 * lack columns. The view then returns no rows, or NULLs: each missing table or column is supplied
 * as a common table expression of the same name. (Not as a table, since a query writes nothing.)
 * A view that uses rows' rowid lists it like a column.
 */
#include "results/store_private.h"

const OrrView *orr_views(guint *ret_n) {
  *ret_n = orr_views_data_n;
  return orr_views_data;
}

const OrrView *orr_view_find(const char *name) {
  for (guint i = 0; i < orr_views_data_n; i++)
    if (strcmp(orr_views_data[i].name, name) == 0) return &orr_views_data[i];
  return NULL;
}

char *orr_view_rows_from(const OrrView *view) {
  static const char begin[] = "\n-- rows-from: ";
  const char *line = strstr(view->sql, begin);
  if (!line) return NULL;
  line += strlen(begin);
  return g_strndup(line, strcspn(line, "\n"));
}

/* "span AS (SELECT *, NULL AS x FROM main.span)" where column x is missing from span; where the
 * table is missing, all its columns and no rows. NULL where nothing is missing. */
static char *stand_in(const OrrStore *store, const char *table, char **columns) {
  gboolean exists = orr_store_has_column(store, table, NULL), uses_rowid = FALSE;
  g_autoptr(GString) missing = g_string_new(NULL);
  for (char **column = columns; *column; column++) {
    g_strstrip(*column);
    uses_rowid = uses_rowid || strcmp(*column, "rowid") == 0;
    if (!exists || !orr_store_has_column(store, table, *column))
      g_string_append_printf(missing, ", NULL AS \"%s\"", *column);
  }
  if (exists && missing->len == 0) return NULL;
  if (!exists)
    return g_strdup_printf("\"%s\" AS (SELECT NULL AS run_id%s WHERE 0)", table, missing->str);
  return g_strdup_printf("\"%s\" AS (SELECT %s*%s FROM main.\"%s\")", table,
                         uses_rowid ? "rowid, " : "", missing->str, table);
}

/* @read: "span(lane, end_s)". */
static void add_stand_in(const OrrStore *store, const char *read, GPtrArray *stand_ins) {
  g_auto(GStrv) parts = g_strsplit_set(read, "()", 3);
  if (g_strv_length(parts) != 3) return;
  g_auto(GStrv) columns = g_strsplit(parts[1], ",", -1);
  char *text = stand_in(store, g_strstrip(parts[0]), columns);
  if (text) g_ptr_array_add(stand_ins, text);
}

static GPtrArray *find_stand_ins(const OrrStore *store, const OrrView *view) {
  static const char reads[] = "-- reads: ";
  GPtrArray *stand_ins = g_ptr_array_new_with_free_func(g_free);
  g_auto(GStrv) lines = g_strsplit(view->sql, "\n", -1);
  for (char **line = lines; *line; line++) {
    if (!g_str_has_prefix(*line, reads)) continue;
    g_auto(GStrv) tables = g_strsplit(*line + strlen(reads), ";", -1);
    for (char **table = tables; *table; table++) add_stand_in(store, *table, stand_ins);
  }
  return stand_ins;
}

char *orr_views_statement(const OrrStore *store, const OrrView *view) {
  g_autoptr(GPtrArray) stand_ins = find_stand_ins(store, view);
  if (stand_ins->len == 0) return g_strdup(view->sql);
  g_ptr_array_add(stand_ins, NULL);
  g_autofree char *with = g_strjoinv(",\n", (char **)stand_ins->pdata);
  g_autofree char *select = g_strchomp(g_strdup(view->sql));
  if (g_str_has_suffix(select, ";")) select[strlen(select) - 1] = '\0';
  return g_strdup_printf("WITH %s\nSELECT * FROM (\n%s\n)", with, select);
}

/*
 * compare_many.c - the inputs of several runs by one statement, their results from the view
 * compare-results of each run against the first, their bands from table band.
 */
#include "sim/cli/verb_compare.h"

#include "sim/base/uncertain.h"

/* --- Inputs --- */

OrrAnswer *orr_compare_many_inputs(OrrStore *store, const gint64 *runs, guint n, GError **error) {
  g_autoptr(GString) sql = g_string_new("SELECT path");
  g_autoptr(GString) list = g_string_new(NULL);
  for (guint i = 0; i < n; i++) {
    g_string_append_printf(sql, ", max(iif(run_id = %ld, value, NULL)) AS run_%ld", runs[i],
                           runs[i]);
    g_string_append_printf(list, "%s%ld", i > 0 ? ", " : "", runs[i]);
  }
  g_string_append_printf(sql,
                         " FROM param WHERE run_id IN (%s) GROUP BY path HAVING count(DISTINCT "
                         "value) > 1 OR count(*) < %u ORDER BY path",
                         list->str, n);
  return orr_store_ask(store, sql->str, 0, NULL, 0, error);
}

/* --- Results --- */

typedef struct {
  char *value, *change, *low, *high, *expected; /* as SQLite writes them; NULL: none */
} Cell;

typedef struct {
  char *metric, *unit;
  Cell *cells; /* by run */
} Row;

static void row_free(gpointer data) {
  Row *row = data;
  ORR_FREE(row->metric, row->unit, row->cells, row);
}

static Row *row_of(GPtrArray *rows, const char *metric, const char *unit, guint n) {
  for (guint i = 0; i < rows->len; i++)
    if (strcmp(((Row *)rows->pdata[i])->metric, metric) == 0) return rows->pdata[i];
  Row *row = g_new0(Row, 1);
  row->metric = g_strdup(metric);
  row->unit = g_strdup(unit ? unit : "");
  row->cells = g_new0(Cell, n);
  g_ptr_array_add(rows, row);
  return row;
}

enum { METRIC, OTHER, THIS, CHANGE, UNIT }; /* columns of compare-results */

static gboolean add_run(OrrStore *store, const gint64 *runs, guint n, guint i, GPtrArray *rows,
                        GPtrArray *kept, GError **error) {
  g_autofree char *first = g_strdup_printf("%ld", runs[0]);
  const OrrBinding other = {"other", first};
  OrrAnswer *answer = orr_store_ask(store, "compare-results", runs[i], &other, 1, error);
  if (!answer) return FALSE;
  g_ptr_array_add(kept, answer);
  ORR_EACH_POINTER(char *, cells, answer->rows) {
    Row *row = row_of(rows, cells[METRIC], cells[UNIT], n);
    row->cells[0].value = cells[OTHER];
    row->cells[i] = (Cell){.value = cells[THIS], .change = cells[CHANGE]};
  }
  return TRUE;
}

static gboolean add_bands(OrrStore *store, const gint64 *runs, guint i, GPtrArray *rows,
                          GPtrArray *kept, GError **error) {
  g_autoptr(OrrAnswer) tables =
      orr_store_ask(store,
                    "SELECT sql LIKE '%\"expected\"%' OR sql LIKE '% expected %' FROM "
                    "sqlite_schema WHERE name = 'band' AND type = 'table'",
                    0, NULL, 0, error);
  if (!tables) return FALSE;
  if (tables->rows->len == 0) return TRUE;
  g_autofree char *sql = g_strdup_printf(
      "SELECT metric, low, high, %s FROM band WHERE run_id = :run AND low IS NOT NULL",
      g_str_equal(((char **)tables->rows->pdata[0])[0], "1") ? "expected" : "NULL");
  OrrAnswer *answer = orr_store_query(store, sql, runs[i], error);
  if (!answer) return FALSE;
  g_ptr_array_add(kept, answer);
  ORR_EACH_POINTER(char *, cells, answer->rows) {
    ORR_EACH_POINTER(Row, row, rows) {
      if (strcmp(row->metric, cells[0]) != 0) continue;
      row->cells[i].low = cells[1];
      row->cells[i].high = cells[2];
      row->cells[i].expected = cells[3];
    }
  }
  return TRUE;
}

static char *short_number(const char *text) {
  return text ? g_strdup_printf("%.6g", g_ascii_strtod(text, NULL)) : NULL;
}

static double number_of(const char *text) { return text ? g_ascii_strtod(text, NULL) : NAN; }

/* "29.08 [28 to 33.1] -0.3 %" */
static char *plain_cell(const Cell *cell) {
  g_autofree char *value = short_number(cell->value);
  if (!value) return NULL;
  g_autoptr(GString) out = g_string_new(value);
  if (cell->low && cell->high) {
    const double low = number_of(cell->low), high = number_of(cell->high);
    g_autofree char *note =
        orr_uncertain_note_after(number_of(cell->value), low, high, number_of(cell->expected));
    g_string_append_printf(out, " [%.4g to %.4g%s]", low, high, note);
  }
  const double change = cell->change ? g_ascii_strtod(cell->change, NULL) : 0;
  if (change != 0) g_string_append_printf(out, " %+.1f %%", change);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static const char *const parts[] = {"", "_low", "_high", "_expected", "_change_percent"};

static OrrAnswer *columns_of(const gint64 *runs, guint n, guint each) {
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  g_autofree gboolean *is_number = g_new0(gboolean, 2 + each * n);
  g_strv_builder_add_many(names, "metric", "unit", NULL);
  for (guint i = 0; i < n; i++)
    for (guint part = 0; part < each; part++) {
      g_autofree char *name = g_strdup_printf("run_%ld%s", runs[i], parts[part]);
      g_strv_builder_add(names, name);
      is_number[2 + each * i + part] = each > 1;
    }
  g_auto(GStrv) columns = g_strv_builder_end(names);
  return orr_answer_new((const char *const *)columns, is_number);
}

static OrrAnswer *make(const GPtrArray *rows, const gint64 *runs, guint n, gboolean is_plain) {
  const guint each = is_plain ? G_N_ELEMENTS(parts) : 1;
  OrrAnswer *answer = columns_of(runs, n, each);
  ORR_EACH_POINTER(const Row, row, rows) {
    g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(cells, g_strdup(row->metric));
    g_ptr_array_add(cells, g_strdup(row->unit));
    for (guint i = 0; i < n; i++) {
      const Cell *cell = &row->cells[i];
      const char *texts[] = {cell->value, cell->low, cell->high, cell->expected, cell->change};
      for (guint part = 0; part < each; part++)
        g_ptr_array_add(cells, is_plain ? short_number(texts[part]) : plain_cell(cell));
    }
    orr_answer_add(answer, (char *const *)cells->pdata);
  }
  return answer;
}

OrrAnswer *orr_compare_many_results(OrrStore *store, const gint64 *runs, guint n, gboolean is_plain,
                                    GError **error) {
  g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(row_free);
  g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func((GDestroyNotify)orr_answer_free);
  for (guint i = 1; i < n; i++)
    if (!add_run(store, runs, n, i, rows, kept, error)) return NULL;
  for (guint i = 0; i < n; i++)
    if (!add_bands(store, runs, i, rows, kept, error)) return NULL;
  return make(rows, runs, n, is_plain);
}

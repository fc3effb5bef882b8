/*
 * test_view_reads.c - every table and column that a view reads is written by some run: a fact that
 * is renamed in results/rows/rows.inc, and not in the views, would otherwise look like a fact
 * that was never recorded.
 */
#include <string.h>

#include "calibration/measure/measure_row.h"
#include "calibration/measure/measure_visit.h"
#include "results/store.h"
#include "sim/plan/plan_serving.h"
#include "results/rows/rows.h"
#include "sim/sweep/sweep.h"

/* Written by `orrery validate`, not by a run. */
static const char *const other_tables[] = {"cost_error", "validation_row", NULL};

static gboolean same_name(const char *field, const char *column) {
  g_autofree char *name = g_strdelimit(g_strdup(field), "-", '_');
  return strcmp(name, column) == 0;
}

static gboolean has_column(const OrrFieldTable *table, const char *column) {
  if (strcmp(column, "rowid") == 0) return TRUE; /* SQLite's own number of a row */
  for (size_t i = 0; i < table->n_fields; i++)
    if (same_name(table->fields[i].name, column)) return TRUE;
  return FALSE;
}

static const OrrFieldTable *find_table(const char *name) {
  for (guint i = 0; orr_row_tables[i]; i++)
    if (same_name(orr_row_tables[i]->name, name)) return orr_row_tables[i];
  const OrrFieldTable *const sweeps[] = {&orr_sweep_table,       &orr_sweep_excluded_table,
                                         &orr_sweep_point_table, &orr_sweep_band_table,
                                         &orr_plan_layout_table, &orr_plan_rate_table,
                                         &orr_plan_sure_table,   &orr_sweep_command_table};
  for (guint i = 0; i < G_N_ELEMENTS(sweeps); i++)
    if (same_name(sweeps[i]->name, name)) return sweeps[i];
  if (same_name(orr_measure_visit_table.name, name)) return &orr_measure_visit_table;
  if (same_name(orr_measure_refusal_table.name, name)) return &orr_measure_refusal_table;
  return same_name(orr_measure_row_table.name, name) ? &orr_measure_row_table : NULL;
}

/* @read: "span(lane, end_s)" */
static void check_read(const char *view, const char *read) {
  g_auto(GStrv) parts = g_strsplit_set(read, "()", 3);
  g_assert_cmpuint(g_strv_length(parts), ==, 3);
  const char *name = g_strstrip(parts[0]);
  if (g_strv_contains(other_tables, name)) return;
  const OrrFieldTable *table = find_table(name);
  if (!table) g_error("view %s reads '%s', which no run writes", view, name);
  g_auto(GStrv) columns = g_strsplit(parts[1], ",", -1);
  for (char **column = columns; *column; column++)
    if (!has_column(table, g_strstrip(*column)))
      g_error("view %s reads '%s.%s', which no run writes", view, name, *column);
}

static void check_views(const OrrView *views, guint n) {
  for (guint i = 0; i < n; i++) {
    const char *reads = strstr(views[i].sql, "-- reads: ");
    if (!reads) continue; /* only the store's own tables */
    g_autofree char *line = g_strndup(reads + 10, strcspn(reads + 10, "\n"));
    g_auto(GStrv) tables = g_strsplit(line, ";", -1);
    for (char **table = tables; *table; table++) check_read(views[i].name, *table);
  }
}

static void test_reads(void) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  check_views(views, n);
  views = orr_store_views(&n);
  g_assert_cmpuint(n, >, 0);
  check_views(views, n);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/view-reads/all", test_reads);
  return g_test_run();
}

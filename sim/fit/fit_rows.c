/*
 * fit_rows.c - reads measured rows, and refuses what cannot be compared.
 */
#include "sim/fit/fit_stack.h"

#include "sim/base/csv.h"

const char *const orr_fit_columns[ORR_FIT_N_COLUMNS + 1] = {
    [ORR_FIT_CONCURRENCY] = "concurrency",
    [ORR_FIT_RATE] = "rate_per_s",
    [ORR_FIT_REQUESTS] = "requests",
    [ORR_FIT_INPUT_TOKENS] = "input_tokens",
    [ORR_FIT_OUTPUT_TOKENS] = "output_tokens",
    [ORR_FIT_GLOBAL_BATCH] = "global_batch",
    [ORR_FIT_TTFT] = "ttft_mean_s",
    [ORR_FIT_TPOT] = "tpot_mean_s",
    [ORR_FIT_E2E] = "e2e_mean_s",
    [ORR_FIT_ITERATION] = "iteration_time_s",
};

/* Columns that `import bench` writes, and that resemble one which a row need not have. */
static const char *const bench_columns[] = {
    "duration_s",     "iterations",         "itl_mean_s", "output_tokens_per_s",
    "requests_per_s", "total_tokens_per_s", NULL};

static double read_cell(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags) {
  double value = NAN;
  const char *cell = column >= 0 ? line->cells[column] : "";
  if (!*cell) return NAN;
  if (g_ascii_strcasecmp(cell, "inf") == 0) return INFINITY;
  if (!orr_csv_number(csv, line, column, diags, &value)) return NAN;
  if (value <= 0)
    orr_diags_error(diags, line->place, "%s is %s: above 0 is allowed", csv->header[column], cell);
  return value;
}

static gboolean measured_something(const OrrFitRow *row) {
  for (int i = ORR_FIT_FIRST_MEASURED; i < ORR_FIT_N_COLUMNS; i++)
    if (!isnan(row->cells[i])) return TRUE;
  return FALSE;
}

static void read_line(const OrrCsv *csv, const OrrCsvLine *line, GPtrArray *rows, OrrDiags *diags) {
  OrrFitRow *row = g_new0(OrrFitRow, 1);
  row->place = line->place;
  for (int i = 0; i < ORR_FIT_N_COLUMNS; i++)
    row->cells[i] = read_cell(csv, line, orr_csv_column(csv, orr_fit_columns[i]), diags);
  g_ptr_array_add(rows, row);
  if (!measured_something(row))
    orr_diags_error(diags, line->place,
                    "the row has no measurement: one of ttft_mean_s, tpot_mean_s, e2e_mean_s, "
                    "iteration_time_s was expected");
}

GPtrArray *orr_fit_rows_read(const char *path, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return NULL;
  g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
  g_free(orr_csv_check(csv, orr_fit_columns, bench_columns, diags));
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells) read_line(csv, line, rows, diags);
  if (rows->len == 0 && orr_diags_n_errors(diags) == 0)
    orr_diags_error(diags, (OrrPlace){.file = g_intern_string(path)}, "no row of measurements");
  return orr_diags_check(diags, error) ? g_steal_pointer(&rows) : NULL;
}

/*
 * fit_overlap.c - computes how much a matrix product and a concurrent all-reduce or copy slow each
 * other down: ratios of rows of interference.csv, which are of the same kernels in one session.
 *
 *   compute      = mean of t(product during an all-reduce) / t(the same product alone)
 *   collective   = mean of t(all-reduce during a product) / t(the same all-reduce alone)
 *
 * The mean is over the products and sizes of the plan (family_interference.c), all large enough to
 * fill the device. Copies by the copy engines are reported as well: they show the cost of DMA
 * without SMs.
 */
#include <math.h>
#include <string.h>

#include "calibration/fit/fit.h"
#include "calibration/fit/measured_private.h"
#include "sim/base/csv.h"

enum { BYTES, M, N, K, N_NUMBERS };
static const char *const number_names[] = {"bytes", "m", "n", "k"};

typedef struct {
  const char *beside, *watch; /* point into the file's text */
  double at[N_NUMBERS], us;
  OrrPlace place;
} Row;

static gboolean is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static gboolean read_number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                            double *ret_value) {
  if (!orr_csv_number(csv, line, column, diags, ret_value)) return FALSE;
  if (*ret_value >= 0) return TRUE;
  orr_diags_error(diags, line->place, "%s is %s: want 0 or more", csv->header[column],
                  line->cells[column]);
  return FALSE;
}

static void read_rows(const OrrCsv *csv, GArray *rows, OrrDiags *diags) {
  int numbers[N_NUMBERS], beside = orr_measured_column(csv, "beside", diags),
                          watch = orr_measured_column(csv, "watch", diags),
                          latency = orr_measured_column(csv, "latency_us", diags);
  gboolean complete = beside >= 0 && watch >= 0 && latency >= 0;
  for (int i = 0; i < N_NUMBERS; i++)
    complete &= (numbers[i] = orr_measured_column(csv, number_names[i], diags)) >= 0;
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (!line->cells) continue;
    Row row = {.beside = line->cells[beside], .watch = line->cells[watch], .place = line->place};
    gboolean good = orr_measured_latency(csv, line, latency, diags, &row.us);
    for (int k = 0; k < N_NUMBERS; k++)
      good &= read_number(csv, line, numbers[k], diags, &row.at[k]);
    if (good) g_array_append_val(rows, row);
  }
}

static gboolean same(const Row *a, const Row *b) {
  return is(a->beside, b->beside) && is(a->watch, b->watch) &&
         memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* The row of the same kernel with nothing concurrent; NULL where there is none. */
static const Row *alone_of(const GArray *rows, const Row *row) {
  const gboolean is_gemm = is(row->watch, "gemm");
  for (guint i = 0; i < rows->len; i++) {
    const Row *other = &g_array_index(rows, Row, i);
    if (is_gemm ? is(other->beside, "nothing") && is(other->watch, "gemm") &&
                      memcmp(other->at + M, row->at + M, 3 * sizeof(double)) == 0
                : is(other->watch, "alone") && is(other->beside, row->beside) &&
                      other->at[BYTES] == row->at[BYTES])
      return other;
  }
  return NULL;
}

static void add(double *sum, guint *n, double ratio) {
  *sum += ratio;
  ++*n;
}

/* Adds the row's ratio to its sum; nothing where its kernel was not measured alone. */
static void see(const GArray *rows, const Row *row, OrrFitOverlap *overlap) {
  const gboolean is_collective = is(row->beside, "all-reduce");
  if (is(row->beside, "nothing") || is(row->watch, "alone")) return;
  const Row *alone = alone_of(rows, row);
  if (!alone) return;
  if (is(row->watch, "gemm"))
    add(is_collective ? &overlap->compute : &overlap->compute_by_copy,
        is_collective ? &overlap->n_compute : &overlap->n_compute_by_copy, row->us / alone->us);
  else
    add(is_collective ? &overlap->collective : &overlap->copy,
        is_collective ? &overlap->n_collective : &overlap->n_copy, row->us / alone->us);
}

static double mean_of(double sum, guint n) { return n ? sum / n : 1; }

gboolean orr_fit_overlap(const char *folder, OrrFitOverlap *ret_overlap, GError **error) {
  OrrFitOverlap sums = {0};
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *path = g_build_filename(folder, "interference.csv", NULL);
  const gboolean is_there = g_file_test(path, G_FILE_TEST_EXISTS);
  g_autoptr(OrrCsv) csv = is_there ? orr_csv_read(path, diags, error) : NULL;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  if (is_there && !csv) return FALSE;
  if (csv) read_rows(csv, rows, diags);
  for (guint i = 0; i < rows->len; i++) {
    const Row *row = &g_array_index(rows, Row, i);
    for (guint j = 0; j < i; j++)
      if (same(row, &g_array_index(rows, Row, j)))
        orr_diags_error(diags, row->place, "the same row as line %d",
                        g_array_index(rows, Row, j).place.line);
    see(rows, row, &sums);
  }
  if (!orr_diags_check(diags, error)) return FALSE;
  *ret_overlap = sums;
  ret_overlap->compute = mean_of(sums.compute, sums.n_compute);
  ret_overlap->collective = mean_of(sums.collective, sums.n_collective);
  ret_overlap->compute_by_copy = mean_of(sums.compute_by_copy, sums.n_compute_by_copy);
  ret_overlap->copy = mean_of(sums.copy, sums.n_copy);
  return TRUE;
}

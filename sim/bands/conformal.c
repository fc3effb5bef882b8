/*
 * conformal.c - the bounds of weighted conformal prediction.
 */
#include "sim/bands/conformal.h"

static int compare_rows(const void *a, const void *b) {
  const double x = ((const OrrConformalRow *)a)->value, y = ((const OrrConformalRow *)b)->value;
  return (x > y) - (x < y);
}

/* The value at which the weights add up to @needed, from the least value up, or down from the
 * largest. */
static double walk(const OrrConformalRow *rows, guint n, gboolean down, double needed) {
  double sum = 0;
  for (guint i = 0; i < n; i++) {
    const OrrConformalRow *row = &rows[down ? n - 1 - i : i];
    sum += row->weight;
    if (sum >= needed) return row->value;
  }
  return down ? -INFINITY : INFINITY;
}

static gboolean is_sorted(const OrrConformalRow *rows, guint n) {
  for (guint i = 1; i < n; i++)
    if (rows[i].value < rows[i - 1].value) return FALSE;
  return TRUE;
}

void orr_conformal_bounds(OrrConformalRow *rows, guint n, double level, double *ret_low,
                          double *ret_high) {
  double sum = 1; /* the new value itself, at infinity */
  if (!is_sorted(rows, n)) qsort(rows, n, sizeof *rows, compare_rows);
  for (guint i = 0; i < n; i++) sum += rows[i].weight;
  const double needed = (1 + level) / 2 * sum;
  *ret_high = walk(rows, n, FALSE, needed);
  *ret_low = walk(rows, n, TRUE, needed);
}

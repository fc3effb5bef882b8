/*
 * latencies.c - percentiles of sorted times: value at rank fraction * (n - 1), interpolated.
 */
#include "sim/run/answer/latencies.h"

#include <stdlib.h>

#include "workloads/serving/serving.h"

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double percentile(const double *sorted, guint n, double fraction) {
  if (n == 0) return 0;
  const double place = fraction * (n - 1);
  const guint below = (guint)place, above = MIN(below + 1, n - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

OrrLatencies orr_latencies_of(GArray *values) {
  const guint n = values->len;
  double *data = (double *)(void *)values->data, sum = 0;
  if (n == 0) return (OrrLatencies){0};
  qsort(data, n, sizeof *data, compare_doubles);
  for (guint i = 0; i < n; i++) sum += data[i];
  return (OrrLatencies){sum / n, percentile(data, n, 0.5), percentile(data, n, 0.9),
                        percentile(data, n, 0.95), percentile(data, n, 0.99)};
}

/* --- Gaps between tokens: each value stands for many equal gaps --- */

static int compare_gaps(const void *a, const void *b) {
  const float x = ((const OrrTokenGap *)a)->gap_s, y = ((const OrrTokenGap *)b)->gap_s;
  return (x > y) - (x < y);
}

static double gap_at(const GArray *gaps, guint64 rank, guint *at, guint64 *before) {
  while (*before + g_array_index(gaps, OrrTokenGap, *at).n <= rank)
    *before += g_array_index(gaps, OrrTokenGap, (*at)++).n;
  return g_array_index(gaps, OrrTokenGap, *at).gap_s;
}

static double gap_percentile(const GArray *gaps, guint64 n, double fraction) {
  const double place = fraction * (double)(n - 1);
  const guint64 below = (guint64)place, above = MIN(below + 1, n - 1);
  guint at = 0;
  guint64 before = 0;
  const double low = gap_at(gaps, below, &at, &before);
  return low + (gap_at(gaps, above, &at, &before) - low) * (place - (double)below);
}

OrrLatencies orr_latencies_of_gaps(GArray *gaps) {
  guint64 n = 0;
  double sum = 0;
  if (gaps->len > 0) qsort(gaps->data, gaps->len, sizeof(OrrTokenGap), compare_gaps);
  for (guint i = 0; i < gaps->len; i++) {
    const OrrTokenGap *gap = &g_array_index(gaps, OrrTokenGap, i);
    n += gap->n;
    sum += (double)gap->gap_s * gap->n;
  }
  if (n == 0) return (OrrLatencies){0};
  return (OrrLatencies){sum / (double)n, gap_percentile(gaps, n, 0.5), gap_percentile(gaps, n, 0.9),
                        gap_percentile(gaps, n, 0.95), gap_percentile(gaps, n, 0.99)};
}

/*
 * test_latencies.c - percentiles of gaps between tokens against a list with every gap in it; the
 * order of many values.
 */
#include <stdlib.h>

#include "sim/base/random.h"
#include "sim/run/answer/answer_private.h"
#include "workloads/serving/serving_work.h"

static void test_gaps(void) {
  for (guint seed = 0; seed < 30; seed++) {
    OrrRandom random = orr_random_stream(seed, "gaps");
    g_autoptr(GArray) gaps = g_array_new(FALSE, FALSE, sizeof(OrrTokenGap));
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = (guint)orr_random_below(&random, 2000); i-- > 0;) {
      const double unit = orr_random_unit(&random), scale = i % 3 ? 1e-3 : 1e3;
      const OrrTokenGap gap = {(float)(seed % 2 ? unit * scale : (unit - 0.5) * scale),
                               (guint)orr_random_below(&random, 4)};
      const double gap_s = gap.gap_s;
      g_array_append_val(gaps, gap);
      for (guint k = 0; k < gap.n; k++) g_array_append_val(all, gap_s);
    }
    const OrrLatencies a = orr_latencies_of_gaps(gaps), b = orr_latencies_of(all);
    g_assert_cmpfloat_with_epsilon(a.mean, b.mean, 1e-12 * 1e3);
    if (a.p50 != b.p50 || a.p90 != b.p90 || a.p95 != b.p95 || a.p99 != b.p99)
      g_error("seed %u: %.17g %.17g", seed, a.p99, b.p99);
  }
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Many values, which are sorted by their digits, have the order and the mean of a sort by
 * comparisons: negative ones, equal ones and both zeros, too. */
static void test_many(void) {
  enum { N = 20001 };
  OrrRandom random = orr_random_stream(1, "values");
  g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
  g_autofree double *sorted = g_new(double, N);
  double sum = 0;
  for (guint i = 0; i < N; i++) {
    const double scale = i % 3 == 0 ? 1e-300 : i % 3 == 1 ? -1e3 : 1e9;
    sorted[i] = i % 100 == 0 ? (i % 200 ? -0.0 : 0.0) : scale * orr_random_unit(&random);
    if (i % 7 == 0 && i > 0) sorted[i] = sorted[i - 1];
  }
  g_array_append_vals(values, sorted, N);
  qsort(sorted, N, sizeof *sorted, compare);
  for (guint i = 0; i < N; i++) sum += sorted[i];
  const OrrLatencies latencies = orr_latencies_of(values);
  for (guint i = 0; i < N; i++) g_assert_cmpfloat(g_array_index(values, double, i), ==, sorted[i]);
  g_assert_cmpfloat(latencies.mean, ==, sum / N);
  g_assert_cmpfloat(latencies.p50, ==, sorted[10000]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/run/latencies/gaps", test_gaps);
  g_test_add_func("/run/latencies/many", test_many);
  return g_test_run();
}

/*
 * test_latencies.c - percentiles of gaps between tokens against a list with every gap in it.
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

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/run/latencies/gaps", test_gaps);
  return g_test_run();
}

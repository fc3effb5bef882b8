/*
 * fuzz_kineto.c - libFuzzer target: no bytes may break the reader of PyTorch's traces, nor the
 * account of what it reads.
 */
#include <math.h>

#include "sim/explain/explain.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrTimeline) timeline = orr_kineto_read(fuzz_file(data, size), NULL, NULL, diags);
  g_assert_true((timeline != NULL) == (orr_diags_n_errors(diags) == 0));
  if (!timeline) return 0;
  const gint64 device = orr_timeline_device(timeline);
  orr_timeline_find_steps(timeline, device);
  const OrrTimelineStep step = orr_timeline_median(timeline, device);
  g_autoptr(OrrAccount) account = orr_account_new(timeline, device, step.begin_s, step.end_s);
  double sum = 0;
  for (int kind = 0; kind < ORR_N_EXPLAIN; kind++) sum += account->seconds[kind];
  const double span_s = step.end_s - step.begin_s;
  g_assert_cmpfloat(fabs(sum - span_s), <=, 1e-6 * (1 + fabs(step.begin_s) + span_s));
  return 0;
}

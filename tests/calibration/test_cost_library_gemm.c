/* test_cost_library_gemm.c - products by the kernels of one library beside the profile's own. */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "tests/calibration/calibration_sample.h"

#include <math.h>

static const char two_libraries[] =
    "schema: profile/1\nname: p\ndevice: d\ngemm:\n"
    "  - {dtype: fp8, library: vllm, source: s, m: \"16 64\", rows: [{n: 1024, k: 1024, us: \"10 "
    "12\"}, "
    "{n: 4096, k: 1024, us: \"20 24\"}]}\n"
    "library-gemm:\n"
    "  - {library: trtllm, dtype: fp8, source: s, m: \"16 64\", rows: [{n: 1024, k: 1024, us: "
    "\"15 24\"}, {n: 4096, k: 1024, us: \"30 48\"}]}\n"
    "  - {library: trtllm, dtype: fp8, blocks: true, source: s, m: \"16\", rows: [{n: 1024, k: "
    "1024, us: \"5\"}]}\n";

static OrrCost library_cost(const OrrCostModel *model, OrrKernelLibrary library, gboolean blocks,
                            gint64 m, gint64 n) {
  OrrOperator op = orr_operator_gemm("test", ORR_PASS_FORWARD, ORR_FP8,
                                     (OrrGemmShape){1, m, n, 1024, .stored.blocks = blocks});
  op.library = (guint8)library;
  return orr_cost_operator(model, &op);
}

/* The library asked for answers by its rows; at m = 32 it is sqrt(1.5 * 2) times the own answer,
 * the middle of its ratios. Blocks of scales take the one table that has them. A library without
 * rows is answered by the profile's own, which counts as carried over from vllm. */
static void test_libraries(void) {
  g_autoptr(OrrProfile) profile = sample_profile(two_libraries);
  OrrDevice device = round_device;
  device.name = (char *)"d";
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  const OrrCost own = library_cost(model, ORR_KERNEL_LIBRARY_ANY, FALSE, 16, 1024);
  assert_near(own.time_s, 10e-6, 1e-12);
  assert_near(library_cost(model, ORR_KERNEL_LIBRARY_VLLM, FALSE, 16, 1024).time_s, 10e-6, 1e-12);
  const OrrCost theirs = library_cost(model, ORR_KERNEL_LIBRARY_TRTLLM, FALSE, 16, 1024);
  assert_near(theirs.time_s, 15e-6, 1e-12);
  g_assert_cmpint(theirs.how, ==, ORR_HOW_MEASURED);
  const OrrCost between = library_cost(model, ORR_KERNEL_LIBRARY_TRTLLM, FALSE, 32, 1024);
  assert_near(between.time_s,
              library_cost(model, ORR_KERNEL_LIBRARY_ANY, FALSE, 32, 1024).time_s * sqrt(1.5 * 2),
              1e-12);
  g_assert_cmpint(between.how, ==, ORR_HOW_INTERPOLATED);
  assert_near(library_cost(model, ORR_KERNEL_LIBRARY_TRTLLM, TRUE, 16, 1024).time_s, 5e-6, 1e-12);
  const OrrCost blocks = library_cost(model, ORR_KERNEL_LIBRARY_VLLM, TRUE, 16, 1024);
  assert_near(blocks.time_s, 5e-6, 1e-12);
  g_assert_cmpstr(blocks.from, ==, "trtllm");
  const OrrCost other = library_cost(model, ORR_KERNEL_LIBRARY_SGLANG, FALSE, 16, 1024);
  assert_near(other.time_s, 10e-6, 1e-12);
  g_assert_cmpint(other.how, ==, ORR_HOW_CARRIED);
  g_assert_cmpstr(other.from, ==, "vllm");
}

/* Weights of 4 bits, widened to bf16: the table answers for its library and for any; a
 * library without one reads fewer bytes at the plain product's rate. */
static void test_narrow_weights(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nlibrary-gemm:\n"
                     "  - {library: trtllm, dtype: bf16, weight-bytes: 0.5, source: s, m: \"16\", "
                     "rows: [{n: 1024, "
                     "k: 1024, us: \"9\"}]}\n");
  OrrDevice device = round_device;
  device.name = (char *)"d";
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  g_autoptr(OrrCostModel) none = model_of(NULL, &device);
  OrrOperator op =
      orr_operator_gemm("test", ORR_PASS_FORWARD, ORR_BF16,
                        (OrrGemmShape){1, 16, 1024, 1024, .stored.weight_bytes = 0.52});
  const double modelled_s = orr_cost_operator(none, &op).time_s;
  const double own_ratio = orr_cost_operator(model, &op).time_s / modelled_s;
  op.library = ORR_KERNEL_LIBRARY_VLLM;
  assert_near(orr_cost_operator(model, &op).time_s, modelled_s, 1e-12);
  op.library = ORR_KERNEL_LIBRARY_TRTLLM;
  assert_near(orr_cost_operator(model, &op).time_s, modelled_s * own_ratio, 1e-12);
  op.gemm.stored.weight_bytes = 0.5;
  assert_near(orr_cost_operator(model, &op).time_s, 9e-6, 1e-12);
  op.gemm.stored.weight_bytes = 0;
  assert_near(orr_cost_operator(model, &op).time_s, orr_cost_operator(none, &op).time_s, 1e-12);
}

/* A device that borrows rows: at twice the rates its own answer is the other one's row, as far
 * from its roofline, times what the library that was measured on both says of the two devices. */
static void test_library_on_two_devices(void) {
  g_autofree char *text = g_strconcat(
      two_libraries,
      "  - {library: trtllm, dtype: fp8, measured-on: e, source: s, m: \"16\", rows: [{n: 1024, k: "
      "1024, us: \"12\"}]}\n",
      NULL);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  OrrDevice old = round_device, new = round_device;
  old.name = (char *)"d";
  new.name = (char *)"e";
  new.memory_bytes_per_s *= 2;
  g_autoptr(OrrCostModel) model = orr_cost_model_new_scaled(profile, &old, NULL, &new, NULL);
  const OrrCost theirs = library_cost(model, ORR_KERNEL_LIBRARY_TRTLLM, FALSE, 16, 1024);
  assert_near(theirs.time_s, 12e-6, 1e-9);
  g_assert_cmpint(theirs.how, ==, ORR_HOW_MEASURED);
  const OrrCost own = library_cost(model, ORR_KERNEL_LIBRARY_VLLM, FALSE, 16, 1024);
  assert_near(own.time_s, 10e-6 * 12 / 15, 1e-9);
  g_assert_cmpint(own.how, ==, ORR_HOW_CARRIED);
}

/* The answer at (16, @n, 1024) over the roofline. A library has rows at @ns, each @times as long as
 * the roofline. */
static double over_roofline_of(const gint64 *ns, const double *times, guint n_rows, gint64 n,
                               gboolean tuned) {
  g_autoptr(GString) text = g_string_new("schema: profile/1\nname: p\ndevice: d\nlibrary-gemm:\n");
  g_string_append_printf(text,
                         "  - {library: trtllm, dtype: fp8, tuned: %s, source: s, m: \"16\", "
                         "rows: [",
                         tuned ? "true" : "false");
  OrrDevice device = round_device;
  device.name = (char *)"d";
  g_autoptr(OrrCostModel) none = model_of(NULL, &device);
  for (guint i = 0; i < n_rows; i++)
    g_string_append_printf(text, "%s{n: %ld, k: 1024, us: \"%.9g\"}", i ? ", " : "", ns[i],
                           1e6 * times[i] *
                               library_cost(none, ORR_KERNEL_LIBRARY_ANY, FALSE, 16, ns[i]).time_s);
  g_string_append(text, "]}\n");
  g_autoptr(OrrProfile) profile = sample_profile(text->str);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  return library_cost(model, ORR_KERNEL_LIBRARY_TRTLLM, FALSE, 16, n).time_s /
         library_cost(none, ORR_KERNEL_LIBRARY_ANY, FALSE, 16, n).time_s;
}

static double over_roofline(const gint64 *ns, const double *times, guint n_rows, gint64 n) {
  return over_roofline_of(ns, times, n_rows, n, FALSE);
}

/* In a tuner's table the row at 4096, twice as slow as its neighbours (log 2 > 0.3), does not count
 * for 5120 next to it, and its own product still takes as long as the row. One that is twice as
 * fast counts: kernels like it exist. In a benchmark's table each counts. */
static void test_untuned_rows(void) {
  static const gint64 ns[] = {1024, 2048, 4096, 8192, 16384};
  static const double slow[] = {1, 1, 2, 1, 1}, fast[] = {1, 1, 0.5, 1, 1};
  assert_near(over_roofline_of(ns, slow, 5, 5120, TRUE), 1, 0.02);
  assert_near(over_roofline_of(ns, slow, 5, 4096, TRUE), 2, 1e-6);
  g_assert_cmpfloat(over_roofline_of(ns, slow, 5, 5120, FALSE), >, 1.4);
  g_assert_cmpfloat(over_roofline_of(ns, fast, 5, 5120, TRUE), <=,
                    over_roofline_of(ns, fast, 5, 5120, FALSE));
}

/* Rows of 1.1^10, 1.1^11 and 1.1^13 times the roofline at n = 1024, 2048 and 8192 are a line over
 * log n, whose slope is held back by 5 %: 1.1^11.994 at 4096. Their weighted mean is 1.1^11.87. */
static void test_plane(void) {
  static const gint64 ns[] = {1024, 2048, 8192};
  const double times[] = {pow(1.1, 10), pow(1.1, 11), pow(1.1, 13)};
  assert_near(over_roofline(ns, times, 3, 4096), pow(1.1, 11.994), 2e-4);
}

/* A width of 800 that no tile divides takes four times as long as it should: 768 is next to it, but
 * follows 1024, which tiles divide as well. It was 4 without alignment; with the two rows' plane,
 * whose slope is held back, 1.2. Below the least and above the most row no answer goes. */
static void test_alignment(void) {
  static const gint64 ns[] = {800, 1024};
  static const double times[] = {4, 1};
  assert_near(over_roofline(ns, times, 2, 768), 1.197, 0.01);
  g_assert_cmpfloat(over_roofline(ns, times, 2, 65536), >=, 1 - 1e-9);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost/libraries", test_libraries);
  g_test_add_func("/cost/library-plane", test_plane);
  g_test_add_func("/cost/untuned-rows", test_untuned_rows);
  g_test_add_func("/cost/library-alignment", test_alignment);
  g_test_add_func("/cost/narrow-weights", test_narrow_weights);
  g_test_add_func("/cost/library-on-two-devices", test_library_on_two_devices);
  return g_test_run();
}

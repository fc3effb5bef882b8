/* test_cost_layouts.c - products of a layout, a batch and a library's release take rows of their
 * own, and others' where there are none.
 */
#include <math.h>

#include "calibration/cost/cost_tables.h"
#include "calibration/profile/profile_private.h"
#include "tests/calibration/calibration_sample.h"

static const char many_tables[] =
    "schema: profile/1\nname: p\ndevice: round\nsource: test\nconstants: {source: test}\n"
    "gemm:\n"
    "  - {dtype: bf16, source: s, m: \"64 128\", rows: [{n: 64, k: 64, us: \"10 20\"}]}\n"
    "  - {dtype: bf16, layout: wgrad, source: s, m: \"64 128\",\n"
    "     rows: [{n: 64, k: 64, us: \"15 30\"}]}\n"
    "  - {dtype: bf16, release: cublas-11.4.2, source: s, m: \"64 128\",\n"
    "     rows: [{n: 64, k: 64, us: \"12 24\"}]}\n"
    "  - {dtype: bf16, batch: 4, source: s, m: \"64 128\",\n"
    "     rows: [{n: 64, k: 64, us: \"30 60\"}]}\n"
    "  - {dtype: bf16, batch: 16, source: s, m: \"64 128\",\n"
    "     rows: [{n: 64, k: 64, us: \"90 180\"}]}\n";

static OrrOperator product(OrrPass pass, gint64 batch, const char *release, double rate) {
  OrrOperator op = orr_operator_gemm("test", pass, ORR_BF16, (OrrGemmShape){batch, 64, 64, 64});
  op.release = release;
  op.rate = rate;
  return op;
}

static double product_us(const OrrCostModel *model, OrrPass pass, gint64 batch, const char *release,
                         double rate) {
  const OrrOperator op = product(pass, batch, release, rate);
  return orr_cost_operator(model, &op).time_s * 1e6;
}

/* wgrad has rows, dgrad takes forward's 10 us. Rows of cublas-11.4.2 answer for "cublas-11" and
 * "cublas-11.4", and no rate changes them; "cublas-1" is another release: at 80 % of the rows'
 * rate, 10 us are 12.5. */
static void test_layouts_and_releases(void) {
  g_autoptr(OrrProfile) profile = sample_profile(many_tables);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  assert_near(product_us(model, ORR_PASS_FORWARD, 1, NULL, 0), 10, 1e-9);
  assert_near(product_us(model, ORR_PASS_DGRAD, 1, NULL, 0), 10, 1e-9);
  assert_near(product_us(model, ORR_PASS_WGRAD, 1, NULL, 0), 15, 1e-9);
  assert_near(product_us(model, ORR_PASS_FORWARD, 1, "cublas-11", 0.8), 12, 1e-9);
  assert_near(product_us(model, ORR_PASS_FORWARD, 1, "cublas-11.4", 0.8), 12, 1e-9);
  assert_near(product_us(model, ORR_PASS_FORWARD, 1, "cublas-1", 0.8), 12.5, 1e-9);
  assert_near(product_us(model, ORR_PASS_WGRAD, 1, "cublas-11", 0.5), 30, 1e-9);
}

static OrrCost narrow_cost(const char *us, const char *launch) {
  static const gint64 size = 16384;
  OrrDevice device = round_device;
  device.fp8_flops = 2 * device.bf16_flops;
  g_autofree char *text = g_strdup_printf(
      "schema: profile/1\nname: p\ndevice: round\nsource: test\n"
      "constants: {source: test%s}\ngemm:\n"
      "  - {dtype: bf16, source: s, m: \"16384\", rows: [{n: 16384, k: 16384, us: \"100000\"}]}\n"
      "  - {dtype: fp8, source: s, m: \"16384\", rows: [{n: 16384, k: 16384, us: \"%s\"}]}\n",
      launch, us);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  const OrrOperator op =
      orr_operator_gemm("test", ORR_PASS_FORWARD, ORR_FP8, (OrrGemmShape){1, size, size, size});
  return orr_cost_narrow(model, &op);
}

/* A product in fp8 whose rows hold an engine's cast (1 s): half of the 100 ms of bf16, since its
 * arithmetic hides the memory, and a cast of 16384^2 elements, 3 bytes each at 0.8 to 1 TB/s: 0.8
 * to 1 ms. Faster rows, and rows without a cast, answer themselves. */
static void test_narrow(void) {
  const OrrCost slow = narrow_cost("1000000", ", fp8-row-launch: 10 us, fp8-row-cast: 1 TB/s"),
                fast = narrow_cost("40000", ", fp8-row-launch: 10 us, fp8-row-cast: 1 TB/s"),
                plain = narrow_cost("1000000", "");
  g_assert_cmpfloat(slow.time_s, >, 50.7e-3);
  g_assert_cmpfloat(slow.time_s, <, 51.1e-3);
  g_assert_cmpint(slow.how, ==, ORR_HOW_MODELLED);
  assert_near(fast.time_s, 40e-3, 1e-9);
  g_assert_cmpint(fast.how, ==, ORR_HOW_MEASURED);
  assert_near(plain.time_s, 1, 1e-9);
}

/* 4 and 16 have rows: 30 and 90 us. Between, the distance from the roofline is on a line over log
 * batch: 8 is half of the way. The roofline grows with the batch but for its fixed part, so the
 * middle is within 5 % of 8 sqrt(30 / 4 90 / 16) = 52 us. Between 1 and 4 the unbatched table
 * counts. Beyond the last table its distance answers, and counts as outside. */
static void test_batches(void) {
  g_autoptr(OrrProfile) profile = sample_profile(many_tables);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  const double middle_us = 8 * sqrt(30.0 / 4 * 90 / 16);
  assert_near(product_us(model, ORR_PASS_FORWARD, 4, NULL, 0), 30, 1e-9);
  assert_near(product_us(model, ORR_PASS_FORWARD, 16, NULL, 0), 90, 1e-9);
  assert_near(product_us(model, ORR_PASS_FORWARD, 8, NULL, 0), middle_us, 0.05);
  assert_near(product_us(model, ORR_PASS_FORWARD, 2, NULL, 0), 2 * sqrt(10.0 * 30 / 4), 0.05);
  g_assert_cmpfloat(product_us(model, ORR_PASS_FORWARD, 32, NULL, 0), >, 90);
  const OrrOperator known = product(ORR_PASS_FORWARD, 4, NULL, 0),
                    beyond = product(ORR_PASS_FORWARD, 32, NULL, 0);
  g_assert_cmpint(orr_cost_operator(model, &known).how, ==, ORR_HOW_MEASURED);
  g_assert_cmpint(orr_cost_operator(model, &beyond).how, ==, ORR_HOW_OUTSIDE);
}

/* Of two releases the newer one answers where none is named, though "12.10" sorts before "12.8";
 * one with rows of the shape before one without. A table that states no release stays first. */
static void test_newest_release(void) {
  static const char head[] =
      "schema: profile/1\nname: p\ndevice: round\nsource: test\nconstants: {source: test}\ngemm:\n"
      "  - {dtype: bf16, release: cublas-12.10, source: s, m: \"64 128\",\n"
      "     rows: [{n: 64, k: 64, us: \"10 20\"}]}\n"
      "  - {dtype: bf16, release: cublas-12.8, source: s, m: \"64 128\",\n"
      "     rows: [{n: 64, k: 64, us: \"12 24\"}, {n: 4096, k: 64, us: \"700 1400\"}]}\n";
  g_autofree char *unstated = g_strconcat(head,
                                          "  - {dtype: bf16, source: s, m: \"64 128\",\n"
                                          "     rows: [{n: 64, k: 64, us: \"15 30\"}]}\n",
                                          NULL);
  g_autoptr(OrrProfile) two = sample_profile(head), three = sample_profile(unstated);
  for (int i = 0; i < 2; i++) { /* in both orders */
    g_ptr_array_add(two->gemm, g_ptr_array_steal_index(two->gemm, 0));
    g_autoptr(OrrCostModel) model = model_of(two, &round_device);
    assert_near(product_us(model, ORR_PASS_FORWARD, 1, NULL, 0), 10, 1e-9);
    assert_near(product_us(model, ORR_PASS_FORWARD, 1, "cublas-12.8", 0), 12, 1e-9);
    assert_near(gemm_cost(model, ORR_BF16, 1, 64, 4096, 64).time_s * 1e6, 700, 1e-9);
  }
  g_autoptr(OrrCostModel) model = model_of(three, &round_device);
  assert_near(product_us(model, ORR_PASS_FORWARD, 1, NULL, 0), 15, 1e-9);
}

/* Beyond the last m of the rows the transposed product answers, 64 x 256 x 64 in 20 us for
 * 256 x 64 x 64. With the rows' last m, 40 us, a longer product takes no less. */
static void test_transposed(void) {
  static const char text[] =
      "schema: profile/1\nname: p\ndevice: round\nsource: test\nconstants: {source: test}\n"
      "gemm:\n  - {dtype: bf16, source: s, m: \"64 128\",\n"
      "     rows: [{n: 64, k: 64, us: \"10 %s\"}, {n: 256, k: 64, us: \"20 50\"}]}\n";
  static const struct {
    const char *last;
    double least_us, most_us;
  } cases[] = {{"12", 20, 20.1}, {"40", 40, INFINITY}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *with = g_strdup_printf(text, cases[i].last);
    g_autoptr(OrrProfile) profile = sample_profile(with);
    g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
    const OrrOperator op =
        orr_operator_gemm("test", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 256, 64, 64});
    const double us = orr_cost_operator(model, &op).time_s * 1e6;
    g_test_message("%g us", us);
    g_assert_cmpfloat(us, >=, cases[i].least_us * (1 - 1e-9));
    g_assert_cmpfloat(us, <=, cases[i].most_us);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-layouts/layouts-and-releases", test_layouts_and_releases);
  g_test_add_func("/cost-layouts/narrow", test_narrow);
  g_test_add_func("/cost-layouts/newest-release", test_newest_release);
  g_test_add_func("/cost-layouts/batches", test_batches);
  g_test_add_func("/cost-layouts/transposed", test_transposed);
  return g_test_run();
}

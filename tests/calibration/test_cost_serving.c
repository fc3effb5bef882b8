/*
 * test_cost_serving.c - steps of an engine on the profile that measured them: rows, lines between
 * them, unequal contexts.
 */
#include <math.h>

#include "calibration/cost/cost_serving.h"
#include "sim/base/library.h"
#include "tests/run/shared_library.h"

typedef struct {
  OrrDevice device;
  OrrProfile *profile;
  OrrCostModel *cost;
} Bench;

static void setup(Bench *bench) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  const OrrPlace place = {.file = "test"};
  g_autoptr(OrrNode) device = orr_library_load(library, "device", "rtx-pro-6000", place, diags);
  g_autoptr(OrrNode) profile = orr_library_load(library, "profile", "rtx-pro-6000", place, diags);
  g_assert_true(orr_field_read(&orr_device_table, device, library, diags, &bench->device));
  bench->profile = orr_profile_read(profile, library, diags);
  bench->cost = orr_cost_model_new(bench->profile, &bench->device, &error);
  g_assert_no_error(error);
}

static void teardown(Bench *bench) {
  orr_cost_model_free(bench->cost);
  orr_profile_free(bench->profile);
  orr_field_clear(&orr_device_table, &bench->device);
}

static OrrCost ask(const Bench *bench, double chunk, double keys, double decodes, double mean,
                   double least, double most) {
  const OrrBatchAttention asked = {.dtype = ORR_BF16,
                                   .kv_dtype = ORR_BF16,
                                   .heads = 32,
                                   .kv_heads = 8,
                                   .head_dim = 128,
                                   .chunk = chunk,
                                   .chunk_keys = keys,
                                   .decodes = decodes,
                                   .keys_mean = mean,
                                   .keys_least = least,
                                   .keys_most = most};
  const OrrCostBatch *batch = orr_cost_batch_find(bench->cost, &asked);
  g_assert_nonnull(batch);
  return orr_cost_batch_attention(bench->cost, batch, &asked);
}

/* Rows of profile_attention.csv, to its three digits here: 4 decodes of 1,024 keys 26.304 us; a
 * chunk of 512 with no history, alone, and with 64 decodes of 1,024. */
static void test_rows(void) {
  Bench bench;
  setup(&bench);
  const OrrCost row = ask(&bench, 0, 0, 4, 1024, 1024, 1024);
  g_assert_cmpfloat_with_epsilon(row.time_s * 1e6, 26.304, 0.05);
  g_assert_cmpint(row.how, ==, ORR_HOW_MEASURED);
  /* a line between 1,024 and 1,152 keys, 26.304 and 27.4783 */
  const OrrCost between = ask(&bench, 0, 0, 4, 1088, 1088, 1088);
  g_assert_cmpfloat_with_epsilon(between.time_s * 1e6, 26.89, 0.06);
  g_assert_cmpint(between.how, ==, ORR_HOW_INTERPOLATED);
  g_assert_cmpint(ask(&bench, 0, 0, 1000, 512, 512, 512).how, ==, ORR_HOW_OUTSIDE);
  teardown(&bench);
}

/* More of anything takes no less; unequal contexts lie between their mean and their longest. */
static void test_order(void) {
  Bench bench;
  setup(&bench);
  double before = 0;
  for (double keys = 64; keys <= 16384; keys *= 2) {
    const double time_s = ask(&bench, 512, 2000, 32, keys, keys, keys).time_s;
    g_assert_cmpfloat(time_s, >, 0.95 * before);
    before = time_s;
  }
  const double mean = ask(&bench, 256, 1000, 32, 1000, 1000, 1000).time_s;
  const double most = ask(&bench, 256, 1000, 32, 4000, 4000, 4000).time_s;
  const double mixed = ask(&bench, 256, 1000, 32, 1000, 200, 4000).time_s;
  g_assert_cmpfloat(mixed, >=, mean);
  g_assert_cmpfloat(mixed, <=, most);
  teardown(&bench);
}

/* rms-norm of 1,024 tokens: 6.11717 us; half the width at twice the tokens is as much work, and
 * modelled. */
static void test_token_kernels(void) {
  Bench bench;
  OrrCost cost;
  setup(&bench);
  g_assert_true(orr_cost_serving_token_kernel(bench.cost, "rms-norm", 1024, 4096, &cost));
  g_assert_cmpfloat_with_epsilon(cost.time_s * 1e6, 6.117, 0.001);
  g_assert_true(orr_cost_serving_token_kernel(bench.cost, "rms-norm", 2048, 2048, &cost));
  g_assert_cmpfloat_with_epsilon(cost.time_s * 1e6, 6.117, 0.001);
  g_assert_cmpint(cost.how, ==, ORR_HOW_MODELLED);
  g_assert_false(orr_cost_serving_token_kernel(bench.cost, "softmax", 10, 10, &cost));
  teardown(&bench);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/calibration/cost-serving/rows", test_rows);
  g_test_add_func("/calibration/cost-serving/order", test_order);
  g_test_add_func("/calibration/cost-serving/token-kernels", test_token_kernels);
  return g_test_run();
}

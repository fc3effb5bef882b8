/* test_cost_module.c - sparse and linear attention: hand-worked rooflines, rows and between. */
#include "calibration/cost/cost_module.h"

#include <math.h>

#include "calibration/crossval/crossval.h"
#include "tests/calibration/calibration_sample.h"

/* Two rows of a convolution by one kernel, four times apart; a floor of a second hides the work. */
static const char rows[] =
    "schema: profile/1\nname: p\ndevice: round\nmodules:\n"
    "  devices:\n"
    "  - {name: round, chip: c, bandwidth: 1 TB/s, bf16: 100 TFLOP/s, fp8: 100 TFLOP/s, fp4: 100 "
    "TFLOP/s}\n"
    "  - {name: other, alias: other_sxm, chip: c, bandwidth: 1 TB/s, bf16: 100 TFLOP/s, fp8: 100 "
    "TFLOP/s, fp4: 100 TFLOP/s}\n"
    "  layers:\n  - {name: l, channels: 1, state: 1, output: 1}\n"
    "  tables:\n"
    "  - name: t\n    kind: linear\n    source: s\n    floor: 1 s\n    scales: [4, 4, 4, 4, 4]\n"
    "    differences: [0.1, 0, 0, 0, 0, 0, 0, 0, 0]\n    variance: 1\n    noise: 1e-9\n"
    "    groups:\n"
    "    - {op: conv, device: round, engine: e, kernel: k, weights: bfloat16, cache: bfloat16, "
    "layer: l, rows: \"1 1 100 100 2e6 1 1 400 400 8e6\"}\n";

static const OrrProfileModuleLayer small = {.name = (char *)"l", .ratio = 1, .channels = 1};

static OrrModuleCall conv_of(double tokens) {
  return (OrrModuleCall){.op = "conv",
                         .engine = "e",
                         .kernel = "k",
                         .weights = "bfloat16",
                         .cache = "bfloat16",
                         .mode = "",
                         .layer = &small,
                         .heads = 1,
                         .batch = 1,
                         .queries = tokens,
                         .keys = tokens};
}

static OrrCost ask(const OrrCostModel *model, const OrrModuleCall *call) {
  return orr_cost_module(model, call);
}

/* A row is itself. In the middle of two rows both weigh alike: the geometric mean. */
static void test_rows(void) {
  g_autoptr(OrrProfile) profile = sample_profile(rows);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrModuleCall call = conv_of(100);
  assert_near(ask(model, &call).time_s, 2, 1e-6);
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_MEASURED);
  call = conv_of(200);
  assert_near(ask(model, &call).time_s, 4, 1e-6);
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_INTERPOLATED);
  call = conv_of(1000); /* more than a doubling beyond 400 */
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_OUTSIDE);
}

/* Another device has no rows: the nearest ones are carried over, as the source's name of it is. */
static void test_carried(void) {
  g_autoptr(OrrProfile) profile = sample_profile(rows);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrModuleCall call = conv_of(200);
  call.device = "other_sxm";
  const OrrCost cost = ask(model, &call);
  g_assert_cmpint(cost.how, ==, ORR_HOW_CARRIED);
  g_assert_cmpstr(cost.from, ==, "round");
  assert_near(cost.time_s, 4, 1e-6);
}

/* Without rows: 12 kernels of 2.5 us and the roofline. 2 sequences, 1 query, 4,096 keys, 3 heads:
 *   products   2 tokens, (10 + 3 x 5 + 7) weights of 2 bytes, 8 x 100 + 2,000 x 3 bytes moved
 *   indexer    2 x 4,095.5 pairs, 4 heads of 8; 2 x 4,096 keys of 8 + 4 bytes, 8 bytes a score
 *   attention  2 x 1,000 chosen of 4,096, 3 heads, widths 16 + 12; entries of 16 x 2 bytes */
static const OrrProfileModuleLayer chosen = {.hidden = 100,
                                             .weights = 10,
                                             .head_weights = 5,
                                             .index_weights = 7,
                                             .key_width = 16,
                                             .value_width = 12,
                                             .topk = 1000,
                                             .ratio = 1,
                                             .index_heads = 4,
                                             .index_width = 8};

static double hand_us(double keys) {
  const double bandwidth = 0.8e12, peak = 1e14;
  const double products =
      2 * 2 * 32 / (0.7 * peak) + (32 * 2 + 2 * (8 * 100 + 2000 * 3)) / bandwidth;
  const double pairs = 2 * (keys - 0.5);
  const double indexer = 2 * pairs * 4 * 8 / (0.5 * peak) + (2 * keys * 12 + 8 * pairs) / bandwidth;
  const double core = 2 * 2000. * 3 * 28 / (0.5 * peak) + 2000 * 32 / bandwidth;
  return 12 * 2.5 + 1e6 * (products + indexer + core);
}

static void test_modelled(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrModuleCall call = {
      .op = "dsa-decode", .layer = &chosen, .heads = 3, .batch = 2, .queries = 1, .keys = 4096};
  const OrrCost cost = ask(model, &call);
  g_assert_cmpint(cost.how, ==, ORR_HOW_MODELLED);
  assert_near(cost.time_s * 1e6, hand_us(4096), 1e-9);
  call.keys = 65536; /* the indexer alone grows */
  assert_near(ask(model, &call).time_s * 1e6, hand_us(65536), 1e-9);
  call.op = "dsa-decode-shared"; /* no indexer: the same at any context */
  const double at_64k = ask(model, &call).time_s;
  call.keys = 4096;
  assert_near(ask(model, &call).time_s, at_64k, 1e-12);
}

/* A decode of 2 sequences and 3 heads reads and writes 2 x 3 x 1,000 elements of state: from fp32
 * to 2 bytes it saves 2 x 6,000 x 2 bytes at 0.8 TB/s. */
static void test_state_bytes(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrProfileModuleLayer layer = {.ratio = 1, .channels = 1, .state = 1000, .output = 1};
  const OrrModuleCall call = {
      .op = "state-update", .layer = &layer, .heads = 3, .batch = 2, .queries = 1, .keys = 1};
  const double fp32_s = ask(model, &call).time_s;
  layer.state_bytes = 2;
  assert_near((fp32_s - ask(model, &call).time_s) * 1e9, 24000 / 0.8e3, 1e-6);
  layer.state_bytes = 4; /* the default */
  assert_near(ask(model, &call).time_s, fp32_s, 1e-15);
}

/* Every row of the profile's device is predicted once, from the others. */
static void test_left_out(void) {
  g_autoptr(OrrProfile) profile = sample_profile(rows);
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) tables =
      orr_crossval_run(profile, &round_device, "linear-attention", &error);
  g_assert_no_error(error);
  g_assert_cmpuint(tables->len, ==, 1);
  const OrrCrossvalTable *table = tables->pdata[0];
  g_assert_cmpuint(table->points->len, ==, 2);
  for (guint i = 0; i < 2; i++) { /* the other row's 2 or 8 s, whichever it is */
    const OrrCrossvalPoint *point = &g_array_index(table->points, OrrCrossvalPoint, i);
    assert_near(point->modelled_s * point->measured_s, 16, 1e-6);
  }
}

static void refused(const char *from, const char *to, const char *why) {
  g_auto(GStrv) parts = g_strsplit(rows, from, 2);
  g_autofree char *text = g_strjoinv(to, parts), *findings = NULL;
  g_autoptr(OrrProfile) profile = read_profile(text, &findings);
  g_assert_null(profile);
  g_assert_nonnull(strstr(findings, why));
}

static void test_refusals(void) {
  refused("8e6\"", "8e6 1\"", "11 numbers are not whole rows");
  refused("device: round, engine", "device: moon, engine", "'moon' is not among `devices`");
  refused("layer: l, rows", "layer: m, rows", "'m' is not among `layers`");
  refused("scales: [4,", "scales: [", "scales has 4 numbers: want 5");
  refused("kind: linear", "kind: curved", "kind is 'curved'");
  refused("1 1 400", "1 -1 400", "rows: ");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-module/rows", test_rows);
  g_test_add_func("/cost-module/carried", test_carried);
  g_test_add_func("/cost-module/modelled", test_modelled);
  g_test_add_func("/cost-module/state-bytes", test_state_bytes);
  g_test_add_func("/cost-module/left-out", test_left_out);
  g_test_add_func("/cost-module/refusals", test_refusals);
  return g_test_run();
}

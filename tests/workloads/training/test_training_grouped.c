/*
 * Experts in training: the rate of grouped products, what sharing them out must not cost, what
 * imbalance must.
 */
#include <math.h>

#include "tests/calibration/calibration_sample.h"
#include "tests/run/shared_library.h"
#include "tests/workloads/scenario_fixture.h"
#include "workloads/grouped_experts.h"

static const char *const scenario_text = "schema: scenario/1\n"
                                         "name: test\n"
                                         "cluster: {base: dgx-h100-superpod, nodes: 8}\n"
                                         "model: {base: deepseek-v3, layers: 4}\n"
                                         "workload:\n"
                                         "  kind: training\n  stack: none\n"
                                         "  parallel: {tp: 1, pp: 1, dp: 64, ep: 64}\n"
                                         "  batch: {global: 64, micro: 1}\n"
                                         "  sequence: 4096\n"
                                         "  precision: fp8-blockwise\n";

typedef struct {
  double flops_per_s[2], experts_s; /* of the first forward and backward products; of all, a step */
  double exchange_bytes, exchange_s, step_s;
} Answer;

static Answer simulate(const char *sets) {
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, FALSE);
  Answer answer = {.step_s = outcome->result.training.iteration_time_s};
  for (guint i = 0; i < outcome->operators->len; i++) {
    const OrrOperatorRow *row = &g_array_index(outcome->operators, OrrOperatorRow, i);
    if (!g_str_equal(row->name, "experts")) continue;
    const int backward = strstr(row->phase, "backward") != NULL;
    if (answer.flops_per_s[backward] == 0)
      answer.flops_per_s[backward] = row->flops / row->seconds_each;
    answer.experts_s += row->seconds_total;
  }
  for (guint i = 0; i < outcome->collectives->len; i++) {
    const OrrCollectiveRow *row = &g_array_index(outcome->collectives, OrrCollectiveRow, i);
    if (!g_str_has_prefix(row->name, "ep-")) continue;
    answer.exchange_bytes = MAX(answer.exchange_bytes, row->bytes);
    answer.exchange_s = MAX(answer.exchange_s, row->predicted_s);
  }
  return answer;
}

/* Four experts of 8,192 tokens each on a rank. DeepGEMM's README has their two products on H800,
 * whose tensor cores are H100's: 1,297 TFLOP/s over 2/3 of the FLOPs, 1,099 over 1/3: 1,223
 * together. The forward also has the activation. */
static void test_rate(void) {
  const Answer answer = simulate("");
  g_assert_cmpfloat_with_epsilon(answer.flops_per_s[0] / 1223e12, 1, 0.25);
  g_assert_cmpfloat(answer.flops_per_s[1], >, 0.5 * 1223e12);
}

/* A library of products at half of the rows' rate has them everywhere, in the experts as well:
 * their products take twice as long, unless the profile's fused kernels, which are not of this
 * library, are faster then; their activation takes as long as before. */
static void test_library(void) {
  const Answer usual = simulate("workload.precision=bf16"),
               slow = simulate("workload.precision=bf16;workload.products.release=cublas-0;"
                               "workload.products.rate=50 %");
  g_assert_cmpfloat(slow.experts_s, >, 1.5 * usual.experts_s);
  g_assert_cmpfloat(slow.experts_s, <=, 2 * usual.experts_s);
}

/* Backward products at half of their rate: forward's are as they were, and backward's take twice as
 * long but for the activation, a few per cent of them. */
static void test_backward_rate(void) {
  const Answer usual = simulate(""), slow = simulate("workload.experts.backward-rate=50 %");
  assert_near(slow.flops_per_s[0], usual.flops_per_s[0], 1e-9);
  g_assert_cmpfloat(slow.flops_per_s[1], <, 0.56 * usual.flops_per_s[1]);
  g_assert_cmpfloat(slow.flops_per_s[1], >, 0.45 * usual.flops_per_s[1]);
}

static double grouped_s(const OrrCostModel *model, gint64 projections, gboolean without_last) {
  const OrrOperator op = orr_operator_moe("experts", ORR_PASS_FORWARD, ORR_BF16,
                                          (OrrMoeShape){.tokens = 65536,
                                                        .hidden = 8192,
                                                        .inter = 8192,
                                                        .topk = 2,
                                                        .experts = 4,
                                                        .tp = 1,
                                                        .ep = 1,
                                                        .projections = projections,
                                                        .without_last = without_last});
  return orr_grouped_experts(model, &op, ORR_BF16, orr_cost_operator).time_s;
}

/* One after the other, four experts of 32,768 tokens take four times as long as one. */
static void test_sequential(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrMoeShape four = {65536, 8192, 8192, .topk = 2, .experts = 4, .tp = 1, .ep = 1},
              one = {32768, 8192, 8192, .topk = 1, .experts = 1, .tp = 1, .ep = 1};
  four.projections = one.projections = 3;
  const OrrOperator all = orr_operator_moe("experts", ORR_PASS_FORWARD, ORR_BF16, four),
                    each = orr_operator_moe("experts", ORR_PASS_FORWARD, ORR_BF16, one);
  for (guint apart = 0; apart < 2; apart++)
    assert_near(
        orr_grouped_experts_sequential(model, &all, ORR_BF16, apart, orr_cost_operator).time_s,
        4 * orr_grouped_experts_sequential(model, &each, ORR_BF16, apart, orr_cost_operator).time_s,
        1e-9);
  assert_near(
      orr_grouped_experts_sequential(model, &each, ORR_BF16, FALSE, orr_cost_operator).time_s,
      orr_grouped_experts(model, &each, ORR_BF16, orr_cost_operator).time_s, 1e-9);
}

/* A recomputed layer runs all but the last of its products: one of two without a gate, two of three
 * with one. The activation, 1 % of the time, is run in both. */
static void test_without_last(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  assert_near(grouped_s(model, 2, TRUE) / grouped_s(model, 2, FALSE), 1.0 / 2, 0.02);
  assert_near(grouped_s(model, 3, TRUE) / grouped_s(model, 3, FALSE), 2.0 / 3, 0.02);
}

/* Twice as many ranks share the experts: as many pairs on each, over half as many experts. Products
 * do not get slower.
 */
static void test_sharing_out(void) {
  const Answer eight = simulate("workload.parallel.ep=8"),
               sixteen = simulate("workload.parallel.ep=16");
  g_assert_cmpfloat(sixteen.experts_s, <=, eight.experts_s * 1.001);
}

/* The fullest rank gets more tokens, computes longer, and its link carries more. */
static void test_imbalance(void) {
  const Answer even = simulate(""), uneven = simulate("workload.experts.imbalance=1.2");
  g_assert_cmpfloat(uneven.exchange_bytes, >, 1.05 * even.exchange_bytes);
  g_assert_cmpfloat(uneven.experts_s, >, 1.05 * even.experts_s);
  g_assert_cmpfloat(uneven.exchange_s, >, 1.05 * even.exchange_s);
  g_assert_cmpfloat(uneven.step_s, >, even.step_s);
}

/* Half of the capacity that is needed: half of the routed pairs are dropped, and half of the routed
 * products are in the model's FLOPs. By hand, of a layer's three passes: 6 of each weight, 8
 * experts of 3 x 7168 x 2048 weights in each layer of experts. Padded to twice the need, hardware
 * multiplies as many again. */
static void test_dropped(void) {
  const double tokens = 64 * 4096.0, routed = 6 * tokens * 8 * 3 * 7168 * 2048;
  double model[3], hardware[3];
  static const char *const sets[] = {"", "workload.experts.capacity=0.5",
                                     "workload.experts={capacity: 2, pad-to-capacity: true}"};
  for (guint i = 0; i < G_N_ELEMENTS(sets); i++) {
    g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets[i], FALSE);
    const OrrTrainingResult *r = &outcome->result.training;
    model[i] = r->model_tflops_per_gpu * 1e12 * r->iteration_time_s * 64;
    hardware[i] = r->hardware_tflops_per_gpu * 1e12 * r->iteration_time_s * 64;
    g_assert_cmpint(outcome->warnings->len > 0 &&
                        strstr(outcome->warnings->pdata[0], "drops 50 % of the routed") != NULL,
                    ==, i == 1);
  }
  const double layers = (model[0] - model[1]) / (routed / 2);
  g_test_message("%g routed layers", layers);
  g_assert_cmpfloat_with_epsilon(layers, round(layers), 1e-6);
  g_assert_cmpfloat(layers, >=, 1);
  g_assert_cmpfloat_with_epsilon(model[2], model[0], 1e-9 * model[0]);
  g_assert_cmpfloat_with_epsilon((hardware[2] - hardware[0]) / routed, layers, 1e-6);
}

/* Zipf's law over 256 experts, four a rank: the fullest rank's part of everything. Equal counts
 * are balanced exactly; padded to a capacity, experts have as many whatever they are wanted; cut
 * to one, the fullest rank has no more than that, and a capacity that nobody reaches changes
 * nothing. */
static void test_load(void) {
  const char *load = "workload.experts.load=";
  g_autofree char *zipf = g_strconcat(load, "{kind: zipf, exponent: 0.5}", NULL);
  g_autofree char *padded =
      g_strconcat("workload.experts.pad-to-capacity=true;workload.experts.capacity=1;", zipf, NULL);
  g_autofree char *cut = g_strconcat("workload.experts.capacity=1;", zipf, NULL);
  g_autofree char *roomy = g_strconcat("workload.experts.capacity=256;", zipf, NULL);
  g_autoptr(GString) counts = g_string_new(load);
  g_string_append(counts, "{kind: histogram, counts: [7");
  for (int e = 1; e < 256; e++) g_string_append(counts, ", 7");
  g_string_append(counts, "]}");
  const Answer even = simulate(""), uneven = simulate(zipf), same = simulate(counts->str);
  const Answer full = simulate("workload.experts.capacity=1"), still = simulate(padded);
  const double fullest = uneven.exchange_bytes / even.exchange_bytes;
  g_test_message("the fullest rank has %g times its balanced share", fullest);
  g_assert_cmpfloat(fullest, >, 1.5);
  g_assert_cmpfloat(
      fullest, <,
      8); /* 64 (0.0323 + 3 * 0.00389): the most wanted of 256 experts and three others */
  g_assert_cmpfloat_with_epsilon(uneven.experts_s / even.experts_s, fullest, 0.15 * fullest);
  g_assert_cmpfloat(uneven.step_s, >, even.step_s);
  g_assert_cmpfloat_with_epsilon(same.step_s, even.step_s, 1e-9 * even.step_s);
  g_assert_cmpfloat(still.step_s, ==, full.step_s);
  const Answer dropped = simulate(cut), none = simulate(roomy);
  g_assert_cmpfloat(dropped.exchange_bytes, <=, even.exchange_bytes);
  g_assert_cmpfloat(dropped.step_s, <=, even.step_s);
  g_assert_cmpfloat(dropped.exchange_bytes, >,
                    0.5 * even.exchange_bytes); /* most ranks hold a wanted expert */
  g_assert_cmpfloat(none.step_s, ==, uneven.step_s);
}

/* Equal experts next to each other put the exchange on the network, different ones on the nodes'
 * NVLink: with 8 experts' ranks. In one NVLink domain either order is the same. */
static void test_order(void) {
  const char *wide = "workload.parallel={tp: 1, pp: 1, dp: 64, ep: 8, order: ";
  g_autofree char *plain = g_strconcat(wide, "tp-cp-dp-pp}", NULL),
                  *before = g_strconcat(wide, "tp-cp-ep-dp-pp}", NULL);
  g_autofree char *after = g_strconcat(wide, "tp-cp-dp-ep-pp}", NULL);
  const Answer a = simulate(plain), b = simulate(before), c = simulate(after);
  g_assert_cmpfloat(a.step_s, ==, b.step_s);
  g_assert_cmpfloat(c.exchange_s, >, 3 * b.exchange_s);
  g_assert_cmpfloat(c.exchange_bytes, ==, b.exchange_bytes);
}

/* Eight nodes of eight: flat is 63 rounds of 1/64 that run into each other, 7/8 of all over each
 * NIC; in two steps 7/8 inside, then 7/8 over each NIC. Longer by no more than what NVLink
 * takes, 3.67e11 over 4.8e10 bytes/s of a NIC. */
static void test_two_steps(void) {
  const Answer flat = simulate(""), two = simulate("workload.experts.dispatch=hierarchical");
  g_assert_cmpfloat(two.exchange_s, >, 0.9 * flat.exchange_s);
  g_assert_cmpfloat(two.exchange_s, <, (1 + 1.5 * 4.8 / 36.7) * flat.exchange_s);
  const char *inside =
      "workload.parallel={tp: 1, pp: 1, dp: 64, ep: 8}"; /* a node: one step, the measured one */
  g_autofree char *inside_two =
      g_strconcat(inside, ";workload.experts.dispatch=hierarchical", NULL);
  g_assert_cmpfloat(simulate(inside_two).exchange_s, ==, simulate(inside).exchange_s);
}

static void refuse(const char *sets, const char *says) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree =
      orr_yaml_parse(scenario_text, strlen(scenario_text), "test.yaml", diags);
  g_auto(GStrv) parts = g_strsplit(sets, ";", -1);
  for (char **part = parts; *part; part++) {
    char *value = strchr(*part, '=');
    *value++ = '\0';
    g_assert_true(orr_field_set(&orr_scenario_table, tree, *part, value, NULL));
  }
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *text = orr_diags_text(diags);
  if (scenario || !strstr(text, says)) g_error("'%s' says: %s", sets, text);
}

static void test_refusals(void) {
  refuse("workload.experts.load={kind: histogram, counts: [1, 2]}",
         "histogram has 2 counts, but the model has 256");
  refuse("workload.experts.load=zipf;workload.experts.imbalance=1.2",
         "imbalance (1.2) and experts.load (zipf) both");
  refuse("workload.experts.capacity=1;workload.experts.imbalance=1.2",
         "replaces that field: give experts.load");
  refuse("workload.experts.pad-to-capacity=true",
         "needs a capacity to pad to: set experts.capacity");
  refuse("workload.experts.load={kind: zipf, exponent: -1}", "'exponent' must be");
  refuse("workload.experts.load=zipff", "did you mean 'zipf'");
  refuse("workload.parallel={ep: 512}", "ep = 512 is more than the model's 256 experts");
  refuse("workload.parallel={ep: 48}", "256 experts cannot be split over ep = 48");
  refuse("workload.parallel={order: ep-tp-cp-dp-pp}", "may name ep once, after tp");
  refuse("workload.parallel={ep: 8, order: tp-cp-dp-ep-pp};workload.optimizer.sharding={kind: "
         "hsdp, group: 8}",
         "has ep after dp: expert groups would span copies");
  refuse("workload.precision=nvfp4", "device h100-sxm");
}

/* Eight nodes of eight GPUs, eight experts per token. Flat sends 8 copies, 7/8 of them to other
 * nodes: 7 over the NIC. A copy for each node: a token meets d of 8 nodes, d = 8 (1 - C(224, 8)
 * / C(256, 8)) = 5.29, 7/8 of them others: 4.63; of four nodes, d = 4 (1 - C(96, 8) / C(128, 8))
 * = 3.63, 7/8: 3.18. The NIC's bytes are the time, but for some latency. */
static void test_dispatch(void) {
  const Answer flat = simulate(""),
               limited = simulate("workload.experts.dispatch=deepep;workload.experts.nodes=4");
  const Answer any = simulate("workload.experts.dispatch=deepep;workload.experts.nodes=8");
  g_assert_cmpfloat_with_epsilon(limited.exchange_s / any.exchange_s, 3.63 / 5.29, 0.03);
  g_assert_cmpfloat(any.exchange_s, <, flat.exchange_s);
  g_assert_cmpfloat(limited.step_s, <, flat.step_s);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-grouped/sequential", test_sequential);
  g_test_add_func("/training-grouped/without-last", test_without_last);
  g_test_add_func("/training-grouped/rate", test_rate);
  g_test_add_func("/training-grouped/library", test_library);
  g_test_add_func("/training-grouped/backward-rate", test_backward_rate);
  g_test_add_func("/training-grouped/sharing-out", test_sharing_out);
  g_test_add_func("/training-grouped/imbalance", test_imbalance);
  g_test_add_func("/training-grouped/dropped", test_dropped);
  g_test_add_func("/training-grouped/load", test_load);
  g_test_add_func("/training-grouped/order", test_order);
  g_test_add_func("/training-grouped/two-steps", test_two_steps);
  g_test_add_func("/training-grouped/refusals", test_refusals);
  g_test_add_func("/training-grouped/dispatch", test_dispatch);
  return g_test_run();
}

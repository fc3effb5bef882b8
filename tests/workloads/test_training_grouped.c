/*
 * Experts in training: the rate of grouped products, what sharing them out must not cost, what imbalance must.
 */
#include <math.h>

#include "tests/workloads/scenario_fixture.h"

static const char *const scenario_text = "schema: scenario/1\n"
                                         "name: test\n"
                                         "cluster: {base: dgx-h100-superpod, nodes: 8}\n"
                                         "model: {base: deepseek-v3, layers: 4}\n"
                                         "workload:\n"
                                         "  kind: training\n"
                                         "  parallel: {tp: 1, pp: 1, dp: 64, ep: 64}\n"
                                         "  batch: {global: 64, micro: 1}\n"
                                         "  sequence: 4096\n"
                                         "  precision: fp8-blockwise\n";

typedef struct {
  double flops_per_s[2], experts_s; /* of the first forward and backward products; of all, a step */
  double exchange_bytes, exchange_s, step_s;
} Answer;

static Answer simulate(const char *sets) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(library, scenario_text, sets);
  scenario->engine = ORR_REPLAY_IDEAL; /* many in one process */
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  Answer answer = {.step_s = outcome->result.training.iteration_time_s};
  for (guint i = 0; i < outcome->operators->len; i++) {
    const OrrOperatorRow *row = &g_array_index(outcome->operators, OrrOperatorRow, i);
    if (!g_str_equal(row->name, "experts")) continue;
    const int backward = strstr(row->phase, "backward") != NULL;
    if (answer.flops_per_s[backward] == 0) answer.flops_per_s[backward] = row->flops / row->seconds_each;
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

/* Four experts of 8,192 tokens each on a rank. DeepGEMM's README has their two products on H800, whose tensor cores are
 * H100's: 1,297 TFLOP/s over 2/3 of the FLOPs, 1,099 over 1/3: 1,223 together. The forward also has the activation. */
static void test_rate(void) {
  const Answer answer = simulate("");
  g_assert_cmpfloat_with_epsilon(answer.flops_per_s[0] / 1223e12, 1, 0.25);
  g_assert_cmpfloat(answer.flops_per_s[1], >, 0.5 * 1223e12);
}

/* Twice as many ranks share the experts: as many pairs on each, over half as many experts. Products do not get slower.
 */
static void test_sharing_out(void) {
  const Answer eight = simulate("workload.parallel.ep=8"), sixteen = simulate("workload.parallel.ep=16");
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

/* Eight nodes of eight GPUs, eight experts a token. Flat sends 8 copies, 7/8 of them to other nodes: 7 over the NIC. A
 * copy for each node: a token meets d of 8 nodes, d = 8 (1 - C(224, 8) / C(256, 8)) = 5.29, 7/8 of them others: 4.63;
 * of four nodes, d = 4 (1 - C(96, 8) / C(128, 8)) = 3.63, 7/8: 3.18. The NIC's bytes are the time, but for some
 * latency. */
static void test_dispatch(void) {
  const Answer flat = simulate(""), limited = simulate("workload.experts.dispatch=deepep;workload.experts.nodes=4");
  const Answer any = simulate("workload.experts.dispatch=deepep;workload.experts.nodes=8");
  g_assert_cmpfloat_with_epsilon(limited.exchange_s / any.exchange_s, 3.63 / 5.29, 0.03);
  g_assert_cmpfloat(any.exchange_s, <, flat.exchange_s);
  g_assert_cmpfloat(limited.step_s, <, flat.step_s);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-grouped/rate", test_rate);
  g_test_add_func("/training-grouped/sharing-out", test_sharing_out);
  g_test_add_func("/training-grouped/imbalance", test_imbalance);
  g_test_add_func("/training-grouped/dispatch", test_dispatch);
  return g_test_run();
}

/*
 * Data that hosts prepare: a loader that keeps up costs nothing, one that does not decides how long
 * a step takes.
 */
#include <math.h>

#include "tests/workloads/scenario_fixture.h"

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-h100-superpod, nodes: 1}\n"
    "model: {name: small, layers: 8, hidden: 1024, heads: 16, vocab: 32000, context: 2048}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 1, pp: 1, dp: 8}\n"
    "  batch: {global: 128, micro: 1}\n"
    "  steps: 4\n";

typedef struct {
  double step_s, total_s, host_s, gemm_s;
} Answer;

static Answer simulate(const char *sets) {
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, TRUE);
  const double step_s = outcome->result.training.iteration_time_s;
  return (Answer){step_s, step_s * 4, outcome->time_by_kind[ORR_TIME_HOST],
                  outcome->time_by_kind[ORR_TIME_GEMM]};
}

/* A tenth of what a micro-batch's compute takes, or no loader at all. */
static void test_keeps_up(void) {
  const Answer none = simulate(""),
               quick = simulate("workload.loader={sample-time: 100 us, workers: 4}");
  g_assert_cmpfloat_with_epsilon(quick.step_s, none.step_s, 1e-9 * none.step_s);
}

/* 16 micro-batches a step, four steps, one worker that prepares one in 100 ms and never rests:
 * the 64 that are taken are made up for, 6.4 s. Two workers at twice the time are the same rate. */
static void test_stalls(void) {
  const Answer none = simulate(""),
               slow = simulate("workload.loader={sample-time: 100 ms, workers: 1}");
  g_assert_cmpfloat_with_epsilon(slow.total_s, 64 * 0.1, 1e-9);
  g_assert_cmpfloat_with_epsilon(slow.gemm_s, none.gemm_s, 1e-12 * none.gemm_s);
  g_assert_cmpfloat_with_epsilon(slow.host_s - none.host_s, slow.step_s - none.step_s,
                                 0.02 * slow.step_s);
  const Answer two = simulate("workload.loader={sample-time: 200 ms, workers: 2, prefetch: 1}");
  g_assert_cmpfloat_with_epsilon(two.total_s, slow.total_s, 1e-9);
}

/* Twice as fast, half as long; what lies ready at the start hides nothing, however deep the
 * buffer and however few the steps. */
static void test_rates(void) {
  const Answer fast = simulate("workload.loader={sample-time: 50 ms, workers: 1}");
  const Answer deep = simulate("workload.loader={sample-time: 100 ms, workers: 1, prefetch: 12}");
  const Answer one =
      simulate("workload.loader={sample-time: 100 ms, workers: 1, prefetch: 12};workload.steps=1");
  g_assert_cmpfloat_with_epsilon(fast.step_s, 16 * 0.05, 1e-9);
  g_assert_cmpfloat_with_epsilon(deep.step_s, 16 * 0.1, 1e-9);
  g_assert_cmpfloat_with_epsilon(one.step_s, 16 * 0.1, 1e-9);
}

/* Where a micro-batch enters: the first stage, of both ways through a bidirectional schedule, in
 * evaluation too. */
static void test_pipelines(void) {
  static const char *const kinds[] = {"1f1b", "{kind: interleaved-1f1b, chunks: 2}", "zb-v",
                                      "dualpipe"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    for (int evaluation = 0; evaluation < 2; evaluation++) {
      g_autofree char *base =
          g_strconcat("workload.parallel={tp: 1, pp: 4, dp: 2};workload.pipeline=", kinds[i],
                      evaluation ? ";workload.evaluation=true" : "", NULL);
      g_autofree char *slow =
          g_strconcat(base, ";workload.loader={sample-time: 50 ms, workers: 1}", NULL);
      const gint64 passes =
          g_str_equal(kinds[i], "dualpipe") ? 32 : 64; /* of 64 micro-batches a step */
      const Answer a = simulate(base), b = simulate(slow);
      g_assert_cmpfloat(b.step_s, >, a.step_s);
      g_assert_cmpfloat_with_epsilon(b.step_s / ((double)passes * 0.05), 1, 0.001);
    }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-loader/keeps-up", test_keeps_up);
  g_test_add_func("/training-loader/stalls", test_stalls);
  g_test_add_func("/training-loader/rates", test_rates);
  g_test_add_func("/training-loader/pipelines", test_pipelines);
  return g_test_run();
}

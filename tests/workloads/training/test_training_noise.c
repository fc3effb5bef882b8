/*
 * Stragglers against what order statistics say, and what noise must not change.
 *
 * Each simulation runs in a child of its own: SimGrid allows one engine a process.
 */
#include <math.h>

#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

#define SIGMA 0.05
#define STEPS 400
#define MAX_OF_8                                                                                   \
  1.42360 /* expected maximum of 8 standard normal draws: integral of x 8 phi(x) Phi(x)^7 */
#define SD_OF_MAX_OF_8 0.6107

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-a100-superpod, nodes: 1}\n"
    "model: {name: small, layers: 4, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 1, pp: 1, dp: 8}\n"
    "  batch: {global: 8, micro: 1}\n"
    "  data-parallel: {overlap: false}\n"
    "  noise: {distribution: normal}\n";

typedef struct {
  double mean_s, p50_s, p99_s;
  double squares; /* of the seconds of all kernels of a step; the optimizer is one */
  guint lanes;
  gboolean refused;
} Answer;

static double squares_of(const OrrOutcome *outcome) {
  double squares = 0, optimizer_s = 0;
  for (guint i = 0; i < outcome->operators->len; i++) {
    const OrrOperatorRow *row = &g_array_index(outcome->operators, OrrOperatorRow, i);
    if (g_str_equal(row->phase, "optimizer"))
      optimizer_s += row->seconds_total;
    else
      squares += row->seconds_total * row->seconds_each;
  }
  return squares + optimizer_s * optimizer_s;
}

static Answer simulate_here(const char *sets) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrScenario) scenario = scenario_of(library, scenario_text, sets);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  if (!outcome) return (Answer){.refused = strstr(error->message, "workload.noise") != NULL};
  const OrrTrainingResult *r = &outcome->result.training;
  double sum = 0; /* kinds of time still add up to the step */
  for (guint i = 0; i < ORR_N_TIMES; i++) sum += outcome->time_by_kind[i];
  g_assert_cmpfloat_with_epsilon(sum / r->iteration_time_s, 1, 1e-9);
  ORR_EACH(const OrrTimeRow, row, outcome->times) g_assert_cmpfloat(row->seconds, >=, 0);
  return (Answer){r->iteration_time_s, r->step_p50_s,       r->step_p99_s,
                  squares_of(outcome), outcome->lanes->len, FALSE};
}

static void fill(gconstpointer sets, gpointer answer) { *(Answer *)answer = simulate_here(sets); }

static Answer simulate(const char *sets) {
  Answer answer = {0};
  shared_costs("a100-80gb-sxm");
  if (!forked_answer(fill, sets, &answer, sizeof answer)) g_error("no answer for '%s'", sets);
  return answer;
}

#define NOISY "workload.noise.kernel=0.05;workload.steps=400"

/* Eight replicas meet once a step, in the gradients' all-reduce; between two of them each does
 * every kernel of a step once. The sum of kernels of t seconds with sigma t each is normal with
 * variance sigma^2 sum t^2, and the last of the eight is expected MAX_OF_8 of its standard
 * deviations late. Within four standard errors of the mean of the steps. */
static void test_expected_maximum(void) {
  const Answer still = simulate(""), noisy = simulate(NOISY);
  const double sigma_s = SIGMA * sqrt(still.squares);
  const double tolerance_s = 4 * SD_OF_MAX_OF_8 * sigma_s / sqrt(STEPS);
  g_assert_cmpfloat_with_epsilon(noisy.mean_s - still.mean_s, MAX_OF_8 * sigma_s, tolerance_s);
  g_assert_cmpfloat(noisy.p50_s, >, still.mean_s);
  g_assert_cmpfloat(noisy.p99_s, >, noisy.p50_s + sigma_s);
}

/* One GPU waits for nobody: its mean is that without noise, and its 99th percentile 2.33
 * deviations above. */
static void test_one_gpu(void) {
  const char *one = "cluster.gpus=1;workload.parallel.dp=1;workload.batch.global=1";
  g_autofree char *with =
      g_strconcat(one, ";" NOISY ";workload.noise.distribution=log-normal", NULL);
  const Answer still = simulate(one), noisy = simulate(with);
  const double sigma_s = SIGMA * sqrt(still.squares);
  g_assert_cmpfloat_with_epsilon(noisy.mean_s, still.mean_s, 4 * sigma_s / sqrt(STEPS));
  g_assert_cmpfloat_with_epsilon(noisy.p99_s - still.mean_s, 2.33 * sigma_s, 0.8 * sigma_s);
}

/* Tensor-parallel ranks meet four times a layer: the sum of maxima is later than the maximum of
 * sums, which is what they would wait if they met once. */
static void test_meeting_often(void) {
  const char *tp = "workload.parallel.tp=8;workload.parallel.dp=1;workload.batch.global=1";
  g_autofree char *with = g_strconcat(tp, ";" NOISY, NULL);
  const Answer still = simulate(tp), noisy = simulate(with);
  g_assert_cmpfloat(noisy.mean_s - still.mean_s, >, 1.5 * MAX_OF_8 * SIGMA * sqrt(still.squares));
}

/* A GPU that is slow is slow in all steps: they last the same. */
static void test_slow_gpu(void) {
  const Answer still = simulate(""), noisy = simulate("workload.noise.rank=0.05;workload.steps=8");
  g_assert_cmpfloat(noisy.mean_s, >, still.mean_s * 1.005);
  g_assert_cmpfloat_with_epsilon(noisy.p99_s / noisy.p50_s, 1, 0.02);
}

static void test_folding(void) {
  const Answer still = simulate("workload.steps=3"),
               noisy = simulate("workload.steps=3;workload.noise.kernel=0.05");
  const Answer full = simulate("workload.steps=3;workload.noise.kernel=0.05;fidelity=full");
  g_assert_cmpuint(still.lanes, ==, 1);
  g_assert_cmpuint(noisy.lanes, ==, 8);
  g_assert_cmpfloat(noisy.mean_s, ==, full.mean_s);
  g_assert_cmpfloat_with_epsilon(still.p99_s / still.p50_s, 1, 1e-9);
  g_assert_true(simulate("workload.noise.kernel=0.05;fidelity=folded").refused);
}

static void test_seed(void) {
  const Answer a = simulate("workload.steps=3;workload.noise.kernel=0.05"),
               b = simulate("workload.steps=3;workload.noise.kernel=0.05"),
               c = simulate("workload.steps=3;workload.noise.kernel=0.05;seed=2");
  g_assert_cmpfloat(a.p99_s, ==, b.p99_s);
  g_assert_cmpfloat(a.p99_s, !=, c.p99_s);
}

/* The sends of a pipeline slow down the kernels that they overlap: that is the sends' time. What
 * noise adds to these kernels or takes from them is the kernels' (simulate_here). */
static void test_beside_sends(void) {
  const Answer noisy = simulate(
      "workload.parallel.pp=4;workload.parallel.dp=2;workload.noise.rank=0.2;workload.steps=2");
  g_assert_cmpfloat(noisy.mean_s, >, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-noise/expected-maximum", test_expected_maximum);
  g_test_add_func("/training-noise/one-gpu", test_one_gpu);
  g_test_add_func("/training-noise/meeting-often", test_meeting_often);
  g_test_add_func("/training-noise/slow-gpu", test_slow_gpu);
  g_test_add_func("/training-noise/beside-sends", test_beside_sends);
  g_test_add_func("/training-noise/folding", test_folding);
  g_test_add_func("/training-noise/seed", test_seed);
  return g_test_run();
}

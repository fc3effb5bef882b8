/*
 * Steps with a reference model: a frozen copy of the model computes each micro-batch first.
 */
#include <math.h>

#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-h100-superpod, nodes: 2}\n"
    "model: {name: small, layers: 16, hidden: 2048, heads: 16, vocab: 1024, context: 4096}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 1, pp: 4, dp: 4}\n"
    "  batch: {global: 64, micro: 1}\n";

#define ONE "cluster.gpus=1;workload.parallel={};"
#define SHARDED "workload.parallel={tp: 1, pp: 1, dp: 16};workload.optimizer.sharding=fsdp;"
#define REFERENCE "workload.reference-forward=true"

static OrrOutcome *simulate(const char *sets) {
  return ideal_outcome_of(scenario_text, sets, TRUE);
}

static double seconds(const char *sets) {
  g_autoptr(OrrOutcome) outcome = simulate(sets);
  return outcome->result.training.iteration_time_s;
}

static void assert_near(double a, double b, double relative) {
  g_assert_cmpfloat(fabs(a - b), <=, relative * MAX(fabs(a), fabs(b)));
}

/* On one GPU a step with a reference is a step and an evaluation, one after the other: their times,
 * FLOPs and kernels' times add up. */
static void test_sum(void) {
  g_autoptr(OrrOutcome) plain = simulate(ONE);
  g_autoptr(OrrOutcome) forward = simulate(ONE "workload.evaluation=true");
  g_autoptr(OrrOutcome) both = simulate(ONE REFERENCE);
  const OrrTrainingResult *a = &plain->result.training, *b = &forward->result.training,
                          *c = &both->result.training;
  assert_near(c->iteration_time_s, a->iteration_time_s + b->iteration_time_s, 1e-9);
  assert_near(c->model_tflops_per_gpu * c->iteration_time_s,
              a->model_tflops_per_gpu * a->iteration_time_s +
                  b->model_tflops_per_gpu * b->iteration_time_s,
              1e-9);
  assert_near(both->time_by_kind[ORR_TIME_GEMM],
              plain->time_by_kind[ORR_TIME_GEMM] + forward->time_by_kind[ORR_TIME_GEMM], 1e-9);
}

/* m micro-batches through p equal stages take (m + p - 1) (2 f + b), f and b a micro-batch's
 * forward and backward: m + p - 1 = 19 forwards more than without a reference. Embedding and head
 * are small here. */
static void test_pipeline(void) {
  const double forward_s = (seconds("workload.evaluation=true;workload.batch.global=128") -
                            seconds("workload.evaluation=true")) /
                           16;
  assert_near(seconds(REFERENCE) - seconds(""), 19 * forward_s, 0.03);
}

/* Two bytes for each of the rank's parameters: whole where weights are, a sixteenth under FSDP.
 * Adapters' model is its own reference. */
static void test_memory(void) {
  static const struct {
    const char *plain, *with;
    double parameters; /* of the rank's copy; the model has 16 x 12 x 2048^2, and its ends */
  } cases[] = {{ONE, ONE REFERENCE, 16 * 12 * 2048.0 * 2048},
               {SHARDED, SHARDED REFERENCE, 12 * 2048.0 * 2048},
               {ONE "workload.lora.rank=8", ONE "workload.lora.rank=8;" REFERENCE, 0}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(OrrOutcome) plain = simulate(cases[i].plain);
    g_autoptr(OrrOutcome) with = simulate(cases[i].with);
    const OrrMemoryRow *a = &g_array_index(plain->memory, OrrMemoryRow, 0),
                       *b = &g_array_index(with->memory, OrrMemoryRow, 0);
    assert_near(b->weights_bytes - a->weights_bytes, 2 * cases[i].parameters, 0.02);
    assert_near(b->optimizer_bytes, a->optimizer_bytes, 1e-12);
    assert_near(b->gradients_bytes, a->gradients_bytes, 1e-12);
  }
}

static gint64 gathers(const OrrOutcome *outcome) {
  gint64 sum = 0;
  for (guint i = 0; i < outcome->collectives->len; i++) {
    const OrrCollectiveRow *row = &g_array_index(outcome->collectives, OrrCollectiveRow, i);
    if (g_str_equal(row->name, "dp-weights")) sum += row->count;
  }
  return sum;
}

/* FSDP gathers each layer for the forward and for the backward: for the reference once more. */
static void test_gathers(void) {
  g_autoptr(OrrOutcome) plain = simulate(SHARDED);
  g_autoptr(OrrOutcome) with = simulate(SHARDED REFERENCE);
  g_assert_cmpint(gathers(plain), >, 0);
  g_assert_cmpint(2 * gathers(with), ==, 3 * gathers(plain));
}

/* Every schedule runs it, folded as full, and takes longer for it. */
static void test_schedules(void) {
  static const char *const kinds[] = {
      "gpipe", "1f1b",     "{kind: interleaved-1f1b, chunks: 2}", "zb-h1",
      "zb-v",  "dualpipe", "{kind: breadth-first, chunks: 2}"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *plain = g_strconcat("workload.pipeline=", kinds[i], NULL);
    g_autofree char *folded = g_strconcat("fidelity=folded;", REFERENCE ";", plain, NULL);
    g_autofree char *full = g_strconcat("fidelity=full;", REFERENCE ";", plain, NULL);
    const double with_s = seconds(folded);
    assert_near(with_s, seconds(full), 1e-9);
    g_assert_cmpfloat(with_s / seconds(plain), >, 1.25);
    g_assert_cmpfloat(with_s / seconds(plain), <, 1.4);
  }
}

static void test_refusal(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = tree_of(scenario_text, "workload.evaluation=true;" REFERENCE, diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_nonnull(strstr(findings, "leave out reference-forward"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-reference/sum", test_sum);
  g_test_add_func("/training-reference/pipeline", test_pipeline);
  g_test_add_func("/training-reference/memory", test_memory);
  g_test_add_func("/training-reference/gathers", test_gathers);
  g_test_add_func("/training-reference/schedules", test_schedules);
  g_test_add_func("/training-reference/refusal", test_refusal);
  return g_test_run();
}

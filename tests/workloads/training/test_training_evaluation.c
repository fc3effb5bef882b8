/*
 * Steps that evaluate: forwards alone.
 */
#include <math.h>

#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-h100-superpod, nodes: 2}\n"
    "model: {name: small, layers: 16, hidden: 2048, heads: 16, vocab: 32000, context: 4096}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 1, pp: 4, dp: 4}\n"
    "  batch: {global: 64, micro: 1}\n";

static OrrOutcome *simulate(const char *sets) {
  return ideal_outcome_of(scenario_text, sets, TRUE);
}

static void assert_near(double a, double b, double relative) {
  g_assert_cmpfloat_with_epsilon(a, b, relative * MAX(fabs(a), fabs(b)));
}

/* Of one GPU: forward products, a third of the FLOPs and of the time in them; nothing but
 * forwards in the time line. */
static void test_third(void) {
  g_autoptr(OrrOutcome) whole = simulate("cluster.gpus=1;workload.parallel={}");
  g_autoptr(OrrOutcome) half =
      simulate("cluster.gpus=1;workload.parallel={};workload.evaluation=true");
  const OrrTrainingResult *a = &whole->result.training, *b = &half->result.training;
  assert_near(3 * b->model_tflops_per_gpu * b->iteration_time_s,
              a->model_tflops_per_gpu * a->iteration_time_s, 1e-9);
  assert_near(3 * half->time_by_kind[ORR_TIME_GEMM], whole->time_by_kind[ORR_TIME_GEMM], 0.1);
  g_assert_cmpfloat(half->time_by_kind[ORR_TIME_OPTIMIZER], ==, 0);
  g_assert_cmpuint(half->memory_times->len, ==, 64 + 1);
  for (guint i = 0; i < half->spans->len; i++)
    g_assert_true(g_str_has_prefix(g_array_index(half->spans, OrrSpanRow, i).name, "forward"));
}

/* m micro-batches through p equal stages take m + p - 1 forwards. Embedding and head are small
 * here. */
static void test_pipeline(void) {
  g_autoptr(OrrOutcome) few = simulate("workload.evaluation=true;model.vocab=1024");
  g_autoptr(OrrOutcome) many =
      simulate("workload.evaluation=true;model.vocab=1024;workload.batch.global=128");
  const double per_forward =
      (many->result.training.iteration_time_s - few->result.training.iteration_time_s) / 16;
  assert_near(few->result.training.iteration_time_s, (16 + 3) * per_forward, 0.1);
}

/* Weights stay; gradients, optimizer and activations are not there. */
static void test_memory(void) {
  g_autoptr(OrrOutcome) whole = simulate("");
  g_autoptr(OrrOutcome) half = simulate("workload.evaluation=true");
  for (guint stage = 0; stage < 4; stage++) {
    const OrrMemoryRow *a = &g_array_index(whole->memory, OrrMemoryRow, stage);
    const OrrMemoryRow *b = &g_array_index(half->memory, OrrMemoryRow, stage);
    g_assert_cmpfloat(a->weights_bytes, ==, b->weights_bytes);
    g_assert_cmpfloat(b->gradients_bytes + b->optimizer_bytes + b->activations_bytes, ==, 0);
    g_assert_cmpfloat(b->working_bytes, >, 0);
  }
}

static double peak_of(const char *sharding, const char *gradients) {
  g_autofree char *sets =
      g_strdup_printf("workload.evaluation=true;workload.parallel={tp: 1, pp: 1, dp: 16};"
                      "workload.optimizer.sharding=%s;workload.data-parallel.gradients=%s",
                      sharding, gradients);
  g_autoptr(OrrOutcome) outcome = simulate(sets);
  return outcome->result.training.memory_peak_bytes;
}

/* Without gradients their format changes nothing, and ZeRO-1 holds the weights that DDP holds. */
static void test_no_gradients(void) {
  static const char *const shardings[] = {"ddp", "zero-1", "zero-2", "zero-3", "fsdp"};
  for (guint i = 0; i < G_N_ELEMENTS(shardings); i++)
    assert_near(peak_of(shardings[i], "fp32"), peak_of(shardings[i], "same"), 1e-12);
  assert_near(peak_of("zero-1", "fp32"), peak_of("ddp", "fp32"), 1e-12);
}

/* FSDP's shards are in fp32, a sixteenth of all parameters here, and count as weights where there
 * is no optimizer; with 16-bit masters they are half of it. */
static void test_shards(void) {
  const double fp32 = peak_of("fsdp", "same");
  g_autoptr(OrrOutcome) narrow =
      simulate("workload.evaluation=true;workload.parallel={tp: 1, pp: 1, dp: 16};"
               "workload.optimizer.sharding=fsdp;workload.optimizer.master=weights;"
               "workload.data-parallel.gradients=same");
  g_autoptr(OrrOutcome) whole =
      simulate("workload.evaluation=true;workload.parallel={tp: 1, pp: 1, dp: 16};"
               "workload.optimizer.sharding=ddp");
  const double bytes = g_array_index(whole->memory, OrrMemoryRow, 0).weights_bytes; /* in 16 bits */
  assert_near(fp32 - narrow->result.training.memory_peak_bytes, bytes / 16, 1e-3);
  g_assert_cmpfloat(g_array_index(narrow->memory, OrrMemoryRow, 0).weights_bytes, >, bytes / 16);
}

static gboolean has_collective(const OrrOutcome *outcome, const char *name) {
  for (guint i = 0; i < outcome->collectives->len; i++)
    if (g_str_equal(g_array_index(outcome->collectives, OrrCollectiveRow, i).name, name))
      return TRUE;
  return FALSE;
}

/* Replicas have nothing to say to each other, but what FSDP gathers. */
static void test_communication(void) {
  g_autoptr(OrrOutcome) plain =
      simulate("workload.evaluation=true;workload.optimizer.sharding=distributed-optimizer");
  g_assert_false(has_collective(plain, "dp-gradients") || has_collective(plain, "dp-parameters"));
  g_assert_false(has_collective(plain, "pp-backward"));
  g_assert_true(has_collective(plain, "pp-forward"));
  g_autoptr(OrrOutcome) sharded = simulate("workload.evaluation=true;workload.optimizer.sharding="
                                           "fsdp;workload.parallel={tp: 1, pp: 1, dp: 16}");
  g_assert_true(has_collective(sharded, "dp-weights"));
  g_assert_cmpint(g_array_index(sharded->collectives, OrrCollectiveRow, 0).count, >, 0);
  g_assert_cmpfloat(sharded->time_by_kind[ORR_TIME_DP_COMM], >, 0);
}

/* Every schedule has forwards that run to their end, folded as full. */
static void test_schedules(void) {
  static const char *const kinds[] = {
      "gpipe", "1f1b",     "{kind: interleaved-1f1b, chunks: 2}", "zb-h1",
      "zb-v",  "dualpipe", "{kind: breadth-first, chunks: 2}"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *folded =
        g_strconcat("workload.evaluation=true;fidelity=folded;workload.pipeline=", kinds[i], NULL);
    g_autofree char *full =
        g_strconcat("workload.evaluation=true;fidelity=full;workload.pipeline=", kinds[i], NULL);
    g_autoptr(OrrOutcome) a = simulate(folded);
    g_autoptr(OrrOutcome) b = simulate(full);
    assert_near(a->result.training.iteration_time_s, b->result.training.iteration_time_s, 1e-9);
    g_assert_cmpfloat(a->result.training.iteration_time_s, >, 0);
  }
}

static void test_refusals(void) {
  static const char *const cases[][2] = {
      {"workload.evaluation=true;workload.offload.activations=1",
       "keeps neither an optimizer nor activations"},
      {"workload.evaluation=true;workload.checkpoint.every=1", "evaluation changes nothing"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    OrrLibrary *library = shared_library();
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = tree_of(scenario_text, cases[i][0], diags);
    g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
    g_autofree char *findings = orr_diags_text(diags);
    if (!strstr(findings, cases[i][1])) g_error("'%s' says '%s'", cases[i][0], findings);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-evaluation/third", test_third);
  g_test_add_func("/training-evaluation/pipeline", test_pipeline);
  g_test_add_func("/training-evaluation/memory", test_memory);
  g_test_add_func("/training-evaluation/no-gradients", test_no_gradients);
  g_test_add_func("/training-evaluation/shards", test_shards);
  g_test_add_func("/training-evaluation/communication", test_communication);
  g_test_add_func("/training-evaluation/schedules", test_schedules);
  g_test_add_func("/training-evaluation/refusals", test_refusals);
  return g_test_run();
}

/*
 * test_training_overlap.c - sliced tensor-parallel communication in a step: bounds, the regime
 * where communication alone decides the time, rules.
 */
#include "tests/workloads/training/training_fixture.h"

#define TP8                                                                                        \
  "cluster.nodes=1;workload.parallel={tp: 8, pp: 1, dp: 1, sequence-parallel: "                    \
  "true};workload.batch.global=2;"
#define OVERLAP(kind_) "workload.parallel.tp-comm-overlap=" kind_

static const char *const kinds[] = {
    "userbuffers", "{kind: userbuffers, reduce-scatter: ring-exchange}", "async-tp"};

static Answer with(const char *sets, const char *kind) {
  g_autofree char *all = g_strdup_printf("%sworkload.parallel.tp-comm-overlap=%s", sets, kind);
  return simulate(all);
}

/* Where links cost nothing, slices are no faster than the whole: products of few rows lose. On real
 * links slices hide more than they lose, and no more than all of the communication. */
static void test_bounds(void) {
  const Answer none = simulate(TP8);
  const double bare_s = none.result.layer_forward_s;
  const Answer free_links = simulate(TP8 "cluster.device.scale-up-bandwidth=1000000 GB/s");
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    const Answer some = with(TP8, kinds[i]);
    const Answer quick = with(TP8 "cluster.device.scale-up-bandwidth=1000000 GB/s;", kinds[i]);
    g_assert_cmpfloat(some.result.layer_forward_s, <, bare_s);
    g_assert_cmpfloat(some.times[ORR_TIME_GEMM], >=, none.times[ORR_TIME_GEMM] * (1 - 1e-9));
    g_assert_cmpfloat(quick.result.layer_forward_s, >=,
                      free_links.result.layer_forward_s * (1 - 1e-9));
  }
}

/* Links so slow that communication is all: two gathers and two scatters of 2,048 tokens of 4,096
 * elements send 7/8 of 16.8 MB each, sliced or whole, 58.7 MB in all: half the bandwidth adds
 * that at 1 GB/s less that at 2 GB/s at least, and no more than what NCCL's whole collectives
 * lose. */
static void test_slow_links(void) {
  double added_s[2];
  for (int i = 0; i < 2; i++) {
    const char *kind = i ? "userbuffers" : "none";
    const Answer slow = with(TP8 "cluster.device.scale-up-bandwidth=2 GB/s;", kind);
    const Answer slower = with(TP8 "cluster.device.scale-up-bandwidth=1 GB/s;", kind);
    added_s[i] = slower.result.layer_forward_s - slow.result.layer_forward_s;
  }
  const double bytes = 4 * 7.0 / 8 * 2048 * 4096 * 2;
  g_assert_cmpfloat(added_s[1], >=, bytes * (1 / 1e9 - 1 / 2e9));
  g_assert_cmpfloat(added_s[1], <=, added_s[0]);
}

/* Slices hide more than they lose on Blackwell, too, in 8 bits, and where a slow host (Grace)
 * launches kernel by kernel. Earlier versions were wrong in three ways: slices included the casts
 * of fp8, which are kernels of their own in training; nothing else ran during a slice's last tiles;
 * and Python dispatched each slice. */
static void test_blackwell(void) {
  static const char *const clusters[] = {"dgx-h100-superpod", "dgx-b200-superpod", "gb200-nvl72"};
  static const char *const precisions[] = {"bf16", "fp8-current"};
  for (guint c = 0; c < G_N_ELEMENTS(clusters); c++)
    for (guint p = 0; p < G_N_ELEMENTS(precisions); p++) {
      double step_s[2];
      for (int i = 0; i < 2; i++) {
        g_autofree char *sets = g_strdup_printf(
            "cluster={base: %s, gpus: 8};model=llama-3.1-70b;model.layers=4;workload.sequence=8192;"
            "workload.parallel={tp: 8, pp: 1, dp: 1, sequence-parallel: "
            "true};workload.batch.global=2;"
            "workload.precision=%s;workload.parallel.tp-comm-overlap=%s",
            clusters[c], precisions[p], i ? "userbuffers" : "none");
        g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, FALSE);
        step_s[i] = outcome->result.training.iteration_time_s;
      }
      if (step_s[1] >= step_s[0])
        g_error("%s, %s: %g s, %g s without", clusters[c], precisions[p], step_s[1], step_s[0]);
    }
}

static void test_folded_is_full(void) {
  static const char *const variants[] = {
      "workload.parallel={tp: 4, pp: 4, dp: 4, sequence-parallel: true};",
      "workload.parallel={tp: 2, pp: 2, dp: 16, sequence-parallel: true};workload.pipeline=zb-h1;",
      "workload.parallel={tp: 4, pp: 2, dp: 8, sequence-parallel: true};workload.recompute=full;",
  };
  for (guint i = 0; i < G_N_ELEMENTS(variants); i++)
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
      g_autofree char *folded = g_strconcat("fidelity=folded;", variants[i], NULL);
      g_autofree char *full = g_strconcat("fidelity=full;", variants[i], NULL);
      assert_close(with(folded, kinds[k]).result.iteration_time_s,
                   with(full, kinds[k]).result.iteration_time_s, 1e-9);
    }
}

static void test_refusals(void) {
  assert_refused(OVERLAP("userbuffers"), "userbuffers (tp is 4) needs sequence-parallel: true");
  assert_refused(
      "cluster.nodes=2;workload.parallel={tp: 16, pp: 1, dp: 1, sequence-parallel: true};" OVERLAP(
          "async-tp"),
      "tp (16, order tp-cp-dp-pp) must stay inside a scale-up domain of 8 GPUs");
  assert_refused("workload.parallel={tp: 4, pp: 4, dp: 4, sequence-parallel: true, order: "
                 "dp-tp-cp-pp};" OVERLAP("async-tp"),
                 "must stay inside a scale-up domain");
  assert_refused(OVERLAP("user-buffers"), "did you mean 'userbuffers'");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-overlap/blackwell", test_blackwell);
  g_test_add_func("/training-overlap/bounds", test_bounds);
  g_test_add_func("/training-overlap/slow-links", test_slow_links);
  g_test_add_func("/training-overlap/folded-is-full", test_folded_is_full);
  g_test_add_func("/training-overlap/refusals", test_refusals);
  return g_test_run();
}

/*
 * test_training_host.c - what the host adds to a step: launches ahead, blocking, as graphs.
 *
 * One GPU, eager kernels: G seconds of work a step, H of launches. Experts: the operators that
 * routing and their products are to the host.
 */
#include "tests/workloads/training/training_fixture.h"

#define ONE_GPU                                                                                    \
  "cluster.nodes=0;cluster.gpus=1;workload.parallel={tp: 1, pp: 1, dp: 1};workload.kernels=eager;" \
  "workload.attention=unfused;model.layers=4;"

static Answer run(const char *launches, const char *more) {
  g_autofree char *sets = g_strconcat(ONE_GPU "workload.launches=", launches, ";", more, NULL);
  return simulate(sets);
}

/* Blocking adds H to G, whatever the kernels do: as many of twice the size have the same H. */
static void test_blocking_adds_up(void) {
  const Answer graphs = run("graphs", ""), blocking = run("blocking", "");
  const Answer larger = run("blocking", "model.hidden=8192;model.heads=64");
  g_assert_cmpfloat(graphs.times[ORR_TIME_HOST], ==, 0);
  g_assert_cmpfloat(blocking.times[ORR_TIME_HOST], >, 0);
  assert_close(blocking.result.iteration_time_s,
               graphs.result.iteration_time_s + blocking.times[ORR_TIME_HOST], 1e-9);
  assert_close(larger.times[ORR_TIME_HOST], blocking.times[ORR_TIME_HOST], 1e-9);
}

/* Kernels so short that the host is always behind: the GPU is through with each as it comes, and
 * only the optimizer's kernels, which one launch starts, come on top of H. */
static void test_short_kernels(void) {
  const char *const small = "model.hidden=256;model.heads=4;model.context=128;model.vocab=512";
  const Answer ahead = run("ahead", small), blocking = run("blocking", small),
               graphs = run("graphs", small);
  const double host_s = blocking.times[ORR_TIME_HOST];
  assert_close(ahead.result.iteration_time_s - ahead.times[ORR_TIME_OPTIMIZER], host_s, 1e-9);
  g_assert_cmpfloat(ahead.result.iteration_time_s, >, 4 * graphs.result.iteration_time_s);
}

/* The backward begins with the output layer: a longer one gives the host time to get ahead, and
 * the layers' launches, which a short one leaves to be waited for, cost nothing after it. Passes
 * begin anew: twice as many cost twice. */
static void test_works_ahead(void) {
  const char *const layers = "model.hidden=1024;model.heads=16;model.context=1024;";
  g_autofree char *short_head =
      g_strconcat(layers, "workload.batch.global=8;model.vocab=512", NULL);
  g_autofree char *long_head =
      g_strconcat(layers, "workload.batch.global=8;model.vocab=512000", NULL);
  g_autofree char *twice = g_strconcat(layers, "workload.batch.global=16;model.vocab=512000", NULL);
  const Answer a = run("ahead", short_head), b = run("ahead", long_head), c = run("ahead", twice);
  g_assert_cmpfloat(b.times[ORR_TIME_HOST], >, 0);
  g_assert_cmpfloat(b.times[ORR_TIME_HOST], <, a.times[ORR_TIME_HOST] / 2);
  assert_close(c.times[ORR_TIME_HOST], 2 * b.times[ORR_TIME_HOST], 1e-9);
}

/* Launches never make a step shorter, and blocking ones are never faster than those ahead. */
static void test_never_below(void) {
  static const char *const variants[] = {
      "", "workload.parallel={tp: 1, pp: 4, dp: 16}", "workload.parallel={tp: 2, pp: 1, dp: 32}",
      "workload.recompute=full;workload.parallel={tp: 2, pp: 2, dp: 16}"};
  static const char *const launches[] = {"graphs", "ahead", "blocking"};
  for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
    double last_s = 0;
    for (guint k = 0; k < G_N_ELEMENTS(launches); k++) {
      g_autofree char *sets =
          g_strconcat("model.hidden=1024;model.heads=16;workload.kernels=eager;workload.attention="
                      "unfused;workload.launches=",
                      launches[k], ";", variants[i], NULL);
      const Answer answer = simulate(sets);
      g_assert_cmpfloat(answer.result.iteration_time_s, >=, last_s);
      last_s = answer.result.iteration_time_s;
    }
  }
}

static double host_of_experts(const char *launches, const char *more) {
  g_autofree char *sets = g_strconcat(
      "cluster.nodes=0;cluster.gpus=1;workload.parallel={tp: 1, pp: 1, dp: 1};model.layers=4;"
      "workload.batch.global=2;workload.batch.micro=1;workload.launches=",
      launches, ";", more, NULL);
  return simulate(sets).times[ORR_TIME_HOST];
}

/* Of 4 layers and 2 micro-batches, forward and backward, each operator being 13.5 us (the A100's
 * operator-dispatch): 8 experts are 2 more products each forward, and 2 by data and 2 by weight;
 * where the exchange prepares itself routing is 17 operators and not 31. */
static void test_experts(void) {
  const double eight = host_of_experts("blocking", "model.moe={experts: 8, topk: 8}");
  const double four = host_of_experts("blocking", "model.moe={experts: 4, topk: 4}");
  const double prepared = host_of_experts(
      "blocking", "model.moe={experts: 8, topk: 8};workload.experts.dispatch=deepep");
  assert_close(eight - four, 4 * 2 * (2 + 2 + 2) * 4 * 13.5e-6, 1e-6);
  assert_close(eight - prepared, 4 * 2 * 2 * (31 - 17) * 13.5e-6, 1e-6);
}

/* One after the other each expert has 3 kernels forward and by data and 2 by weight, with layers of
 * plain PyTorch 10, 17 and 3; grouped, the host launches two products for each expert in each. */
static void test_sequential_experts(void) {
  const char *const moe = "model.moe={experts: 8, topk: 8};";
  const double megatron = (3 + 3 + 2) - (2 + 2 + 2), torch = (10 + 17 + 3) - (2 + 2 + 2);
  const char *const layers[] = {"megatron", "torch"};
  for (guint i = 0; i < 2; i++) {
    g_autofree char *grouped = g_strconcat(moe, "workload.layers=", layers[i], NULL);
    g_autofree char *sequential = g_strconcat(grouped, ";workload.experts.mlp=sequential", NULL);
    assert_close(host_of_experts("blocking", sequential) - host_of_experts("blocking", grouped),
                 4 * 2 * 8 * (i ? torch : megatron) * 13.5e-6, 1e-6);
  }
}

/* A fetch of 1 ms for each product, forward and by data: four of each layer and the output layer's,
 * in two micro-batches; of 8 experts one after the other 2 each instead of two products. */
static void test_fetches(void) {
  const char *const zero = "workload.optimizer={sharding: {kind: zero-3, fetch: ",
                    *const moe = "model.moe={experts: 8, topk: 8};"
                                 "workload.experts.mlp=sequential;";
  double host_s[2][2];
  for (guint i = 0; i < 4; i++) {
    g_autofree char *sets = g_strconcat(i / 2 ? moe : "", zero, i % 2 ? "1 ms" : "0 s", "}}", NULL);
    host_s[i / 2][i % 2] = host_of_experts("blocking", sets);
  }
  assert_close(host_s[0][1] - host_s[0][0], 2 * 2 * (4 * 4 + 1) * 1e-3, 1e-6);
  /* The router is a product, too. */
  assert_close(host_s[1][1] - host_s[1][0], 2 * 2 * (4 * (2 + 1 + 8 * 2) + 1) * 1e-3, 1e-6);
}

/* Graphs of all but the experts: so short kernels that the host is always behind leave it the
 * experts' products, and one launch for each other run. */
static void test_graphs_but_experts(void) {
  const char *const small = "model.hidden=256;model.heads=4;model.context=128;model.vocab=512;"
                            "model.moe={experts: 64, topk: 8}";
  const double part = host_of_experts("graphs-but-experts", small),
               whole = host_of_experts("graphs", small);
  g_assert_cmpfloat(part, <, host_of_experts("ahead", small));
  g_assert_cmpfloat(part, >, whole);
  const char *const dense = "model.hidden=256;model.heads=4;model.context=128;model.vocab=512";
  g_assert_cmpfloat(host_of_experts("graphs-but-experts", dense), ==,
                    host_of_experts("graphs", dense));
}

/* A host that dispatches twice as many operators takes twice the time. One that waits for the
 * router in each layer cannot use what it launched ahead during the output layer's backward, or in
 * the layers before: forwards alone show it. */
static void test_more_operators(void) {
  const char *const moe = "model.moe={experts: 8, topk: 8}";
  const double once = host_of_experts("blocking", moe),
               twice = host_of_experts("blocking", "model.moe={experts: 8, topk: 8};"
                                                   "workload.host-operators=2");
  const char *const uneven = "model.hidden=1024;model.heads=16;model.context=1024;"
                             "model.moe={experts: 64, topk: 1};model.vocab=512;";
  g_autofree char *synced = g_strconcat(uneven, "workload.experts.sync=true", NULL);
  assert_close(twice, 2 * once, 1e-9);
  g_assert_cmpfloat(host_of_experts("ahead", synced), >=, host_of_experts("ahead", uneven));
}

/* Eight ranks of experts: attention over 32,768 tokens hides all launches but those that wait for
 * the counts of tokens. In the one forward each of four layers has two launches of 108 us for each
 * of a rank's experts; their kernels are short and run meanwhile. */
static double host_of_waits(const char *sync, const char *experts, const char *operators) {
  g_autofree char *sets = g_strconcat(
      "cluster.nodes=1;workload.parallel={tp: 1, pp: 1, dp: 8, ep: 8};model.layers=4;model.hidden="
      "1024;model.heads=16;model.context=32768;workload.batch.global=8;workload.experts.sync=",
      sync, ";model.moe={experts: ", experts,
      ", topk: 1, ffn: 64};workload.host-operators=", operators, NULL);
  return simulate(sets).times[ORR_TIME_HOST];
}

static void test_waits_for_counts(void) {
  const double four = host_of_waits("true", "32", "16") - host_of_waits("true", "32", "8"),
               eight = host_of_waits("true", "64", "16") - host_of_waits("true", "64", "8");
  assert_close(eight - four, 4 * (2 * 8 - 2 * 4) * 8 * 13.5e-6, 1e-6);
  g_assert_cmpfloat(host_of_waits("false", "64", "8"), <, host_of_waits("true", "64", "8"));
}

/* With graphs the 31 kernels of routing, and 17 where the exchange prepares itself, differ by the
 * A100's overhead of 2.5 us each. */
static void test_routing_kernels(void) {
  const char *const moe = "model.moe={experts: 8, topk: 2};workload.launches=graphs;"
                          "cluster.nodes=0;cluster.gpus=1;workload.parallel={tp: 1, pp: 1, dp: 1};"
                          "workload.batch.global=1;model.layers=4;workload.experts.dispatch=";
  g_autofree char *flat = g_strconcat(moe, "flat", NULL);
  g_autofree char *deepep = g_strconcat(moe, "deepep", NULL);
  assert_close(simulate(flat).result.iteration_time_s - simulate(deepep).result.iteration_time_s,
               4 * 2 * (31 - 17) * 2.5e-6, 1e-3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-host/blocking-adds-up", test_blocking_adds_up);
  g_test_add_func("/training-host/short-kernels", test_short_kernels);
  g_test_add_func("/training-host/works-ahead", test_works_ahead);
  g_test_add_func("/training-host/never-below", test_never_below);
  g_test_add_func("/training-host/experts", test_experts);
  g_test_add_func("/training-host/sequential-experts", test_sequential_experts);
  g_test_add_func("/training-host/fetches", test_fetches);
  g_test_add_func("/training-host/more-operators", test_more_operators);
  g_test_add_func("/training-host/waits-for-counts", test_waits_for_counts);
  g_test_add_func("/training-host/routing-kernels", test_routing_kernels);
  g_test_add_func("/training-host/graphs-but-experts", test_graphs_but_experts);
  return g_test_run();
}

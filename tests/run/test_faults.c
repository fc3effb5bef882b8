/*
 * test_faults.c - runs on a machine on which things go wrong: folded equals full, closed forms, and
 * faults without an effect.
 *
 * Each simulation runs in a child process, because SimGrid allows one engine per process.
 */
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/random.h"
#include "tests/base/test_size.h"
#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

typedef struct {
  gboolean fine;
  char error[600];
  OrrTrainingResult result;
  double times[ORR_N_TIMES], clean_s, end_s;
  guint lanes, n_faults;
  OrrFaultRow fault; /* the first */
} Answer;

static void simulate_here(const char *text, Answer *answer) {
  *answer = (Answer){0};
  g_autoptr(OrrOutcome) outcome = outcome_of(text, answer->error, sizeof answer->error);
  if (!(answer->fine = outcome != NULL)) return;
  answer->result = outcome->result.training;
  memcpy(answer->times, outcome->time_by_kind, sizeof answer->times);
  answer->lanes = outcome->lanes->len;
  answer->n_faults = outcome->faults->len;
  if (outcome->faults->len > 0) answer->fault = g_array_index(outcome->faults, OrrFaultRow, 0);
  if (outcome->own_job)
    answer->clean_s = outcome->own_job->alone_s, answer->end_s = outcome->own_job->end_s;
}

static void fill(gconstpointer text, gpointer answer) { simulate_here(text, answer); }

static Answer simulate(const char *text) {
  Answer answer = {0};
  shared_costs("a100-80gb-sxm");
  if (!forked_answer(fill, text, &answer, sizeof answer)) g_error("no answer for\n%s", text);
  return answer;
}

static char *scenario(const char *fidelity, const char *routing, const char *parallel,
                      const char *more, const char *faults) {
  return g_strdup_printf(
      "schema: scenario/1\nname: test\nfidelity: %s\n"
      "cluster: {base: dgx-a100-superpod, nodes: 8, max-nodes: 8, routing: %s,\n"
      "          fabric: {kind: fat-tree, levels: 2, nodes-per-leaf: 2, radix: 40}}\n"
      "model: {name: small, layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"
      "workload: {kind: training, stack: none, parallel: %s, batch: {global: 64, micro: 1}, steps: "
      "2%s}\n%s%s%s",
      fidelity, routing, parallel, more, faults ? "faults: [" : "", faults ? faults : "",
      faults ? "]\n" : "");
}

static Answer run(const char *fidelity, const char *routing, const char *parallel, const char *more,
                  const char *faults) {
  g_autofree char *text = scenario(fidelity, routing, parallel, more, faults);
  return simulate(text);
}

static Answer fine(const char *fidelity, const char *routing, const char *parallel,
                   const char *more, const char *faults) {
  const Answer answer = run(fidelity, routing, parallel, more, faults);
  if (!answer.fine) g_error("%s: %s", faults, answer.error);
  return answer;
}

/* One random fault on one random job: the rank classes that it touches split, and folded equals
 * full. */
static void folded_is_full(void) {
  static const char *const parallels[] = {"{tp: 4, pp: 4, dp: 4}", "{tp: 2, pp: 2, dp: 16}",
                                          "{tp: 8, pp: 2, dp: 4}", "{tp: 1, pp: 4, dp: 16}",
                                          "{tp: 4, pp: 1, dp: 16}"};
  static const char *const mores[] = {
      "", ", data-parallel: {overlap: false}",
      ", pipeline: {kind: interleaved-1f1b, chunks: 2}, optimizer: {sharding: "
      "distributed-optimizer}"};
  static const char *const routings[] = {"ideal", "ecmp", "static"};
  OrrRandom random = orr_random_stream(7, "breaks");
  guint n_less = 0;
  for (guint i = 0; i < test_size(40, 10); i++) {
    const char *parallel = parallels[orr_random_below(&random, G_N_ELEMENTS(parallels))];
    const char *routing = routings[orr_random_below(&random, G_N_ELEMENTS(routings))];
    const guint form = orr_random_below(&random, 5), gpu = orr_random_below(&random, 64);
    const guint leaf = orr_random_below(&random, 4), cable = orr_random_below(&random, 8);
    const char *more = mores[strstr(parallel, "pp: 2") ? orr_random_below(&random, 3)
                                                       : orr_random_below(&random, 2)];
    const double at_s = 0.05 * orr_random_unit(&random), left = orr_random_unit(&random);
    g_autofree char *what =
        form == 0   ? g_strdup_printf("{kind: slow-gpu, gpu: %u, slower: %g}", gpu, left)
        : form == 1 ? g_strdup_printf("{kind: nic, gpu: %u, bandwidth: %g}", gpu, 0.1 + 0.8 * left)
        : form == 2
            ? g_strdup_printf("{kind: link, name: \"leaf%u-spine%u#%u\"}", leaf, gpu % 2, cable)
        : form == 3 ? g_strdup_printf("{kind: link, name: gpu%u.nvlink, bandwidth: %g}", gpu,
                                      0.1 + 0.8 * left)
                    : g_strdup_printf("{kind: switch, name: spine%u}", gpu % 2);
    g_autofree char *fault =
        g_strdup_printf("{at: %g s, %sfault: %s}", at_s, cable % 2 ? "until: 0.3 s, " : "", what);
    const Answer a = fine("folded", routing, parallel, more, fault),
                 b = fine("full", routing, parallel, more, fault);
    g_test_message("%s %s%s %s: %u and %u lanes, %.17g and %.17g s", routing, parallel, more, fault,
                   a.lanes, b.lanes, a.end_s, b.end_s);
    g_assert_cmpfloat_with_epsilon(a.end_s, b.end_s, 1e-9 * b.end_s);
    for (int kind = 0; kind < ORR_N_TIMES; kind++)
      g_assert_cmpfloat_with_epsilon(a.times[kind], b.times[kind], 1e-8 * b.end_s);
    g_assert_cmpfloat(a.clean_s, <=, a.end_s * (1 + 1e-9));
    n_less += a.lanes < b.lanes;
  }
  g_assert_cmpuint(n_less, >, test_size(10, 2)); /* else nothing was folded, and nothing tested */
}

/* One slow GPU: its replica is a class of its own, and the other three replicas form one: 2 classes
 * of 4 stages. */
static void classes(void) {
  const Answer a = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", NULL);
  const Answer b = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "",
                        "{at: 0 s, fault: {kind: slow-gpu, gpu: 3}}");
  g_assert_cmpuint(a.lanes, ==, 4);
  g_assert_cmpuint(b.lanes, ==, 8);
}

/* A job of one GPU that is 30 % slower all the time: kernels take 1.3 times as long, launches are
 * unchanged. */
static void slow_from_the_start(void) {
  const char *const text =
      "schema: scenario/1\nname: one\ncluster: {base: dgx-a100-superpod, nodes: 1, gpus: 1}\n"
      "model: {name: small, layers: 8, hidden: 2048, heads: 16, vocab: 51200, context: 2048}\n"
      "workload: {kind: training, stack: none, parallel: {tp: 1}, batch: {global: 4, micro: 1}, "
      "steps: 3}\n";
  g_autofree char *slow =
      g_strconcat(text, "faults: [{fault: {kind: slow-gpu, gpu: 0, slower: 30 %}}]\n", NULL);
  const Answer a = simulate(text), b = simulate(slow);
  const double kernels = a.times[ORR_TIME_GEMM] + a.times[ORR_TIME_ATTENTION] +
                         a.times[ORR_TIME_MEMORY] + a.times[ORR_TIME_OPTIMIZER];
  g_assert_cmpfloat_with_epsilon(b.result.iteration_time_s,
                                 a.result.iteration_time_s + 0.3 * kernels, 1e-9);
  g_assert_cmpfloat_with_epsilon(b.clean_s, 3 * a.result.iteration_time_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(b.fault.step_during_s, b.result.iteration_time_s, 1e-9);
  g_assert_true(isnan(b.fault.step_before_s) && isnan(b.fault.step_after_s));
}

/* A fault that takes nothing, or that strikes a part which the job does not use, changes nothing,
 * to the last digits. */
static void nothing_happens(void) {
  static const char *const faults[] = {
      "{at: 0.1 s, fault: {kind: slow-gpu, gpu: 9, slower: 0 %}}",
      "{at: 0.1 s, fault: {kind: link, name: gpu2.nvlink, bandwidth: 100 %}}",
      "{at: 0.1 s, fault: {kind: nic, gpu: 5, bandwidth: 100 %}}",
      "{at: 0.1 s, fault: {kind: link, name: gpu2.pcie}}",
  };
  const Answer clean = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", NULL);
  for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
    const Answer a = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", faults[i]);
    g_test_message("%s: %.17g and %.17g s", faults[i], a.end_s, a.clean_s);
    g_assert_cmpfloat_with_epsilon(a.end_s, a.clean_s, 1e-9);
    /* Collectives over links that may change are replayed apart from work, which changes the work
     * that overlaps them a little. */
    g_assert_cmpfloat_with_epsilon(a.clean_s, 2 * clean.result.iteration_time_s, 2e-3 * a.clean_s);
  }
}

/* A worse fault (less bandwidth, longer, slower) never makes the run faster. */
static void worse_is_slower(void) {
  static const char *const ladder[] = {
      "{at: 0.02 s, until: 0.04 s, fault: {kind: nic, gpu: 3, bandwidth: 50 %}}",
      "{at: 0.02 s, until: 0.04 s, fault: {kind: nic, gpu: 3, bandwidth: 5 %}}",
      "{at: 0.02 s, until: 0.2 s, fault: {kind: nic, gpu: 3, bandwidth: 5 %}}",
      "{at: 0.02 s, fault: {kind: nic, gpu: 3, bandwidth: 5 %}}",
      "{at: 0.02 s, fault: {kind: nic, gpu: 3, bandwidth: 1 %}}",
  };
  double last_s = 0;
  for (guint i = 0; i < G_N_ELEMENTS(ladder); i++) {
    const Answer a = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", ladder[i]);
    g_assert_cmpfloat(a.end_s, >=, last_s);
    last_s = a.end_s;
  }
}

/* Under ecmp, routes avoid a dead cable after the detection time: sooner is better, and the job
 * always goes on. Until then nothing gets through, so a detection of 1 s costs about 1 s more than
 * a detection of 0. */
static void reroutes(void) {
  const char *const form = "{at: 0.05 s, detection: %g s, fault: {kind: switch, name: spine0}}";
  double end_s[2];
  for (guint i = 0; i < 2; i++) {
    g_autofree char *fault = g_strdup_printf(form, i ? 1.0 : 0.0);
    end_s[i] = fine("auto", "ecmp", "{tp: 4, pp: 4, dp: 4}", "", fault).end_s;
  }
  g_test_message("%g and %g s", end_s[0], end_s[1]);
  g_assert_cmpfloat_with_epsilon(end_s[1] - end_s[0], 1, 0.05);
}

/* At a rate: the same seed draws the same faults; another seed draws others. */
static void at_a_rate(void) {
  const char *const fault =
      "{mtbf: 50 ms, duration: 20 ms, fault: {kind: slow-gpu, slower: 100 %}}";
  const Answer a = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", fault);
  const Answer b = fine("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", fault);
  g_autofree char *text = scenario("auto", "ideal", "{tp: 4, pp: 4, dp: 4}", "", fault);
  g_autofree char *other = g_strconcat(text, "seed: 2\n", NULL);
  g_assert_cmpuint(a.n_faults, >, 2);
  g_assert_cmpfloat(a.end_s, ==, b.end_s);
  g_assert_cmpfloat(a.end_s, !=, simulate(other).end_s);
}

static void assert_refused(const char *routing, const char *fault, const char *wanted) {
  const Answer a = run("auto", routing, "{tp: 4, pp: 4, dp: 4}", "", fault);
  if (a.fine || !strstr(a.error, wanted))
    g_error("%s: wanted '%s', got '%s'", fault, wanted, a.error);
}

/* A node comes back to a serving replica, on a machine without a file system to read the weights
 * from: refused at the place of the date of return, before anything is simulated. With storage, or
 * with weights that are in memory already, it is accepted. */
static void test_return(void) {
  static const struct {
    const char *cluster, *start, *fault, *wanted;
  } cases[] = {
      {"", "", "{at: 1 s, until: 2 s, fault: {kind: node-lost, node: 1}}",
       "test.yaml:6:27: error: a replica whose node"},
      {"", "", "{mtbf: 9 s, duration: 2 s, fault: {kind: node-lost}}",
       "test.yaml:6:32: error: a replica whose node"},
      {"", "", "{at: 1 s, fault: {kind: node-lost, node: 1}}", ""},
      {"", ", start: {weights: false}", "{at: 1 s, until: 2 s, fault: {kind: node-lost, node: 1}}",
       ""},
      {", storage: {servers: 2, server-bandwidth: 10 GB/s, attach: fabric}", "",
       "{at: 1 s, until: 2 s, fault: {kind: node-lost, node: 1}}", ""},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(
        "schema: scenario/1\nname: test\nmodel: llama-3.1-8b\n"
        "cluster: {base: dgx-h100-superpod, nodes: 2%s}\n"
        "workload: {kind: serving, stack: none, replicas: 2, input: {tokens: 9}, output: "
        "{tokens: 9}, load: {kind: poisson, rate: 1}%s}\nfaults: [%s]\n",
        cases[i].cluster, cases[i].start, cases[i].fault);
    OrrLibrary *library = shared_library();
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
    g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
    g_autofree char *said = orr_diags_text(diags);
    if ((scenario == NULL) != (*cases[i].wanted != '\0') || !strstr(said, cases[i].wanted))
      g_error("%s: %s", cases[i].fault, said);
  }
}

static void refusals(void) {
  assert_refused("ideal", "{at: 0.05 s, fault: {kind: node-lost, node: 2}}",
                 "node 2 lost at 0.05 s: the job stopped in step 0, with 0 of 2 steps complete");
  assert_refused("ideal", "{at: 50 s, fault: {kind: slow-gpu, gpu: 2}}",
                 "begins at 50 s, after the run ends at");
  assert_refused("ideal", "{at: 0.05 s, fault: {kind: nic, gpu: 3}}",
                 "job test: stage 0, replica 0 has waited since ");
  assert_refused("ideal", "{at: 0.05 s, fault: {kind: nic, gpu: 3}}",
                 "s for gpu3.nic.tx, which went down at 0.05 s and stays down (");
  assert_refused("ideal", "{at: 0.05 s, fault: {kind: nic, gpu: 3}}",
                 "NCCL would have given up after 30 s");
  assert_refused("ecmp", "{at: 0.05 s, fault: {kind: switch, name: leaf1}}",
                 "which went down at 0.05 s and stays down");
  assert_refused("ideal", "{at: 1 s, fault: {kind: slow-gpu, gpu: 64}}",
                 "test.yaml:8:27: error: GPU 64 does not exist (the machine has 0 to 63)");
  assert_refused("ideal", "{at: 1 s, until: 1 s, fault: {kind: slow-gpu, gpu: 6}}",
                 "until must be later");
  assert_refused("ideal", "{at: 1 s, duration: 1 s, fault: {kind: slow-gpu, gpu: 6}}",
                 "duration without mtbf");
  assert_refused("ideal", "{at: 1 s, fault: {kind: slow-gpu}}",
                 "which GPU? Name one, or give the fault an mtbf to draw one");
  assert_refused("ideal", "{at: 1 s, fault: {kind: slow-gpo}}", "did you mean 'slow-gpu'");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/faults/folded-is-full", folded_is_full);
  g_test_add_func("/faults/classes", classes);
  g_test_add_func("/faults/slow-from-the-start", slow_from_the_start);
  g_test_add_func("/faults/nothing-happens", nothing_happens);
  g_test_add_func("/faults/worse-is-slower", worse_is_slower);
  g_test_add_func("/faults/reroutes", reroutes);
  g_test_add_func("/faults/at-a-rate", at_a_rate);
  g_test_add_func("/faults/refusals", refusals);
  g_test_add_func("/faults/return", test_return);
  return g_test_run();
}

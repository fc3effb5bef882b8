/*
 * A generated family of small jobs over all combinations of parallelism: folded equals full, the
 * kinds of time add up, no step is shorter than its bound, and equivalent ranks may change places.
 *
 * training_jobs.h draws the jobs. Each runs in a child: SimGrid allows one engine a process.
 */
#include <math.h>

#include "sim/base/yaml.h"
#include "sim/run/answer/kinds.h"
#include "sim/run/simulate.h"
#include "tests/base/test_size.h"
#include "tests/engine/forked.h"
#include "tests/workloads/training/training_jobs.h"
#include "tests/run/shared_library.h"

#define N_JOBS 480

typedef struct {
  gboolean read;
  double iteration_s, memory, times[ORR_N_TIMES];
  double least_s, least_memory; /* of the outline */
  guint lanes;
} Answer;

/* What is known without compiling. */
static void outline_here(const OrrScenario *scenario, const OrrRunWorld *machine, Answer *answer) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const OrrWorld world = {.model = &scenario->model,
                          .cluster = &scenario->cluster,
                          .fabric = machine->fabric,
                          .cost = machine->cost,
                          .seed = scenario->seed};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrWork) work =
      kind->outline(scenario->workload.params, &world, &answer->least_s, &error);
  g_assert_no_error(error);
  g_autoptr(OrrOutcome) outcome = orr_outcome_new();
  const OrrReplayed outline = {.work = work,
                               .cluster = &scenario->cluster,
                               .prices = &scenario->prices,
                               .fabric = machine->fabric};
  orr_kinds_outline(&outline, answer->least_s, outcome);
  answer->least_memory = outcome->result.training.memory_peak_bytes;
}

static Answer simulate_here(const char *text, const char *fidelity) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *all = g_strconcat(text, "fidelity: ", fidelity, "\n", NULL);
  g_autoptr(OrrNode) tree = orr_yaml_parse(all, strlen(all), "job.yaml", diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  Answer answer = {.read = scenario != NULL};
  if (!scenario) return answer; /* refused, with a reason */
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, &error);
  const OrrSimulation simulation = {0};
  g_autoptr(OrrOutcome) outcome = orr_simulate_in(world, scenario, &simulation, &error);
  if (error) g_error("%s\n%s", error->message, all);
  outline_here(scenario, world, &answer);
  answer.iteration_s = outcome->result.training.iteration_time_s;
  answer.memory = outcome->result.training.memory_peak_bytes;
  answer.lanes = outcome->lanes->len;
  memcpy(answer.times, outcome->time_by_kind, sizeof answer.times);
  return answer;
}

static void fill(gconstpointer data, gpointer answer) {
  const char *const *asked = data;
  *(Answer *)answer = simulate_here(asked[0], asked[1]);
}

static Answer simulate(const char *text, const char *fidelity) {
  const char *const asked[] = {text, fidelity};
  Answer answer = {0};
  shared_costs("h100-sxm");
  if (!forked_answer(fill, asked, &answer, sizeof answer)) g_error("no answer for\n%s", text);
  return answer;
}

static void assert_equal(const Answer *a, const Answer *b, const char *text) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    if (fabs(a->times[kind] - b->times[kind]) > 1e-7 * b->iteration_s)
      g_error("%s is %.12g s and %.12g s of\n%s", orr_time_words[kind], a->times[kind],
              b->times[kind], text);
    sum += a->times[kind];
  }
  if (fabs(a->iteration_s - b->iteration_s) > 1e-9 * b->iteration_s)
    g_error("%.17g s and %.17g s for\n%s", a->iteration_s, b->iteration_s, text);
  g_assert_cmpfloat_with_epsilon(sum, a->iteration_s, 1e-9 * a->iteration_s);
  g_assert_cmpfloat(a->memory, ==, b->memory);
}

/* No replay is shorter than the bound. */
static void assert_bound(const Answer *answer, const char *text) {
  if (!(answer->least_s > 0 && answer->least_s <= answer->iteration_s))
    g_error("a step of %.17g s, and %.17g s at least, of\n%s", answer->iteration_s, answer->least_s,
            text);
  g_assert_cmpfloat(answer->least_memory, ==, answer->memory);
}

static void test_folded_is_full(void) {
  OrrRandom random = orr_random_stream(4, "family");
  guint ran = 0, folded_more = 0;
  double tightness = 0;
  const guint n = (guint)test_size(N_JOBS, N_JOBS / 3);
  for (guint i = 0; i < n; i++) {
    g_autofree char *text = job_text(&random, i % 4 ? "tp-cp-dp-pp" : "tp-cp-dp-ep-pp");
    const Answer folded = simulate(text, "folded");
    if (!folded.read) continue;
    const Answer full = simulate(text, "full");
    assert_equal(&folded, &full, text);
    assert_bound(&folded, text);
    assert_bound(&full, text);
    tightness += full.least_s / full.iteration_s;
    ran++;
    folded_more += folded.lanes < full.lanes;
  }
  g_test_message("%u of %u jobs ran, %u of them were folded; bounds are %.3f of a step", ran, n,
                 folded_more, tightness / ran);
  g_assert_cmpuint(ran, >=, n / 4);
  g_assert_cmpuint(folded_more, >, ran / 4);
}

/* Two domains of four GPUs per node, so that rings of gradients cross PCIe at some replicas and
 * not at others, where all copy to the host: classes must see hybrid sharding's second
 * reduction, too. */
static void test_reductions_beside_copies(void) {
  g_autofree char *text = g_strdup_printf(
      "schema: scenario/1\nname: job\nmodel: %s\n"
      "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 0, node: {scale-up-domain: 4},\n"
      "          fabric: {kind: fat-tree, levels: 2, nodes-per-leaf: 2}}\n"
      "workload: {kind: training, stack: none, parallel: {cp: 2, context: all-to-all}, batch: "
      "{global: 32, "
      "micro: 1}, recompute: full,\n"
      "           data-parallel: {overlap: false}, optimizer: {sharding: {kind: hsdp, group: 4}}, "
      "offload: {optimizer: 1, parameters: true}}\n",
      dense);
  const Answer folded = simulate(text, "folded"), full = simulate(text, "full");
  g_assert_true(folded.read && full.read);
  g_assert_cmpuint(folded.lanes, <, full.lanes);
  assert_equal(&folded, &full, text);
}

/* Where all ranks lie in one NVLink domain, every order of the axes is a permutation of
 * equivalent GPUs: the same times, by rank class and so by kind. */
static void test_permuted_ranks(void) {
  static const char *const orders[] = {"tp-cp-dp-pp", "cp-tp-pp-dp", "pp-dp-cp-tp",
                                       "tp-cp-dp-ep-pp"};
  static const char *const job =
      "schema: scenario/1\nname: job\nmodel: %s\ncluster: {base: "
      "gb200-nvl72, gpus: 32}\nworkload:\n  kind: training\n  stack: none\n"
      "  parallel: {tp: 2, cp: 2, pp: 2, ep: %d, etp: %d, "
      "sequence-parallel: true, order: %s}\n  batch: {global: 32}\n";
  for (int moe = 0; moe < 2; moe++) {
    Answer answers[G_N_ELEMENTS(orders)];
    for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
      g_autofree char *text =
          g_strdup_printf(job, moe ? experts : dense, moe ? 8 : 1, 1, orders[i]);
      answers[i] = simulate(text, "full");
      g_assert_true(answers[i].read);
      assert_equal(&answers[i], &answers[0], text);
    }
  }
}

/* What a step gathers was updated by the step before, so nothing of a step can begin before: three
 * steps take three times as long as one. */
static void test_gathers_follow_updates(void) {
  static const char *const gathering[] = {
      "fsdp", "zero-3", "{kind: distributed-optimizer, overlap-param-gather: true}"};
  for (guint i = 0; i < G_N_ELEMENTS(gathering); i++) {
    Answer answers[2];
    for (guint n = 0; n < 2; n++) {
      g_autofree char *text = g_strdup_printf(
          "schema: scenario/1\nname: job\nmodel: %s\n"
          "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 0}\n"
          "workload: {kind: training, stack: none, batch: {global: 32}, steps: %u, optimizer: "
          "{sharding: %s}}\n",
          dense, n ? 3 : 1, gathering[i]);
      answers[n] = simulate(text, "folded");
      g_assert_true(answers[n].read);
    }
    g_test_message("%s: %.9g s, of three steps %.9g s", gathering[i], answers[0].iteration_s,
                   answers[1].iteration_s);
    g_assert_cmpfloat_with_epsilon(answers[1].iteration_s / answers[0].iteration_s, 1, 1e-9);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-family/folded-is-full", test_folded_is_full);
  g_test_add_func("/training-family/reductions-beside-copies", test_reductions_beside_copies);
  g_test_add_func("/training-family/permuted-ranks", test_permuted_ranks);
  g_test_add_func("/training-family/gathers-follow-updates", test_gathers_follow_updates);
  return g_test_run();
}

/*
 * training_fixture.h - a small training job, changed by "path=value;path=value" and simulated in a
 * child of its own: SimGrid allows one engine a process.
 */
#pragma once

#include <math.h>

#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-a100-superpod, nodes: 8}\n"
    "model: {name: small, layers: 16, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 4, pp: 4, dp: 4}\n"
    "  batch: {global: 64, micro: 1}\n";

/* "path=value;path=value" on top of the scenario above. */
static inline OrrNode *tree_with(const char *sets, OrrDiags *diags) {
  return tree_of(scenario_text, sets, diags);
}

typedef struct {
  OrrTrainingResult result;
  OrrMemoryRow memory; /* of the first stage */
  double times[ORR_N_TIMES];
  double span_sum; /* of begin + 3 end over all spans: differs when any span does */
  guint lanes;
} Answer;

static inline Answer simulate_here(const char *sets) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(library, scenario_text, sets);
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, TRUE, &error);
  g_assert_no_error(error);
  Answer answer = {.result = outcome->result.training, .lanes = outcome->lanes->len};
  answer.memory = g_array_index(outcome->memory, OrrMemoryRow, 0);
  memcpy(answer.times, outcome->time_by_kind, sizeof answer.times);
  for (guint i = 0; i < outcome->spans->len; i++) {
    const OrrSpanRow *span = &g_array_index(outcome->spans, OrrSpanRow, i);
    answer.span_sum += span->begin_s + 3 * span->end_s;
  }
  return answer;
}

static inline void fill(gconstpointer sets, gpointer answer) {
  *(Answer *)answer = simulate_here(sets);
}

static inline Answer simulate(const char *sets) {
  Answer answer = {0};
  shared_costs("a100-80gb-sxm");
  if (!forked_answer(fill, sets, &answer, sizeof answer)) g_error("no answer for '%s'", sets);
  return answer;
}

/* What is said of a scenario that is refused. */
static inline void assert_refused(const char *sets, const char *says) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = tree_with(sets, diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *text = orr_diags_text(diags);
  if (scenario) g_error("'%s' is not refused", sets);
  if (!strstr(text, says)) g_error("'%s' says: %s", sets, text);
}

static inline void assert_close(double a, double b, double relative) {
  g_assert_cmpfloat_with_epsilon(a, b, relative * MAX(fabs(a), fabs(b)));
}

/* One replay for all ranks that are alike answers what one for each does, kind of time by kind. */
static inline void assert_folded_is_full(const char *sets) {
  g_autofree char *folded = g_strconcat("fidelity=folded;", sets, NULL);
  g_autofree char *full = g_strconcat("fidelity=full;", sets, NULL);
  const Answer a = simulate(folded), b = simulate(full);
  g_test_message("%s: %u and %u lanes, %.17g and %.17g s", sets, a.lanes, b.lanes,
                 a.result.iteration_time_s, b.result.iteration_time_s);
  assert_close(a.result.iteration_time_s, b.result.iteration_time_s, 1e-9);
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    g_assert_cmpfloat_with_epsilon(a.times[kind], b.times[kind], 1e-8 * b.result.iteration_time_s);
}

/*
 * bench_energy - how much processor time the energy of a run and its power over time add: the same
 * run of a machine whose boards have a power model, against one of boards without. Boards of both
 * are unlimited, so that both simulate the same times.
 */
#include <time.h>

#include "sim/run/simulate.h"
#include "tests/bench/benchmark.h"

typedef struct {
  const char *file;
  gboolean has_power;
} Ask;

enum { REPEATS = 5 }; /* of the tries of other benchmarks: the difference is small */

static OrrScenario *read_scenario(OrrLibrary *library, const Ask *ask, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, ask->file, diags);
  const char *text = ask->has_power ? "0 W" : "{static: 0 W}";
  const char *path = ask->has_power ? "cluster.device.tdp" : "cluster.device.power";
  orr_field_set(&orr_scenario_table, tree, "cluster.device.tdp", "0 W", &error);
  bench_check(error);
  orr_field_set(&orr_scenario_table, tree, path, text, &error);
  bench_check(error);
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  orr_diags_check(diags, &error);
  bench_check(error);
  return scenario;
}

/* Processor seconds of a run, spans kept. */
static double figure(gconstpointer data) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrScenario) scenario = read_scenario(library, data, diags);
  const clock_t begin = clock();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, TRUE, &error);
  bench_check(error);
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* Tries of both take turns, so that what else the machine does meets both. */
static void ratio(const char *what, const char *file) {
  double with[REPEATS * BENCH_TRIES], without[REPEATS * BENCH_TRIES];
  const guint n = G_N_ELEMENTS(with);
  for (guint i = 0; i < n; i++) {
    with[i] = bench_in_child(figure, &(Ask){file, TRUE});
    without[i] = bench_in_child(figure, &(Ask){file, FALSE});
  }
  bench_row_goal(what, bench_median(with, n) / bench_median(without, n), "times", 1.1, 0);
}

int main(void) {
  ratio("energy: a training step with power over time, against one without a power model",
        "scenarios/gpt3-175b-1024-a100.yaml");
  ratio("energy: a serving run with power over time, against one without a power model",
        "scenarios/serving-azure-conversation-4-h100.yaml");
  return 0;
}

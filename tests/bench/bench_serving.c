/*
 * bench_serving FILE - a serving scenario, its own trace, and then 1,000 to 1,000,000 requests
 * on 1 to 8 engines: wall time and memory, and how they grow.
 */
#include <math.h>
#include <sys/resource.h>

#include "sim/run/simulate.h"
#include "tests/bench/bench_world.h"

static const char *file;

typedef struct {
  gint64 requests, engines; /* 0: the scenario's own load */
  gboolean memory;
} Ask;

static void set(OrrNode *tree, const char *path, const char *format, gint64 value) {
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strdup_printf(format, value);
  orr_field_set(&orr_scenario_table, tree, path, text, &error);
  bench_check(error);
}

static double figure(gconstpointer data) {
  const Ask *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, file, diags);
  if (ask->requests > 0) {
    set(tree, "workload.requests", "%ld", ask->requests);
    set(tree, "workload.load", "{kind: poisson, rate: %ld}", 10 * ask->engines);
    set(tree, "workload.input", "{kind: azure-conversation-in, most: %ld}", 16000);
    set(tree, "workload.output", "{kind: azure-conversation-out, most: %ld}", 2000);
    set(tree, "cluster.gpus", "%ld", ask->engines);
  }
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  orr_diags_check(diags, &error);
  bench_check(error);
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  bench_check(error);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return ask->memory ? (double)usage.ru_maxrss / 1024 : bench_since(begin_us);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  file = argv[1];
  bench_row("serving: the trace of the scenario", bench_figure(figure, &(Ask){0, 0, FALSE}), "s");
  static const gint64 requests[] = {1000, 10000, 100000, 1000000};
  double seconds[G_N_ELEMENTS(requests)];
  for (guint i = 0; i < G_N_ELEMENTS(requests); i++) {
    g_autofree char *what = g_strdup_printf("serving: %ld requests on 8 engines", requests[i]);
    seconds[i] = bench_in_child(figure, &(Ask){requests[i], 8, FALSE});
    bench_row(what, seconds[i], "s");
  }
  bench_row("serving: slope of log time over log requests, 1,000 to 1,000,000",
            log10(seconds[3] / seconds[0]) / 3, "");
  bench_row("serving: a million requests, memory", bench_in_child(figure, &(Ask){1000000, 8, TRUE}),
            "MiB");
  for (gint64 engines = 1; engines <= 8; engines *= 2) {
    g_autofree char *what =
        g_strdup_printf("serving: 100,000 requests on %ld engines, 10/s each", engines);
    bench_row(what, bench_in_child(figure, &(Ask){100000, engines, FALSE}), "s");
  }
  return 0;
}

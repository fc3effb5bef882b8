/*
 * bench_scenario FILE - a scenario taken apart: read, compiled, replayed, stored; folded and full.
 */
#include <glib/gstdio.h>

#include "sim/engine/executor.h"
#include "sim/run/simulate.h"
#include "tests/bench/bench_world.h"

static const char *file;

static double read_ms(gconstpointer data) {
  (void)data;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrScenario) scenario = bench_scenario(library, file);
  const double ms = bench_since(begin_us) * 1e3;
  return scenario ? ms : 0;
}

typedef struct {
  OrrFidelity fidelity;
  OrrEngineKind engine;
  enum { COMPILE_MS, N_OPS, REPLAY_MS } figure;
} Ask;

static double replay_ms(const OrrProgram *program, OrrEngineKind kind) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  bench_check(error);
  OrrReplay replay;
  const gint64 begin_us = g_get_monotonic_time();
  orr_executor_run(program, engine, NULL, NULL, NULL, &replay, &error);
  bench_check(error);
  return bench_since(begin_us) * 1e3;
}

static double take_apart(gconstpointer data) {
  const Ask *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrScenario) scenario = bench_scenario(library, file);
  const OrrDevice *device = &scenario->cluster.device;
  g_autoptr(OrrProfile) profile =
      bench_profile(library, device->profile ? device->profile : device->name);
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, device, &error);
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&scenario->cluster, (guint64)scenario->seed, &error);
  bench_check(error);
  const OrrWorld world = {&scenario->model, &scenario->cluster,     fabric, cost,
                          ask->fidelity,    ORR_ON_MISSING_FALLBACK};
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrWork) work = kind->compile(scenario->workload.params, &world, &error);
  const double compile_ms = bench_since(begin_us) * 1e3;
  bench_check(error);
  if (ask->figure == COMPILE_MS) return compile_ms;
  return ask->figure == N_OPS ? (double)orr_program_n_ops(work->program)
                              : replay_ms(work->program, ask->engine);
}

static void measure(OrrFidelity fidelity, const char *word) {
  const double n_ops = bench_in_child(take_apart, &(Ask){fidelity, ORR_ENGINE_IDEAL, N_OPS});
  const double compile_ms =
      bench_figure(take_apart, &(Ask){fidelity, ORR_ENGINE_IDEAL, COMPILE_MS});
  const double shared_ms =
      bench_figure(take_apart, &(Ask){fidelity, ORR_ENGINE_SIMGRID, REPLAY_MS});
  const double alone_ms = bench_figure(take_apart, &(Ask){fidelity, ORR_ENGINE_IDEAL, REPLAY_MS});
  const struct {
    const char *what, *unit;
    double figure;
  } rows[] = {{"operations of the program", "ops", n_ops},
              {"compiled", "ms", compile_ms},
              {"compiled", "ops/s", n_ops / compile_ms * 1e3},
              {"replayed on SimGrid", "ms", shared_ms},
              {"replayed on SimGrid", "ops/s", n_ops / shared_ms * 1e3},
              {"replayed on the ideal engine", "ms", alone_ms}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *what = g_strdup_printf("scenario, %s: %s", word, rows[i].what);
    bench_row(what, rows[i].figure, rows[i].unit);
  }
}

/* One row type alone: spans, as a run stores them. */
static double span_rows_per_second(gconstpointer data) {
  const guint n = *(const guint *)data;
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("orrery-bench-XXXXXX", &error);
  bench_check(error);
  g_autofree char *path = g_build_filename(folder, "results.db", NULL);
  g_autoptr(OrrStore) store = orr_store_open(path, &error);
  bench_check(error);
  const OrrRunFacts facts = {"bench", "training", "bench", "0", "", "0", "ideal", "full", 0};
  char stream[] = "compute", name[] = "forward", category[] = "gemm";
  gint64 run;
  const gint64 begin_us = g_get_monotonic_time();
  orr_store_begin_run(store, &facts, &run, &error);
  for (guint i = 0; i < n && !error; i++) {
    const OrrSpanRow row = {i % 128, stream,   name,     category,
                            i % 192, i * 1e-3, i * 1e-3, (i + 1) * 1e-3};
    orr_store_add_row(store, &orr_span_table, &row, &error);
  }
  if (!error) orr_store_end_run(store, 0, &error);
  bench_check(error);
  const double rate = n / bench_since(begin_us);
  g_clear_pointer(&store, orr_store_free);
  g_remove(path);
  g_rmdir(folder);
  return rate;
}

int main(int argc, char **argv) {
  if (argc != 2) g_error("usage: bench_scenario FILE");
  file = argv[1];
  bench_row("scenario: read and checked", bench_figure(read_ms, NULL), "ms");
  measure(ORR_FIDELITY_FOLDED, "folded");
  measure(ORR_FIDELITY_FULL, "full");
  bench_row("store: span rows, one run of 200,000",
            bench_figure(span_rows_per_second, &(guint){200000}), "rows/s");
  return 0;
}

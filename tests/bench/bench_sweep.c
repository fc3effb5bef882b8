/*
 * bench_sweep FILE... - sweeps: configurations a second on all cores, with and without fast-forward; rows of points in
 * one database; memory of the parent.
 */
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sim/run/sweep_store.h"
#include "tests/bench/bench.h"

#define SAMPLE "sweep.sampler={kind: random, points: 200}"

static double points_per_s(const char *file, gboolean whole_steps) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  char *settings[] = {(char *)SAMPLE, NULL};
  const OrrSweepOrder order = {.file = file, .settings = settings, .whole_steps = whole_steps};
  g_autoptr(OrrSweepReport) report = orr_sweep(library, &order, &error);
  bench_check(error);
  return (double)report->n_done / report->seconds;
}

typedef struct {
  const char *file;
  gboolean whole_steps;
} Ask;

static double one_sweep(gconstpointer data) {
  const Ask *ask = data;
  return points_per_s(ask->file, ask->whole_steps);
}

typedef struct {
  const char *file;
  guint n;
  enum { ROWS_PER_S, BYTES_PER_POINT, PEAK_MB } figure;
} Rows;

/* Answers as a sweep gets them, with the longest texts that are usual. */
static double rows(gconstpointer data) {
  const Rows *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrSweepPlan) plan = orr_sweep_plan_new(library, ask->file, NULL, diags, &error);
  g_autofree char *folder = g_dir_make_tmp("orrery-bench-XXXXXX", &error),
                  *path = g_build_filename(folder, "s.db", NULL);
  g_autoptr(GArray) excluded = g_array_new(FALSE, FALSE, sizeof(OrrSweepExclusion));
  g_autoptr(OrrStore) store = orr_store_open(path, &error);
  gint64 sweep = 0;
  bench_check(error);
  orr_sweep_store_begin(store, plan, ask->n, excluded, &sweep, &error);
  OrrSweepAnswer answer = {.eligible = TRUE, .folded = TRUE, .score = {1.5}};
  g_strlcpy(answer.engine, "simgrid 3.32, lmm max-min, selective update, precision 1e-12", sizeof answer.engine);
  for (int kind = 0; kind < ORR_N_TIMES; kind++) answer.seconds[kind] = 0.1 + kind / 7.0;
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < ask->n && !error; i++) {
    if (i % 1024 == 0 && orr_store_end_batch(store, &error)) orr_store_begin_batch(store, &error);
    answer.point = i;
    answer.combination = i % plan->n_combinations;
    answer.result.training.iteration_time_s = 1 + i * 1e-6;
    orr_sweep_store_point(store, plan, sweep, &answer, &error);
  }
  if (!error) orr_store_end_batch(store, &error);
  bench_check(error);
  const double rate = ask->n / bench_since(begin_us);
  g_clear_pointer(&store, orr_store_free);
  struct stat facts = {0};
  struct rusage usage;
  stat(path, &facts);
  getrusage(RUSAGE_SELF, &usage);
  g_remove(path);
  g_rmdir(folder);
  return ask->figure == ROWS_PER_S        ? rate
         : ask->figure == BYTES_PER_POINT ? (double)facts.st_size / ask->n
                                          : (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv) {
  if (argc < 2) g_error("usage: bench_sweep FILE...");
  for (int i = 1; i < argc; i++) {
    g_autofree char *name = g_path_get_basename(argv[i]);
    for (guint whole = 0; whole < 2; whole++) {
      g_autofree char *what = g_strdup_printf("sweep: 200 of %s%s", name, whole ? ", whole steps" : "");
      bench_row(what, bench_in_child(one_sweep, &(Ask){argv[i], whole}), "points/s");
    }
  }
  bench_row("sweep: 100,000 points stored", bench_in_child(rows, &(Rows){argv[1], 100000, ROWS_PER_S}), "points/s");
  bench_row("sweep: 100,000 points stored", bench_in_child(rows, &(Rows){argv[1], 100000, BYTES_PER_POINT}),
            "bytes a point");
  bench_row("sweep: 1,000 points, memory of the writer", bench_in_child(rows, &(Rows){argv[1], 1000, PEAK_MB}), "MiB");
  bench_row("sweep: 100,000 points, memory of the writer", bench_in_child(rows, &(Rows){argv[1], 100000, PEAK_MB}),
            "MiB");
  return 0;
}

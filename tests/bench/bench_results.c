/*
 * bench_results FILE - the results database with 100,000 points of a sweep in it: rows a second,
 * bytes a point, memory of who writes, merging, a report, and how long each shipped view takes.
 * Goals are a tenth of a million points' goals.
 *
 * bench_results FILE POINTS DB only writes such a database, of POINTS points, to time commands.
 */
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "results/report.h"
#include "sim/base/random.h"
#include "sim/sweep/sweep_store.h"
#include "tests/bench/benchmark.h"

#define N_POINTS 100000

/* 4 * 8 * 4 * 8 * 3 combinations of the other axes for each batch. */
#define N_PER_BATCH 3072
#define MANY_AXES                                                                                  \
  "sweep.axes={tp: [1, 2, 4, 8], pp: {from: 1, to: 8, step: 1}, chunks: [1, 2, 4, 8], "            \
  "micro-batch: {from: 1, to: 8, step: 1}, recompute: all, workload.batch.global: {from: 32, to: " \
  "%u, step: 32}}"
#define OBJECTIVES                                                                                 \
  "sweep.objective=[maximize tokens_per_s_per_gpu, minimize memory_peak_bytes, minimize n_gpus]"

typedef struct {
  const char *file; /* the scenario */
  char *path;       /* the database */
  char *other;      /* one that is merged */
  guint n;
} Ask;

static guint64 combinations(guint n) {
  return ((guint64)n + N_PER_BATCH - 1) / N_PER_BATCH * N_PER_BATCH;
}

/* An answer that looks like one: objectives that pull apart, every tenth point does not fit. */
static void answer_point(const OrrSweepPlan *plan, guint64 i, guint n, OrrRandom *random,
                         OrrSweepAnswer *answer) {
  OrrTrainingResult *result = &answer->result.training;
  const double luck = orr_random_unit(random);
  answer->point = i;
  answer->combination = i * plan->n_combinations / combinations(n) % plan->n_combinations;
  answer->status = i % 10 == 9 ? ORR_POINT_UNFIT : ORR_POINT_OK;
  answer->eligible = answer->status == ORR_POINT_OK;
  g_strlcpy(answer->reason, "does not fit the 80 GiB of a100-80gb-sxm", sizeof answer->reason);
  *result = (OrrTrainingResult){.iteration_time_s = 1 + luck,
                                .n_gpus = 8 << (i % 6),
                                .fits = TRUE,
                                .tp = 1,
                                .pp = 1,
                                .dp = 8 << (i % 6),
                                .cp = 1};
  result->tokens_per_s_per_gpu = 4000 * luck;
  result->tokens_per_s = result->tokens_per_s_per_gpu * (double)result->n_gpus;
  result->memory_peak_bytes = 8e10 * luck * orr_random_unit(random);
  answer->score[0] = result->tokens_per_s_per_gpu;
  answer->score[1] = result->memory_peak_bytes;
  answer->score[2] = (double)result->n_gpus;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) answer->seconds[kind] = 0.1 + kind / 7.0;
}

static OrrSweepPlan *plan_sweep(OrrLibrary *library, const char *file, guint n) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *axes =
      g_strdup_printf(MANY_AXES, (guint)(32 * combinations(MAX(n, N_POINTS)) / N_PER_BATCH));
  char *settings[] = {axes, (char *)OBJECTIVES, NULL};
  OrrSweepPlan *plan = orr_sweep_plan_new(library, file, settings, diags, &error);
  if (!plan) orr_diags_check(diags, &error);
  bench_check(error);
  return plan;
}

/* A sweep of @ask->n points, with the longest texts that are usual; points per second. */
static double fill(gconstpointer data) {
  const Ask *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrSweepPlan) plan = plan_sweep(library, ask->file, ask->n);
  g_autoptr(GArray) excluded = g_array_new(FALSE, FALSE, sizeof(OrrSweepExclusion));
  g_autoptr(OrrStore) store = orr_store_open(ask->path, &error);
  OrrRandom random = orr_random_stream(1, "bench");
  OrrSweepAnswer answer = {.folded = TRUE};
  gint64 sweep = 0;
  bench_check(error);
  orr_sweep_store_begin(store, plan, ask->n, excluded, &sweep, &error);
  g_strlcpy(answer.engine, "simgrid 3.32, lmm max-min, precision 1e-12", sizeof answer.engine);
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < ask->n && !error; i++) {
    if (i % 1024 == 0 && orr_store_end_batch(store, &error)) orr_store_begin_batch(store, &error);
    answer_point(plan, i, MAX(ask->n, N_POINTS), &random, &answer);
    orr_sweep_store_point(store, plan, sweep, &answer, FALSE, &error);
  }
  if (!error) orr_store_end_batch(store, &error);
  bench_check(error);
  return ask->n / bench_since(begin_us);
}

/* The most memory of a process that stores a sweep, MiB. */
static double writer_memory(gconstpointer data) {
  struct rusage usage;
  fill(data);
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

static double merge(gconstpointer data) {
  const Ask *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open(ask->path, &error);
  const gint64 begin_us = g_get_monotonic_time();
  if (store && orr_store_begin_batch(store, &error) &&
      orr_store_merge(store, ask->other, NULL, &error))
    orr_store_end_batch(store, &error);
  bench_check(error);
  return bench_since(begin_us);
}

/* The sweep's page. */
static double report(gconstpointer data) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(((const Ask *)data)->path, &error);
  const gint64 begin_us = g_get_monotonic_time();
  g_autofree char *page = store ? orr_report_html(store, 0, &error) : NULL;
  bench_check(error);
  return bench_since(begin_us);
}

/* A view asked of the newest run, its answer as a table; seconds. */
static double time_view(OrrStore *store, const OrrView *view) {
  g_autoptr(GError) error = NULL;
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrAnswer) answer = orr_store_query(store, view->name, 0, &error);
  bench_check(error);
  g_autofree char *text = orr_answer_table(answer);
  return bench_since(begin_us);
}

static void time_views(const char *path) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(path, &error);
  guint n = 0;
  const OrrView *views = orr_views(&n), *slowest = NULL;
  double slowest_s = -1;
  bench_check(error);
  for (guint i = 0; i < n; i++) {
    const double seconds = time_view(store, &views[i]);
    g_autofree char *what = g_strdup_printf("results: 100,000 points, view %s", views[i].name);
    bench_row_goal(what, seconds, "s", strcmp(views[i].name, "points") == 0 ? 0.05 : 0, 0);
    if (seconds <= slowest_s) continue;
    slowest_s = seconds;
    slowest = &views[i];
  }
  g_autofree char *what =
      g_strdup_printf("results: 100,000 points, slowest view (%s)", slowest->name);
  bench_row(what, slowest_s, "s");
}

static double bytes_of(const char *path) {
  struct stat facts = {0};
  stat(path, &facts);
  return (double)facts.st_size;
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 4) g_error("usage: bench_results FILE [POINTS DB]");
  if (argc == 4) {
    const guint n = (guint)g_ascii_strtoull(argv[2], NULL, 10);
    bench_row("results: points stored", bench_in_child(fill, &(Ask){argv[1], argv[3], NULL, n}),
              "points/s");
    return 0;
  }
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("orrery-bench-XXXXXX", &error);
  bench_check(error);
  g_autofree char *whole = g_build_filename(folder, "whole.db", NULL),
                  *some = g_build_filename(folder, "some.db", NULL),
                  *merged = g_build_filename(folder, "merged.db", NULL);
  bench_row("results: 100,000 points stored",
            bench_in_child(fill, &(Ask){argv[1], whole, NULL, N_POINTS}), "points/s");
  bench_row("results: 100,000 points stored", bytes_of(whole) / N_POINTS, "bytes a point");
  bench_row("results: 1,000 points, memory of the writer",
            bench_in_child(writer_memory, &(Ask){argv[1], some, NULL, 1000}), "MiB");
  bench_row("results: 100,000 points, memory of the writer",
            bench_in_child(writer_memory, &(Ask){argv[1], merged, NULL, N_POINTS}), "MiB");
  g_remove(merged);
  bench_row_goal("results: 100,000 points merged",
                 bench_in_child(merge, &(Ask){NULL, merged, whole, 0}), "s", 1.5, 0);
  bench_row("results: 100,000 points merged again",
            bench_in_child(merge, &(Ask){NULL, merged, whole, 0}), "s");
  bench_row_goal("results: 100,000 points, report",
                 bench_in_child(report, &(Ask){NULL, whole, NULL, 0}), "s", 0.5, 0);
  time_views(whole);
  g_remove(whole);
  g_remove(some);
  g_remove(merged);
  g_rmdir(folder);
  return 0;
}

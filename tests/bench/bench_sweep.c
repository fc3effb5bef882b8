/*
 * bench_sweep FILE... - sweeps: configurations a second on all cores, with and without fast-forward; rows of points in
 * one database; memory of the parent.
 */
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sim/base/random.h"
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
  enum { ROWS_PER_S, BYTES_PER_POINT, PEAK_MB, SLOWEST_VIEW_S } figure;
} Rows;

/* 4 * 8 * 4 * 8 * 3 * 34 = 104,448 combinations. */
#define MANY_AXES                                                                                                      \
  "sweep.axes={tp: [1, 2, 4, 8], pp: {from: 1, to: 8, step: 1}, chunks: [1, 2, 4, 8], "                                \
  "micro-batch: {from: 1, to: 8, step: 1}, recompute: all, workload.batch.global: {from: 32, to: 1088, step: 32}}"
#define TWO_OBJECTIVES "sweep.objective=[maximize tokens_per_s_per_gpu, minimize memory_peak_bytes, minimize n_gpus]"

/* An answer that looks like one: objectives that pull apart, every tenth point does not fit. */
static void answer_point(const OrrSweepPlan *plan, guint64 i, OrrRandom *random, OrrSweepAnswer *answer) {
  OrrTrainingResult *result = &answer->result.training;
  const double luck = orr_random_unit(random);
  answer->point = i;
  answer->combination = i * plan->n_combinations / 104448 % plan->n_combinations;
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

/* A sweep of @ask->n points, with the longest texts that are usual; points a second. */
static double fill(const Rows *ask, const char *path) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  char *settings[] = {(char *)MANY_AXES, (char *)TWO_OBJECTIVES, NULL};
  g_autoptr(OrrSweepPlan) plan = orr_sweep_plan_new(library, ask->file, settings, diags, &error);
  if (!plan) orr_diags_check(diags, &error);
  bench_check(error);
  g_autoptr(GArray) excluded = g_array_new(FALSE, FALSE, sizeof(OrrSweepExclusion));
  g_autoptr(OrrStore) store = orr_store_open(path, &error);
  OrrRandom random = orr_random_stream(1, "bench");
  gint64 sweep = 0;
  bench_check(error);
  orr_sweep_store_begin(store, plan, ask->n, excluded, &sweep, &error);
  OrrSweepAnswer answer = {.folded = TRUE};
  g_strlcpy(answer.engine, "simgrid 3.32, lmm max-min, selective update, precision 1e-12", sizeof answer.engine);
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < ask->n && !error; i++) {
    if (i % 1024 == 0 && orr_store_end_batch(store, &error)) orr_store_begin_batch(store, &error);
    answer_point(plan, i, &random, &answer);
    orr_sweep_store_point(store, plan, sweep, &answer, &error);
  }
  if (!error) orr_store_end_batch(store, &error);
  bench_check(error);
  return ask->n / bench_since(begin_us);
}

/* Every view, asked of the newest run and printed as a table; the slowest is named where this is made to say so. */
static double slowest_view(const char *path) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(path, &error);
  double slowest_s = 0;
  guint n = 0;
  const OrrView *views = orr_views(&n);
  for (guint i = 0; i < n && store; i++) {
    const gint64 begin_us = g_get_monotonic_time();
    g_autoptr(OrrAnswer) answer = orr_store_query(store, views[i].name, 0, &error);
    bench_check(error);
    g_autofree char *text = orr_answer_table(answer);
    const double seconds = bench_since(begin_us);
    if (g_getenv("ORRERY_BENCH_VIEWS"))
      g_printerr("%-24s %8.3f s  %u rows\n", views[i].name, seconds, answer->rows->len);
    slowest_s = MAX(slowest_s, seconds);
  }
  return slowest_s;
}

static double rows(gconstpointer data) {
  const Rows *ask = data;
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("orrery-bench-XXXXXX", &error),
                  *path = g_build_filename(folder, "s.db", NULL);
  bench_check(error);
  const double rate = fill(ask, path);
  struct stat facts = {0};
  struct rusage usage;
  stat(path, &facts);
  getrusage(RUSAGE_SELF, &usage);
  const double slowest_s = ask->figure == SLOWEST_VIEW_S ? slowest_view(path) : 0;
  g_remove(path);
  g_rmdir(folder);
  return ask->figure == ROWS_PER_S        ? rate
         : ask->figure == BYTES_PER_POINT ? (double)facts.st_size / ask->n
         : ask->figure == SLOWEST_VIEW_S  ? slowest_s
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
  bench_row("sweep: slowest view of 100,000 points", bench_in_child(rows, &(Rows){argv[1], 100000, SLOWEST_VIEW_S}),
            "s");
  bench_row("sweep: 1,000 points, memory of the writer", bench_in_child(rows, &(Rows){argv[1], 1000, PEAK_MB}), "MiB");
  bench_row("sweep: 100,000 points, memory of the writer", bench_in_child(rows, &(Rows){argv[1], 100000, PEAK_MB}),
            "MiB");
  return 0;
}

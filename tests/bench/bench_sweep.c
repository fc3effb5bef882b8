/*
 * bench_sweep FILE... - sweeps on all cores, with and without fast-forward: points that were
 * simulated a second, and all points, most of which only had their memory computed.
 */
#include "sim/sweep/sweep.h"
#include "tests/bench/benchmark.h"

#define SAMPLE "sweep.sampler={kind: random, points: 200}"

/* @setting: NULL for all points. */
typedef struct {
  const char *file, *setting;
  gboolean whole_steps;
  gboolean counts_all; /* not only points that were simulated */
} Ask;

static double points_per_s(gconstpointer data) {
  const Ask *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  char *settings[] = {(char *)ask->setting, NULL};
  const OrrSweepOrder order = {
      .file = ask->file, .settings = settings, .whole_steps = ask->whole_steps};
  g_autoptr(OrrSweepReport) report = orr_sweep(library, &order, &error);
  bench_check(error);
  const guint64 n = ask->counts_all ? report->n_done : report->by_status[ORR_POINT_OK];
  return (double)n / report->seconds;
}

static void add_rows(const char *what, Ask ask) {
  bench_row(what, bench_in_child(points_per_s, &ask), "simulated points/s");
  g_autofree char *all = g_strconcat(what, ", all points", NULL);
  ask.counts_all = TRUE;
  bench_row(all, bench_in_child(points_per_s, &ask), "points/s");
}

int main(int argc, char **argv) {
  if (argc < 2) g_error("usage: bench_sweep FILE...");
  for (int i = 1; i < argc; i++) {
    g_autofree char *name = g_path_get_basename(argv[i]);
    for (guint whole = 0; whole < 2; whole++) {
      g_autofree char *what =
          g_strdup_printf("sweep: 200 of %s%s", name, whole ? ", whole steps" : "");
      add_rows(what, (Ask){argv[i], SAMPLE, whole, FALSE});
    }
  }
  const char *last = argv[argc - 1]; /* the largest */
  g_autofree char *name = g_path_get_basename(last),
                  *all = g_strdup_printf("sweep: all of %s", name);
  g_autofree char *inside = g_strdup_printf("%s, tp in a node", all);
  add_rows(all, (Ask){last, NULL, FALSE, FALSE});
  add_rows(inside, (Ask){last, "sweep.where=[tp <= gpus-per-node]", FALSE, FALSE});
  return 0;
}

/*
 * bench_sweep FILE... - sweeps: configurations a second on all cores, with and without
 * fast-forward.
 */
#include "sim/sweep/sweep.h"
#include "tests/bench/bench.h"

#define SAMPLE "sweep.sampler={kind: random, points: 200}"

/* @setting: NULL for all points. */
static double points_per_s(const char *file, const char *setting, gboolean whole_steps) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  char *settings[] = {(char *)setting, NULL};
  const OrrSweepOrder order = {.file = file, .settings = settings, .whole_steps = whole_steps};
  g_autoptr(OrrSweepReport) report = orr_sweep(library, &order, &error);
  bench_check(error);
  return (double)report->n_done / report->seconds;
}

typedef struct {
  const char *file, *setting;
  gboolean whole_steps;
} Ask;

static double one_sweep(gconstpointer data) {
  const Ask *ask = data;
  return points_per_s(ask->file, ask->setting, ask->whole_steps);
}

int main(int argc, char **argv) {
  if (argc < 2) g_error("usage: bench_sweep FILE...");
  for (int i = 1; i < argc; i++) {
    g_autofree char *name = g_path_get_basename(argv[i]);
    for (guint whole = 0; whole < 2; whole++) {
      g_autofree char *what =
          g_strdup_printf("sweep: 200 of %s%s", name, whole ? ", whole steps" : "");
      bench_row(what, bench_in_child(one_sweep, &(Ask){argv[i], SAMPLE, whole}), "points/s");
    }
  }
  const char *last = argv[argc - 1]; /* the largest */
  g_autofree char *name = g_path_get_basename(last),
                  *all = g_strdup_printf("sweep: all of %s", name);
  g_autofree char *inside = g_strdup_printf("%s, tp in a node", all);
  bench_row(all, bench_in_child(one_sweep, &(Ask){last, NULL, FALSE}), "points/s");
  bench_row(inside,
            bench_in_child(one_sweep, &(Ask){last, "sweep.where=[tp <= gpus-per-node]", FALSE}),
            "points/s");
  return 0;
}

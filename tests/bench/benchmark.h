/*
 * benchmark.h - what the benchmarks share: a clock, medians, children, the line that is printed.
 *
 * A figure is the median of a few tries, each in a process of its own where it needs a SimGrid
 * engine (engine.h, rule 5) or would find the heap of the one before. Nothing here asserts on time:
 * benchmarks report, tests judge.
 */
#pragma once

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BENCH_TRIES 5

typedef double (*BenchBody)(gconstpointer data); /* returns the figure of one try */

/* One figure. Three digits are what a median holds; 401661 transfers/s read "402 thousand
 * transfers/s". @most, @least: its goal; 0: none. Where ORRERY_BENCH_FIGURES names a file, the
 * figure is added to it: what, figure, unit, goal, tabs between them. */
static inline void bench_row_goal(const char *what, double figure, const char *unit, double most,
                                  double least) {
  const char *path = g_getenv("ORRERY_BENCH_FIGURES");
  const char *scale = figure >= 1e6 ? "million " : figure >= 1e4 ? "thousand " : "";
  const double shown = figure / (figure >= 1e6 ? 1e6 : figure >= 1e4 ? 1e3 : 1);
  const int digits = shown >= 100 ? 0 : shown >= 10 ? 1 : shown >= 1 ? 2 : 3;
  g_autofree char *goal = most > 0    ? g_strdup_printf("at most %g", most)
                          : least > 0 ? g_strdup_printf("at least %g", least)
                                      : g_strdup("");
  const gboolean missed = (most > 0 && figure > most) || figure < least;
  printf("%-72s %8.*f  %s%s%s%s%s\n", what, digits, shown, scale, unit, *goal ? ", goal " : "",
         goal, missed ? ": missed" : "");
  fflush(stdout);
  if (!path) return;
  FILE *file = fopen(path, "a");
  if (!file) g_error("cannot write %s", path);
  fprintf(file, "%s\t%.4g\t%s\t%s\n", what, figure, unit, goal);
  fclose(file);
}

static inline void bench_row(const char *what, double figure, const char *unit) {
  bench_row_goal(what, figure, unit, 0, 0);
}

static inline void bench_check(const GError *error) {
  if (error) g_error("%s", error->message);
}

static inline double bench_since(gint64 begin_us) {
  return (double)(g_get_monotonic_time() - begin_us) * 1e-6;
}

static inline int bench_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double bench_median(double *values, guint n) {
  qsort(values, n, sizeof *values, bench_compare);
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* @body in a child; its figure comes back over a pipe. */
static inline double bench_in_child(BenchBody body, gconstpointer data) {
  int ends[2], status = 0;
  double figure = 0;
  fflush(NULL);
  if (pipe(ends) != 0) g_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    figure = body(data);
    _exit(write(ends[1], &figure, sizeof figure) == sizeof figure ? 0 : 1);
  }
  close(ends[1]);
  const gssize got = read(ends[0], &figure, sizeof figure);
  close(ends[0]);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || got != sizeof figure)
    g_error("a try of a benchmark failed");
  return figure;
}

static inline double bench_figure(BenchBody body, gconstpointer data) {
  double figures[BENCH_TRIES];
  for (guint i = 0; i < BENCH_TRIES; i++) figures[i] = bench_in_child(body, data);
  return bench_median(figures, BENCH_TRIES);
}

/*
 * bench_process ORRERY SCENARIO DB SET ROWS.csv - whole processes, as a user runs them: wall time, start to exit, and peak
 * memory (the largest resident set). SET is a validation set's name; ROWS.csv are its rows, many times over.
 */
#include <string.h>
#include <sys/resource.h>

#include "tests/bench/bench.h"

typedef struct {
  double wall_s, memory_mb;
} Process;

static Process run_once(char **command) {
  const gint64 begin_us = g_get_monotonic_time();
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout)) _exit(126);
    execv(command[0], command);
    _exit(127);
  }
  int status = 0;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) g_error("%s failed", command[0]);
  return (Process){bench_since(begin_us), (double)usage.ru_maxrss * 1024e-6};
}

static Process median_of_tries(char **command) {
  double wall_s[BENCH_TRIES], memory_mb[BENCH_TRIES];
  for (guint i = 0; i < BENCH_TRIES; i++) {
    const Process one = run_once(command);
    wall_s[i] = one.wall_s;
    memory_mb[i] = one.memory_mb;
  }
  return (Process){bench_median(wall_s, BENCH_TRIES), bench_median(memory_mb, BENCH_TRIES)};
}

/* @words: the command line; each try of `run` adds to a database of its own folder, as a user's does. */
static Process measure(const char *what, const char *orrery, const char *words) {
  g_autofree char *line = g_strdup_printf("%s %s", orrery, words);
  g_auto(GStrv) command = g_strsplit(line, " ", -1);
  const Process found = median_of_tries(command);
  g_autofree char *memory = g_strdup_printf("%s, peak memory", what);
  bench_row(what, found.wall_s, "s");
  bench_row(memory, found.memory_mb, "MB");
  return found;
}

static guint n_rows(const char *csv) {
  g_autoptr(GError) error = NULL;
  g_autofree char *text = NULL;
  g_file_get_contents(csv, &text, NULL, &error);
  bench_check(error);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint n = 0;
  for (char **line = lines; *line; line++) n += **line && **line != '#';
  return n - 1; /* the header */
}

static void measure_runs(const char *orrery, const char *scenario, const char *db) {
  g_autofree char *folded = g_strdup_printf("run %s --fidelity folded --db %s", scenario, db);
  g_autofree char *full = g_strdup_printf("run %s --fidelity full --db %s", scenario, db);
  g_autofree char *bare = g_strdup_printf("run %s --fidelity folded --db none", scenario);
  g_autofree char *bare_full = g_strdup_printf("run %s --fidelity full --db none", scenario);
  measure("process: orrery --version", orrery, "--version");
  const Process a = measure("process: run, folded (default)", orrery, folded);
  const Process b = measure("process: run, full", orrery, full);
  bench_row("process: run, full over folded", b.wall_s / a.wall_s, "times");
  const Process c = measure("process: run, folded, nothing stored", orrery, bare);
  const Process d = measure("process: run, full, nothing stored", orrery, bare_full);
  bench_row("process: run, full over folded, nothing stored", d.wall_s / c.wall_s, "times");
}

static void measure_sets(const char *orrery, const char *set, const char *csv) {
  g_autofree char *once = g_strdup_printf("validate %s --db none", set);
  g_autofree char *one = g_strdup_printf("validate %s --rows %s --db none -j 1", set, csv);
  g_autofree char *two = g_strdup_printf("validate %s --rows %s --db none -j 2", set, csv);
  g_autofree char *what = g_strdup_printf("process: validate %s, %u rows", set, n_rows(csv));
  g_autofree char *what_two = g_strdup_printf("%s, -j 2", what);
  measure("process: validate, the ten SC21 rows", orrery, once);
  const Process a = measure(what, orrery, one), b = measure(what_two, orrery, two);
  bench_row("process: configurations a second, -j 1", n_rows(csv) / a.wall_s, "rows/s");
  bench_row("process: configurations a second, -j 2", n_rows(csv) / b.wall_s, "rows/s");
}

int main(int argc, char **argv) {
  if (argc != 6) g_error("usage: bench_process ORRERY SCENARIO DB SET ROWS.csv");
  measure_runs(argv[1], argv[2], argv[3]);
  measure_sets(argv[1], argv[4], argv[5]);
  return 0;
}

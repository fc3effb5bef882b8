/*
 * bench_process ORRERY SCENARIO DB SET ROWS.csv - whole processes, as a user runs them: wall time
 * from start to exit, processor time, and peak memory (the largest resident set). SET is a
 * validation set's name; ROWS.csv are its rows, a few times over.
 */
#include <stdarg.h>

#include "tests/bench/bench_command.h"

/* Runs the command line; prints and returns its medians. */
static BenchProcess measure(const char *orrery, const char *what, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static BenchProcess measure(const char *orrery, const char *what, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *words = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  const BenchProcess found = bench_command(orrery, words, BENCH_TRIES);
  g_autofree char *wall = g_strdup_printf("process: %s, wall time", what);
  g_autofree char *processor = g_strdup_printf("process: %s, processor", what);
  g_autofree char *memory = g_strdup_printf("process: %s, peak memory", what);
  bench_row(wall, found.wall_s, "s");
  bench_row(processor, found.processor_s, "s");
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
  measure(orrery, "orrery --version", "--version");
  const BenchProcess folded =
      measure(orrery, "run, folded", "run %s --set fidelity=folded --db %s", scenario, db);
  const BenchProcess full =
      measure(orrery, "run, full", "run %s --set fidelity=full --db %s", scenario, db);
  bench_row("process: run, full over folded", full.processor_s / folded.processor_s, "times");
  measure(orrery, "run, full, its whole time line stored",
          "run %s --set fidelity=full --spans all --db %s", scenario, db);
  const BenchProcess bare = measure(orrery, "run, folded, nothing stored",
                                    "run %s --set fidelity=folded --db none", scenario);
  const BenchProcess bare_full = measure(orrery, "run, full, nothing stored",
                                         "run %s --set fidelity=full --db none", scenario);
  bench_row("process: run, full over folded, nothing stored",
            bare_full.processor_s / bare.processor_s, "times");
}

static void measure_sets(const char *orrery, const char *set, const char *csv) {
  const guint n = n_rows(csv);
  g_autofree char *what = g_strdup_printf("validate, %u rows", n);
  g_autofree char *what_two = g_strdup_printf("validate, %u rows, two at once", n);
  measure(orrery, "validate, its own rows", "validate %s --db none", set);
  const BenchProcess one = measure(orrery, what, "validate %s --rows %s --db none -j 1", set, csv);
  const BenchProcess two =
      measure(orrery, what_two, "validate %s --rows %s --db none -j 2", set, csv);
  bench_row("process: configurations a second", n / one.wall_s, "rows/s");
  bench_row("process: configurations a second, two at once", n / two.wall_s, "rows/s");
}

int main(int argc, char **argv) {
  if (argc != 6) g_error("usage: bench_process ORRERY SCENARIO DB SET ROWS.csv");
  measure_runs(argv[1], argv[2], argv[3]);
  measure_sets(argv[1], argv[4], argv[5]);
  return 0;
}

/*
 * bench_goals ORRERY GOALS.csv FOLDER [ROW...] - whole processes against their goals: processor
 * seconds, peak memory, points of sweeps, growth. tests/bench/goals.csv lists and explains them.
 *
 * A figure is the median of five tries; where the first one took over 5 s, it is that one. FOLDER
 * takes what the rows write. Without ROWs, all are run.
 */
#include <math.h>

#include "sim/base/csv.h"
#include "tests/bench/bench_command.h"

#define LONG_S 5.0

typedef struct {
  const char *row, *what, *words, *before, *sizes;
  double goal_s, goal_mb, goal_slope, goal_rate; /* 0: none */
} Goal;

static const char *orrery, *folder;

static BenchProcess measure(const char *words) {
  const BenchProcess first = bench_command(orrery, words, 1);
  return first.processor_s > LONG_S ? first : bench_command(orrery, words, BENCH_TRIES);
}

/* @words with {folder} and {8n} filled in. Free it. */
static char *fill_in(const char *words, double size) {
  g_autoptr(GString) text = g_string_new(words);
  g_string_replace(text, "{folder}", folder, 0);
  for (char *at; (at = strchr(text->str, '{'));) {
    char *end = NULL;
    const guint64 times = at[1] == 'n' ? 1 : g_ascii_strtoull(at + 1, &end, 10);
    const gsize from = (gsize)(at - text->str), length = strcspn(at, "}") + 1;
    g_autofree char *number = g_strdup_printf("%.0f", (double)times * size);
    if (times == 0) g_error("goals.csv: neither {folder} nor {n}: %s", at);
    g_string_erase(text, (gssize)from, (gssize)length);
    g_string_insert(text, (gssize)from, number);
  }
  return g_string_free(g_steal_pointer(&text), FALSE);
}

static void goal_row(const Goal *goal, const char *suffix, double figure, const char *unit,
                     double most, double least) {
  g_autofree char *what = g_strdup_printf("goal: %s%s", goal->what, suffix);
  bench_row_goal(what, figure, unit, most, least);
}

static void measure_growth(const Goal *goal) {
  g_auto(GStrv) sizes = g_strsplit(goal->sizes, " ", -1);
  const guint n = g_strv_length(sizes);
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, x = 0, y = 0, x_before = 0, y_before = 0;
  BenchProcess last = {0};
  for (guint i = 0; i < n; i++) {
    const double size = g_ascii_strtod(sizes[i], NULL);
    g_autofree char *words = fill_in(goal->words, size);
    last = measure(words);
    x_before = x;
    y_before = y;
    x = log(size);
    y = log(last.processor_s);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  g_autofree char *range = g_strdup_printf(" %s to %s", sizes[0], sizes[n - 1]),
                  *end = g_strdup_printf(" %s to %s", sizes[n - 2], sizes[n - 1]);
  if (n > 2)
    goal_row(goal, range, (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x), "slope", 0,
             0);
  goal_row(goal, end, (y - y_before) / (x - x_before), "slope", goal->goal_slope, 0);
}

/* What `orrery WORDS --json` prints, and its processor seconds. Free it. */
static char *answer_of(const char *words, double *ret_processor_s) {
  g_autoptr(GError) error = NULL;
  g_autofree char *line = g_strdup_printf("%s %s --json", orrery, words);
  char *text = NULL;
  struct rusage before, after;
  getrusage(RUSAGE_CHILDREN, &before);
  g_spawn_command_line_sync(line, &text, NULL, NULL, &error);
  getrusage(RUSAGE_CHILDREN, &after);
  bench_check(error);
  *ret_processor_s = bench_seconds_of(after.ru_utime) + bench_seconds_of(after.ru_stime) -
                     bench_seconds_of(before.ru_utime) - bench_seconds_of(before.ru_stime);
  return text;
}

static double number_in(const char *answer, const char *name) {
  g_autofree char *key = g_strdup_printf("\"%s\":", name);
  const char *at = strstr(answer, key);
  if (!at) g_error("a sweep's --json has no %s: %s", name, answer);
  return g_ascii_strtod(at + strlen(key), NULL);
}

static void measure_sweep(const Goal *goal, const char *words) {
  double seconds[BENCH_TRIES];
  guint n = 0;
  g_autofree char *answer = answer_of(words, &seconds[n++]);
  while (n < BENCH_TRIES && seconds[0] <= LONG_S) g_free(answer_of(words, &seconds[n++]));
  const double median_s = bench_median(seconds, n);
  goal_row(goal, ", simulated points per processor second", number_in(answer, "n_ok") / median_s,
           "points", 0, goal->goal_rate);
  goal_row(goal, ", all points per processor second", number_in(answer, "n_points") / median_s,
           "points", 0, 0);
}

static void measure_one(const Goal *goal, const char *words) {
  const BenchProcess found = measure(words);
  goal_row(goal, ", processor", found.processor_s, "s", goal->goal_s, 0);
  goal_row(goal, ", peak memory", found.memory_mb, "MB", goal->goal_mb, 0);
}

static void measure_row(const Goal *goal) {
  if (*goal->before) {
    g_autofree char *before = fill_in(goal->before, 0);
    bench_command(orrery, before, 1);
  }
  if (*goal->sizes) {
    measure_growth(goal);
    return;
  }
  g_autofree char *words = fill_in(goal->words, 0);
  (g_str_has_prefix(words, "sweep ") ? measure_sweep : measure_one)(goal, words);
}

/* --- goals.csv --- */

static const char *cell(const OrrCsv *csv, const OrrCsvLine *line, const char *column) {
  const int i = orr_csv_column(csv, column);
  if (i < 0) g_error("goals.csv has no column %s", column);
  return line->cells[i];
}

static Goal goal_of(const OrrCsv *csv, const OrrCsvLine *line) {
#define NUMBER(name) g_ascii_strtod(cell(csv, line, name), NULL)
  return (Goal){.row = cell(csv, line, "row"),
                .what = cell(csv, line, "what"),
                .words = cell(csv, line, "words"),
                .before = cell(csv, line, "before"),
                .sizes = cell(csv, line, "sizes"),
                .goal_s = NUMBER("goal_s"),
                .goal_mb = NUMBER("goal_mb"),
                .goal_slope = NUMBER("goal_slope"),
                .goal_rate = NUMBER("goal_rate")};
#undef NUMBER
}

int main(int argc, char **argv) {
  if (argc < 4) g_error("usage: bench_goals ORRERY GOALS.csv FOLDER [ROW...]");
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = orr_csv_read(argv[2], diags, &error);
  if (csv) orr_diags_check(diags, &error);
  bench_check(error);
  orrery = argv[1];
  folder = argv[3];
  for (guint i = 0; i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (!line->cells) continue;
    const Goal goal = goal_of(csv, line);
    if (argc == 4 || g_strv_contains((const char *const *)argv + 4, goal.row)) measure_row(&goal);
  }
  return 0;
}

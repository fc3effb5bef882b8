/*
 * bench_table.c - the table that GenAI-Perf and AIPerf print:
 *
 *   |           Statistic      |   avg |   min |   max |   p99 |   p90 |   p75 |
 *   |  Time To First Token (ms)| 39.13 | 21.23 | 41.49 | 41.48 | 41.32 | 41.29 |
 *
 * drawn with box characters. A label can take two rows; the second has empty cells. "N/A" stands
 * for an absent value. A file can hold several tables.
 */
#include "sim/import/bench/bench.h"

enum { MOST_CELLS = 16 };

static const struct {
  const char *label; /* its begin, lower case */
  int mean, p50, p90, p99;
  double scale;
} rows[] = {
    {"time to first token", ORR_BENCH_TTFT_MEAN, ORR_BENCH_TTFT_P50, ORR_BENCH_TTFT_P90,
     ORR_BENCH_TTFT_P99, 1e-3},
    {"inter token latency", ORR_BENCH_TPOT_MEAN, ORR_BENCH_TPOT_P50, ORR_BENCH_TPOT_P90,
     ORR_BENCH_TPOT_P99, 1e-3},
    {"request latency", ORR_BENCH_E2E_MEAN, ORR_BENCH_E2E_P50, ORR_BENCH_E2E_P90, ORR_BENCH_E2E_P99,
     1e-3},
    {"output sequence length", ORR_BENCH_OUTPUT_TOKENS, -1, -1, -1, 1},
    {"input sequence length", ORR_BENCH_INPUT_TOKENS, -1, -1, -1, 1},
    {"output token throughput (", ORR_BENCH_OUTPUT_RATE, -1, -1, -1, 1},
    {"request throughput", ORR_BENCH_REQUEST_RATE, -1, -1, -1, 1},
    {"request count", ORR_BENCH_REQUESTS, -1, -1, -1, 1},
};

/* The table being read: which column holds what. */
typedef struct {
  OrrBenchResult *result; /* NULL: no table yet */
  int avg, p50, p90, p99; /* column; -1: none */
} Table;

static gboolean recognise(const OrrBenchInput *input) {
  return strstr(input->text, "Statistic") &&
         (strstr(input->text, "Inter") || strstr(input->text, "Request Latency (ms)")) &&
         (strstr(input->text, "\342\224\202") || strstr(input->text, "\342\224\203") ||
          strstr(input->text, "| Statistic") || strstr(input->text, "Statistic |"));
}

/* The cells of a row, trimmed; NULL where @line is not one. */
static char **cells_of(const char *line) {
  g_auto(GStrv) light = g_strsplit(line, "\342\224\202", -1); /* U+2502 */
  g_autofree char *once = g_strjoinv("|", light);
  g_auto(GStrv) heavy = g_strsplit(once, "\342\224\203", -1); /* U+2503 */
  g_autofree char *plain = g_strjoinv("|", heavy);
  char *inside = strchr(plain, '|');
  if (!inside) return NULL;
  char **cells = g_strsplit(inside + 1, "|", MOST_CELLS);
  for (char **cell = cells; *cell; cell++) g_strstrip(*cell);
  return cells;
}

static int column_of(char **cells, const char *name) {
  for (int i = 0; cells[i]; i++)
    if (g_ascii_strcasecmp(cells[i], name) == 0) return i;
  return -1;
}

static void begin_table(OrrBenchInput *input, Table *table, char **cells, OrrPlace place) {
  table->result = orr_bench_result_new("genai-perf", place);
  table->avg = column_of(cells, "avg");
  table->p50 = column_of(cells, "p50");
  table->p90 = column_of(cells, "p90");
  table->p99 = column_of(cells, "p99");
  g_ptr_array_add(input->results, table->result);
}

static void put(const Table *table, char **cells, int column, int value, double scale) {
  double number = 0;
  if (value < 0 || column < 0 || (guint)column >= g_strv_length(cells)) return;
  if (orr_bench_number(cells[column], &number)) table->result->values[value] = number * scale;
}

static void read_row(const Table *table, char **cells) {
  g_autofree char *label = g_ascii_strdown(cells[0], -1);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    if (!g_str_has_prefix(label, rows[i].label)) continue;
    put(table, cells, table->avg, rows[i].mean, rows[i].scale);
    put(table, cells, table->p50, rows[i].p50, rows[i].scale);
    put(table, cells, table->p90, rows[i].p90, rows[i].scale);
    put(table, cells, table->p99, rows[i].p99, rows[i].scale);
  }
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  Table table = {NULL, -1, -1, -1, -1};
  for (guint i = 0; lines[i]; i++) {
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    g_auto(GStrv) cells = cells_of(lines[i]);
    if (!cells || !cells[0]) continue;
    if (g_ascii_strcasecmp(cells[0], "Statistic") == 0)
      begin_table(input, &table, cells, place);
    else if (table.result)
      read_row(&table, cells);
  }
}

const OrrBenchReader orr_bench_table = {
    .name = "table",
    .sentence = "the table that GenAI-Perf or AIPerf prints",
    .recognise = recognise,
    .read = read,
};

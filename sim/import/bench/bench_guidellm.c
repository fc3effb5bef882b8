/*
 * bench_guidellm.c - the tables that GuideLLM prints, a line for each benchmark. Since 0.4:
 *
 *   Server Throughput Statistics
 *   | Benchmark | Requests               |||| Input Tokens || Output Tokens || Total Tokens ||
 *   | Strategy  | Per Sec   || Concurrency || Per Sec      || Per Sec       || Per Sec      ||
 *   |           | Mdn | Mean | Mdn   | Mean | Mdn   | Mean  | Mdn   | Mean   | Mdn   | Mean  |
 *   |-----------|-----|------|-------|------|-------|-------|-------|--------|-------|-------|
 *   | constant  | 1.0 | 1.0  | 0.0   | 0.4  | 50.9  | 52.4  | 3.4   | 49.7   | 127.6 | 101.1 |
 *
 * and until 0.3:
 *
 *   Metadata   | Request Stats         || Out Tok/sec| Tot Tok/sec| Req Latency (sec)||| ...
 *     Benchmark| Per Second| Concurrency|        mean|        mean| mean| median|  p99| ...
 *   -----------|-----------|------------|------------|------------|-----|-------|-----| ...
 *   synchronous|       0.24|        1.00|        62.6|       312.8| 4.09|   4.09| 4.10| ...
 *
 * A name stands over all the columns until the next one ("||" joins cells). A column is known by
 * its names from the top down, joined by '/'. 0.2 writes "(ms)" over latencies that are seconds
 * (4.09 for 256 tokens of 15.8 ms).
 *
 * Source: src/guidellm/benchmark/output.py and outputs/console.py, GuideLLM 0.2 to 0.6.
 */
#include "sim/import/bench/bench.h"

enum { MOST_CELLS = 32, MOST_HEADS = 4 };

static const struct {
  const char *column; /* a pattern of the names, in lower case */
  int value;
  double scale;
} columns[] = {
    {"*input tok*/*per req*/mdn", ORR_BENCH_INPUT_TOKENS, 1},
    {"*output tok*/per req*/mdn", ORR_BENCH_OUTPUT_TOKENS, 1},
    {"*request latency*/sec/mdn", ORR_BENCH_E2E_P50, 1},
    {"*ttft*/ms/mdn", ORR_BENCH_TTFT_P50, 1e-3},
    {"*itl*/ms/mdn", ORR_BENCH_TPOT_P50, 1e-3},
    {"*requests*/per sec/mean", ORR_BENCH_REQUEST_RATE, 1},
    {"*requests*/concurrency/mean", ORR_BENCH_IN_FLIGHT, 1},
    {"*output tokens*/per sec/mean", ORR_BENCH_OUTPUT_RATE, 1},
    {"*total tokens*/per sec/mean", ORR_BENCH_TOTAL_RATE, 1},
    {"*request stats*/per second", ORR_BENCH_REQUEST_RATE, 1},
    {"*request stats*/concurrency", ORR_BENCH_IN_FLIGHT, 1},
    {"out tok/sec/mean", ORR_BENCH_OUTPUT_RATE, 1},
    {"tot tok/sec/mean", ORR_BENCH_TOTAL_RATE, 1},
    {"req latency*/mean", ORR_BENCH_E2E_MEAN, 1},
    {"req latency*/median", ORR_BENCH_E2E_P50, 1},
    {"req latency*/p99", ORR_BENCH_E2E_P99, 1},
    {"ttft*/mean", ORR_BENCH_TTFT_MEAN, 1e-3},
    {"ttft*/median", ORR_BENCH_TTFT_P50, 1e-3},
    {"ttft*/p99", ORR_BENCH_TTFT_P99, 1e-3},
    {"itl*/mean", ORR_BENCH_TPOT_MEAN, 1e-3},
    {"itl*/median", ORR_BENCH_TPOT_P50, 1e-3},
    {"itl*/p99", ORR_BENCH_TPOT_P99, 1e-3},
};

static gboolean recognise(const OrrBenchInput *input) {
  return (strstr(input->text, "Request Latency Statistics") ||
          strstr(input->text, "Server Throughput Statistics") ||
          strstr(input->text, "Tot Tok/sec")) &&
         strchr(input->text, '|') != NULL;
}

/* The cells of @line between bars, in lower case; the bars at both ends bound no cell. */
static char **cells_of(const char *line) {
  g_autofree char *lower = g_ascii_strdown(line, -1);
  char *begin = g_strstrip(lower);
  const gsize length = strlen(begin);
  if (length && begin[length - 1] == '|') begin[length - 1] = '\0';
  if (*begin == '|') begin++;
  char **cells = g_strsplit(begin, "|", MOST_CELLS);
  for (char **cell = cells; *cell; cell++) g_strstrip(*cell);
  return cells;
}

/* "------|-----": what ends the heads of a table. */
static gboolean is_rule(const char *line) {
  return strchr(line, '|') && strchr(line, '-') && strspn(line, "|- #") == strlen(line);
}

/* The names of each column of @heads, joined: "requests/per sec/mean". */
static GPtrArray *names_of(const GPtrArray *heads, guint n_columns) {
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  for (guint k = 0; k < n_columns; k++) {
    g_autoptr(GString) name = g_string_new(NULL);
    for (guint row = 0; row < heads->len; row++) {
      char **cells = heads->pdata[row];
      guint at = MIN(k, g_strv_length(cells) - 1);
      while (at > 0 && !*cells[at]) at--; /* the name that stands over this column */
      g_string_append_printf(name, "%s%s", name->len ? "/" : "", cells[at]);
    }
    g_ptr_array_add(names, g_strdup(name->str));
  }
  return names;
}

/* What is read of a text: each table has a line for each benchmark, in one order. */
typedef struct {
  GPtrArray *heads; /* of char **: the lines since the last line without cells */
  GPtrArray *names; /* NULL: no table's lines follow */
  guint row, first; /* the line of the table; the first result of this text */
} Tables;

static void read_row(OrrBenchInput *input, const Tables *tables, char **cells, OrrPlace place) {
  const guint n = MIN(g_strv_length(cells), tables->names->len);
  OrrBenchResult *result = NULL;
  for (guint k = 1; k < n; k++)
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
      double number = 0;
      if (!g_pattern_match_simple(columns[i].column, tables->names->pdata[k]) ||
          !orr_bench_number(cells[k], &number))
        continue;
      while (input->results->len <= tables->first + tables->row)
        g_ptr_array_add(input->results, orr_bench_result_new("guidellm", place));
      result = input->results->pdata[tables->first + tables->row];
      if (isnan(result->values[columns[i].value]))
        result->values[columns[i].value] = number * columns[i].scale;
    }
  if (!result) return;
  const char *at = strchr(cells[0], '@');
  double asked = 0;
  if (g_str_has_prefix(cells[0], "synchronous")) result->values[ORR_BENCH_CONCURRENCY] = 1;
  if (g_str_has_prefix(cells[0], "throughput")) result->values[ORR_BENCH_RATE] = INFINITY;
  if (!at || !orr_bench_number(at + 1, &asked)) return;
  const gboolean is_closed = g_str_has_prefix(cells[0], "concurrent");
  result->values[is_closed ? ORR_BENCH_CONCURRENCY : ORR_BENCH_RATE] = asked;
  result->is_even = g_str_has_prefix(cells[0], "constant");
}

static void read_line(OrrBenchInput *input, Tables *tables, char *line, OrrPlace place) {
  if (*line == '#') g_strchug(memmove(line, line + 1, strlen(line))); /* pasted as a comment */
  if (is_rule(line)) {
    g_clear_pointer(&tables->names, g_ptr_array_unref);
    if (tables->heads->len)
      tables->names =
          names_of(tables->heads, g_strv_length(tables->heads->pdata[tables->heads->len - 1]));
    tables->row = 0;
  } else if (!strchr(line, '|') || strchr(line, '=')) {
    g_ptr_array_set_size(tables->heads, 0);
    g_clear_pointer(&tables->names, g_ptr_array_unref);
  } else if (tables->names) {
    g_auto(GStrv) cells = cells_of(line);
    read_row(input, tables, cells, place);
    tables->row++;
  } else if (tables->heads->len < MOST_HEADS) {
    g_ptr_array_add(tables->heads, cells_of(line));
  }
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  Tables tables = {.heads = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev),
                   .first = input->results->len};
  for (guint i = 0; lines[i]; i++)
    read_line(input, &tables, g_strstrip(lines[i]),
              (OrrPlace){.file = input->file, .line = (int)i + 1, .column = 1});
  g_ptr_array_unref(tables.heads);
  g_clear_pointer(&tables.names, g_ptr_array_unref);
  for (guint i = tables.first; i < input->results->len; i++) {
    const OrrBenchResult *result = input->results->pdata[i];
    if (isnan(result->values[ORR_BENCH_REQUEST_RATE]) && isnan(result->values[ORR_BENCH_TTFT_P50]))
      orr_diags_error(input->diags, result->place,
                      "a benchmark without its rate and its latencies: give both of GuideLLM's "
                      "tables of statistics");
  }
}

const OrrBenchReader orr_bench_guidellm = {
    .name = "guidellm",
    .sentence = "the tables that GuideLLM prints",
    .recognise = recognise,
    .read = read,
};

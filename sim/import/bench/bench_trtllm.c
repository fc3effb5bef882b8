/*
 * bench_trtllm.c - the report that trtllm-bench prints:
 *
 *   = REQUEST DETAILS
 *   Number of requests:             3000
 *   Average Input Length (tokens):  128.0000
 *   = PERFORMANCE OVERVIEW
 *   Total Output Throughput (tokens/sec):             14364.3537
 *
 * "Number of concurrent requests" is a mean that it measured, not a limit, and is left out. Reports
 * are often pasted without their first sections: then requests and lengths are not known. Releases
 * since 0.20 (2025) print percentiles, "[TTFT] P50    : 49000.0000", and at the end the data set:
 *
 *   Number of Sequences:  3000
 *           Input              Output           Seq. Length
 *   AVG:   128.0000           128.0000          256.0000
 */
#include "sim/import/bench/bench.h"

static const struct {
  const char *label;
  OrrBenchValue value;
  double scale;
} labels[] = {
    {"number of requests", ORR_BENCH_REQUESTS, 1},
    {"number of sequences", ORR_BENCH_REQUESTS, 1},
    {"average input length (tokens)", ORR_BENCH_INPUT_TOKENS, 1},
    {"average output length (tokens)", ORR_BENCH_OUTPUT_TOKENS, 1},
    {"request throughput (req/sec)", ORR_BENCH_REQUEST_RATE, 1},
    {"total output throughput (tokens/sec)", ORR_BENCH_OUTPUT_RATE, 1},
    {"token throughput (tokens/sec)", ORR_BENCH_OUTPUT_RATE, 1},
    {"total token throughput (tokens/sec)", ORR_BENCH_TOTAL_RATE, 1},
    {"total latency (ms)", ORR_BENCH_DURATION, 1e-3},
    {"total latency (seconds)", ORR_BENCH_DURATION, 1},
    {"average request latency (ms)", ORR_BENCH_E2E_MEAN, 1e-3},
    {"average time-to-first-token [ttft] (ms)", ORR_BENCH_TTFT_MEAN, 1e-3},
    {"average time-per-output-token [tpot] (ms)", ORR_BENCH_TPOT_MEAN, 1e-3},
    {"[ttft] p50", ORR_BENCH_TTFT_P50, 1e-3},
    {"[ttft] p90", ORR_BENCH_TTFT_P90, 1e-3},
    {"[ttft] p99", ORR_BENCH_TTFT_P99, 1e-3},
    {"[tpot] p50", ORR_BENCH_TPOT_P50, 1e-3},
    {"[tpot] p90", ORR_BENCH_TPOT_P90, 1e-3},
    {"[tpot] p99", ORR_BENCH_TPOT_P99, 1e-3},
    {"[latency] p50", ORR_BENCH_E2E_P50, 1e-3},
    {"[latency] p90", ORR_BENCH_E2E_P90, 1e-3},
    {"[latency] p99", ORR_BENCH_E2E_P99, 1e-3},
};

static gboolean recognise(const OrrBenchInput *input) {
  return (strstr(input->text, "PERFORMANCE OVERVIEW") && strstr(input->text, "(tokens/sec)")) ||
         (strstr(input->text, "Request Throughput (req/sec):") &&
          strstr(input->text, "oken Throughput (tokens/sec):"));
}

static void put(OrrBenchInput *input, OrrBenchResult *result, guint label, const char *text,
                OrrPlace place) {
  double number = 0;
  if (orr_bench_number(text, &number))
    result->values[labels[label].value] = number * labels[label].scale;
  else
    orr_diags_error(input->diags, place, "'%s' is not a number: '%s'", labels[label].label, text);
}

/* "AVG: 128.0 128.0 256.0": mean lengths of prompts and outputs. */
static void read_lengths(OrrBenchResult *result, const char *text) {
  char *end = NULL;
  const double input = g_ascii_strtod(text, &end);
  const double output = *end ? g_ascii_strtod(end, &end) : 0;
  if (!(input > 0) || !(output > 0) || !isfinite(input) || !isfinite(output)) return;
  result->values[ORR_BENCH_INPUT_TOKENS] = input;
  result->values[ORR_BENCH_OUTPUT_TOKENS] = output;
}

static void read_line(OrrBenchInput *input, OrrBenchResult *result, char *line, OrrPlace place) {
  char *colon = strchr(line, ':');
  if (!colon) return;
  *colon = '\0';
  g_autofree char *label = g_ascii_strdown(g_strstrip(line), -1);
  char *text = g_strstrip(colon + 1);
  for (guint i = 0; i < G_N_ELEMENTS(labels); i++)
    if (strcmp(label, labels[i].label) == 0) put(input, result, i, text, place);
  if (strcmp(label, "avg") == 0) read_lengths(result, text);
  if (strcmp(label, "model") == 0 && !result->model) result->model = g_strdup(text);
  if (strcmp(label, "tensorrt-llm version") == 0 && !result->version)
    result->version = g_strdup(text);
}

static gboolean is_empty(const OrrBenchResult *result) {
  for (int i = 0; i < ORR_BENCH_N_VALUES; i++)
    if (!isnan(result->values[i])) return FALSE;
  return TRUE;
}

/* Whether @line begins another report than @result's: its first section, or an overview where the
 * result has one. */
static gboolean begins_report(const OrrBenchResult *result, const char *line) {
  const gboolean has_rates = result && !isnan(result->values[ORR_BENCH_OUTPUT_RATE]) &&
                             !isnan(result->values[ORR_BENCH_REQUEST_RATE]);
  return g_str_has_suffix(line, " BACKEND") ||
         (has_rates && (strstr(line, "PERFORMANCE OVERVIEW") ||
                        g_str_has_prefix(line, "Request Throughput (req/sec):")));
}

/* A report ends where the next begins. */
static void end_report(OrrBenchInput *input, OrrBenchResult *result) {
  if (!result) return;
  if (is_empty(result)) { /* lines in front of the first */
    orr_bench_result_free(result);
    return;
  }
  if (isnan(result->values[ORR_BENCH_OUTPUT_RATE])) {
    orr_diags_error(input->diags, result->place,
                    "the report has no 'Total Output Throughput': it is cut off");
    orr_bench_result_free(result);
    return;
  }
  g_ptr_array_add(input->results, result);
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  OrrBenchResult *result = NULL;
  for (guint i = 0; lines[i]; i++) {
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    char *line = g_strstrip(lines[i]);
    if (begins_report(result, line)) end_report(input, g_steal_pointer(&result));
    if (!result) result = orr_bench_result_new("trtllm-bench", place);
    read_line(input, result, line, place);
  }
  end_report(input, result);
}

const OrrBenchReader orr_bench_trtllm = {
    .name = "trtllm",
    .sentence = "the report that trtllm-bench prints",
    .recognise = recognise,
    .read = read,
};

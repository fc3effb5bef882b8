/*
 * bench_loadgen.c - the summary that MLPerf inference's LoadGen writes, mlperf_log_summary.txt:
 *
 *   MLPerf Results Summary
 *   Scenario : Server
 *   Completed samples per second    : 70.12
 *   Completed tokens per second: 20345.67
 *   Mean First Token latency (ns)   : 412000000
 *   99.00 percentile time to output token (ns)   : 150000000
 *
 * A sample is a request. Offline and SingleStream have "Samples per second"; latencies of Offline
 * count from the start of the run.
 *
 * Source: loadgen/results.cc of mlcommons/inference, 4.0 to 5.1.
 */
#include "sim/import/bench/bench.h"

static const struct {
  const char *label;
  OrrBenchValue value;
  double scale;
} labels[] = {
    {"samples per second", ORR_BENCH_REQUEST_RATE, 1},
    {"completed samples per second", ORR_BENCH_REQUEST_RATE, 1},
    {"scheduled samples per second", ORR_BENCH_RATE, 1},
    {"tokens per second", ORR_BENCH_OUTPUT_RATE, 1},
    {"completed tokens per second", ORR_BENCH_OUTPUT_RATE, 1},
    {"mean latency (ns)", ORR_BENCH_E2E_MEAN, 1e-9},
    {"50.00 percentile latency (ns)", ORR_BENCH_E2E_P50, 1e-9},
    {"90.00 percentile latency (ns)", ORR_BENCH_E2E_P90, 1e-9},
    {"99.00 percentile latency (ns)", ORR_BENCH_E2E_P99, 1e-9},
    {"mean first token latency (ns)", ORR_BENCH_TTFT_MEAN, 1e-9},
    {"50.00 percentile first token latency (ns)", ORR_BENCH_TTFT_P50, 1e-9},
    {"90.00 percentile first token latency (ns)", ORR_BENCH_TTFT_P90, 1e-9},
    {"99.00 percentile first token latency (ns)", ORR_BENCH_TTFT_P99, 1e-9},
    {"mean time to output token (ns)", ORR_BENCH_TPOT_MEAN, 1e-9},
    {"50.00 percentile time to output token (ns)", ORR_BENCH_TPOT_P50, 1e-9},
    {"90.00 percentile time to output token (ns)", ORR_BENCH_TPOT_P90, 1e-9},
    {"99.00 percentile time to output token (ns)", ORR_BENCH_TPOT_P99, 1e-9},
};

static const char begin[] = "MLPerf Results Summary";

static gboolean recognise(const OrrBenchInput *input) { return strstr(input->text, begin) != NULL; }

static void read_line(OrrBenchInput *input, OrrBenchResult *result, char *line, OrrPlace place) {
  char *colon = strrchr(line, ':');
  double number = 0;
  if (!colon) return;
  *colon = '\0';
  g_autofree char *label = g_ascii_strdown(g_strstrip(line), -1);
  const char *text = g_strstrip(colon + 1);
  for (guint i = 0; i < G_N_ELEMENTS(labels); i++) {
    if (strcmp(label, labels[i].label) != 0) continue;
    if (orr_bench_number(text, &number))
      result->values[labels[i].value] = number * labels[i].scale;
    else
      orr_diags_error(input->diags, place, "'%s' is not a number: '%s'", labels[i].label, text);
  }
}

static void end(OrrBenchInput *input, OrrBenchResult *result) {
  if (!result) return;
  if (!isnan(result->values[ORR_BENCH_REQUEST_RATE]))
    return g_ptr_array_add(input->results, result);
  orr_diags_error(input->diags, result->place, "the summary has no samples per second");
  orr_bench_result_free(result);
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  OrrBenchResult *result = NULL;
  for (guint i = 0; lines[i]; i++) {
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    if (strstr(lines[i], begin)) {
      end(input, result);
      result = orr_bench_result_new("mlperf-loadgen", place);
    } else if (result) {
      read_line(input, result, lines[i], place);
    }
  }
  end(input, result);
}

const OrrBenchReader orr_bench_loadgen = {
    .name = "loadgen",
    .sentence = "the summary of MLPerf inference's LoadGen",
    .recognise = recognise,
    .read = read,
};

/*
 * bench_offline.c - what `vllm bench throughput` and `vllm bench latency` print, which run the
 * engine themselves:
 *
 *   Processed prompts: 100%|####| 1000/1000 [00:43<00:00, 23.11it/s, est. speed ...]
 *   Throughput: 22.97 requests/s, 26461.44 total tokens/s, 2940.16 output tokens/s
 *   Total num prompt tokens:  1024000
 *   Total num output tokens:  128000
 *
 *   Avg latency: 1.234 seconds
 *   50% percentile latency: 1.230 seconds
 *
 * and what SGLang's bench_one_batch prints, whose first block warms up:
 *
 *   Benchmark ...
 *   Prefill. latency: 0.10330 s, throughput:   9912.90 token/s
 *   Decode.  median latency: 0.01200 s, median throughput:     83.33 token/s
 *
 * A throughput run offers all requests at once. Releases before 0.6.4 print one rate of tokens,
 * "20926.37 tokens/s" of prompts and outputs together, and no totals.
 *
 * Source: vllm/benchmarks/throughput.py and latency.py, vLLM 0.2 to 0.19;
 * python/sglang/bench_one_batch.py of SGLang 0.4 to 0.5.
 */
#include "sim/import/bench/bench.h"

/* "Throughput: " and the rates behind it, each by the word after its number. */
static const struct {
  const char *unit;
  OrrBenchValue value;
} rates[] = {{" requests/s", ORR_BENCH_REQUEST_RATE},
             {" total tokens/s", ORR_BENCH_TOTAL_RATE},
             {" output tokens/s", ORR_BENCH_OUTPUT_RATE},
             {" tokens/s", ORR_BENCH_TOTAL_RATE}};

static const struct {
  const char *label;
  OrrBenchValue value;
} latencies[] = {{"Avg latency: ", ORR_BENCH_E2E_MEAN},
                 {"50% percentile latency: ", ORR_BENCH_E2E_P50},
                 {"90% percentile latency: ", ORR_BENCH_E2E_P90},
                 {"99% percentile latency: ", ORR_BENCH_E2E_P99}};

/* The current run. */
typedef struct {
  OrrBenchResult *result; /* NULL: none has begun */
  double prompts;         /* of its progress bar; NaN: not seen */
  double total_input, total_output;
} Run;

static const char prefill_label[] = "Prefill. latency:",
                  decode_label[] = "Decode.  median latency:";

static gboolean recognise(const OrrBenchInput *input) {
  const char *throughput = strstr(input->text, "Throughput: ");
  return (throughput && strstr(throughput, " requests/s")) ||
         strstr(input->text, "Avg latency: ") ||
         (strstr(input->text, prefill_label) && strstr(input->text, decode_label));
}

/* The number that begins @text; FALSE: none does. */
static gboolean number_before(const char *text, const char *unit, double *ret_value) {
  char *end = NULL;
  *ret_value = g_ascii_strtod(text, &end);
  return end > text && isfinite(*ret_value) && g_str_has_prefix(end, unit);
}

/* Its requests: the progress bar's, else of the totals and the rates, where these are exact enough
 * to tell one number from the next. */
static double requests_of(const Run *run) {
  const double *values = run->result->values;
  const double rate = values[ORR_BENCH_REQUEST_RATE], tokens = values[ORR_BENCH_OUTPUT_RATE];
  const double requests = run->total_output * rate / tokens;
  const double uncertain = requests * (0.005 / rate + 0.005 / tokens); /* two printed decimals */
  if (!isnan(run->prompts)) return run->prompts;
  return uncertain < 0.5 ? round(requests) : NAN;
}

static void end_run(OrrBenchInput *input, Run *run) {
  OrrBenchResult *result = run->result;
  if (!result) return;
  double *values = result->values;
  if (isnan(values[ORR_BENCH_E2E_MEAN]) && isnan(values[ORR_BENCH_TTFT_MEAN])) { /* throughput */
    const double requests = requests_of(run);
    values[ORR_BENCH_RATE] = INFINITY;
    values[ORR_BENCH_REQUESTS] = requests;
    values[ORR_BENCH_DURATION] = requests / values[ORR_BENCH_REQUEST_RATE];
    values[ORR_BENCH_INPUT_TOKENS] = run->total_input / requests;
    values[ORR_BENCH_OUTPUT_TOKENS] = run->total_output / requests;
  }
  g_ptr_array_add(input->results, result);
  *run = (Run){NULL, NAN, NAN, NAN};
}

static void read_rates(OrrBenchResult *result, const char *text) {
  g_auto(GStrv) parts = g_strsplit(text, ", ", -1);
  for (char **part = parts; *part; part++)
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
      double number = 0;
      if (number_before(g_strstrip(*part), rates[i].unit, &number))
        result->values[rates[i].value] = number;
    }
}

static OrrBenchResult *begin(OrrBenchInput *input, Run *run, OrrPlace place) {
  const double prompts = run->prompts;
  end_run(input, run);
  run->result = orr_bench_result_new("vllm", place);
  run->prompts = prompts;
  return run->result;
}

static void read_latency(OrrBenchInput *input, Run *run, const char *line, OrrPlace place) {
  for (guint i = 0; i < G_N_ELEMENTS(latencies); i++) {
    double number = 0;
    if (!g_str_has_prefix(line, latencies[i].label) ||
        !number_before(line + strlen(latencies[i].label), " seconds", &number))
      continue;
    OrrBenchResult *result = i == 0 || !run->result ? begin(input, run, place) : run->result;
    result->values[latencies[i].value] = number;
  }
}

/* bench_one_batch: a prefill and the decode steps after it. */
static void read_batch(OrrBenchInput *input, Run *run, const char *line, OrrPlace place) {
  const gboolean is_prefill = g_str_has_prefix(line, prefill_label);
  const char *text = line + strlen(is_prefill ? prefill_label : decode_label);
  double number = 0;
  if (!number_before(text, " s,", &number)) return;
  if (is_prefill) begin(input, run, place)->tool = "sglang";
  if (run->result)
    run->result->values[is_prefill ? ORR_BENCH_TTFT_MEAN : ORR_BENCH_TPOT_P50] = number;
}

/* "1000/1000 [": the bar that has reached its end. */
static void read_progress(Run *run, const char *line) {
  const char *bar = strrchr(line, '|');
  double done = 0, all = 0;
  char *end = NULL;
  if (!bar) return;
  done = g_ascii_strtod(bar + 1, &end);
  if (*end == '/' && number_before(end + 1, " [", &all) && done == all) run->prompts = all;
}

static void drop_warm_up(Run *run) {
  orr_bench_result_free(run->result);
  *run = (Run){NULL, NAN, NAN, NAN};
}

static void read_line(OrrBenchInput *input, Run *run, const char *line, OrrPlace place) {
  static const char input_total[] = "Total num prompt tokens:",
                    output_total[] = "Total num output tokens:";
  const char *throughput = strstr(line, "Throughput: ");
  if (strstr(line, "Processed prompts:"))
    read_progress(run, line);
  else if (g_str_has_prefix(line, prefill_label) || g_str_has_prefix(line, decode_label))
    read_batch(input, run, line, place);
  else if (g_str_has_prefix(line, "Benchmark ...") && run->result)
    drop_warm_up(run);
  else if (throughput)
    read_rates(begin(input, run, place), throughput + strlen("Throughput: "));
  else if (run->result && g_str_has_prefix(line, input_total))
    orr_bench_number(line + strlen(input_total), &run->total_input);
  else if (run->result && g_str_has_prefix(line, output_total))
    orr_bench_number(line + strlen(output_total), &run->total_output);
  else
    read_latency(input, run, line, place);
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  Run run = {NULL, NAN, NAN, NAN};
  for (guint i = 0; lines[i]; i++) {
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    g_auto(GStrv) parts = g_strsplit(lines[i], "\r", -1); /* a bar is drawn over itself */
    for (char **part = parts; *part; part++) read_line(input, &run, g_strstrip(*part), place);
  }
  end_run(input, &run);
}

const OrrBenchReader orr_bench_offline = {
    .name = "offline",
    .sentence =
        "the text that vllm bench throughput or latency, or SGLang's bench_one_batch, prints",
    .recognise = recognise,
    .read = read,
};

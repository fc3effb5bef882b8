/*
 * bench_labels.c - the block that vLLM's and SGLang's benchmarks print, SGLang's also of a run
 * without a server ("Offline Throughput Benchmark Result", all requests at once):
 *
 *   ============ Serving Benchmark Result ============
 *   Successful requests:                     10
 *   Mean TTFT (ms):                          131.61
 *   ==================================================
 *
 * Labels differ by version ("Max request concurrency", "Maximum request concurrency", "Max reqeuest
 * concurrency"); unknown ones are skipped. A file can hold several blocks among other lines.
 *
 * Google's clients print blocks of their own: JetStream's has no head and its units behind the
 * numbers ("Mean TTFT: 1274.09 ms"), inference-benchmark's counts by the minute:
 *
 *   ====Result for Model: deepseek-ai/DeepSeek-R1====
 *   Successful/total requests: 120/120
 *   Requests/min: 62.30
 *
 * Source: benchmarks/benchmark_serving.py of AI-Hypercomputer/JetStream; benchmark_serving.py of
 * AI-Hypercomputer/inference-benchmark.
 */
#include "sim/import/bench/bench.h"

enum { TOTAL_INPUT = ORR_BENCH_N_VALUES, TOTAL_OUTPUT, MODEL };

static const struct {
  const char *label;
  int value; /* OrrBenchValue, or one of those above */
  double scale;
} labels[] = {
    {"traffic request rate", ORR_BENCH_RATE, 1},
    {"request rate configured (rps)", ORR_BENCH_RATE, 1},
    {"max request concurrency", ORR_BENCH_CONCURRENCY, 1},
    {"max reqeuest concurrency", ORR_BENCH_CONCURRENCY, 1},
    {"maximum request concurrency", ORR_BENCH_CONCURRENCY, 1},
    {"successful requests", ORR_BENCH_REQUESTS, 1},
    {"failed requests", ORR_BENCH_FAILED, 1},
    {"benchmark duration (s)", ORR_BENCH_DURATION, 1},
    {"total input tokens", TOTAL_INPUT, 1},
    {"total generated tokens", TOTAL_OUTPUT, 1},
    {"total output tokens", TOTAL_OUTPUT, 1},
    {"request throughput (req/s)", ORR_BENCH_REQUEST_RATE, 1},
    {"output token throughput (tok/s)", ORR_BENCH_OUTPUT_RATE, 1},
    {"total token throughput (tok/s)", ORR_BENCH_TOTAL_RATE, 1},
    {"total throughput (tok/s)", ORR_BENCH_TOTAL_RATE, 1},
    {"mean ttft (ms)", ORR_BENCH_TTFT_MEAN, 1e-3},
    {"median ttft (ms)", ORR_BENCH_TTFT_P50, 1e-3},
    {"p90 ttft (ms)", ORR_BENCH_TTFT_P90, 1e-3},
    {"p99 ttft (ms)", ORR_BENCH_TTFT_P99, 1e-3},
    {"mean tpot (ms)", ORR_BENCH_TPOT_MEAN, 1e-3},
    {"median tpot (ms)", ORR_BENCH_TPOT_P50, 1e-3},
    {"p90 tpot (ms)", ORR_BENCH_TPOT_P90, 1e-3},
    {"p99 tpot (ms)", ORR_BENCH_TPOT_P99, 1e-3},
    {"mean itl (ms)", ORR_BENCH_ITL_MEAN, 1e-3},
    {"median itl (ms)", ORR_BENCH_ITL_P50, 1e-3},
    {"p99 itl (ms)", ORR_BENCH_ITL_P99, 1e-3},
    {"mean e2e latency (ms)", ORR_BENCH_E2E_MEAN, 1e-3},
    {"median e2e latency (ms)", ORR_BENCH_E2E_P50, 1e-3},
    {"p99 e2e latency (ms)", ORR_BENCH_E2E_P99, 1e-3},
    {"mean e2el (ms)", ORR_BENCH_E2E_MEAN, 1e-3},
    {"median e2el (ms)", ORR_BENCH_E2E_P50, 1e-3},
    {"p99 e2el (ms)", ORR_BENCH_E2E_P99, 1e-3},
    {"successful/total requests", ORR_BENCH_REQUESTS, 1},
    {"total time (s)", ORR_BENCH_DURATION, 1},
    {"requests/min", ORR_BENCH_REQUEST_RATE, 1.0 / 60},
    {"output_tokens/min", ORR_BENCH_OUTPUT_RATE, 1.0 / 60},
    {"tokens/min", ORR_BENCH_TOTAL_RATE, 1.0 / 60},
    {"average time to first token (s)", ORR_BENCH_TTFT_MEAN, 1},
    {"average inter-token latency (s)", ORR_BENCH_ITL_MEAN, 1},
    {"average time per output token (s)", ORR_BENCH_TPOT_MEAN, 1},
    {"average milliseconds/request (includes waiting time on server)", ORR_BENCH_E2E_MEAN, 1e-3},
    {"average input length", ORR_BENCH_INPUT_TOKENS, 1},
    {"average output length", ORR_BENCH_OUTPUT_TOKENS, 1},
};

/* Units behind a number, and as they stand in the labels. */
static const char *const units[][2] = {
    {" ms", " (ms)"}, {" s", " (s)"}, {" requests/s", " (req/s)"}, {" tokens/s", " (tok/s)"}};

static const char serving[] = "Serving Benchmark Result",
                  offline[] = "Offline Throughput Benchmark Result",
                  by_minute[] = "====Result for Model: ", per_minute[] = "Requests/min: ",
                  jetstream[] = "Mean TTFT: ";

static gboolean recognise(const OrrBenchInput *input) {
  return strstr(input->text, serving) || strstr(input->text, offline) ||
         strstr(input->text, by_minute) || strstr(input->text, per_minute) ||
         (strstr(input->text, jetstream) && strstr(input->text, "Successful requests: "));
}

/* The current block. */
typedef struct {
  OrrBenchResult *result; /* NULL: outside of a block */
  double total_input, total_output;
} Block;

static void end_block(OrrBenchInput *input, Block *block) {
  OrrBenchResult *result = g_steal_pointer(&block->result);
  if (!result) return;
  const double requests = result->values[ORR_BENCH_REQUESTS];
  if (requests > 0 && !isnan(block->total_input)) {
    result->values[ORR_BENCH_INPUT_TOKENS] = block->total_input / requests;
    result->values[ORR_BENCH_OUTPUT_TOKENS] = block->total_output / requests;
  }
  if (isnan(requests)) {
    orr_diags_error(input->diags, result->place,
                    "the block has no 'Successful requests': it is cut off, or a template");
    orr_bench_result_free(result);
    return;
  }
  g_ptr_array_add(input->results, result);
}

/* "27.44   <====", "120/120": a number that somebody marked, or the first of two. */
static gboolean marked_number(const char *text, double *ret_value) {
  const gsize length = strspn(text, "0123456789.,");
  const char *rest = text + length + strspn(text + length, " ");
  g_autofree char *number = g_strndup(text, length);
  return *rest && strchr("</#", *rest) && orr_bench_number(number, ret_value);
}

static void put(OrrBenchInput *input, Block *block, guint label, const char *text, OrrPlace place) {
  double number = 0;
  const int value = labels[label].value;
  const gboolean is_burst = value == ORR_BENCH_RATE && g_ascii_strcasecmp(text, "inf") == 0;
  if (is_burst) {
    block->result->values[value] = INFINITY;
  } else if (g_ascii_strcasecmp(text, "none") == 0 || g_ascii_strcasecmp(text, "not set") == 0 ||
             g_ascii_strcasecmp(text, "nan") == 0) {
    return;
  } else if (!orr_bench_number(text, &number) && !marked_number(text, &number)) {
    orr_diags_error(input->diags, place, "'%s' is not a number: '%s'", labels[label].label, text);
  } else if (value == TOTAL_INPUT) {
    block->total_input = number;
  } else if (value == TOTAL_OUTPUT) {
    block->total_output = number;
  } else {
    block->result->values[value] = number == 0 ? 0 : number * labels[label].scale; /* no -0 */
  }
}

static void read_line(OrrBenchInput *input, Block *block, char *line, OrrPlace place) {
  char *colon = strrchr(line, ':');
  if (!colon) return;
  *colon = '\0';
  g_autofree char *name = g_ascii_strdown(g_strstrip(line), -1);
  char *text = g_strstrip(colon + 1);
  const char *unit = "";
  for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
    if (!g_str_has_suffix(text, units[i][0]) || strchr(name, '(')) continue;
    unit = units[i][1];
    text[strlen(text) - strlen(units[i][0])] = '\0';
    break;
  }
  g_autofree char *label = g_strconcat(name, unit, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(labels); i++)
    if (strcmp(label, labels[i].label) == 0) put(input, block, i, text, place);
  if ((strcmp(label, "model") == 0 || strcmp(label, "model id") == 0) && !block->result->model)
    block->result->model = g_strdup(text);
  if (strcmp(label, "backend") == 0 && g_str_has_prefix(text, "sglang"))
    block->result->tool = "sglang";
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  Block block = {NULL, NAN, NAN};
  const gboolean is_jetstream = !strstr(input->text, serving) && !strstr(input->text, offline) &&
                                !strstr(input->text, by_minute) && !strstr(input->text, per_minute);
  for (guint i = 0; lines[i]; i++) {
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    char *line = g_strstrip(lines[i]);
    const gboolean is_bare = is_jetstream && g_str_has_prefix(line, "Successful requests:");
    const gboolean is_google = g_str_has_prefix(line, by_minute);
    const gboolean is_old = g_str_has_prefix(line, "Total time: ") &&
                            strstr(input->text, per_minute) &&
                            (!block.result || !isnan(block.result->values[ORR_BENCH_DURATION]));
    if (is_bare || is_google || is_old) {
      end_block(input, &block);
      block = (Block){orr_bench_result_new("inference-benchmark", place), NAN, NAN};
      if (is_bare) block.result->tool = "jetstream";
    }
    if (is_google) {
      block.result->model = g_strdup(line + strlen(by_minute));
      g_strdelimit(block.result->model, "=", ' ');
      g_strstrip(block.result->model);
    } else if (strstr(line, serving) || strstr(line, offline)) {
      end_block(input, &block);
      block = (Block){orr_bench_result_new("serving-benchmark", place), NAN, NAN};
      if (strstr(line, offline)) block.result->values[ORR_BENCH_RATE] = INFINITY;
    } else if (block.result && strlen(line) > 20 && strspn(line, "=") == strlen(line)) {
      end_block(input, &block);
    } else if (block.result) {
      read_line(input, &block, line, place);
    }
  }
  end_block(input, &block);
}

const OrrBenchReader orr_bench_labels = {
    .name = "labels",
    .sentence = "the text that vllm bench serve or sglang.bench_serving prints",
    .recognise = recognise,
    .read = read,
};

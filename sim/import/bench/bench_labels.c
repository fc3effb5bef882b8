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

enum { TOTAL_INPUT = ORR_BENCH_N_VALUES, TOTAL_OUTPUT };

static const GArray *labels(void) {
  static const char *const totals[] = {"all_input_tokens", "all_output_tokens", NULL};
  static GArray *all = NULL;
  if (!all) all = orr_bench_keys("bench_labels", totals);
  return all;
}

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

static void put(OrrBenchInput *input, Block *block, const OrrBenchKey *label, const char *text,
                OrrPlace place) {
  double number = 0;
  const int value = label->value;
  const gboolean is_burst = value == ORR_BENCH_RATE && g_ascii_strcasecmp(text, "inf") == 0;
  if (is_burst) {
    block->result->values[value] = INFINITY;
  } else if (g_ascii_strcasecmp(text, "none") == 0 || g_ascii_strcasecmp(text, "not set") == 0 ||
             g_ascii_strcasecmp(text, "nan") == 0) {
    return;
  } else if (!orr_bench_number(text, &number) && !marked_number(text, &number)) {
    orr_diags_error(input->diags, place, "'%s' is not a number: '%s'", label->key, text);
  } else if (value == TOTAL_INPUT) {
    block->total_input = number;
  } else if (value == TOTAL_OUTPUT) {
    block->total_output = number;
  } else {
    block->result->values[value] = number == 0 ? 0 : number * label->scale; /* no -0 */
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
  ORR_EACH(const OrrBenchKey, known, labels())
    if (strcmp(label, known->key) == 0) put(input, block, known, text, place);
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

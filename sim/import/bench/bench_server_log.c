/*
 * bench_server_log.c - what a serving engine logs by itself: the size of its cache, and its speed
 * every few seconds.
 *
 *   vLLM          GPU KV cache size: 1,234,560 tokens
 *                 Available KV cache memory: 53.97 GiB
 *                 # GPU blocks: 27906, # CPU blocks: 2048           (until 0.7; 16 tokens a block)
 *                 Engine 000: Avg prompt throughput: 4.3 tokens/s, Avg generation throughput:
 *                 27.3 tokens/s, Running: 5 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, ...
 *   SGLang        KV Cache is allocated. #tokens: 441234, K size: 26.9 GB, V size: 26.9 GB
 *                 max_total_num_tokens=441234, chunked_prefill_size=8192, ...
 *                 Decode batch. #running-req: 12, #token: 4567, ..., gen throughput (token/s):
 *                 512.3
 *   TensorRT-LLM  [I] Allocated 53.97 GiB for max tokens in paged KV cache (442112).
 *                 Allocate 69524783104 bytes for k/v cache.             (until 0.8)
 *                 Using 132608 tokens in paged KV cache.
 *
 * Rates are medians over the lines in which requests run, without the first of them, and add up
 * over engines ("Engine 001", SGLang's DP1) of data parallelism. SGLang's rate counts from the last
 * decode batch: after a prefill into an idle engine it has the idle time in it, and is left out
 * where a busy one is there. Each rank logs the size of its own cache; the first counts.
 *
 * Sources: vllm/v1/core/kv_cache_utils.py, vllm/v1/metrics/loggers.py, vLLM 0.4 to 0.19;
 * sglang/srt/managers/scheduler.py and mem_cache/memory_pool.py, SGLang 0.4 to 0.5; TensorRT-LLM
 * 0.9 to 1.1.
 */
#include "sim/import/bench/bench.h"

enum { OLD_BLOCK = 16 }; /* tokens; vLLM's default until it logged tokens */

/* A label with its number behind it. */
static const struct {
  const char *label;
  int value;    /* OrrBenchValue */
  double scale; /* to SI */
} sizes[] = {
    {"GPU KV cache size: ", ORR_BENCH_CACHE_TOKENS, 1},
    {"# GPU blocks: ", ORR_BENCH_CACHE_TOKENS, OLD_BLOCK},
    {"KV Cache is allocated. #tokens: ", ORR_BENCH_CACHE_TOKENS, 1},
    {"max_total_num_tokens=", ORR_BENCH_CACHE_TOKENS, 1},
    {"for max tokens in paged KV cache (", ORR_BENCH_CACHE_TOKENS, 1},
    {"Using ", ORR_BENCH_CACHE_TOKENS, 1},
    {"Available KV cache memory: ", ORR_BENCH_CACHE_BYTES, 1073741824},
    {"Current kv cache memory in use is ", ORR_BENCH_CACHE_BYTES, 1073741824},
    {"Allocated ", ORR_BENCH_CACHE_BYTES, 1073741824},
    {"Allocate ", ORR_BENCH_CACHE_BYTES, 1},
};

/* A second text that a line must contain where its label also occurs in other lines. */
static const char *const beside[][2] = {{"Using ", "tokens in paged KV cache"},
                                        {"Allocated ", "paged KV"},
                                        {"Allocate ", "bytes for k/v cache"}};

static const char vllm_speed[] = "Avg generation throughput: ";

/* "Maximum concurrency for 32,768 tokens per request: 29.06x": the cache holds the product. */
static const char vllm_most[] = "Maximum concurrency for ";

static const char *tool_of(const char *text) {
  if (strstr(text, vllm_speed) || strstr(text, sizes[0].label) || strstr(text, "# GPU blocks: ") ||
      strstr(text, "Available KV cache memory: ") || strstr(text, vllm_most))
    return "vllm";
  if (strstr(text, "gen throughput (token/s)") ||
      strstr(text, "KV Cache is allocated. #tokens: ") || strstr(text, "max_total_num_tokens="))
    return "sglang";
  if (strstr(text, "Prefill batch") && strstr(text, "#new-seq: ")) return "sglang";
  return strstr(text, "tokens in paged KV cache") || strstr(text, "bytes for k/v cache") ? "trtllm"
                                                                                         : NULL;
}

static gboolean recognise(const OrrBenchInput *input) { return tool_of(input->text) != NULL; }

static gboolean is_other(const char *label, const char *line) {
  for (guint i = 0; i < G_N_ELEMENTS(beside); i++)
    if (strcmp(label, beside[i][0]) == 0) return !strstr(line, beside[i][1]);
  return FALSE;
}

static void read_most(OrrBenchResult *result, const char *line) {
  double tokens = 0, requests = 0;
  if (isnan(result->values[ORR_BENCH_CACHE_TOKENS]) &&
      orr_bench_steps_number(line, vllm_most, &tokens) &&
      orr_bench_steps_number(line, "tokens per request: ", &requests))
    result->values[ORR_BENCH_CACHE_TOKENS] = round(tokens * requests);
}

static void read_sizes(OrrBenchResult *result, const char *line) {
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    double number = 0;
    if (is_other(sizes[i].label, line) || !isnan(result->values[sizes[i].value]) ||
        !orr_bench_steps_number(line, sizes[i].label, &number))
      continue;
    result->values[sizes[i].value] = number * sizes[i].scale;
  }
}

/* The number of the engine that wrote @line; 0: none is named. */
static int engine_of(const char *line) {
  static const char *const labels[] = {"Engine ", " DP"};
  for (guint i = 0; i < G_N_ELEMENTS(labels); i++) {
    const char *at = strstr(line, labels[i]);
    if (at && g_ascii_isdigit(at[strlen(labels[i])])) return atoi(at + strlen(labels[i]));
  }
  return 0;
}

/* One engine's lines. */
typedef struct {
  OrrBenchSteps busy, after_idle;
  gboolean was_idle; /* a prefill found no request that runs, and no decode came since */
} Engine;

static void free_engine(gpointer data) {
  Engine *engine = data;
  orr_bench_steps_clear(&engine->busy);
  orr_bench_steps_clear(&engine->after_idle);
  g_free(engine);
}

static Engine *of_line(GHashTable *engines, const char *line) {
  const gpointer key = GINT_TO_POINTER(engine_of(line));
  Engine *engine = g_hash_table_lookup(engines, key);
  if (engine) return engine;
  engine = g_new0(Engine, 1);
  engine->busy = orr_bench_steps_new();
  engine->after_idle = orr_bench_steps_new();
  g_hash_table_insert(engines, key, engine);
  return engine;
}

/* A line of speed: tokens per second, and requests that run. */
static void read_speed(GHashTable *engines, const char *line) {
  double rate = 0, running = 0;
  if (strstr(line, "Prefill batch")) {
    if (orr_bench_steps_number(line, "#running-req: ", &running) && running == 0)
      of_line(engines, line)->was_idle = TRUE;
    return;
  }
  if (!orr_bench_steps_number(line, vllm_speed, &rate) &&
      !orr_bench_steps_number(line, "gen throughput (token/s): ", &rate))
    return;
  if (!orr_bench_steps_number(line, "Running: ", &running))
    orr_bench_steps_number(line, "#running-req: ", &running);
  if (!(running > 0) || !(rate > 0)) return;
  Engine *engine = of_line(engines, line);
  OrrBenchSteps *steps = engine->was_idle ? &engine->after_idle : &engine->busy;
  g_array_append_val(steps->tokens, rate);
  g_array_append_val(steps->samples, running);
  engine->was_idle = FALSE;
}

static void add_speed(OrrBenchResult *result, const Engine *engine) {
  const OrrBenchSteps *steps = engine->busy.tokens->len ? &engine->busy : &engine->after_idle;
  const guint skipped = steps->tokens->len > 1 && engine->after_idle.tokens->len == 0;
  if (steps->tokens->len == 0) return;
  const double rates[] = {orr_bench_steps_median(steps->tokens, skipped),
                          orr_bench_steps_median(steps->samples, skipped)};
  static const int values[] = {ORR_BENCH_OUTPUT_RATE, ORR_BENCH_IN_FLIGHT};
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    const double before = result->values[values[i]];
    result->values[values[i]] = (isnan(before) ? 0 : before) + rates[i];
  }
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  g_autoptr(GHashTable) engines = g_hash_table_new_full(NULL, NULL, NULL, free_engine);
  OrrBenchResult *result = NULL;
  for (guint i = 0; lines[i]; i++) {
    if (!tool_of(lines[i])) continue;
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    if (!result) result = orr_bench_result_new(tool_of(input->text), place);
    read_sizes(result, lines[i]);
    read_most(result, lines[i]);
    read_speed(engines, lines[i]);
  }
  if (!result) return;
  GHashTableIter iterator;
  gpointer engine = NULL;
  g_hash_table_iter_init(&iterator, engines);
  while (g_hash_table_iter_next(&iterator, NULL, &engine)) add_speed(result, engine);
  for (int i = 0; i < ORR_BENCH_N_VALUES; i++)
    if (!isnan(result->values[i])) {
      g_ptr_array_add(input->results, result);
      return;
    }
  orr_diags_error(input->diags, result->place,
                  "a log of %s without a decode's speed or the size of the cache: give more of it",
                  result->tool);
  orr_bench_result_free(result);
}

const OrrBenchReader orr_bench_server_log = {
    .name = "server-log",
    .sentence = "the log of a server of vLLM, SGLang or TensorRT-LLM",
    .recognise = recognise,
    .read = read,
    .yields = TRUE,
};

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
 *
 * Rates are medians over the lines in which requests run, without the first of them. Each rank of
 * SGLang logs the size of its own cache; the first counts.
 *
 * Sources: vllm/v1/core/kv_cache_utils.py, vllm/v1/metrics/loggers.py, vLLM 0.4 to 0.19;
 * sglang/srt/managers/scheduler.py and mem_cache/memory_pool.py, SGLang 0.4 to 0.5; TensorRT-LLM
 * 0.9 to 1.1.
 */
#include <math.h>
#include <string.h>

#include "sim/import/bench/bench_steps.h"

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
    {"Available KV cache memory: ", ORR_BENCH_CACHE_BYTES, 1073741824},
    {"Allocated ", ORR_BENCH_CACHE_BYTES, 1073741824},
};

static const char vllm_speed[] = "Avg generation throughput: ";

static const char *tool_of(const char *text) {
  if (strstr(text, vllm_speed) || strstr(text, sizes[0].label) || strstr(text, "# GPU blocks: ") ||
      strstr(text, "Available KV cache memory: "))
    return "vllm";
  if (strstr(text, "gen throughput (token/s)") ||
      strstr(text, "KV Cache is allocated. #tokens: ") || strstr(text, "max_total_num_tokens="))
    return "sglang";
  return strstr(text, "tokens in paged KV cache (") ? "trtllm" : NULL;
}

/* A benchmark's result in the same file is worth more than the engine's log. */
static gboolean recognise(const OrrBenchInput *input) {
  static const char *const results[] = {"Benchmark Result ====", " requests/s, ", "Avg latency: ",
                                        "PERFORMANCE OVERVIEW",  "ttft_ms\"",     "timing_s/step:"};
  for (guint i = 0; i < G_N_ELEMENTS(results); i++)
    if (strstr(input->text, results[i])) return FALSE;
  return tool_of(input->text) != NULL;
}

static void read_sizes(OrrBenchResult *result, const char *line) {
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    double number = 0;
    const gboolean is_other =
        strcmp(sizes[i].label, "Allocated ") == 0 && !strstr(line, "paged KV");
    if (is_other || !isnan(result->values[sizes[i].value]) ||
        !orr_bench_steps_number(line, sizes[i].label, &number))
      continue;
    result->values[sizes[i].value] = number * sizes[i].scale;
  }
}

/* A line of speed: tokens per second, and requests that run. */
static void read_speed(OrrBenchSteps *steps, const char *line) {
  double rate = 0, running = 0;
  if (!orr_bench_steps_number(line, vllm_speed, &rate) &&
      !orr_bench_steps_number(line, "gen throughput (token/s): ", &rate))
    return;
  if (!orr_bench_steps_number(line, "Running: ", &running))
    orr_bench_steps_number(line, "#running-req: ", &running);
  if (!(running > 0) || !(rate > 0)) return;
  g_array_append_val(steps->tokens, rate);
  g_array_append_val(steps->samples, running);
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  OrrBenchSteps steps = orr_bench_steps_new();
  OrrBenchResult *result = NULL;
  for (guint i = 0; lines[i]; i++) {
    if (!tool_of(lines[i])) continue;
    const OrrPlace place = {.file = input->file, .line = (int)i + 1, .column = 1};
    if (!result) result = orr_bench_result_new(tool_of(input->text), place);
    read_sizes(result, lines[i]);
    read_speed(&steps, lines[i]);
  }
  const guint skipped = steps.tokens->len > 1;
  if (result) {
    result->values[ORR_BENCH_OUTPUT_RATE] = orr_bench_steps_median(steps.tokens, skipped);
    result->values[ORR_BENCH_CONCURRENCY] = orr_bench_steps_median(steps.samples, skipped);
    g_ptr_array_add(input->results, result);
  }
  orr_bench_steps_clear(&steps);
}

const OrrBenchReader orr_bench_server_log = {
    .name = "server-log",
    .sentence = "the log of a server of vLLM, SGLang or TensorRT-LLM",
    .recognise = recognise,
    .read = read,
};

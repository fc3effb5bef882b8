/* test_bench.c - results of benchmarks in each tool's form, with the numbers that they hold. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "sim/import/bench/bench.h"

static GPtrArray *read_text(const char *text, GError **error) {
  GPtrArray *results = g_ptr_array_new_with_free_func((GDestroyNotify)orr_bench_result_free);
  if (orr_bench_read_text(text, strlen(text), "b.txt", results, error)) return results;
  g_ptr_array_unref(results);
  return NULL;
}

/* Result @i of @text has @expected as its value @which. */
static void check(const char *text, guint i, int which, double expected) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = read_text(text, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(results->len, >, i);
  const double value = ((const OrrBenchResult *)results->pdata[i])->values[which];
  if (isinf(expected) ? !isinf(value) : !(fabs(value - expected) <= 1e-9 * fabs(expected)))
    g_error("value %d is %g, not %g, of:\n%s", which, value, expected, text);
}

static void check_refused(const char *text, const char *words) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = read_text(text, &error);
  g_assert_null(results);
  if (!strstr(error->message, words)) g_error("'%s' is missing in: %s", words, error->message);
}

#define BLOCK(requests)                                                                            \
  "100%|####| 10/10\n============ Serving Benchmark Result ============\n"                         \
  "Traffic request rate:                    inf\n"                                                 \
  "Max reqeuest concurrency:                16\n"                                                  \
  "Successful requests:                     " requests "\n"                                        \
  "Total input tokens:                      20480\n"                                               \
  "Total generated tokens:                  2560\n"                                                \
  "Output token throughput (tok/s):         1,536.5\n"                                             \
  "---------------Time to First Token----------------\n"                                           \
  "Mean TTFT (ms):                          120.5\n"                                               \
  "P99 TPOT (ms):                           -0.00\n"                                               \
  "==================================================\n"

static void test_labels(void) {
  check(BLOCK("20"), 0, ORR_BENCH_RATE, INFINITY);
  check(BLOCK("20"), 0, ORR_BENCH_CONCURRENCY, 16);
  check(BLOCK("20"), 0, ORR_BENCH_INPUT_TOKENS, 1024);
  check(BLOCK("20"), 0, ORR_BENCH_OUTPUT_TOKENS, 128);
  check(BLOCK("20"), 0, ORR_BENCH_OUTPUT_RATE, 1536.5);
  check(BLOCK("20"), 0, ORR_BENCH_TTFT_MEAN, 0.1205);
  check(BLOCK("20") "noise\n" BLOCK("40"), 1, ORR_BENCH_INPUT_TOKENS, 512);
  check_refused(BLOCK("0"), "b.txt:2:1: error: no request of this run was completed");
  check_refused(BLOCK("xxx.xx"), "'successful requests' is not a number: 'xxx.xx'");
  check_refused("==== Serving Benchmark Result ====\nMean TTFT (ms): 1\n",
                "the block has no 'Successful requests'");
}

/* Of NVIDIA/TensorRT-LLM, docs/source/performance: the report of its own benchmark. */
static void test_trtllm(void) {
  static const char report[] =
      "[INFO] starting\n= PYTORCH BACKEND\nModel:\t\t\tmeta-llama/Llama-3.1-8B\n"
      "= REQUEST DETAILS\nNumber of requests:             3000\n"
      "Number of concurrent requests:  2637.0\nAverage Input Length (tokens):  128.0\n"
      "Average Output Length (tokens): 64.0\n= PERFORMANCE OVERVIEW\n"
      "Request Throughput (req/sec):                     112.5\n"
      "Total Output Throughput (tokens/sec):             7,200\n"
      "Total Latency (ms):                               26732.6\n";
  check(report, 0, ORR_BENCH_INPUT_TOKENS, 128);
  check(report, 0, ORR_BENCH_OUTPUT_RATE, 7200);
  check(report, 0, ORR_BENCH_DURATION, 26.7326);
  check_refused("= PERFORMANCE OVERVIEW\nTotal Token Throughput (tokens/sec): 12\n",
                "the report has no 'Total Output Throughput'");
  /* without the first sections, as its documents have shown it since 2025; two in one file */
  static const char overview[] = "= PERFORMANCE OVERVIEW\n"
                                 "Request Throughput (req/sec):                     40.0\n"
                                 "Total Output Throughput (tokens/sec):             5120.0\n"
                                 "[TTFT] P50    : 49000.0000\n";
  g_autofree char *two = g_strconcat(overview, overview, NULL);
  check(two, 1, ORR_BENCH_OUTPUT_RATE, 5120);
  check(two, 1, ORR_BENCH_TTFT_P50, 49);
}

/* 128,000 output tokens at 2,940.16 tokens/s take 43.535 s, in which 22.97 requests/s complete
 * 1,000.0 requests, known to 0.2. Of 12,800,000 tokens these would be known to 22: then they are
 * unknown, as the bar is missing. Latencies of one batch have no requests. */
static void test_offline(void) {
#define THROUGHPUT(total)                                                                          \
  "Throughput: 22.97 requests/s, 26461.44 total tokens/s, 2940.16 output tokens/s\n"               \
  "Total num prompt tokens:  1024000\nTotal num output tokens:  " total "\n"
  static const char latency[] =
      "Avg latency: 1.5 seconds\n10% percentile latency: 1.4 seconds\n"
      "50% percentile latency: 1.45 seconds\n90% percentile latency: 1.75 seconds\n"
      "99% percentile latency: 2 seconds\n";
  check("Processed prompts: 100%|#| 1000/1000 [00:43<00:00]\n" THROUGHPUT("128000"), 0,
        ORR_BENCH_INPUT_TOKENS, 1024);
  check(THROUGHPUT("128000"), 0, ORR_BENCH_REQUESTS, 1000);
  check(THROUGHPUT("12800000"), 0, ORR_BENCH_OUTPUT_RATE, 2940.16);
  check(THROUGHPUT("12800000") THROUGHPUT("128000"), 1, ORR_BENCH_OUTPUT_TOKENS, 128);
  check("Throughput: 81.74 requests/s, 20926.37 tokens/s\n", 0, ORR_BENCH_TOTAL_RATE, 20926.37);
  check(latency, 0, ORR_BENCH_E2E_P50, 1.45);
  check(latency, 0, ORR_BENCH_E2E_P90, 1.75);
  check(latency, 0, ORR_BENCH_E2E_P99, 2);
  check("==== Offline Throughput Benchmark Result ====\nSuccessful requests: 8\n", 0,
        ORR_BENCH_RATE, INFINITY);
}

/* Of NVIDIA/NeMo: lines of its logger, and a progress bar whose states overwrite each other. */
static void test_nemo(void) {
  check("Training epoch 0, iteration 0/3 | global_batch_size: 64 | train_step_timing in s: 9\n"
        "Training epoch 0, iteration 1/3 | global_batch_size: 64 | train_step_timing in s: 2\n"
        "Training epoch 0, iteration 2/3 | global_batch_size: 64 | train_step_timing in s: 3\n"
        "Training epoch 0, iteration 3/3 | global_batch_size: 64 | train_step_timing in s: 4\n",
        0, ORR_BENCH_ITERATION, 3);
  check("Epoch 0: 1/3 [loss=9, train_step_timing in s=8.0]\rEpoch 0: 2/3 [loss=8, "
        "train_step_timing in s=2.5]\rEpoch 0: 3/3 [loss=7, train_step_timing in s=2.5]\n",
        0, ORR_BENCH_ITERATION, 2.5);
}

static void test_json(void) {
  static const char vllm[] =
      "{\"backend\": \"vllm\", \"model_id\": \"m/x\", \"request_rate\": \"inf\", "
      "\"max_concurrency\": 8, \"completed\": 80, \"total_input_tokens\": 81920, "
      "\"total_output_tokens\": 10240, \"mean_ttft_ms\": 45.5, \"mean_tpot_ms\": 9.25, "
      "\"itls\": [[0.1, 0.2], []], \"p99_itl_ms\": null}";
  check(vllm, 0, ORR_BENCH_RATE, INFINITY);
  check(vllm, 0, ORR_BENCH_INPUT_TOKENS, 1024);
  check(vllm, 0, ORR_BENCH_TPOT_MEAN, 9.25e-3);
  /* SGLang: a line per run, bare Infinity, a large nested member */
  static const char sglang[] =
      "{\"request_rate\": Infinity, \"max_concurrency\": 4, \"completed\": 10, "
      "\"mean_e2e_latency_ms\": 900.0, \"mean_ttft_ms\": 50, \"server_info\": {\"a\": {\"b\": "
      "1}}}\n"
      "{\"request_rate\": 2.5, \"completed\": 10, \"mean_e2e_latency_ms\": 800.0}\n";
  check(sglang, 0, ORR_BENCH_RATE, INFINITY);
  check(sglang, 1, ORR_BENCH_RATE, 2.5);
  check(sglang, 1, ORR_BENCH_E2E_MEAN, 0.8);
  /* seconds where others write milliseconds */
  check("[{\"conc\": 64, \"isl\": 1024, \"osl\": 512, \"mean_ttft\": 0.25, \"median_tpot\": 0.02}]",
        0, ORR_BENCH_TPOT_P50, 0.02);
  /* AIPerf, after a line of its log */
  static const char aiperf[] =
      "INFO done\n{\"time_to_first_token\": {\"unit\": \"ms\", \"avg\": 30.0, \"p99\": 44.0}, "
      "\"request_latency\": {\"unit\": \"us\", \"avg\": 5e5, \"p90\": 8e5}, \"request_count\": "
      "{\"avg\": 7}}";
  check(aiperf, 0, ORR_BENCH_TTFT_P99, 0.044);
  check(aiperf, 0, ORR_BENCH_E2E_MEAN, 0.5);
  check(aiperf, 0, ORR_BENCH_E2E_P90, 0.8);
  check(aiperf, 0, ORR_BENCH_REQUESTS, 7);
  check_refused("{\"mean_ttft_ms\": 1, ", "b.txt:1:");
  check_refused("{\"completed\": 0, \"mean_ttft_ms\": 0}", "no request of this run was completed");
  check_refused("{\"completed\": 5, \"mean_ttft_ms\": -4}", "cannot be negative");
}

static void test_table(void) {
  static const char table[] =
      "\342\224\203 Statistic \342\224\203 avg \342\224\203 p99 \342\224\203 p90 \342\224\203\n"
      "\342\224\202 Time to first token (ms) \342\224\202 1,016.26 \342\224\202 40 \342\224\202 30 "
      "\342\224\202\n"
      "\342\224\202 Inter token latency (ms) \342\224\202 4.5 \342\224\202 N/A \342\224\202 N/A "
      "\342\224\202\n"
      "\342\224\202 Output Token Throughput Per User \342\224\202 9 \342\224\202 9 \342\224\202 9 "
      "\342\224\202\n"
      "\342\224\202 (tokens/sec/user) \342\224\202  \342\224\202  \342\224\202  \342\224\202\n"
      "\342\224\202 Output token throughput (per sec) \342\224\202 504.02 \342\224\202 N/A "
      "\342\224\202 N/A \342\224\202\n";
  check(table, 0, ORR_BENCH_TTFT_MEAN, 1.01626);
  check(table, 0, ORR_BENCH_TTFT_P90, 0.03);
  check(table, 0, ORR_BENCH_TPOT_MEAN, 4.5e-3);
  check(table, 0, ORR_BENCH_OUTPUT_RATE, 504.02);
}

/* 12 steps: the first is left out, and the median of 11 to 1 s is 6 s. */
static void test_training(void) {
  g_autoptr(GString) log = g_string_new(NULL);
  for (int i = 12; i >= 1; i--)
    g_string_append_printf(log,
                           "[default7]: iteration %d/ 100 | elapsed time per iteration (ms): "
                           "%d000.0 | global batch size:  256 | throughput per GPU "
                           "(TFLOP/s/GPU): %d.5 |\n",
                           13 - i, i, i);
  g_string_append(log, "[Rank 0] (after 2 iterations) memory (MB) | allocated: 10 | max allocated: "
                       "1024.0 | reserved: 9 |\n");
  check(log->str, 0, ORR_BENCH_ITERATION, 6);
  check(log->str, 0, ORR_BENCH_WARM_UP, 1);
  check(log->str, 0, ORR_BENCH_GLOBAL_BATCH, 256);
  check(log->str, 0, ORR_BENCH_TFLOPS, 6.5);
  check(log->str, 0, ORR_BENCH_MEMORY, 1073741824);
  check("iteration 5/ 9 | elapsed time per iteration (s): 105.22 | TFLOPs: 149.02 |\n", 0,
        ORR_BENCH_ITERATION, 105.22);
  check("step: 10  loss:  7.9  memory: 2.00GiB(3%)  tps: 6,667  tflops: 389.2  mfu: 39.3%\n", 0,
        ORR_BENCH_TOKENS_PER_GPU, 6667);
  static const char mlperf[] =
      "0: :::MLLOG {\"key\": \"global_batch_size\", \"value\": 256}\n"
      "0: :::MLLOG {\"key\": \"tracked_stats\", \"value\": {\"throughput\": 128.0}}\n";
  check(mlperf, 0, ORR_BENCH_ITERATION, 2);
  check(":::MLLOG {\"key\": \"tracked_stats\", \"value\": {\"train_step_time\": 14.5}}\n", 0,
        ORR_BENCH_ITERATION, 14.5);
}

static void test_refused(void) {
  check_refused("", "the file is empty");
  check_refused("hello\n", "no result of a known benchmark was found");
  check_refused("{\"request_throughput_mean\": 1}", "a result of llmperf, which is not read");
  check_refused("#  size count type redop root time algbw busbw #wrong\n", "import nccl-tests");
  check_refused(BLOCK("20") "iteration 5/ 9 | elapsed time per iteration (s): 105.22 |\n",
                "results of two tools in one file");
}

static void test_written(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = read_text(BLOCK("20") BLOCK("40"), &error);
  g_autofree char *csv = orr_bench_csv(results);
  g_assert_cmpstr(csv, ==,
                  "source,tool,model,concurrency,rate_per_s,requests,input_tokens,output_tokens,"
                  "ttft_mean_s,tpot_p99_s,output_tokens_per_s\n"
                  "b.txt:2,serving-benchmark,,16,inf,20,1024,128,0.1205,0,1536.5\n"
                  "b.txt:14,serving-benchmark,,16,inf,40,512,64,0.1205,0,1536.5\n");
  g_autofree char *load = orr_bench_load(results->pdata[0], &error);
  g_assert_cmpstr(load, ==,
                  "workload:\n  load: {kind: closed-loop, concurrency: 16}\n  requests: 20\n"
                  "  input: {tokens: 1024}\n  output: {tokens: 128}\n");
}

/* Arrays below a key; distributions by name; rates alone. */
static void test_tools_of_2026(void) {
  static const char guidellm[] =
      "{\"args\": {}, \"benchmarks\": [{\"type_\": \"generative_benchmark\", \"metrics\": "
      "{\"time_to_first_token_ms\": {\"successful\": {\"mean\": 40.0}}}}, {\"metrics\": "
      "{\"time_to_first_token_ms\": {\"successful\": {\"mean\": 50.0}}}}]}";
  check(guidellm, 0, ORR_BENCH_TTFT_MEAN, 0.04);
  check(guidellm, 1, ORR_BENCH_TTFT_MEAN, 0.05);
  check("{\"load_summary\": {\"count\": 3}, \"successes\": {\"count\": 3, \"latency\": "
        "{\"request_latency\": {\"median\": 2.5}}}}",
        0, ORR_BENCH_E2E_P50, 2.5);
  check("{\"num_requests\": 10, \"requests_per_second\": 20.5}", 0, ORR_BENCH_REQUEST_RATE, 20.5);
}

/* What was asked makes the load; requests in flight were measured. */
static void test_strategies(void) {
#define GUIDELLM(strategy)                                                                         \
  "{\"benchmarks\": [{\"type_\": \"generative_benchmark\"" strategy ", \"metrics\": "              \
  "{\"request_concurrency\": {\"successful\": {\"mean\": 7.6}}, "                                  \
  "\"time_to_first_token_ms\": {\"successful\": {\"mean\": 40.0}}}}]}"
  static const struct {
    const char *text, *load; /* NULL: refused */
  } cases[] = {
      {GUIDELLM(""), NULL},
      {GUIDELLM(", \"args\": {\"strategy\": {\"type_\": \"concurrent\", \"streams\": 8}}"),
       "{kind: closed-loop, concurrency: 8}"},
      {GUIDELLM(", \"config\": {\"strategy\": {\"type_\": \"synchronous\"}}"),
       "{kind: closed-loop, concurrency: 1}"},
      {GUIDELLM(", \"args\": {\"strategy\": {\"type_\": \"constant\", \"rate\": 2.5}}"),
       "{kind: constant, rate: 2.5}"},
      {GUIDELLM(", \"args\": {\"strategy\": {\"type_\": \"poisson\", \"rate\": 2.5}}"),
       "{kind: poisson, rate: 2.5}"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    check(cases[i].text, 0, ORR_BENCH_IN_FLIGHT, 7.6);
    g_autoptr(GPtrArray) results = read_text(cases[i].text, &error);
    g_autofree char *load = orr_bench_load(results->pdata[0], &error);
    if (!cases[i].load)
      g_assert_null(load);
    else if (!load || !strstr(load, cases[i].load))
      g_error("'%s' is missing in: %s", cases[i].load, load ? load : error->message);
  }
}

/* A rate, and clients that hold requests back: both are the load. */
static void test_rate_and_limit(void) {
  static const char text[] =
      "{\"backend\": \"vllm\", \"max_concurrency\": 64, \"request_rate\": 4.0, "
      "\"completed\": 198, \"failed\": 2, \"duration\": 50, \"mean_ttft_ms\": 61.5, "
      "\"total_input_tokens\": 198000, \"total_output_tokens\": 39600}";
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = read_text(text, &error);
  g_assert_no_error(error);
  g_autofree char *load = orr_bench_load(results->pdata[0], &error);
  g_assert_cmpstr(load, ==,
                  "workload:\n  load: {kind: poisson, rate: 4}\n  max-concurrency: 64\n"
                  "  requests: 198\n  input: {tokens: 1000}\n  output: {tokens: 200}\n");
}

/* What a load was drawn from, as vLLM and SGLang write it: gaps of a gamma distribution,
 * lengths from half of the longest on, a rate that grew; and the server, where it is not the
 * client's own. */
static void test_drawn(void) {
#define TAIL "\"completed\": 100, \"total_input_tokens\": 78000, \"total_output_tokens\": 19000}"
  static const struct {
    const char *text, *wanted, *server;
  } rows[] = {
      {"{\"backend\": \"vllm\", \"mean_ttft_ms\": 9, \"request_rate\": 4.0, \"burstiness\": "
       "0.5, " TAIL,
       "  load: {kind: gamma, rate: 4, burstiness: 0.5}\n  requests: 100\n  input: {tokens: 780}\n",
       NULL},
      {"{\"backend\": \"openai-chat\", \"mean_ttft_ms\": 9, \"request_rate\": 4.0, \"burstiness\": "
       "1, " TAIL,
       "  load: {kind: poisson, rate: 4}\n  requests: 100\n", NULL},
      {"{\"backend\": \"tensorrt-llm\", \"mean_ttft_ms\": 9, \"request_rate\": 4.0, "
       "\"ramp_up_strategy\": \"linear\", " TAIL,
       "# not mapped: the benchmark's rate grew", "tensorrt-llm"},
      {"{\"backend\": \"sglang-oai\", \"dataset_name\": \"random\", \"mean_e2e_latency_ms\": 9, "
       "\"request_rate\": 4.0, \"random_input_len\": 1024, \"random_output_len\": 256, "
       "\"random_range_ratio\": 0.5, " TAIL,
       "  input: {kind: uniform-up-to, tokens: 1024, ratio: 0.5}\n"
       "  output: {kind: uniform-up-to, tokens: 256, ratio: 0.5}\n",
       NULL},
      {"{\"backend\": \"sglang\", \"dataset_name\": \"random\", \"mean_e2e_latency_ms\": 9, "
       "\"request_rate\": 4.0, \"random_input_len\": 780, \"random_output_len\": 190, "
       "\"random_range_ratio\": 1.0, " TAIL,
       "  input: {tokens: 780}\n  output: {tokens: 190}\n", NULL},
  };
#undef TAIL
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) results = read_text(rows[i].text, &error);
    g_assert_no_error(error);
    const OrrBenchResult *result = results->pdata[0];
    g_autofree char *load = orr_bench_load(result, &error);
    g_assert_no_error(error);
    if (!strstr(load, rows[i].wanted)) g_error("'%s' is missing in: %s", rows[i].wanted, load);
    g_assert_cmpstr(result->server, ==, rows[i].server);
  }
}

/* Medians without the first line; units of thousands; a log that another reader has. */
static void test_logs(void) {
  static const char nanotron[] =
      "iteration: 1 / 9 | elapsed_time_per_iteration_ms: 9.5K | tokens_per_sec_per_gpu: 1K\n"
      "iteration: 2 / 9 | elapsed_time_per_iteration_ms: 3.5K | tokens_per_sec_per_gpu: 2.5K\n"
      "iteration: 3 / 9 | elapsed_time_per_iteration_ms: 4.5K | tokens_per_sec_per_gpu: 1.5K\n";
  static const char server[] = "INFO GPU KV cache size: 1,000,000 tokens\n"
                               "INFO Avg generation throughput: 9.0 tokens/s, Running: 1 reqs\n"
                               "INFO Avg generation throughput: 900.0 tokens/s, Running: 16 reqs\n"
                               "INFO Avg generation throughput: 0.0 tokens/s, Running: 0 reqs\n";
  check(nanotron, 0, ORR_BENCH_ITERATION, 4);
  check(nanotron, 0, ORR_BENCH_TOKENS_PER_GPU, 2000);
  check("# GPU blocks: 1000, # CPU blocks: 512\n", 0, ORR_BENCH_CACHE_TOKENS, 16000);
  check(server, 0, ORR_BENCH_CACHE_TOKENS, 1e6);
  check(server, 0, ORR_BENCH_OUTPUT_RATE, 900);
  check(server, 0, ORR_BENCH_IN_FLIGHT, 16);
  check("timing_s/step:10.0\nelapsed time per iteration (ms): 2000.0\n", 0, ORR_BENCH_ITERATION, 2);
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = read_text(server, &error);
  g_assert_null(orr_bench_load(results->pdata[0], &error)); /* 16 in flight were not asked for */
  g_assert_nonnull(strstr(error->message, "neither the rate of requests nor their concurrency"));
}

/* Engines of data parallelism add up; a benchmark's table or a trainer's lines beside the log of
 * their server are the result. */
static void test_server_log(void) {
#define ENGINE(number, rate)                                                                       \
  "INFO Engine " number ": Avg generation throughput: " rate " tokens/s, Running: 4 reqs\n"
#define RANK(number, rate)                                                                         \
  "[2026-01-02 03:04:05 DP" number " TP0] Decode batch. #running-req: 3, gen throughput "          \
  "(token/s): " rate "\n"
  static const char two[] =
      ENGINE("000", "1.0") ENGINE("001", "1.0") ENGINE("000", "100.0") ENGINE("001", "80.0");
  check(two, 0, ORR_BENCH_OUTPUT_RATE, 180);
  check(two, 0, ORR_BENCH_IN_FLIGHT, 8);
  check(RANK("0", "50.0") RANK("1", "70.0"), 0, ORR_BENCH_OUTPUT_RATE, 120);
  check(ENGINE("000", "9.0") "Total step time: 28.5s\n", 0, ORR_BENCH_ITERATION, 28.5);
  check(ENGINE("000", "9.0") "\342\224\203 Statistic \342\224\203 avg \342\224\203\n"
                             "\342\224\202 Inter token latency (ms) \342\224\202 20 \342\224\202\n"
                             "\342\224\202 Output token throughput (per sec) \342\224\202 504.02 "
                             "\342\224\202\n",
        0, ORR_BENCH_OUTPUT_RATE, 504.02);
}

/* A line of each trainer, and what it says. */
static void test_trainers(void) {
  static const struct {
    const char *line;
    int value;
    double expected;
  } cases[] = {
      {"completed step: 10, seconds: 3.456, TFLOP/s/device: 412.1, Tokens/s/device: 9481.5, loss: "
       "2",
       ORR_BENCH_TFLOPS, 412.1},
      {"steps: 10 loss: 8.12 iter time (s): 1.234 samples/sec: 103.7", ORR_BENCH_SAMPLES, 103.7},
      {"epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=12.3, "
       "CurrSamplesPerSec=12.4, MemAllocated=1.0GB, MaxMemAllocated=2.0GB",
       ORR_BENCH_MEMORY, 2147483648},
      {"{'train_runtime': 123.4, 'train_samples_per_second': 12.3, 'train_steps_per_second': 0.5}",
       ORR_BENCH_ITERATION, 2},
      {"\"train_samples_per_second\": 12.3, \"train_steps_per_second\": 0.5,", ORR_BENCH_SAMPLES,
       12.3},
      {"step:3 - timing_s/gen:45.1 - timing_s/update_actor:30.2 - timing_s/step:98.5",
       ORR_BENCH_GENERATION, 45.1},
      {"Total step time: 28.1s", ORR_BENCH_ITERATION, 28.1},
      {"perf 3: {'perf/rollout_time': 31.0, 'perf/actor_train_time': np.float64(12.0)}",
       ORR_BENCH_UPDATE, 12},
      {"iteration: 5 / 9 | elapsed_time_per_iteration_ms: 3.45K | tokens_per_sec_per_gpu: 1.2M |",
       ORR_BENCH_TOKENS_PER_GPU, 1.2e6},
      {"throughput/device/tokens_per_sec: 10475.2", ORR_BENCH_TOKENS_PER_GPU, 10475.2},
      {"throughput/device/TPS=12,345", ORR_BENCH_TOKENS_PER_GPU, 12345},
      {"Step 5 | Time: 21.05s | Throughput: 4342 tokens/s | Peak Mem.: 2.0 GiB",
       ORR_BENCH_ITERATION, 21.05},
      {"Step Time : 4.50s GPU utilization: 650.0MODEL_TFLOP/s/GPU", ORR_BENCH_TFLOPS, 650},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    check(cases[i].line, 0, cases[i].value, cases[i].expected);
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = read_text("a\r\nb\r\nTotal step time: 28.1s\r\n", &error);
  g_assert_no_error(error);
  g_assert_cmpint(((const OrrBenchResult *)results->pdata[0])->place.line, ==, 3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/bench/trtllm", test_trtllm);
  g_test_add_func("/bench/nemo", test_nemo);
  g_test_add_func("/bench/offline", test_offline);
  g_test_add_func("/bench/labels", test_labels);
  g_test_add_func("/bench/json", test_json);
  g_test_add_func("/bench/table", test_table);
  g_test_add_func("/bench/training", test_training);
  g_test_add_func("/bench/refused", test_refused);
  g_test_add_func("/bench/written", test_written);
  g_test_add_func("/bench/tools-of-2026", test_tools_of_2026);
  g_test_add_func("/bench/logs", test_logs);
  g_test_add_func("/bench/server-log", test_server_log);
  g_test_add_func("/bench/strategies", test_strategies);
  g_test_add_func("/bench/rate-and-limit", test_rate_and_limit);
  g_test_add_func("/bench/drawn", test_drawn);
  g_test_add_func("/bench/trainers", test_trainers);
  return g_test_run();
}

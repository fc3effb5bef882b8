/*
 * dialect_offline_benchmarks.c - benchmarks that run the engine themselves, and GuideLLM.
 *
 *   vllm bench throughput | latency, benchmark_throughput.py, benchmark_latency.py
 *   python -m sglang.bench_offline_throughput, sglang.bench_one_batch, ..._one_batch_server
 *   trtllm-bench throughput | latency; prepare_dataset.py, which writes its requests
 *   guidellm benchmark                         docs of vllm-project/guidellm, 0.2 to 0.7
 *
 * One line holds options of the engine and of the load: an option that the engine's dialect knows
 * is the engine's. A batch is a closed loop of as many clients, one request each; without a batch
 * or a concurrency all requests come at once.
 */
#include "sim/import/launch/launch_serving.h"

#define LOAD "workload.load"
#define INPUT "workload.input"
#define OUTPUT "workload.output"

static const char by_default[] = "the tool's default";

/* --- Offline --- */

/* What a program takes where its line says nothing; 0: nothing of its own. */
typedef struct {
  const char *program;
  gint64 batch, concurrency, requests, input, output;
  gboolean is_sglang; /* data sets, lengths and defaults of SGLang's client */
  gboolean caps;      /* runs at most as many requests as it says of its data set */
  gboolean is_server; /* its engine answers over HTTP */
} Program;

/* vllm/benchmarks/latency.py, throughput.py; sglang/bench_one_batch.py, bench_one_batch_server.py,
 * bench_offline_throughput.py: BenchArgs; tensorrt_llm/bench/benchmark/low_latency.py. */
static const Program programs[] = {
    {"vllm bench latency", .batch = 8, .input = 32, .output = 128},
    {"benchmark_latency.py", .batch = 8, .input = 32, .output = 128},
    {"vllm bench throughput", .requests = 1000},
    {"benchmark_throughput.py", .requests = 1000},
    {"sglang.bench_one_batch", .batch = 1, .input = 1024, .output = 16},
    {"sglang.bench_one_batch_server", .batch = 1, .input = 1024, .output = 16, .is_server = TRUE},
    {"sglang.bench_offline_throughput", .is_sglang = TRUE},
    {"trtllm-bench latency", .concurrency = 1, .caps = TRUE},
    {"trtllm-bench", .caps = TRUE}};

static const Program *program_of(OrrLaunchDraft *draft) {
  static const Program unknown = {0};
  const char *name = orr_launch_draft_value(draft, &orr_dialect_offline_bench, "program.name");
  for (guint i = 0; i < G_N_ELEMENTS(programs); i++)
    if (g_strcmp0(programs[i].program, name) == 0) return &programs[i];
  return &unknown;
}

/* Where the input says @key: on the benchmark's line, else on the data set's. */
static const OrrLaunchDialect *sayer(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_find(draft, &orr_dialect_offline_bench, key) ? &orr_dialect_offline_bench
                                                                       : &orr_dialect_dataset_bench;
}

static const OrrLaunchSetting *find(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_find(draft, sayer(draft, key), key);
}

static double number_of(OrrLaunchDraft *draft, const char *key, gint64 fallback) {
  return orr_dialect_benchmarks_number(draft, sayer(draft, key), key, (double)fallback);
}

static void set_length(OrrLaunchDraft *draft, const char *path, const char *key, gint64 fallback,
                       const char *spread_key) {
  const OrrLaunchSetting *source = find(draft, key);
  const double mean = number_of(draft, key, fallback);
  const double spread = number_of(draft, spread_key, 0);
  g_autofree char *tokens = g_strconcat(path, ".tokens", NULL);
  g_autofree char *kind = g_strconcat(path, ".kind", NULL);
  g_autofree char *sigma = g_strconcat(path, ".sigma", NULL);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (mean < 1) {
    orr_launch_draft_set_number(draft, tokens, 1024, NULL, "assumed");
    orr_launch_draft_remark(draft, "no lengths: prompts or outputs of 1,024 tokens are assumed");
    return;
  }
  if (spread > 0) orr_launch_draft_set(draft, kind, "normal", NULL, NULL);
  orr_launch_draft_set_number(draft, tokens, (gint64)mean, source, source ? NULL : by_default);
  if (spread > 0)
    orr_launch_draft_set(draft, sigma, g_ascii_formatd(text, sizeof text, "%.6g", spread / mean),
                         find(draft, spread_key), NULL);
}

/* A benchmark with a limit runs the first requests of the data set (trtllm-bench --num_requests:
 * "Minimum between value and length of dataset"). 0: nothing says how many. */
static double count_requests(OrrLaunchDraft *draft, const Program *program,
                             const OrrLaunchSetting **ret_source) {
  static const char key[] = "num-prompts";
  OrrLaunchSetting *cap = orr_launch_draft_find(draft, &orr_dialect_offline_bench, key),
                   *given = orr_launch_draft_find(draft, &orr_dialect_dataset_bench, key);
  const double most = orr_dialect_benchmarks_number(draft, &orr_dialect_offline_bench, key, 0);
  const double all = orr_dialect_benchmarks_number(draft, &orr_dialect_dataset_bench, key, 0);
  const gboolean is_capped = most > 0 && (all < 1 || !program->caps || most <= all);
  *ret_source = is_capped ? cap : given;
  if (most > 0 && all > 0)
    orr_launch_draft_judge(draft, is_capped ? given : cap, ORR_LAUNCH_OVERRIDDEN,
                           is_capped ? "the benchmark runs the first %.0f of them"
                                     : "the data set has no more than %.0f requests",
                           is_capped ? most : all);
  return is_capped ? most : all;
}

static void set_requests(OrrLaunchDraft *draft, const Program *program) {
  const OrrLaunchSetting *batch = find(draft, "batch-size"), *clients = find(draft, "concurrency");
  const OrrLaunchSetting *count = NULL;
  const double counted = count_requests(draft, program, &count);
  const double concurrency = number_of(draft, "concurrency", program->concurrency);
  const double size = number_of(draft, "batch-size", counted > 0 ? 0 : program->batch);
  const double whole = size > 0 ? size : program->requests > 0 ? (double)program->requests : 1000;
  const double requests = counted > 0 ? counted : whole;
  const double at_once = concurrency > 0 ? concurrency : size > 0 ? size : requests;
  const OrrLaunchSetting *source = concurrency > 0 ? clients : size > 0 ? batch : count;
  const gboolean is_default = !source && (concurrency > 0 || size > 0);
  orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", NULL,
                       concurrency > 0 ? NULL : "all requests at once");
  orr_launch_draft_set_number(draft, LOAD ".concurrency", (gint64)MAX(at_once, 1), source,
                              is_default ? by_default : NULL);
  orr_launch_draft_set_number(draft, "workload.requests", (gint64)MAX(requests, 1), count,
                              count                   ? NULL
                              : size > 0              ? "one for each place of the batch"
                              : program->requests > 0 ? by_default
                                                      : "assumed");
}

/* Lengths of data sets, and ranges around them, are read of SGLang's lines alone. */
static void judge_draws(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *dialect = &orr_dialect_offline_bench;
  OrrLaunchSetting *ratio = orr_launch_draft_find(draft, dialect, "random-range-ratio");
  OrrLaunchSetting *data = orr_launch_draft_find(draft, dialect, "dataset-name");
  if (ratio && number_of(draft, "random-range-ratio", 0) > 0)
    orr_launch_draft_judge(draft, ratio, ORR_LAUNCH_NOT_SIMULATED, "all lengths are alike");
  if (data && data->value && !g_str_has_prefix(data->value, "random"))
    orr_launch_draft_judge(draft, data, ORR_LAUNCH_NOT_SIMULATED,
                           "lengths of this data set: the given ones, otherwise assumed");
}

static void finish_offline(OrrLaunchDraft *draft) {
  const Program *program = program_of(draft);
  if (program->program && !program->is_server)
    orr_launch_draft_set_number(draft, "workload.engine.front-end.processes", 0, NULL,
                                "no server: the benchmark runs the engine itself");
  if (program->is_sglang) return orr_dialect_benchmarks_sglang(draft, &orr_dialect_offline_bench);
  set_requests(draft, program);
  set_length(draft, INPUT, "input-len", program->input, "input-stdev");
  set_length(draft, OUTPUT, "output-len", program->output, "output-stdev");
  judge_draws(draft);
}

/* --- GuideLLM --- */

/* Of "prompt_tokens=256,output_tokens=128", or the same as JSON, the number of @name + @more; or 0.
 */
static double number_in(const char *data, const char *name, const char *more) {
  g_autofree char *key = g_strconcat(name, more, NULL);
  const gsize length = strlen(key);
  for (const char *at = strstr(data, key); at; at = strstr(at + 1, key)) {
    const gboolean begins = at == data || (!g_ascii_isalnum(at[-1]) && at[-1] != '_');
    const char *end = at + length;
    if (begins && !g_ascii_isalnum(*end) && *end != '_')
      return MAX(g_ascii_strtod(end + strspn(end, "\"'=: "), NULL), 0);
  }
  return 0;
}

static void set_part(OrrLaunchDraft *draft, const char *path, const char *key, double value,
                     const OrrLaunchSetting *source) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *whole = g_strconcat(path, ".", key, NULL);
  if (value > 0)
    orr_launch_draft_set(draft, whole, g_ascii_formatd(text, sizeof text, "%.6g", value), source,
                         NULL);
}

/* A normal distribution around the mean, cut at the bounds; without a deviation the lengths between
 * the bounds are equally likely (guidellm/dataset/synthetic.py, IntegerRangeSampler of 0.2). */
static void set_tokens(OrrLaunchDraft *draft, const char *path, const char *name) {
  const OrrLaunchSetting *data = orr_launch_draft_find(draft, &orr_dialect_guidellm_bench, "data");
  const char *text = data && data->value ? data->value : "";
  const double tokens = number_in(text, name, ""), deviation = number_in(text, name, "_stdev");
  const double least = number_in(text, name, "_min"), most = number_in(text, name, "_max");
  g_autofree char *kind = g_strconcat(path, ".kind", NULL);
  g_autofree char *tokens_path = g_strconcat(path, ".tokens", NULL);
  if (tokens < 1) {
    orr_launch_draft_set_number(draft, tokens_path, 1024, NULL, "assumed");
    orr_launch_draft_remark(draft, "no lengths: prompts or outputs of 1,024 tokens are assumed");
    return;
  }
  const double low = least > 0 ? least : tokens, high = most > 0 ? most : tokens;
  const gboolean is_even = deviation <= 0 && high > low;
  const double mean = is_even ? (low + high) / 2 : tokens;
  if (is_even || deviation > 0)
    orr_launch_draft_set(draft, kind, is_even ? "uniform" : "normal", NULL, NULL);
  orr_launch_draft_set_number(draft, tokens_path, (gint64)mean, data, NULL);
  if (is_even) set_part(draft, path, "ratio", (high - low) / (high + low), data);
  if (deviation <= 0) return;
  set_part(draft, path, "sigma", deviation / mean, data);
  set_part(draft, path, "least", least, data);
  set_part(draft, path, "most", most, data);
}

/* Other descriptions of the data are not read. */
static void judge_data(OrrLaunchDraft *draft) {
  static const char *const others[] = {"prefix_tokens", "prefix_buckets", "prefix_count", "turns",
                                       "source"};
  OrrLaunchSetting *data = orr_launch_draft_find(draft, &orr_dialect_guidellm_bench, "data");
  for (guint i = 0; data && data->value && i < G_N_ELEMENTS(others); i++)
    if (strstr(data->value, others[i]))
      orr_launch_draft_judge(draft, data, ORR_LAUNCH_NOT_SIMULATED,
                             "'%s': prompts are drawn by prompt_tokens alone", others[i]);
}

/* What --rate-type throughput has in flight unless --rate says so (guidellm/settings.py,
 * max_concurrency). */
enum { FULL_CLIENTS = 512 };

static void finish_guidellm(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *dialect = &orr_dialect_guidellm_bench;
  OrrLaunchSetting *type = orr_launch_draft_find(draft, dialect, "rate-type");
  const OrrLaunchSetting *rate_setting = orr_launch_draft_find(draft, dialect, "rate");
  const char *kind = type && type->value ? type->value : "sweep";
  const double rate = orr_dialect_benchmarks_number(draft, dialect, "rate", 1);
  const double seconds = orr_dialect_benchmarks_number(draft, dialect, "max-seconds", 0);
  const gboolean is_rate = strcmp(kind, "constant") == 0 || strcmp(kind, "poisson") == 0;
  const double requests =
      orr_dialect_benchmarks_number(draft, dialect, "max-requests", is_rate ? rate * seconds : 0);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (is_rate) {
    orr_launch_draft_set(draft, LOAD ".kind", kind, type, NULL);
    orr_launch_draft_set(draft, LOAD ".rate", g_ascii_formatd(text, sizeof text, "%.6g", rate),
                         rate_setting, NULL);
  } else {
    const gboolean is_loop = strcmp(kind, "concurrent") == 0,
                   is_full = strcmp(kind, "throughput") == 0;
    const double most = rate_setting || is_loop ? rate : FULL_CLIENTS;
    const double full = requests >= 1 ? MIN(most, requests) : most;
    orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", type, NULL);
    orr_launch_draft_set_number(draft, LOAD ".concurrency",
                                (gint64)MAX(is_full   ? full
                                            : is_loop ? rate
                                                      : 1,
                                            1),
                                is_loop || is_full ? rate_setting : NULL, NULL);
    if (!is_loop && !is_full && strcmp(kind, "synchronous") != 0)
      orr_launch_draft_remark(draft, "a %s is several loads: one client is taken", kind);
    if (type && strcmp(kind, "sweep") == 0)
      orr_launch_draft_judge(draft, type, ORR_LAUNCH_NOT_SIMULATED,
                             "several loads: one client is taken");
  }
  if (requests >= 1)
    orr_launch_draft_set_number(draft, "workload.requests", (gint64)requests, NULL,
                                "of the benchmark's length");
  OrrLaunchSetting *length = orr_launch_draft_find(draft, dialect, "max-seconds");
  if (length && requests < 1)
    orr_launch_draft_judge(
        draft, length, ORR_LAUNCH_NOT_SIMULATED,
        "how many requests a closed loop makes in this time is not known before: "
        "set workload.requests");
  set_tokens(draft, INPUT, "prompt_tokens");
  set_tokens(draft, OUTPUT, "output_tokens");
  judge_data(draft);
}

const OrrLaunchDialect orr_dialect_offline_bench = {
    .name = "offline-bench",
    .has_subcommands = TRUE,
    .is_for_all = TRUE,
    .kind = "serving",
    .finish = finish_offline,
};

const OrrLaunchDialect orr_dialect_dataset_bench = {
    .name = "dataset-bench",
    .sentence = "TensorRT-LLM's data sets: prepare_dataset.py, trtllm-bench prepare-dataset.",
    .table = "offline-bench",
    .has_subcommands = TRUE,
    .is_for_all = TRUE,
    .kind = "serving",
    .finish = finish_offline,
};

const OrrLaunchDialect orr_dialect_guidellm_bench = {
    .name = "guidellm-bench",
    .kind = "serving",
    .finish = finish_guidellm,
};

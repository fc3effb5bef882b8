/*
 * dialect_benchmarks.c - commands that put load on a server: rate or concurrency, lengths, number
 * of requests.
 *
 *   vllm bench serve, benchmark_serving.py    vllm/benchmarks/serve.py, datasets.py
 *   python -m sglang.bench_serving            sglang/bench_serving.py of v0.5.9
 *   aiperf profile, genai-perf profile        aiperf 0.13, genai-perf 0.0.16, their options
 *   run_benchmark_serving                     InferenceX, benchmarks/benchmark_lib.sh
 *
 * A concurrency without a rate is a closed loop. A rate is a Poisson process, or a gamma process
 * with vLLM's --burstiness. Neither: all requests at once, a closed loop of as many clients.
 *
 * Random lengths: vLLM's --random-range-ratio r draws from (1 - r) to (1 + r) times the length,
 * SGLang's and InferenceX's from r times the length up to it.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_serving.h"

#define LOAD "workload.load"
#define INPUT "workload.input"
#define OUTPUT "workload.output"

/* --- Load --- */

/* One tool's keys for the same things; NULL: it has none. */
typedef struct {
  const OrrLaunchDialect *dialect;
  const char *concurrency, *burstiness;
  gboolean is_sharegpt; /* takes ShareGPT where no data set is named */
  gboolean is_up_to;    /* --random-range-ratio draws up to the length */
  /* what the tool takes where the command says nothing; 0: it must say it */
  gint64 prompts, input, output;
  double ratio;
} Tool;

double orr_dialect_benchmarks_number(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                     const char *key, double fallback) {
  double number = 0;
  const OrrLaunchSetting *setting = key ? orr_launch_draft_find(draft, dialect, key) : NULL;
  if (!setting || !setting->value || setting->is_unresolved) return fallback;
  g_auto(GStrv) all = g_strsplit_set(setting->value, ", ", -1);
  const char *first = all[0] ? all[0] : "";
  if (all[0] && all[1])
    orr_launch_draft_remark(draft, "--%s has several values: the first is the load, %s of %s",
                            setting->key, first, setting->value);
  if (g_ascii_strcasecmp(first, "inf") == 0) return fallback;
  if (orr_launch_serving_number(first, &number) && number >= 0) return number;
  orr_launch_draft_bad(draft, setting, "'%s' is not a number", setting->value);
  return fallback;
}

static double number_of(OrrLaunchDraft *draft, const Tool *tool, const char *key, double fallback) {
  return orr_dialect_benchmarks_number(draft, tool->dialect, key, fallback);
}

static const OrrLaunchSetting *find(OrrLaunchDraft *draft, const Tool *tool, const char *key) {
  return key ? orr_launch_draft_find(draft, tool->dialect, key) : NULL;
}

static void set_real(OrrLaunchDraft *draft, const char *path, double number,
                     const OrrLaunchSetting *source) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  orr_launch_draft_set(draft, path, g_ascii_formatd(text, sizeof text, "%.6g", number), source,
                       NULL);
}

static void set_rate(OrrLaunchDraft *draft, const Tool *tool, double rate, double clients) {
  const OrrLaunchSetting *source = find(draft, tool, "request-rate");
  const double burstiness = number_of(draft, tool, tool->burstiness, 1);
  const char *pattern = orr_launch_draft_value(draft, tool->dialect, "arrival-pattern");
  const gboolean is_constant = g_strcmp0(pattern, "constant") == 0;
  const char *kind = is_constant ? "constant" : burstiness != 1 ? "gamma" : "poisson";
  orr_launch_draft_set(draft, LOAD ".kind", kind, find(draft, tool, tool->burstiness), NULL);
  set_real(draft, LOAD ".rate", rate, source);
  if (!is_constant && burstiness != 1)
    set_real(draft, LOAD ".burstiness", burstiness, find(draft, tool, tool->burstiness));
  if (clients > 0)
    set_real(draft, "workload.max-concurrency", clients, find(draft, tool, tool->concurrency));
}

/* The tools refuse 0 here, or divide by it. */
static void refuse_zeros(OrrLaunchDraft *draft, const Tool *tool) {
  const char *const keys[] = {"request-rate", "num-prompts", tool->burstiness};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (find(draft, tool, keys[i]) && number_of(draft, tool, keys[i], 1) == 0)
      orr_launch_draft_bad(draft, find(draft, tool, keys[i]), "0: the tool needs more than 0");
}

/* A data set whose prompts begin with one of several texts: as many prompts for each. */
typedef struct {
  const char *name;
  const char *prefixes, *each, *prefix, *input, *output; /* keys; each NULL: num-prompts in all */
  gint64 n_prefixes, n_each, n_prefix, n_input, n_output;
} Prefixed;

/* vllm/benchmarks/datasets.py, PrefixRepetitionRandomDataset; BenchArgs of bench_serving.py. */
static const Prefixed prefixed[] = {
    {"prefix_repetition", "prefix-repetition-num-prefixes", NULL, "prefix-repetition-prefix-len",
     "prefix-repetition-suffix-len", "prefix-repetition-output-len", 10, 0, 256, 256, 128},
    {"generated-shared-prefix", "gsp-num-groups", "gsp-prompts-per-group", "gsp-system-prompt-len",
     "gsp-question-len", "gsp-output-len", 64, 16, 2048, 128, 256},
};

static const Prefixed *prefixed_of(OrrLaunchDraft *draft, const Tool *tool) {
  const char *name = orr_launch_draft_value(draft, tool->dialect, "dataset-name");
  for (guint i = 0; i < G_N_ELEMENTS(prefixed); i++)
    if (g_strcmp0(name, prefixed[i].name) == 0) return &prefixed[i];
  return NULL;
}

/* @ret_source: what says so; NULL: nothing does. */
static double count_prompts(OrrLaunchDraft *draft, const Tool *tool,
                            const OrrLaunchSetting **ret_source) {
  const Prefixed *set = prefixed_of(draft, tool);
  const char *key = set && set->each ? set->each : "num-prompts";
  double n = number_of(draft, tool, key, (double)(set && set->each ? set->n_each : tool->prompts));
  *ret_source = find(draft, tool, key);
  if (!set) return n;
  const double prefixes = fmax(number_of(draft, tool, set->prefixes, (double)set->n_prefixes), 1);
  if (!set->each) n = floor(n / prefixes);
  if (n < 1 && *ret_source)
    orr_launch_draft_bad(draft, *ret_source, "fewer prompts than the %.0f prefixes", prefixes);
  return n * prefixes;
}

static void set_load(OrrLaunchDraft *draft, const Tool *tool) {
  const double rate = number_of(draft, tool, "request-rate", 0);
  const double clients = number_of(draft, tool, tool->concurrency, 0);
  const OrrLaunchSetting *count;
  const double prompts = count_prompts(draft, tool, &count);
  refuse_zeros(draft, tool);
  if (rate > 0) {
    set_rate(draft, tool, rate, clients);
  } else if (clients > 0) {
    orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", NULL, NULL);
    set_real(draft, LOAD ".concurrency", clients, find(draft, tool, tool->concurrency));
  } else {
    orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", NULL, "no rate: all at once");
    orr_launch_draft_set_number(draft, LOAD ".concurrency", (gint64)MAX(prompts, 1), count, NULL);
  }
  if (prompts > 0)
    orr_launch_draft_set_number(draft, "workload.requests", (gint64)prompts, count,
                                count ? NULL : "the tool's default");
}

/* --- Lengths --- */

/* The mean lengths of ShareGPT's conversations: Kwon et al. 2023, arXiv 2309.06180, figure 11. */
enum { SHAREGPT_INPUT = 161, SHAREGPT_OUTPUT = 338 };

static void set_sharegpt(OrrLaunchDraft *draft, const Tool *tool) {
  static const char *const unused[] = {"random-input-len", "random-output-len",
                                       "random-range-ratio", NULL};
  for (const char *const *key = unused; *key; key++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, tool->dialect, *key);
    if (setting && strstr(setting->key, "random"))
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                             "only with --dataset-name random: ShareGPT is the default");
  }
  static const char why[] = "mean of ShareGPT (arXiv 2309.06180); the file has the lengths";
  const OrrLaunchSetting *fixed = find(draft, tool, "sharegpt-output-len");
  if (fixed && strstr(fixed->key, "random")) fixed = NULL;
  const double output =
      number_of(draft, tool, fixed ? "sharegpt-output-len" : NULL, SHAREGPT_OUTPUT);
  orr_launch_draft_set(draft, INPUT ".kind", "exponential", find(draft, tool, "dataset-name"),
                       NULL);
  orr_launch_draft_set_number(draft, INPUT ".tokens", SHAREGPT_INPUT, NULL, why);
  if (!fixed) orr_launch_draft_set(draft, OUTPUT ".kind", "exponential", NULL, NULL);
  orr_launch_draft_set_number(draft, OUTPUT ".tokens", (gint64)output, fixed, fixed ? NULL : why);
  orr_launch_draft_remark(draft, "lengths are drawn around the means of ShareGPT");
}

static void set_lengths(OrrLaunchDraft *draft, const Tool *tool, const char *path, const char *key,
                        gint64 fallback, const char *spread_key) {
  const OrrLaunchSetting *source = find(draft, tool, key);
  const OrrLaunchSetting *spread = find(draft, tool, spread_key);
  const double mean = number_of(draft, tool, key, (double)fallback);
  const double ratio = number_of(draft, tool, spread_key, tool->ratio);
  const gboolean is_normal = spread_key && strstr(spread_key, "stddev");
  const char *kind = is_normal ? "normal" : tool->is_up_to ? "uniform-up-to" : "uniform";
  g_autofree char *kind_path = g_strconcat(path, ".kind", NULL);
  g_autofree char *tokens_path = g_strconcat(path, ".tokens", NULL);
  g_autofree char *ratio_path = g_strconcat(path, is_normal ? ".sigma" : ".ratio", NULL);
  const gboolean is_drawn = tool->is_up_to ? ratio < 1 : ratio > 0;
  if (mean < 1) {
    g_autofree char *question =
        g_strdup_printf("how long are %s? Add %s.tokens to the scenario's load or --%s",
                        strcmp(path, INPUT) == 0 ? "prompts" : "outputs", path, key);
    orr_launch_draft_assume(draft, tokens_path, "1024", "since the benchmark's line has no length",
                            question);
    return;
  }
  if (is_drawn) orr_launch_draft_set(draft, kind_path, kind, NULL, NULL);
  orr_launch_draft_set_number(draft, tokens_path, (gint64)mean, source,
                              source ? NULL : "the tool's default");
  if (is_drawn) set_real(draft, ratio_path, is_normal ? ratio / mean : ratio, spread);
}

/* vllm/benchmarks/datasets.py, SonnetDataset: 550, 150 and 200 tokens; the input's lines include
 * the prefix's, which a scenario counts separately. */
static void set_sonnet(OrrLaunchDraft *draft, const Tool *tool) {
  const OrrLaunchSetting *input = find(draft, tool, "sonnet-input-len");
  const OrrLaunchSetting *prefix = find(draft, tool, "sonnet-prefix-len");
  const double n_prefix = number_of(draft, tool, "sonnet-prefix-len", 200);
  const double n_input = number_of(draft, tool, "sonnet-input-len", 550);
  if (n_input <= n_prefix)
    orr_launch_draft_bad(draft, input ? input : prefix,
                         "the input is not longer than its prefix of %.0f tokens", n_prefix);
  orr_launch_draft_set_number(draft, INPUT ".tokens", (gint64)(n_input - n_prefix), input,
                              "less the prefix");
  set_lengths(draft, tool, OUTPUT, "sonnet-output-len", 150, NULL);
  orr_launch_draft_set_number(draft, "workload.shared-prefix", (gint64)n_prefix, prefix, NULL);
}

static void set_number(OrrLaunchDraft *draft, const Tool *tool, const char *path, const char *key,
                       gint64 fallback) {
  const OrrLaunchSetting *source = find(draft, tool, key);
  orr_launch_draft_set_number(draft, path, (gint64)number_of(draft, tool, key, (double)fallback),
                              source, source ? NULL : "the tool's default");
}

static void set_prefixed(OrrLaunchDraft *draft, const Tool *tool, const Prefixed *set) {
  set_number(draft, tool, INPUT ".tokens", set->input, set->n_input);
  set_number(draft, tool, OUTPUT ".tokens", set->output, set->n_output);
  set_number(draft, tool, "workload.shared-prefix", set->prefix, set->n_prefix);
  set_number(draft, tool, "workload.distinct-prefixes", set->prefixes, set->n_prefixes);
}

static gboolean is_of_sharegpt(OrrLaunchDraft *draft, const Tool *tool) {
  const char *name = orr_launch_draft_value(draft, tool->dialect, "dataset-name");
  if (!name && tool->is_sharegpt) return TRUE;
  return g_strcmp0(name, "sharegpt") == 0;
}

static void judge_dataset(OrrLaunchDraft *draft, const Tool *tool) {
  static const char *const known[] = {"random",   "random-ids", "random-mm",
                                      "sharegpt", "sonnet",     NULL};
  OrrLaunchSetting *name = orr_launch_draft_find(draft, tool->dialect, "dataset-name");
  if (!name || !name->value || g_strv_contains(known, name->value) || prefixed_of(draft, tool))
    return;
  orr_launch_draft_judge(draft, name, ORR_LAUNCH_NOT_SIMULATED,
                         "lengths of this data set: the given ones, otherwise the default's");
}

static void finish_random(OrrLaunchDraft *draft, const Tool *tool) {
  const char *dataset = orr_launch_draft_value(draft, tool->dialect, "dataset-name");
  const gboolean is_sonnet = g_strcmp0(dataset, "sonnet") == 0;
  const Prefixed *set = prefixed_of(draft, tool);
  set_load(draft, tool);
  judge_dataset(draft, tool);
  if (g_strcmp0(dataset, "random-mm") == 0)
    set_number(draft, tool, "workload.images", "random-mm-base-items-per-request", 1);
  if (set) {
    set_prefixed(draft, tool, set);
  } else if (is_of_sharegpt(draft, tool)) {
    set_sharegpt(draft, tool);
  } else if (is_sonnet) {
    set_sonnet(draft, tool);
  } else {
    set_lengths(draft, tool, INPUT, "random-input-len", tool->input, "random-range-ratio");
    set_lengths(draft, tool, OUTPUT, "random-output-len", tool->output, "random-range-ratio");
  }
}

/* What tokens are drawn from. The client asks for the likeliest alone (--temperature 0) where the
 * line does not say, which sorts nothing (benchmark_serving.py: "Default to greedy decoding"). */
static void set_sampling(OrrLaunchDraft *draft, const OrrLaunchDialect *own) {
  static const struct {
    const char *key;
    double all_below, all_from; /* values that keep all tokens */
  } rows[] = {{"top-p", 0, 1}, {"top-k", 1, INFINITY}};
  const char *heat = orr_launch_draft_value(draft, own, "temperature");
  const gboolean is_greedy = !heat || !(g_ascii_strtod(heat, NULL) > 0);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, rows[i].key);
    const double value = setting && setting->value ? g_ascii_strtod(setting->value, NULL) : NAN;
    if (!(value >= rows[i].all_below && value < rows[i].all_from)) continue;
    if (is_greedy)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "no --temperature: greedy");
    else
      orr_launch_draft_set(draft, "workload.sampling", "top-p", setting, NULL);
  }
}

static void finish_vllm(OrrLaunchDraft *draft) {
  const Tool tool = {.dialect = &orr_dialect_vllm_bench,
                     .concurrency = "max-concurrency",
                     .burstiness = "burstiness",
                     .prompts = 1000,
                     .input = 1024,
                     .output = 128};
  set_sampling(draft, tool.dialect);
  finish_random(draft, &tool);
}

static void finish_inferencex(OrrLaunchDraft *draft) {
  const Tool tool = {.dialect = &orr_dialect_inferencex_bench,
                     .concurrency = "max-concurrency",
                     .is_up_to = TRUE,
                     .ratio = 1};
  finish_random(draft, &tool);
}

void orr_dialect_benchmarks_sglang(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  const Tool tool = {.dialect = dialect,
                     .concurrency = "max-concurrency",
                     .is_sharegpt = TRUE,
                     .is_up_to = TRUE,
                     .prompts = 1000,
                     .input = 1024,
                     .output = 1024};
  finish_random(draft, &tool);
}

static void finish_sglang(OrrLaunchDraft *draft) {
  orr_dialect_benchmarks_sglang(draft, &orr_dialect_sglang_bench);
}

static void finish_aiperf(OrrLaunchDraft *draft) {
  const Tool tool = {.dialect = &orr_dialect_aiperf_bench,
                     .concurrency = "concurrency",
                     .burstiness = "arrival-smoothness",
                     .input = 550};
  set_load(draft, &tool);
  set_lengths(draft, &tool, INPUT, "synthetic-input-tokens-mean", tool.input, "isl-stddev");
  set_lengths(draft, &tool, OUTPUT, "output-tokens-mean", tool.output, "osl-stddev");
}

/* --- Goodput --- */

/* One bound, "ttft:2000", in milliseconds. FALSE: no metric that a scenario has. */
static gboolean set_bound(OrrLaunchDraft *draft, OrrLaunchSetting *setting, const char *word) {
  static const char *const metrics[][2] = {
      {"ttft", "ttft"},          {"time_to_first_token", "ttft"}, {"tpot", "tpot"},
      {"e2el", "e2e"},           {"inter_token_latency", "tpot"}, /* a mean of each request */
      {"request_latency", "e2e"}};
  g_auto(GStrv) halves = g_strsplit(word, ":", 2);
  double bound = 0;
  guint i = 0;
  while (i < G_N_ELEMENTS(metrics) && strcmp(halves[0], metrics[i][0]) != 0) i++;
  if (!halves[1] || !orr_launch_serving_number(halves[1], &bound) || bound <= 0) {
    orr_launch_draft_bad(draft, setting, "'%s' is not METRIC:MILLISECONDS", word);
    return TRUE;
  }
  if (i == G_N_ELEMENTS(metrics)) return FALSE;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *path = g_strconcat("workload.slo.", metrics[i][1], NULL);
  g_autofree char *value =
      g_strconcat(g_ascii_formatd(text, sizeof text, "%.15g", bound), " ms", NULL);
  orr_launch_draft_set(draft, path, value, setting, NULL);
  return TRUE;
}

/* Of vLLM: ttft, tpot, e2el (vllm/benchmarks/serve.py, parse_goodput); of AIPerf: by tags. */
static void convert_goodput(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            const OrrLaunchRule *rule) {
  g_auto(GStrv) words = g_strsplit(setting->value ? setting->value : "", " ", -1);
  for (char **word = words; *word; word++)
    if (**word && !set_bound(draft, setting, *word))
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "'%s' bounds no metric of workload.slo", *word);
}

static const OrrLaunchConverter converters[] = {{"goodput", convert_goodput}, {NULL, NULL}};

/* --- Dialects --- */

const OrrLaunchDialect orr_dialect_vllm_bench = {
    .name = "vllm-bench",
    .port = "8000",
    .converters = converters,
    .kind = "serving",
    .finish = finish_vllm,
};

const OrrLaunchDialect orr_dialect_inferencex_bench = {
    .name = "inferencex-bench",
    .sentence = "InferenceX's client: run_benchmark_serving, benchmark_serving.py of 2024.",
    .kind = "serving",
    .table = "vllm-bench",
    .converters = converters,
    .finish = finish_inferencex,
};

const OrrLaunchDialect orr_dialect_sglang_bench = {
    .name = "sglang-bench",
    .port = "30000",
    .takes_no_words = TRUE,
    .kind = "serving",
    .finish = finish_sglang,
};

const OrrLaunchDialect orr_dialect_aiperf_bench = {
    .name = "aiperf-bench",
    .converters = converters,
    .kind = "serving",
    .finish = finish_aiperf,
};

const OrrLaunchDialect orr_dialect_other_client = {
    .name = "other-client",
    .is_for_all = TRUE,
    .has_subcommands = TRUE,
    .kind = "serving",
};

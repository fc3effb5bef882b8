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
#include <string.h>

#include "sim/import/launch/dialects_serving.h"
#include "sim/import/launch/launch_serving.h"

#define LATER orr_launch_convert_later
#define LOAD "workload.load"
#define INPUT "workload.input"
#define OUTPUT "workload.output"
#define CLIENT "how the client measures and reports"

/* --- Rules --- */

static const OrrLaunchRule vllm_rules[] = {
    ORR_SERVING_MAPS(VALUE, "model m", "model", orr_launch_serving_client_model),
    ORR_SERVING_MAPS(VALUE, "request-rate", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "max-concurrency", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "burstiness", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "num-prompts", "workload.requests", LATER),
    ORR_SERVING_MAPS(VALUE, "dataset-name", INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-input-len input-len", INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-output-len output-len sharegpt-output-len", OUTPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-range-ratio", INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-prefix-len", "workload.shared-prefix",
                     orr_launch_serving_count),
    ORR_SERVING_MAPS(VALUE, "sonnet-input-len", INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "sonnet-output-len", OUTPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "sonnet-prefix-len", "workload.shared-prefix", LATER),
    ORR_SERVING_WARNS(VALUE,
                      "ramp-up-strategy ramp-up-start-rps ramp-up-end-rps"
                      " prefix-repetition-prefix-len prefix-repetition-suffix-len "
                      "prefix-repetition-num-prefixes prefix-repetition-output-len "
                      "random-batch-size random-num-replicas lora-modules random-cv "
                      "random-mm-bucket-config random-mm-base-items-per-request",
                      "1", "this detail of the load"),
    ORR_SERVING_WARNS(VALUE, "use-beam-search best-of n logprobs", "1", "what the client asks for"),
    ORR_SERVING_IGNORES(VALUE,
                        "backend endpoint endpoint-type base-url host port served-model-name "
                        "tokenizer tokenizer-mode seed percentile-metrics metric-percentiles "
                        "goodput result-dir result-filename metadata label dataset-path "
                        "hf-name hf-split hf-subset hf-output-len custom-output-len header "
                        "temperature top-p top-k min-p extra-body ready-check-timeout-sec "
                        "num-warmups request-id-prefix plot-timeline frequency-penalty "
                        "presence-penalty repetition-penalty server-log server-pid",
                        CLIENT),
    ORR_SERVING_IGNORES(FLAG,
                        "save-result save-detailed append-result ignore-eos trust-remote-code "
                        "disable-tqdm profile disable-shuffle no-stream insecure "
                        "skip-chat-template use-chat-template no-oversample plot-dataset-stats "
                        "skip-test-prompt non-streaming streaming no-test-input",
                        CLIENT),
};

static const OrrLaunchRule sglang_rules[] = {
    ORR_SERVING_MAPS(VALUE, "model model-path", "model", orr_launch_serving_client_model),
    ORR_SERVING_MAPS(VALUE, "request-rate", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "max-concurrency", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "num-prompts num-prompt", "workload.requests", LATER),
    ORR_SERVING_MAPS(VALUE, "dataset-name", INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-input-len random-input", INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-output-len random-output sharegpt-output-len", OUTPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "random-range-ratio", INPUT, LATER),
    ORR_SERVING_WARNS(VALUE,
                      "gsp-num-groups gsp-prompts-per-group gsp-system-prompt-len "
                      "gsp-question-len gsp-output-len gsp-range-ratio gsp-num-turns "
                      "mooncake-slowdown-factor mooncake-num-rounds mooncake-workload "
                      "lora-request-distribution lora-zipf-alpha",
                      NULL, "prompts of this data set: set load, input and output"),
    ORR_SERVING_WARNS(FLAG,
                      "use-trace-timestamps gsp-fast-prepare gsp-send-routing-key "
                      "gsp-ordered",
                      NULL, "prompts of this data set: set load, input and output"),
    ORR_SERVING_IGNORES(VALUE,
                        "backend base-url host port dataset-path tokenizer served-model-name seed "
                        "sharegpt-context-len image-count image-resolution image-format "
                        "image-content output-file extra-request-body lora-name prompt-suffix "
                        "tag header warmup-requests profile-activities profile-num-steps "
                        "profile-output-dir profile-prefix profile-stages profile-prefill-url "
                        "profile-decode-url random-image-count",
                        CLIENT),
    ORR_SERVING_IGNORES(FLAG,
                        "output-details print-requests disable-tqdm disable-stream return-logprob "
                        "return-routed-experts disable-ignore-eos apply-chat-template profile "
                        "plot-throughput profile-by-stage pd-separated flush-cache "
                        "tokenize-prompt trust-remote-code",
                        CLIENT),
};

static const OrrLaunchRule aiperf_rules[] = {
    ORR_SERVING_MAPS(VALUE, "model m model-names", "model", orr_launch_serving_client_model),
    ORR_SERVING_MAPS(VALUE, "request-rate", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "concurrency", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "arrival-smoothness vllm-burstiness", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "request-rate-mode arrival-pattern", LOAD, LATER),
    ORR_SERVING_MAPS(VALUE, "request-count num-requests num-prompts", "workload.requests", LATER),
    ORR_SERVING_MAPS(VALUE,
                     "synthetic-input-tokens-mean isl prompt-input-tokens-mean input-tokens-mean",
                     INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "synthetic-input-tokens-stddev isl-stddev prompt-input-tokens-stddev",
                     INPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "output-tokens-mean osl prompt-output-tokens-mean", OUTPUT, LATER),
    ORR_SERVING_MAPS(VALUE, "output-tokens-stddev osl-stddev prompt-output-tokens-stddev", OUTPUT,
                     LATER),
    ORR_SERVING_MAPS(VALUE, "shared-system-prompt-length", "workload.shared-prefix",
                     orr_launch_serving_count),
    ORR_SERVING_WARNS(VALUE,
                      "num-prefix-prompts prefix-prompt-length prefix-prompt-pool-size "
                      "prompt-prefix-length prompt-prefix-pool-size session-turns-mean "
                      "session-turns-stddev session-turn-delay-mean session-turn-delay-stddev "
                      "session-delay-ratio session-concurrency conversation-num "
                      "conversation-turn-mean num-sessions num-conversations benchmark-duration "
                      "prefill-concurrency concurrency-ramp-duration request-rate-ramp-duration "
                      "public-dataset custom-dataset-type input-file seq-dist "
                      "sequence-distribution request-cancellation-rate user-centric-rate "
                      "num-users isl-block-size fixed-schedule-start-offset "
                      "fixed-schedule-end-offset dataset-sampling-strategy batch-size-image "
                      "image-width-mean image-height-mean image-width-stddev image-height-stddev "
                      "audio-length-mean",
                      "0 1", "this detail of the load"),
    ORR_SERVING_WARNS(FLAG, "fixed-schedule", NULL, "times of requests from a file"),
    ORR_SERVING_IGNORES(VALUE,
                        "tokenizer tokenizer-revision endpoint endpoint-type u url base-url header "
                        "h service-kind backend random-seed measurement-interval p "
                        "stability-percentage s warmup-request-count num-warmup-requests "
                        "warmup-concurrency warmup-duration warmup-request-rate extra-inputs "
                        "artifact-dir output-artifact-dir profile-export-file "
                        "profile-export-prefix export-level goodput num-dataset-entries "
                        "server-metrics-url server-metrics-urls server-metrics gpu-telemetry "
                        "api-key request-timeout-seconds workers-max max-workers "
                        "record-processors ui ui-type log-level url-strategy transport "
                        "connection-reuse-strategy model-selection-strategy image-format "
                        "audio-format grpc-method slice-duration num-profile-runs "
                        "wait-for-model-timeout max-threads request-parameter "
                        "percentile collection-interval benchmark-grace-period "
                        "warmup-grace-period",
                        CLIENT),
    ORR_SERVING_IGNORES(FLAG,
                        "streaming v verbose vv extra-verbose async tokenizer-trust-remote-code "
                        "output-tokens-mean-deterministic generate-plots use-server-token-count "
                        "no-gpu-telemetry no-server-metrics use-legacy-max-tokens "
                        "export-http-trace show-trace-timing enable-checkpointing "
                        "skip-endpoint-check per-chunk-usage trust-remote-code",
                        CLIENT),
};

/* --- Load --- */

/* One tool's keys for the same things; NULL: it has none. */
typedef struct {
  const OrrLaunchDialect *dialect;
  const char *concurrency, *burstiness, *input_spread, *output_spread;
  gboolean is_up_to; /* --random-range-ratio draws up to the length */
  /* what the tool takes where the command says nothing; 0: it must say it */
  gint64 prompts, input, output;
  double ratio;
} Tool;

/* The number that a key has; of several ("1,2,4": a sweep) the first. */
static double number_of(OrrLaunchDraft *draft, const Tool *tool, const char *key, double fallback) {
  double number = 0;
  const OrrLaunchSetting *setting = key ? orr_launch_draft_find(draft, tool->dialect, key) : NULL;
  if (!setting || !setting->value || setting->is_unresolved) return fallback;
  g_auto(GStrv) all = g_strsplit_set(setting->value, ", ", -1);
  const char *first = all[0] ? all[0] : "";
  if (all[0] && all[1])
    orr_launch_draft_remark(draft, "--%s has several values: the first is the load", setting->key);
  if (g_ascii_strcasecmp(first, "inf") == 0) return fallback;
  if (orr_launch_serving_number(first, &number) && number >= 0) return number;
  orr_launch_draft_bad(draft, setting, "'%s' is not a number", setting->value);
  return fallback;
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

static void set_load(OrrLaunchDraft *draft, const Tool *tool) {
  const double rate = number_of(draft, tool, "request-rate", 0);
  const double clients = number_of(draft, tool, tool->concurrency, 0);
  const OrrLaunchSetting *count = find(draft, tool, "num-prompts");
  const double prompts = number_of(draft, tool, "num-prompts", (double)tool->prompts);
  if (rate > 0) {
    set_rate(draft, tool, rate, clients);
  } else if (clients > 0) {
    orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", NULL, NULL);
    set_real(draft, LOAD ".concurrency", clients, find(draft, tool, tool->concurrency));
  } else {
    orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", NULL, "no rate: all at once");
    orr_launch_serving_set(draft, LOAD ".concurrency", (gint64)MAX(prompts, 1), count, NULL);
  }
  if (prompts > 0)
    orr_launch_serving_set(draft, "workload.requests", (gint64)prompts, count,
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
  const double output = number_of(draft, tool, "sharegpt-output-len", SHAREGPT_OUTPUT);
  orr_launch_draft_set(draft, INPUT ".kind", "exponential", find(draft, tool, "dataset-name"),
                       NULL);
  orr_launch_serving_set(draft, INPUT ".tokens", SHAREGPT_INPUT, NULL, why);
  if (!fixed) orr_launch_draft_set(draft, OUTPUT ".kind", "exponential", NULL, NULL);
  orr_launch_serving_set(draft, OUTPUT ".tokens", (gint64)output, fixed, fixed ? NULL : why);
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
    orr_launch_draft_ask(draft, "how long are %s? Add %s.tokens to the scenario's load or --%s",
                         strcmp(path, INPUT) == 0 ? "prompts" : "outputs", path, key);
    return;
  }
  if (is_drawn) orr_launch_draft_set(draft, kind_path, kind, NULL, NULL);
  orr_launch_serving_set(draft, tokens_path, (gint64)mean, source,
                         source ? NULL : "the tool's default");
  if (is_drawn) set_real(draft, ratio_path, is_normal ? ratio / mean : ratio, spread);
}

static gboolean is_of_sharegpt(OrrLaunchDraft *draft, const Tool *tool) {
  const char *name = orr_launch_draft_value(draft, tool->dialect, "dataset-name");
  if (!name && tool->dialect == &orr_dialect_sglang_bench) return TRUE;
  return g_strcmp0(name, "sharegpt") == 0;
}

static void judge_dataset(OrrLaunchDraft *draft, const Tool *tool) {
  static const char *const known[] = {"random", "random-ids", "sharegpt", "sonnet", NULL};
  OrrLaunchSetting *name = orr_launch_draft_find(draft, tool->dialect, "dataset-name");
  if (!name || !name->value || g_strv_contains(known, name->value)) return;
  orr_launch_draft_judge(draft, name, ORR_LAUNCH_NOT_SIMULATED,
                         "lengths of this data set: those given beside it, else the default's");
}

static void finish_random(OrrLaunchDraft *draft, const Tool *tool) {
  const gboolean is_sonnet =
      g_strcmp0(orr_launch_draft_value(draft, tool->dialect, "dataset-name"), "sonnet") == 0;
  set_load(draft, tool);
  judge_dataset(draft, tool);
  if (is_of_sharegpt(draft, tool)) {
    set_sharegpt(draft, tool);
  } else if (is_sonnet) { /* vllm/benchmarks/datasets.py, SonnetDataset: 550, 150, 200 */
    set_lengths(draft, tool, INPUT, "sonnet-input-len", 550, NULL);
    set_lengths(draft, tool, OUTPUT, "sonnet-output-len", 150, NULL);
    orr_launch_serving_set(draft, "workload.shared-prefix",
                           (gint64)number_of(draft, tool, "sonnet-prefix-len", 200),
                           find(draft, tool, "sonnet-prefix-len"), NULL);
  } else {
    set_lengths(draft, tool, INPUT, "random-input-len", tool->input, "random-range-ratio");
    set_lengths(draft, tool, OUTPUT, "random-output-len", tool->output, "random-range-ratio");
  }
}

static void finish_vllm(OrrLaunchDraft *draft) {
  const Tool tool = {.dialect = &orr_dialect_vllm_bench,
                     .concurrency = "max-concurrency",
                     .burstiness = "burstiness",
                     .prompts = 1000,
                     .input = 1024,
                     .output = 128};
  finish_random(draft, &tool);
}

static void finish_inferencex(OrrLaunchDraft *draft) {
  const Tool tool = {.dialect = &orr_dialect_inferencex_bench,
                     .concurrency = "max-concurrency",
                     .is_up_to = TRUE,
                     .ratio = 1};
  finish_random(draft, &tool);
}

static void finish_sglang(OrrLaunchDraft *draft) {
  const Tool tool = {.dialect = &orr_dialect_sglang_bench,
                     .concurrency = "max-concurrency",
                     .is_up_to = TRUE,
                     .prompts = 1000,
                     .input = 1024,
                     .output = 1024};
  finish_random(draft, &tool);
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

/* --- Dialects --- */

const OrrLaunchDialect orr_dialect_vllm_bench = {
    .name = "vllm-bench",
    .sentence = "vLLM's client: vllm bench serve, benchmark_serving.py.",
    .kind = "serving",
    .rules = vllm_rules,
    .n_rules = G_N_ELEMENTS(vllm_rules),
    .finish = finish_vllm,
};

const OrrLaunchDialect orr_dialect_inferencex_bench = {
    .name = "inferencex-bench",
    .sentence = "InferenceX's client: run_benchmark_serving, benchmark_serving.py of 2024.",
    .kind = "serving",
    .rules = vllm_rules,
    .n_rules = G_N_ELEMENTS(vllm_rules),
    .finish = finish_inferencex,
};

const OrrLaunchDialect orr_dialect_sglang_bench = {
    .name = "sglang-bench",
    .sentence = "SGLang's client: python -m sglang.bench_serving.",
    .kind = "serving",
    .rules = sglang_rules,
    .n_rules = G_N_ELEMENTS(sglang_rules),
    .finish = finish_sglang,
};

const OrrLaunchDialect orr_dialect_aiperf_bench = {
    .name = "aiperf-bench",
    .sentence = "NVIDIA's clients: aiperf profile, genai-perf profile.",
    .kind = "serving",
    .rules = aiperf_rules,
    .n_rules = G_N_ELEMENTS(aiperf_rules),
    .finish = finish_aiperf,
};

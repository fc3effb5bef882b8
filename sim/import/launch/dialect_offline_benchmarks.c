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
#include <string.h>

#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_serving.h"

#define LOAD "workload.load"
#define INPUT "workload.input"
#define OUTPUT "workload.output"

/* --- Offline --- */

/* The number of the first of several words ("1 16 64"); @fallback: absent. */
static double number_of(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *key,
                        double fallback) {
  double number = 0;
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, key);
  if (!setting || !setting->value || setting->is_unresolved) return fallback;
  g_auto(GStrv) words = g_strsplit_set(setting->value, " ,", 2);
  if (orr_launch_serving_number(words[0], &number) && number >= 0) return number;
  orr_launch_draft_bad(draft, setting, "'%s' is not a number", setting->value);
  return fallback;
}

static void set_length(OrrLaunchDraft *draft, const char *path, const char *key,
                       const char *spread_key) {
  const OrrLaunchDialect *dialect = &orr_dialect_offline_bench;
  const OrrLaunchSetting *source = orr_launch_draft_find(draft, dialect, key);
  const double mean = number_of(draft, dialect, key, 0);
  const double spread = number_of(draft, dialect, spread_key, 0);
  g_autofree char *tokens = g_strconcat(path, ".tokens", NULL);
  g_autofree char *kind = g_strconcat(path, ".kind", NULL);
  g_autofree char *sigma = g_strconcat(path, ".sigma", NULL);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (mean < 1) {
    orr_launch_serving_set(draft, tokens, 1024, NULL, "assumed");
    orr_launch_draft_remark(draft, "no lengths: prompts or outputs of 1,024 tokens are assumed");
    return;
  }
  if (spread > 0) orr_launch_draft_set(draft, kind, "normal", NULL, NULL);
  orr_launch_serving_set(draft, tokens, (gint64)mean, source, NULL);
  if (spread > 0)
    orr_launch_draft_set(draft, sigma, g_ascii_formatd(text, sizeof text, "%.6g", spread / mean),
                         orr_launch_draft_find(draft, dialect, spread_key), NULL);
}

static void finish_offline(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *dialect = &orr_dialect_offline_bench;
  const OrrLaunchSetting *batch = orr_launch_draft_find(draft, dialect, "batch-size");
  const OrrLaunchSetting *clients = orr_launch_draft_find(draft, dialect, "concurrency");
  const OrrLaunchSetting *count = orr_launch_draft_find(draft, dialect, "num-prompts");
  const double size = number_of(draft, dialect, "batch-size", 0);
  const double concurrency = number_of(draft, dialect, "concurrency", 0);
  const double requests = number_of(draft, dialect, "num-prompts", size > 0 ? size : 1000);
  const double at_once = concurrency > 0 ? concurrency : size > 0 ? size : requests;
  orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", NULL,
                       concurrency > 0 ? NULL : "all requests at once");
  orr_launch_serving_set(draft, LOAD ".concurrency", (gint64)MAX(at_once, 1),
                         concurrency > 0 ? clients
                         : size > 0      ? batch
                                         : count,
                         NULL);
  orr_launch_serving_set(draft, "workload.requests", (gint64)MAX(requests, 1), count,
                         count      ? NULL
                         : size > 0 ? "one for each place of the batch"
                                    : "assumed");
  set_length(draft, INPUT, "input-len", "input-stdev");
  set_length(draft, OUTPUT, "output-len", "output-stdev");
}

/* --- GuideLLM --- */

/* "prompt_tokens=256,output_tokens=128", or the same as JSON. 0: @key is not in it. */
static gint64 tokens_in(const char *data, const char *key) {
  const char *at = data ? strstr(data, key) : NULL;
  if (!at) return 0;
  at += strlen(key);
  at += strspn(at, "\"'=: ");
  return g_ascii_strtoll(at, NULL, 10);
}

static void set_tokens(OrrLaunchDraft *draft, const char *path, const char *key) {
  const OrrLaunchSetting *data = orr_launch_draft_find(draft, &orr_dialect_guidellm_bench, "data");
  const gint64 tokens = tokens_in(data ? data->value : NULL, key);
  g_autofree char *tokens_path = g_strconcat(path, ".tokens", NULL);
  orr_launch_serving_set(draft, tokens_path, tokens > 0 ? tokens : 1024, tokens > 0 ? data : NULL,
                         tokens > 0 ? NULL : "assumed");
  if (tokens <= 0)
    orr_launch_draft_remark(draft, "no lengths: prompts or outputs of 1,024 tokens are assumed");
}

static void finish_guidellm(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *dialect = &orr_dialect_guidellm_bench;
  OrrLaunchSetting *type = orr_launch_draft_find(draft, dialect, "rate-type");
  const OrrLaunchSetting *rate_setting = orr_launch_draft_find(draft, dialect, "rate");
  const char *kind = type && type->value ? type->value : "sweep";
  const double rate = number_of(draft, dialect, "rate", 1);
  const double seconds = number_of(draft, dialect, "max-seconds", 0);
  const gboolean is_rate = strcmp(kind, "constant") == 0 || strcmp(kind, "poisson") == 0;
  const double requests = number_of(draft, dialect, "max-requests", is_rate ? rate * seconds : 0);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (is_rate) {
    orr_launch_draft_set(draft, LOAD ".kind", kind, type, NULL);
    orr_launch_draft_set(draft, LOAD ".rate", g_ascii_formatd(text, sizeof text, "%.6g", rate),
                         rate_setting, NULL);
  } else {
    const gboolean is_loop = strcmp(kind, "concurrent") == 0;
    orr_launch_draft_set(draft, LOAD ".kind", "closed-loop", type, NULL);
    orr_launch_serving_set(draft, LOAD ".concurrency", is_loop ? (gint64)MAX(rate, 1) : 1,
                           is_loop ? rate_setting : NULL, NULL);
    if (!is_loop && strcmp(kind, "synchronous") != 0)
      orr_launch_draft_remark(draft, "a %s is several loads: one client is taken", kind);
  }
  if (requests >= 1)
    orr_launch_serving_set(draft, "workload.requests", (gint64)requests, NULL,
                           "of the benchmark's length");
  set_tokens(draft, INPUT, "prompt_tokens");
  set_tokens(draft, OUTPUT, "output_tokens");
}

const OrrLaunchDialect orr_dialect_offline_bench = {
    .name = "offline-bench",
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

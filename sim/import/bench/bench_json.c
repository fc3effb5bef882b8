/*
 * bench_json.c - results in JSON: vLLM's (--save-result; throughput's and latency's --output-json),
 * SGLang's (a line per run), AIPerf's and GenAI-Perf's ({unit, avg, p50 ...} per metric),
 * InferenceX's (seconds, without units in the names), GuideLLM's (an array `benchmarks`),
 * inference-perf's, trtllm-bench's (--report_json), LLMPerf's, Google's inference-benchmark's, and
 * llm-d's benchmark report, which is mostly YAML. Several objects may follow each other, or stand
 * in an array; vllm bench sweep writes them as a CSV (summary.csv), too, with a column for each
 * key.
 *
 * InferenceX has rates per GPU: the output's of the GPUs that decode, all tokens' of all GPUs.
 */
#include "sim/base/csv.h"
#include "sim/base/json.h"
#include "sim/base/yaml_foreign.h"
#include "sim/import/bench/bench.h"

enum { MOST_DEPTH = 6, MOST_KEYS = 20000 };

/* llm-d's report since 0.2 has its measurements below this, with names alike. */
static const char request_performance[] = "results.request_performance.aggregate.";

/* One object, flat: key -> text. */
typedef struct {
  GHashTable *texts;
  guint n;
} Flat;

/* llm-d's report: YAML with a version, a scenario and metrics, or results since 0.2. */
static gboolean is_report(const char *text) {
  return strstr(text, "time_to_first_token:") && !strstr(text, "{\"") &&
         (g_regex_match_simple("^metrics:", text, G_REGEX_MULTILINE, 0) ||
          strstr(text, "request_performance:"));
}

/* A CSV whose header has keys of vLLM's results. */
static gboolean is_csv(const char *text) {
  g_autofree char *header = g_strndup(text, strcspn(text, "\r\n"));
  return strstr(header, ",request_throughput,") && strstr(header, "_ttft_ms");
}

static gboolean recognise(const OrrBenchInput *input) {
  static const char *const signs[] = {"ttft_ms\"",
                                      "\"mean_ttft\"",
                                      "\"median_ttft\"",
                                      "\"time_to_first_token\"",
                                      "\"time_to_first_token_ms\"",
                                      "\"ttft\"",
                                      "_latency_ms\"",
                                      "\"requests_per_second\"",
                                      "\"avg_latency\"",
                                      "\"throughput_rps\"",
                                      "\"load_summary\"",
                                      "\"requests_per_sec\"",
                                      "\"results_ttft_s_mean\""};
  if (is_report(input->text) || is_csv(input->text)) return TRUE;
  const char *first = input->text + strspn(input->text, " \t\r\n");
  const gboolean is_json = *first == '{' || *first == '[' || strstr(input->text, "\n{") != NULL;
  for (guint i = 0; is_json && i < G_N_ELEMENTS(signs); i++)
    if (strstr(input->text, signs[i])) return TRUE;
  return FALSE;
}

static const char *text_of(const Flat *flat, const char *key) {
  return g_hash_table_lookup(flat->texts, key);
}

/* --- Flattening --- */

static void read_value(OrrJson *json, Flat *flat, const char *path, guint depth);

static void read_object(OrrJson *json, Flat *flat, const char *path, guint depth) {
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    g_autofree char *key = orr_json_key(json);
    g_autofree char *below = g_strdup_printf("%s%s%s", path, *path ? "." : "", key);
    read_value(json, flat, below, depth + 1);
  }
}

static void read_value(OrrJson *json, Flat *flat, const char *path, guint depth) {
  const char next = orr_json_peek(json);
  double number = 0;
  if (next == '{' && depth < MOST_DEPTH && flat->n < MOST_KEYS) {
    read_object(json, flat, path, depth);
  } else if (next == '"') {
    flat->n++;
    g_hash_table_replace(flat->texts, g_strdup(path), orr_json_text(json));
  } else if (next == '-' || g_ascii_isdigit(next)) {
    flat->n++;
    if (orr_json_number(json, &number))
      g_hash_table_replace(flat->texts, g_strdup(path), g_strdup_printf("%.17g", number));
  } else {
    orr_json_skip(json);
  }
}

/* --- Meaning --- */

/* For AIPerf's metrics, whose unit stands next to the numbers. */
static double unit_scale(const Flat *flat, const char *key) {
  const char *dot = strrchr(key, '.');
  g_autofree char *unit_key = g_strdup_printf("%.*s.unit", (int)(dot - key), key);
  const char *unit = text_of(flat, unit_key);
  if (!unit) { /* llm-d writes `units` */
    g_autofree char *units_key = g_strconcat(unit_key, "s", NULL);
    unit = text_of(flat, units_key);
  }
  if (!unit || g_ascii_strcasecmp(unit, "ms") == 0 || g_str_has_prefix(unit, "ms/")) return 1e-3;
  if (g_ascii_strcasecmp(unit, "ns") == 0) return 1e-9;
  return g_ascii_strcasecmp(unit, "us") == 0 ? 1e-6 : 1;
}

/* "PT1M49.97S": a duration as ISO 8601 writes it. */
static gboolean duration_of(const char *text, double *ret_seconds) {
  g_autoptr(GRegex) regex =
      g_regex_new("^PT(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9.]+)S)?$", 0, 0, NULL);
  g_autoptr(GMatchInfo) match = NULL;
  static const double units[] = {3600, 60, 1};
  if (strlen(text) > 64 || !g_regex_match(regex, text, 0, &match)) return FALSE;
  *ret_seconds = 0;
  for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
    g_autofree char *part = g_match_info_fetch(match, (int)i + 1);
    double number = 0;
    if (part && *part && !orr_bench_number(part, &number)) return FALSE;
    *ret_seconds += number * units[i];
  }
  return *ret_seconds > 0;
}

static const GArray *keys(void) {
  static GArray *all = NULL;
  if (!all) all = orr_bench_keys("bench_json", NULL);
  return all;
}

static void put_value(OrrBenchResult *result, const Flat *flat, const OrrBenchKey *key) {
  const char *text = text_of(flat, key->key);
  double number = 0;
  if (!text || !isnan(result->values[key->value])) return;
  if (key->value == ORR_BENCH_RATE && g_ascii_strcasecmp(text, "inf") == 0)
    result->values[key->value] = INFINITY;
  else if (orr_bench_number(text, &number) || duration_of(text, &number))
    result->values[key->value] =
        number * (key->scale > 0 ? key->scale : unit_scale(flat, key->key));
}

/* Means per request from the tokens of all requests. */
static void put_totals(OrrBenchResult *result, const Flat *flat) {
  static const struct {
    const char *key;
    int value;
  } totals[] = {{"total_input_tokens", ORR_BENCH_INPUT_TOKENS},
                {"total_output_tokens", ORR_BENCH_OUTPUT_TOKENS},
                {"metrics.total_input_tokens", ORR_BENCH_INPUT_TOKENS},
                {"metrics.total_output_token", ORR_BENCH_OUTPUT_TOKENS}};
  const double requests = result->values[ORR_BENCH_REQUESTS];
  double number = 0;
  for (guint i = 0; i < G_N_ELEMENTS(totals); i++) {
    const char *text = text_of(flat, totals[i].key);
    if (text && requests > 0 && orr_bench_number(text, &number))
      result->values[totals[i].value] = number / requests;
  }
}

/* GuideLLM's strategy says which load was asked; `args` until 0.3, `config` since. */
static void put_strategy(OrrBenchResult *result, const Flat *flat) {
  static const char *const places[] = {"args.strategy", "config.strategy", "scheduler.strategy"};
  static const struct {
    const char *key;
    int value;
  } asked[] = {{"streams", ORR_BENCH_CONCURRENCY},
               {"max_concurrency", ORR_BENCH_CONCURRENCY},
               {"rate", ORR_BENCH_RATE}};
  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autofree char *type_key = g_strconcat(places[i], ".type_", NULL);
    const char *type = text_of(flat, type_key);
    if (!type) continue;
    for (guint k = 0; k < G_N_ELEMENTS(asked); k++) {
      g_autofree char *key = g_strconcat(places[i], ".", asked[k].key, NULL);
      put_value(result, flat, &(OrrBenchKey){key, asked[k].value, 1});
    }
    if (strcmp(type, "synchronous") == 0) result->values[ORR_BENCH_CONCURRENCY] = 1;
    if (strcmp(type, "throughput") == 0) result->values[ORR_BENCH_RATE] = INFINITY;
    result->is_even = strcmp(type, "constant") == 0;
    return;
  }
}

static double number_of(const Flat *flat, const char *key) {
  const char *text = text_of(flat, key);
  double number = 0;
  return text && orr_bench_number(text, &number) ? number : NAN;
}

/* AIPerf's, by its names since 0.3 and before. */
static void put_pattern(OrrBenchResult *result, const Flat *flat) {
#define LOADGEN "input_config.loadgen."
  const char *pattern = text_of(flat, LOADGEN "arrival_pattern");
  if (!pattern) pattern = text_of(flat, LOADGEN "request_rate_mode");
  result->is_even = result->is_even || g_strcmp0(pattern, "constant") == 0;
  if (g_strcmp0(pattern, "gamma") == 0)
    result->burstiness = number_of(flat, LOADGEN "arrival_smoothness");
#undef LOADGEN
}

/* How the load was drawn, as vLLM (burstiness, ramps), AIPerf (patterns) and SGLang (lengths) write
 * it. */
static void put_drawn(OrrBenchResult *result, const Flat *flat) {
  result->burstiness = number_of(flat, "burstiness");
  put_pattern(result, flat);
  const char *backend = text_of(flat, "backend");
  if (!backend) backend = text_of(flat, "framework"); /* InferenceX */
  if (backend && !g_str_has_prefix(backend, "openai") && !g_str_has_prefix(backend, result->tool))
    result->server = g_strdup(backend);
  result->has_ramp = text_of(flat, "ramp_up_strategy") != NULL;
  if (strcmp(result->tool, "sglang") != 0) return;
  const char *dataset = text_of(flat, "dataset_name");
  if (dataset && !g_str_has_prefix(dataset, "random")) return;
  result->ratio = number_of(flat, "random_range_ratio");
  result->input_longest = number_of(flat, "random_input_len");
  result->output_longest = number_of(flat, "random_output_len");
}

/* InferenceX: the GPUs of one node's server, or of both roles. */
static void put_per_gpu(OrrBenchResult *result, const Flat *flat) {
  const double prefill = number_of(flat, "num_prefill_gpu"),
               decode = number_of(flat, "num_decode_gpu"), tp = number_of(flat, "tp");
  const gboolean is_split = prefill > 0 && decode > 0;
  if (isnan(result->values[ORR_BENCH_OUTPUT_RATE]))
    result->values[ORR_BENCH_OUTPUT_RATE] =
        number_of(flat, "output_tput_per_gpu") * (is_split ? decode : tp);
  if (isnan(result->values[ORR_BENCH_TOTAL_RATE]))
    result->values[ORR_BENCH_TOTAL_RATE] =
        number_of(flat, "tput_per_gpu") * (is_split ? prefill + decode : tp);
}

static const char *tool_of(const Flat *flat) {
  static const char *const signs[][2] = {
      {"metrics.time_to_first_token_ms.successful.mean", "guidellm"},
      {"metrics.request_latency.successful.mean", "guidellm"},
      {"load_summary.count", "inference-perf"},
      {"successes.count", "inference-perf"},
      {"metrics.requests.total", "llm-d"},
      {"metrics.num_prompts_succeeded", "inference-benchmark"},
      {"performance.system_output_throughput_tok_s", "trtllm-bench"},
      {"results_ttft_s_mean", "llmperf"}};
  for (guint i = 0; i < G_N_ELEMENTS(signs); i++)
    if (text_of(flat, signs[i][0])) return signs[i][1];
  if (text_of(flat, "time_to_first_token.avg") || text_of(flat, "ttft.avg")) return "aiperf";
  if (text_of(flat, "mean_ttft") || text_of(flat, "median_ttft")) return "inferencex";
  return text_of(flat, "mean_e2e_latency_ms") ? "sglang" : "vllm";
}

static gboolean has_latency(const OrrBenchResult *result) {
  if (!isnan(result->values[ORR_BENCH_REQUEST_RATE])) return TRUE;
  for (int i = ORR_BENCH_TTFT_MEAN; i <= ORR_BENCH_E2E_P99; i++)
    if (!isnan(result->values[i])) return TRUE;
  return FALSE;
}

static void add_result(OrrBenchInput *input, const Flat *flat, OrrPlace place) {
  static const char *const names[] = {"model_id",
                                      "model",
                                      "model_name",
                                      "hf_model",
                                      "input_config.endpoint.model_names",
                                      "engine.model",
                                      "scenario.model.name",
                                      "scenario.stack.standardized.model.name"};
  OrrBenchResult *result = orr_bench_result_new(tool_of(flat), place);
  ORR_EACH(const OrrBenchKey, key, keys()) put_value(result, flat, key);
  put_totals(result, flat);
  put_strategy(result, flat);
  put_drawn(result, flat);
  put_per_gpu(result, flat);
  for (guint i = 0; i < G_N_ELEMENTS(names) && !result->model; i++)
    result->model = g_strdup(text_of(flat, names[i]));
  if (result->values[ORR_BENCH_REQUESTS] != 0 && !has_latency(result)) {
    orr_diags_error(input->diags, place, "an object without one latency of a known benchmark");
    orr_bench_result_free(result);
    return;
  }
  g_ptr_array_add(input->results, result);
}

static void read_result(OrrBenchInput *input, OrrJson *json);

/* GuideLLM: the results are below a key of the one object. TRUE: they were read. */
static gboolean read_benchmarks(OrrBenchInput *input, OrrJson *json) {
  const char *key = strstr(json->at, "\"benchmarks\"");
  const char *begin = key ? strchr(key, '[') : NULL;
  if (!begin || begin >= json->end || !strstr(json->at, "\"generative_benchmark\"")) return FALSE;
  for (const char *c = json->at; c < begin; c++) json->place.line += *c == '\n';
  json->at = begin;
  orr_json_open(json);
  while (orr_json_more(json)) read_result(input, json);
  json->at = json->end;
  return TRUE;
}

static void read_result(OrrBenchInput *input, OrrJson *json) {
  const OrrPlace place = orr_json_place(json);
  g_autoptr(GHashTable) texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  Flat flat = {texts, 0};
  read_object(json, &flat, "", 0);
  if (!json->is_bad) add_result(input, &flat, place);
}

/* Lines in front of the first object (a tool's own log) are skipped. */
static const char *first_object(const char *text) {
  const char *at = text + strspn(text, " \t\r\n");
  if (*at == '{' || *at == '[') return at;
  const char *line = strstr(text, "\n{");
  return line ? line + 1 : at;
}

/* Python writes Infinity and NaN, which JSON does not have: texts of the same length. */
static char *with_constants_quoted(const char *text) {
  static const char *const constants[][2] = {
      {"-Infinity", "\"-inf\"   "}, {"Infinity", "\"inf\"   "}, {"NaN", "\"\" "}};
  char *copy = g_strdup(text);
  gboolean is_text = FALSE;
  for (char *c = copy; *c; c++) {
    if (is_text && *c == '\\' && c[1]) {
      c++;
      continue;
    }
    if (*c == '"') is_text = !is_text;
    for (guint i = 0; !is_text && i < G_N_ELEMENTS(constants); i++)
      if (g_str_has_prefix(c, constants[i][0])) memcpy(c, constants[i][1], strlen(constants[i][1]));
  }
  return copy;
}

/* Of a list, the first item that has a key gives its value. */
static void flatten(Flat *flat, const OrrNode *node, const char *path, guint depth) {
  const gboolean is_list = node->kind == ORR_NODE_LIST;
  for (guint i = 0;
       (is_list || node->kind == ORR_NODE_MAP) && depth < MOST_DEPTH && i < orr_node_length(node);
       i++) {
    const OrrNode *item = node->items->pdata[i];
    g_autofree char *below = is_list
                                 ? g_strdup(path)
                                 : g_strdup_printf("%s%s%s", path, *path ? "." : "",
                                                   ((const OrrNode *)node->keys->pdata[i])->text);
    const gboolean is_new = g_str_has_prefix(below, request_performance);
    g_autofree char *key = g_strconcat(is_new ? "metrics." : "",
                                       below + (is_new ? strlen(request_performance) : 0), NULL);
    if (item->kind == ORR_NODE_SCALAR && !g_hash_table_contains(flat->texts, key) &&
        flat->n++ < MOST_KEYS)
      g_hash_table_replace(flat->texts, g_strdup(key), g_strdup(item->text));
    flatten(flat, item, below, depth + 1);
  }
}

static void read_report(OrrBenchInput *input) {
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(input->text, input->length, input->file, input->diags);
  for (guint i = 0; trees && i < trees->len; i++) {
    g_autoptr(GHashTable) texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Flat flat = {texts, 0};
    const OrrNode *tree = trees->pdata[i];
    flatten(&flat, tree, "", 0);
    add_result(input, &flat, tree->place);
  }
}

static void read_csv(OrrBenchInput *input) {
  g_autoptr(OrrCsv) csv = orr_csv_parse(input->text, input->file, input->diags);
  for (guint i = 0; csv && csv->header && i < csv->lines->len; i++) {
    g_autoptr(GHashTable) texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    const OrrCsvLine *line = csv->lines->pdata[i];
    for (guint k = 0; line->cells && csv->header[k]; k++)
      g_hash_table_replace(texts, g_strdup(csv->header[k]), g_strdup(line->cells[k]));
    if (line->cells) add_result(input, &(Flat){texts, 0}, line->place);
  }
}

static void read(OrrBenchInput *input) {
  if (is_report(input->text)) return read_report(input);
  if (is_csv(input->text)) return read_csv(input);
  g_autofree char *text = with_constants_quoted(input->text);
  const char *begin = first_object(text);
  OrrJson json =
      orr_json_begin(begin, input->length - (gsize)(begin - text), input->file, input->diags);
  json.names_keys = TRUE;
  for (const char *c = text; c < begin; c++) json.place.line += *c == '\n';
  while (!json.is_bad && orr_json_peek(&json)) {
    if (orr_json_peek(&json) != '[') {
      if (!read_benchmarks(input, &json)) read_result(input, &json);
      continue;
    }
    orr_json_open(&json);
    while (orr_json_more(&json)) read_result(input, &json);
  }
}

const OrrBenchReader orr_bench_json = {
    .name = "json",
    .sentence = "JSON of vllm bench, sglang.bench_serving, AIPerf, InferenceX, GuideLLM, "
                "inference-perf or trtllm-bench, or llm-d's report",
    .recognise = recognise,
    .read = read,
};

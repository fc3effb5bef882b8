/*
 * bench.c - recognises the tool of a text, and writes what its readers found.
 */
#include "sim/import/bench/bench.h"

#include "sim/base/csv.h"
#include "sim/base/file.h"

const OrrBenchReader *const orr_bench_readers[] = {
    &orr_bench_guidellm,   &orr_bench_json,
    &orr_bench_labels,     &orr_bench_loadgen,
    &orr_bench_megatron,   &orr_bench_mlperf,
    &orr_bench_nemo,       &orr_bench_offline,
    &orr_bench_server_log, &orr_bench_table,
    &orr_bench_torchtitan, &orr_bench_trainers,
    &orr_bench_trtllm,     NULL,
};

static const char *const columns[ORR_BENCH_N_VALUES] = {
    [ORR_BENCH_CONCURRENCY] = "concurrency",
    [ORR_BENCH_RATE] = "rate_per_s",
    [ORR_BENCH_REQUESTS] = "requests",
    [ORR_BENCH_FAILED] = "failed",
    [ORR_BENCH_DURATION] = "duration_s",
    [ORR_BENCH_INPUT_TOKENS] = "input_tokens",
    [ORR_BENCH_OUTPUT_TOKENS] = "output_tokens",
    [ORR_BENCH_TTFT_MEAN] = "ttft_mean_s",
    [ORR_BENCH_TTFT_P50] = "ttft_p50_s",
    [ORR_BENCH_TTFT_P90] = "ttft_p90_s",
    [ORR_BENCH_TTFT_P99] = "ttft_p99_s",
    [ORR_BENCH_TPOT_MEAN] = "tpot_mean_s",
    [ORR_BENCH_TPOT_P50] = "tpot_p50_s",
    [ORR_BENCH_TPOT_P90] = "tpot_p90_s",
    [ORR_BENCH_TPOT_P99] = "tpot_p99_s",
    [ORR_BENCH_ITL_MEAN] = "itl_mean_s",
    [ORR_BENCH_ITL_P50] = "itl_p50_s",
    [ORR_BENCH_ITL_P90] = "itl_p90_s",
    [ORR_BENCH_ITL_P99] = "itl_p99_s",
    [ORR_BENCH_E2E_MEAN] = "e2e_mean_s",
    [ORR_BENCH_E2E_P50] = "e2e_p50_s",
    [ORR_BENCH_E2E_P90] = "e2e_p90_s",
    [ORR_BENCH_E2E_P99] = "e2e_p99_s",
    [ORR_BENCH_REQUEST_RATE] = "requests_per_s",
    [ORR_BENCH_OUTPUT_RATE] = "output_tokens_per_s",
    [ORR_BENCH_TOTAL_RATE] = "total_tokens_per_s",
    [ORR_BENCH_ITERATION] = "iteration_time_s",
    [ORR_BENCH_ITERATIONS] = "iterations",
    [ORR_BENCH_WARM_UP] = "warm_up_iterations",
    [ORR_BENCH_GLOBAL_BATCH] = "global_batch",
    [ORR_BENCH_TFLOPS] = "tflops_per_gpu",
    [ORR_BENCH_MEMORY] = "memory_bytes",
    [ORR_BENCH_TOKENS_PER_GPU] = "tokens_per_gpu_s",
    [ORR_BENCH_SAMPLES] = "samples_per_s",
    [ORR_BENCH_GENERATION] = "generation_time_s",
    [ORR_BENCH_UPDATE] = "update_time_s",
    [ORR_BENCH_CACHE_TOKENS] = "kv_cache_tokens",
    [ORR_BENCH_CACHE_BYTES] = "kv_cache_bytes",
    [ORR_BENCH_IN_FLIGHT] = "in_flight",
};

extern const OrrBenchTable orr_bench_tables[];

/* Every value of the tables is a column, or one of @more. */
static int value_of(const char *name, const char *const *more) {
  for (int i = 0; i < ORR_BENCH_N_VALUES; i++)
    if (strcmp(columns[i], name) == 0) return i;
  for (int i = 0; more && more[i]; i++)
    if (strcmp(more[i], name) == 0) return ORR_BENCH_N_VALUES + i;
  g_assert_not_reached();
}

static double scale_of(const char *text) {
  if (strcmp(text, "1/60") == 0) return 1.0 / 60;
  return strcmp(text, "unit") == 0 ? 0 : *text ? g_ascii_strtod(text, NULL) : 1;
}

GArray *orr_bench_keys(const char *name, const char *const *more) {
  enum { KEY, VALUE, SCALE, WORDS };
  const OrrBenchTable *table = orr_bench_tables;
  while (strcmp(table->name, name) != 0) table++;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = orr_csv_parse(table->text, name, diags);
  g_assert(csv && csv->header && orr_diags_n_errors(diags) == 0);
  GArray *keys = g_array_new(FALSE, FALSE, sizeof(OrrBenchKey));
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines) {
    if (!line->cells) continue;
    g_auto(GStrv) words = g_strsplit(line->cells[WORDS], " ", -1);
    g_auto(GStrv) ends = g_strsplit(line->cells[KEY], *words ? "*" : "\n", 2);
    const int value = value_of(line->cells[VALUE], more);
    const double scale = scale_of(line->cells[SCALE]);
    if (!*words) ORR_APPEND(keys, OrrBenchKey, {g_strdup(ends[0]), value, scale});
    for (int k = 0; words[k]; k++)
      ORR_APPEND(keys, OrrBenchKey,
                 {g_strconcat(ends[0], words[k], ends[1], NULL), value + k, scale});
  }
  return keys;
}

/* --- Results --- */

OrrBenchResult *orr_bench_result_new(const char *tool, OrrPlace place) {
  OrrBenchResult *result = g_new0(OrrBenchResult, 1);
  result->tool = tool;
  result->place = place;
  result->burstiness = result->ratio = result->input_longest = result->output_longest = NAN;
  for (int i = 0; i < ORR_BENCH_N_VALUES; i++) result->values[i] = NAN;
  return result;
}

void orr_bench_result_free(OrrBenchResult *result) {
  if (!result) return;
  ORR_FREE(result->model, result->server, result->version, result);
}

gboolean orr_bench_number(const char *text, double *ret_value) {
  g_autofree char *plain = g_strdup(text);
  char *out = plain;
  for (const char *c = text; *c; c++)
    if (*c != ',' && *c != ' ') *out++ = *c;
  *out = '\0';
  char *end = NULL;
  *ret_value = g_ascii_strtod(plain, &end);
  return end > plain && !*end && isfinite(*ret_value);
}

/* --- Tools --- */

/* Tools that are named and not read, by words that only they write. */
static const struct {
  const char *words, *name;
} foreign[] = {{"\"request_throughput_mean\"", "llmperf"}};

static gboolean G_GNUC_PRINTF(2, 3) refuse(const OrrBenchInput *input, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  orr_diags_error(input->diags, (OrrPlace){.file = input->file}, "%s", text);
  return FALSE;
}

static gboolean refuse_unknown(const OrrBenchInput *input) {
  g_autoptr(GString) names = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(foreign); i++)
    if (strstr(input->text, foreign[i].words))
      return refuse(input, "a result of %s, which is not read", foreign[i].name);
  if (strstr(input->text, "#wrong") || strstr(input->text, "# nThread"))
    return refuse(input, "a log of nccl-tests: 'orrery import nccl-tests' reads it");
  for (guint i = 0; orr_bench_readers[i]; i++)
    g_string_append_printf(names, "%s%s", i ? "; " : "", orr_bench_readers[i]->sentence);
  return refuse(input, "no result of a known benchmark was found (known: %s)", names->str);
}

static const OrrBenchReader *reader_of(const OrrBenchInput *input) {
  const OrrBenchReader *found = NULL;
  for (guint i = 0; orr_bench_readers[i]; i++) {
    if (!orr_bench_readers[i]->recognise(input) || (found && orr_bench_readers[i]->yields))
      continue;
    if (found && !found->yields) {
      refuse(input, "results of two tools in one file (%s and %s): give each its own", found->name,
             orr_bench_readers[i]->name);
      return NULL;
    }
    found = orr_bench_readers[i];
  }
  if (!found) refuse_unknown(input);
  return found;
}

/* A result without one completed request, or one whose values are impossible. */
static void check_result(const OrrBenchInput *input, const OrrBenchResult *result) {
  if (result->values[ORR_BENCH_REQUESTS] == 0)
    orr_diags_error(input->diags, result->place, "no request of this run was completed");
  for (int i = 0; i < ORR_BENCH_N_VALUES; i++)
    if (result->values[i] < 0)
      orr_diags_error(input->diags, result->place, "%s is %g: it cannot be negative", columns[i],
                      result->values[i]);
}

gboolean orr_bench_read_text(const char *text, gsize length, const char *name, GPtrArray *results,
                             GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrBenchInput input = {text, length, g_intern_string(name), results, diags};
  const guint first = results->len;
  if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL))
    refuse(&input, "not a text in UTF-8: the result of a benchmark was expected");
  else if (length == 0)
    refuse(&input, "the file is empty");
  const OrrBenchReader *reader = orr_diags_n_errors(diags) ? NULL : reader_of(&input);
  if (reader) reader->read(&input);
  for (guint i = first; i < results->len; i++) check_result(&input, results->pdata[i]);
  if (reader && results->len == first && orr_diags_n_errors(diags) == 0)
    refuse(&input, "the text looks like %s, but holds no whole result", reader->sentence);
  return orr_diags_check(diags, error);
}

gboolean orr_bench_read(const char *path, GPtrArray *results, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, &length, error);
  if (text) return orr_bench_read_text(text, length, path, results, error);
  g_prefix_error(error, "%s: ", path);
  return FALSE;
}

/* --- Writing --- */

static gboolean has_value(const GPtrArray *results, int value) {
  for (guint i = 0; i < results->len; i++)
    if (!isnan(((const OrrBenchResult *)results->pdata[i])->values[value])) return TRUE;
  return FALSE;
}

/* A cell that holds a comma or a quote is quoted (RFC 4180). */
static void append_cell(GString *text, const char *cell) {
  if (!strpbrk(cell, ",\"\n")) {
    g_string_append(text, cell);
    return;
  }
  g_string_append_c(text, '"');
  for (const char *c = cell; *c; c++)
    *c == '"' ? (void)g_string_append(text, "\"\"") : (void)g_string_append_c(text, *c);
  g_string_append_c(text, '"');
}

char *orr_bench_csv(const GPtrArray *results) {
  GString *text = g_string_new("source,tool,model");
  for (int i = 0; i < ORR_BENCH_N_VALUES; i++)
    if (has_value(results, i)) g_string_append_printf(text, ",%s", columns[i]);
  g_string_append_c(text, '\n');
  ORR_EACH_POINTER(const OrrBenchResult, result, results) {
    g_autofree char *base = g_path_get_basename(result->place.file);
    g_autofree char *source = g_strdup_printf("%s:%d", base, result->place.line);
    append_cell(text, source);
    g_string_append_printf(text, ",%s,", result->tool);
    append_cell(text, result->model ? result->model : "");
    for (int i = 0; i < ORR_BENCH_N_VALUES; i++) {
      if (!has_value(results, i)) continue;
      const double value = result->values[i];
      g_string_append_c(text, ',');
      if (!isnan(value)) g_string_append_printf(text, isinf(value) ? "inf" : "%.9g", value);
    }
    g_string_append_c(text, '\n');
  }
  return g_string_free(text, FALSE);
}

/* Requests at a rate; a benchmark may hold some back. */
static void append_rate(GString *text, const OrrBenchResult *result) {
  const double most = result->values[ORR_BENCH_CONCURRENCY], rate = result->values[ORR_BENCH_RATE];
  if (result->burstiness > 0 && result->burstiness != 1)
    g_string_append_printf(text, "  load: {kind: gamma, rate: %.9g, burstiness: %.9g}\n", rate,
                           result->burstiness);
  else
    g_string_append_printf(text, "  load: {kind: %s, rate: %.9g}\n",
                           result->is_even ? "constant" : "poisson", rate);
  if (result->has_ramp)
    g_string_append(text, "  # not mapped: the benchmark's rate grew (ramp_up_strategy); kind ramp "
                          "has one that grows with time\n");
  if (most > 0) g_string_append_printf(text, "  max-concurrency: %.0f\n", most);
}

/* The mean, or the range from which each was drawn. */
static void append_lengths(GString *text, const char *key, double mean, double longest,
                           double ratio) {
  if (longest > 0 && ratio < 1)
    g_string_append_printf(text, "  %s: {kind: uniform-up-to, tokens: %.0f, ratio: %.9g}\n", key,
                           longest, ratio);
  else if (!isnan(mean))
    g_string_append_printf(text, "  %s: {tokens: %.0f}\n", key, mean);
}

char *orr_bench_load(const OrrBenchResult *result, GError **error) {
  const double *values = result->values;
  const double requests = values[ORR_BENCH_REQUESTS];
  double concurrency = values[ORR_BENCH_CONCURRENCY];
  const double rate = values[ORR_BENCH_RATE];
  GString *text = g_string_new("workload:\n");
  if (isnan(concurrency) && isinf(rate)) concurrency = requests; /* all at once */
  if (!isnan(concurrency) && (isnan(rate) || isinf(rate)))
    g_string_append_printf(text, "  load: {kind: closed-loop, concurrency: %.0f}\n", concurrency);
  else if (!isnan(rate))
    append_rate(text, result);
  else {
    g_string_free(text, TRUE);
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s:%d: the result says neither the rate of requests nor their concurrency",
                result->place.file, result->place.line);
    return NULL;
  }
  if (!isnan(requests)) g_string_append_printf(text, "  requests: %.0f\n", requests);
  append_lengths(text, "input", values[ORR_BENCH_INPUT_TOKENS], result->input_longest,
                 result->ratio);
  append_lengths(text, "output", values[ORR_BENCH_OUTPUT_TOKENS], result->output_longest,
                 result->ratio);
  return g_string_free(text, FALSE);
}

/*
 * test_fit_stack.c - constants of a stack are found again from rows that a changed stack simulated,
 * and what rows cannot determine is refused.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/fit/fit_stack.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"
#include "tests/run/shared_library.h"

static const char scenario_text[] =
    "schema: scenario/1\nname: fit\ncluster: {base: dgx-h100-superpod, nodes: 1, gpus: 1}\n"
    "model: llama-3.1-8b\nworkload:\n  kind: serving\n  stack: none\n"
    "  engine: {host: {step: 500 us}, prefix-caching: none}\n"
    "  load: {kind: closed-loop, concurrency: 4, requests-per-client: 3}\n"
    "  input: {tokens: 512}\n  output: {tokens: 32}\n";

/* The scenario's changes: path, value, path, value ... */
static const char *const *changes;

/* Outputs differ in length, so that requests come all the time. */
static const char *const sglang[] = {"workload.engine.scheduler", "sglang", "workload.output",
                                     "{kind: uniform-up-to, tokens: 64, ratio: 0.2}", NULL};

static void set_changes(OrrNode *tree, GError **error) {
  for (const char *const *at = changes; at && *at; at += 2)
    orr_field_set(&orr_scenario_table, tree, at[0], at[1], error);
}

/* The scenario with @host as its host and @front as its front end, at @concurrency: TTFT, TPOT. */
static void simulate(OrrLibrary *library, const char *engine, int concurrency, double ret[2]) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(scenario_text, strlen(scenario_text), "scenario", diags);
  g_autofree char *text = g_strdup_printf("%d", concurrency);
  orr_field_set(&orr_scenario_table, tree, "workload.load.concurrency", text, &error);
  orr_field_set(&orr_scenario_table, tree, "workload.engine", engine, &error);
  set_changes(tree, &error);
  g_assert_no_error(error);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  ret[0] = outcome->result.serving.ttft.mean;
  ret[1] = outcome->result.serving.tpot.mean;
}

static OrrFit *fit(OrrLibrary *library, const char *rows_text, GPtrArray **ret_rows,
                   GError **error) {
  g_autofree char *path = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const int file = g_file_open_tmp("rows-XXXXXX.csv", &path, NULL);
  g_close(file, NULL);
  g_assert_true(g_file_set_contents(path, rows_text, -1, NULL));
  *ret_rows = orr_fit_rows_read(path, error);
  g_unlink(path);
  if (!*ret_rows) return NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(scenario_text, strlen(scenario_text), "scenario", diags);
  set_changes(tree, error);
  return orr_fit_stack(library, tree, *ret_rows, &(OrrFitHow){.jobs = 2}, error);
}

/* A step takes 2 ms, a sequence 40 us, a request 7 ms; the scenario has 500 us, 0 and 0. */
static void test_found(void) {
  static const char engine[] =
      "{prefix-caching: none, host: {step: 2 ms, sequence: 40 us}, front-end: {request: 7 ms}}";
  static const int concurrencies[] = {1, 48};
  OrrLibrary *library = shared_library();
  g_autoptr(GString) text = g_string_new("concurrency,ttft_mean_s,tpot_mean_s\n");
  g_autoptr(GPtrArray) rows = NULL;
  g_autoptr(GError) error = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(concurrencies); i++) {
    double values[2];
    simulate(library, engine, concurrencies[i], values);
    g_string_append_printf(text, "%d,%.9g,%.9g\n", concurrencies[i], values[0], values[1]);
  }
  g_autoptr(OrrFit) found = fit(library, text->str, &rows, &error);
  g_assert_no_error(error);
  const double wanted[] = {2e-3, 40e-6, NAN, 7e-3};
  for (guint k = 0; k < G_N_ELEMENTS(wanted); k++) {
    if (isnan(wanted[k])) continue;
    g_assert_true(found->constants[k].is_fitted);
    g_assert_cmpfloat(fabs(found->constants[k].after / wanted[k] - 1), <, 0.1);
  }
  g_assert_cmpfloat(found->errors[ORR_FIT_TPOT].before, >, 0.1);
  g_assert_cmpfloat(found->errors[ORR_FIT_TPOT].after, <, 0.02);
  g_assert_cmpfloat(found->errors[ORR_FIT_TTFT].left_out, <, 0.2);
  g_assert_cmpuint(found->remarks->len, ==, 0);
  g_autofree char *document = orr_fit_stack_document(found, "rows.csv", "2026-11-23");
  g_assert_nonnull(strstr(document, "{set: engine.host.step, to: "));
  g_assert_nonnull(strstr(document, "2 rows, 2026-11-23\", confidence: fitted}"));
}

/* A task is replayed once, in one call and over calls: the second call finds what the test has put
 * into the table since. */
static void test_once(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(scenario_text, strlen(scenario_text), "scenario", diags);
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  g_autoptr(GHashTable) known = orr_fit_known_new();
  OrrFitRow row = {.place.file = "rows"};
  OrrFitTask tasks[2];
  double values[2 * ORR_FIT_N_COLUMNS];
  for (int i = 0; i < ORR_FIT_N_COLUMNS; i++) row.cells[i] = NAN;
  g_ptr_array_add(rows, &row);
  memset(tasks, 0, sizeof tasks);
  const OrrFitReplays replays = {shared_library(), tree, rows, NULL, 0, 1, FALSE, FALSE, known};
  g_assert_true(orr_fit_replay(&replays, tasks, 2, values, &error));
  g_assert_cmpfloat(values[ORR_FIT_TTFT], >, 0);
  g_assert_cmpfloat(values[ORR_FIT_TTFT], ==, values[ORR_FIT_N_COLUMNS + ORR_FIT_TTFT]);
  g_assert_cmpuint(g_hash_table_size(known), ==, 1);
  g_autoptr(GList) all = g_hash_table_get_values(known);
  ((double *)all->data)[ORR_FIT_TTFT] = 42;
  g_assert_true(orr_fit_replay(&replays, tasks, 1, values, &error));
  g_assert_cmpfloat(values[ORR_FIT_TTFT], ==, 42);
}

/* SGLang's polling interval is a whole number; other engines have none to fit. */
static void test_recv_interval(void) {
  OrrLibrary *library = shared_library();
  static const int concurrencies[] = {1, 8, 32};
  g_autoptr(GString) text = g_string_new("concurrency,ttft_mean_s,tpot_mean_s\n");
  g_autoptr(GPtrArray) rows = NULL;
  g_autoptr(GError) error = NULL;
  changes = sglang;
  for (guint i = 0; i < G_N_ELEMENTS(concurrencies); i++) {
    double values[2];
    simulate(library, "{prefix-caching: none, host: {step: 500 us}, recv-interval: 20}",
             concurrencies[i], values);
    g_string_append_printf(text, "%d,%.9g,%.9g\n", concurrencies[i], values[0], values[1]);
  }
  g_autoptr(OrrFit) found = fit(library, text->str, &rows, &error);
  changes = NULL;
  g_assert_no_error(error);
  const OrrFitConstant *interval = &found->constants[4];
  g_assert_cmpstr(interval->path, ==, "engine.recv-interval");
  g_assert_cmpfloat(interval->before, ==, 1);
  if (!interval->is_fitted) g_error("%s", interval->why);
  g_assert_cmpfloat(interval->after, ==, rint(interval->after));
  g_assert_cmpfloat(fabs(interval->after - 20), <=, 6);
}

/* Fits rows that @engine simulates at 1 to 96 requests; the constant at @path is to be @value. */
static void check_found(const char *engine, const char *path, double before, double value) {
  static const int concurrencies[] = {1, 16, 48, 96};
  OrrLibrary *library = shared_library();
  g_autoptr(GString) text = g_string_new("concurrency,ttft_mean_s,tpot_mean_s\n");
  g_autoptr(GPtrArray) rows = NULL;
  g_autoptr(GError) error = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(concurrencies); i++) {
    double values[2];
    simulate(library, engine, concurrencies[i], values);
    g_string_append_printf(text, "%d,%.9g,%.9g\n", concurrencies[i], values[0], values[1]);
  }
  g_autoptr(OrrFit) found = fit(library, text->str, &rows, &error);
  g_assert_no_error(error);
  const OrrFitConstant *constant = NULL;
  for (guint k = 0; k < found->n_constants; k++)
    if (g_str_equal(found->constants[k].path, path)) constant = &found->constants[k];
  g_assert_nonnull(constant);
  if (!constant->is_fitted) g_error("%s: %s", path, constant->why);
  g_assert_cmpfloat_with_epsilon(constant->before, before, 1e-9);
  g_assert_cmpfloat(fabs(constant->after / value - 1), <, 0.1);
  g_assert_cmpfloat(found->errors[ORR_FIT_TTFT].after, <, 0.03);
  g_assert_cmpuint(found->remarks->len, ==, 0);
}

/* A cache of half the tokens lets requests wait, which no time of the host explains. The scenario's
 * holds 34,000 tokens, and each request has 544. */
static void test_cache(void) {
  static const char *const small[] = {"workload.engine.gpu-memory-utilization", "27 %", NULL};
  changes = small;
  check_found("{prefix-caching: none, host: {step: 500 us}, cache-fraction: 50 %}",
              "engine.cache-fraction", 1, 0.5);
  changes = NULL;
}

/* Kernels of experts at 0.7 of the profile's rate: longer steps with many tokens, which a slower
 * host does not explain at 1 to 96 requests. A dense model has none. */
static void test_experts(void) {
  static const char *const mixture[] = {"model", "qwen3-30b-a3b", NULL};
  changes = mixture;
  check_found("{prefix-caching: none, host: {step: 500 us}, expert-kernels: {efficiency: 0.7}}",
              "engine.expert-kernels.efficiency", 1, 0.7);
  changes = NULL;
}

/* One row of one value determines one constant; tokens faster than the GPU are said to be. */
static void test_refused(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(GPtrArray) rows = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrFit) found = fit(library, "concurrency,tpot_mean_s\n4,0.001\n", &rows, &error);
  g_assert_no_error(error);
  guint n_fitted = 0;
  for (guint k = 0; k < found->n_constants; k++) {
    n_fitted += found->constants[k].is_fitted;
    g_assert_true(found->constants[k].is_fitted || found->constants[k].why);
  }
  g_assert_cmpuint(n_fitted, ==, 1);
  g_assert_cmpstr(found->constants[4].path, ==, "engine.cache-fraction");
  g_assert_cmpstr(found->constants[4].why, ==, "it takes 3 rows or more");
  g_assert_nonnull(found->constants[3].why);
  g_assert_cmpuint(found->remarks->len, ==, 2);
  g_assert_nonnull(strstr(found->remarks->pdata[0], "faster than the simulated GPUs alone"));
  g_assert_nonnull(strstr(found->remarks->pdata[1], "it is not host time that is missing"));
}

static void check_bad(const char *text, const char *words) {
  OrrLibrary *library = shared_library();
  g_autoptr(GPtrArray) rows = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrFit) found = fit(library, text, &rows, &error);
  g_assert_null(found);
  if (!strstr(error->message, words)) g_error("'%s' is missing in: %s", words, error->message);
}

static void test_rows(void) {
  check_bad("concurrency,tpot_mean_s\n", "no row of measurements");
  check_bad("concurrency,note\n4,x\n", ":2:1: error: the row has no measurement");
  check_bad("concurency,ttft_mean_s\n4,1\n",
            ":1:1: error: unknown column 'concurency': did you mean 'concurrency'? (allowed: ");
  check_bad("concurrency,tpot_mean,ttft_mean_s\n4,1,1\n",
            ":1:13: error: unknown column 'tpot_mean'");
  /* What else import bench writes resembles nothing: the only finding is that there is no row. */
  check_bad(
      "source,tool,model,failed,duration_s,ttft_p50_s,ttft_p90_s,ttft_p99_s,tpot_p50_s,tpot_p90_s,"
      "tpot_p99_s,itl_mean_s,itl_p50_s,itl_p99_s,e2e_p50_s,e2e_p99_s,requests_per_s,"
      "output_tokens_per_s,total_tokens_per_s,iterations,warm_up_iterations\n",
      "no row of measurements");
  check_bad("concurrency,tpot_mean_s\n4,fast\n", "fast");
  check_bad("concurrency,tpot_mean_s\n4,-1\n", "tpot_mean_s is -1: above 0 is allowed");
  check_bad("rate_per_s,input_tokens,tpot_mean_s\n2,9000000,0.01\n",
            "the replay of this row failed");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fit/once", test_once);
  g_test_add_func("/fit/found", test_found);
  g_test_add_func("/fit/recv-interval", test_recv_interval);
  g_test_add_func("/fit/cache", test_cache);
  g_test_add_func("/fit/experts", test_experts);
  g_test_add_func("/fit/refused", test_refused);
  g_test_add_func("/fit/rows", test_rows);
  return g_test_run();
}

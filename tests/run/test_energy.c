/*
 * test_energy.c - the energy of runs: rows of power add up to the kinds, folding changes nothing, a
 * cap saves power and never time, and nothing is known without a power model.
 */
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/simulate.h"

#define TRAINING                                                                                   \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "model: {layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"                     \
  "workload: {kind: training, stack: none, steps: 2, parallel: {tp: 4, pp: 2, dp: 2}, "            \
  "batch: {global: 16, micro: 1}}\n"                                                               \
  "engine: ideal\n"
#define SERVING                                                                                    \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "model: llama-3.1-8b\n"                                                                          \
  "workload: {kind: serving, stack: none, requests: 32, replicas: 2, input: {kind: fixed, "        \
  "tokens: 512}, output: {kind: fixed, tokens: 32}, load: {kind: poisson, rate: 8}}\n"             \
  "engine: ideal\n"
#define H100 "cluster: {base: dgx-h100-superpod, nodes: 2}\n"
#define H100_AT(tdp)                                                                               \
  "cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: h100-sxm, tdp: " tdp " W}}\n"

static OrrOutcome *run(const char *scenario, const char *rest, gboolean with_spans) {
  static OrrLibrary *library = NULL;
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strconcat(scenario, rest, NULL);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "energy.yaml", diags);
  g_autoptr(OrrScenario) read = orr_scenario_read(library, tree, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_cmpstr(found, ==, "");
  OrrOutcome *outcome = orr_simulate(library, read, with_spans, &error);
  g_assert_no_error(error);
  return outcome;
}

static void assert_near(double a, double b, double epsilon) {
  g_assert_cmpfloat_with_epsilon(a / b, 1, epsilon);
}

static double sum_of(const OrrTrainingResult *r) {
  return r->gpu_energy_compute_j + r->gpu_energy_memory_j + r->gpu_energy_network_j +
         r->gpu_energy_idle_j;
}

/* The integral of the rows is the sum over the kinds, of each kind and of all. */
static void test_conservation(void) {
  g_autoptr(OrrOutcome) outcome = run(TRAINING, H100, TRUE);
  const OrrTrainingResult *r = &outcome->result.training;
  double all = 0, compute = 0, memory = 0, network = 0;
  g_assert_cmpint(outcome->powers->len, ==, 1000);
  for (guint i = 0; i < outcome->powers->len; i++) {
    const OrrPowerRow *row = &g_array_index(outcome->powers, OrrPowerRow, i);
    all += row->watts * (row->end_s - row->begin_s);
    compute += row->compute_w * (row->end_s - row->begin_s);
    memory += row->memory_w * (row->end_s - row->begin_s);
    network += row->network_w * (row->end_s - row->begin_s);
    assert_near(row->watts, row->compute_w + row->memory_w + row->network_w + row->idle_w, 1e-12);
  }
  assert_near(all, sum_of(r), 1e-9);
  assert_near(compute, r->gpu_energy_compute_j, 1e-9);
  assert_near(memory, r->gpu_energy_memory_j, 1e-9);
  assert_near(network, r->gpu_energy_network_j, 1e-9);
  assert_near(r->energy_j_per_step * 2, sum_of(r), 1e-9);
  assert_near(r->energy_j_per_token * r->tokens_per_s, r->gpu_power_mean_w, 1e-12);
  g_assert_cmpfloat(r->gpu_power_mean_w, <, r->gpu_power_peak_w);
  g_assert_cmpfloat(r->power_swing_w, >, 0);
}

static void test_fidelity(void) {
  g_autoptr(OrrOutcome) folded = run(TRAINING, H100 "fidelity: folded\n", FALSE);
  g_autoptr(OrrOutcome) full = run(TRAINING, H100 "fidelity: full\n", FALSE);
  const OrrTrainingResult *a = &folded->result.training, *b = &full->result.training;
  assert_near(a->gpu_energy_compute_j, b->gpu_energy_compute_j, 1e-9);
  assert_near(a->gpu_energy_memory_j, b->gpu_energy_memory_j, 1e-9);
  assert_near(a->gpu_energy_network_j, b->gpu_energy_network_j, 1e-9);
  assert_near(a->energy_j_per_step, b->energy_j_per_step, 1e-9);
  g_assert_true(isnan(a->power_swing_w)); /* no spans */
}

/* A lower cap never makes a step shorter, and boards never draw more than it. */
static void test_caps(void) {
  static const char *const caps[] = {H100_AT("300"), H100_AT("450"), H100_AT("700")};
  static const double watts[] = {300, 450, 700};
  double last_s = INFINITY;
  for (guint i = 0; i < G_N_ELEMENTS(caps); i++) {
    g_autoptr(OrrOutcome) training = run(TRAINING, caps[i], FALSE);
    g_autoptr(OrrOutcome) serving = run(SERVING, caps[i], FALSE);
    const OrrTrainingResult *r = &training->result.training;
    const OrrServingResult *s = &serving->result.serving;
    g_assert_cmpfloat(r->iteration_time_s, <=, last_s);
    g_assert_cmpfloat(r->gpu_power_peak_w, <=, 16 * watts[i] * (1 + 1e-9));
    g_assert_cmpfloat(s->gpu_power_mean_w, <=, s->gpu_power_peak_w);
    g_assert_cmpfloat(s->gpu_power_peak_w, <=, 2 * watts[i] * (1 + 1e-9));
    last_s = r->iteration_time_s;
  }
}

/* Joules per token, per request and per second are the same energy. */
static void test_serving(void) {
  g_autoptr(OrrOutcome) outcome = run(SERVING, H100, FALSE);
  const OrrServingResult *s = &outcome->result.serving;
  assert_near(s->energy_j_per_output_token * s->output_tokens_per_s, s->gpu_power_mean_w, 1e-12);
  assert_near(s->energy_j_per_request * s->requests_per_s, s->gpu_power_mean_w, 1e-12);
  assert_near(s->energy_j_per_token * s->total_tokens_per_s, s->gpu_power_mean_w, 1e-9);
  g_assert_cmpfloat(s->gpu_power_mean_w, >=, 2 * 150);
  g_assert_cmpfloat(s->machine_power_mean_w, >, s->gpu_power_mean_w);
}

static void test_unknown(void) {
  g_autoptr(OrrOutcome) training = run(TRAINING,
                                       "cluster: {base: dgx-h100-superpod, nodes: 2, device: "
                                       "{base: h100-sxm, power: {static: 0 W}}}\n",
                                       TRUE);
  const OrrTrainingResult *r = &training->result.training;
  g_assert_true(isnan(r->energy_j_per_step) && isnan(r->gpu_power_mean_w) &&
                isnan(r->gpu_energy_idle_j) && isnan(r->machine_power_mean_w));
  g_assert_cmpint(training->powers->len, ==, 0);
  g_autoptr(OrrOutcome) serving = run(SERVING,
                                      "cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: "
                                      "h100-sxm, power: {static: 0 W}}}\n",
                                      FALSE);
  g_assert_true(isnan(serving->result.serving.energy_j_per_output_token));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/energy/conservation", test_conservation);
  g_test_add_func("/energy/fidelity", test_fidelity);
  g_test_add_func("/energy/caps", test_caps);
  g_test_add_func("/energy/serving", test_serving);
  g_test_add_func("/energy/unknown", test_unknown);
  return g_test_run();
}

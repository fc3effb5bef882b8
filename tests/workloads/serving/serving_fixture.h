/*
 * serving_fixture.h - a serving scenario from text, with changes, run in this process.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/simulate.h"
#include "workloads/serving/serving.h"
#include "tests/run/shared_library.h"

static const char serving_text[] = "schema: scenario/1\n"
                                   "name: serving\n"
                                   "cluster: {base: dgx-h100-superpod, nodes: 1}\n"
                                   "engine: ideal\n"
                                   "model: llama-3.1-8b\n"
                                   "workload:\n"
                                   "  kind: serving\n  stack: none\n"
                                   "  engine: {max-num-seqs: 64, kv-blocks: 20000}\n"
                                   "  load: {kind: poisson, rate: 10}\n"
                                   "  requests: 400\n"
                                   "  input: {kind: uniform-up-to, tokens: 1000, ratio: 0.2}\n"
                                   "  output: {kind: uniform-up-to, tokens: 200, ratio: 0.1}\n";

/* @sets: "path=value;...", each value YAML. */
static inline OrrScenario *serving_scenario(OrrLibrary *library, const char *sets,
                                            char **ret_findings) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(serving_text, strlen(serving_text), "test.yaml", diags);
  g_auto(GStrv) parts = g_strsplit(sets, ";", -1);
  for (char **part = parts; *part && **part; part++) {
    g_autoptr(GError) error = NULL;
    char *value = strchr(*part, '=');
    *value++ = '\0';
    orr_field_set(&orr_scenario_table, tree, *part, value, &error);
    g_assert_no_error(error);
  }
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  *ret_findings = orr_diags_text(diags);
  return scenario;
}

/* NULL with @error, or with a finding of the reader as one. */
static inline OrrOutcome *serving_try(const char *sets, GError **error) {
  OrrLibrary *library = shared_library();
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = serving_scenario(library, sets, &findings);
  if (scenario) return orr_simulate(library, scenario, FALSE, error);
  g_set_error_literal(error, g_quark_from_string("test"), 0, findings);
  return NULL;
}

static inline OrrOutcome *serving_run(const char *sets) {
  g_autoptr(GError) error = NULL;
  OrrOutcome *outcome = serving_try(sets, &error);
  g_assert_no_error(error);
  return outcome;
}

static inline gboolean serving_warns(const OrrOutcome *outcome, const char *text) {
  for (guint i = 0; i < outcome->warnings->len; i++)
    if (strstr(outcome->warnings->pdata[i], text)) return TRUE;
  return FALSE;
}

static inline void serving_refused(const char *sets, const char *wanted) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrOutcome) outcome = serving_try(sets, &error);
  if (outcome) g_error("not refused: %s", sets);
  if (!strstr(error->message, wanted)) g_error("wanted '%s' in '%s'", wanted, error->message);
}

static inline const OrrServingRequestRow *serving_request(const OrrOutcome *outcome, guint i) {
  g_assert_cmpuint(i, <, outcome->serving_requests->len);
  return &g_array_index(outcome->serving_requests, OrrServingRequestRow, i);
}

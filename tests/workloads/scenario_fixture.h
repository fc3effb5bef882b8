/*
 * scenario_fixture.h - a scenario from a text, changed by "path=value;path=value".
 */
#pragma once

#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/simulate.h"
#include "tests/run/shared_library.h"

static inline OrrNode *tree_of(const char *text, const char *sets, OrrDiags *diags) {
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
  g_auto(GStrv) parts = g_strsplit(sets, ";", -1);
  for (char **part = parts; *part && **part; part++) {
    g_autoptr(GError) error = NULL;
    char *value = strchr(*part, '=');
    *value++ = '\0';
    orr_field_set(&orr_scenario_table, tree, *part, value, &error);
    g_assert_no_error(error);
  }
  return g_steal_pointer(&tree);
}

/* Without a finding. */
static inline OrrScenario *scenario_of(OrrLibrary *library, const char *text, const char *sets) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = tree_of(text, sets, diags);
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  return scenario;
}

/* What the scenario answers without contention, which one process may ask many times; @traced:
 * with its spans. */
static inline OrrOutcome *ideal_outcome_of(const char *text, const char *sets, gboolean traced) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(library, text, sets);
  scenario->engine = ORR_REPLAY_IDEAL;
  OrrOutcome *outcome = orr_simulate(library, scenario, traced, &error);
  g_assert_no_error(error);
  return outcome;
}

/* What the scenario answers; NULL with what the reader or the run has against it in @ret_error. */
static inline OrrOutcome *outcome_of(const char *text, char *ret_error, gsize size) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  if (!scenario) orr_diags_check(diags, &error);
  OrrOutcome *outcome = scenario ? orr_simulate(library, scenario, FALSE, &error) : NULL;
  if (!outcome) g_strlcpy(ret_error, error->message, size);
  return outcome;
}

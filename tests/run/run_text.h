/* run_text.h - runs a scenario that a test has as text; the checks must find nothing in it. */
#pragma once

#include <string.h>

#include "sim/base/library.h"
#include "sim/base/yaml.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"

/* The outcome of @scenario and @rest, one text after the other. The caller frees it. */
static inline OrrOutcome *run(const char *scenario, const char *rest) {
  static OrrLibrary *library = NULL;
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strconcat(scenario, rest, NULL);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
  g_autoptr(OrrScenario) read = orr_scenario_read(library, tree, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_cmpstr(found, ==, "");
  OrrOutcome *outcome = orr_simulate(library, read, FALSE, &error);
  g_assert_no_error(error);
  return outcome;
}

/*
 * bench_world.h - documents from the library, read and checked, for the benchmarks that need a
 * machine and its costs.
 */
#pragma once

#include "calibration/cost/cost.h"
#include "sim/base/library.h"
#include "sim/base/yaml.h"
#include "sim/run/scenario.h"
#include "tests/bench/benchmark.h"

static inline void bench_check_diags(const OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  orr_diags_check(diags, &error);
  bench_check(error);
}

static inline OrrProfile *bench_profile(OrrLibrary *library, const char *name) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree =
      orr_library_load(library, "profile", name, (OrrPlace){"bench", 0, 0}, diags);
  OrrProfile *profile = tree ? orr_profile_read(tree, library, diags) : NULL;
  bench_check_diags(diags);
  return profile;
}

static inline OrrScenario *bench_scenario(OrrLibrary *library, const char *name) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, name, diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  bench_check_diags(diags);
  return scenario;
}

/* A cluster from YAML text. */
static inline void bench_cluster(OrrLibrary *library, const char *text, OrrCluster *ret_cluster) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) section = orr_yaml_parse(text, strlen(text), "bench", diags);
  g_autoptr(OrrNode) tree = section ? orr_library_expand(library, "cluster", section, diags) : NULL;
  if (tree) orr_field_read(&orr_cluster_table, tree, library, diags, ret_cluster);
  bench_check_diags(diags);
}

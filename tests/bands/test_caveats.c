/*
 * test_caveats.c - what answers say of themselves: devices anywhere in a scenario, models, results.
 */
#include <string.h>

#include "sim/bands/caveats.h"
#include "sim/base/yaml.h"

static OrrLibrary *library;

/* "text\n..." of a scenario: a document, or a name. */
static char *caveats_of(const char *scenario_text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree =
      strchr(scenario_text, ':')
          ? orr_yaml_parse(scenario_text, strlen(scenario_text), "test.yaml", diags)
          : orr_scenario_tree(library, scenario_text, diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read_fields(library, tree, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(library);
  orr_caveats_add(caveats, scenario);
  orr_caveats_add(caveats, scenario); /* each text once */
  const GPtrArray *texts = orr_caveats_texts(caveats);
  GString *all = g_string_new(NULL);
  for (guint i = 0; i < texts->len; i++)
    g_string_append_printf(all, "%s\n", (const char *)texts->pdata[i]);
  return g_string_free(all, FALSE);
}

#define BARE "optimistic: no measured kernels of bare; all are modelled from its datasheet\n"
#define SERVING                                                                                    \
  "schema: scenario/1\nname: s\n"                                                                  \
  "workload: {kind: serving, requests: 4, load: {kind: poisson, rate: 1}, input: {tokens: 8}, "    \
  "output: {tokens: 8}}\n"

/* A device of the library with kernels says nothing, neither do sections that name no device. */
static void test_nothing(void) {
  g_autofree char *texts =
      caveats_of(SERVING "cluster: {base: dgx-h100-superpod, nodes: 1}\nmodel: llama-3.1-8b\n");
  g_assert_cmpstr(texts, ==, "");
}

/* The cluster's device; and one that only some replicas have. */
static void test_devices(void) {
  g_autofree char *own = caveats_of(SERVING "model: llama-3.1-8b\n"
                                            "cluster: {base: dgx-h100-superpod, nodes: 1, "
                                            "device: {base: h100-sxm, name: bare}}\n");
  g_assert_cmpstr(own, ==, BARE);
  g_autofree char *group = caveats_of(
      "schema: scenario/1\nname: s\nmodel: llama-3.1-8b\n"
      "cluster: {base: dgx-h100-superpod, nodes: 1}\n"
      "workload: {kind: serving, requests: 4, load: {kind: poisson, rate: 1}, input: {tokens: 8}, "
      "output: {tokens: 8}, groups: [{replicas: 1, device: {base: l40s, name: bare}}]}\n");
  g_assert_cmpstr(group, ==, BARE);
}

static void test_models(void) {
  g_autofree char *texts =
      caveats_of(SERVING "cluster: {base: dgx-h100-superpod, nodes: 1}\nmodel: minimax-m3\n");
  g_assert_true(g_str_has_prefix(texts, "model minimax-m3: attention is sparse"));
}

/* campaigns: out_p99 for all, stalls of the scenario's own tiers alone. */
static void test_results(void) {
  g_autofree char *texts = caveats_of("campaign-llama-3.1-405b-16384-h100");
  g_assert_nonnull(strstr(texts, "out_p99 is off by 36 % on average"));
  g_assert_nonnull(strstr(texts, "stall_s (host) is off by 50 % on average"));
  g_assert_null(strstr(texts, "stall_s (peer)"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new(NULL);
  g_test_add_func("/caveats/nothing", test_nothing);
  g_test_add_func("/caveats/devices", test_devices);
  g_test_add_func("/caveats/models", test_models);
  g_test_add_func("/caveats/results", test_results);
  const int status = g_test_run();
  orr_library_free(library);
  return status;
}

/*
 * test_caveats.c - what answers say of themselves: devices anywhere in a scenario, models, results.
 */
#include <string.h>

#include "sim/bands/caveats.h"
#include "sim/base/yaml.h"
#include "workloads/stack.h"

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

/* Megatron for CUDA on an MI355X is named, with what runs there; the same for ROCm, or no stack at
 * all, is not. Jobs have stacks of their own. */
static void test_software(void) {
#define ON_AMD(stack)                                                                              \
  "schema: scenario/1\nname: s\nmodel: llama-3.1-8b\n"                                             \
  "cluster: {base: mi355x-roce, nodes: 1}\n"                                                       \
  "workload: {kind: training, stack: " stack ", batch: {global: 8, micro: 1}}\n"
  g_autofree char *cuda = caveats_of(ON_AMD("megatron-core-26.06"));
  g_assert_nonnull(strstr(cuda,
                          "stack megatron-core-26.06 does not run on mi355x, which needs software "
                          "for rocm, such as primus-26.08, "));
  g_autofree char *rocm = caveats_of(ON_AMD("megatron-rocm-25.10"));
  g_assert_null(strstr(rocm, "stack "));
  g_autofree char *none = caveats_of(ON_AMD("none"));
  g_assert_null(strstr(none, "stack "));
#undef ON_AMD
}

/* Each shipped device can be programmed by a shipped stack. */
static void test_platforms(void) {
  g_auto(GStrv) names = orr_library_names(library, "device");
  for (char **name = names; *name; name++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    const OrrNode *tree = orr_library_borrow(library, "device", *name, (OrrPlace){0}, diags);
    const char *platform = orr_node_get_text(tree, "platform");
    g_auto(GStrv) stacks = orr_stack_on(library, "training", platform ? platform : "cuda");
    if (!*stacks) g_error("no stack of training runs on %s (platform %s)", *name, platform);
  }
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
  g_assert_nonnull(strstr(texts, "stall_s (host) is off by 63 % on average"));
  g_assert_null(strstr(texts, "stall_s (peer)"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new(NULL);
  g_test_add_func("/caveats/nothing", test_nothing);
  g_test_add_func("/caveats/devices", test_devices);
  g_test_add_func("/caveats/software", test_software);
  g_test_add_func("/caveats/platforms", test_platforms);
  g_test_add_func("/caveats/models", test_models);
  g_test_add_func("/caveats/results", test_results);
  const int status = g_test_run();
  orr_library_free(library);
  return status;
}

/*
 * test_stack_shipped.c - the shipped stacks: each can be applied, each setting says how it is
 * known, conditions name what software looks at, and a constant fitted to few models names them.
 */
#include "sim/run/scenario_stack.h"

#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/scenario.h"
#include "sim/validate/validate.h"
#include "workloads/serving/serving.h"

static const char text[] =
    "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
    "model: llama-3.1-8b\nworkload: {kind: serving, load: {kind: poisson, rate: 1}, requests: 1,"
    " input: {tokens: 8}, output: {tokens: 8}}\n";
static OrrLibrary *library;

static const struct {
  const char *kind, *text;
} samples[] = {
    {"serving", text},
    {"training", "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
                 "model: llama-3.1-8b\nworkload: {kind: training, batch: {global: 8, micro: 1}}\n"},
    {"collectives", "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
                    "workload: {kind: collectives}\n"},
};

/* A condition names what the software looks at: experts, biases, a window. Settings for one
 * model are its recipe, which a scenario states. */
static gboolean names_a_model(const char *when) {
  static const char *const paths[] = {"model.name",   "model.base",   "model.source",
                                      "model.layers", "model.hidden", "model.heads",
                                      "model.ffn",    "model.vocab",  "model.parameters"};
  for (guint i = 0; when && i < G_N_ELEMENTS(paths); i++)
    if (strstr(when, paths[i])) return TRUE;
  return FALSE;
}

/* Whether @source says which rows a value was fitted to: the name of a set, as a whole word, or the
 * same as the setting @above (NULL: there is none). */
static gboolean names_rows(const char *source, const OrrStackSetting *above, char **sets) {
  for (char **set = sets; *set; set++) {
    g_autofree char *name = g_regex_escape_string(*set, -1);
    g_autofree char *word = g_strdup_printf("(?<![\\w./-])%s(?![\\w/-]|\\.\\w)", name);
    if (g_regex_match_simple(word, source, 0, 0)) return TRUE;
  }
  return above && strstr(source, "the same rows") && above->confidence == ORR_STACK_FITTED;
}

/* Whether @setting says what becomes of a model that the fit did not see, or to which models alone
 * it was fitted. */
static gboolean names_others(const OrrStackSetting *setting) {
  return strstr(setting->source, "left out") || *setting->fitted_to;
}

/* The first of @models that the library does not have; NULL: it has all. */
static const char *unknown_model(char **models) {
  g_auto(GStrv) known = orr_library_names(library, "model");
  g_auto(GStrv) generators = orr_library_names(library, "generator");
  g_auto(GStrv) recommenders = orr_library_names(library, "recommender");
  for (char **model = models; *model; model++)
    if (!g_strv_contains((const char *const *)known, *model) &&
        !g_strv_contains((const char *const *)generators, *model) &&
        !g_strv_contains((const char *const *)recommenders, *model))
      return *model;
  return NULL;
}

/* What is wrong with how @setting is known; NULL: nothing. Newly allocated. Lists what was fitted
 * (--verbose shows it). */
static char *finding_of(const OrrStackSetting *setting, const OrrStackSetting *above, char **sets) {
  if (names_a_model(setting->when))
    return g_strdup_printf("the condition of %s names a model: %s", setting->path, setting->when);
  if (unknown_model(setting->fitted_to))
    return g_strdup_printf("%s: there is no model '%s'", setting->path,
                           unknown_model(setting->fitted_to));
  if (setting->confidence != ORR_STACK_FITTED)
    return *setting->fitted_to
               ? g_strdup_printf("%s has fitted-to, but is not fitted", setting->path)
               : NULL;
  g_test_message("%s:%d: %s, fitted to: %s", setting->place.file, (int)setting->place.line,
                 setting->path, setting->source);
  if (!names_rows(setting->source, above, sets))
    return g_strdup_printf("%s is fitted, and its source names no validation set: %s",
                           setting->path, setting->source);
  return names_others(setting)
             ? NULL
             : g_strdup_printf("%s is fitted, and neither says its source how far off it is on a "
                               "model that was left out, nor has it fitted-to: %s",
                               setting->path, setting->source);
}

static void test_named_models(void) {
  g_assert_true(names_a_model("model.moe.experts > 0 and model.hidden < 5000"));
  g_assert_true(names_a_model("model.name == grok-1"));
  g_assert_false(names_a_model("model.moe.experts > 0"));
  g_assert_false(names_a_model(NULL));
}

/* Names of sets inside other words and names name nothing; "the same rows" need a fitted setting
 * above. */
static void test_named_rows(void) {
  const OrrStackSetting fitted = {.confidence = ORR_STACK_FITTED},
                        assumed = {.confidence = ORR_STACK_ASSUMED};
  char *sets[] = {(char *)"serving", (char *)"moe", (char *)"rl-verl", NULL};
  g_assert_true(names_rows("serving's rows of Qwen3-32B", NULL, sets));
  g_assert_true(names_rows("tpot with 4 requests (rl-verl)", NULL, sets));
  g_assert_false(names_rows("tpot with 4 requests, observing 3 runs", NULL, sets));
  g_assert_false(names_rows("v1.0, moe_kernels.cu and model.moe.experts", NULL, sets));
  g_assert_false(names_rows("rl-verl-async, serving-mine", NULL, sets));
  g_assert_true(names_rows("the same rows with 64 requests", &fitted, sets));
  g_assert_false(names_rows("the same rows with 64 requests", &assumed, sets));
  g_assert_false(names_rows("the same rows with 64 requests", NULL, sets));
}

static void test_named_others(void) {
  char *none[] = {NULL}, *one[] = {(char *)"qwen3-32b", NULL};
  OrrStackSetting setting = {.source = (char *)"serving's rows; Kimi-K2.5, left out: 4 % off",
                             .fitted_to = none};
  g_assert_true(names_others(&setting));
  setting.source = (char *)"serving's rows of Llama-3.1-70B; other rows confirm it";
  g_assert_false(names_others(&setting));
  setting.fitted_to = one;
  g_assert_true(names_others(&setting));
}

static char *findings_of(const OrrStack *stack) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_scenario_stack_check(stack, diags);
  g_auto(GStrv) sets = orr_validation_sets(library);
  for (guint i = 0; i < stack->settings->len; i++) {
    char *finding =
        finding_of(stack->settings->pdata[i], i ? stack->settings->pdata[i - 1] : NULL, sets);
    if (finding) return finding;
  }
  for (char **set = stack->validated_by; *set; set++)
    if (!g_strv_contains((const char *const *)sets, *set))
      return g_strdup_printf("validated-by names '%s', which is not a validation set", *set);
  for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
    if (strcmp(samples[i].kind, stack->kind) != 0) continue;
    const char *sample = samples[i].text;
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrNode) tree = orr_yaml_parse(sample, strlen(sample), "test.yaml", diags);
    orr_field_set(&orr_scenario_table, tree, "workload.stack", stack->name, &error);
    g_assert_no_error(error);
    g_autoptr(OrrScenario) scenario = orr_scenario_read_fields(library, tree, diags);
  }
  return orr_diags_n_errors(diags) > 0 ? orr_diags_text(diags) : NULL;
}

static void test_shipped(void) {
  g_autoptr(OrrLibrary) own = orr_library_new(NULL);
  g_auto(GStrv) names = orr_library_names(own, "stack");
  g_autoptr(GString) faults = g_string_new(NULL);
  for (char **name = names; *name; name++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) section = orr_node_new_scalar((OrrPlace){"test", 1, 1}, *name);
    g_autoptr(OrrStack) stack = orr_stack_load(own, section, diags);
    g_autofree char *found = stack ? findings_of(stack) : orr_diags_text(diags);
    if (found) g_string_append_printf(faults, "\n%s: %s", *name, found);
  }
  if (faults->len) g_error("stacks:%s", faults->str);
}

/* Every kind has a default, which a workload that names no stack gets. */
static void test_defaults(void) {
  for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
    const char *sample = samples[i].text;
    const OrrWorkloadKind *kind =
        (const OrrWorkloadKind *)orr_registry_find(&orr_workload_registry, samples[i].kind);
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(sample, strlen(sample), "test.yaml", diags);
    g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
    g_autofree char *findings = orr_diags_text(diags);
    if (!scenario) g_error("%s: %s", kind->entry.name, findings);
    g_autofree char *newest = orr_stack_newest(library, kind->default_family);
    g_assert_nonnull(newest);
    g_assert_cmpstr(orr_scenario_stack_name(&scenario->workload), ==, newest);
  }
}
/* What a scenario with @sets uses that only some models' rows determined. The caller frees it. */
static char *fitted_of(const char *sets) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
  g_auto(GStrv) all = g_strsplit(sets, ";", -1);
  for (char **set = all; *set; set++) {
    g_auto(GStrv) parts = g_strsplit(*set, "=", 2);
    g_autoptr(GError) error = NULL;
    orr_field_set(&orr_scenario_table, tree, parts[0], parts[1], &error);
    g_assert_no_error(error);
  }
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *findings = orr_diags_text(diags);
  if (!scenario) g_error("%s", findings);
  return orr_scenario_stack_fitted(library, scenario);
}

/* Constants of experts are for models with experts; a value of the scenario's own counts as given;
 * settings that other models' rows test are not listed. */
static void test_fitted(void) {
  const char *const chunks = "engine.front-end.chunk of llama-3.1-8b+"
                             "engine.front-end.written-token of llama-3.1-8b";
  g_autofree char *experts =
      g_strconcat(chunks, "+engine.expert-kernels.launches of qwen3-235b-a22b", NULL);
  const struct {
    const char *sets, *fitted;
  } rows[] = {{"workload.stack=none", ""},
              {"workload.stack=sglang-0.5", chunks},
              {"workload.stack=sglang-0.5;model=qwen3-30b-a3b;workload.precision=bf16", experts},
              {"workload.stack=sglang-0.5;model=qwen3-30b-a3b;workload.precision=fp8", chunks},
              {"workload.stack=sglang-0.5;workload.engine.front-end.chunk=1 us",
               "engine.front-end.written-token of llama-3.1-8b"}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *fitted = fitted_of(rows[i].sets);
    g_assert_cmpstr(fitted, ==, rows[i].fitted);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new(NULL);
  g_test_add_func("/stack/named-models", test_named_models);
  g_test_add_func("/stack/named-rows", test_named_rows);
  g_test_add_func("/stack/named-others", test_named_others);
  g_test_add_func("/stack/shipped", test_shipped);
  g_test_add_func("/stack/defaults", test_defaults);
  g_test_add_func("/stack/fitted", test_fitted);
  const int status = g_test_run();
  orr_library_free(library);
  return status;
}

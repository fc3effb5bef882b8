/*
 * test_plan_launch.c - a training scenario becomes Megatron's arguments, which import reads back as
 * an equal job.
 */
#include <glib.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"
#include "sim/plan/plan.h"
#include "tests/run/shared_library.h"

static OrrScenario *scenario_of(OrrLibrary *library, const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "scenario", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  return scenario;
}

/* What the launch line says, of the resolved scenarios. */
static const char *const same[] = {"parallel",  "pipeline",  "batch",   "sequence",
                                   "precision", "recompute", "dropout", "optimizer"};

static void assert_round(OrrLibrary *library, const char *text) {
  g_autoptr(OrrScenario) scenario = scenario_of(library, text);
  g_autofree char *line = orr_plan_launch(scenario);
  g_assert_nonnull(line);
  OrrLaunchOptions options = {.cluster = "dgx-h100-superpod", .stack = "megatron-core-26.06"};
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "line", line, strlen(line));
  orr_launch_form_read(draft);
  g_autofree char *back_text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_autoptr(OrrScenario) back = scenario_of(library, back_text);
  g_assert_cmpint(back->model.layers, ==, scenario->model.layers);
  g_assert_cmpint(back->model.context, ==, scenario->model.context);
  g_assert_cmpfloat(orr_model_parameters(&back->model), ==, orr_model_parameters(&scenario->model));
  g_assert_cmpint(orr_cluster_n_gpus(&back->cluster), ==, orr_cluster_n_gpus(&scenario->cluster));
  g_autofree char *a_text = orr_scenario_resolved(scenario), *b_text = orr_scenario_resolved(back);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) a = orr_yaml_parse(a_text, strlen(a_text), "a", diags);
  g_autoptr(OrrNode) b = orr_yaml_parse(b_text, strlen(b_text), "b", diags);
  for (guint i = 0; i < G_N_ELEMENTS(same); i++) {
    const OrrNode *x = orr_node_get(orr_node_get(a, "workload"), same[i]);
    const OrrNode *y = orr_node_get(orr_node_get(b, "workload"), same[i]);
    g_assert_nonnull(x);
    if (!orr_node_equal(x, y)) {
      g_autofree char *x_text = orr_yaml_text(x), *y_text = orr_yaml_text(y);
      g_error("%s differs:\n%s\n%s\nof\n%s", same[i], x_text, y_text, line);
    }
  }
}

#define HEAD                                                                                       \
  "schema: scenario/1\nname: x\ncluster: {base: dgx-h100-superpod, nodes: 16, gpus: 128}\n"        \
  "workload:\n  kind: training\n  stack: megatron-core-26.06\n  sequence: 4096\n"

static void test_dense(void) {
  OrrLibrary *library = shared_library();
  assert_round(library, HEAD "  parallel: {tp: 4, pp: 4}\n"
                             "  pipeline: {kind: interleaved-1f1b, chunks: 10}\n"
                             "  batch: {global: 512, micro: 1}\n  precision: bf16\n"
                             "  optimizer: {sharding: distributed-optimizer}\n"
                             "model: llama-3.1-70b\n");
  assert_round(library, HEAD "  parallel: {tp: 2, cp: 2}\n  recompute: full\n"
                             "  batch: {global: 128, micro: 2}\n  precision: fp8-current\n"
                             "model: mistral-7b\n");
}

static void test_experts(void) {
  OrrLibrary *library = shared_library();
  assert_round(library, HEAD "  parallel: {tp: 2, pp: 4, ep: 8}\n  recompute: selective\n"
                             "  batch: {global: 512, micro: 1}\n  precision: bf16\n"
                             "  optimizer: {sharding: distributed-optimizer}\n"
                             "model: mixtral-8x7b\n");
  assert_round(library, HEAD "  parallel: {tp: 2, pp: 16, ep: 4}\n"
                             "  batch: {global: 512, micro: 1}\n  precision: fp8-blockwise\n"
                             "  optimizer: {sharding: distributed-optimizer}\n"
                             "model: deepseek-v3\n");
}

/* Software whose launcher is not known has no line. */
static void test_none(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrScenario) scenario = scenario_of(
      library, "schema: scenario/1\nname: x\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
               "workload: {kind: training, stack: torchtitan-2025.06, batch: {global: 8}}\n"
               "model: llama-3.1-8b\n");
  g_assert_null(orr_plan_launch(scenario));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/plan-launch/dense", test_dense);
  g_test_add_func("/plan-launch/experts", test_experts);
  g_test_add_func("/plan-launch/none", test_none);
  return g_test_run();
}

/*
 * test_serving_state_costs.c - layers with a state take what the tables of linear attention say,
 * and what their operators take where these have no rows.
 */
#include "calibration/cost/cost_module.h"
#include "sim/run/world.h"
#include "tests/workloads/serving/serving_fixture.h"

typedef struct {
  OrrScenario *scenario;
  OrrRunWorld *machine;
  OrrWorld world;
  OrrServingCostParams params;
  guint kind; /* of the first layer with a state */
  gint64 layer;
  double heads;
} Subject;

static gboolean is_state(const OrrModel *model, gint64 layer) {
  const int mixer = orr_model_kind(model, orr_model_layer_kind(model, layer)).mixer;
  return mixer == ORR_MIXER_LINEAR || mixer == ORR_MIXER_MAMBA;
}

static void subject_init(Subject *subject, const char *model, double heads) {
  g_autofree char *findings = NULL;
  g_autofree char *sets = g_strdup_printf("model=%s;workload.parallel.tp=8", model);
  g_autoptr(GError) error = NULL;
  *subject = (Subject){.heads = heads};
  subject->scenario = serving_scenario(shared_library(), sets, &findings);
  if (!subject->scenario) g_error("%s", findings);
  subject->machine = orr_run_world_new(shared_library(), subject->scenario, &error);
  g_assert_no_error(error);
  subject->world = orr_run_world_of(subject->machine, subject->scenario);
  while (!is_state(&subject->scenario->model, subject->layer)) subject->layer++;
  subject->kind = orr_model_layer_kind(&subject->scenario->model, subject->layer);
  subject->params = (OrrServingCostParams){
      .world = &subject->world,
      .shard = {.tp = 1, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16},
      .pp = 1,
      .all_reduce = "auto",
      .all_to_all = "auto",
      .experts.efficiency = 1};
}

static void subject_clear(Subject *subject) {
  orr_run_world_free(subject->machine);
  orr_scenario_free(subject->scenario);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Subject, subject_clear)

static double sum(const Subject *subject, const GArray *operators) {
  double sum_s = 0;
  for (guint i = 0; i < operators->len; i++)
    sum_s += orr_serving_cost_operator(&subject->params, &g_array_index(operators, OrrOperator, i))
                 .time_s;
  return sum_s;
}

/* All of the layer but its state, by its operators. */
static double rest_s(const Subject *subject, gint64 tokens) {
  const OrrModel *model = &subject->scenario->model;
  const OrrInferenceShard *shard = &subject->params.shard;
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_layer(model, subject->kind, shard, tokens, operators);
  orr_inference_experts(model, subject->kind, shard, tokens, operators);
  orr_inference_shared_experts(model, subject->kind, shard, tokens, operators);
  return sum(subject, operators);
}

static double table_s(const Subject *subject, const char *op, double batch, double queries) {
  const OrrModel *model = &subject->scenario->model;
  const OrrProfileModuleLayer layer =
      orr_cost_module_layer(subject->world.cost, model, subject->kind);
  const OrrModuleCall call = {.op = op,
                              .weights = "bfloat16",
                              .cache = "bfloat16",
                              .mode = "",
                              .layer = &layer,
                              .heads = subject->heads,
                              .batch = batch,
                              .queries = queries,
                              .keys = queries};
  g_assert_nonnull(layer.name);
  g_assert_true(orr_cost_module_has(subject->world.cost, op, &layer));
  return orr_cost_module(subject->world.cost, &call).time_s;
}

static double layer_s(const Subject *subject, const OrrStepShape *shape) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrServingCost) cost = orr_serving_cost_new(&subject->params, &error);
  g_assert_no_error(error);
  orr_serving_cost_step(cost, shape);
  return orr_serving_cost_layer_s(cost, subject->layer);
}

static const OrrStepShape decodes = {
    .tokens = 64, .decodes = 64, .key_sum = 64e3, .sequences = 64, .logits = 64};

/* Qwen3-Next: 32 heads of values and 16 of keys, 128 wide. 64 decodes, and a prompt of 2,048. */
static void test_delta(void) {
  g_auto(Subject) subject;
  subject_init(&subject, "qwen3-next-80b-a3b", 32);
  const double decode_s = rest_s(&subject, 64) + table_s(&subject, "conv-update", 64, 1) +
                          table_s(&subject, "state-update", 64, 1);
  const double prompt_s = rest_s(&subject, 2048) + table_s(&subject, "conv", 1, 2048) +
                          table_s(&subject, "scan", 1, 2048);
  const OrrStepShape prompt = {.tokens = 2048,
                               .chunk = 2048,
                               .chunk_key_sum = 2048.0 * 1024,
                               .chunk_pairs = 2048.0 * 2049 / 2,
                               .n_chunks = 1,
                               .sequences = 1,
                               .logits = 1};
  g_assert_cmpfloat_with_epsilon(layer_s(&subject, &decodes), decode_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(layer_s(&subject, &prompt), prompt_s, 1e-9);
}

/* Nemotron-H: the tables have its convolution and no scan, so that all stays with the operators. */
static void test_mamba(void) {
  g_auto(Subject) subject;
  subject_init(&subject, "nemotron-h-8b", 128);
  const OrrModel *model = &subject.scenario->model;
  const OrrProfileModuleLayer layer =
      orr_cost_module_layer(subject.world.cost, model, subject.kind);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_decodes(model, subject.kind, &subject.params.shard, 64, operators);
  g_assert_nonnull(layer.name);
  g_assert_true(orr_cost_module_has(subject.world.cost, "conv", &layer));
  g_assert_false(orr_cost_module_has(subject.world.cost, "scan", &layer));
  g_assert_cmpfloat_with_epsilon(layer_s(&subject, &decodes),
                                 rest_s(&subject, 64) + sum(&subject, operators), 1e-9);
}

/* Layers are named as the rows of a head's widths: 48 heads of values to 16 of keys have a third of
 * a key's channels each, which the profile rounds. */
static void test_names(void) {
  static const struct {
    const char *model, *name;
    double heads;
  } all[] = {{"qwen3-next-80b-a3b", "gated-delta-2", 32},
             {"qwen3.5-27b", "gated-delta-3", 48},
             {"nemotron-h-8b", "mamba-2-128-16", 128}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    g_auto(Subject) subject;
    subject_init(&subject, all[i].model, all[i].heads);
    g_assert_cmpstr(
        orr_cost_module_layer(subject.world.cost, &subject.scenario->model, subject.kind).name, ==,
        all[i].name);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-state-costs/delta", test_delta);
  g_test_add_func("/workloads/serving-state-costs/mamba", test_mamba);
  g_test_add_func("/workloads/serving-state-costs/names", test_names);
  return g_test_run();
}

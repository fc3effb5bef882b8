/*
 * plan_training.c - the sweep over layouts of a training job, as a document that a reader can
 * change and run again.
 */
#include "sim/base/yaml.h"
#include "sim/plan/plan.h"
#include "workloads/stack.h"

enum {
  MOST_PP = 64,
  MOST_CHUNKS = 12,
  MOST_MICRO = 8,
  LEAST_PART = 4096 /* tokens of a sequence on a GPU: longer ones are split over GPUs, too */
};
static const double default_batch_tokens = 4194304;

/* What frameworks shard: by the family of the stack, the words of optimizer.sharding. NULL, as for
 * software that is not listed: what the stack says. */
typedef struct {
  const char *family, *shardings;
  gboolean has_pipeline;
} Framework;

static const Framework frameworks[] = {
    {"megatron-core", "[distributed-optimizer]", TRUE},
    {"megatron-rocm", "[distributed-optimizer]", TRUE},
    {"primus", "[distributed-optimizer]", TRUE},
    {"mindspeed", "[distributed-optimizer]", TRUE},
    {"megatron-deepspeed", "[none, zero-1]", TRUE},
    {"megatron", "[none]", TRUE},
    {"torchtitan", "[fsdp]", TRUE},
    {"deepspeed", "[zero-1, zero-2, zero-3]", FALSE},
    {"gpt-neox", "[none, zero-1]", TRUE},
    {"llm-foundry", "[fsdp]", FALSE},
};

static const char *title_of(const OrrPlanTraining *asked) {
  return asked->title ? asked->title : asked->model;
}

/* The scenario without a sweep, on whose sizes the axes depend; of the cluster as it is where
 * @nodes is 0. */
static char *base_text(const OrrPlanTraining *asked, const char *stack, gint64 nodes) {
  g_autofree char *size =
      nodes ? g_strdup_printf(", nodes: %ld, gpus: %ld", nodes, asked->gpus) : g_strdup("");
  return g_strdup_printf("schema: scenario/1\n"
                         "name: Training %s on %ld GPUs\n"
                         "cluster: {base: %s%s}\nmodel: %s\nworkload:\n  kind: training\n"
                         "  stack: %s\n  batch: {global: 1, micro: 1}\n",
                         title_of(asked), asked->gpus, asked->cluster, size, asked->model, stack);
}

static OrrScenario *read_base(OrrLibrary *library, const OrrPlanTraining *asked, const char *stack,
                              gint64 nodes, GError **error) {
  g_autofree char *text = base_text(asked, stack, nodes);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_plan_tree(text, diags);
  OrrScenario *scenario = tree ? orr_scenario_read_fields(library, tree, diags) : NULL;
  if (!scenario) orr_diags_check(diags, error);
  return scenario;
}

/* --- Axes --- */

static gint64 floor_power(double value) {
  gint64 power = 1;
  while ((double)(power * 2) <= value) power *= 2;
  return power;
}

static void add_range(GString *out, const char *name, gint64 most) {
  if (most > 1) g_string_append_printf(out, "    %s: {powers-of: 2, to: %ld}\n", name, most);
}

static void add_list(GString *out, const char *name, gint64 whole, gint64 most) {
  g_string_append_printf(out, "    %s: [1", name);
  for (gint64 i = 2; i <= most; i++)
    if (whole % i == 0 || floor_power((double)i) == i) g_string_append_printf(out, ", %ld", i);
  g_string_append(out, "]\n");
}

static const Framework *framework_of(const char *stack) {
  static const Framework other = {"", NULL, TRUE};
  for (guint i = 0; i < G_N_ELEMENTS(frameworks); i++)
    if (g_str_has_prefix(stack, frameworks[i].family)) return &frameworks[i];
  return &other;
}

static void add_axes(GString *out, const OrrScenario *scenario, const char *stack,
                     gint64 sequence) {
  const OrrModel *model = &scenario->model;
  const OrrCluster *cluster = &scenario->cluster;
  const Framework *framework = framework_of(stack);
  const gint64 domain = MIN(cluster->node.scale_up_domain, cluster->gpus);
  const gint64 pp = MIN(MIN(model->layers, MOST_PP), cluster->gpus);
  g_string_append(out, "  axes:\n");
  add_range(out, "tp", floor_power((double)MIN(MAX(domain, 1), 16)));
  if (framework->has_pipeline && pp > 1) {
    add_list(out, "pp", model->layers, pp);
    add_list(out, "chunks", model->layers, MIN(MOST_CHUNKS, model->layers));
  }
  add_range(out, "cp", floor_power((double)sequence / LEAST_PART));
  if (model->moe.experts > 1)
    add_range(out, "ep", MIN(floor_power((double)model->moe.experts), cluster->gpus));
  add_range(out, "micro-batch", MOST_MICRO);
  g_string_append(out, "    recompute: [none, selective, full]\n");
  if (framework->shardings) g_string_append_printf(out, "    sharding: %s\n", framework->shardings);
}

/* --- The document --- */

/* Sequences of @tokens: a multiple of a power of two, and of the GPUs' odd factor, so that layouts
 * divide it. */
static gint64 batch_of(double tokens, gint64 sequence, gint64 gpus) {
  gint64 odd = gpus;
  while (odd % 2 == 0) odd /= 2;
  const double wanted = fmax(tokens / (double)sequence, 1);
  const gint64 unit = odd * floor_power(fmax(wanted / 4 / (double)odd, 1));
  return MAX((gint64)round(wanted / (double)unit), 1) * unit;
}

char *orr_plan_training_batch_note(const OrrPlanTraining *asked, const char *text,
                                   char *const *settings) {
  for (; settings && *settings; settings++)
    if (g_str_has_prefix(*settings, "workload.batch")) return NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "plan", ignored);
  const OrrNode *workload = tree ? orr_node_get(tree, "workload") : NULL;
  const OrrNode *batch = workload ? orr_node_get(workload, "batch") : NULL;
  const char *global = batch ? orr_node_get_text(batch, "global") : NULL;
  const char *length = workload ? orr_node_get_text(workload, "sequence") : NULL;
  const double tokens = asked->batch_tokens > 0 ? asked->batch_tokens : default_batch_tokens;
  const double sequence = length ? g_ascii_strtod(length, NULL) : 0;
  const double n = global ? g_ascii_strtod(global, NULL) : 0;
  if (!(sequence > 0 && n > 0)) return NULL;
  if (tokens < sequence)
    return g_strdup_printf("a step holds whole sequences: %.0f tokens instead of %.0f",
                           n * sequence, tokens);
  if (fabs(n * sequence - tokens) < sequence) return NULL;
  return g_strdup_printf(
      "%ld GPUs train %.0f sequences of %.0f tokens per step, %.0f tokens instead "
      "of %.0f: as many as layouts can divide; --set workload.batch.global=N "
      "takes another number",
      asked->gpus, n, sequence, n * sequence, tokens);
}

char *orr_plan_training_stack(OrrLibrary *library, const OrrPlanTraining *asked) {
  if (asked->stack) return orr_stack_resolve(library, asked->stack);
  return orr_plan_stack(library, "training", asked->cluster);
}

static char *document(const OrrPlanTraining *asked, const OrrScenario *scenario,
                      const char *stack) {
  const OrrCluster *cluster = &scenario->cluster;
  const gint64 sequence =
      asked->sequence ? asked->sequence : MIN(MAX(scenario->model.context, 1), 8192);
  const double tokens = asked->batch_tokens > 0 ? asked->batch_tokens : default_batch_tokens;
  GString *out = g_string_new(NULL);
  g_string_append_printf(
      out,
      "# Made by orrery plan training. Change it, and run it again with orrery sweep.\n"
      "schema: scenario/1\n"
      "name: Training %s on %ld GPUs\n"
      "question: Which layout trains fastest?\n"
      "cluster: {base: %s, nodes: %ld, gpus: %ld}\n"
      "model: %s\n"
      "%s%s%s"
      "workload:\n"
      "  kind: training\n"
      "  stack: %s\n"
      "  sequence: %ld\n"
      "  batch: {global: %ld, micro: 1}\n"
      "  precision: %s\n"
      "sweep:\n",
      title_of(asked), asked->gpus, asked->cluster, cluster->nodes, asked->gpus, asked->model,
      asked->prices ? "prices: " : "", asked->prices ? asked->prices : "",
      asked->prices ? "\n" : "", stack, sequence, batch_of(tokens, sequence, asked->gpus),
      asked->precision ? asked->precision : "bf16");
  add_axes(out, scenario, stack, sequence);
  g_string_append(out, "  objective: maximize tokens_per_s\n  prune: best\n");
  return g_string_free(out, FALSE);
}

gint64 orr_plan_gpus_per_node(OrrLibrary *library, const OrrPlanTraining *asked, GError **error) {
  g_autofree char *stack = orr_plan_training_stack(library, asked);
  g_autoptr(OrrScenario) one =
      read_base(library, asked, stack ? stack : asked->stack, 0, error); /* names before sizes */
  return one ? MAX(one->cluster.node.gpus, 1) : 0;
}

char *orr_plan_training_text(OrrLibrary *library, const OrrPlanTraining *asked, GError **error) {
  g_autofree char *stack = orr_plan_training_stack(library, asked);
  const gint64 per_node = orr_plan_gpus_per_node(library, asked, error);
  if (per_node == 0) return NULL;
  const gint64 nodes = (asked->gpus + per_node - 1) / per_node;
  g_autoptr(OrrScenario) scenario = read_base(library, asked, stack, nodes, error);
  return scenario ? document(asked, scenario, stack) : NULL;
}

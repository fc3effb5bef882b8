/*
 * plan_serving.c - layouts of an engine, their capacity, and how many a question needs.
 */
#include "sim/plan/plan_serving.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "workloads/stack.h"

enum { REQUESTS = 400, MOST_TP = 16 };
static const gint64 budgets[] = {8192, 2048}; /* tokens of a step: whole prompts, or chunks */

static char *stack_of(OrrLibrary *library, const char *asked) {
  char *found = orr_stack_resolve(library, asked ? asked : "vllm-9999");
  return found ? found : g_strdup(asked);
}

char *orr_plan_serving_text(OrrLibrary *library, const OrrPlanServing *asked,
                            const OrrPlanLayout *layout, gint64 replicas, double rate) {
  g_autofree char *stack = stack_of(library, asked->stack);
  g_autofree char *split =
      layout->dp_attention > 1
          ? g_strdup_printf("{tp: 1, dp-attention: %" G_GINT64_FORMAT ", ep: %" G_GINT64_FORMAT "}",
                            layout->dp_attention, layout->dp_attention)
          : g_strdup_printf("{tp: %" G_GINT64_FORMAT "}", layout->tp);
  return g_strdup_printf("# Made by orrery plan serving.\n"
                         "schema: scenario/1\n"
                         "name: Serving %s\n"
                         "question: Does it meet its objectives?\n"
                         "cluster: {base: %s, nodes: 0, gpus: %" G_GINT64_FORMAT "}\n"
                         "model: %s\n"
                         "%s%s%s"
                         "workload:\n"
                         "  kind: serving\n"
                         "  stack: %s\n"
                         "  precision: %s\n"
                         "  parallel: %s\n"
                         "  engine: {max-num-batched-tokens: %" G_GINT64_FORMAT "}\n"
                         "  load: {kind: poisson, rate: %.6g}\n"
                         "  replicas: %" G_GINT64_FORMAT "\n"
                         "  requests: %" G_GINT64_FORMAT "\n"
                         "  input: {tokens: %" G_GINT64_FORMAT "}\n"
                         "  output: {tokens: %" G_GINT64_FORMAT "}\n"
                         "  slo: {ttft: %.6g s, tpot: %.6g s}\n",
                         asked->model, layout->cluster, replicas * layout->gpus, asked->model,
                         asked->prices ? "prices: " : "", asked->prices ? asked->prices : "",
                         asked->prices ? "\n" : "", stack, layout->precision, split,
                         layout->batched_tokens, rate, replicas, REQUESTS * replicas,
                         asked->input_tokens, asked->output_tokens, asked->ttft_s, asked->tpot_s);
}

static OrrNode *tree_of(OrrLibrary *library, const OrrPlanServing *asked,
                        const OrrPlanLayout *layout, double rate, GError **error) {
  g_autofree char *text = orr_plan_serving_text(library, asked, layout, 1, rate);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "the question", diags);
  if (!tree) {
    orr_diags_check(diags, error);
    return NULL;
  }
  return orr_settings_apply(&orr_scenario_table, tree, asked->settings, error)
             ? g_steal_pointer(&tree)
             : NULL;
}

/* --- Layouts --- */

static void add_split(GArray *layouts, const OrrPlanServing *asked, OrrPlanLayout layout) {
  layout.gpus = layout.tp * layout.dp_attention;
  if (asked->gpus && layout.gpus > asked->gpus) return;
  for (guint i = 0; i < G_N_ELEMENTS(budgets); i++) {
    if (i > 0 && asked->input_tokens <= budgets[i]) continue;
    layout.batched_tokens = budgets[i];
    g_array_append_val(layouts, layout);
  }
}

static void add_splits(GArray *layouts, const OrrPlanServing *asked, const OrrScenario *scenario,
                       OrrPlanLayout layout) {
  const gint64 domain = MIN(MAX(scenario->cluster.node.scale_up_domain, 1), MOST_TP);
  layout.dp_attention = 1;
  for (gint64 tp = 1; tp <= domain && scenario->model.heads % tp == 0; tp *= 2) {
    layout.tp = tp;
    add_split(layouts, asked, layout);
  }
  layout.tp = 1;
  for (gint64 dp = 2; dp <= domain && scenario->model.moe.experts > 1; dp *= 2) {
    layout.dp_attention = dp;
    add_split(layouts, asked, layout);
  }
}

GArray *orr_plan_serving_layouts(OrrLibrary *library, const OrrPlanServing *asked, GError **error) {
  GArray *layouts = g_array_new(FALSE, FALSE, sizeof(OrrPlanLayout));
  for (char **cluster = asked->clusters; *cluster; cluster++)
    for (char **precision = asked->precisions; *precision; precision++) {
      const OrrPlanLayout one = {.cluster = *cluster,
                                 .precision = *precision,
                                 .tp = 1,
                                 .dp_attention = 1,
                                 .batched_tokens = budgets[0],
                                 .gpus = 1};
      g_autoptr(OrrDiags) diags = orr_diags_new();
      g_autoptr(OrrNode) tree = tree_of(library, asked, &one, 1, error);
      g_autoptr(OrrScenario) scenario =
          tree ? orr_scenario_read_fields(library, tree, diags) : NULL;
      if (!scenario) {
        if (tree) orr_diags_check(diags, error);
        orr_plan_serving_free(layouts);
        return NULL;
      }
      add_splits(layouts, asked, scenario, one);
    }
  return layouts;
}

void orr_plan_serving_free(GArray *layouts) {
  for (guint i = 0; layouts && i < layouts->len; i++)
    g_free(g_array_index(layouts, OrrPlanLayout, i).why);
  if (layouts) g_array_unref(layouts);
}

/* --- Capacity --- */

gboolean orr_plan_serving_measure(OrrLibrary *library, const OrrPlanServing *asked,
                                  OrrPlanLayout *layout, double start, double least,
                                  GError **error) {
  const OrrCapacityQuery query = {asked->fraction, 0.05, 2, 0.9, least};
  g_autoptr(GError) reason = NULL;
  g_autoptr(OrrNode) tree = tree_of(library, asked, layout, start, error);
  if (!tree) return FALSE;
  g_autoptr(OrrCapacity) capacity = orr_capacity_find(library, tree, &query, &reason);
  layout->rate = capacity ? capacity->alone.meets : 0;
  layout->sure_rate = capacity ? capacity->sure.meets : 0;
  if (capacity) return TRUE;
  if (g_error_matches(reason, ORR_FAULT, ORR_FAULT_DOCUMENT)) {
    layout->why = g_strdup(reason->message);
    return TRUE;
  }
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

static int compare_few(gconstpointer a, gconstpointer b) {
  const OrrPlanLayout *x = a, *y = b;
  if ((x->rate > 0) != (y->rate > 0)) return x->rate > 0 ? -1 : 1;
  const gint64 x_gpus = x->replicas * x->gpus, y_gpus = y->replicas * y->gpus;
  if (x_gpus != y_gpus) return x_gpus < y_gpus ? -1 : 1;
  return (x->fleet_rate < y->fleet_rate) - (x->fleet_rate > y->fleet_rate);
}

static int compare_fast(gconstpointer a, gconstpointer b) {
  const OrrPlanLayout *x = a, *y = b;
  return (x->fleet_rate < y->fleet_rate) - (x->fleet_rate > y->fleet_rate);
}

void orr_plan_serving_rank(const OrrPlanServing *asked, GArray *layouts) {
  for (guint i = 0; i < layouts->len; i++) {
    OrrPlanLayout *layout = &g_array_index(layouts, OrrPlanLayout, i);
    layout->replicas = asked->rate > 0 && layout->rate > 0
                           ? (gint64)ceil(asked->rate / layout->rate - 1e-9)
                           : asked->gpus / layout->gpus;
    if (asked->gpus && layout->replicas * layout->gpus > asked->gpus) layout->rate = 0;
    layout->fleet_rate = (double)layout->replicas * layout->rate;
  }
  g_array_sort(layouts, asked->rate > 0 ? compare_few : compare_fast);
}

/* --- The launch line --- */

static const struct {
  const char *family, *command, *tp, *tokens;
  const char *dp, *dp_more; /* attention data parallelism; NULL: the engine has none */
} engines[] = {
    {"vllm", "vllm serve", "--tensor-parallel-size", "--max-num-batched-tokens",
     "--data-parallel-size", "--enable-expert-parallel"},
    {"sglang", "python -m sglang.launch_server --model-path", "--tp", "--chunked-prefill-size",
     "--dp", "--enable-dp-attention"},
    {"trtllm", "trtllm-serve", "--tp_size", "--max_num_tokens", NULL, NULL},
};

/* The checkpoint's public name: the first one in this number format, else the first. */
static char *checkpoint(const OrrModel *model, const char *precision) {
  for (char **alias = model->aliases; alias && *alias; alias++) {
    const char *format = strchr(*alias, ' ');
    if (format ? strcmp(format + 1, precision) == 0 : strcmp(precision, "bf16") == 0)
      return g_strndup(*alias, format ? (gsize)(format - *alias) : strlen(*alias));
  }
  const char *first = model->aliases && *model->aliases ? *model->aliases : model->name;
  return g_strndup(first, strcspn(first, " "));
}

char *orr_plan_serving_launch(OrrLibrary *library, const OrrPlanServing *asked,
                              const OrrPlanLayout *layout) {
  g_autofree char *stack = stack_of(library, asked->stack);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = tree_of(library, asked, layout, 1, NULL);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read_fields(library, tree, diags) : NULL;
  for (guint i = 0; scenario && i < G_N_ELEMENTS(engines); i++) {
    if (!g_str_has_prefix(stack, engines[i].family)) continue;
    if (layout->dp_attention > 1 && !engines[i].dp) return NULL;
    g_autofree char *model = checkpoint(&scenario->model, layout->precision);
    GString *text = g_string_new(NULL);
    /* SGLang counts the GPUs of attention data parallelism as tp */
    const gboolean counts = layout->dp_attention > 1 && i == 1;
    g_string_append_printf(text, "%s %s %s %" G_GINT64_FORMAT " %s %" G_GINT64_FORMAT,
                           engines[i].command, model, engines[i].tp,
                           counts ? layout->dp_attention : layout->tp, engines[i].tokens,
                           layout->batched_tokens);
    if (layout->dp_attention > 1)
      g_string_append_printf(text, " %s %" G_GINT64_FORMAT " %s", engines[i].dp,
                             layout->dp_attention, engines[i].dp_more);
    if (i == 0 && g_str_has_prefix(layout->precision, "fp8") && !strstr(model, "FP8"))
      g_string_append(text, " --quantization fp8");
    return g_string_free(text, FALSE);
  }
  return NULL;
}

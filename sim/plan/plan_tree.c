/*
 * plan_tree.c - reads the scenario of a question, so that findings name options.
 */
#include "sim/base/yaml.h"
#include "sim/plan/plan.h"

/* The option that says what stands at a path of the scenario. A later path lies within those before
 * it. */
static const struct {
  const char *path, *option;
} options[] = {
    {"", "orrery plan"},
    {"cluster", "--cluster"},
    {"cluster.gpus", "--gpus"},
    {"cluster.nodes", "--gpus"},
    {"model", "--model"},
    {"prices", "--prices"},
    {"workload.stack", "--stack"},
    {"workload.precision", "--precision"},
    {"workload.quantization", "--precision"},
    {"workload.kv-dtype", "--kv-cache"},
    {"workload.sequence", "--sequence"},
    {"workload.batch", "--batch-tokens"},
    {"workload.load", "--rate"},
    {"workload.input", "--input"},
    {"workload.output", "--output"},
};

static void place(OrrNode *node, const char *option) {
  node->place.file = g_intern_static_string(option);
  node->place.line = node->place.column = 0;
  for (guint i = 0; node->keys && i < node->keys->len; i++) place(node->keys->pdata[i], option);
  for (guint i = 0; node->items && i < node->items->len; i++) place(node->items->pdata[i], option);
}

OrrNode *orr_plan_tree(const char *text, OrrDiags *diags) {
  OrrNode *tree = orr_yaml_parse(text, strlen(text), "orrery plan", diags);
  for (guint i = 0; tree && i < G_N_ELEMENTS(options); i++) {
    g_auto(GStrv) keys = g_strsplit(options[i].path, ".", -1);
    OrrNode *node = tree;
    for (char **key = keys; node && *key; key++)
      node = node->kind == ORR_NODE_MAP ? orr_node_get(node, *key) : NULL;
    if (node) place(node, options[i].option);
  }
  return tree;
}

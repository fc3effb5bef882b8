/*
 * form_disaggregated.c - TensorRT-LLM's config of a disaggregated deployment, which `trtllm-serve
 * disaggregated -c FILE` reads (examples/disaggregated/README.md).
 *
 *   model: M                    keys of all servers
 *   context_servers:            those that prefill: their number, and keys of trtllm-serve's YAML
 *     num_instances: 2
 *     tensor_parallel_size: 1
 *   generation_servers: ...     those that decode
 */
#include "sim/base/quantity.h"
#include "sim/base/yaml.h"
#include "sim/import/launch/launch_private.h"

static int recognise(const OrrLaunchSource *source) {
  const char *context = strstr(source->text, "context_servers:");
  return context && strstr(source->text, "generation_servers:") ? 95 : 0;
}

/* Keys of the file that concern no engine. */
static gboolean is_of_file(const char *key) {
  static const char *const keys[] = {"context_servers",
                                     "generation_servers",
                                     "hostname",
                                     "num_instances",
                                     "urls",
                                     "router",
                                     "port",
                                     "conditional_disagg_config",
                                     "max_retries",
                                     "node_id",
                                     "schedule_style"};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (strcmp(keys[i], key) == 0) return TRUE;
  return FALSE;
}

static void add_keys(OrrLaunchDraft *draft, const OrrNode *map) {
  ORR_EACH_PAIR(key, value, map) {
    if (!is_of_file(key->text)) orr_launch_tree(draft, &orr_dialect_trtllm, value, key->text);
  }
}

/* Of the servers that @section describes. */
static gint64 instances(const OrrNode *section) {
  double number = 0;
  const char *text = orr_node_get_text(section, "num_instances");
  const gboolean is_number = text && orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL);
  return is_number && number >= 1 && number < 1e6 ? (gint64)number : 1;
}

static void add_servers(OrrLaunchDraft *draft, const OrrNode *tree, const OrrNode *section) {
  draft->replicas = instances(section);
  add_keys(draft, tree);
  add_keys(draft, section);
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(OrrNode) tree =
      orr_yaml_parse(source->text, source->length, g_intern_string(source->name), draft->diags);
  if (!tree) return;
  add_servers(draft, tree, orr_node_get(tree, "generation_servers"));
  add_servers(orr_launch_draft_part(draft, ORR_LAUNCH_PREFILLS), tree,
              orr_node_get(tree, "context_servers"));
}

const OrrLaunchForm orr_launch_form_disaggregated = {
    .name = "disaggregated",
    .sentence = "TensorRT-LLM's config of servers that prefill and servers that decode.",
    .recognise = recognise,
    .read = read,
};

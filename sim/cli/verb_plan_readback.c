/*
 * verb_plan_readback.c - what a launch line does not say of the scenario that it is made from.
 *
 * The line is read back as `orrery import launch` reads it, on the same cluster and stack, and both
 * resolved scenarios are compared key by key:
 *
 *   scenario -> line -> scenario'      a key that differs is one that the line does not carry
 *
 * So a property of a model or a setting that plan_launch.c has no option for is reported without a
 * list of such properties.
 */
#include "sim/base/yaml.h"
#include "sim/cli/verb_plan.h"
#include "sim/import/launch/launch_form.h"

/* Keys that name a document, and keys that no launch line sets. */
static gboolean is_exempt(const char *path) {
  static const char *const keys[] = {"model.name",   "model.aliases", "model.parameters",
                                     "model.source", "workload.kind", "workload.run-tokens"};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (strcmp(path, keys[i]) == 0) return TRUE;
  return FALSE;
}

/* A schedule of one stage orders nothing. */
static gboolean is_idle(const char *key, const OrrNode *workload) {
  const char *stages = orr_node_get_text(orr_node_get(workload, "parallel"), "pp");
  return strcmp(key, "pipeline") == 0 && g_strcmp0(stages, "1") == 0;
}

/* Two names of one thing: fp8 is fp8-current, and a stage of one chunk interleaves nothing. */
static gboolean is_synonym(const char *path, const OrrNode *said, const OrrNode *back) {
  if (strcmp(path, "workload.precision") == 0)
    return strcmp(said->text, "fp8") == 0 && strcmp(back->text, "fp8-current") == 0;
  return strcmp(path, "workload.pipeline") == 0 &&
         g_strcmp0(orr_node_get_text(said, "kind"), "1f1b") == 0 &&
         g_strcmp0(orr_node_get_text(back, "kind"), "interleaved-1f1b") == 0 &&
         g_strcmp0(orr_node_get_text(back, "chunks"), "1") == 0;
}

static void add_differing(const char *path, const OrrNode *said, const OrrNode *back,
                          GPtrArray *ret_unsaid) {
  if (is_exempt(path)) return;
  if (back && (orr_node_equal(said, back) || is_synonym(path, said, back))) return;
  if (said->kind == ORR_NODE_MAP && back && back->kind == ORR_NODE_MAP) {
    ORR_EACH_PAIR(key, item, said) {
      if (is_idle(key->text, said)) continue;
      g_autofree char *inner = g_strconcat(path, ".", key->text, NULL);
      add_differing(inner, item, orr_node_get(back, key->text), ret_unsaid);
    }
    return;
  }
  g_autofree char *text = said->kind == ORR_NODE_SCALAR ? g_strdup(said->text) : NULL;
  g_ptr_array_add(ret_unsaid, text ? g_strdup_printf("%s %s", path, text) : g_strdup(path));
}

static OrrNode *resolved(const OrrScenario *scenario, OrrDiags *diags) {
  g_autofree char *text = orr_scenario_resolved(scenario);
  return orr_yaml_parse(text, strlen(text), "the scenario", diags);
}

static OrrScenario *read_back(OrrLibrary *library, const OrrNode *said, const char *line,
                              GError **error) {
  const OrrNode *workload = orr_node_get(said, "workload");
  const char *stack = orr_node_get_text(workload, "stack");
  const OrrLaunchOptions options = {.cluster = orr_verb_plan_asked.cluster, .stack = stack};
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_launch_form_add_text(draft, "the launch line", line, strlen(line));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, error);
  if (!text) return NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "the launch line", diags);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  return orr_diags_check(diags, error) ? g_steal_pointer(&scenario) : NULL;
}

GPtrArray *orr_verb_plan_readback(OrrLibrary *library, const OrrScenario *scenario,
                                  const char *line) {
  GPtrArray *unsaid = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) said = resolved(scenario, diags);
  g_autoptr(OrrScenario) back = said ? read_back(library, said, line, &error) : NULL;
  g_autoptr(OrrNode) theirs = back ? resolved(back, diags) : NULL;
  if (!theirs) {
    g_ptr_array_add(unsaid, g_strdup_printf("the line as a whole: import launch refuses it: %s",
                                            error ? error->message : "it cannot be read"));
    return unsaid;
  }
  static const char *const sections[] = {"model", "workload"};
  for (guint i = 0; i < G_N_ELEMENTS(sections); i++)
    add_differing(sections[i], orr_node_get(said, sections[i]), orr_node_get(theirs, sections[i]),
                  unsaid);
  const gint64 gpus = orr_cluster_n_gpus(&scenario->cluster), node = scenario->cluster.node.gpus;
  if (gpus > node && gpus % node)
    g_ptr_array_add(unsaid, g_strdup_printf("%ld GPUs on each node but the last", node));
  return unsaid;
}

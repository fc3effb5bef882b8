/*
 * inputs_replay.c - replays the scenario with the values of a design, each in a child process.
 *
 * Values are set in a copy of the scenario's tree, as --set does, and it is read again: so
 * conditions of stacks and all checks see them. Replays are brief (study.h), as a point of a sweep
 * is replayed: the result alone, with equal numbers.
 */
#include "sim/bands/band_private.h"

typedef struct {
  const OrrNode *tree;
  const OrrInputs *inputs;
  const OrrInputsHow *how;
} Replays;

/* --- In the child --- */

static gboolean set_values(const Replays *replays, guint replay, OrrNode *tree, GError **error) {
  const GPtrArray *uncertain = replays->inputs->uncertain;
  ORR_EACH_POINTER_AT(i, const OrrUncertain, one, uncertain) {
    g_autofree char *text =
        orr_uncertain_text(one, replays->inputs->values[(gsize)replay * uncertain->len + i]);
    OrrNode *value = orr_node_new_scalar(one->place, text);
    if (!orr_field_put(&orr_scenario_table, tree, one->path, value, error)) return FALSE;
  }
  return TRUE;
}

static OrrNode *tree_of(guint replay, void *user, GError **error) {
  const Replays *replays = user;
  g_autoptr(OrrNode) tree = orr_node_copy(replays->tree);
  return set_values(replays, replay, tree, error) ? g_steal_pointer(&tree) : NULL;
}

/* --- In the parent --- */

static void show_progress(guint n_done, void *user) {
  const Replays *replays = user;
  if (replays->how->progress) replays->how->progress(n_done, replays->how->user);
}

/* Whether all replays have the same machine. */
static gboolean is_same_machine(const GPtrArray *uncertain) {
  for (guint i = 0; i < uncertain->len; i++) {
    const char *path = ((const OrrUncertain *)uncertain->pdata[i])->path;
    if (!g_str_has_prefix(path, "workload.") && !g_str_has_prefix(path, "model.")) return FALSE;
  }
  return TRUE;
}

static void draw(OrrInputs *inputs, guint64 seed) {
  const guint n_inputs = inputs->uncertain->len;
  inputs->values = orr_inputs_design(seed, n_inputs, inputs->n);
  for (gsize k = 0; k < (gsize)inputs->n * n_inputs; k++)
    inputs->values[k] =
        orr_uncertain_quantile(inputs->uncertain->pdata[k % n_inputs], inputs->values[k]);
}

static OrrInputs *replay(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                         GPtrArray *uncertain, const OrrInputsHow *how) {
  OrrInputs *inputs = g_new0(OrrInputs, 1);
  inputs->uncertain = g_ptr_array_ref(uncertain);
  inputs->n = how->samples;
  draw(inputs, (guint64)scenario->seed);
  /* Made before the children fork: a profile takes longer to read than most replays. */
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, NULL);
  const gboolean is_shared = is_same_machine(inputs->uncertain);
  Replays replays = {tree, inputs, how};
  const OrrStudy study = {.library = library,
                          .n = how->samples,
                          .jobs = how->jobs,
                          .tree = tree_of,
                          .world = is_shared ? world : NULL,
                          .is_brief = TRUE,
                          .progress = show_progress,
                          .user = &replays};
  inputs->replays = orr_study_run(&study);
  return inputs;
}

OrrInputs *orr_inputs_replay(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                             const OrrInputsHow *how) {
  return replay(library, tree, scenario, scenario->uncertain, how);
}

OrrInputs *orr_inputs_replay_seeds(OrrLibrary *library, const OrrNode *tree,
                                   const OrrScenario *scenario, const OrrInputsHow *how) {
  /* far apart, so that all differ from one another and from the run's */
  OrrUncertain seed = {.path = (char *)ORR_INPUT_SEED,
                       .value = (double)(scenario->seed % 1000) + 1e6,
                       .low = (double)(scenario->seed % 1000) + 1,
                       .high = (double)(scenario->seed % 1000) + 2e6,
                       .is_whole = TRUE};
  g_autoptr(GPtrArray) uncertain = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(uncertain, g_memdup2(&seed, sizeof seed));
  return replay(library, tree, scenario, uncertain, how);
}

void orr_inputs_free(OrrInputs *inputs) {
  if (!inputs) return;
  g_ptr_array_unref(inputs->uncertain);
  g_free(inputs->values);
  orr_study_free(inputs->replays, inputs->n);
  g_free(inputs);
}

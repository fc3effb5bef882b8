/*
 * inputs_replay.c - replays the scenario with the values of a design, each in a child process.
 *
 * A child sets its values in a copy of the scenario's tree, as --set does, and reads it again: so
 * conditions of stacks and all checks see them. It replays briefly (run_work.h), as a point of a
 * sweep is replayed: the result alone, with equal numbers.
 */
#include <string.h>

#include "sim/bands/inputs_private.h"
#include "sim/base/fault.h"
#include "sim/run/simulate.h"

/* ok, reason, OrrResult as its bytes. */
#define ANSWER "(bsay)"

typedef struct {
  OrrLibrary *library;
  const OrrNode *tree;
  const OrrInputs *inputs;
  const OrrInputsHow *how;
  const OrrRunWorld *world; /* of all replays; NULL: each makes its own */
} Crew;

/* --- In the child --- */

static gboolean set_values(const Crew *crew, guint replay, OrrNode *tree, GError **error) {
  const GPtrArray *uncertain = crew->inputs->uncertain;
  for (guint i = 0; i < uncertain->len; i++) {
    const OrrUncertain *one = uncertain->pdata[i];
    g_autofree char *text =
        orr_uncertain_text(one, crew->inputs->values[(gsize)replay * uncertain->len + i]);
    OrrNode *value = orr_node_new_scalar(one->place, text);
    if (!orr_field_put(&orr_scenario_table, tree, one->path, value, error)) return FALSE;
  }
  return TRUE;
}

/* A step is shortened as far as it has a steady state; SimGrid has one attempt in a process. */
static OrrOutcome *simulate(const OrrRunWorld *world, const OrrScenario *scenario, GError **error) {
  for (guint shorten = scenario->engine == ORR_REPLAY_SIMGRID ? 0 : 1;; shorten++) {
    gboolean too_short = FALSE;
    const OrrSimulation options = {.brief = TRUE, .shorten = shorten, .too_short = &too_short};
    OrrOutcome *outcome = orr_simulate_in(world, scenario, &options, error);
    if (!too_short) return outcome;
  }
}

static OrrOutcome *replay_once(const Crew *crew, guint replay, GError **error) {
  g_autoptr(OrrNode) tree = orr_node_copy(crew->tree);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  if (!set_values(crew, replay, tree, error)) return NULL;
  g_autoptr(OrrScenario) scenario = orr_scenario_read(crew->library, tree, diags);
  if (!orr_diags_check(diags, error)) return NULL;
  if (crew->world) return simulate(crew->world, scenario, error);
  g_autoptr(OrrRunWorld) world = orr_run_world_new(crew->library, scenario, error);
  return world ? simulate(world, scenario, error) : NULL;
}

static GBytes *work(guint replay, void *user) {
  static const OrrResult nothing;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrOutcome) outcome = replay_once(user, replay, &error);
  const OrrResult *result = outcome ? &outcome->result : &nothing;
  g_autofree char *reason = g_utf8_make_valid(outcome ? "" : error->message, -1);
  GVariant *bytes = g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result, sizeof *result, 1);
  g_autoptr(GVariant) answer =
      g_variant_ref_sink(g_variant_new("(bs@ay)", outcome != NULL, reason, bytes));
  return g_variant_get_data_as_bytes(answer);
}

/* --- In the parent --- */

static OrrInputsReplay unpack(GBytes *bytes) {
  g_autoptr(GVariant) packed =
      g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(ANSWER), bytes, FALSE));
  g_autoptr(GVariant) result = NULL;
  OrrInputsReplay replay = {0};
  gsize n = 0;
  if (!g_variant_is_normal_form(packed)) {
    replay.reason = g_strdup("the simulation ended before its result was complete");
    return replay;
  }
  g_variant_get(packed, "(bs@ay)", &replay.ok, &replay.reason, &result);
  gconstpointer data = g_variant_get_fixed_array(result, &n, 1);
  memcpy(&replay.result, data, MIN(n, sizeof replay.result));
  return replay;
}

static void show_progress(guint n_done, void *user) {
  const Crew *crew = user;
  if (crew->how->progress) crew->how->progress(n_done, crew->how->user);
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

OrrInputs *orr_inputs_replay(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                             const OrrInputsHow *how) {
  OrrInputs *inputs = g_new0(OrrInputs, 1);
  inputs->uncertain = g_ptr_array_ref(scenario->uncertain);
  inputs->n = how->samples;
  inputs->replays = g_new0(OrrInputsReplay, how->samples);
  draw(inputs, (guint64)scenario->seed);
  /* Made before the children fork: a profile takes longer to read than most replays. */
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, NULL);
  const gboolean is_shared = is_same_machine(inputs->uncertain);
  Crew crew = {library, tree, inputs, how, is_shared ? world : NULL};
  const OrrChildren children = {
      .n = how->samples, .jobs = how->jobs, .work = work, .progress = show_progress, .user = &crew};
  g_autoptr(GPtrArray) answers = orr_children_run(&children);
  for (guint r = 0; r < answers->len; r++) {
    OrrChildAnswer *answer = answers->pdata[r];
    if (answer->bytes)
      inputs->replays[r] = unpack(answer->bytes);
    else
      inputs->replays[r].reason = g_steal_pointer(&answer->failure);
  }
  return inputs;
}

void orr_inputs_free(OrrInputs *inputs) {
  if (!inputs) return;
  for (guint r = 0; r < inputs->n; r++) g_free(inputs->replays[r].reason);
  g_ptr_array_unref(inputs->uncertain);
  g_free(inputs->values);
  g_free(inputs->replays);
  g_free(inputs);
}

/*
 * campaign_states.c - makes the scenario of each state, and replays those that are not known yet in
 * children.
 */
#include "sim/run/run_private.h"

#include "sim/base/children.h"
#include "workloads/training/training.h"

/* A checkpoint after the second of three steps: the third shows what its write costs. */
enum { STORAGE_STEPS = 3, STORAGE_EVERY = 2 };

/* A scenario that borrows everything but these from another. */
typedef struct {
  OrrScenario scenario;
  OrrTraining training;
  OrrFaultSpec fault;
  GPtrArray *faults; /* the one above; NULL: none */
  double trained;    /* of the sequences that the replay counts: the batch's */
} Variant;

/* The fault strikes at the beginning and stays. */
static void add_fault(Variant *variant, const OrrChoice *fault) {
  OrrFaultSpec *spec = &variant->fault;
  orr_field_defaults(&orr_fault_spec_table, spec);
  spec->fault = *fault;
  spec->at_s = 0;
  variant->faults = g_ptr_array_new();
  g_ptr_array_add(variant->faults, spec);
  variant->scenario.faults = variant->faults;
}

static gint64 replicas_of(const OrrScenario *scenario) {
  const OrrTraining *t = scenario->workload.params;
  const gint64 split = t->parallel.tp * t->parallel.pp * MAX(t->parallel.cp, 1);
  return t->parallel.dp ? t->parallel.dp : orr_cluster_n_gpus(&scenario->cluster) / MAX(split, 1);
}

/* Sequences of @left replicas that share @batch, each with as many micro-batches as the one that
 * gets most of them: @batch, rounded up. */
static gint64 shared_batch(gint64 batch, gint64 micro, gint64 left) {
  const gint64 each = micro * left;
  return (batch + each - 1) / each * each;
}

/* Fewer replicas on the first GPUs of the same fabric, each with the sequences that it had, or all
 * with the whole batch. */
static void shrink(Variant *variant, const OrrScenario *scenario, const OrrCampaignState *state) {
  OrrTraining *t = &variant->training;
  const gint64 dp = replicas_of(scenario), left = dp - state->lost;
  OrrCluster *cluster = &variant->scenario.cluster;
  cluster->max_nodes = orr_cluster_n_built_nodes(&scenario->cluster);
  cluster->gpus = orr_cluster_n_gpus(&scenario->cluster) / dp * left;
  const gint64 batch = t->batch.global_size;
  if (t->parallel.dp) t->parallel.dp = left;
  t->batch.global_size =
      state->keeps_batch ? shared_batch(batch, t->batch.micro, left) : batch / dp * left;
  if (state->keeps_batch) variant->trained = (double)batch / (double)t->batch.global_size;
}

static void variant_init(Variant *variant, const OrrScenario *scenario,
                         const OrrCampaignState *state) {
  variant->scenario = *scenario;
  variant->training = *(const OrrTraining *)scenario->workload.params;
  variant->scenario.workload.params = &variant->training;
  variant->scenario.sweep = NULL;
  variant->scenario.validation = NULL;
  memset(&variant->scenario.campaign, 0, sizeof variant->scenario.campaign);
  variant->training.checkpoint.every = 0;
  variant->training.checkpoint.load = FALSE;
  variant->training.steps = 1;
  variant->trained = 1;
  if (state->kind == ORR_STATE_STORAGE) {
    variant->training.steps = STORAGE_STEPS;
    variant->training.checkpoint.every = STORAGE_EVERY;
    variant->training.checkpoint.load = TRUE;
    variant->training.checkpoint.mode = state->is_sync ? ORR_CHECKPOINT_SYNC : ORR_CHECKPOINT_ASYNC;
  }
  if (state->kind == ORR_STATE_SHRUNK) shrink(variant, scenario, state);
  if (state->kind == ORR_STATE_SLOW) add_fault(variant, state->fault);
}

static void variant_clear(Variant *variant) {
  g_clear_pointer(&variant->faults, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Variant, variant_clear)

/* --- Replaying --- */

static void keep_storage(const OrrOutcome *outcome, OrrCampaignReplay *replay) {
  ORR_EACH(const OrrStorageRow, row, outcome->storage) {
    if (g_str_equal(row->name, "checkpoint-write")) replay->write_s = row->wall_s;
    if (g_str_equal(row->name, "checkpoint-load")) replay->load_s = row->wall_s;
  }
}

static OrrCampaignReplay take(const Variant *variant, const OrrOutcome *outcome) {
  const OrrTrainingResult *result = &outcome->result.training;
  const OrrTraining *t = &variant->training;
  OrrCampaignReplay replay = {
      .step_s = result->iteration_time_s,
      .tokens = result->tokens_per_s * result->iteration_time_s * variant->trained,
      .draw = {result->gpu_power_mean_w, result->machine, result->money.hardware_per_gpu_hour},
      .bytes = result->checkpoint_bytes,
      .n_gpus = result->n_gpus,
      .events = result->events,
      .replicas = replicas_of(&variant->scenario)};
  const GArray *steps = outcome->steps;
  if (t->steps > 1 && steps->len > 1)
    replay.after_s = g_array_index(steps, OrrStepRow, steps->len - 1).end_s -
                     g_array_index(steps, OrrStepRow, 0).end_s;
  keep_storage(outcome, &replay);
  g_strlcpy(replay.engine, outcome->engine, sizeof replay.engine);
  g_strlcpy(replay.fidelity, outcome->fidelity, sizeof replay.fidelity);
  return replay;
}

typedef struct {
  const OrrRunWorld *world;
  const OrrScenario *scenario;
  const GArray *states;
  const GArray *missing; /* of guint: indices of states */
} Task;

static gboolean replay_one(const Task *task, const OrrCampaignState *state,
                           OrrCampaignReplay *ret_replay, GError **error) {
  static const OrrSimulation whole;
  g_auto(Variant) variant = {0};
  g_autoptr(OrrRunWorld) own = NULL;
  const gint64 replicas = replicas_of(task->scenario);
  if (state->kind == ORR_STATE_SHRUNK && state->lost >= replicas)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "policy %s: found a job of %ld replica%s, needs more than it can "
                         "lose, %ld",
                         task->scenario->campaign.policy.entry->name, replicas,
                         replicas == 1 ? "" : "s", state->lost);
  variant_init(&variant, task->scenario, state);
  if (state->kind == ORR_STATE_SHRUNK) {
    own = orr_run_world_new(task->world->library, &variant.scenario, error);
    if (!own) return FALSE;
  }
  g_autoptr(OrrOutcome) outcome =
      orr_simulate_in(own ? own : task->world, &variant.scenario, &whole, error);
  if (!outcome) return FALSE;
  *ret_replay = take(&variant, outcome);
  return TRUE;
}

static GBytes *work(guint index, void *user, GError **error) {
  const Task *task = user;
  const guint which = g_array_index(task->missing, guint, index);
  OrrCampaignReplay replay = {0};
  return replay_one(task, &g_array_index(task->states, OrrCampaignState, which), &replay, error)
             ? g_bytes_new(&replay, sizeof replay)
             : NULL;
}

/* --- What is known --- */

/* Hash of a state's scenario -> OrrCampaignReplay *. One thread alone runs scenarios. */
static GHashTable *known;

static char *key_of(const OrrScenario *scenario, const OrrCampaignState *state) {
  g_auto(Variant) variant = {0};
  variant_init(&variant, scenario, state);
  return orr_scenario_hash(&variant.scenario);
}

static gboolean replay_missing(const Task *task, GPtrArray *keys, GError **error) {
  const OrrChildren children = {.n = task->missing->len, .work = work, .user = (void *)task};
  if (task->missing->len == 0) return TRUE;
  if (!orr_engine_prepare(ORR_ENGINE_SIMGRID, error)) return FALSE;
  g_autofree OrrCampaignReplay *replays = g_new0(OrrCampaignReplay, task->missing->len);
  if (!orr_children_collect(&children, sizeof *replays, replays, NULL, error)) return FALSE;
  for (guint i = 0; i < task->missing->len; i++) {
    const char *key = keys->pdata[g_array_index(task->missing, guint, i)];
    g_hash_table_insert(known, g_strdup(key), g_memdup2(&replays[i], sizeof replays[i]));
  }
  return TRUE;
}

GArray *orr_campaign_states_replay(const OrrRunWorld *world, const OrrScenario *scenario,
                                   const GArray *states, GError **error) {
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GArray) missing = g_array_new(FALSE, FALSE, sizeof(guint));
  const Task task = {world, scenario, states, missing};
  if (!known) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; i < states->len; i++) {
    char *key = key_of(scenario, &g_array_index(states, OrrCampaignState, i));
    g_ptr_array_add(keys, key);
    if (!g_hash_table_contains(known, key)) g_array_append_val(missing, i);
  }
  if (!replay_missing(&task, keys, error)) return NULL;
  GArray *replays = g_array_new(FALSE, FALSE, sizeof(OrrCampaignReplay));
  for (guint i = 0; i < states->len; i++)
    g_array_append_vals(replays, g_hash_table_lookup(known, keys->pdata[i]), 1);
  return replays;
}

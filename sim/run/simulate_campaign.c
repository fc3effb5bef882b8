/*
 * simulate_campaign.c - fills the campaign's input from replays.
 *
 *   shard        bytes of a checkpoint (training_storage.c) over the GPUs
 *   host         stall shard / host link                       load the same
 *   peer         then written: shard / NIC                     load: that and the host link
 *   ssd          then written: a node's shards / its disks     load the same and the host link
 *   storage      stall and write as replayed with the step     load as replayed
 *
 * The host link and the NIC as far as copies reach their rates (node.host-link-efficiency,
 * node.nic-efficiency).
 *
 * Each stall begins with the tier's `planning`. A synchronous tier stalls for its write too.
 * Replays of the storage tier contend with the step for links; copies to peers do not (a shard
 * takes under a second of a NIC).
 */
#include "sim/run/run_private.h"

#include "workloads/training/training.h"
/* --- States --- */

static void add_state(GArray *states, OrrCampaignState state) { g_array_append_val(states, state); }

static const OrrCampaignCheckpointSpec *storage_spec(const OrrCampaign *campaign) {
  ORR_EACH_POINTER(const OrrCampaignCheckpointSpec, spec, campaign->checkpoints)
    if (spec->tier == ORR_SAVED_STORAGE) return spec;
  return NULL;
}

/* Healthy, the storage tier, stragglers, then replicas missing: in this order. */
static GArray *states_of(const OrrCampaign *campaign) {
  GArray *states = g_array_new(FALSE, TRUE, sizeof(OrrCampaignState));
  const OrrCampaignCheckpointSpec *storage = storage_spec(campaign);
  const gboolean keeps_batch = orr_recovery_policy_keeps_batch(&campaign->policy);
  add_state(states, (OrrCampaignState){.kind = ORR_STATE_HEALTHY});
  if (storage)
    add_state(states, (OrrCampaignState){.kind = ORR_STATE_STORAGE,
                                         .is_sync = storage->mode == ORR_CAMPAIGN_SYNC});
  ORR_EACH_POINTER(const OrrCampaignStraggler, straggler, campaign->stragglers) {
    add_state(states, (OrrCampaignState){.kind = ORR_STATE_SLOW, .fault = &straggler->fault});
  }
  for (gint64 lost = 1; lost <= orr_recovery_policy_most_lost(&campaign->policy); lost++)
    add_state(states, (OrrCampaignState){
                          .kind = ORR_STATE_SHRUNK, .lost = lost, .keeps_batch = keeps_batch});
  return states;
}

/* --- Tiers --- */

static void copy_times(const OrrScenario *scenario, const OrrCampaignCheckpointSpec *spec,
                       double shard_bytes, OrrCampaignTier *tier) {
  const OrrCluster *cluster = &scenario->cluster;
  const OrrNodeShape *node = &cluster->node;
  const double host_s = shard_bytes / orr_cluster_host_copy_bytes_per_s(cluster);
  const double nic = node->nic_bytes_per_s * node->nics_per_gpu * node->nic_efficiency;
  tier->stall_s = host_s;
  if (spec->tier == ORR_SAVED_PEER) tier->write_s = shard_bytes / nic;
  if (spec->tier == ORR_SAVED_SSD)
    tier->write_s = shard_bytes * (double)node->gpus / spec->node_bytes_per_s;
  tier->load_s = host_s + tier->write_s;
  if (spec->mode == ORR_CAMPAIGN_ASYNC) return;
  tier->stall_s += tier->write_s;
  tier->write_s = 0;
}

/* Measured saves to a peer took 7 to 95 times as long as their copies (campaigns-checkpoints). */
static void warn_of_peers(const GPtrArray *specs, OrrOutcome *outcome) {
  ORR_EACH_POINTER(const OrrCampaignCheckpointSpec, spec, specs) {
    if (spec->tier != ORR_SAVED_PEER || spec->mode != ORR_CAMPAIGN_SYNC) continue;
    g_ptr_array_add(outcome->warnings,
                    g_strdup("checkpoints to a peer's memory: only the copy is computed; other "
                             "waits of a synchronous save are not modelled"));
    return;
  }
}

gint64 orr_simulate_campaign_in_node(const OrrCampaignInput *input) {
  return input->replicas > 0 ? (input->replicas + input->nodes - 1) / input->nodes : 0;
}

/* A policy that goes on without a replica, where one lost node takes more than it may lose. */
static char *idle_policy(const OrrCampaignInput *in) {
  const gint64 most = (gint64)in->shrunk->len - 1;
  const gint64 in_node = orr_simulate_campaign_in_node(in);
  if (!in->policy->most_lost || in_node <= most) return NULL;
  return g_strdup_printf(
      "policy %s can never continue without a node: a node has %ld replicas, and most-lost is %ld",
      in->policy->entry.name, in_node, most);
}

static void add_tiers(const OrrScenario *scenario, const OrrCampaignReplay *healthy,
                      const OrrCampaignReplay *storage, OrrCampaignReady *ready) {
  const GPtrArray *specs = scenario->campaign.checkpoints;
  const double shard_bytes = healthy->bytes / (double)healthy->n_gpus;
  ORR_EACH_POINTER(const OrrCampaignCheckpointSpec, spec, specs) {
    OrrCampaignTier tier = {.kind = spec->tier,
                            .interval_s = spec->interval_s,
                            .keep = spec->keep,
                            .is_far = spec->is_far};
    if (spec->tier == ORR_SAVED_STORAGE) {
      tier.stall_s = fmax(storage->after_s - 2 * healthy->step_s, 0);
      tier.write_s = spec->mode == ORR_CAMPAIGN_SYNC ? 0 : fmax(storage->write_s - tier.stall_s, 0);
      tier.load_s = storage->load_s;
    } else {
      copy_times(scenario, spec, shard_bytes, &tier);
    }
    tier.stall_s += spec->planning_s;
    g_array_append_val(ready->tiers, tier);
    ORR_APPEND(ready->states, OrrCampaignStateRow,
               {.state = g_strdup_printf("checkpoint-%s", orr_campaign_tier_words[spec->tier]),
                .step_s = NAN,
                .ratio = NAN,
                .stall_s = tier.stall_s,
                .write_s = tier.write_s,
                .load_s = tier.load_s,
                .bytes = healthy->bytes});
  }
}

/* --- Steps --- */

static void add_step(OrrCampaignReady *ready, char *state, double step_s, double ratio) {
  ORR_APPEND(ready->states, OrrCampaignStateRow, {state, step_s, ratio, NAN, NAN, NAN, NAN});
}

/* The ratio of seconds for the same tokens; never below 1, since replays differ in rounding. */
static double ratio_of(const OrrCampaignReplay *replay, const OrrCampaignReplay *healthy) {
  return fmax(replay->step_s / healthy->step_s * healthy->tokens / replay->tokens, 1);
}

static char *state_name(const OrrCampaignState *state) {
  if (state->kind == ORR_STATE_SLOW) return g_strdup_printf("%s", state->fault->entry->name);
  return g_strdup_printf("%ld replica%s missing", state->lost, state->lost == 1 ? "" : "s");
}

static void add_steps(const GArray *states, const GArray *replays, OrrCampaignReady *ready) {
  const OrrCampaignReplay *healthy = &g_array_index(replays, OrrCampaignReplay, 0);
  guint slow = ready->processes->len;
  for (guint i = 1; i < states->len; i++)
    slow -= g_array_index(states, OrrCampaignState, i).kind == ORR_STATE_SLOW;
  ORR_APPEND(ready->shrunk, double, 1);
  add_step(ready, g_strdup("healthy"), healthy->step_s, 1);
  for (guint i = 1; i < states->len; i++) {
    const OrrCampaignState *state = &g_array_index(states, OrrCampaignState, i);
    const OrrCampaignReplay *replay = &g_array_index(replays, OrrCampaignReplay, i);
    if (state->kind == ORR_STATE_STORAGE) continue;
    const double ratio = ratio_of(replay, healthy);
    add_step(ready, state_name(state), replay->step_s, ratio);
    if (state->kind == ORR_STATE_SHRUNK)
      g_array_append_val(ready->shrunk, ratio);
    else
      g_array_index(ready->processes, OrrCampaignProcess, slow++).slow = ratio;
  }
}

/* --- Ready --- */

static void fill_input(const OrrScenario *scenario, const OrrCampaignReplay *healthy,
                       OrrCampaignReady *ready) {
  const OrrCampaign *campaign = &scenario->campaign;
  const OrrCampaignRecovery *recovery = &campaign->recovery;
  const double initialise_s = orr_campaign_initialise_s(campaign, healthy->n_gpus);
  ready->input = (OrrCampaignInput){
      .duration_s = campaign->duration_s,
      .goal_s =
          campaign->tokens > 0 ? campaign->tokens / healthy->tokens * healthy->step_s : INFINITY,
      .step_s = healthy->step_s,
      .nodes = orr_cluster_n_nodes(&scenario->cluster),
      .spares = campaign->spares,
      .replicas = healthy->replicas,
      .lemon_fraction = campaign->failures.lemons.fraction,
      .lemon_multiple = campaign->failures.lemons.multiple,
      .lemon_found = campaign->lemon_found,
      .processes = ready->processes,
      .tiers = ready->tiers,
      .shrunk = ready->shrunk,
      .policy = (const OrrRecoveryPolicy *)campaign->policy.entry,
      .policy_params = campaign->policy.params,
      .times = {recovery->requeue_s, recovery->restart_s, initialise_s},
      .planned_every_s = campaign->maintenance.every_s,
      .planned_s = campaign->maintenance.lasts_s};
  ready->draw = healthy->draw;
  ready->tokens_per_step = healthy->tokens;
  ready->n_gpus = healthy->n_gpus;
  ready->n_events = healthy->events;
  ready->engine = g_strdup(healthy->engine);
  ready->fidelity = g_strdup(healthy->fidelity);
}

static void clear_state(gpointer row) { g_free(((OrrCampaignStateRow *)row)->state); }

gboolean orr_simulate_campaign_ready(const OrrRunWorld *world, const OrrScenario *scenario,
                                     OrrCampaignReady *ret_ready, GError **error) {
  const OrrCampaign *campaign = &scenario->campaign;
  g_autoptr(GArray) states = states_of(campaign);
  g_autoptr(GArray) replays = orr_campaign_states_replay(world, scenario, states, error);
  if (!replays) return FALSE;
  const OrrCampaignReplay *all = (const OrrCampaignReplay *)(const void *)replays->data;
  *ret_ready = (OrrCampaignReady){.processes = g_array_new(FALSE, TRUE, sizeof(OrrCampaignProcess)),
                                  .tiers = g_array_new(FALSE, TRUE, sizeof(OrrCampaignTier)),
                                  .shrunk = g_array_new(FALSE, TRUE, sizeof(double)),
                                  .states = g_array_new(FALSE, TRUE, sizeof(OrrCampaignStateRow))};
  g_array_set_clear_func(ret_ready->states, clear_state);
  orr_campaign_processes(campaign, &scenario->cluster, ret_ready->processes);
  add_steps(states, replays, ret_ready);
  add_tiers(scenario, all, storage_spec(campaign) ? all + 1 : NULL, ret_ready);
  fill_input(scenario, all, ret_ready);
  return TRUE;
}

void orr_simulate_campaign_clear(OrrCampaignReady *ready) {
  GArray *arrays[] = {ready->processes, ready->tiers, ready->shrunk, ready->states};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    if (arrays[i]) g_array_unref(arrays[i]);
  ORR_FREE(ready->engine, ready->fidelity);
}

gboolean orr_simulate_campaign_run(const OrrRunWorld *world, const OrrScenario *scenario,
                                   OrrOutcome *outcome, GError **error) {
  g_auto(OrrCampaignReady) ready = {0};
  if (!orr_simulate_campaign_ready(world, scenario, &ready, error)) return FALSE;
  OrrCampaignAnswer *answer = orr_campaign_rows_begin(&ready.input, ready.tokens_per_step, outcome);
  for (gint64 i = 0; i < scenario->campaign.seeds; i++) {
    const guint64 seed = (guint64)(scenario->seed + i);
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&ready.input, seed, i == 0);
    orr_campaign_rows_seed(answer, seed, history);
  }
  outcome->result.campaign.n_gpus = ready.n_gpus;
  warn_of_peers(scenario->campaign.checkpoints, outcome);
  char *idle = idle_policy(&ready.input);
  if (idle) g_ptr_array_add(outcome->warnings, idle);
  outcome->result.campaign.events = ready.n_events;
  outcome->result.campaign.states = ready.states->len;
  ORR_EACH_VALUE(OrrCampaignStateRow, row, ready.states) {
    row.state = (char *)g_intern_string(row.state);
    g_array_append_val(outcome->campaign_states, row);
  }
  orr_campaign_rows_end(answer);
  orr_campaign_costs(&scenario->cluster, &scenario->prices, scenario->campaign.spares, &ready.draw,
                     outcome);
  outcome->engine = g_strdup(ready.engine);
  outcome->fidelity = g_intern_string(ready.fidelity);
  return TRUE;
}

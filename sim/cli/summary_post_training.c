/*
 * summary_post_training.c - the lines of post-training.
 */
#include "sim/cli/summary_post_training.h"

#include <math.h>
#include <string.h>

#include "sim/cli/show.h"
#include "workloads/post_training/post_training.h"

static void add_machine(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  const OrrPostTraining *p = scenario->workload.params;
  g_autofree char *gpus = orr_show_gpus(r->n_gpus);
  const char *roll =
      p->pools.rollout_device.name ? p->pools.rollout_device.name : scenario->cluster.device.name;
  g_string_append_printf(out, "  %-12s  %s (%s) of %s", "machine", gpus,
                         scenario->cluster.device.name, scenario->cluster.name);
  if (p->pools.rollout_gpus > 0)
    g_string_append_printf(out,
                           ": %" G_GINT64_FORMAT " roll out (%s), %" G_GINT64_FORMAT " train\n",
                           r->rollout_gpus, roll, r->update_gpus);
  else
    g_string_append(out, ", shared by rollouts and updates\n");
}

static void add_work(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  const OrrPostTraining *p = scenario->workload.params;
  g_string_append_printf(out, "  %-12s  %s, %s", "loop", p->algorithm.entry->name,
                         orr_loop_kind_words[p->mode.kind]);
  if (p->mode.kind == ORR_LOOP_ASYNCHRONOUS)
    g_string_append_printf(out, " (staleness %g, %s)", p->mode.staleness,
                           orr_loop_on_update_words[p->mode.on_update]);
  g_string_append_printf(out,
                         ", %" G_GINT64_FORMAT " prompts x %" G_GINT64_FORMAT
                         " responses of %.0f tokens (most %" G_GINT64_FORMAT ")\n",
                         p->prompts, p->samples, r->response_tokens_mean, r->response_tokens_most);
}

static void add_phases(GString *out, const OrrPostTrainingResult *r) {
  const struct {
    const char *name;
    double seconds;
  } phases[] = {{"wait", r->rollout_wait_s},   {"switch", r->switch_s},
                {"driver", r->data_s},         {"log-probs", r->old_log_probs_s},
                {"reference", r->reference_s}, {"rewards", r->rewards_s},
                {"values", r->values_s},       {"critic update", r->critic_update_s},
                {"update", r->update_s},       {"sync", r->weight_sync_s}};
  g_string_append_printf(out, "  %-12s ", "trainer");
  const char *comma = " ";
  for (guint i = 0; i < G_N_ELEMENTS(phases); i++) {
    if (phases[i].seconds < 0.0005 * r->step_time_s) continue;
    g_string_append_printf(out, "%s%s %.3g s", comma, phases[i].name, phases[i].seconds);
    comma = ", ";
  }
  g_string_append_c(out, '\n');
}

static void add_rollouts(GString *out, const OrrPostTrainingResult *r) {
  g_string_append_printf(out, "  %-12s  %" G_GINT64_FORMAT " engines, busy %.0f %% of the time",
                         "rollouts", r->replicas, 100 * r->rollout_busy);
  if (!isnan(r->rollout_tail))
    g_string_append_printf(out, "; %.0f %% of %.3g s for the last tenth of responses",
                           100 * r->rollout_tail, r->rollout_s);
  if (r->staleness_most > 0)
    g_string_append_printf(out, "; responses %.2g versions old, at most %.0f", r->staleness_mean,
                           r->staleness_most);
  g_string_append_c(out, '\n');
}

/* What engines wait for, mean over engines and steps. */
static void add_waits(GString *out, const OrrOutcome *outcome) {
  const char *comma = "";
  for (guint i = 0; i < outcome->post_training_pools->len; i++) {
    const OrrPostTrainingPoolRow *row =
        &g_array_index(outcome->post_training_pools, OrrPostTrainingPoolRow, i);
    if (strcmp(row->pool, "rollouts") != 0 || strcmp(row->state, "busy") == 0) continue;
    if (row->fraction < 0.005) continue;
    if (*comma == '\0') g_string_append_printf(out, "  %-12s  engines wait", "");
    g_string_append_printf(out, "%s %.3g s (%s)", comma, row->seconds, row->state);
    comma = ",";
  }
  if (*comma) g_string_append_c(out, '\n');
}

/* Of each role, the actor's passes and updates together. */
static void add_roles(GString *out, const GArray *rows) {
  static const char *const roles[] = {"engine", "actor", "reference", "reward", "critic"};
  double all_j = 0;
  const char *separator = " (";
  for (guint i = 0; i < rows->len; i++)
    all_j += g_array_index(rows, OrrPostTrainingEnergyRow, i).joules;
  for (guint k = 0; k < G_N_ELEMENTS(roles); k++) {
    double joules = 0;
    for (guint i = 0; i < rows->len; i++) {
      const OrrPostTrainingEnergyRow *row = &g_array_index(rows, OrrPostTrainingEnergyRow, i);
      if (g_strcmp0(row->role, roles[k]) == 0) joules += row->joules;
    }
    if (joules == 0) continue;
    g_string_append_printf(out, "%s%s %.0f %%", separator, roles[k], 100 * joules / all_j);
    separator = ", ";
  }
  g_string_append_c(out, ')');
}

static void add_energy(GString *out, const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  if (isnan(r->gpu_power_mean_w)) return;
  g_autofree char *left_out = orr_cluster_power_left_out(&r->machine);
  g_string_append_printf(out, "  %-12s  %.3g kW of GPUs, %.3g MJ per step", "energy",
                         r->gpu_power_mean_w / 1e3, r->energy_j_per_step / 1e6);
  add_roles(out, outcome->post_training_energies);
  if (!isnan(r->machine.all_w))
    g_string_append_printf(out, "; the machine %.3g kW%s", r->machine.all_w / 1e3, left_out);
  g_string_append_c(out, '\n');
}

void orr_summary_post_training(GString *out, const OrrScenario *scenario,
                               const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  add_machine(out, scenario, outcome);
  add_work(out, scenario, outcome);
  g_string_append_printf(out, "  %-12s  %.4g s, %.4g tokens/s per GPU, %.3g responses/s\n", "step",
                         r->step_time_s, r->tokens_per_s_per_gpu, r->samples_per_s);
  add_phases(out, r);
  add_rollouts(out, r);
  add_waits(out, outcome);
  g_string_append_printf(out, "  %-12s  engine %.1f GiB, trainer %.1f GiB at the peak%s\n",
                         "memory", r->rollout_memory_bytes / 0x1p30,
                         r->update_memory_bytes / 0x1p30, r->fits ? "" : ": it does not fit");
  add_energy(out, outcome);
}

/*
 * summary_post_training.c - the lines of post-training.
 */
#include "sim/cli/summary.h"

#include "sim/bands/band.h"

#include "workloads/post_training/post_training.h"

/* With @digits digits, and all digits before the point: "67.1 s", "41000 s". */
static const char *seconds_of(OrrPage *page, double value, int digits) {
  return value < pow(10, digits) ? orr_page_text(page, "%.*g s", digits, value)
                                 : orr_page_text(page, "%.0f s", value);
}

static void add_machine(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  const OrrPostTraining *p = scenario->workload.params;
  const char *own = scenario->cluster.device.name, *roll = p->pools.rollout_device.name;
  orr_page_line(page, "machine", "%s (%s) of %s", orr_page_things(page, r->n_gpus, "GPU"), own,
                scenario->cluster.name);
  if (p->pools.rollout_gpus > 0)
    orr_page_more(page, ": %ld roll out (%s), %ld train", r->rollout_gpus, roll ? roll : own,
                  r->update_gpus);
  else
    orr_page_more(page, ", shared by rollouts and updates");
}

static void add_work(OrrPage *page, const OrrPostTraining *p, const OrrPostTrainingResult *r) {
  orr_page_line(page, "loop", "%s, %s", p->algorithm.entry->name,
                orr_loop_kind_words[p->mode.kind]);
  if (p->mode.kind == ORR_LOOP_ASYNCHRONOUS)
    orr_page_more(page, " (staleness %g, %s)", p->mode.staleness,
                  orr_loop_on_update_words[p->mode.on_update]);
  orr_page_more(page, ", %ld prompts x %ld responses of %.0f tokens (most %ld)", p->prompts,
                p->samples, r->response_tokens_mean, r->response_tokens_most);
}

static void add_phases(OrrPage *page, const OrrPostTrainingResult *r) {
  const struct {
    const char *name;
    double seconds;
  } phases[] = {{"wait", r->rollout_wait_s},   {"switch", r->switch_s},
                {"driver", r->data_s},         {"log-probs", r->old_log_probs_s},
                {"reference", r->reference_s}, {"rewards", r->rewards_s},
                {"values", r->values_s},       {"critic update", r->critic_update_s},
                {"update", r->update_s},       {"sync", r->weight_sync_s}};
  orr_page_line(page, "trainer", "%s", "");
  for (guint i = 0; i < G_N_ELEMENTS(phases); i++)
    if (phases[i].seconds >= 0.0005 * r->step_time_s)
      orr_page_item(page, "%s %s", phases[i].name, seconds_of(page, phases[i].seconds, 3));
}

static void add_rollouts(OrrPage *page, const OrrPostTrainingResult *r) {
  orr_page_line(page, "rollouts", "%ld engines, busy %.0f %% of the time", r->replicas,
                100 * r->rollout_busy);
  if (!isnan(r->rollout_tail))
    orr_page_more(page, "; %.0f %% of %s for the last tenth of responses", 100 * r->rollout_tail,
                  seconds_of(page, r->rollout_s, 3));
  if (r->staleness_most > 0)
    orr_page_more(page, "; responses %.2g versions old, at most %.0f", r->staleness_mean,
                  r->staleness_most);
}

/* The engines' waits by reason, mean over engines and steps. */
static void add_waits(OrrPage *page, const OrrOutcome *outcome) {
  const char *comma = "";
  ORR_EACH(const OrrPostTrainingPoolRow, row, outcome->post_training_pools) {
    if (strcmp(row->pool, "rollouts") != 0 || strcmp(row->state, "busy") == 0) continue;
    if (row->fraction < 0.005) continue;
    if (*comma == '\0') orr_page_line(page, "", "engines wait");
    orr_page_more(page, "%s %s (%s)", comma, seconds_of(page, row->seconds, 3), row->state);
    comma = ",";
  }
}

/* Of each role, the actor's passes and updates together. */
static void add_roles(OrrPage *page, const GArray *rows) {
  static const char *const roles[] = {"engine", "actor", "reference", "reward", "critic"};
  double all_j = 0;
  orr_page_more(page, " (");
  ORR_EACH(const OrrPostTrainingEnergyRow, one, rows) all_j += one->joules;
  for (guint k = 0; k < G_N_ELEMENTS(roles); k++) {
    double joules = 0;
    ORR_EACH(const OrrPostTrainingEnergyRow, row, rows)
      if (g_strcmp0(row->role, roles[k]) == 0) joules += row->joules;
    if (joules != 0) orr_page_item(page, "%s %.0f %%", roles[k], 100 * joules / all_j);
  }
  orr_page_more(page, ")");
}

/* " (30 to 42; weak: ...)", in megajoules as the answer before it. */
static void add_joules_range(OrrPage *page, const OrrBandRow *row) {
  if (!row || !(row->low > 0)) return;
  orr_page_more(page, " (%s%s%s)",
                orr_page_keep(page, orr_summary_band_range(row->value / 1e6, row->low / 1e6,
                                                           row->high / 1e6, ORR_UNIT_NONE)),
                *row->reason ? "; weak: " : "", row->reason);
}

static void add_energy(OrrPage *page, const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  if (isnan(r->gpu_power_mean_w)) return;
  orr_page_line(page, "energy", "%.3g kW of GPUs, %.3g MJ per step", r->gpu_power_mean_w / 1e3,
                r->energy_j_per_step / 1e6);
  add_joules_range(page, orr_bands_row(outcome, "energy_j_per_step"));
  add_roles(page, outcome->post_training_energies);
  if (!isnan(r->machine.all_w))
    orr_page_more(page, "; the machine %.3g kW%s", r->machine.all_w / 1e3,
                  orr_page_keep(page, orr_cluster_power_left_out(&r->machine)));
}

void orr_summary_post_training(OrrPage *page, const OrrScenario *scenario,
                               const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  add_machine(page, scenario, outcome);
  add_work(page, scenario->workload.params, r);
  orr_page_line(page, "step", "%s, %.4g tokens/s per GPU, %.3g responses/s",
                seconds_of(page, r->step_time_s, 4), r->tokens_per_s_per_gpu, r->samples_per_s);
  orr_summary_band_more(page, outcome, "step_time_s", ORR_UNIT_SECONDS);
  add_phases(page, r);
  add_rollouts(page, r);
  add_waits(page, outcome);
  orr_page_line(page, "memory", "engine %.1f GiB, trainer %.1f GiB at the peak%s",
                r->rollout_memory_bytes / 0x1p30, r->update_memory_bytes / 0x1p30,
                r->fits ? "" : ": it does not fit");
  add_energy(page, outcome);
}

/*
 * post_training_energy.c - what draws it:
 *
 *   rollouts   static power of their own GPUs, and what engines add while they write
 *   trainer    static power of its GPUs in each phase, and what passes and updates add; engines
 *              that share these GPUs, or help on them, add to rollouts alone
 *
 * Means are over the steps that count, as all means of the result: joules per step are watts times
 * seconds per step. Invariants: the rows of post_training_energy add up to energy_j_per_step; the
 * rows of `power`, times their intervals, and gpu_energy_* add up to the energy of all steps.
 */
#include "sim/run/answer/answer_private.h"

static const char *const roles[ORR_N_LOOP_PHASES] = {
    [ORR_LOOP_PHASE_OLD_LOG_PROBS] = "actor", [ORR_LOOP_PHASE_REFERENCE] = "reference",
    [ORR_LOOP_PHASE_REWARDS] = "reward",      [ORR_LOOP_PHASE_VALUES] = "critic",
    [ORR_LOOP_PHASE_CRITIC] = "critic",       [ORR_LOOP_PHASE_UPDATE] = "actor"};

/* The steps that count, and what was drawn in them on top of static power. */
typedef struct {
  guint first, n;
  double seconds;
  OrrLoopJoules joules;
} Counted;

static Counted counted_of(const OrrPostTrainingWork *work) {
  const OrrLoopHistory *history = work->history;
  const guint first = orr_post_training_rows_first(work);
  Counted counted = {first, history->steps->len - first, history->end_s, history->joules};
  if (first == 0) return counted;
  counted.seconds -= history->counted_s;
  orr_joules_add(&counted.joules.pool, history->before.pool, -1);
  orr_joules_add(&counted.joules.helpers, history->before.helpers, -1);
  for (int phase = 0; phase < ORR_N_LOOP_PHASES; phase++)
    orr_joules_add(&counted.joules.phase[phase], history->before.phase[phase], -1);
  return counted;
}

static OrrJoules rollouts_of(const OrrLoopJoules *of) {
  OrrJoules joules = of->pool;
  orr_joules_add(&joules, of->helpers, 1);
  return joules;
}

static OrrJoules all_of(const OrrLoopJoules *of) {
  OrrJoules joules = rollouts_of(of);
  for (int phase = 0; phase < ORR_N_LOOP_PHASES; phase++)
    orr_joules_add(&joules, of->phase[phase], 1);
  return joules;
}

/* --- By phase --- */

/* @seconds and @joules of the @n steps that count. */
static void add_row(guint n_steps, OrrPostTrainingEnergyRow row, double seconds, OrrJoules joules,
                    double static_w, OrrOutcome *outcome) {
  const double n = (double)n_steps;
  row.seconds = seconds / n;
  row.compute_j = joules.compute / n;
  row.memory_j = joules.memory / n;
  row.network_j = joules.network / n;
  row.idle_j = static_w * seconds / n;
  row.joules = orr_joules_sum(joules) / n + row.idle_j;
  if (seconds > 0) g_array_append_val(outcome->post_training_energies, row);
}

static void add_phases(const OrrPostTrainingWork *work, const Counted *counted,
                       OrrOutcome *outcome) {
  const GArray *steps = work->history->steps;
  add_row(counted->n, (OrrPostTrainingEnergyRow){"rollouts", "rollout", "engine"}, counted->seconds,
          rollouts_of(&counted->joules), work->rollout_static_w, outcome);
  for (int phase = 0; phase < ORR_N_LOOP_PHASES; phase++) {
    double seconds = 0;
    for (guint i = counted->first; i < steps->len; i++)
      seconds += g_array_index(steps, OrrLoopStep, i).phase_s[phase];
    const OrrPostTrainingEnergyRow row = {"trainer", (char *)orr_loop_phase_words[phase],
                                          (char *)roles[phase]};
    add_row(counted->n, row, seconds, counted->joules.phase[phase], work->update_static_w, outcome);
  }
}

/* --- Over time --- */

/* Energy that engines drew after the last step's end belongs to the last interval. */
static void add_powers(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const OrrPowerTime *power = work->history->power;
  const double end_s = work->history->end_s, width_s = power->width_s;
  const double idle_w = work->rollout_static_w + work->update_static_w;
  const guint n = (guint)fmax(ceil(end_s / width_s), 1);
  for (guint bin = 0; bin < n; bin++) {
    OrrJoules joules = {0};
    const guint until = bin + 1 < n ? bin + 1 : MAX(power->used, n);
    for (guint i = bin; i < until && i < ORR_POWER_TIME_MOST; i++)
      orr_joules_add(&joules, power->joules[i], 1);
    OrrPowerRow row = {.begin_s = bin * width_s, .end_s = fmin((bin + 1) * width_s, end_s)};
    const double each_s = row.end_s - row.begin_s;
    row.compute_w = joules.compute / each_s;
    row.memory_w = joules.memory / each_s;
    row.network_w = joules.network / each_s;
    row.idle_w = idle_w;
    row.watts = idle_w + orr_joules_sum(joules) / each_s;
    g_array_append_val(outcome->powers, row);
  }
}

/* --- In all --- */

static void fill_energy(const OrrPostTrainingWork *work, const Counted *counted,
                        OrrPostTrainingResult *r) {
  const OrrLoopHistory *history = work->history;
  const double idle_w = work->rollout_static_w + work->update_static_w;
  const double unknown = isnan(idle_w) ? NAN : 0;
  const OrrJoules all = all_of(&history->joules);
  r->gpu_energy_compute_j = all.compute + unknown;
  r->gpu_energy_memory_j = all.memory + unknown;
  r->gpu_energy_network_j = all.network + unknown;
  r->gpu_energy_idle_j = idle_w * history->end_s;
  const double joules = orr_joules_sum(all_of(&counted->joules)) + idle_w * counted->seconds;
  r->energy_j_per_step = joules / (double)counted->n;
  r->gpu_power_mean_w = joules / counted->seconds;
  r->energy_j_per_token = r->gpu_power_mean_w / r->tokens_per_s;
}

/* Pools may have devices of their own. */
static double hardware_per_s(const OrrReplayed *replayed, const OrrPostTrainingWork *work) {
  const double own = (double)work->params.pools.rollout_gpus;
  const double trainer = (double)work->work.n_gpus - own;
  double per_s =
      orr_money_hardware(replayed->prices, replayed->fabric, work->update_device, trainer);
  if (own > 0)
    per_s += orr_money_hardware(replayed->prices, replayed->fabric, work->rollout_device, own);
  return per_s;
}

static void fill_money(const OrrReplayed *replayed, double responses_per_s,
                       OrrPostTrainingResult *r) {
  const OrrPostTrainingWork *work = (const OrrPostTrainingWork *)replayed->work;
  const OrrMoneyQuestion question = {.prices = replayed->prices,
                                     .gpus = (double)work->work.n_gpus,
                                     .hardware_per_s = hardware_per_s(replayed, work),
                                     .watts = r->machine.all_w,
                                     .tokens_per_s = r->tokens_per_s};
  r->money = orr_money_of(&question);
  const double per_s = orr_money_per_s(&r->money, &question);
  const double run_steps = work->params.run_steps;
  const double run_s = run_steps > 0 ? run_steps * r->step_time_s : NAN;
  r->cost_per_step = per_s * r->step_time_s;
  r->cost_per_million_response_tokens = per_s / responses_per_s * 1e6;
  r->run_days = run_s / 86400;
  r->cost_per_run = per_s * run_s;
}

void orr_post_training_energy(const OrrReplayed *replayed, double responses_per_s,
                              OrrOutcome *outcome) {
  const OrrPostTrainingWork *work = (const OrrPostTrainingWork *)replayed->work;
  OrrPostTrainingResult *r = &outcome->result.post_training;
  const Counted counted = counted_of(work);
  fill_energy(work, &counted, r);
  if (!isnan(r->gpu_power_mean_w)) {
    add_phases(work, &counted, outcome);
    add_powers(work, outcome);
  }
  orr_power_swing(outcome->powers, &r->power_swing_w, &r->power_ramp_w_per_s);
  const OrrMachineLoad load = {(double)work->work.n_gpus, r->gpu_power_mean_w, 0};
  r->machine = orr_cluster_power_machine(replayed->fabric, replayed->cluster, &load);
  orr_machine_rows_add(replayed->cluster, &r->machine, outcome);
  fill_money(replayed, responses_per_s, r);
}

/*
 * training_energy.c - watts of each kind of time (OrrWorkPower), times the seconds of the ledger.
 *
 *   energy = sum over lanes  multiplicity * (static * end + sum over kinds seconds * watts)
 *
 * So folding changes nothing, and the sum costs nothing. Power over time comes from a second
 * ledger, which gets the stored spans again: what a span adds to a lane's account lies between the
 * lane's clock before it and after it. Invariant: where no step was left out, the rows add up to
 * the energies of the result.
 *
 * Steps that repeat and were not replayed (orr_program_repeat) draw what the one before them drew.
 */
#include "sim/run/answer/answer_private.h"

typedef struct {
  double end_s;
  OrrJoules bins[ORR_POWER_BINS];
} Tally;

/* Joules of @seconds of each kind. */
static OrrJoules joules_of(const OrrWorkPower *power, const double seconds[ORR_N_TIMES]) {
  OrrJoules sum = {0};
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    orr_joules_add(&sum, power->watts[kind], seconds[kind]);
  return sum;
}

/* Evenly from @from_s to @to_s. */
static void spread(Tally *tally, OrrJoules joules, double from_s, double to_s) {
  const double bin_s = tally->end_s / ORR_POWER_BINS;
  const guint last = MIN((guint)(to_s / bin_s), ORR_POWER_BINS - 1);
  for (guint bin = MIN((guint)(from_s / bin_s), last); to_s > from_s && bin <= last; bin++) {
    const double until_s = bin == last ? to_s : (bin + 1) * bin_s;
    orr_joules_add(&tally->bins[bin], joules,
                   (until_s - fmax(from_s, bin * bin_s)) / (to_s - from_s));
  }
}

/* A lane's account before something happens. */
typedef struct {
  double seconds[ORR_N_TIMES], clock_s;
} Before;

static Before look(const OrrLedger *ledger, guint lane) {
  Before before = {.clock_s = orr_ledger_lane_end(ledger, lane)};
  memcpy(before.seconds, orr_ledger_lane(ledger, lane), sizeof before.seconds);
  return before;
}

static void spread_since(Tally *tally, const OrrReplayed *replayed, const OrrLedger *ledger,
                         guint lane, const Before *before) {
  double more[ORR_N_TIMES];
  OrrJoules joules = {0};
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    more[kind] = orr_ledger_lane(ledger, lane)[kind] - before->seconds[kind];
  orr_joules_add(&joules, joules_of(&replayed->work->power, more),
                 orr_program_multiplicity(replayed->work->program, lane));
  spread(tally, joules, before->clock_s, orr_ledger_lane_end(ledger, lane));
}

static void spread_spans(Tally *tally, const OrrReplayed *replayed) {
  const OrrProgram *program = replayed->work->program;
  g_autoptr(OrrLedger) ledger = orr_ledger_new_again(replayed->work);
  ORR_EACH(const OrrSpan, span, replayed->spans) {
    const guint lane = orr_program_stream_lane(program, span->stream);
    const Before before = look(ledger, lane);
    orr_ledger_span(span, ledger);
    spread_since(tally, replayed, ledger, lane, &before);
  }
  const guint n = orr_program_n_lanes(program);
  g_autofree Before *before = g_new(Before, n);
  for (guint lane = 0; lane < n; lane++) before[lane] = look(ledger, lane);
  orr_ledger_close(ledger, tally->end_s);
  for (guint lane = 0; lane < n; lane++) spread_since(tally, replayed, ledger, lane, &before[lane]);
}

/* The bin that what happens at @at_s was replayed in. */
static guint replayed_bin(const Tally *tally, const OrrRepetition *repeated, double at_s) {
  const double period_s = repeated->to_s - repeated->from_s;
  if (repeated->times > 0 && at_s > repeated->to_s &&
      at_s <= repeated->to_s + repeated->times * period_s)
    at_s = repeated->from_s + fmod(at_s - repeated->from_s, period_s);
  return MIN((guint)(at_s / tally->end_s * ORR_POWER_BINS), ORR_POWER_BINS - 1);
}

void orr_training_energy_add_power(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrWorkPower *power = &replayed->work->power;
  if (!power->is_known || !replayed->spans || replayed->spans->len == 0) return;
  const OrrRepetition repeated = orr_ledger_repetition(replayed->ledger);
  g_autofree Tally *tally = g_new0(Tally, 1);
  tally->end_s = replayed->replay.end_s;
  spread_spans(tally, replayed);
  const double bin_s = tally->end_s / ORR_POWER_BINS;
  const double idle_w = power->static_w * (double)replayed->work->n_gpus;
  for (guint bin = 0; bin < ORR_POWER_BINS; bin++) {
    const OrrJoules *joules = &tally->bins[replayed_bin(tally, &repeated, (bin + 0.5) * bin_s)];
    ORR_APPEND(outcome->powers, OrrPowerRow,
               {.begin_s = bin * bin_s,
                .end_s = (bin + 1) * bin_s,
                .watts = idle_w + orr_joules_sum(*joules) / bin_s,
                .compute_w = joules->compute / bin_s,
                .memory_w = joules->memory / bin_s,
                .network_w = joules->network / bin_s,
                .idle_w = idle_w});
  }
}

static double peak_of(const OrrReplayed *replayed) {
  double mean[ORR_N_TIMES], peak_w = 0;
  orr_ledger_mean(replayed->ledger, mean);
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    if (mean[kind] > 0) peak_w = fmax(peak_w, orr_joules_sum(replayed->work->power.watts[kind]));
  return peak_w;
}

void orr_training_energy(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrWorkPower *power = &replayed->work->power;
  OrrTrainingResult *r = &outcome->result.training;
  const double unknown = power->is_known ? 0 : NAN, n_gpus = (double)r->n_gpus;
  double mean[ORR_N_TIMES];
  orr_ledger_mean(replayed->ledger, mean);
  const OrrJoules each = joules_of(power, mean);
  r->gpu_energy_compute_j = n_gpus * each.compute + unknown;
  r->gpu_energy_memory_j = n_gpus * each.memory + unknown;
  r->gpu_energy_network_j = n_gpus * each.network + unknown;
  r->gpu_energy_idle_j = n_gpus * power->static_w * replayed->replay.end_s + unknown;
  const double outside_s = orr_training_rows_outside_s(replayed); /* before and after the steps */
  const double outside_j =
      n_gpus * outside_s * (orr_joules_sum(power->watts[ORR_TIME_STORAGE]) + power->static_w);
  r->gpu_power_mean_w = (n_gpus * orr_joules_sum(each) + r->gpu_energy_idle_j - outside_j) /
                        (replayed->replay.end_s - outside_s);
  r->gpu_power_peak_w = n_gpus * (power->static_w + peak_of(replayed)) + unknown;
  r->energy_j_per_step = r->gpu_power_mean_w * r->iteration_time_s;
  r->energy_j_per_token = r->gpu_power_mean_w / r->tokens_per_s;
  const double host_s = ((const OrrTrainingWork *)replayed->work)->host_s;
  const OrrMachineLoad load = {n_gpus, r->gpu_power_mean_w, n_gpus * host_s / r->iteration_time_s};
  r->machine = orr_cluster_power_machine(replayed->fabric, replayed->cluster, &load);
  orr_machine_rows_add(replayed->cluster, &r->machine, outcome);
  orr_power_swing(outcome->powers, &r->power_swing_w, &r->power_ramp_w_per_s);
}

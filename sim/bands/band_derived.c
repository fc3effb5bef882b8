/*
 * band_derived.c - bands of results that follow from results with bands.
 *
 *   product    value = constant * base ^ power, so its bounds are the base's as factors of it: a
 *              cost is a price times a time, the days of a run are steps times a step
 *   watts      joules are watts times a time, and two such errors have nothing to do with each
 *              other: the half widths of their logarithms add in quadrature
 *   energy     the fraction f of a cost that pays for energy follows the energy of the work, the
 *              rest the base. Both bounds are taken together, as if both errors had one cause,
 *              which is the widest. Energy without a band is taken at the power as computed
 *   campaign   the base is its healthy step. The error of its goodput, which the rows of its
 *              validation set show, adds to it in quadrature: |log error| has a mean of m there,
 *              and for Laplace's distribution with that mean the bound at a level L is
 *              m log 1 / (1 - L)
 */
#include "sim/bands/band_private.h"
#include "sim/bands/known_errors.h"

typedef struct {
  const char *table, *metric, *base;
  int power;          /* 1 or -1 */
  const char *energy; /* of costs: the band of the work's energy; may be NULL */
  const char *watts;  /* of joules: the band that the base's is multiplied with; may be NULL */
} Derived;

#define WATTS "gpu_power_mean_w"

/* Joules come before the costs that rest on them. */
static const Derived all_derived[] = {
    {"training_result", "energy_j_per_step", "iteration_time_s", 1, NULL, WATTS},
    {"training_result", "energy_j_per_token", "iteration_time_s", 1, NULL, WATTS},
    {"post_training_result", "energy_j_per_step", "step_time_s", 1, NULL, WATTS},
    {"post_training_result", "energy_j_per_token", "step_time_s", 1, NULL, WATTS},
    {"step_result", "energy_j_per_sample", "step_s", 1, NULL, WATTS},
    {"diffusion_result", "energy_j_per_output", "latency_s", 1, NULL, WATTS},
    {"campaign_result", "energy_j_per_token", "step_s", 1, NULL, WATTS},
    {"serving_result", "energy_j_per_token", "energy_j_per_output_token", 1, NULL, NULL},
    {"serving_result", "energy_j_per_request", "energy_j_per_output_token", 1, NULL, NULL},
    {"training_result", "cost_per_step", "iteration_time_s", 1, "energy_j_per_step", NULL},
    {"training_result", "cost_per_million_tokens", "iteration_time_s", 1, "energy_j_per_step",
     NULL},
    {"training_result", "cost_per_run", "iteration_time_s", 1, "energy_j_per_step", NULL},
    {"training_result", "run_days", "iteration_time_s", 1, NULL, NULL},
    {"serving_result", "cost_per_million_tokens", "output_tokens_per_s", -1,
     "energy_j_per_output_token", NULL},
    {"serving_result", "cost_per_million_input_tokens", "output_tokens_per_s", -1,
     "energy_j_per_output_token", NULL},
    {"serving_result", "cost_per_million_output_tokens", "output_tokens_per_s", -1,
     "energy_j_per_output_token", NULL},
    {"post_training_result", "cost_per_step", "step_time_s", 1, "energy_j_per_step", NULL},
    {"post_training_result", "cost_per_million_tokens", "step_time_s", 1, "energy_j_per_step",
     NULL},
    {"post_training_result", "cost_per_million_response_tokens", "step_time_s", 1,
     "energy_j_per_step", NULL},
    {"post_training_result", "cost_per_run", "step_time_s", 1, "energy_j_per_step", NULL},
    {"post_training_result", "run_days", "step_time_s", 1, NULL, NULL},
    {"campaign_result", "tokens", "step_s", -1, NULL, NULL},
    {"campaign_result", "tokens_per_s", "step_s", -1, NULL, NULL},
    {"campaign_result", "tokens_per_day", "step_s", -1, NULL, NULL},
    {"campaign_result", "cost_per_million_tokens", "step_s", 1, "energy_j_per_token", NULL},
};

static const Derived *find(const OrrOutcome *outcome, const char *metric) {
  for (guint i = 0; i < G_N_ELEMENTS(all_derived); i++)
    if (strcmp(all_derived[i].table, outcome->kind->result->name) == 0 &&
        strcmp(all_derived[i].metric, metric) == 0)
      return &all_derived[i];
  return NULL;
}

gboolean orr_band_is_derived(const OrrOutcome *outcome, const char *metric) {
  return find(outcome, metric) != NULL;
}

/* --- Bounds as factors of a value --- */

typedef struct {
  double low, high, middle;
} Factors;

static Factors factors_of(const OrrBandRow *row, int power) {
  const Factors of = {row->low / row->value, row->high / row->value, row->expected / row->value};
  return power > 0 ? of : (Factors){1 / of.high, 1 / of.low, 1 / of.middle};
}

static double mixed(double base, double energy, double fraction) {
  return (1 - fraction) * base + fraction * energy;
}

/* The fraction of the cost @metric that pays for energy; 0 for other results. */
static double energy_fraction(const OrrOutcome *outcome, const char *metric) {
  if (!g_str_has_prefix(metric, "cost_")) return 0;
  const double energy = orr_band_result_value(outcome, "energy_cost_per_gpu_hour"),
               all = orr_band_result_value(outcome, "cost_per_gpu_hour");
  return energy > 0 && all > 0 ? energy / all : 0;
}

static void make_weak(OrrBandRow *row, const char *reason) {
  const char *good = orr_band_quality_words[ORR_BAND_GOOD];
  if (!g_str_equal(row->quality, good)) return;
  row->quality = (char *)orr_band_quality_words[ORR_BAND_WEAK];
  row->reason = (char *)g_intern_string(reason);
}

static void add_energy(const Derived *derived, const OrrOutcome *outcome, OrrBandRow *row,
                       Factors *factors) {
  const double fraction = energy_fraction(outcome, derived->metric);
  if (!(fraction > 0)) return;
  const OrrBandRow *energy = derived->energy ? orr_bands_row(outcome, derived->energy) : NULL;
  if (!energy || isnan(energy->low))
    return make_weak(row, "no measured run states the power of its GPUs");
  const Factors of = factors_of(energy, 1);
  *factors =
      (Factors){mixed(factors->low, of.low, fraction), mixed(factors->high, of.high, fraction),
                mixed(factors->middle, of.middle, fraction)};
  g_autofree char *both = g_strdup_printf("%s, %s", derived->base, derived->energy);
  row->rests_on = (char *)g_intern_string(both);
  if (*energy->reason) make_weak(row, energy->reason); /* "" for good */
}

/* --- Joules --- */

/* log @bound / @middle of both, in quadrature, on one side of the middle. */
static double farther(double a_middle, double a, double b_middle, double b) {
  return hypot(log(a / a_middle), log(b / b_middle));
}

/* Multiplies @factors with the band of the watts. FALSE: it has none, and so has the product. */
static gboolean add_watts(const Derived *derived, const OrrOutcome *outcome, OrrBandRow *row,
                          Factors *factors) {
  const OrrBandRow *watts = orr_bands_row(outcome, derived->watts);
  if (!watts || isnan(watts->low)) {
    row->quality = (char *)orr_band_quality_words[ORR_BAND_NONE];
    row->reason = watts ? watts->reason : (char *)"no measured run states the power of its GPUs";
    row->low = row->high = row->expected = NAN;
    return FALSE;
  }
  const Factors of = factors_of(watts, 1);
  const double below = farther(factors->middle, factors->low, of.middle, of.low),
               above = farther(factors->middle, factors->high, of.middle, of.high);
  factors->middle *= of.middle;
  factors->low = factors->middle * exp(-below);
  factors->high = factors->middle * exp(above);
  g_autofree char *both = g_strdup_printf("%s, %s", derived->base, derived->watts);
  row->rests_on = (char *)g_intern_string(both);
  row->bias = (1 + row->bias) * (1 + watts->bias) - 1;
  if (*watts->reason) { /* "" for good; what is known least */
    row->quality = (char *)orr_band_quality_words[ORR_BAND_WEAK];
    row->reason = watts->reason;
  }
  return TRUE;
}

/* --- Campaigns --- */

static void add_goodput(OrrLibrary *library, double level, OrrBandRow *row, Factors *factors) {
  gint64 n = 0;
  g_autoptr(GArray) errors = orr_known_errors_read(library, NULL);
  const double mean =
      errors ? orr_known_errors_mean(errors, "campaign_result", "goodput", "", &n) : NAN;
  const double error = n > 0 ? mean : 0, bound = orr_known_errors_bound(error, level);
  factors->low = factors->middle * exp(-hypot(log(factors->middle / factors->low), bound));
  factors->high = factors->middle * exp(hypot(log(factors->high / factors->middle), bound));
  g_autofree char *reason = g_strdup_printf(
      "goodput was measured on %ld runs, off by %.0f %% on average", n, 100 * error);
  row->quality = (char *)orr_band_quality_words[ORR_BAND_WEAK];
  row->reason = (char *)g_intern_string(reason);
}

/* --- All --- */

static OrrBandRow row_of(OrrLibrary *library, const Derived *derived, const OrrOutcome *outcome,
                         double value, const OrrBandRow *base) {
  OrrBandRow row = *base;
  row.metric = (char *)derived->metric;
  row.value = value;
  row.rests_on = (char *)derived->base;
  if (derived->power < 0) row.bias = 1 / (1 + base->bias) - 1;
  if (isnan(base->low)) {
    row.low = row.high = row.expected = NAN;
    return row;
  }
  Factors factors = factors_of(base, derived->power);
  if (derived->watts && !add_watts(derived, outcome, &row, &factors)) return row;
  add_energy(derived, outcome, &row, &factors);
  if (strcmp(derived->table, "campaign_result") == 0)
    add_goodput(library, base->level, &row, &factors);
  row.low = value * factors.low;
  row.high = value * factors.high;
  row.expected = value * factors.middle;
  return row;
}

void orr_band_derived_add(OrrLibrary *library, OrrOutcome *outcome) {
  for (guint i = 0; i < G_N_ELEMENTS(all_derived); i++) {
    const Derived *derived = &all_derived[i];
    const OrrBandRow *base = orr_bands_row(outcome, derived->base);
    if (!base || find(outcome, derived->metric) != derived) continue;
    const double value = orr_band_result_value(outcome, derived->metric);
    if (!(value > 0)) continue;
    const OrrBandRow row = row_of(library, derived, outcome, value, base);
    g_array_append_val(outcome->bands, row);
  }
}

/*
 * validate_coverage.c - counts coverage and widths of bands over groups of measured answers.
 */
#include "sim/validate/validate_bands.h"

#include "sim/base/number.h"

static const OrrBandsCheck *check_at(const OrrValidateBands *bands, guint i) {
  return &g_array_index(bands->checks, OrrBandsCheck, i);
}

/* --- Groups --- */

static gboolean is_kind(const OrrBandsCheck *check, const char *kind) {
  return strcmp(check->residual->likeness.kind, kind) == 0;
}

static gboolean is_energy(const OrrBandsCheck *check) {
  return is_kind(check, "serving") && (check->metric->quantity == ORR_QUANTITY_ENERGY ||
                                       check->metric->quantity == ORR_QUANTITY_POWER);
}

static gboolean is_served_together(const OrrBandsCheck *check, gboolean dense) {
  return is_kind(check, "serving") && !is_energy(check) &&
         strcmp(check->residual->likeness.form, "together") == 0 &&
         (strcmp(check->residual->likeness.family, "dense") == 0) == dense;
}

static gboolean is_any(const OrrBandsCheck *check) { return TRUE; }

static gboolean is_good(const OrrBandsCheck *check) { return check->quality == ORR_BAND_GOOD; }

static gboolean is_weak(const OrrBandsCheck *check) { return check->quality == ORR_BAND_WEAK; }

static gboolean is_step(const OrrBandsCheck *check) {
  return is_kind(check, "training") && check->metric->quantity == ORR_QUANTITY_STEP;
}

static gboolean is_memory(const OrrBandsCheck *check) {
  return is_kind(check, "training") && check->metric->quantity == ORR_QUANTITY_MEMORY;
}

static gboolean is_dense(const OrrBandsCheck *check) { return is_served_together(check, TRUE); }

static gboolean is_mixture(const OrrBandsCheck *check) { return is_served_together(check, FALSE); }

static gboolean is_apart(const OrrBandsCheck *check) {
  return is_kind(check, "serving") && strcmp(check->residual->likeness.form, "apart") == 0;
}

static gboolean is_one_node(const OrrBandsCheck *check) {
  const OrrLikenessRow *likeness = &check->residual->likeness;
  return is_kind(check, "collectives") && likeness->nodes <= 1 && likeness->scale_up > 1;
}

static gboolean is_multi_node(const OrrBandsCheck *check) {
  return is_kind(check, "collectives") && check->residual->likeness.nodes > 1;
}

static gboolean is_pcie(const OrrBandsCheck *check) {
  const OrrLikenessRow *likeness = &check->residual->likeness;
  return is_kind(check, "collectives") && likeness->nodes <= 1 && likeness->scale_up <= 1;
}

static gboolean is_picture(const OrrBandsCheck *check) { return is_kind(check, "diffusion"); }

static gboolean is_other_step(const OrrBandsCheck *check) {
  return is_kind(check, "post-training") || is_kind(check, "diffusion-training") ||
         is_kind(check, "recommendation");
}

const OrrCoverageGroup orr_coverage_groups[] = {
    {"all", "all answers", is_any},
    {"good", "all answers whose band is good", is_good},
    {"weak", "all answers whose band is weak", is_weak},
    {"training steps", "times of steps and layers", is_step},
    {"training memory", "peak memory of training", is_memory},
    {"dense serving", "dense models, prefill and decode together", is_dense},
    {"mixture serving", "mixtures of experts and models with states, together", is_mixture},
    {"disaggregated serving", "separate prefill and decode", is_apart},
    {"energy", "energy of a token and power of a GPU", is_energy},
    {"pictures", "latency and power of diffusion models", is_picture},
    {"other steps", "steps of post-training, diffusion models and recommenders", is_other_step},
    {"one-node collectives", "one node with NVLink", is_one_node},
    {"multi-node collectives", "two nodes or more", is_multi_node},
    {"PCIe collectives", "one node without NVLink", is_pcie},
    {NULL, NULL, NULL},
};

/* --- Statistics --- */

static gboolean has_bounds(OrrBandsBounds bounds) { return !isnan(bounds.low); }

static gboolean is_inside(OrrBandsBounds bounds, double value) {
  return value >= bounds.low && value <= bounds.high;
}

/* The least factor with which the scaled constant band covers the check's measurement. */
static double factor_needed(const OrrBandsCheck *check, guint level) {
  const OrrBandsBounds constant = check->constants[level];
  const double m = check->median, error = check->log_error;
  if (error == m) return 0;
  return error > m ? (error - m) / (constant.high - m) : (m - error) / (m - constant.low);
}

/* Sums over the answers that have bounds of some kind. */
typedef struct {
  guint n, n_inside;
  double width;
} Sum;

static void add_to(Sum *sum, OrrBandsBounds bounds, double error) {
  sum->n++;
  sum->n_inside += is_inside(bounds, error);
  sum->width += bounds.high - bounds.low;
}

static double over(double sum, guint n) { return n > 0 ? sum / n : NAN; }

static OrrCoverageLevel level_of(const GPtrArray *checks, guint level) {
  g_autoptr(GArray) factors = g_array_new(FALSE, FALSE, sizeof(double));
  Sum banded = {0}, constant = {0}, both = {0};
  ORR_EACH_POINTER(const OrrBandsCheck, check, checks) {
    if (!has_bounds(check->bands[level])) continue;
    add_to(&banded, check->bands[level], check->log_error);
    if (!has_bounds(check->constants[level])) continue;
    add_to(&both, check->bands[level], check->log_error);
    add_to(&constant, check->constants[level], check->log_error);
    const double factor = factor_needed(check, level);
    g_array_append_val(factors, factor);
  }
  if (factors->len > 0) qsort(factors->data, factors->len, sizeof(double), orr_number_compare);
  const double factor = both.n_inside > 0 ? g_array_index(factors, double, both.n_inside - 1) : NAN;
  const double equal_width = factor * over(constant.width, constant.n);
  return (OrrCoverageLevel){.coverage = over(banded.n_inside, banded.n),
                            .width = over(banded.width, banded.n),
                            .constant_coverage = over(constant.n_inside, constant.n),
                            .constant_width = over(constant.width, constant.n),
                            .equal_width = equal_width,
                            .ratio = over(both.width, both.n) / equal_width};
}

static OrrCoverage coverage_of(const char *name, const GPtrArray *checks) {
  OrrCoverage coverage = {.name = name, .n_answers = checks->len};
  for (guint i = 0; i < checks->len; i++) {
    const OrrBandQuality quality = ((const OrrBandsCheck *)checks->pdata[i])->quality;
    coverage.n_good += quality == ORR_BAND_GOOD;
    coverage.n_weak += quality == ORR_BAND_WEAK;
    coverage.n_none += quality == ORR_BAND_NONE;
  }
  for (guint i = 0; i < ORR_VALIDATE_BANDS_LEVELS; i++) coverage.levels[i] = level_of(checks, i);
  return coverage;
}

OrrCoverage orr_coverage_of_group(const OrrValidateBands *bands, const OrrCoverageGroup *group) {
  g_autoptr(GPtrArray) checks = g_ptr_array_new();
  for (guint i = 0; i < bands->checks->len; i++)
    if (group->has(check_at(bands, i))) g_ptr_array_add(checks, (gpointer)check_at(bands, i));
  return coverage_of(group->name, checks);
}

OrrCoverage orr_coverage_of_set(const OrrValidateBands *bands, const char *set) {
  g_autoptr(GPtrArray) checks = g_ptr_array_new();
  for (guint i = 0; i < bands->checks->len; i++)
    if (strcmp(check_at(bands, i)->residual->set, set) == 0)
      g_ptr_array_add(checks, (gpointer)check_at(bands, i));
  return coverage_of(set, checks);
}

GPtrArray *orr_coverage_sets(const OrrValidateBands *bands) {
  GPtrArray *sets = g_ptr_array_new();
  for (guint i = 0; i < bands->checks->len; i++) {
    const char *set = check_at(bands, i)->residual->set;
    if (!g_ptr_array_find(sets, set, NULL)) g_ptr_array_add(sets, (gpointer)set);
  }
  return sets;
}

/*
 * sweep_bands.c - asks for the bands of a sweep's best points and front, and stores them.
 */
#include "sim/sweep/sweep_private.h"

#include "sim/bands/band_metrics.h"
#include "sim/bands/caveats.h"
#include "sim/sweep/sweep_facts.h"

/* --- Rows --- */

typedef struct {
  gint64 point, objective, rows, best, told_apart;
  double value, low, high, expected, level, ratio_low, ratio_high, sure;
  char *quality, *reason;
} BandRow;

const OrrFieldTable orr_sweep_band_table = ORR_FIELDS(
    "sweep_band",
    "One row per objective and point that the report of a sweep shows: the best "
    "points and the Pareto front.",
    BandRow,
    ORR_FIELD_INT(BandRow, "point-run", point, NULL, "The run of the point.",
                  .flags = ORR_FIELD_RUN),
    ORR_FIELD_INT(BandRow, "objective", objective, NULL, "Number of the objective, from 1."),
    ORR_FIELD_REAL(BandRow, "value", value, ORR_UNIT_NONE, NULL, "Value of the objective."),
    ORR_FIELD_REAL(BandRow, "low", low, ORR_UNIT_NONE, NULL,
                   "Lower bound of a measurement of it; NULL: no band."),
    ORR_FIELD_REAL(BandRow, "high", high, ORR_UNIT_NONE, NULL,
                   "Upper bound of a measurement of it; NULL: no band."),
    ORR_FIELD_REAL(BandRow, "expected", expected, ORR_UNIT_NONE, NULL,
                   "Most likely value of a measurement; NULL: no band."),
    ORR_FIELD_REAL(BandRow, "level", level, ORR_UNIT_FRACTION, NULL,
                   "Fraction of measurements that lie within such bounds."),
    ORR_FIELD_INT(BandRow, "rows", rows, NULL, "Measured rows that the band is made from."),
    ORR_FIELD_TEXT(BandRow, "quality", quality, NULL,
                   "good; weak: the nearest measured rows differ in something that matters; none: "
                   "nothing measured is like the point."),
    ORR_FIELD_TEXT(BandRow, "reason", reason, NULL, "Why the band is weak or missing."),
    ORR_FIELD_INT(BandRow, "best-run", best, NULL,
                  "The run of the best point by the first objective when the sweep ended.",
                  .flags = ORR_FIELD_RUN),
    ORR_FIELD_REAL(BandRow, "ratio-low", ratio_low, ORR_UNIT_NONE, NULL,
                   "Lower bound of the measured ratio of this point to the best one; NULL: no "
                   "measured pair differs in this way, or not the first objective."),
    ORR_FIELD_REAL(BandRow, "ratio-high", ratio_high, ORR_UNIT_NONE, NULL, "Its upper bound."),
    ORR_FIELD_REAL(BandRow, "sure", sure, ORR_UNIT_FRACTION, NULL,
                   "How sure it is that the best point is better than this one: the weight of "
                   "measured pairs that confirm such an order."),
    ORR_FIELD_INT(
        BandRow, "told-apart", told_apart, NULL,
        "1: the bounds of the ratio exclude 1; 0: they do not, so the point is statistically "
        "tied with the best one; NULL: not known.",
        .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_UNSIGNED));

/* --- Objectives --- */

/* The result that an objective is in proportion to. */
typedef struct {
  char *metric; /* "tokens_per_s"; NULL: none */
  gboolean is_inverse;
  const char *reason; /* why there is none */
} Term;

/* The slot of the only result that @expression uses; 0: none, or several. */
static guint only_result(const OrrSweepPlan *plan, const OrrExpression *expression) {
  guint found = 0;
  for (guint slot = plan->first_result; slot < plan->names->len; slot++) {
    if (!orr_expression_uses(expression, slot)) continue;
    if (found) return 0;
    found = slot;
  }
  return found;
}

/* The power of the value of @slot that @expression is in proportion to: 1 or -1; 0: neither. */
static int power_of(const OrrSweepPlan *plan, const OrrExpression *expression, guint slot) {
  g_autofree OrrValue *values = g_new0(OrrValue, plan->names->len);
  orr_sweep_facts_fill(plan, plan->base, values);
  for (guint i = plan->first_axis; i < plan->names->len; i++) {
    const OrrValueType type = g_array_index(plan->names, OrrExpressionName, i).type;
    values[i] = (OrrValue){.type = type, .number = 1, .text = ""};
  }
  const double once = orr_expression_number(expression, values);
  values[slot].number = 2;
  const double twice = orr_expression_number(expression, values) / once;
  return fabs(twice - 2) < 1e-9 ? 1 : fabs(twice - 0.5) < 1e-9 ? -1 : 0;
}

/* Costs that are in proportion to the time of a token, and the rate that has bands. Energy has no
 * band, so neither has a cost with energy in it. */
static const struct {
  const char *cost, *rate;
} per_token[] = {
    {"cost-per-step", "tokens_per_s"},
    {"cost-per-run", "tokens_per_s"},
    {"cost-per-million-tokens", "tokens_per_s"},
    {"cost-per-million-output-tokens", "output_tokens_per_s"},
};

/* The rate behind the result @name; NULL: it is not a cost per token. */
static const char *rate_of(const OrrSweepPlan *plan, const char *name) {
  if (g_str_has_prefix(name, "cost-") && plan->base->prices.kwh > 0) return NULL;
  for (guint i = 0; i < G_N_ELEMENTS(per_token); i++)
    if (g_str_equal(per_token[i].cost, name)) return per_token[i].rate;
  return NULL;
}

static Term term_of(const OrrSweepPlan *plan, const OrrSweepRule *rule) {
  const guint slot = only_result(plan, rule->expression);
  const int power = slot ? power_of(plan, rule->expression, slot) : 0;
  if (power == 0) return (Term){.reason = "the objective is not in proportion to one result"};
  const char *name = g_array_index(plan->names, OrrExpressionName, slot).name;
  const char *rate = rate_of(plan, name), *kind = plan->base->workload.entry->name;
  g_autofree char *metric = rate ? g_strdup(rate) : g_strdelimit(g_strdup(name), "-", '_');
  if (!orr_band_metrics_find(kind, metric))
    return (Term){.reason = "a sweep has bands of results that were measured themselves: where one "
                            "follows from others, orrery run of a point prints it"};
  return (Term){.metric = g_steal_pointer(&metric), .is_inverse = (power < 0) != (rate != NULL)};
}

/* --- Bands --- */

static OrrBand band_of(const OrrBands *bands, const Term *term, const OrrSweepBest *one) {
  if (!bands) return orr_band_none(ORR_BAND_LEVEL, "the measured rows cannot be read");
  if (!term->metric) return orr_band_none(ORR_BAND_LEVEL, term->reason);
  if (!one->likeness) return orr_band_none(ORR_BAND_LEVEL, "the point's likeness was not stored");
  const OrrBandQuestion question = {
      .likeness = one->likeness, .metric = term->metric, .level = ORR_BAND_LEVEL};
  OrrBand band = orr_bands_ask(bands, &question, NULL);
  if (term->is_inverse) orr_band_invert(&band);
  return band;
}

/* Compares a point with the best one, by the first objective. */
static void tell_apart(const OrrBands *bands, const Term *term, const OrrSweepBest *best,
                       const OrrSweepBest *one) {
  if (!bands || !term->metric || !best->likeness || !one->likeness) return;
  const OrrBandQuestion question = {
      .likeness = one->likeness, .metric = term->metric, .level = ORR_BAND_LEVEL};
  const double ratio = one->score[0] / best->score[0];
  const OrrRatioBand band =
      orr_bands_ask_ratio(bands, &question, best->likeness, term->is_inverse ? 1 / ratio : ratio);
  if (band.quality == ORR_BAND_NONE) return;
  OrrSweepBands *ret = one->bands;
  ret->ratio_low = ratio * (term->is_inverse ? 1 / band.high : band.low);
  ret->ratio_high = ratio * (term->is_inverse ? 1 / band.low : band.high);
  ret->sure = band.sure;
  ret->apart = ret->ratio_low > 1 || ret->ratio_high < 1 ? ORR_APART_TOLD : ORR_APART_NOT_TOLD;
}

static gboolean recall_likeness(const OrrSweepReport *report, OrrStore *store, OrrSweepBest *one,
                                GError **error) {
  g_autoptr(GError) reason = NULL;
  if (one->likeness || !store) return TRUE;
  one->likeness = orr_sweep_likeness_read(store, report->sweep + 1 + (gint64)one->point, &reason);
  if (!reason) return TRUE;
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

static OrrBands *open_bands(OrrSweepReport *report, const OrrSweepPlan *plan) {
  g_autoptr(GError) reason = NULL;
  OrrBands *bands = orr_bands_new(plan->library, plan->base->workload.entry->name, &reason);
  const char *note = bands ? orr_bands_stale(bands) : reason->message;
  g_free(report->band_note);
  report->band_note = g_strdup(note);
  return bands;
}

gboolean orr_sweep_bands_fill(OrrSweepReport *report, const OrrSweepPlan *plan, OrrStore *store,
                              GError **error) {
  Term terms[ORR_SWEEP_MOST_OBJECTIVES] = {0};
  GArray *const lists[] = {report->best, report->front};
  OrrStore *from = store && orr_sweep_likeness_is_stored(store) ? store : NULL;
  if (report->best->len == 0) return TRUE;
  g_autoptr(OrrBands) bands = open_bands(report, plan);
  for (guint i = 0; i < report->n_objectives; i++)
    terms[i] = term_of(plan, plan->objectives->pdata[i]);
  gboolean fine = TRUE;
  for (guint k = 0; k < G_N_ELEMENTS(lists); k++)
    for (guint p = 0; fine && p < lists[k]->len; p++) {
      OrrSweepBest *one = &g_array_index(lists[k], OrrSweepBest, p);
      fine = recall_likeness(report, from, one, error);
      one->bands = g_new0(OrrSweepBands, 1);
      for (guint i = 0; i < report->n_objectives; i++)
        one->bands->of[i] = band_of(bands, &terms[i], one);
      if (lists[k] == report->best && p > 0)
        tell_apart(bands, &terms[0], &g_array_index(report->best, OrrSweepBest, 0), one);
    }
  for (guint i = 0; i < report->n_objectives; i++) g_free(terms[i].metric);
  return fine;
}

/* --- Caveats --- */

static void add_caveats(OrrCaveats *caveats, const GArray *points, const OrrSweepPlan *plan,
                        OrrSweepVariants *variants) {
  g_autofree OrrValue *values = g_new0(OrrValue, plan->names->len);
  ORR_EACH(const OrrSweepBest, one, points) {
    g_autofree char *reason = NULL;
    const OrrScenario *scenario =
        orr_sweep_variants_scenario(variants, one->combination, values, &reason);
    if (scenario) orr_caveats_add(caveats, scenario);
  }
}

void orr_sweep_bands_caveats(OrrSweepReport *report, const OrrSweepPlan *plan,
                             OrrSweepVariants *variants) {
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(plan->library);
  orr_caveats_add_values(caveats, plan->base);
  add_caveats(caveats, report->best, plan, variants);
  add_caveats(caveats, report->front, plan, variants);
  const GPtrArray *texts = orr_caveats_texts(caveats);
  for (guint i = 0; i < texts->len; i++)
    g_ptr_array_add(report->caveats, g_strdup(texts->pdata[i]));
}

/* --- The database --- */

static gint64 run_of(const OrrSweepReport *report, const OrrSweepBest *one) {
  return report->sweep + 1 + (gint64)one->point;
}

gboolean orr_sweep_bands_tidy(const OrrSweepReport *report, OrrStore *store, GError **error) {
  const GArray *const lists[] = {report->best, report->front};
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (guint k = 0; k < G_N_ELEMENTS(lists); k++)
    for (guint p = 0; p < lists[k]->len; p++)
      ORR_APPEND(kept, gint64, run_of(report, &g_array_index(lists[k], OrrSweepBest, p)));
  return orr_store_remove_rows(store, &orr_likeness_table, report->sweep + 1,
                               report->sweep + (gint64)report->n_points, kept, error);
}

static gboolean add_rows(const OrrSweepReport *report, OrrStore *store, const OrrSweepBest *one,
                         GError **error) {
  for (guint i = 0; i < report->n_objectives; i++) {
    const OrrSweepBands *bands = one->bands;
    const OrrBand *band = &bands->of[i];
    const gboolean is_compared = i == 0 && bands->apart != ORR_APART_UNKNOWN;
    const BandRow row = {.point = run_of(report, one),
                         .objective = i + 1,
                         .value = one->score[i],
                         .low = one->score[i] * band->low,
                         .high = one->score[i] * band->high,
                         .expected = one->score[i] * band->middle,
                         .level = band->level,
                         .rows = band->n_rows,
                         .quality = (char *)orr_band_quality_words[band->quality],
                         .reason = (char *)band->reason,
                         .best = run_of(report, &g_array_index(report->best, OrrSweepBest, 0)),
                         .ratio_low = is_compared ? bands->ratio_low : NAN,
                         .ratio_high = is_compared ? bands->ratio_high : NAN,
                         .sure = is_compared ? bands->sure : NAN,
                         .told_apart = is_compared ? bands->apart == ORR_APART_TOLD : -1};
    if (!orr_store_add_row(store, &orr_sweep_band_table, &row, error)) return FALSE;
  }
  return TRUE;
}

static gboolean is_among_best(const OrrSweepReport *report, guint64 point) {
  for (guint p = 0; p < report->best->len; p++)
    if (g_array_index(report->best, OrrSweepBest, p).point == point) return TRUE;
  return FALSE;
}

gboolean orr_sweep_bands_store(const OrrSweepReport *report, OrrStore *store, GError **error) {
  if (!orr_store_remove_rows(store, &orr_sweep_band_table, report->sweep, report->sweep, NULL,
                             error) ||
      !orr_store_remove_rows(store, &orr_warning_table, report->sweep, report->sweep, NULL,
                             error) ||
      !orr_store_begin_again(store, report->sweep, error))
    return FALSE;
  gboolean fine = TRUE;
  for (guint i = 0; fine && i < report->caveats->len; i++) {
    const OrrWarningRow row = {report->caveats->pdata[i]};
    fine = orr_store_add_row(store, &orr_warning_table, &row, error);
  }
  for (guint p = 0; fine && p < report->best->len; p++)
    fine = add_rows(report, store, &g_array_index(report->best, OrrSweepBest, p), error);
  for (guint p = 0; fine && p < report->front->len; p++) {
    const OrrSweepBest *one = &g_array_index(report->front, OrrSweepBest, p);
    fine = is_among_best(report, one->point) || add_rows(report, store, one, error);
  }
  if (fine) return orr_store_end_again(store, error);
  orr_store_abandon_run(store);
  return FALSE;
}

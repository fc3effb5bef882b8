/*
 * band_rows.c - adds to an outcome the rows of its bands: what the answer is like, one band for
 * each result that can have one, and the measured rows that speak for it.
 */
#include "sim/bands/band_private.h"
#include "sim/bands/caveats.h"
#include "sim/bands/own_rows.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

/* As many as people read. */
#define MOST_SOURCES 20

double orr_band_result_value(const OrrOutcome *outcome, const char *metric) {
  const OrrFieldTable *table = outcome->kind->result;
  g_autofree char *name = g_strdelimit(g_strdup(metric), "_", '-');
  for (size_t i = 0; i < table->n_fields; i++)
    if (g_str_equal(table->fields[i].name, name))
      return *(const double *)(const void *)((const char *)&outcome->result +
                                             table->fields[i].offset);
  return NAN;
}

/* --- The boards' limit --- */

static void add_limit(const void *section, void *user) {
  const OrrDevice *device = section;
  double *most_w = user;
  const double limit_w = orr_device_power_limit_w(&device->power, device->tdp_watts);
  if (device->name) *most_w = fmax(*most_w, limit_w > 0 ? limit_w : INFINITY);
}

static gint64 count_of_gpus(const OrrOutcome *outcome) {
  const OrrFieldTable *table = outcome->kind->result;
  for (size_t i = 0; i < table->n_fields; i++)
    if (g_str_equal(table->fields[i].name, "n-gpus"))
      return *(const gint64 *)(const void *)((const char *)&outcome->result +
                                             table->fields[i].offset);
  return 0;
}

/* The power of all GPUs at their boards' limits, of several devices the highest; INFINITY: it is
 * not known. */
static double limit_of(const OrrScenario *scenario, const OrrOutcome *outcome) {
  double most_w = 0;
  orr_field_each(&orr_scenario_table, scenario, &orr_device_table, add_limit, &most_w);
  const double limit_w = most_w * (double)count_of_gpus(outcome);
  return limit_w > 0 ? limit_w : INFINITY;
}

/* No board draws more than its limit, however far off other devices' answers were. */
static void stay_below(OrrBand *band, double most) {
  if (!(band->high > most)) return; /* or none */
  if (band->low >= most) band->low *= most / band->high;
  band->high = most;
  band->middle = fmin(band->middle, most);
}

/* --- Bands --- */

static void add_sources(const char *metric, const GArray *sources, OrrOutcome *outcome) {
  for (guint i = 0; i < MIN(sources->len, MOST_SOURCES); i++) {
    const OrrBandSource *source = &g_array_index(sources, OrrBandSource, i);
    const OrrBandSourceRow row = {
        .metric = (char *)metric,
        .set_name = (char *)source->residual->set,
        .row = source->residual->row,
        .label = g_string_chunk_insert_const(outcome->names, source->residual->label),
        .measured_metric = (char *)source->answer->metric,
        .measured = source->answer->measured,
        .simulated = source->answer->simulated,
        .error = source->answer->simulated / source->answer->measured - 1,
        .weight = source->weight};
    g_array_append_val(outcome->band_sources, row);
  }
}

/* What bands rest on: @own may be NULL. */
typedef struct {
  const OrrBands *bands;
  const OrrOwnRows *own;
  double limit_w; /* of all GPUs; INFINITY: not known */
} Rests;

/* @bases: by quantity; those without an array are not asked yet. */
static void add_band(const Rests *rests, const OrrBandQuestion *question,
                     const OrrBandMetric *metric, OrrBandBase *bases, OrrOutcome *outcome) {
  const double value = orr_band_result_value(outcome, question->metric);
  if (!(value > 0)) return;
  g_autoptr(GArray) sources = g_array_new(FALSE, FALSE, sizeof(OrrBandSource));
  OrrBandBase *base = &bases[metric->quantity];
  if (!base->near) orr_band_base_init(base, rests->bands, question, metric->quantity);
  OrrBand band = orr_band_of_base(rests->bands, question, metric, base, sources);
  if (rests->own) orr_own_rows_narrow(rests->own, question, &band);
  if (metric->quantity == ORR_QUANTITY_POWER) stay_below(&band, fmax(rests->limit_w / value, 1));
  const OrrBandRow row = {.metric = (char *)question->metric,
                          .value = value,
                          .low = value * band.low,
                          .high = value * band.high,
                          .expected = value * band.middle,
                          .level = band.level,
                          .rows = band.n_rows,
                          .bias = band.bias,
                          .sided = band.sided,
                          .quality = (char *)orr_band_quality_words[band.quality],
                          .reason = (char *)band.reason,
                          .rests_on = (char *)""};
  g_array_append_val(outcome->bands, row);
  add_sources(question->metric, sources, outcome);
}

/* Fills the bounds of each size of a run of collectives. */
static void add_sizes(const Rests *rests, const OrrLikenessRow *likeness, double level,
                      OrrOutcome *outcome) {
  ORR_EACH(OrrNcclTestRow, test, outcome->nccl_tests) {
    const OrrLikenessRow one = orr_likeness_of_size(likeness, outcome, test);
    const OrrBandQuestion question = {.likeness = &one, .metric = "time_s", .level = level};
    OrrBand band = orr_bands_ask(rests->bands, &question, NULL);
    if (rests->own) orr_own_rows_narrow(rests->own, &question, &band);
    test->low_s = test->time_s * band.low;
    test->high_s = test->time_s * band.high;
    test->expected_s = test->time_s * band.middle;
  }
}

static void add_bands(const Rests *rests, const OrrLikenessRow *likeness, double level,
                      OrrOutcome *outcome) {
  OrrBandBase bases[ORR_N_QUANTITIES] = {{NULL}};
  for (const OrrBandMetric *metric = orr_band_metrics; metric->kind; metric++) {
    if (!g_str_equal(metric->kind, likeness->kind) || orr_band_is_derived(outcome, metric->metric))
      continue;
    const OrrBandQuestion question = {
        .likeness = likeness, .metric = metric->metric, .level = level};
    add_band(rests, &question, metric, bases, outcome);
  }
  for (guint i = 0; i < ORR_N_QUANTITIES; i++) orr_band_base_clear(&bases[i]);
}

static void add_caveats(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome) {
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(library);
  orr_caveats_add_others(caveats, scenario);
  const GPtrArray *texts = orr_caveats_texts(caveats);
  for (guint i = 0; i < texts->len; i++)
    g_ptr_array_add(outcome->warnings, g_strdup(texts->pdata[i]));
}

void orr_bands_add(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                   double level) {
  orr_bands_add_own(library, scenario, outcome, level, NULL);
}

void orr_bands_add_own(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                       double level, const OrrResiduals *own) {
  add_caveats(library, scenario, outcome);
  if (outcome->kind->kind == &orr_cluster_jobs_kind)
    return orr_band_cluster_add(library, scenario, outcome, level);
  if (!orr_band_metrics_has(outcome->kind->kind->entry.name)) return;
  const OrrLikenessRow likeness = orr_likeness_of(library, scenario, outcome);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrBands) bands = orr_bands_new(library, likeness.kind, &error);
  g_array_append_val(outcome->likenesses, likeness);
  if (!bands)
    return g_ptr_array_add(outcome->warnings,
                           g_strdup_printf("no error bands: %s", error->message));
  g_autoptr(OrrOwnRows) own_rows = own ? orr_own_rows_new(bands, own) : NULL;
  const Rests rests = {bands, own_rows, limit_of(scenario, outcome)};
  add_bands(&rests, &likeness, level, outcome);
  add_sizes(&rests, &likeness, level, outcome);
  orr_band_derived_add(library, outcome);
  if (orr_bands_stale(bands)) g_ptr_array_add(outcome->warnings, g_strdup(orr_bands_stale(bands)));
}

const OrrBandRow *orr_bands_row(const OrrOutcome *outcome, const char *metric) {
  ORR_EACH(const OrrBandRow, row, outcome->bands)
    if (g_str_equal(row->metric, metric)) return row;
  return NULL;
}

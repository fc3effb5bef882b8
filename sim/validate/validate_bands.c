/*
 * validate_bands.c - asks measured answers for their bands, and makes constant ones to compare.
 */
#include "sim/validate/validate_bands.h"

#include "sim/bands/conformal.h"

const char *const orr_validate_bands_leave_words[] = {"set",   "row",    "nothing", "model",
                                                      "stack", "device", "cluster", NULL};
const double orr_validate_bands_levels[ORR_VALIDATE_BANDS_LEVELS] = {0.8, 0.5};

static const OrrResidual *residual_at(const OrrResiduals *residuals, guint i) {
  return &g_array_index(residuals->rows, OrrResidual, i);
}

/* --- Life --- */

static void clear_kind(gpointer data) {
  OrrBandsKind *kind = data;
  orr_bands_free(kind->bands);
  orr_residuals_free(kind->residuals);
  g_array_unref(kind->errors);
}

static double log_error_of(const OrrBandMetric *metric, const OrrResidualAnswer *answer) {
  const double error = log(answer->measured / answer->simulated);
  return metric->is_rate ? -error : error;
}

static int compare_errors(const void *a, const void *b) {
  const double x = ((const OrrBandsError *)a)->log_error, y = ((const OrrBandsError *)b)->log_error;
  return (x > y) - (x < y);
}

static GArray *errors_of(const char *kind, const OrrResiduals *residuals) {
  GArray *errors = g_array_new(FALSE, FALSE, sizeof(OrrBandsError));
  ORR_EACH(const OrrResidual, residual, residuals->rows)
    for (guint k = 0; k < residual->n_answers; k++) {
      const OrrResidualAnswer *answer = &residual->answers[k];
      const OrrBandMetric *metric = orr_band_metrics_find(kind, answer->metric);
      if (metric)
        ORR_APPEND(errors, OrrBandsError,
                   {residual, metric->quantity, log_error_of(metric, answer)});
    }
  g_array_sort(errors, compare_errors);
  return errors;
}

static gboolean add_kind(OrrValidateBands *bands, OrrLibrary *library, const char *name,
                         GError **error) {
  OrrBandsKind kind = {.kind = name, .residuals = orr_residuals_for(library, name, error)};
  if (!kind.residuals) return FALSE;
  kind.bands = orr_bands_of(kind.residuals);
  kind.errors = errors_of(name, kind.residuals);
  g_array_append_val(bands->kinds, kind);
  return TRUE;
}

/* With the shipped residuals of all kinds, and no checks. */
static OrrValidateBands *make(OrrLibrary *library, OrrValidateBandsLeave leave, GError **error) {
  g_autoptr(OrrValidateBands) bands = g_new0(OrrValidateBands, 1);
  bands->leave = leave;
  bands->kinds = g_array_new(FALSE, FALSE, sizeof(OrrBandsKind));
  bands->checks = g_array_new(FALSE, FALSE, sizeof(OrrBandsCheck));
  g_array_set_clear_func(bands->kinds, clear_kind);
  for (const OrrEntry *const *entry = orr_workload_registry.entries; *entry; entry++)
    if (!add_kind(bands, library, (*entry)->name, error)) return NULL;
  return g_steal_pointer(&bands);
}

void orr_validate_bands_free(OrrValidateBands *bands) {
  if (!bands) return;
  g_array_unref(bands->kinds);
  g_array_unref(bands->checks);
  g_free(bands);
}

static const OrrBandsKind *find_kind(const OrrValidateBands *bands, const char *name) {
  ORR_EACH(const OrrBandsKind, kind, bands->kinds)
    if (strcmp(kind->kind, name) == 0) return kind;
  return NULL;
}

const OrrBands *orr_validate_bands_of_kind(const OrrValidateBands *bands, const char *kind) {
  const OrrBandsKind *found = find_kind(bands, kind);
  return found ? found->bands : NULL;
}

const char *orr_validate_bands_stale(const OrrValidateBands *bands) {
  ORR_EACH(const OrrBandsKind, kind, bands->kinds) {
    const char *stale = orr_bands_stale(kind->bands);
    if (stale) return stale;
  }
  return NULL;
}

/* --- What is left out --- */

/* The offset of the text whose rows are left out; 0: none. */
static size_t trait_of(OrrValidateBandsLeave leave) {
  static const size_t traits[] = {[ORR_VALIDATE_BANDS_MODEL] = offsetof(OrrLikenessRow, model),
                                  [ORR_VALIDATE_BANDS_STACK] = offsetof(OrrLikenessRow, stack),
                                  [ORR_VALIDATE_BANDS_DEVICE] = offsetof(OrrLikenessRow, device),
                                  [ORR_VALIDATE_BANDS_CLUSTER] = offsetof(OrrLikenessRow, cluster)};
  return traits[leave];
}

/* Whether @row has what is left out: a collective has no model. */
static gboolean has_trait(const OrrLikenessRow *row, size_t trait) {
  const char *text = *(char *const *)(const void *)((const char *)row + trait);
  return trait == 0 || (text && *text);
}

OrrBandQuestion orr_validate_bands_question(const OrrValidateBands *bands,
                                            const OrrBandsCheck *check, double level) {
  const OrrResidual *residual = check->residual;
  const gboolean is_row = bands->leave == ORR_VALIDATE_BANDS_ROW;
  return (OrrBandQuestion){
      .likeness = &residual->likeness,
      .metric = check->answer->metric,
      .level = level,
      .without_set = is_row || bands->leave == ORR_VALIDATE_BANDS_SET ? residual->set : NULL,
      .without_row = is_row ? residual->row : 0,
      .without_trait = trait_of(bands->leave)};
}

/* --- The constant band --- */

/* The errors of the check's quantity that are not left out, of weight 1 each, least first. */
static GArray *pooled_errors(const OrrValidateBands *bands, const OrrBandsKind *kind,
                             const OrrBandsCheck *check) {
  GArray *pooled = g_array_new(FALSE, FALSE, sizeof(OrrConformalRow));
  const OrrBandQuestion question = orr_validate_bands_question(bands, check, 0.8);
  ORR_EACH(const OrrBandsError, error, kind->errors)
    if (error->quantity == check->metric->quantity &&
        !orr_band_is_left_out(&question, error->residual))
      ORR_APPEND(pooled, OrrConformalRow, {error->log_error, 1});
  return pooled;
}

static void add_constants(const GArray *pooled, OrrBandsCheck *check) {
  OrrConformalRow *rows = (OrrConformalRow *)(void *)pooled->data;
  check->median = NAN;
  for (guint i = 0; i < ORR_VALIDATE_BANDS_LEVELS; i++) {
    OrrBandsBounds *constant = &check->constants[i];
    orr_conformal_bounds(rows, pooled->len, orr_validate_bands_levels[i], &constant->low,
                         &constant->high);
    if (!isfinite(constant->low) || !isfinite(constant->high))
      *constant = (OrrBandsBounds){NAN, NAN};
  }
  if (pooled->len > 0) check->median = rows[pooled->len / 2].value;
}

/* --- Checks --- */

static OrrBandsBounds bounds_of(const OrrBandMetric *metric, const OrrBand *band) {
  if (band->quality == ORR_BAND_NONE) return (OrrBandsBounds){NAN, NAN};
  const double low = log(band->low), high = log(band->high);
  return metric->is_rate ? (OrrBandsBounds){-high, -low} : (OrrBandsBounds){low, high};
}

static void add_check(OrrValidateBands *bands, const OrrResidual *residual,
                      const OrrResidualAnswer *answer) {
  const OrrBandsKind *kind = find_kind(bands, residual->likeness.kind);
  OrrBandsCheck check = {.residual = residual, .answer = answer};
  check.metric = orr_band_metrics_find(residual->likeness.kind, answer->metric);
  if (!kind || !check.metric || !has_trait(&residual->likeness, trait_of(bands->leave))) return;
  check.log_error = log_error_of(check.metric, answer);
  const OrrBandQuestion question = orr_validate_bands_question(bands, &check, 0);
  OrrBand found[ORR_VALIDATE_BANDS_LEVELS];
  orr_bands_ask_levels(kind->bands, &question, orr_validate_bands_levels, G_N_ELEMENTS(found),
                       found);
  for (guint i = 0; i < G_N_ELEMENTS(found); i++)
    check.bands[i] = bounds_of(check.metric, &found[i]);
  check.quality = found[0].quality; /* at the default level */
  g_autoptr(GArray) pooled = pooled_errors(bands, kind, &check);
  add_constants(pooled, &check);
  g_array_append_val(bands->checks, check);
}

/* @kind: rows of others among @rows only speak for its answers; NULL: all are asked. */
static void add_checks(OrrValidateBands *bands, const OrrResiduals *rows, const char *kind,
                       char *const *sets) {
  for (guint i = 0; i < rows->rows->len; i++) {
    const OrrResidual *residual = residual_at(rows, i);
    if (kind && strcmp(residual->likeness.kind, kind) != 0) continue;
    if (sets && !g_strv_contains((const char *const *)sets, residual->set)) continue;
    for (guint k = 0; k < residual->n_answers; k++)
      add_check(bands, residual, &residual->answers[k]);
  }
}

OrrValidateBands *orr_validate_bands_new(OrrLibrary *library, char *const *sets,
                                         OrrValidateBandsLeave leave, GError **error) {
  g_autoptr(OrrValidateBands) bands = make(library, leave, error);
  if (!bands) return NULL;
  ORR_EACH(const OrrBandsKind, kind, bands->kinds)
    add_checks(bands, kind->residuals, kind->kind, sets);
  if (bands->checks->len > 0) return g_steal_pointer(&bands);
  return orr_fault_null(
      error, ORR_FAULT_USAGE,
      "calibration/residuals has no row of %s%s: `make residuals` writes the rows of all "
      "sets of measured scenarios",
      sets && sets[0] ? "validation set " : "any set", sets && sets[0] ? sets[0] : "");
}

OrrValidateBands *orr_validate_bands_of_rows(OrrLibrary *library, const OrrResiduals *rows,
                                             OrrValidateBandsLeave leave, GError **error) {
  OrrValidateBands *bands = make(library, leave, error);
  if (bands) add_checks(bands, rows, NULL, NULL);
  return bands;
}

/*
 * nccl_diagnosis.c - compares a measured curve with the healthy replay and with replays of faults.
 */
#include "sim/nccl/nccl_diagnosis.h"

/* The band taken where nothing measured is like the question. */
static const double no_band = 1.25;

/* By how much repeated measurements differ at the 90th percentile: 5 to 12 %; no band is less. */
static const double repeats = 1.1;

/* Fewer sizes have no shape. */
enum { LEAST_SIZES = 3 };

/* A fault that changes no size by more is not visible. */
static const double visible = 0.03;

const char *const orr_nccl_verdict_words[] = {"as-expected", "faster",      "explained",
                                              "ambiguous",   "unexplained", NULL};

static void clear_fit(gpointer data) { g_free(((OrrNcclFit *)data)->strength); }

void orr_nccl_diagnosis_free(OrrNcclDiagnosis *diagnosis) {
  if (!diagnosis) return;
  g_array_unref(diagnosis->fits);
  g_ptr_array_unref(diagnosis->hidden);
  g_ptr_array_unref(diagnosis->refused);
  g_free(diagnosis);
}

/* The point of the curve that is nearest to @bytes. */
static const OrrNcclCurvePoint *nearest(const OrrNcclCurve *curve, double bytes) {
  const OrrNcclCurvePoint *points = (const OrrNcclCurvePoint *)(void *)curve->points->data;
  const OrrNcclCurvePoint *best = points;
  for (guint i = 1; i < curve->points->len; i++)
    if (fabs(log(points[i].bytes / bytes)) < fabs(log(best->bytes / bytes))) best = &points[i];
  return best;
}

gboolean orr_nccl_diagnosis_band(const OrrNcclCurve *healthy, double bytes, double *ret_low_s,
                                 double *ret_high_s) {
  const double time_s = orr_nccl_curve_at(healthy, bytes);
  const OrrNcclCurvePoint *point = nearest(healthy, bytes);
  const gboolean has = isfinite(point->low_s) && isfinite(point->high_s);
  const double low = has ? point->low_s / point->time_s : 1 / no_band;
  const double high = has ? point->high_s / point->time_s : no_band;
  *ret_low_s = time_s * MIN(low, 1 / repeats);
  *ret_high_s = time_s * MAX(high, repeats);
  return has;
}

static const OrrNcclMeasured *row_at(const GArray *measured, guint i) {
  return &g_array_index(measured, OrrNcclMeasured, i);
}

static double misfit_of(const OrrNcclCurve *curve, const GArray *measured) {
  double sum = 0, squares = 0;
  for (guint i = 0; i < measured->len; i++) {
    const OrrNcclMeasured *row = row_at(measured, i);
    const double r = log(row->time_s / orr_nccl_curve_at(curve, row->bytes));
    sum += r;
    squares += r * r;
  }
  const double mean = sum / measured->len;
  return sqrt(MAX(0, squares / measured->len - mean * mean) + mean * mean / 4);
}

/* Sizes whose time lies below, in and above the band of @healthy, moved to @curve. */
static void count(const OrrNcclCurve *curve, const OrrNcclCurve *healthy, const GArray *measured,
                  guint ret_n[3]) {
  ret_n[0] = ret_n[1] = ret_n[2] = 0;
  for (guint i = 0; i < measured->len; i++) {
    const OrrNcclMeasured *row = row_at(measured, i);
    double low_s, high_s;
    orr_nccl_diagnosis_band(healthy, row->bytes, &low_s, &high_s);
    const double moved_s =
        row->time_s * orr_nccl_curve_at(healthy, row->bytes) / orr_nccl_curve_at(curve, row->bytes);
    ret_n[moved_s < low_s ? 0 : moved_s > high_s ? 2 : 1]++;
  }
}

static gboolean is_visible(const OrrNcclCurve *curve, const OrrNcclCurve *healthy,
                           const GArray *measured) {
  for (guint i = 0; i < measured->len; i++) {
    const double bytes = row_at(measured, i)->bytes;
    if (fabs(log(orr_nccl_curve_at(curve, bytes) / orr_nccl_curve_at(healthy, bytes))) > visible)
      return TRUE;
  }
  return FALSE;
}

/* The strengths of one fault; the best one counts. */
typedef struct {
  OrrNcclFit best; /* strength NULL: none is visible */
  const char *refused;
  guint n_hidden;
} Tried;

static void try_strength(Tried *tried, const OrrNcclSuspect *suspect, const OrrNcclCurve *curve,
                         const OrrNcclCurve *healthy, const GArray *measured) {
  if (curve->error) {
    tried->refused = curve->error->message;
    return;
  }
  if (!is_visible(curve, healthy, measured)) {
    tried->n_hidden++;
    return;
  }
  const double misfit = misfit_of(curve, measured);
  if (tried->best.strength && tried->best.misfit <= misfit) return;
  guint n[3];
  count(curve, healthy, measured, n);
  g_free(tried->best.strength);
  tried->best = (OrrNcclFit){.fault = suspect->fault,
                             .strength = g_strdup(suspect->strength),
                             .misfit = misfit,
                             .n_within = n[1]};
}

static void close_fault(OrrNcclDiagnosis *diagnosis, const OrrNcclFault *fault, Tried *tried) {
  if (tried->best.strength)
    g_array_append_val(diagnosis->fits, tried->best);
  else if (tried->n_hidden)
    g_ptr_array_add(diagnosis->hidden, g_strdup(fault->name));
  else if (tried->refused)
    g_ptr_array_add(diagnosis->refused, g_strdup_printf("%s: %s", fault->name, tried->refused));
  *tried = (Tried){0};
}

ORR_LEAST_FIRST(compare_fits, OrrNcclFit, misfit)

static void judge(OrrNcclDiagnosis *diagnosis) {
  guint n_likely = 0;
  double best = INFINITY;
  ORR_EACH(OrrNcclFit, fit, diagnosis->fits) {
    fit->explains = 5 * fit->n_within >= 4 * diagnosis->n && fit->misfit <= 0.6 * diagnosis->misfit;
    if (fit->explains) best = MIN(best, fit->misfit);
    fit->is_likely = fit->explains && fit->misfit <= 1.3 * best + 0.02;
    n_likely += fit->is_likely;
  }
  diagnosis->verdict = n_likely == 0   ? ORR_NCCL_UNEXPLAINED
                       : n_likely == 1 ? ORR_NCCL_EXPLAINED
                                       : ORR_NCCL_AMBIGUOUS;
}

GPtrArray *orr_nccl_diagnosis_replay(OrrLibrary *library, const OrrNcclCurveQuestion *question,
                                     const GArray *suspects, guint jobs) {
  g_autofree OrrNcclCurveOrder *orders = g_new0(OrrNcclCurveOrder, suspects->len + 1);
  for (guint i = 0; i < suspects->len; i++)
    orders[i] =
        (OrrNcclCurveOrder){question, g_array_index(suspects, OrrNcclSuspect, i).settings, FALSE};
  return orr_nccl_curve_replay(library, orders, suspects->len, jobs);
}

static void try_suspects(OrrNcclDiagnosis *diagnosis, const OrrNcclCurve *healthy,
                         const GArray *suspects, const GPtrArray *curves, const GArray *measured) {
  Tried tried = {0};
  ORR_EACH_AT(i, const OrrNcclSuspect, suspect, suspects) {
    try_strength(&tried, suspect, curves->pdata[i], healthy, measured);
    if (i + 1 == suspects->len || suspect[1].fault != suspect->fault)
      close_fault(diagnosis, suspect->fault, &tried);
  }
  g_array_sort(diagnosis->fits, compare_fits);
}

/* The counts, the misfit and the verdict without suspects; whether these are to be tried. */
static gboolean weigh(OrrNcclDiagnosis *diagnosis, const OrrNcclCurve *healthy,
                      const GArray *measured) {
  double low_s, high_s;
  guint n[3];
  diagnosis->fits = g_array_new(FALSE, FALSE, sizeof(OrrNcclFit));
  g_array_set_clear_func(diagnosis->fits, clear_fit);
  diagnosis->hidden = g_ptr_array_new_with_free_func(g_free);
  diagnosis->refused = g_ptr_array_new_with_free_func(g_free);
  diagnosis->n = measured->len;
  diagnosis->misfit = misfit_of(healthy, measured);
  diagnosis->has_band =
      orr_nccl_diagnosis_band(healthy, row_at(measured, measured->len - 1)->bytes, &low_s, &high_s);
  count(healthy, healthy, measured, n);
  diagnosis->n_fast = n[0];
  diagnosis->n_slow = n[2];
  diagnosis->verdict = 2 * n[0] >= measured->len ? ORR_NCCL_FASTER : ORR_NCCL_AS_EXPECTED;
  if (n[2] == 0 || 4 * n[2] < measured->len) return FALSE;
  diagnosis->verdict = ORR_NCCL_UNEXPLAINED;
  return measured->len >= LEAST_SIZES;
}

OrrNcclDiagnosis *orr_nccl_diagnosis_of(const OrrNcclCurve *healthy, const GArray *suspects,
                                        const GPtrArray *curves, const GArray *measured) {
  OrrNcclDiagnosis *diagnosis = g_new0(OrrNcclDiagnosis, 1);
  if (!weigh(diagnosis, healthy, measured)) return diagnosis;
  try_suspects(diagnosis, healthy, suspects, curves, measured);
  judge(diagnosis);
  return diagnosis;
}

OrrNcclDiagnosis *orr_nccl_diagnosis_new(OrrLibrary *library, const OrrNcclSite *site,
                                         const OrrNcclCurve *healthy, const GArray *measured,
                                         guint jobs) {
  OrrNcclDiagnosis *diagnosis = g_new0(OrrNcclDiagnosis, 1);
  if (!weigh(diagnosis, healthy, measured)) return diagnosis;
  g_autoptr(GArray) suspects = orr_nccl_faults_suspects(site);
  g_autoptr(GPtrArray) curves = orr_nccl_diagnosis_replay(library, site->question, suspects, jobs);
  try_suspects(diagnosis, healthy, suspects, curves, measured);
  judge(diagnosis);
  return diagnosis;
}

/*
 * validate_pairs.c - finds pairs that differ in one axis, and asks for the bands of their ratios.
 */
#include "sim/validate/validate_bands.h"

const char *const orr_validate_pairs_axes[] = {
    "device", "stack",   "model", "format", "form",      "parallelism", "batch", "micro",
    "load",   "lengths", "size",  "method", "recompute", "sharding",    "other", NULL};

/* --- Axes --- */

/* An input of a likeness, of one kind of workload or of all (NULL). */
typedef struct {
  OrrPairAxis axis;
  const char *kind;
  size_t offset;
  gboolean is_text;
} Input;

#define TEXT(axis_, kind_, member_)                                                                \
  { ORR_AXIS_##axis_, kind_, offsetof(OrrLikenessRow, member_), TRUE }
#define NUMBER(axis_, kind_, member_)                                                              \
  { ORR_AXIS_##axis_, kind_, offsetof(OrrLikenessRow, member_), FALSE }

static const Input inputs[] = {
    TEXT(DEVICE, NULL, device),       TEXT(DEVICE, NULL, architecture),
    TEXT(DEVICE, NULL, cluster),      NUMBER(DEVICE, NULL, scale_up),
    TEXT(STACK, NULL, stack),         NUMBER(STACK, NULL, release),
    TEXT(STACK, "serving", method),   TEXT(MODEL, NULL, model),
    TEXT(MODEL, NULL, family),        NUMBER(MODEL, NULL, parameters),
    TEXT(FORMAT, NULL, format),       TEXT(FORM, NULL, form),
    NUMBER(PARALLELISM, NULL, gpus),  NUMBER(PARALLELISM, NULL, nodes),
    NUMBER(PARALLELISM, NULL, tp),    NUMBER(PARALLELISM, NULL, pp),
    NUMBER(PARALLELISM, NULL, dp),    NUMBER(PARALLELISM, NULL, cp),
    NUMBER(PARALLELISM, NULL, ep),    NUMBER(BATCH, "training", batch),
    NUMBER(MICRO, NULL, micro),       NUMBER(LOAD, NULL, load),
    TEXT(LOAD, NULL, arrivals),       NUMBER(LENGTHS, NULL, input),
    NUMBER(LENGTHS, NULL, output),    NUMBER(SIZE, NULL, size),
    TEXT(METHOD, "training", method), TEXT(RECOMPUTE, NULL, recompute),
    TEXT(SHARDING, NULL, sharding),   TEXT(PARALLELISM, NULL, transport),
};

/* Means over drawn lengths differ by less than this where their inputs are the same. */
#define SAME 1e-3

static gboolean differ(const Input *input, const OrrLikenessRow *a, const OrrLikenessRow *b) {
  const void *x = (const char *)a + input->offset, *y = (const char *)b + input->offset;
  if (input->is_text) return strcmp(*(char *const *)x, *(char *const *)y) != 0;
  const double p = *(const double *)x, q = *(const double *)y;
  if (isnan(p) || isnan(q)) return isnan(p) != isnan(q);
  return fabs(p - q) > SAME * fmax(fabs(p), fabs(q));
}

/* The axis of two rows; ORR_AXIS_OTHER: no input differs; ORR_AXES: several axes do. */
static OrrPairAxis axis_of(const OrrLikenessRow *a, const OrrLikenessRow *b) {
  OrrPairAxis axis = ORR_AXIS_OTHER;
  for (guint i = 0; i < G_N_ELEMENTS(inputs); i++) {
    const Input *input = &inputs[i];
    if ((input->kind && strcmp(input->kind, a->kind) != 0) || !differ(input, a, b)) continue;
    if (axis != ORR_AXIS_OTHER && axis != input->axis) return ORR_AXES;
    axis = input->axis;
  }
  return axis;
}

/* --- Pairs --- */

static double log_ratio(const OrrBandMetric *metric, double first, double second) {
  return metric->is_rate ? log(second / first) : log(first / second);
}

static gboolean make_pair(const OrrBandsCheck *first, const OrrBandsCheck *second,
                          OrrBandsPair *ret_pair) {
  if (first->residual == second->residual || first->metric != second->metric) return FALSE;
  const OrrPairAxis axis = axis_of(&first->residual->likeness, &second->residual->likeness);
  const OrrResidualAnswer *a = first->answer, *b = second->answer;
  if (axis == ORR_AXES || (axis == ORR_AXIS_OTHER && a->simulated == b->simulated)) return FALSE;
  *ret_pair = (OrrBandsPair){first,
                             second,
                             axis,
                             log_ratio(first->metric, a->measured, b->measured),
                             log_ratio(first->metric, a->simulated, b->simulated),
                             {NAN, NAN}};
  return TRUE;
}

/* All pairs among the checks from @begin to before @end. */
static GArray *pairs_of_set(const OrrValidateBands *bands, guint begin, guint end) {
  GArray *pairs = g_array_new(FALSE, FALSE, sizeof(OrrBandsPair));
  for (guint i = begin; i < end; i++)
    for (guint k = i + 1; k < end; k++) {
      OrrBandsPair pair;
      if (make_pair(&g_array_index(bands->checks, OrrBandsCheck, i),
                    &g_array_index(bands->checks, OrrBandsCheck, k), &pair))
        g_array_append_val(pairs, pair);
    }
  return pairs;
}

static void ask(const OrrValidateBands *bands, OrrBandsPair *pair) {
  const OrrBandsCheck *first = pair->first, *second = pair->second;
  const OrrBandQuestion question =
      orr_validate_bands_question(bands, first, orr_validate_bands_levels[0]);
  const OrrRatioBand band = orr_bands_ask_ratio(
      orr_validate_bands_of_kind(bands, first->residual->likeness.kind), &question,
      &second->residual->likeness, first->answer->simulated / second->answer->simulated);
  if (band.quality == ORR_BAND_NONE) return;
  const gboolean is_rate = first->metric->is_rate;
  pair->band.low = pair->log_simulated + (is_rate ? -log(band.high) : log(band.low));
  pair->band.high = pair->log_simulated + (is_rate ? -log(band.low) : log(band.high));
}

/* Asks for @most of @candidates, evenly spread. */
static void add_spread(const OrrValidateBands *bands, const GArray *candidates, guint most,
                       GArray *pairs) {
  const guint n = MIN(most, candidates->len);
  for (guint i = 0; i < n; i++) {
    const guint at = (guint)((guint64)i * candidates->len / n);
    OrrBandsPair pair = g_array_index(candidates, OrrBandsPair, at);
    ask(bands, &pair);
    g_array_append_val(pairs, pair);
  }
}

GArray *orr_validate_pairs_new(const OrrValidateBands *bands, guint most) {
  GArray *pairs = g_array_new(FALSE, FALSE, sizeof(OrrBandsPair));
  for (guint begin = 0, end; begin < bands->checks->len; begin = end) {
    const char *set = g_array_index(bands->checks, OrrBandsCheck, begin).residual->set;
    for (end = begin; end < bands->checks->len; end++)
      if (g_array_index(bands->checks, OrrBandsCheck, end).residual->set != set) break;
    g_autoptr(GArray) candidates = pairs_of_set(bands, begin, end);
    add_spread(bands, candidates, most, pairs);
  }
  return pairs;
}

/* --- Statistics --- */

static gboolean has_direction(double a, double b) { return (a > 0 && b > 0) || (a < 0 && b < 0); }

typedef struct {
  guint n_named, n_inside, n_decided, n_right, n_apart;
  double width, apart;
} Counts;

static void count_band(const OrrBandsPair *pair, Counts *counts) {
  const OrrBandsBounds band = pair->band, first = pair->first->bands[0],
                       second = pair->second->bands[0];
  const gboolean decided = band.low > 0 || band.high < 0;
  counts->n_inside += pair->log_measured >= band.low && pair->log_measured <= band.high;
  counts->n_decided += decided;
  counts->n_right += decided && has_direction(band.low + band.high, pair->log_measured);
  counts->width += band.high - band.low;
  if (isnan(first.low) || isnan(second.low)) return;
  counts->n_apart++;
  counts->apart += first.high - first.low + second.high - second.low;
}

static double over(double sum, guint n) { return n > 0 ? sum / n : NAN; }

static gboolean is_asked(const OrrBandsPair *pair, const char *set, OrrPairAxis axis,
                         const OrrCoverageGroup *group) {
  return (!set || strcmp(set, pair->first->residual->set) == 0) &&
         (axis == ORR_AXES || axis == pair->axis) &&
         (!group || (group->has(pair->first) && group->has(pair->second)));
}

OrrPairsSummary orr_validate_pairs_summary(const GArray *pairs, const char *set, OrrPairAxis axis,
                                           const OrrCoverageGroup *group) {
  const char *name = set                ? set
                     : axis != ORR_AXES ? orr_validate_pairs_axes[axis]
                     : group            ? group->name
                                        : "all";
  OrrPairsSummary summary = {.name = name};
  Counts counts = {0};
  ORR_EACH(const OrrBandsPair, pair, pairs) {
    if (!is_asked(pair, set, axis, group)) continue;
    summary.n_pairs++;
    counts.n_named += has_direction(pair->log_simulated, pair->log_measured);
    if (isnan(pair->band.low)) continue;
    summary.n_banded++;
    count_band(pair, &counts);
  }
  summary.named = over(counts.n_named, summary.n_pairs);
  summary.coverage = over(counts.n_inside, summary.n_banded);
  summary.decided = over(counts.n_decided, summary.n_pairs);
  summary.right = over(counts.n_right, counts.n_decided);
  summary.width = over(counts.width, summary.n_banded);
  summary.apart = over(counts.apart, counts.n_apart);
  return summary;
}

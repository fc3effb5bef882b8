/*
 * ratio.c - the band of the ratio of two answers, from measured pairs that differ in the same way.
 *
 * A pair is two rows of one validation set with the same measured result. The error of its ratio is
 * the difference of the rows' residuals: what both share (the machine, the software, our model of
 * them) cancels. Its distance to the question (x, y) is
 *
 *   d(a, x) + d(b, y) + d(a - b, x - y)
 *
 * so that a pair speaks most where its rows are like the two answers and differ in what these
 * differ in. Weights and bounds are as for single answers (band.c, conformal.h).
 */
#include "sim/bands/band_private.h"
#include "sim/bands/conformal.h"

/* Pairs whose third term is computed, and pairs that carry weight. */
#define MOST_CANDIDATES 3000
#define MOST_PAIRS 200
#define BANDWIDTH_PAIR 60
/* Distances of pair ORR_BAND_FEWEST up to which a band is good, and up to which there is one. Nine
 * in ten pairs of training whose own rows are left out have such a pair within 6, pairs of
 * collectives within 4. Nine in ten pairs whose set is left out have one within 26. */
#define GOOD_DISTANCE 5.0
#define WEAK_DISTANCE 26.0

/* A row that can be part of a pair: with rows of the same set and the same result. Both texts are
 * interned. */
typedef struct {
  guint row, answer;
  const char *set, *metric;
  double to_first, to_second; /* distances to x and to y */
  double log_error;
} Candidate;

typedef struct {
  double distance, log_error;
} Pair;

/* --- Candidates --- */

static GArray *find_candidates(const OrrBands *bands, const OrrBandQuestion *question,
                               OrrQuantity quantity, const OrrDistancePoint *x,
                               const OrrDistancePoint *y) {
  GArray *found = g_array_new(FALSE, FALSE, sizeof(Candidate));
  for (guint i = 0; i < bands->residuals->rows->len; i++) {
    const OrrResidual *residual = orr_band_residual(bands, i);
    Candidate one = {.row = i};
    double added;
    if (orr_band_is_left_out(question, residual) ||
        !orr_band_nearest_answer(bands, i, quantity, &one.answer, &added))
      continue;
    one.set = residual->set;
    one.metric = residual->answers[one.answer].metric;
    one.to_first = added + orr_distance(x, &bands->points[i]);
    one.to_second = added + orr_distance(y, &bands->points[i]);
    one.log_error = orr_band_log_error(bands, i, one.answer);
    g_array_append_val(found, one);
  }
  return found;
}

static gboolean can_pair(const Candidate *a, const Candidate *b) {
  return a->set == b->set && a->metric == b->metric;
}

/* Candidates that can pair are neighbours, in the order of their distance to y. */
static int compare_candidates(const void *a, const void *b) {
  const Candidate *p = a, *q = b;
  if (p->set != q->set) return p->set < q->set ? -1 : 1;
  if (p->metric != q->metric) return p->metric < q->metric ? -1 : 1;
  return (p->to_second > q->to_second) - (p->to_second < q->to_second);
}

/* --- The limit of the first two terms: a histogram finds it without sorting all pairs --- */

enum { N_BINS = 2048 };
#define BIN_WIDTH 0.05

static guint bin_of(double distance) {
  return distance < (N_BINS - 1) * BIN_WIDTH ? (guint)(distance / BIN_WIDTH) : N_BINS - 1;
}

typedef struct {
  const OrrBands *bands;
  const OrrDistancePoint *x, *y;
  guint *counts; /* pairs by bin */
  guint n, last; /* pairs up to the last bin that counts */
  GArray *pairs; /* of Pair */
} Search;

typedef void (*VisitPair)(Search *search, const Candidate *a, const Candidate *b, double distance);

/* Calls @visit for each ordered pair of @candidates, which are sorted, up to the last bin. */
static void visit_pairs(const GArray *candidates, VisitPair visit, Search *search) {
  const Candidate *all = (const Candidate *)(const void *)candidates->data;
  for (guint begin = 0, end; begin < candidates->len; begin = end) {
    for (end = begin; end < candidates->len && can_pair(&all[begin], &all[end]);) end++;
    for (guint i = begin; i < end; i++)
      for (guint k = begin; k < end; k++) {
        const double distance = all[i].to_first + all[k].to_second;
        if (bin_of(distance) > search->last) break;
        if (i != k) visit(search, &all[i], &all[k], distance);
      }
  }
}

/* Bins beyond the one in which MOST_CANDIDATES are passed no longer count. */
static void count_pair(Search *search, const Candidate *a, const Candidate *b, double distance) {
  search->counts[bin_of(distance)]++;
  for (search->n++; search->n - search->counts[search->last] > MOST_CANDIDATES; search->last--)
    search->n -= search->counts[search->last];
}

/* --- The nearest pairs --- */

static void add_pair(Search *search, const Candidate *a, const Candidate *b, double distance) {
  ORR_APPEND(
      search->pairs, Pair,
      {distance + orr_distance_of_changes(search->x, search->y, &search->bands->points[a->row],
                                          &search->bands->points[b->row]),
       a->log_error - b->log_error});
}

static int compare_pairs(const void *a, const void *b) {
  const Pair *p = a, *q = b;
  if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
  return (p->log_error > q->log_error) - (p->log_error < q->log_error);
}

static GArray *find_pairs(const OrrBands *bands, const OrrBandQuestion *question,
                          OrrQuantity quantity, const OrrLikenessRow *other) {
  const OrrDistancePoint x = orr_distance_point(question->likeness), y = orr_distance_point(other);
  g_autoptr(GArray) candidates = find_candidates(bands, question, quantity, &x, &y);
  g_autofree guint *counts = g_new0(guint, N_BINS);
  Search search = {bands, &x, &y, counts, 0, N_BINS - 1, g_array_new(FALSE, FALSE, sizeof(Pair))};
  g_array_sort(candidates, compare_candidates);
  visit_pairs(candidates, count_pair, &search);
  visit_pairs(candidates, add_pair, &search);
  g_array_sort(search.pairs, compare_pairs); /* qsort of no pairs would get NULL */
  if (search.pairs->len > MOST_PAIRS) g_array_set_size(search.pairs, MOST_PAIRS);
  return search.pairs;
}

/* --- The band --- */

static OrrConformalRow *weighted_rows(const GArray *pairs) {
  OrrConformalRow *rows = g_new(OrrConformalRow, pairs->len + 1);
  const guint at = MIN(BANDWIDTH_PAIR, pairs->len - 1);
  const double bandwidth = g_array_index(pairs, Pair, at).distance + ORR_BAND_LEAST;
  const double nearest = g_array_index(pairs, Pair, 0).distance;
  ORR_EACH_AT(i, const Pair, pair, pairs) {
    rows[i] =
        (OrrConformalRow){pair->log_error, orr_band_weight(pair->distance, nearest, bandwidth)};
  }
  return rows;
}

/* The weight of pairs whose error leaves the sign of @log_ratio, with one more at infinity that
 * does not. */
static double sure_of(const OrrConformalRow *rows, guint n, double log_ratio) {
  double sum = 1, kept = 0;
  for (guint i = 0; i < n; i++) {
    sum += rows[i].weight;
    if ((log_ratio + rows[i].value) * log_ratio > 0) kept += rows[i].weight;
  }
  return kept / sum;
}

/* How much wider the bounds are than the nearest pairs give, where pair ORR_BAND_FEWEST is at
 * @distance; as for single answers (band.c). Set so that about 80 % of the ratios lie inside with
 * their set left out: training's layouts and collectives that leave NVLink differ more than their
 * nearest pairs do. */
static double widening(const OrrLikenessRow *asked, double distance) {
  const gboolean is_training = g_str_equal(asked->kind, "training"),
                 leaves_nvlink = g_str_equal(asked->kind, "collectives") &&
                                 (asked->nodes > 1 || asked->scale_up <= 1);
  return (0.9 + 0.1 * CLAMP(distance - 2, 0, 4) + 0.03 * fmax(distance - 10, 0)) *
         (is_training     ? 1.2
          : leaves_nvlink ? 1.4
                          : 1);
}

#define LARGEST_LOG 690 /* exp() of it, and of less, is a number */

static OrrRatioBand no_ratio(double level, const char *reason) {
  return (OrrRatioBand){.low = NAN, .high = NAN, .level = level, .sure = NAN, .reason = reason};
}

/* Far pairs give wide bounds. The ratio also lies where the two answers' own bands allow it; they
 * are asked where that can decide which answer is larger. */
static void cut_to_bands(const OrrBands *bands, const OrrBandQuestion *question,
                         const OrrLikenessRow *other, double ratio, OrrRatioBand *band) {
  if (band->quality != ORR_BAND_WEAK || band->low * ratio > 1 || band->high * ratio < 1) return;
  OrrBandQuestion second = *question;
  second.likeness = other;
  const OrrBand a = orr_bands_ask(bands, question, NULL), b = orr_bands_ask(bands, &second, NULL);
  if (a.quality == ORR_BAND_NONE || b.quality == ORR_BAND_NONE) return;
  const double low = fmax(band->low, a.low / b.high), high = fmin(band->high, a.high / b.low);
  if (low >= high) return;
  band->low = low;
  band->high = high;
}

OrrRatioBand orr_bands_ask_ratio(const OrrBands *bands, const OrrBandQuestion *question,
                                 const OrrLikenessRow *other, double ratio) {
  const OrrBandMetric *metric = orr_band_metrics_find(question->likeness->kind, question->metric);
  if (!metric || !(ratio > 0))
    return no_ratio(question->level, "no measurement of this result is known");
  if (orr_band_follows_load(metric, question->likeness) || orr_band_follows_load(metric, other))
    return no_ratio(question->level, orr_band_follows);
  g_autoptr(GArray) pairs = find_pairs(bands, question, metric->quantity, other);
  if (pairs->len < ORR_BAND_FEWEST ||
      g_array_index(pairs, Pair, ORR_BAND_FEWEST - 1).distance > WEAK_DISTANCE)
    return no_ratio(question->level, "no measured pair differs in this way");
  const double distance = g_array_index(pairs, Pair, ORR_BAND_FEWEST - 1).distance;
  const gboolean is_good = distance <= GOOD_DISTANCE;
  g_autofree OrrConformalRow *rows = weighted_rows(pairs);
  double low, high, least, most;
  orr_conformal_bounds(rows, pairs->len, question->level, &low, &high);
  orr_conformal_bounds(rows, pairs->len, 0, &most, &least);
  const double middle = (least + most) / 2, wider = widening(question->likeness, distance);
  if (!isfinite(low) || !isfinite(high))
    return no_ratio(question->level, "too few measured pairs for this level");
  low = middle + wider * (low - middle);
  high = middle + wider * (high - middle);
  if (!(low > -LARGEST_LOG) || !(high < LARGEST_LOG))
    return no_ratio(question->level, "measured pairs differ beyond all bounds");
  const double log_ratio = metric->is_rate ? -log(ratio) : log(ratio);
  OrrRatioBand band = {.quality = is_good ? ORR_BAND_GOOD : ORR_BAND_WEAK,
                       .low = metric->is_rate ? exp(-high) : exp(low),
                       .high = metric->is_rate ? exp(-low) : exp(high),
                       .level = question->level,
                       .n_pairs = pairs->len,
                       .sure = sure_of(rows, pairs->len, log_ratio),
                       .reason =
                           is_good ? "" : "the nearest measured pairs differ in other ways too"};
  cut_to_bands(bands, question, other, ratio, &band);
  return band;
}

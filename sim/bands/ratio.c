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

/* A row that can be part of a pair. */
typedef struct {
  guint row, answer;
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
    one.to_first = added + orr_distance(x, &bands->points[i]);
    one.to_second = added + orr_distance(y, &bands->points[i]);
    one.log_error = orr_band_log_error(bands, i, one.answer);
    g_array_append_val(found, one);
  }
  return found;
}

/* Calls @visit for each ordered pair of candidates of one set and one result. Rows are ordered by
 * set. */
typedef void (*VisitPair)(const Candidate *a, const Candidate *b, void *user);

static void visit_pairs(const OrrBands *bands, const GArray *candidates, VisitPair visit,
                        void *user) {
  ORR_EACH_AT(i, const Candidate, a, candidates) {
    const OrrResidual *first = orr_band_residual(bands, a->row);
    for (guint k = i + 1; k < candidates->len; k++) {
      const Candidate *b = &g_array_index(candidates, Candidate, k);
      const OrrResidual *second = orr_band_residual(bands, b->row);
      if (second->set != first->set) break;
      if (first->answers[a->answer].metric != second->answers[b->answer].metric) continue;
      visit(a, b, user);
      visit(b, a, user);
    }
  }
}

/* --- The limit of the first two terms: a histogram finds it without sorting all pairs --- */

enum { N_BINS = 2048 };
#define BIN_WIDTH 0.05

static guint bin_of(double distance) { return (guint)fmin(distance / BIN_WIDTH, N_BINS - 1); }

static void count_pair(const Candidate *a, const Candidate *b, void *user) {
  ((guint *)user)[bin_of(a->to_first + b->to_second)]++;
}

static guint last_bin(const OrrBands *bands, const GArray *candidates) {
  g_autofree guint *counts = g_new0(guint, N_BINS);
  guint sum = 0, bin = 0;
  visit_pairs(bands, candidates, count_pair, counts);
  for (; bin < N_BINS - 1 && sum + counts[bin] <= MOST_CANDIDATES; bin++) sum += counts[bin];
  return bin;
}

/* --- The nearest pairs --- */

typedef struct {
  const OrrBands *bands;
  const OrrDistancePoint *x, *y;
  guint last_bin;
  GArray *pairs; /* of Pair */
} Search;

static void add_pair(const Candidate *a, const Candidate *b, void *user) {
  const Search *search = user;
  const double near = a->to_first + b->to_second;
  if (bin_of(near) > search->last_bin) return;
  ORR_APPEND(search->pairs, Pair,
             {near + orr_distance_of_changes(search->x, search->y, &search->bands->points[a->row],
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
  Search search = {bands, &x, &y, last_bin(bands, candidates),
                   g_array_new(FALSE, FALSE, sizeof(Pair))};
  visit_pairs(bands, candidates, add_pair, &search);
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

OrrRatioBand orr_bands_ask_ratio(const OrrBands *bands, const OrrBandQuestion *question,
                                 const OrrLikenessRow *other, double ratio) {
  const OrrBandMetric *metric = orr_band_metrics_find(question->likeness->kind, question->metric);
  if (!metric || !(ratio > 0))
    return no_ratio(question->level, "no measurement of this result is known");
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
  return (OrrRatioBand){.quality = is_good ? ORR_BAND_GOOD : ORR_BAND_WEAK,
                        .low = metric->is_rate ? exp(-high) : exp(low),
                        .high = metric->is_rate ? exp(-low) : exp(high),
                        .level = question->level,
                        .n_pairs = pairs->len,
                        .sure = sure_of(rows, pairs->len, log_ratio),
                        .reason =
                            is_good ? "" : "the nearest measured pairs differ in other ways too"};
}

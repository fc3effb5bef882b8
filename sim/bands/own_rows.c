/*
 * own_rows.c - kriging with the user's own rows, and which rows would narrow a band most.
 */
#include "sim/bands/own_rows.h"

#include "sim/bands/band_private.h"

/* Of rows of one campaign at distance 0, and the distance over which it falls to 1 / e. With the
 * two nearest rows of their own campaign shown, and their sets left out, bands of 80 % then hold 80
 * to 90 % at 0.45 to 0.6 of their width; with two rows chosen at random 75 to 88 %. */
#define SAME_CORRELATION 0.85
#define DECAY 3.0
/* Rows that speak for one answer, nearest first. */
#define MOST_OWN 40
/* The width below which a weak band becomes good. */
#define GOOD_WIDTH (2.0 / 3)

struct OrrOwnRows {
  const OrrBands *bands;
  const OrrResiduals *rows;
  OrrDistancePoint *points; /* of each row */
};

OrrOwnRows *orr_own_rows_new(const OrrBands *bands, const OrrResiduals *rows) {
  OrrOwnRows *own = g_new0(OrrOwnRows, 1);
  own->bands = bands;
  own->rows = rows;
  own->points = g_new0(OrrDistancePoint, rows->rows->len + 1);
  for (guint i = 0; i < rows->rows->len; i++)
    own->points[i] = orr_distance_point(&g_array_index(rows->rows, OrrResidual, i).likeness);
  return own;
}

void orr_own_rows_free(OrrOwnRows *own) {
  if (!own) return;
  ORR_FREE(own->points, own);
}

/* --- Kriging --- */

static double correlation(double distance) { return SAME_CORRELATION * exp(-distance / DECAY); }

/* Rows measured at some points; @z NULL: only the variance is asked for. */
typedef struct {
  guint n;
  const OrrDistancePoint *points;
  const double *z;
} Measured;

/* Solves R x = @right in place of both, by Cholesky; R is symmetric and positive, since diagonals
 * are 1 and other members at most SAME_CORRELATION. */
static void solve(double *matrix, double *right, guint n) {
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k <= i; k++) {
      double sum = matrix[i * n + k];
      for (guint j = 0; j < k; j++) sum -= matrix[i * n + j] * matrix[k * n + j];
      matrix[i * n + k] = i == k ? sqrt(fmax(sum, 1e-9)) : sum / matrix[k * n + k];
    }
  for (guint i = 0; i < n; i++) {
    for (guint j = 0; j < i; j++) right[i] -= matrix[i * n + j] * right[j];
    right[i] /= matrix[i * n + i];
  }
  for (guint i = n; i-- > 0;) {
    for (guint j = i + 1; j < n; j++) right[i] -= matrix[j * n + i] * right[j];
    right[i] /= matrix[i * n + i];
  }
}

/* L of @matrix = L L', as solve leaves it: @z' R^-1 @z = |L^-1 @z|^2. */
static double square(const double *matrix, const double *z, guint n) {
  g_autofree double *x = g_new(double, n + 1);
  double sum = 0;
  for (guint i = 0; i < n; i++) {
    x[i] = z[i];
    for (guint j = 0; j < i; j++) x[i] -= matrix[i * n + j] * x[j];
    x[i] /= matrix[i * n + i];
    sum += x[i] * x[i];
  }
  return sum;
}

/* The variance of the z of @asked over what it is without rows, and *@ret_mean, its mean. Rows that
 * lie further from their bands' middles than the bounds, in the mean, widen it by as much: the
 * bands were too narrow for this machine (Birge 1932, Physical Review 40). */
static double krige(const OrrDistancePoint *asked, const Measured *rows, double *ret_mean) {
  const guint n = rows->n;
  g_autofree double *matrix = g_new(double, (gsize)n *n + 1), *weights = g_new(double, n + 1),
                    *with = g_new(double, n + 1);
  double variance = 1, mean = 0;
  for (guint i = 0; i < n; i++) {
    weights[i] = with[i] = correlation(orr_distance(asked, &rows->points[i]));
    for (guint k = 0; k < n; k++)
      matrix[i * n + k] =
          i == k ? 1 : correlation(orr_distance(&rows->points[i], &rows->points[k]));
  }
  solve(matrix, weights, n);
  for (guint i = 0; i < n; i++) {
    variance -= weights[i] * with[i];
    mean += rows->z ? weights[i] * rows->z[i] : 0;
  }
  if (ret_mean) *ret_mean = mean;
  const double scatter = rows->z && n > 0 ? square(matrix, rows->z, n) / n : 0;
  return CLAMP(variance, 0.01, 1) * fmax(scatter, 1);
}

double orr_own_rows_width(const OrrLikenessRow *asked, const OrrLikenessRow *rows, guint n) {
  const OrrDistancePoint point = orr_distance_point(asked);
  g_autofree OrrDistancePoint *points = g_new(OrrDistancePoint, n + 1);
  for (guint i = 0; i < n; i++) points[i] = orr_distance_point(&rows[i]);
  return sqrt(krige(&point, &(Measured){n, points, NULL}, NULL));
}

/* --- Own rows --- */

/* The band of a time: of a rate, inverted. */
static OrrBand as_time(const OrrBandMetric *metric, OrrBand band) {
  if (metric->is_rate) orr_band_invert(&band);
  return band;
}

static double half_width(const OrrBand *band) { return log(band->high / band->low) / 2; }

/* The z of @answer of @residual, where the rows speak that speak for @of; FALSE: no band. */
static gboolean z_of(const OrrOwnRows *own, const OrrResidual *residual,
                     const OrrResidualAnswer *answer, const OrrBandQuestion *of, double *ret_z) {
  const OrrBandMetric *metric = orr_band_metrics_find(residual->likeness.kind, answer->metric);
  OrrBandQuestion question = *of;
  question.likeness = &residual->likeness;
  question.metric = answer->metric;
  const OrrBand asked = orr_bands_ask(own->bands, &question, NULL);
  if (asked.quality == ORR_BAND_NONE) return FALSE;
  const OrrBand band = as_time(metric, asked);
  const double error = log(answer->measured / answer->simulated);
  *ret_z = ((metric->is_rate ? -error : error) - log(band.middle)) / fmax(half_width(&band), 0.005);
  return TRUE;
}

typedef struct {
  double distance;
  guint row;
} OwnNear;

static int compare_near(const void *a, const void *b) {
  const OwnNear *p = a, *q = b;
  if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
  return (p->row > q->row) - (p->row < q->row);
}

/* The answer of @residual of @quantity; NULL: none. */
static const OrrResidualAnswer *answer_of(const OrrResidual *residual, OrrQuantity quantity) {
  for (guint i = 0; i < residual->n_answers; i++) {
    const OrrBandMetric *metric =
        orr_band_metrics_find(residual->likeness.kind, residual->answers[i].metric);
    if (metric && metric->quantity == quantity) return &residual->answers[i];
  }
  return NULL;
}

/* The own rows of @quantity, nearest first. Of OwnNear. */
static GArray *near_rows(const OrrOwnRows *own, const OrrDistancePoint *asked,
                         const OrrLikenessRow *likeness, OrrQuantity quantity) {
  GArray *near = g_array_new(FALSE, FALSE, sizeof(OwnNear));
  ORR_EACH_AT(i, const OrrResidual, one, own->rows->rows) {
    const OwnNear row = {orr_distance(asked, &own->points[i]), i};
    if (g_str_equal(one->likeness.kind, likeness->kind) && answer_of(one, quantity))
      g_array_append_val(near, row);
  }
  g_array_sort(near, compare_near);
  return near;
}

static void move(OrrBand *band, const OrrBandMetric *metric, double mean, double width) {
  OrrBand time = as_time(metric, *band);
  const double half = half_width(&time), old = log(time.middle), middle = old + mean * half;
  const double low = log(time.low), high = log(time.high);
  time.low = exp(middle + width * (low - old));
  time.high = exp(middle + width * (high - old));
  time.middle = exp(middle);
  time.bias = exp(-middle) - 1;
  time.sided = fabs(middle) > width * half / 2 ? 1 : 0.5;
  if (width <= GOOD_WIDTH) {
    time.quality = ORR_BAND_GOOD;
    time.reason = "";
  }
  *band = as_time(metric, time);
}

guint orr_own_rows_narrow(const OrrOwnRows *own, const OrrBandQuestion *question, OrrBand *band) {
  const OrrBandMetric *metric = orr_band_metrics_find(question->likeness->kind, question->metric);
  if (!metric || band->quality == ORR_BAND_NONE || !(half_width(band) > 0)) return 0;
  const OrrDistancePoint asked = orr_distance_point(question->likeness);
  g_autoptr(GArray) near = near_rows(own, &asked, question->likeness, metric->quantity);
  OrrDistancePoint points[MOST_OWN];
  double z[MOST_OWN], mean = 0;
  guint n = 0;
  for (guint i = 0; i < near->len && n < MOST_OWN; i++) {
    const guint row = g_array_index(near, OwnNear, i).row;
    const OrrResidual *residual = &g_array_index(own->rows->rows, OrrResidual, row);
    if (!z_of(own, residual, answer_of(residual, metric->quantity), question, &z[n])) continue;
    points[n++] = own->points[row];
  }
  if (n == 0) return 0;
  const double width = sqrt(krige(&asked, &(Measured){n, points, z}, &mean));
  move(band, metric, mean, width);
  band->n_rows += n;
  return n;
}

/* --- What to measure --- */

/* Two rows that differ from the question by factors of one size, or in a text. */
typedef struct {
  const char *kind, *text;
  size_t size, other; /* offsets of numbers that the factors change; 0: none */
  double low, high;
  gboolean is_other_model, is_one_node;
} Plan;

#define AT(member_) offsetof(OrrLikenessRow, member_)

static const Plan plans[] = {
    {"training", "2 steps of this very run, on two days", 0, 0, 1, 1, FALSE, FALSE},
    {"training", "2 steps at half and twice the batch", AT(batch), 0, 0.5, 2, FALSE, FALSE},
    {"training", "2 steps at half and twice the sequence", AT(input), 0, 0.5, 2, FALSE, FALSE},
    {"training", "2 steps of models half and twice as large", AT(parameters), 0, 0.5, 2, TRUE,
     FALSE},
    {"training", "2 steps on one node", 0, 0, 1, 1, FALSE, TRUE},
    {"serving", "2 runs of this very load, on two days", 0, 0, 1, 1, FALSE, FALSE},
    {"serving", "2 runs at half and twice the load", AT(load), AT(batch), 0.5, 2, FALSE, FALSE},
    {"serving", "2 runs with prompts half and twice as long", AT(input), 0, 0.5, 2, FALSE, FALSE},
    {"serving", "2 runs of models half and twice as large", AT(parameters), 0, 0.5, 2, TRUE, FALSE},
    {"diffusion", "2 batches of this very run, on two days", 0, 0, 1, 1, FALSE, FALSE},
    {"diffusion", "2 batches of half and twice the size", AT(batch), 0, 0.5, 2, FALSE, FALSE},
    {"diffusion", "2 batches with half and twice the tokens", AT(input), 0, 0.5, 2, FALSE, FALSE},
    {"collectives", "2 nccl-tests rows of this size, on two days", 0, 0, 1, 1, FALSE, FALSE},
    {"collectives", "2 nccl-tests rows at 1/16 and 16 times this size", AT(size), 0, 0.0625, 16,
     FALSE, FALSE},
    {"collectives", "2 nccl-tests rows on one node", 0, 0, 1, 1, FALSE, TRUE},
};

static OrrLikenessRow scaled(const OrrLikenessRow *asked, const Plan *plan, double factor) {
  OrrLikenessRow row = *asked;
  if (plan->size > 0) *(double *)(void *)((char *)&row + plan->size) *= factor;
  if (plan->other > 0) *(double *)(void *)((char *)&row + plan->other) *= factor;
  if (plan->is_other_model) row.model = (char *)g_intern_static_string("another model");
  if (plan->is_one_node) {
    row.gpus /= row.nodes;
    row.nodes = 1;
  }
  return row;
}

static int compare_advice(const void *a, const void *b) {
  const OrrOwnAdvice *p = a, *q = b;
  return (p->width > q->width) - (p->width < q->width);
}

gboolean orr_own_rows_is_tested(const char *kind) {
  for (guint i = 0; i < G_N_ELEMENTS(plans); i++)
    if (g_str_equal(plans[i].kind, kind)) return TRUE;
  return FALSE;
}

GArray *orr_own_rows_advice(const OrrLikenessRow *asked) {
  GArray *advice = g_array_new(FALSE, FALSE, sizeof(OrrOwnAdvice));
  for (guint i = 0; i < G_N_ELEMENTS(plans); i++) {
    const Plan *plan = &plans[i];
    if (!g_str_equal(plan->kind, asked->kind) || (plan->is_one_node && !(asked->nodes > 1)))
      continue;
    const OrrLikenessRow rows[] = {scaled(asked, plan, plan->low), scaled(asked, plan, plan->high)};
    ORR_APPEND(advice, OrrOwnAdvice,
               {plan->text, orr_own_rows_width(asked, rows, G_N_ELEMENTS(rows))});
  }
  g_array_sort(advice, compare_advice);
  return advice;
}

/*
 * band.c - asks the residuals for the band of one answer.
 *
 *   1. The distance of every measured row of the same quantity to the question.
 *   2. The nearest ones, with weights that fall with the distance over a bandwidth: the distance of
 *   row ORR_BAND_NEAREST.
 *   3. Bounds at the level from their residuals log(measured / simulated) (conformal.h), widened
 *      with the distance of the rows and for what hardly any of them has (band_unseen.c).
 *   4. The quality, from what the rows share with the question, and from how many campaigns they
 *      are.
 *   5. Where all rows are too far for that: bounds from all rows of the quantity (band_far.c).
 *
 * A campaign is one validation set, software and device: its rows share whatever was special about
 * that machine on that day, so rows of one campaign speak only for questions that are near it.
 */
#include "sim/bands/band_private.h"
#include "sim/bands/conformal.h"

const char *const orr_band_quality_words[] = {"none", "weak", "good", NULL};

/* Rows that carry weight, at most; campaigns that a question far from all rows needs. */
#define MOST_ROWS 160
#define FEWEST_CAMPAIGNS 3
/* The distance of row ORR_BAND_FEWEST up to which near rows make a band. By tests/bands/fit.py
 * bounds are about wide enough up to 4 or 6. From 8 to 10 serving's would have to be twice as wide,
 * and further off three times. */
#define WEAK_DISTANCE 9.0
/* Fraction of the time to the first token from which on the engines, not the load, decide what is
 * served. Where an engine keeps up, a request waits for the step that runs, and its own is as long:
 * about a half. Two steps of waiting for one of work are a queue. */
#define MUCH_WAITING (2 / 3.0)

/* --- Life --- */

static char *stale_text(gint64 revision) {
  g_autofree char *old =
      revision > 0 ? g_strdup_printf("revision %ld", revision) : g_strdup("an unknown revision");
  return g_strdup_printf("error bands are stale: their measured rows were simulated with %s of the "
                         "model, this is revision %d; `make residuals` simulates them anew",
                         old, ORR_MODEL_REVISION);
}

/* The metrics of the answers of row @row; most often the row above has the same. */
static void find_metrics(OrrBands *bands, guint row) {
  const OrrResidual *residual = orr_band_residual(bands, row);
  const OrrResidual *above = row > 0 ? orr_band_residual(bands, row - 1) : NULL;
  for (guint i = 0; i < residual->n_answers; i++) {
    const char *name = residual->answers[i].metric;
    const gboolean is_same = above && above->likeness.kind == residual->likeness.kind &&
                             i < above->n_answers && above->answers[i].metric == name;
    bands->metrics[row][i] =
        is_same ? bands->metrics[row - 1][i] : orr_band_metrics_find(residual->likeness.kind, name);
  }
}

OrrBands *orr_bands_of(const OrrResiduals *residuals) {
  OrrBands *bands = g_new0(OrrBands, 1);
  const guint n = residuals->rows->len;
  bands->residuals = residuals;
  bands->points = g_new0(OrrDistancePoint, n + 1);
  bands->metrics = g_malloc0((n + 1) * sizeof *bands->metrics);
  for (guint i = 0; i < n; i++) {
    bands->points[i] = orr_distance_point(&orr_band_residual(bands, i)->likeness);
    find_metrics(bands, i);
  }
  bands->shared = orr_distance_shared(bands->points, n);
  if (residuals->rows->len > 0 && residuals->revision != ORR_MODEL_REVISION)
    bands->stale = stale_text(residuals->revision);
  return bands;
}

OrrBands *orr_bands_new(OrrLibrary *library, const char *kind, GError **error) {
  OrrResiduals *residuals = orr_residuals_for(library, kind, error);
  if (!residuals) return NULL;
  OrrBands *bands = orr_bands_of(residuals);
  bands->own = residuals;
  return bands;
}

void orr_bands_free(OrrBands *bands) {
  if (!bands) return;
  orr_residuals_free(bands->own);
  g_free(bands->points);
  g_free(bands->metrics);
  g_free(bands->stale);
  g_free(bands);
}

const char *orr_bands_stale(const OrrBands *bands) { return bands->stale; }

/* --- The nearest measured rows --- */

gboolean orr_band_is_left_out(const OrrBandQuestion *question, const OrrResidual *residual) {
  if (question->without_trait > 0)
    return orr_band_shares_text(question->likeness, &residual->likeness, question->without_trait);
  return question->without_set && question->without_set == residual->set &&
         (question->without_row == 0 || question->without_row == residual->row);
}

gboolean orr_band_nearest_answer(const OrrBands *bands, guint row, OrrQuantity quantity,
                                 guint *ret_answer, double *ret_added) {
  const guint n_answers = orr_band_residual(bands, row)->n_answers;
  *ret_added = INFINITY;
  for (guint i = 0; i < n_answers; i++) {
    const OrrBandMetric *metric = bands->metrics[row][i];
    const double added = metric ? orr_distance_of_quantities(quantity, metric->quantity) : INFINITY;
    if (added >= *ret_added) continue;
    *ret_added = added;
    *ret_answer = i;
  }
  return isfinite(*ret_added);
}

/* How many rows of @nearest, which is sorted, lie at @distance or less. */
static guint count_within(const GArray *nearest, double distance) {
  guint low = 0, high = nearest->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (g_array_index(nearest, OrrBandNear, middle).distance > distance)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The distance that a row must not pass to be among the nearest; a little more, for rounding. */
static double limit_of(const GArray *nearest) {
  return nearest->len < MOST_ROWS
             ? INFINITY
             : g_array_index(nearest, OrrBandNear, MOST_ROWS - 1).distance + 1e-9;
}

/* Puts @one into @nearest, which is sorted and holds MOST_ROWS at most; of equal distances the
 * first row comes first. Few rows get far: this is faster than sorting them all. */
static void put_near(GArray *nearest, const OrrBandNear *one) {
  const guint i = count_within(nearest, one->distance);
  if (i == MOST_ROWS) return;
  if (nearest->len == MOST_ROWS) g_array_set_size(nearest, MOST_ROWS - 1);
  g_array_insert_vals(nearest, i, one, 1);
}

/* The nearest measured answers, MOST_ROWS at most, nearest first. */
static GArray *find_near(const OrrBands *bands, const OrrBandQuestion *question,
                         OrrQuantity quantity) {
  GArray *nearest = g_array_sized_new(FALSE, FALSE, sizeof(OrrBandNear), MOST_ROWS);
  OrrDistancePoint asked = orr_distance_point_for(question->likeness, quantity);
  orr_distance_skip_shared(&asked, bands->points, bands->shared);
  for (guint i = 0; i < bands->residuals->rows->len; i++) {
    OrrBandNear near = {.row = i};
    double added;
    if (orr_band_is_left_out(question, orr_band_residual(bands, i)) ||
        !orr_band_nearest_answer(bands, i, quantity, &near.answer, &added))
      continue;
    near.distance =
        added + orr_distance_within(&asked, &bands->points[i], limit_of(nearest) - added);
    if (isfinite(near.distance)) put_near(nearest, &near);
  }
  return nearest;
}

double orr_band_weight(double distance, double nearest, double bandwidth) {
  const double scaled = distance / bandwidth, least = nearest / bandwidth;
  return exp(-1.5 * (scaled * scaled - least * least));
}

static void weigh(GArray *near) {
  if (near->len == 0) return;
  const double bandwidth =
      g_array_index(near, OrrBandNear, MIN(ORR_BAND_NEAREST, near->len - 1)).distance +
      ORR_BAND_LEAST;
  const double nearest = g_array_index(near, OrrBandNear, 0).distance;
  for (guint i = 0; i < near->len; i++) {
    OrrBandNear *one = &g_array_index(near, OrrBandNear, i);
    one->weight = orr_band_weight(one->distance, nearest, bandwidth);
  }
}

/* --- Quality --- */

static guint count_campaigns(const OrrBands *bands, const GArray *near) {
  guint n = 0;
  for (guint i = 0; i < near->len; i++) {
    const OrrResidual *one = orr_band_residual(bands, g_array_index(near, OrrBandNear, i).row);
    gboolean is_new = TRUE;
    for (guint k = 0; k < i && is_new; k++)
      is_new = !orr_band_is_same_campaign(
          one, orr_band_residual(bands, g_array_index(near, OrrBandNear, k).row));
    n += is_new;
  }
  return n;
}

/* Whether the nearest rows make a band. */
static gboolean are_near(const OrrBands *bands, const GArray *near) {
  const double distance = orr_band_distance(near); /* INFINITY for too few rows */
  return distance <= ORR_BAND_GOOD_DISTANCE ||
         (distance <= WEAK_DISTANCE && count_campaigns(bands, near) >= FEWEST_CAMPAIGNS);
}

/* The first extra of the question that no row among @near has; "" for none. */
static const char *missing_extra(const OrrBands *bands, const GArray *near,
                                 const OrrLikenessRow *asked) {
  guint32 missing = orr_extras_bits(asked->extras);
  for (guint i = 0; i < near->len; i++)
    missing &= ~bands->points[g_array_index(near, OrrBandNear, i).row].extras;
  return orr_extras_name(missing);
}

/* Properties that a measured run can share with the question, the most important first. */
static const struct {
  size_t offset;
  const char *what;
} traits[] = {{offsetof(OrrLikenessRow, kind), "of such work"}, /* watts of other work may speak */
              {offsetof(OrrLikenessRow, device), "on this device"},
              {offsetof(OrrLikenessRow, stack), "of this software"},
              {offsetof(OrrLikenessRow, family), "of such a model"},
              {offsetof(OrrLikenessRow, format), "in this number format"},
              {offsetof(OrrLikenessRow, form), "of this form"}};

static gboolean shares(const OrrLikenessRow *a, const OrrLikenessRow *b, guint trait) {
  return orr_band_shares_text(a, b, traits[trait].offset);
}

/* Whether a row among @near shares both traits with @asked. */
static gboolean any_shares(const OrrBands *bands, const GArray *near, const OrrLikenessRow *asked,
                           guint one, guint other) {
  for (guint i = 0; i < near->len; i++) {
    const OrrLikenessRow *row =
        &orr_band_residual(bands, g_array_index(near, OrrBandNear, i).row)->likeness;
    if (shares(asked, row, one) && shares(asked, row, other)) return TRUE;
  }
  return FALSE;
}

/* The trait, or the two traits, that no row among @near shares with the question; else @few. */
static const char *difference(const OrrBands *bands, const GArray *near,
                              const OrrLikenessRow *asked, const char *few) {
  const char *extra = missing_extra(bands, near, asked);
  if (*extra) {
    g_autofree char *text = g_strconcat("no measured run with ", extra, NULL);
    return g_intern_string(text);
  }
  for (guint i = 0; i < G_N_ELEMENTS(traits); i++) {
    if (any_shares(bands, near, asked, i, i)) continue;
    g_autofree char *text = g_strconcat("no measured run ", traits[i].what, NULL);
    return g_intern_string(text);
  }
  for (guint i = 0; i < G_N_ELEMENTS(traits); i++)
    for (guint k = i + 1; k < G_N_ELEMENTS(traits); k++) {
      if (any_shares(bands, near, asked, i, k)) continue;
      const gboolean is_device = traits[i].offset == offsetof(OrrLikenessRow, device);
      g_autofree char *text = g_strconcat("no measured run ", traits[is_device ? k : i].what, " ",
                                          traits[is_device ? i : k].what, NULL); /* device last */
      return g_intern_string(text);
    }
  return few;
}

/* The first constant of the question's software that rows of other models alone determined, as a
 * reason; interned; NULL: there is none. Where rows of the model are left out, so is what they
 * determined. */
static const char *fitted_elsewhere(const OrrBandQuestion *question) {
  const char *model = question->likeness->model;
  const gboolean is_left_out = question->without_trait == offsetof(OrrLikenessRow, model);
  g_auto(GStrv) all = g_strsplit(question->likeness->fitted, "+", -1);
  for (char **one = all; *one; one++) {
    g_auto(GStrv) words = g_strsplit(*one, " of ", 2); /* the setting, the models */
    if (!words[0] || !words[1]) continue;
    g_auto(GStrv) models = g_strsplit(words[1], "/", -1);
    if (!is_left_out && g_strv_contains((const char *const *)models, model)) continue;
    g_autofree char *known = g_strjoinv(", ", models);
    g_autofree char *text = g_strdup_printf("%s was fitted to %s alone", words[0], known);
    return g_intern_string(text);
  }
  return NULL;
}

/* --- Bounds --- */

double orr_band_log_error(const OrrBands *bands, guint row, guint answer) {
  const OrrResidualAnswer *one = &orr_band_residual(bands, row)->answers[answer];
  const double log_ratio = log(one->measured / one->simulated);
  return bands->metrics[row][answer]->is_rate ? -log_ratio : log_ratio;
}

/* How far bounds lie from the middle, over what the rows give: at the band's level, and at
 * SHAPED_LEVEL; and the campaigns that the rows are worth. */
typedef struct {
  double factor, shaped_factor, n_campaigns;
} Widening;

/* Below this level few campaigns do not say where half of the measurements lie: their own errors
 * gather where those campaigns happen to. */
#define SHAPED_LEVEL 0.8

/* How much wider the bounds are than the nearest rows give, where row ORR_BAND_FEWEST is at
 * @distance. Residuals of rows near each other are alike, and become less so with distance: so the
 * bounds from near rows are too wide, and those from far rows too narrow. The slopes were
 * drawn through the factors that tests/bands/fit.py prints, then set so that bounds cover about as
 * many measurements as their level says, with one row and with its whole set left out (`orrery
 * validate --bands`): on the same rows, so that rows held back are the better test. */
static double widening_of(const char *kind, double distance) {
  static const struct {
    const char *kind;
    double slope;
  } far[] = {{"training", 0.02}, {"serving", 0.05}, {"collectives", 0.4}};
  double factor = 0.82 + 0.06 * CLAMP(distance - 2, 0, 2);
  for (guint i = 0; i < G_N_ELEMENTS(far); i++)
    if (g_str_equal(kind, far[i].kind)) factor += far[i].slope * fmax(distance - 4, 0);
  return factor;
}

/* The bounds at @level, their distance from @middle times @factor. */
static void scaled_bounds(OrrConformalRow *rows, guint n, double level, double middle,
                          double factor, double *ret_low, double *ret_high) {
  orr_conformal_bounds(rows, n, level, ret_low, ret_high);
  *ret_low = middle + factor * (*ret_low - middle);
  *ret_high = middle + factor * (*ret_high - middle);
}

/* With two campaigns or fewer bounds below SHAPED_LEVEL follow Laplace's distribution through
 * the bounds there, log 1 / (1 - L) over its value; with n more so that 2 / n of this is left. */
static void shape(OrrConformalRow *rows, guint n, const Widening *widening, double level,
                  double middle, double *low, double *high) {
  double least, most;
  if (level >= SHAPED_LEVEL) return;
  scaled_bounds(rows, n, SHAPED_LEVEL, middle, widening->shaped_factor, &least, &most);
  const double part = fmin(1, 2 / widening->n_campaigns),
               inner = log1p(-level) / log1p(-SHAPED_LEVEL);
  if (!isfinite(least) || !isfinite(most)) return;
  *low = (1 - part) * *low + part * (middle + inner * (least - middle));
  *high = (1 - part) * *high + part * (middle + inner * (most - middle));
}

/* The bounds of @near's errors at @band's level. */
static void find_bounds(const OrrBands *bands, const GArray *near, const Widening *widening,
                        OrrBand *band) {
  g_autofree OrrConformalRow *rows = g_new(OrrConformalRow, near->len + 1);
  double sum = 0, errors = 0, above = 0, low, high, least, most;
  for (guint i = 0; i < near->len; i++) {
    const OrrBandNear *one = &g_array_index(near, OrrBandNear, i);
    rows[i] = (OrrConformalRow){orr_band_log_error(bands, one->row, one->answer), one->weight};
    sum += one->weight;
    errors += one->weight * (exp(-rows[i].value) - 1);
    above += rows[i].value > 0 ? one->weight : 0;
  }
  orr_conformal_bounds(rows, near->len, 0, &most, &least);
  const double middle = (least + most) / 2;
  scaled_bounds(rows, near->len, band->level, middle, widening->factor, &low, &high);
  shape(rows, near->len, widening, band->level, middle, &low, &high);
  band->low = exp(low);
  band->high = exp(high);
  band->middle = CLAMP(exp(middle), band->low, band->high);
  band->bias = sum > 0 ? errors / sum : NAN;
  band->sided = sum > 0 ? (middle > 0 ? above : sum - above) / sum : NAN;
}

OrrBand orr_band_none(double level, const char *reason) {
  return (OrrBand){.low = NAN,
                   .high = NAN,
                   .middle = NAN,
                   .bias = NAN,
                   .sided = NAN,
                   .level = level,
                   .reason = reason};
}

/* Rows that weigh at least a tenth of the nearest. */
static guint count_heavy(const GArray *near) {
  guint n = 0;
  for (guint i = 0; i < near->len; i++) n += g_array_index(near, OrrBandNear, i).weight >= 0.1;
  return n;
}

/* The reason of a band that rests on all rows; interned. */
static const char *far_reason(const char *difference) {
  g_autofree char *text = g_strconcat("far from all measured runs: ", difference, NULL);
  return g_intern_string(text);
}

/* Whether the bounds are numbers, also when they are inverted: rows can be off beyond any. */
static gboolean has_bounds(const OrrBand *band) { return band->low > 1e-300 && band->high < 1e300; }

/* The band from all rows, where none is near enough; they replace *@near, which has the nearest. */
static OrrBand far_band(const OrrBands *bands, const OrrBandQuestion *question,
                        OrrQuantity quantity, const OrrBandUnseen *unseen, GArray **near) {
  OrrBand band = {.level = question->level, .quality = ORR_BAND_WEAK};
  double n = 0;
  if ((*near)->len == 0)
    return orr_band_none(question->level, g_intern_static_string("nothing like it was measured"));
  band.reason = far_reason(difference(bands, *near, question->likeness, unseen->few));
  GArray *all = orr_band_far_rows(bands, question, quantity, &n);
  /* about one campaign does not say how campaigns differ, and bounds need a row beyond each */
  if (n < 1.5 || all->len < fmax(ORR_BAND_FEWEST, 2 / (1 - band.level))) {
    g_array_unref(all);
    return orr_band_none(question->level,
                         g_intern_static_string("too few measured runs for this level"));
  }
  const Widening widening = {unseen->far_wider * orr_band_far_widening(n, band.level),
                             unseen->far_wider * orr_band_far_widening(n, SHAPED_LEVEL), n};
  find_bounds(bands, all, &widening, &band);
  if (!has_bounds(&band)) {
    g_array_unref(all);
    return orr_band_none(question->level,
                         g_intern_static_string("measured runs differ beyond all bounds"));
  }
  band.n_rows = all->len;
  g_array_unref(*near);
  *near = all;
  return band;
}

/* The band of the rows @near at the highest level for which their weights give bounds. */
static OrrBand highest_band(const OrrBands *bands, const GArray *near, const Widening *widening) {
  double sum = 0;
  for (guint i = 0; i < near->len; i++) sum += g_array_index(near, OrrBandNear, i).weight;
  OrrBand band = {.level = fmax((sum - 1) / (sum + 1) - 1e-9, 0)};
  find_bounds(bands, near, widening, &band);
  return band;
}

/* The band at a level for which the weights of near rows give no bounds: they come from all rows,
 * and hold the near rows' own. The expected value does not depend on the level. */
static OrrBand beyond_near(const OrrBands *bands, const OrrBandQuestion *question,
                           OrrQuantity quantity, const OrrBandUnseen *unseen,
                           const Widening *widening, GArray **near) {
  const OrrBand inner = highest_band(bands, *near, widening);
  OrrBand band = far_band(bands, question, quantity, unseen, near);
  if (band.quality == ORR_BAND_NONE || !has_bounds(&inner)) return band;
  band.low = fmin(band.low, inner.low);
  band.high = fmax(band.high, inner.high);
  band.middle = inner.middle;
  band.bias = inner.bias;
  band.sided = inner.sided;
  band.reason = g_intern_static_string("too few near runs for this level: all measured runs speak");
  return band;
}

/* The band of a time; *@near has the nearest that speak for it, and then what the band rests on. */
static OrrBand band_of(const OrrBands *bands, const OrrBandQuestion *question, OrrQuantity quantity,
                       GArray **near) {
  const OrrLikenessRow *asked = question->likeness;
  OrrBand band = {.level = question->level, .quality = ORR_BAND_GOOD, .reason = ""};
  OrrBandUnseen unseen = orr_band_unseen(bands, *near, asked, quantity);
  const char *elsewhere = fitted_elsewhere(question);
  if (elsewhere) {
    unseen.few = elsewhere;
    unseen.is_seen = FALSE;
  }
  if (!are_near(bands, *near)) return far_band(bands, question, quantity, &unseen, near);
  if (!unseen.is_seen || *missing_extra(bands, *near, asked)) band.quality = ORR_BAND_WEAK;
  const double factor = unseen.wider * widening_of(asked->kind, orr_band_distance(*near));
  const Widening widening = {factor, factor, unseen.n_campaigns};
  find_bounds(bands, *near, &widening, &band);
  if (!has_bounds(&band)) return beyond_near(bands, question, quantity, &unseen, &widening, near);
  if (unseen.is_foreign && band.level >= SHAPED_LEVEL) {
    const double platform = exp(orr_band_platform_middle(bands, question, quantity));
    band.low = fmin(band.low, platform); /* NAN: no such row */
    band.high = fmax(band.high, platform);
  }
  band.n_rows = count_heavy(*near);
  if (band.quality == ORR_BAND_WEAK) band.reason = difference(bands, *near, asked, unseen.few);
  return band;
}

/* --- One metric --- */

void orr_band_invert(OrrBand *band) {
  const double low = band->low;
  band->low = 1 / band->high;
  band->high = 1 / low;
  band->middle = 1 / band->middle;
  band->bias = 1 / (1 + band->bias) - 1;
}

const char orr_band_follows[] = "throughput follows the offered load";

gboolean orr_band_follows_load(const OrrBandMetric *metric, const OrrLikenessRow *likeness) {
  return metric->quantity == ORR_QUANTITY_SERVED &&
         !g_str_equal(likeness->arrivals, "closed-loop") && likeness->waiting < MUCH_WAITING;
}

static OrrBand adapt(const OrrBandMetric *metric, OrrBand band) {
  if (metric->is_rate) orr_band_invert(&band);
  if (metric->is_tail && band.quality == ORR_BAND_GOOD) {
    band.quality = ORR_BAND_WEAK;
    band.reason = "only means and medians were measured";
  }
  return band;
}

static void list_sources(const OrrBands *bands, const GArray *near, GArray *sources) {
  double sum = 0;
  for (guint i = 0; i < near->len; i++) sum += g_array_index(near, OrrBandNear, i).weight;
  for (guint i = 0; i < near->len; i++) {
    const OrrBandNear *one = &g_array_index(near, OrrBandNear, i);
    const OrrResidual *residual = orr_band_residual(bands, one->row);
    const OrrBandSource source = {residual, &residual->answers[one->answer], one->weight / sum};
    g_array_append_val(sources, source);
  }
}

void orr_band_base_init(OrrBandBase *base, const OrrBands *bands, const OrrBandQuestion *question,
                        OrrQuantity quantity) {
  base->near = find_near(bands, question, quantity);
  weigh(base->near);
  base->band = band_of(bands, question, quantity, &base->near);
}

void orr_band_base_clear(OrrBandBase *base) { g_clear_pointer(&base->near, g_array_unref); }

OrrBand orr_band_of_base(const OrrBands *bands, const OrrBandQuestion *question,
                         const OrrBandMetric *metric, const OrrBandBase *base, GArray *sources) {
  if (orr_band_follows_load(metric, question->likeness))
    return orr_band_none(question->level, orr_band_follows);
  if (sources && base->band.quality != ORR_BAND_NONE) list_sources(bands, base->near, sources);
  return adapt(metric, base->band);
}

void orr_bands_ask_levels(const OrrBands *bands, const OrrBandQuestion *question,
                          const double *levels, guint n, OrrBand *ret_bands) {
  const OrrBandMetric *metric = orr_band_metrics_find(question->likeness->kind, question->metric);
  g_autoptr(GArray) near = metric ? find_near(bands, question, metric->quantity) : NULL;
  if (near) weigh(near);
  for (guint i = 0; i < n; i++) {
    OrrBandQuestion asked = *question;
    asked.level = levels[i];
    ret_bands[i] = orr_band_none(levels[i], "no measurement of this result is known");
    if (!metric) continue;
    g_auto(OrrBandBase) base = {.near = g_array_ref(near)};
    base.band = band_of(bands, &asked, metric->quantity, &base.near);
    ret_bands[i] = orr_band_of_base(bands, &asked, metric, &base, NULL);
  }
}

OrrBand orr_bands_ask(const OrrBands *bands, const OrrBandQuestion *question, GArray *sources) {
  const OrrBandMetric *metric = orr_band_metrics_find(question->likeness->kind, question->metric);
  g_auto(OrrBandBase) base = {NULL};
  if (!metric) return orr_band_none(question->level, "no measurement of this result is known");
  orr_band_base_init(&base, bands, question, metric->quantity);
  return orr_band_of_base(bands, question, metric, &base, sources);
}

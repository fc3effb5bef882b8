/*
 * cost_moe.c - the routed experts of one rank: grouped products, measured over tokens for many
 * layers and splits.
 *
 * Load. T tokens of the expert-parallel group go to k of E experts each; a rank holds E/ep of them,
 * each inter/tp wide. The step waits for the fullest rank, so that rank was measured and is
 * predicted:
 *
 *   balanced     pairs = T k / ep;   active experts = min(E/ep, pairs): what benchmarks deal out
 *   drawn        the same pairs;     active experts = E/ep (1 - (1 - k/E)^T): tokens that choose
 *                                    (shape->drawn). Where loads differ, T is shape->fullest times
 *                                    the tokens, and redundant copies count as experts
 *   power_law_a  tokens of the experts are a draw of E from the density x^-a on [lo, hi], scaled to
 *                T k in all (NVIDIA aiconfigurator, collect_moe.py: lo = 1, hi = 0.8 T where T k >
 *                E, else 0.01 and 2). With the quantiles Q(u) = (A u + B)^(1/(1-a)), B = lo^(1-a),
 *                A = hi^(1-a) - B (of a = 1 Q(u) = lo (hi/lo)^u), the fullest expert holds the mean
 *                of Q over the last 1/E of u, at most T; the fullest rank is taken to hold that
 *                expert and its fraction of the rest, and experts with x tokens expected are active
 *                with 1 - exp(-x).
 *
 * Roofline. t = overhead + sqrt((2 p pairs hidden width / (peak e))^2 + (bytes / bandwidth)^2),
 * with p products per expert (3, or 2 without a gate). The bytes are the weights of the active
 * experts and the activations of the pairs; e is moe-efficiency.
 *
 * A measured layer (hidden, inter, topk, experts, tp, ep) is a curve of log(measured / roofline)
 * over tokens, and answers by that curve. Another layer is interpolated from the NEAREST measured
 * ones, each read at the same number of tokens per expert, with weights 1/(distance + NEAR)^2
 * (Shepard 1968). Where a format has fewer rows than that, other formats' rows count too, FORMAT
 * further away, and other devices' (a table `measured-on`), each as far from its own device's
 * roofline: one library's kernels lose as much to padding and sorting on both. MI300X's three
 * layers, each left out, are 30 % off by the others' rows, 10 % by these and MI355X's.
 *
 * A table whose rows are all of tp 1 is a tuner's, which times what one rank multiplies: a rank of
 * tp is looked up there as a layer of its own width.
 *
 * The distance is over differences of logarithms. hidden and topk weigh most, since libraries tune
 * other tiles and kernels for them; the split weighs least; and the largest power of two, up to
 * 256, in a rank's width of an expert counts too, since kernels are written for it. The weights are
 * one choice for all devices, found by leaving out each curve in turn: 5 to 8 % mean error, against
 * 9 to 13 % with equal weights on a rank's sizes alone and no power of two.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

enum { FEATURES = 8, NEAREST = 3, QUANTILES = 8 };

static const double NEAR = 0.05, FORMAT = 0.5;

typedef struct {
  gint64 hidden, inter, topk, experts, tp, ep, projections;
  gboolean without_last; /* never of a measured layer */
} Layer;

typedef struct {
  Layer layer;
  double features[FEATURES];
  double *ratios;    /* log(measured / roofline) per number of tokens, holes filled */
  gboolean *is_row;  /* FALSE: filled */
  GArray *asides;    /* of OrrAside: filled although it has a row; NULL: none */
  guint first, last; /* cells outside this range are filled with the nearest row */
} Curve;

struct OrrCostMoe {
  OrrDtype dtype;
  double imbalance;
  const char *from;            /* the device of its rows; NULL: the profile's */
  GArray *tokens, *log_tokens; /* of double */
  GArray *curves;              /* Curve */
  double least[FEATURES], most[FEATURES];
};

static void curve_clear(gpointer data) {
  Curve *curve = data;
  ORR_FREE(curve->ratios, curve->is_row);
  g_clear_pointer(&curve->asides, g_array_unref);
}

void orr_cost_moe_free(OrrCostMoe *moe) {
  if (!moe) return;
  g_clear_pointer(&moe->tokens, g_array_unref);
  g_clear_pointer(&moe->log_tokens, g_array_unref);
  g_clear_pointer(&moe->curves, g_array_unref);
  g_free(moe);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCostMoe, orr_cost_moe_free)

/* --- load and roofline --- */

typedef struct {
  double pairs, active; /* of the fullest rank; each is at least 1 */
} Load;

static Load balanced_load(const Layer *layer, double tokens) {
  const double pairs = tokens * (double)layer->topk / (double)layer->ep;
  return (Load){fmax(1, pairs), fmax(1, fmin((double)layer->experts / (double)layer->ep, pairs))};
}

static Load drawn_load(const OrrMoeShape *shape, const Layer *layer) {
  const double tokens = (double)shape->tokens * fmax(shape->fullest, 1);
  const double experts = (double)layer->experts, ep = (double)layer->ep, topk = (double)layer->topk;
  const double slots = experts + (double)shape->redundant;
  return (Load){fmax(1, tokens * topk / ep),
                fmax(1, orr_operator_moe_awake(slots / ep, tokens, topk, slots))};
}

/* The density x^-a between two ends, as quantiles. */
typedef struct {
  double slope, start, power; /* Q(u) = (slope u + start)^power; of 1/x: exp(slope u + start) */
} Law;

static gboolean is_near(double a, double b) { return fabs(a - b) < 1e-9; }

static Law law_of(double exponent, double low, double high) {
  if (is_near(exponent, 1)) return (Law){log(high / low), log(low), INFINITY};
  double start = pow(low, 1 - exponent);
  return (Law){pow(high, 1 - exponent) - start, start, 1 / (1 - exponent)};
}

static double quantile(const Law *law, double u) {
  const double at = law->slope * u + law->start;
  return isinf(law->power) ? exp(at) : pow(at, law->power);
}

/* Integral of the quantiles from 0 to @u, up to a constant. */
static double law_integral(const Law *law, double u) {
  const double at = law->slope * u + law->start;
  if (isinf(law->power)) return exp(at) / law->slope;
  if (is_near(law->power, -1)) return log(at) / law->slope;
  return pow(at, law->power + 1) / ((law->power + 1) * law->slope);
}

static Load power_law_load(const Layer *layer, double tokens, double exponent) {
  double experts = (double)layer->experts, local = experts / (double)layer->ep,
         total = tokens * (double)layer->topk;
  Law law =
      total > experts ? law_of(exponent, 1, fmax(0.8 * tokens, 1.001)) : law_of(exponent, 0.01, 2);
  double whole = law_integral(&law, 1), fraction = 1 / experts;
  double scale = total / (experts * (whole - law_integral(&law, 0)));
  double fullest = fmin(tokens, (whole - law_integral(&law, 1 - fraction)) * experts * scale);
  double others = experts > 1 ? (total - fullest) / (experts - 1) : 0, active = fmin(1, fullest);
  for (int i = 0; i < QUANTILES && local > 1; i++) {
    double u = (i + 0.5) / QUANTILES * (1 - fraction);
    active += (local - 1) / QUANTILES * (1 - exp(-scale * quantile(&law, u)));
  }
  return (Load){fmax(1, fullest + (local - 1) * others), fmax(1, active)};
}

/* The load with which rows were measured. */
static Load row_load(const Layer *layer, double tokens, double imbalance) {
  return imbalance > 0 ? power_law_load(layer, tokens, imbalance) : balanced_load(layer, tokens);
}

static Load queried_load(const OrrMoeShape *shape, const Layer *layer) {
  return shape->drawn && shape->imbalance <= 0
             ? drawn_load(shape, layer)
             : row_load(layer, (double)shape->tokens, shape->imbalance);
}

static Layer layer_of(const OrrMoeShape *shape) {
  return (Layer){.hidden = shape->hidden,
                 .inter = shape->inter,
                 .topk = shape->topk,
                 .experts = shape->experts,
                 .tp = shape->tp,
                 .ep = shape->ep,
                 .projections = shape->projections,
                 .without_last = shape->without_last};
}

/* The products that run. */
static double products_of(const Layer *layer) {
  return (double)(layer->projections - (layer->without_last ? 1 : 0));
}

/* @stored: bytes of a weight; 0: as @dtype. */
static double moe_bytes(OrrDtype dtype, double stored, Load load, const Layer *layer) {
  const double hidden = (double)layer->hidden, width = (double)layer->inter / (double)layer->tp,
               products = products_of(layer);
  const double weight = stored > 0 ? stored : orr_dtype_bytes(dtype),
               activation = fmax(orr_dtype_bytes(dtype), 2);
  return weight * load.active * products * hidden * width +
         activation * load.pairs * ((layer->without_last ? 1 : 2) * hidden + products * width);
}

static double moe_roofline_s(const OrrCostModel *model, OrrDtype dtype, double stored, Load load,
                             const Layer *layer) {
  double hidden = (double)layer->hidden, width = (double)layer->inter / (double)layer->tp;
  double products = products_of(layer);
  double bytes = moe_bytes(dtype, stored, load, layer);
  double compute_s = 2 * products * load.pairs * hidden * width /
                     (model->peak_flops[dtype] * model->constants->moe_efficiency);
  double work_s =
      orr_cost_roofline_s(model, compute_s, bytes) - model->constants->kernel_overhead_s;
  return model->constants->moe_overhead_s + work_s;
}

/* --- building --- */

static double power_of_two_in(double width) {
  double power = 0;
  for (gint64 rest = (gint64)width; power < 8 && rest > 0 && rest % 2 == 0; rest /= 2) power++;
  return power;
}

static void find_features(const Layer *layer, double *ret_features) {
  static const double weights[FEATURES] = {4, 4, 2, 1, 0.25, 1, 1, 0.2};
  double tp = (double)layer->tp, ep = (double)layer->ep, inter = (double)layer->inter,
         experts = (double)layer->experts;
  const double plain[FEATURES] = {log((double)layer->hidden),
                                  log((double)layer->topk),
                                  log(inter),
                                  log(experts),
                                  log(ep),
                                  log(inter / tp),
                                  log(experts / ep),
                                  power_of_two_in(inter / tp)};
  for (int i = 0; i < FEATURES; i++) ret_features[i] = sqrt(weights[i]) * plain[i];
}

static double line_between(const OrrCostMoe *moe, const Curve *curve, guint low, guint high,
                           guint at) {
  const double *x = (double *)(void *)moe->log_tokens->data;
  double fraction = (x[at] - x[low]) / (x[high] - x[low]);
  return curve->ratios[low] * (1 - fraction) + curve->ratios[high] * fraction;
}

/* Fills holes between two rows from the line between them, and those outside from the nearest
 * row. FALSE without a row. */
static gboolean fill_curve(const OrrCostMoe *moe, Curve *curve) {
  guint n = moe->tokens->len, before = n;
  for (guint i = 0; i < n; i++) {
    if (!curve->is_row[i]) continue;
    if (before == n) curve->first = i;
    for (guint hole = before == n ? 0 : before + 1; hole < i; hole++)
      curve->ratios[hole] =
          before == n ? curve->ratios[i] : line_between(moe, curve, before, i, hole);
    curve->last = before = i;
  }
  for (guint hole = before + 1; hole < n; hole++) curve->ratios[hole] = curve->ratios[before];
  return before < n;
}

/* @judged receives the row's numbers. */
static gboolean add_curve(const OrrCostModel *model, OrrCostMoe *moe, const OrrProfileMoeRow *row,
                          GArray *judged, GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  if (!us) return FALSE;
  guint n = moe->tokens->len;
  Curve curve = {.layer = {row->hidden, row->inter, row->topk, row->experts, row->tp, row->ep,
                           row->projections, FALSE},
                 .ratios = g_new0(double, n),
                 .is_row = g_new0(gboolean, n)};
  find_features(&curve.layer, curve.features);
  for (guint i = 0; i < MIN(n, us->len); i++) {
    double time_s = g_array_index(us, double, i) * 1e-6,
           tokens = g_array_index(moe->tokens, double, i);
    if (isnan(time_s)) continue;
    const Load load = row_load(&curve.layer, tokens, moe->imbalance);
    curve.is_row[i] = TRUE;
    curve.ratios[i] = log(time_s / moe_roofline_s(model, moe->dtype, 0, load, &curve.layer));
    const guint at = moe->curves->len;
    ORR_APPEND(judged, OrrJudgedRow,
               {.curve = at, .kind = at, .size = tokens, .volume = 1, .time_s = time_s});
  }
  if (!fill_curve(moe, &curve)) {
    curve_clear(&curve);
    return TRUE;
  }
  for (int f = 0; f < FEATURES; f++) {
    moe->least[f] = moe->curves->len ? fmin(moe->least[f], curve.features[f]) : curve.features[f];
    moe->most[f] = moe->curves->len ? fmax(moe->most[f], curve.features[f]) : curve.features[f];
  }
  g_array_append_val(moe->curves, curve);
  return TRUE;
}

/* Makes holes of the rows that contradict their curve, and fills them. */
static void set_aside(OrrCostMoe *moe, GArray *judged) {
  if (orr_judge_rows(judged) == 0) return;
  ORR_EACH_AT(i, const OrrJudgedRow, row, judged) {
    if (!row->is_aside) continue;
    Curve *curve = &g_array_index(moe->curves, Curve, row->curve);
    g_autofree char *witness =
        g_strdup_printf("%.0f tokens", g_array_index(judged, OrrJudgedRow, row->witness).size);
    OrrAside aside = orr_judge_aside(judged, i, witness);
    while (g_array_index(moe->tokens, double, aside.at) < row->size) aside.at++;
    curve->is_row[aside.at] = FALSE;
    if (!curve->asides) curve->asides = orr_judge_asides_new();
    g_array_append_val(curve->asides, aside);
    fill_curve(moe, curve);
  }
}

void orr_cost_moe_count(const OrrCostMoe *moe, guint *ret_asides, guint *ret_rows) {
  *ret_asides = *ret_rows = 0;
  ORR_EACH(const Curve, curve, moe->curves) {
    const guint n_asides = curve->asides ? curve->asides->len : 0;
    *ret_asides += n_asides;
    *ret_rows += n_asides;
    for (guint k = 0; k < moe->tokens->len; k++) *ret_rows += curve->is_row[k] ? 1 : 0;
  }
}

OrrDtype orr_cost_moe_dtype(const OrrCostMoe *moe) { return moe->dtype; }

OrrCostMoe *orr_cost_moe_build(const OrrCostModel *model, const OrrProfileMoe *table,
                               GError **error) {
  g_autoptr(OrrCostMoe) moe = g_new0(OrrCostMoe, 1);
  moe->dtype = (OrrDtype)table->dtype;
  moe->curves = g_array_new(FALSE, FALSE, sizeof(Curve));
  g_array_set_clear_func(moe->curves, curve_clear);
  moe->log_tokens = g_array_new(FALSE, FALSE, sizeof(double));
  moe->tokens = orr_profile_numbers(table->tokens, FALSE, error);
  if (!moe->tokens) return NULL;
  orr_profile_moe_imbalance(table->distribution, &moe->imbalance);
  const gboolean is_own =
      !table->measured_on.name || g_strcmp0(table->measured_on.name, model->measured_on->name) == 0;
  moe->from = is_own ? NULL : g_intern_string(table->measured_on.name);
  g_autofree OrrCostModel *there =
      is_own ? NULL : orr_cost_model_with_rates(model, &table->measured_on, error);
  if (!is_own && !there) return NULL;
  const OrrCostModel *rates = is_own ? model : there;
  ORR_EACH_VALUE(const double, value, moe->tokens) ORR_APPEND(moe->log_tokens, double, log(value));
  g_autoptr(GArray) judged = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
  for (guint i = 0; i < table->rows->len; i++)
    if (!add_curve(rates, moe, table->rows->pdata[i], judged, error)) return NULL;
  set_aside(moe, judged);
  return g_steal_pointer(&moe);
}

/* --- queries --- */

static double curve_at(const OrrCostMoe *moe, const Curve *curve, double tokens,
                       OrrGridTrust *trust) {
  const double *axis = (double *)(void *)moe->tokens->data;
  if (tokens < axis[curve->first] || tokens > axis[curve->last]) *trust = ORR_GRID_BEYOND;
  if (tokens <= axis[curve->first]) return curve->ratios[curve->first];
  if (tokens >= axis[curve->last]) return curve->ratios[curve->last];
  guint low = curve->first, high = curve->last;
  while (high - low > 1) {
    guint middle = (low + high) / 2;
    if (axis[middle] <= tokens)
      low = middle;
    else
      high = middle;
  }
  if (axis[low] == tokens && curve->is_row[low]) return curve->ratios[low];
  *trust = MAX(*trust, ORR_GRID_BETWEEN);
  const double *logs = (double *)(void *)moe->log_tokens->data;
  double fraction = (log(tokens) - logs[low]) / (logs[high] - logs[low]);
  return curve->ratios[low] * (1 - fraction) + curve->ratios[high] * fraction;
}

static gboolean is_same(const Layer *a, const Layer *b) {
  return a->hidden == b->hidden && a->inter == b->inter && a->topk == b->topk &&
         a->experts == b->experts && a->tp == b->tp && a->ep == b->ep &&
         a->projections == b->projections;
}

static const Curve *find_curve(const OrrCostMoe *moe, const Layer *layer) {
  const Curve *curves = (const Curve *)(void *)moe->curves->data;
  for (guint i = 0; i < moe->curves->len; i++)
    if (is_same(&curves[i].layer, layer)) return &curves[i];
  return NULL;
}

typedef struct {
  const OrrCostMoe *moe;
  const Curve *curve; /* NULL: none yet */
  double distance2;
} Neighbour;

/* Inserts @found into @nearest, which rises; of two equal distances the earlier row stays first. */
static void keep_near(Neighbour nearest[NEAREST], Neighbour found) {
  for (int i = 0; i < NEAREST; i++) {
    if (nearest[i].curve && nearest[i].distance2 <= found.distance2) continue;
    Neighbour pushed = nearest[i];
    nearest[i] = found;
    found = pushed;
    if (!found.curve) return;
  }
}

/* Neighbours of a layer, and the measured range of the tables that they are from. */
typedef struct {
  double features[FEATURES], least[FEATURES], most[FEATURES];
  Neighbour nearest[NEAREST];
} Near;

static void near_add(Near *near, const OrrCostMoe *moe, double further) {
  ORR_EACH(const Curve, curve, moe->curves) {
    double distance2 = further * further;
    for (int f = 0; f < FEATURES; f++) {
      double off = near->features[f] - curve->features[f];
      distance2 += off * off;
    }
    const Neighbour *last = &near->nearest[NEAREST - 1];
    if (!last->curve || distance2 < last->distance2)
      keep_near(near->nearest, (Neighbour){moe, curve, distance2});
  }
  for (int f = 0; f < FEATURES && moe->curves->len > 0; f++) {
    near->least[f] = fmin(near->least[f], moe->least[f]);
    near->most[f] = fmax(near->most[f], moe->most[f]);
  }
}

/* The most similar measured layers: of @moe, and where it has too few of all tables alike. */
static void near_find(Near *near, const OrrCostModel *model, const OrrCostMoe *moe,
                      const Layer *layer) {
  *near = (Near){.nearest = {{NULL, NULL, 0}}};
  find_features(layer, near->features);
  for (int f = 0; f < FEATURES; f++) near->least[f] = INFINITY, near->most[f] = -INFINITY;
  near_add(near, moe, 0);
  if (moe->curves->len >= NEAREST) return;
  const GPtrArray *tables = orr_cost_build_moe(model);
  ORR_EACH_POINTER(const OrrCostMoe, other, tables)
    if (other != moe && is_near(other->imbalance, moe->imbalance))
      near_add(near, other, other->dtype == moe->dtype ? 0 : FORMAT);
}

/* A ratio to the roofline, and how it is known. */
typedef struct {
  double log_ratio;
  OrrGridTrust trust;
  gboolean other_format;
  const char *from; /* another device that has rows in it; NULL: none */
} Answer;

/* Interpolates from the most similar measured layers. Outside: a property beyond every measured
 * layer's. */
static Answer answer_near(const OrrCostModel *model, const OrrCostMoe *moe, const Layer *layer,
                          double tokens) {
  Near near;
  Answer answer = {.trust = ORR_GRID_BETWEEN};
  double sum = 0, weights = 0;
  near_find(&near, model, moe, layer);
  for (int f = 0; f < FEATURES; f++)
    if (near.features[f] < near.least[f] || near.features[f] > near.most[f])
      answer.trust = ORR_GRID_BEYOND;
  double an_expert = tokens * (double)layer->topk / (double)layer->experts;
  for (int i = 0; i < NEAREST && near.nearest[i].curve; i++) {
    const Neighbour *at = &near.nearest[i];
    const Layer *other = &at->curve->layer;
    OrrGridTrust ignored = ORR_GRID_ROW; /* another layer's axis has other ends */
    double distance = sqrt(at->distance2) + NEAR, weight = 1 / (distance * distance);
    sum += weight * curve_at(at->moe, at->curve,
                             an_expert * (double)other->experts / (double)other->topk, &ignored);
    weights += weight;
    answer.other_format |= at->moe->dtype != moe->dtype;
    if (at->moe->from) answer.from = at->moe->from;
  }
  const double *axis = (double *)(void *)moe->tokens->data;
  if (tokens < axis[0] || tokens > axis[moe->tokens->len - 1]) answer.trust = ORR_GRID_BEYOND;
  answer.log_ratio = sum / weights;
  return answer;
}

/* The most similar table of the profile's own device: the format's own before the 16-bit one, the
 * distribution's own before another. */
static const OrrCostMoe *find_table(const OrrCostModel *model, OrrDtype dtype, double imbalance) {
  const OrrCostMoe *best = NULL;
  double least = INFINITY;
  const GPtrArray *tables = orr_cost_build_moe(model);
  ORR_EACH_POINTER(const OrrCostMoe, moe, tables) {
    double off = (moe->dtype == dtype      ? 0
                  : moe->dtype == ORR_BF16 ? 10
                                           : 20) +
                 fabs(moe->imbalance - imbalance);
    if (moe->curves->len == 0 || moe->from || off >= least) continue;
    least = off;
    best = moe;
  }
  return best;
}

gboolean orr_cost_moe_holds(const OrrCostModel *model, OrrDtype dtype) {
  const OrrCostMoe *nearest = find_table(model, dtype == ORR_FP16 ? ORR_BF16 : dtype, 0);
  return nearest && nearest->dtype == (dtype == ORR_FP16 ? ORR_BF16 : dtype);
}

/* The projections of a measured layer of these sizes with any split; else 3. */
static gint64 known_projections(const OrrCostMoe *moe, const Layer *layer) {
  for (guint i = 0; moe && i < moe->curves->len; i++) {
    const Layer *other = &g_array_index(moe->curves, Curve, i).layer;
    if (other->hidden == layer->hidden && other->inter == layer->inter &&
        other->topk == layer->topk && other->experts == layer->experts)
      return other->projections;
  }
  return 3;
}

void orr_cost_moe_load(const OrrMoeShape *shape, double *ret_pairs, double *ret_active) {
  const Layer layer = layer_of(shape);
  const Load load = queried_load(shape, &layer);
  *ret_pairs = load.pairs;
  *ret_active = load.active;
}

double orr_cost_moe_bytes_s(const OrrCostModel *model, const OrrOperator *op) {
  const Layer layer = layer_of(&op->moe);
  return moe_bytes((OrrDtype)op->dtype, op->moe.stored.weight_bytes, queried_load(&op->moe, &layer),
                   &layer) /
         (model->device->memory_bytes_per_s * model->constants->memory_efficiency);
}

double orr_cost_moe_overhead_s(const OrrCostModel *model) {
  return model->constants->moe_overhead_s;
}

double orr_cost_kernel_overhead_s(const OrrCostModel *model) {
  return model->constants->kernel_overhead_s;
}

/* Rows of a power law with fewer pairs than experts come from a draw whose active experts the law
 * does not give: another load takes the ratio where each expert has a pair, from T = E / k on. */
static double least_tokens(const OrrCostMoe *moe, const OrrMoeShape *shape, const Layer *layer) {
  const gboolean is_other = moe && moe->imbalance > 0 && moe->imbalance != shape->imbalance;
  return is_other ? ceil((double)layer->experts / (double)layer->topk) : 0;
}

/* A table without splits is a tuner's: each row is one rank's products, whose width is that rank's
 * part of an expert. There a rank of tp is the layer of its own width. */
static void as_in_table(const OrrCostMoe *moe, Layer *layer) {
  for (guint i = 0; i < moe->curves->len; i++)
    if (g_array_index(moe->curves, Curve, i).layer.tp > 1) return;
  if (moe->curves->len == 0 || layer->inter % layer->tp != 0) return;
  layer->inter /= layer->tp;
  layer->tp = 1;
}

OrrCost orr_cost_moe(const OrrCostModel *model, const OrrOperator *op) {
  const OrrMoeShape *shape = &op->moe;
  Layer layer = layer_of(shape);
  if (shape->tokens <= 0 || layer.hidden <= 0 || layer.inter <= 0 || layer.topk <= 0 ||
      layer.experts <= 0 || layer.tp <= 0 || layer.ep <= 0)
    return (OrrCost){0, ORR_HOW_MODELLED};
  OrrDtype dtype =
      op->dtype == ORR_FP16 ? ORR_BF16 : (OrrDtype)op->dtype; /* both run at one rate */
  const OrrCostMoe *moe = find_table(model, dtype, shape->imbalance);
  if (layer.projections <= 0) layer.projections = known_projections(moe, &layer);
  if (moe) as_in_table(moe, &layer);
  const double tokens = fmax((double)shape->tokens, least_tokens(moe, shape, &layer));
  double roofline_s =
      moe_roofline_s(model, dtype, shape->stored.weight_bytes, queried_load(shape, &layer), &layer);
  if (!moe) return (OrrCost){roofline_s, ORR_HOW_MODELLED};
  Answer answer = {.trust = ORR_GRID_ROW};
  const Curve *own = find_curve(moe, &layer);
  if (own)
    answer.log_ratio = curve_at(moe, own, tokens, &answer.trust);
  else
    answer = answer_near(model, moe, &layer, tokens);
  gboolean borrowed = moe->dtype != dtype || moe->imbalance != shape->imbalance ||
                      answer.other_format || op->pass != ORR_PASS_FORWARD ||
                      shape->stored.weight_bytes > 0;
  const OrrHow how =
      answer.from ? MAX(orr_cost_how(answer.trust), ORR_HOW_CARRIED) : orr_cost_how(answer.trust);
  const OrrAside *aside = own ? orr_judge_near(own->asides, moe->tokens, tokens) : NULL;
  return (OrrCost){roofline_s * exp(answer.log_ratio), borrowed ? ORR_HOW_MODELLED : how,
                   .from = answer.from, .aside = aside ? aside->why : NULL};
}

/*
 * cost_library_gemm.c - matrix products by the kernels of one library, where engines ship different
 * ones: TensorRT-LLM's and vLLM's.
 *
 * A library's table is small: some tens of (n, k), each over the same m. It holds the logarithm of
 * its times over the profile's own answer (cost_gemm.c: thousands of (n, k) of another library, or
 * the roofline), since two libraries differ less than products of two shapes:
 *
 *   r_i(m)   = log(row i at m / own answer at m, n_i, k_i)     a line over log m, level at its ends
 *   r(m,n,k) = the value at (n, k) of the plane over (log n, log k) that fits the r_i(m) best,
 *              with weights w_i = 1 / (d_i + 0.05)^3 (Shepard 1968; Cleveland 1979); its slopes are
 *              held back by 0.03 sum w_i, the answer by the rows' least and most
 *   d_i      = distance in (log n, log k) + 0.3 for each step of alignment + 0.3 for each unit of
 *              log m beyond the row's own sizes
 *   t        = own answer * exp(r)
 *
 * At a row the answer is the row. A tuner's table (`tuned`) holds the fastest of the kernels that
 * were tried for a shape, and for some shapes few were: such a row is slower than its neighbours
 * predict, and says nothing about them. There a row's weight falls with its excess e_i, the mean
 * over its sizes of r_i less the plane's value without row i, as in Cleveland's robust fits, but on
 * the slow side alone, in two rounds:
 *
 *   w_i = (1 - (e_i / 0.3)^2)^2 / (d_i + 0.05)^3     for 0 < e_i < 0.3; beyond, a thousandth
 *
 * Alignment: the largest of 256, 128, 64 that divides n, the widths of tiles. A width that none
 * divides takes kernels that are several times slower (aiter on MI355X, n = 800: 4 times as long as
 * n = 640 and 1,024), which says little about its neighbours, and they about it. Mean errors with
 * each (n, k) left out, of aiter on MI355X in bf16, fp8, fp8 by blocks, fp4, int8, then
 * TensorRT-LLM on H100 in bf16, fp8, and on B200 in fp8, fp4:
 *
 *   weighted mean            15.0 10.2 11.7 16.7 13.1     3.8 6.6   9.2 7.9
 *   with alignment           11.3 10.2 11.6 16.8 13.2     3.8 6.6   9.2 7.9
 *   and what lies beyond     10.4  9.3 11.6 14.7 13.2     3.8 6.6   9.2 7.9
 *   and the plane            10.6  8.2 10.2 13.9 11.5     3.5 3.7   5.9 4.0
 *
 * (a simpler own answer than the program's). Any constant from 0.2 to 1, and slopes held by 0.01 to
 * 0.03, differ by less than 0.3 points. By `orrery validate gemm`, the weights of slow rows take
 * aiter's tables on MI355X from 10.8, 8.7, 10.5, 13.7, 10.5 % to 9.1, 6.4, 10.7, 9.5, 10.9 %. In a
 * benchmark's tables all rows count: there slow ones are a property of their region (RTX PRO 6000
 * in fp4 would go from 5.6 to 8.0 %).
 *
 * Which table answers, best first:
 *   1. the library's own, of the product's scales (per tensor, or by blocks);
 *   2. for scales by blocks, another library's: both run DeepGEMM's kernels or descendants of them;
 *   3. the profile's own answer; if the profile has no table of the format, any library's.
 * Weights stored narrower than they are multiplied (W4A16) have tables of their own; a library
 * without one reads them at the own answer's rate (cost_gemm.c), since kernels that widen weights
 * differ by a factor of two: TensorRT-LLM's on A100 take 1.7 to 2 times as long as that up to 64
 * rows, Marlin (vLLM, SGLang) about as long (Frantar et al. 2024, arXiv 2408.11743).
 * 2 and 3 count as carried over from the library that answers, and so does a tuner's table where no
 * library is asked for: software that does not name it need not have the tuned kernels.
 *
 * A table `measured-on` the device whose rows the profile borrows (B300's profile has B200's) says
 * what the library costs there, and one measured on the device itself says it here. Their ratio is
 * what the newer device changed, which a datasheet shows badly (B300's fp4: a rate 1.4 times as
 * high, products 1.1 times as fast). So without a table of the library asked for, the own answer
 * is multiplied by exp(r_here - r_there).
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

static const double softening = 0.05, misaligned = 0.3, beyond_m = 0.3, held = 0.03;
static const double untuned = 0.3; /* excess at which a row stops counting for its neighbours */
static const double exact = 1e-9;  /* a distance below which a row is the product's own */

typedef struct {
  double log_m, ratio;
} Point;

typedef struct {
  double log_n, log_k;
  int alignment;
  double trust;   /* 0 to 1, what its excess leaves of its weight */
  GArray *points; /* of Point, rising in m; at least one */
} Row;

struct OrrCostLibraryGemm {
  const OrrProfileLibraryGemm *table;
  const OrrCostModel *rates; /* of the device of the rows */
  gsize has_rows;            /* read from the profile, for g_once_init_enter */
  gboolean is_here; /* measured on the device that the model predicts, whose profile borrows rows */
  GArray *rows;     /* of Row */
  double least[3], most[3]; /* of log n, log k and log m */
};

static void row_clear(gpointer data) { g_clear_pointer(&((Row *)data)->points, g_array_unref); }

void orr_cost_library_gemm_free(OrrCostLibraryGemm *gemm) {
  if (!gemm) return;
  g_clear_pointer(&gemm->rows, g_array_unref);
  g_free(gemm);
}

/* --- building --- */

enum { LOG_N, LOG_K, LOG_M, AXES };

static void widen(OrrCostLibraryGemm *gemm, int axis, double at) {
  gemm->least[axis] = fmin(gemm->least[axis], at);
  gemm->most[axis] = fmax(gemm->most[axis], at);
}

/* 0 to 3: 256, 128, 64 divides @n, or none. */
static int alignment_of(gint64 n) {
  return n % 256 == 0 ? 0 : n % 128 == 0 ? 1 : n % 64 == 0 ? 2 : 3;
}

static gboolean add_row(const OrrCostModel *model, OrrCostLibraryGemm *gemm, const GArray *m,
                        const OrrProfileGemmRow *from, GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(from->us, TRUE, error);
  if (!us) return FALSE;
  Row row = {log((double)from->n), log((double)from->k), alignment_of(from->n), 1,
             g_array_new(FALSE, FALSE, sizeof(Point))};
  for (guint i = 0; i < MIN(us->len, m->len); i++) {
    const double rows = g_array_index(m, double, i), time_us = g_array_index(us, double, i);
    if (isnan(time_us)) continue;
    const OrrOperator op =
        orr_operator_gemm("row", ORR_PASS_FORWARD, (OrrDtype)gemm->table->table.dtype,
                          (OrrGemmShape){1, (gint64)rows, from->n, from->k,
                                         .stored.weight_bytes = gemm->table->weight_bytes});
    ORR_APPEND(row.points, Point,
               {log(rows), log(time_us * 1e-6 / orr_cost_gemm_own(model, &op).time_s)});
  }
  if (row.points->len == 0) {
    row_clear(&row);
    return TRUE;
  }
  widen(gemm, LOG_N, row.log_n);
  widen(gemm, LOG_K, row.log_k);
  g_array_append_val(gemm->rows, row);
  return TRUE;
}

static gboolean read_rows(OrrCostLibraryGemm *gemm, GError **error) {
  g_autoptr(GArray) m = orr_profile_numbers(gemm->table->table.m, FALSE, error);
  const GPtrArray *rows = gemm->table->table.rows;
  if (!m) return FALSE;
  ORR_EACH_VALUE(const double, at, m) widen(gemm, LOG_M, log(at));
  for (guint i = 0; i < rows->len; i++)
    if (!add_row(gemm->rates, gemm, m, rows->pdata[i], error)) return FALSE;
  return TRUE;
}

void orr_cost_library_gemm_add(OrrCostModel *model, const OrrCostModel *rates,
                               const OrrProfileLibraryGemm *table, gboolean is_here) {
  OrrCostLibraryGemm *gemm = g_new0(OrrCostLibraryGemm, 1);
  *gemm = (OrrCostLibraryGemm){.table = table,
                               .rates = rates,
                               .is_here = is_here,
                               .rows = g_array_new(FALSE, FALSE, sizeof(Row)),
                               .least = {INFINITY, INFINITY, INFINITY},
                               .most = {-INFINITY, -INFINITY, -INFINITY}};
  g_array_set_clear_func(gemm->rows, row_clear);
  g_ptr_array_add(model->library_gemm, gemm);
}

/* --- the ratio at a product --- */

/* A product by its logarithms. */
typedef struct {
  double log_m, log_n, log_k;
  int alignment;
} Place;

static Place place_of(double batch_m, gint64 n, gint64 k) {
  return (Place){log(batch_m), log((double)n), log((double)k), alignment_of(n)};
}

/* The row's ratio at @log_m, on the line between its measured neighbours. @ret_beyond: how far its
 * sizes are from @log_m. */
static double ratio_over_m(const Row *row, double log_m, gboolean *ret_at_row, double *ret_beyond) {
  const Point *points = (const Point *)(const void *)row->points->data;
  guint low = 0, high = row->points->len - 1;
  const double before = points[low].log_m - log_m, behind = log_m - points[high].log_m;
  *ret_beyond = fmax(0, fmax(before, behind));
  if (before >= -exact) high = low;
  if (behind >= -exact) low = high;
  while (high - low > 1) {
    const guint middle = (low + high) / 2;
    *(points[middle].log_m <= log_m + exact ? &low : &high) = middle;
  }
  if (fabs(points[low].log_m - log_m) <= exact) high = low;
  *ret_at_row = low == high && *ret_beyond <= exact;
  if (low == high) return points[low].ratio;
  const double share = (log_m - points[low].log_m) / (points[high].log_m - points[low].log_m);
  return (1 - share) * points[low].ratio + share * points[high].ratio;
}

static gboolean is_outside(const OrrCostLibraryGemm *gemm, const Place *place) {
  const double at[AXES] = {place->log_n, place->log_k, place->log_m};
  for (int axis = 0; axis < AXES; axis++)
    if (at[axis] < gemm->least[axis] - exact || at[axis] > gemm->most[axis] + exact) return TRUE;
  return FALSE;
}

/* Weighted sums of points (x, y, value) around the product, and the values' bounds. */
typedef struct {
  double w, x, y, v, xx, yy, xy, xv, yv, least, most;
} Plane;

static void plane_add(Plane *plane, double w, double x, double y, double v) {
  plane->w += w;
  plane->x += w * x, plane->y += w * y, plane->v += w * v;
  plane->xx += w * x * x, plane->yy += w * y * y, plane->xy += w * x * y;
  plane->xv += w * x * v, plane->yv += w * y * v;
  plane->least = fmin(plane->least, v);
  plane->most = fmax(plane->most, v);
}

/* The fitted plane's value at (0, 0); 0 without points. */
static double plane_at(const Plane *plane) {
  if (plane->w <= 0) return 0;
  const double w = plane->w, mx = plane->x / w, my = plane->y / w, mv = plane->v / w,
               xx = plane->xx - w * mx * mx + held * w, yy = plane->yy - w * my * my + held * w,
               xy = plane->xy - w * mx * my, xv = plane->xv - w * mx * mv,
               yv = plane->yv - w * my * mv, det = xx * yy - xy * xy;
  const double at = mv - mx * (xv * yy - yv * xy) / det - my * (yv * xx - xv * xy) / det;
  return CLAMP(at, plane->least, plane->most);
}

/* The plane's value at @place; @skip: a row that does not count, NULL: none. */
static double ratio_near(const OrrCostLibraryGemm *gemm, const Place *place, const Row *skip) {
  Plane plane = {.least = INFINITY, .most = -INFINITY};
  ORR_EACH(const Row, row, gemm->rows) {
    gboolean at_row;
    double beyond;
    if (row == skip) continue;
    const double ratio = ratio_over_m(row, place->log_m, &at_row, &beyond);
    const double x = row->log_n - place->log_n, y = row->log_k - place->log_k;
    const double distance =
        hypot(hypot(x, y), misaligned * (row->alignment - place->alignment)) + beyond_m * beyond;
    plane_add(&plane, row->trust * pow(distance + softening, -3), x, y, ratio);
  }
  return plane_at(&plane);
}

/* How much slower @row is than its neighbours say, as a logarithm, over some of its sizes. */
static double excess_of(const OrrCostLibraryGemm *gemm, const Row *row) {
  enum { SIZES = 6 };
  const guint n = MIN(row->points->len, SIZES);
  double sum = 0;
  for (guint i = 0; i < n; i++) {
    const guint at = n > 1 ? i * (row->points->len - 1) / (n - 1) : 0;
    const Point *point = &g_array_index(row->points, Point, at);
    const Place place = {point->log_m, row->log_n, row->log_k, row->alignment};
    sum += point->ratio - ratio_near(gemm, &place, row);
  }
  return sum / n;
}

/* Gives rows that are slower than their neighbours say less weight, as the head comment says. */
static void weigh_rows(OrrCostLibraryGemm *gemm) {
  enum { ROUNDS = 2 };
  g_autoptr(GArray) excess = g_array_new(FALSE, FALSE, sizeof(double));
  for (int round = 0; round < ROUNDS && gemm->rows->len > 1; round++) {
    g_array_set_size(excess, 0);
    ORR_EACH(const Row, row, gemm->rows) ORR_APPEND(excess, double, excess_of(gemm, row));
    ORR_EACH_AT(i, Row, row, gemm->rows) {
      const double part = g_array_index(excess, double, i) / untuned;
      const double left = 1 - part * part;
      row->trust = part <= 0 ? 1 : fmax(1e-3, part < 1 ? left * left : 0);
    }
  }
}

/* At the first query; the numbers were checked when the profile was read. */
static void need_rows(OrrCostLibraryGemm *gemm) {
  if (!g_once_init_enter(&gemm->has_rows)) return;
  g_autoptr(GError) error = NULL;
  if (!read_rows(gemm, &error)) g_critical("library-gemm: %s", error->message);
  if (gemm->table->tuned) weigh_rows(gemm);
  g_once_init_leave(&gemm->has_rows, 1);
}

static double ratio_of(OrrCostLibraryGemm *gemm, const OrrGemmShape *shape, OrrHow *ret_how) {
  need_rows(gemm);
  const Place place = place_of((double)(shape->batch * shape->m), shape->n, shape->k);
  *ret_how = is_outside(gemm, &place) ? ORR_HOW_OUTSIDE : ORR_HOW_INTERPOLATED;
  ORR_EACH(const Row, row, gemm->rows) {
    gboolean at_row;
    double beyond;
    if (hypot(row->log_n - place.log_n, row->log_k - place.log_k) >= exact) continue;
    const double ratio = ratio_over_m(row, place.log_m, &at_row, &beyond);
    if (at_row) *ret_how = ORR_HOW_MEASURED;
    return ratio;
  }
  return ratio_near(gemm, &place, NULL);
}

/* --- which table --- */

/* Whether both are stored alike: scales are a few per cent of the weights. */
static gboolean same_weights(double a_bytes, double b_bytes) {
  return fabs(a_bytes - b_bytes) <= 0.1 * fmax(a_bytes, b_bytes);
}

/* A table of the product's format. @library ANY: of any; @here: measured on the model's device,
 * not on the one whose rows it borrows. */
static OrrCostLibraryGemm *find(const OrrCostModel *model, const OrrOperator *op, int library,
                                gboolean blocks, gboolean here) {
  ORR_EACH_POINTER(OrrCostLibraryGemm, gemm, model->library_gemm) {
    const OrrDtype dtype = (OrrDtype)gemm->table->table.dtype;
    const gboolean same_format =
        dtype == (OrrDtype)op->dtype ||
        (orr_cost_is_16_bit(dtype) && orr_cost_is_16_bit((OrrDtype)op->dtype));
    if (same_format && gemm->table->blocks == blocks && gemm->is_here == here &&
        same_weights(gemm->table->weight_bytes, op->gemm.stored.weight_bytes) &&
        gemm->table->table.rows->len > 0 &&
        (library == ORR_KERNEL_LIBRARY_ANY || gemm->table->table.library == library))
      return gemm;
  }
  return NULL;
}

/* The same, measured on the model's own device before the one whose rows it borrows. */
static OrrCostLibraryGemm *find_near(const OrrCostModel *model, const OrrOperator *op, int library,
                                     gboolean blocks) {
  OrrCostLibraryGemm *here = find(model, op, library, blocks, TRUE);
  return here ? here : find(model, op, library, blocks, FALSE);
}

/* What the device changed against the one whose rows it borrows, by a library measured on both. */
static void correct_device(const OrrCostModel *model, const OrrOperator *op, OrrCost *cost) {
  OrrHow how;
  OrrCostLibraryGemm *here = find(model, op, ORR_KERNEL_LIBRARY_ANY, FALSE, TRUE);
  OrrCostLibraryGemm *there =
      here ? find(model, op, here->table->table.library, FALSE, FALSE) : NULL;
  if (!there) return;
  cost->time_s *= exp(ratio_of(here, &op->gemm, &how) - ratio_of(there, &op->gemm, &how));
}

gboolean orr_cost_library_gemm_holds(const OrrCostModel *model, OrrDtype dtype) {
  const OrrOperator op = {.dtype = (guint8)dtype};
  return find_near(model, &op, ORR_KERNEL_LIBRARY_ANY, FALSE) ||
         find_near(model, &op, ORR_KERNEL_LIBRARY_ANY, TRUE);
}

/* The cost, carried over where its kernels are of another @library than the one asked for. */
static OrrCost from_library(OrrCost cost, int library) {
  cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  if (cost.how == ORR_HOW_CARRIED) cost.from = g_intern_string(orr_kernel_library_words[library]);
  return cost;
}

OrrCost orr_cost_library_gemm(const OrrCostModel *model, const OrrOperator *op, gboolean has_own,
                              OrrCost own) {
  const int asked = op->library, of_own = model->gemm_library[op->dtype];
  const gboolean is_other = asked != ORR_KERNEL_LIBRARY_ANY && of_own != ORR_KERNEL_LIBRARY_ANY;
  const gboolean blocks = op->gemm.stored.blocks;
  OrrCostLibraryGemm *gemm =
      asked == ORR_KERNEL_LIBRARY_ANY ? NULL : find_near(model, op, asked, blocks);
  if (!gemm && blocks) gemm = find_near(model, op, ORR_KERNEL_LIBRARY_ANY, TRUE);
  if (!gemm && blocks && asked != ORR_KERNEL_LIBRARY_ANY) gemm = find_near(model, op, asked, FALSE);
  const gboolean is_widened = op->gemm.stored.weight_bytes > 0;
  if (!gemm && (is_widened ? asked == ORR_KERNEL_LIBRARY_ANY : !has_own))
    gemm = find_near(model, op, ORR_KERNEL_LIBRARY_ANY, blocks);
  if (!gemm) {
    correct_device(model, op, &own);
    return is_other && asked != of_own ? from_library(own, of_own) : own;
  }
  OrrHow how;
  own.time_s *= exp(ratio_of(gemm, &op->gemm, &how));
  const gboolean is_asked = (asked == gemm->table->table.library ||
                             (asked == ORR_KERNEL_LIBRARY_ANY && !gemm->table->tuned)) &&
                            blocks == gemm->table->blocks;
  const gboolean is_exact = op->gemm.batch == 1;
  own.how = is_exact ? how : ORR_HOW_MODELLED;
  own.from_here = gemm->is_here;
  return is_asked ? own : from_library(own, gemm->table->table.library);
}

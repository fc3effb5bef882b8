/*
 * cost_library_gemm.c - matrix products by the kernels of one library, where engines ship different
 * ones: TensorRT-LLM's and vLLM's.
 *
 * A library's table is small: some tens of (n, k), each over the same m. It holds the logarithm of
 * its times over the profile's own answer (cost_gemm.c: thousands of (n, k) of another library, or
 * the roofline), since two libraries differ less than products of two shapes:
 *
 *   r_i(m)   = log(row i at m / own answer at m, n_i, k_i)     a line over log m, level at its ends
 *   r(m,n,k) = sum w_i r_i(m) / sum w_i,   w_i = 1 / (d_i + 0.05)^3        (Shepard 1968)
 *   t        = own answer * exp(r)
 *
 * with d the distance in (log n, log k). At a row the answer is the row. Exponents of 2 to 4 differ
 * by less than 0.1 points of mean error with each (n, k) left out.
 *
 * Which table answers, best first:
 *   1. the library's own, of the product's scales (per tensor, or by blocks);
 *   2. for scales by blocks, another library's: both run DeepGEMM's kernels or descendants of them;
 *   3. the profile's own answer; if the profile has no table of the format, any library's.
 * Weights stored narrower than they are multiplied (W4A16) have tables of their own; a library
 * without one reads them at the own answer's rate (cost_gemm.c), since kernels that widen weights
 * differ by a factor of two: TensorRT-LLM's on A100 take 1.7 to 2 times as long as that up to 64
 * rows, Marlin (vLLM, SGLang) about as long (Frantar et al. 2024, arXiv 2408.11743).
 * 2 and 3 count as carried over from the library that answers.
 *
 * A table `measured-on` the device whose rows the profile borrows (B300's profile has B200's) says
 * what the library costs there, and one measured on the device itself says it here. Their ratio is
 * what the newer device changed, which a datasheet shows badly (B300's fp4: a rate 1.4 times as
 * high, products 1.1 times as fast). So without a table of the library asked for, the own answer
 * is multiplied by exp(r_here - r_there).
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

static const double softening = 0.05;
static const double exact = 1e-9; /* a distance below which a row is the product's own */

typedef struct {
  double log_n, log_k;
  GArray *ratios; /* of double, one per m; NAN: not measured */
} Row;

struct OrrCostLibraryGemm {
  const OrrProfileLibraryGemm *table;
  const OrrCostModel *rates; /* of the device of the rows */
  gsize has_rows;            /* read from the profile, for g_once_init_enter */
  gboolean is_here; /* measured on the device that the model predicts, whose profile borrows rows */
  GArray *log_m;    /* of double */
  GArray *rows;     /* of Row */
  double least[2], most[2]; /* of log n and log k */
};

static void row_clear(gpointer data) { g_clear_pointer(&((Row *)data)->ratios, g_array_unref); }

void orr_cost_library_gemm_free(OrrCostLibraryGemm *gemm) {
  if (!gemm) return;
  g_clear_pointer(&gemm->log_m, g_array_unref);
  g_clear_pointer(&gemm->rows, g_array_unref);
  g_free(gemm);
}

/* --- building --- */

static void widen(OrrCostLibraryGemm *gemm, const Row *row) {
  const double at[] = {row->log_n, row->log_k};
  for (int axis = 0; axis < 2; axis++) {
    gemm->least[axis] = fmin(gemm->least[axis], at[axis]);
    gemm->most[axis] = fmax(gemm->most[axis], at[axis]);
  }
}

static gboolean add_row(const OrrCostModel *model, OrrCostLibraryGemm *gemm, const GArray *m,
                        const OrrProfileGemmRow *from, GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(from->us, TRUE, error);
  if (!us) return FALSE;
  Row row = {log((double)from->n), log((double)from->k), g_array_new(FALSE, FALSE, sizeof(double))};
  for (guint i = 0; i < MIN(us->len, m->len); i++) {
    OrrOperator op =
        orr_operator_gemm("row", ORR_PASS_FORWARD, (OrrDtype)gemm->table->table.dtype,
                          (OrrGemmShape){1, (gint64)g_array_index(m, double, i), from->n, from->k,
                                         .stored.weight_bytes = gemm->table->weight_bytes});
    const double ratio =
        log(g_array_index(us, double, i) * 1e-6 / orr_cost_gemm_own(model, &op).time_s);
    g_array_append_val(row.ratios, ratio);
  }
  widen(gemm, &row);
  g_array_append_val(gemm->rows, row);
  return TRUE;
}

static gboolean read_rows(OrrCostLibraryGemm *gemm, GError **error) {
  g_autoptr(GArray) m = orr_profile_numbers(gemm->table->table.m, FALSE, error);
  const GPtrArray *rows = gemm->table->table.rows;
  for (guint i = 0; m && i < m->len; i++) {
    const double log_m = log(g_array_index(m, double, i));
    g_array_append_val(gemm->log_m, log_m);
  }
  for (guint i = 0; m && i < rows->len; i++)
    if (!add_row(gemm->rates, gemm, m, rows->pdata[i], error)) return FALSE;
  return m != NULL;
}

/* At the first query; the numbers were checked when the profile was read. */
static void need_rows(OrrCostLibraryGemm *gemm) {
  if (!g_once_init_enter(&gemm->has_rows)) return;
  g_autoptr(GError) error = NULL;
  if (!read_rows(gemm, &error)) g_critical("library-gemm: %s", error->message);
  g_once_init_leave(&gemm->has_rows, 1);
}

void orr_cost_library_gemm_add(OrrCostModel *model, const OrrCostModel *rates,
                               const OrrProfileLibraryGemm *table, gboolean is_here) {
  OrrCostLibraryGemm *gemm = g_new0(OrrCostLibraryGemm, 1);
  *gemm = (OrrCostLibraryGemm){.table = table,
                               .rates = rates,
                               .is_here = is_here,
                               .log_m = g_array_new(FALSE, FALSE, sizeof(double)),
                               .rows = g_array_new(FALSE, FALSE, sizeof(Row)),
                               .least = {INFINITY, INFINITY},
                               .most = {-INFINITY, -INFINITY}};
  g_array_set_clear_func(gemm->rows, row_clear);
  g_ptr_array_add(model->library_gemm, gemm);
}

/* --- the ratio at a product --- */

/* The row's ratio at @log_m, on the line between its measured neighbours; NAN: it has none. */
static double ratio_over_m(const OrrCostLibraryGemm *gemm, const Row *row, double log_m,
                           gboolean *ret_at_row) {
  guint below = G_MAXUINT, above = G_MAXUINT;
  for (guint i = 0; i < row->ratios->len; i++) {
    if (isnan(g_array_index(row->ratios, double, i))) continue;
    if (g_array_index(gemm->log_m, double, i) <= log_m + exact) below = i;
    if (g_array_index(gemm->log_m, double, i) >= log_m - exact && above == G_MAXUINT) above = i;
  }
  *ret_at_row = below == above && below != G_MAXUINT;
  if (below == G_MAXUINT && above == G_MAXUINT) return NAN;
  if (below == G_MAXUINT || below == above) return g_array_index(row->ratios, double, above);
  if (above == G_MAXUINT) return g_array_index(row->ratios, double, below);
  const double a = g_array_index(gemm->log_m, double, below),
               b = g_array_index(gemm->log_m, double, above), share = (log_m - a) / (b - a);
  return (1 - share) * g_array_index(row->ratios, double, below) +
         share * g_array_index(row->ratios, double, above);
}

static gboolean is_outside(const OrrCostLibraryGemm *gemm, double log_m, double log_n,
                           double log_k) {
  const double *m = (const double *)(void *)gemm->log_m->data;
  return log_m < m[0] - exact || log_m > m[gemm->log_m->len - 1] + exact ||
         log_n < gemm->least[0] - exact || log_n > gemm->most[0] + exact ||
         log_k < gemm->least[1] - exact || log_k > gemm->most[1] + exact;
}

static double ratio_of(OrrCostLibraryGemm *gemm, const OrrGemmShape *shape, OrrHow *ret_how) {
  need_rows(gemm);
  const double log_m = log((double)(shape->batch * shape->m)), log_n = log((double)shape->n),
               log_k = log((double)shape->k);
  double sum = 0, weights = 0;
  *ret_how = is_outside(gemm, log_m, log_n, log_k) ? ORR_HOW_OUTSIDE : ORR_HOW_INTERPOLATED;
  ORR_EACH(const Row, row, gemm->rows) {
    gboolean at_row;
    const double ratio = ratio_over_m(gemm, row, log_m, &at_row);
    if (isnan(ratio)) continue;
    const double distance = hypot(row->log_n - log_n, row->log_k - log_k);
    if (distance < exact) {
      if (at_row) *ret_how = ORR_HOW_MEASURED;
      return ratio;
    }
    const double weight = pow(distance + softening, -3);
    sum += weight * ratio;
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
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
  const gboolean is_asked =
      (asked == gemm->table->table.library || asked == ORR_KERNEL_LIBRARY_ANY) &&
      blocks == gemm->table->blocks;
  const gboolean is_exact = op->gemm.batch == 1;
  own.how = is_exact ? how : ORR_HOW_MODELLED;
  own.from_here = gemm->is_here;
  return is_asked ? own : from_library(own, gemm->table->table.library);
}

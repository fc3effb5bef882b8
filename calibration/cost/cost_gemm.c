/*
 * cost_gemm.c - matrix products: measured over (m, n, k), extended by a roofline with tile and wave
 * quantisation.
 *
 * Roofline. An output of m x n is cut into tiles of tm x tn; `batch` products share the SMs in
 * whole waves:
 *
 *   waves   = ceil(batch ceil(m/tm) ceil(n/tn) / SMs)
 *   t_wave  = min over tiles of waves * 2 tm tn k / (peak / SMs * e(tm, tn))
 *   t_plain = 2 batch m n k / (peak * e)
 *   t       = overhead + sqrt((t_wave^w t_plain^(1-w))^2 + (bytes / bandwidth)^2)
 *
 * On a systolic array t_plain is the padded product's (orr_cost_matrix_unit_use).
 *
 * e is the profile's gemm-efficiency; a tile smaller than 128 x 256 reads more operand per
 * multiply-add, and its rate falls with the fourth root of its area. w (gemm-wave-share) is the
 * weight of the quantisation: cuBLAS hides some of it by split-k, stream-k and its choice of tiles.
 * w was fitted by leaving out every seventh measured (n, k) in turn; it differs between generations
 * (A100 0.75; H100, with persistent kernels, 0).
 *
 * Beyond the rows in m but not in n (or the reverse), the transposed product answers: it has the
 * same tiles, waves, bytes and FLOPs. It is not nearer to its roofline than the nearest product of
 * the rows, so that one token more does not make a product faster.
 *
 * Batched products (unfused attention, experts): between two tables of batches the distance from
 * the roofline lies on a line over log batch. Where none was measured (no shipped profile has such
 * rows; `orrery calibrate` measures them), they take the distance of the unbatched product with the
 * same FLOPs and output, (batch m, n, k); or, where a matrix meets fewer rows than a tile has, of
 * (m, batch n, k), which has the same number of tiles and reads as many weights. The roofline
 * counts the true bytes: how = modelled.
 *
 * The backward's products have other operands with k innermost. Where the profile has no rows of
 * their layout (no shipped one has; `orrery calibrate` measures them), forward's answer. On H100
 * their rates differ by a few per cent, either way.
 *
 * A stack may name the release of its library (op->release): rows of that release answer first.
 * Where there are none, the time is the rows' over op->rate, which the stack says with a source.
 *
 * The narrow rows are a serving engine's linear layer, which casts its input in kernels of its own:
 * a launch, and m k elements at a rate (the profile's fp8-row-cast ...). Training that casts
 * separately (cast_apart) pays for the cast elsewhere, so it is subtracted here.
 *
 * A row is excluded where its time contradicts larger or smaller products and its neighbours do
 * not support it (grid_odd.c). It is interpolated from its neighbours, how = interpolated, and
 * `orrery calibrate cost` reports it.
 *
 * Kernels of another library than the rows': cost_library_gemm.c.
 *
 * A result that is added to a stored sum (sum_bytes) is read and written in the sum's format. The
 * roofline counts those bytes; the distance from it is the plain product's.
 *
 * Weights stored narrower than they are multiplied (W4A16) were not measured either. The roofline
 * reads them narrow; the distance from it is the plain product's.
 *
 * Tensor cores load 16 bytes at a time. In the libraries of 2021-22, batched products whose rows (n
 * or k elements) are not a multiple of 16 bytes run on the CUDA cores, at the fp32 rate (NVIDIA,
 * Matrix Multiplication Background User's Guide, "Tensor Core Requirements"; Anthony et al. 2024,
 * arXiv 2401.14489, section VI-B: heads of 108 or 150 elements). Later libraries pad in shared
 * memory; fused attention is not affected.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

typedef struct {
  int m, n;
} Tile;

/* Tiles that cuBLAS and CUTLASS offer on tensor cores. */
static const Tile tiles[] = {{128, 256}, {256, 128}, {128, 128}, {64, 128},
                             {128, 64},  {64, 64},   {64, 32},   {32, 64}};

enum { LARGEST_TILE = 256 }; /* the longest side of a tile */

/* @batch products of m x n x k. */
typedef struct {
  OrrDtype dtype;
  double batch, m, n, k;
  double weight_bytes, sum_bytes; /* as OrrOperandStorage; 0: as dtype, and written */
} Product;

static double wave_seconds(const OrrCostModel *model, const Product *p) {
  static const double full_area = 128 * 256;
  double sm_flops =
      model->peak_flops[p->dtype] / (double)model->device->sms * model->constants->gemm_efficiency;
  double best = INFINITY;
  for (guint i = 0; i < G_N_ELEMENTS(tiles); i++) {
    double area = tiles[i].m * tiles[i].n;
    double waves = ceil(p->batch * ceil(p->m / tiles[i].m) * ceil(p->n / tiles[i].n) /
                        (double)model->device->sms);
    best = fmin(best, waves * 2 * area * p->k / (sm_flops * sqrt(sqrt(area / full_area))));
  }
  return best;
}

static double gemm_bytes(const Product *p) {
  double operand = orr_dtype_bytes(p->dtype),
         result = fmax(operand, 2); /* 8-bit and 4-bit products are written as 16 */
  if (p->sum_bytes > 0) result = p->sum_bytes;
  const double weight = p->weight_bytes > 0 ? p->weight_bytes : operand;
  return p->batch * (operand * p->m * p->k + weight * p->n * p->k + result * p->m * p->n);
}

static double gemm_roofline_s(const OrrCostModel *model, const Product *p) {
  const double weight = model->constants->gemm_wave_share;
  double compute_s = 2 * p->batch * p->m * p->n * p->k /
                     (model->peak_flops[p->dtype] * model->constants->gemm_efficiency);
  compute_s /= orr_cost_matrix_unit_use(model->device, p->m, p->n, p->k);
  if (weight > 0) compute_s *= pow(wave_seconds(model, p) / compute_s, weight);
  return orr_cost_roofline_s(model, compute_s, gemm_bytes(p));
}

double orr_cost_gemm_roofline_s(const OrrCostModel *model, OrrDtype dtype, double m, double n,
                                double k) {
  return gemm_roofline_s(model, &(Product){.dtype = dtype, .batch = 1, .m = m, .n = n, .k = k});
}

/* --- building --- */

/* The distinct n (or k) of the rows, rising. */
static GArray *axis_of_rows(const OrrProfileGemm *table, gboolean of_k) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH_POINTER(const OrrProfileGemmRow, row, table->rows)
    ORR_APPEND(axis, double, (double)(of_k ? row->k : row->n));
  orr_grid_sort_axis(axis);
  return axis;
}

static guint index_of(const GArray *axis, double value) {
  guint i = 0;
  while (i + 1 < axis->len && g_array_index(axis, double, i) < value) i++;
  return i;
}

/* A table's grid while it is built, and its axes. */
typedef struct {
  OrrGrid *grid;
  OrrDtype dtype;
  double batch;
  const GArray *m, *n, *k;
} Building;

static gboolean set_row(const OrrCostModel *model, const Building *building,
                        const OrrProfileGemmRow *row, GError **error) {
  const guint i_n = index_of(building->n, (double)row->n),
              i_k = index_of(building->k, (double)row->k);
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  if (!us) return FALSE;
  for (guint i = 0; i < MIN(us->len, building->m->len); i++) {
    double m = g_array_index(building->m, double, i), time_s = g_array_index(us, double, i) * 1e-6;
    const guint cell[] = {i, i_n, i_k};
    if (isnan(time_s)) continue;
    const double roofline_s = gemm_roofline_s(model, &(Product){.dtype = building->dtype,
                                                                .batch = building->batch,
                                                                .m = m,
                                                                .n = (double)row->n,
                                                                .k = (double)row->k});
    orr_grid_set(building->grid, cell, log(time_s / roofline_s));
    orr_grid_time(building->grid, cell, time_s, m * (double)row->n * (double)row->k);
  }
  return TRUE;
}

OrrGrid *orr_cost_gemm_build(const OrrCostModel *model, const OrrProfileGemm *table,
                             GError **error) {
  g_autoptr(GArray) m = orr_profile_numbers(table->m, FALSE, error);
  g_autoptr(GArray) n = axis_of_rows(table, FALSE);
  g_autoptr(GArray) k = axis_of_rows(table, TRUE);
  if (!m) return NULL;
  const double *const axes[] = {(double *)(void *)m->data, (double *)(void *)n->data,
                                (double *)(void *)k->data};
  g_autoptr(OrrGrid) grid = orr_grid_new(axes, (guint[]){m->len, n->len, k->len});
  const double batch = (double)MAX(1, table->batch);
  const Building building = {grid, (OrrDtype)table->dtype, batch, m, n, k};
  for (guint i = 0; i < table->rows->len; i++)
    if (!set_row(model, &building, table->rows->pdata[i], error)) return NULL;
  if (orr_grid_fill(grid)) return g_steal_pointer(&grid);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "gemm %s: there is no row",
                        orr_dtype_names[table->dtype]);
}

/* --- queries --- */

gboolean orr_cost_gemm_holds(const OrrCostModel *model, OrrDtype dtype) {
  return orr_cost_build_has_gemm(model, dtype) || orr_cost_library_gemm_holds(model, dtype) ||
         (orr_cost_is_16_bit(dtype) &&
          (orr_cost_build_has_gemm(model, ORR_BF16) || orr_cost_build_has_gemm(model, ORR_FP16)));
}

static OrrGemmLayout layout_of(const OrrOperator *op) {
  return op->pass == ORR_PASS_DGRAD   ? ORR_GEMM_DGRAD
         : op->pass == ORR_PASS_WGRAD ? ORR_GEMM_WGRAD
                                      : ORR_GEMM_FORWARD;
}

/* The table of @op's format, -1: none. 16-bit formats run at one rate on every device that has
 * both. Other formats borrow the 16-bit table, since the distance from the roofline depends on the
 * shape first; how is then modelled. */
static int find_table(const OrrCostModel *model, const OrrOperator *op, gboolean *ret_borrowed) {
  const OrrDtype dtype = (OrrDtype)op->dtype, twin = dtype == ORR_FP16   ? ORR_BF16
                                                     : dtype == ORR_BF16 ? ORR_FP16
                                                                         : dtype;
  const OrrDtype formats[] = {dtype, twin, ORR_BF16, ORR_FP16};
  int table = -1;
  guint i = 0;
  for (; table < 0 && i < G_N_ELEMENTS(formats); i++)
    table = orr_cost_build_gemm_find(model, formats[i], layout_of(op), &op->gemm, 1, op->release);
  *ret_borrowed = table < 0 || i > 2;
  return table;
}

/* The product's distance from its roofline. The transpose, n x m, is the same work with the
 * operands exchanged: where the rows hold only the transpose, it answers. */
static double ratio_at(const OrrGrid *grid, double m, double n, double k, OrrGridTrust *ret_trust,
                       gboolean *ret_turned) {
  double ratio = orr_grid_at(grid, (double[]){m, n, k}, ret_trust);
  *ret_turned = FALSE;
  if (*ret_trust != ORR_GRID_BEYOND) return ratio;
  OrrGridTrust trust;
  double transposed = orr_grid_at(grid, (double[]){n, m, k}, &trust);
  if (trust == ORR_GRID_BEYOND) return ratio;
  *ret_trust = ORR_GRID_BETWEEN;
  *ret_turned = TRUE;
  return fmax(transposed, ratio); /* as the head comment says */
}

/* The tables of batched products next to @op's batch, below and above; -1: none. The unbatched
 * @table is one. */
static void find_batches(const OrrCostModel *model, const OrrOperator *op, int table,
                         int *ret_below, int *ret_above) {
  const GPtrArray *tables = model->profile->gemm;
  gint64 below = 1, above = G_MAXINT64;
  *ret_below = table;
  *ret_above = -1;
  ORR_EACH_POINTER(const OrrProfileGemm, one, tables) {
    if (one->batch <= 1 || (one->batch > op->gemm.batch ? one->batch >= above : one->batch < below))
      continue;
    const int found =
        orr_cost_build_gemm_find(model, (OrrDtype)((OrrProfileGemm *)tables->pdata[table])->dtype,
                                 layout_of(op), &op->gemm, one->batch, op->release);
    if (found < 0) continue;
    *(one->batch > op->gemm.batch ? &above : &below) = one->batch;
    *(one->batch > op->gemm.batch ? ret_above : ret_below) = found;
  }
}

/* The distance from the roofline of a batched product, by tables of batches. FALSE: the profile has
 * none. */
static gboolean batched_ratio(const OrrCostModel *model, const OrrOperator *op, int table,
                              double *ret_ratio, OrrGridTrust *ret_trust) {
  const GPtrArray *tables = model->profile->gemm;
  const double at[] = {(double)op->gemm.m, (double)op->gemm.n, (double)op->gemm.k};
  int below, above;
  find_batches(model, op, table, &below, &above);
  if (below == table && above < 0) return FALSE;
  const double low = (double)MAX(1, ((OrrProfileGemm *)tables->pdata[below])->batch);
  *ret_ratio = orr_grid_at(orr_cost_build_gemm_at(model, (guint)below), at, ret_trust);
  if (low == (double)op->gemm.batch) return TRUE;
  if (above < 0) {
    *ret_trust = ORR_GRID_BEYOND;
    return TRUE;
  }
  OrrGridTrust trust;
  const double high = (double)((OrrProfileGemm *)tables->pdata[above])->batch;
  const double other = orr_grid_at(orr_cost_build_gemm_at(model, (guint)above), at, &trust);
  const double share = log((double)op->gemm.batch / low) / log(high / low);
  *ret_ratio += share * (other - *ret_ratio);
  *ret_trust = MAX(MAX(*ret_trust, trust), ORR_GRID_BETWEEN);
  return TRUE;
}

/* The time of the rows' own cast of @elements. */
static double row_cast_s(const OrrCostModel *model, OrrDtype dtype, double elements) {
  const OrrProfileConstants *c = model->constants;
  const double launch_s = dtype == ORR_FP8   ? c->fp8_row_launch_s
                          : dtype == ORR_FP4 ? c->fp4_row_launch_s
                                             : 0;
  const double bytes_per_s = dtype == ORR_FP8   ? c->fp8_row_cast
                             : dtype == ORR_FP4 ? c->fp4_row_cast
                                                : 0;
  return launch_s + (bytes_per_s > 0 ? 2 * elements / bytes_per_s : 0);
}

static gboolean misses_tensor_cores(const OrrOperator *op) {
  const gint64 elements = (gint64)(16 / orr_dtype_bytes((OrrDtype)op->dtype));
  return op->kernels == ORR_KERNELS_EAGER && op->gemm.batch > 1 &&
         (op->gemm.n % elements != 0 || op->gemm.k % elements != 0);
}

static OrrCost cuda_core_gemm(const OrrCostModel *model, const Product *p) {
  const double compute_s = 2 * p->batch * p->m * p->n * p->k /
                           (model->device->fp32_flops * model->constants->gemm_efficiency);
  Product plain = *p;
  plain.weight_bytes = plain.sum_bytes = 0;
  return (OrrCost){orr_cost_roofline_s(model, compute_s, gemm_bytes(&plain)), ORR_HOW_MODELLED};
}

static OrrCost warm_gemm(const OrrCostModel *model, const OrrOperator *op) {
  const OrrCost own = orr_cost_gemm_own(model, op);
  if (model->library_gemm->len == 0 || own.time_s <= 0 || op->gemm.stored.cast_apart ||
      op->kernels == ORR_KERNELS_EAGER)
    return own;
  gboolean borrowed;
  const gboolean has_table = find_table(model, op, &borrowed) >= 0 && !borrowed;
  return orr_cost_library_gemm(model, op, has_table, own);
}

/* Rows are measured in a loop over one matrix, which a large L2 cache keeps. A model's weights come
 * from memory: no product is faster than its weights are read. */
OrrCost orr_cost_gemm(const OrrCostModel *model, const OrrOperator *op) {
  OrrCost cost = warm_gemm(model, op);
  const double stored = op->gemm.stored.weight_bytes;
  const double bytes = (double)op->gemm.n * (double)op->gemm.k *
                       (stored > 0 ? stored : orr_dtype_bytes((OrrDtype)op->dtype));
  const double least_s = bytes / model->device->memory_bytes_per_s;
  if (op->gemm.batch != 1 || cost.time_s <= 0 || cost.time_s >= least_s) return cost;
  cost.time_s = least_s;
  cost.how = MAX(cost.how, ORR_HOW_MODELLED);
  return cost;
}

OrrCost orr_cost_gemm_own(const OrrCostModel *model, const OrrOperator *op) {
  const Product product = {.dtype = (OrrDtype)op->dtype,
                           .batch = (double)op->gemm.batch,
                           .m = (double)op->gemm.m,
                           .n = (double)op->gemm.n,
                           .k = (double)op->gemm.k,
                           .weight_bytes = op->gemm.stored.weight_bytes,
                           .sum_bytes = op->gemm.stored.sum_bytes};
  const double batch = product.batch, m = product.m, n = product.n, k = product.k;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return (OrrCost){0, ORR_HOW_MODELLED};
  if (misses_tensor_cores(op) && model->device->fp32_flops > 0)
    return cuda_core_gemm(model, &product);
  gboolean borrowed;
  const int table = find_table(model, op, &borrowed);
  double roofline_s = gemm_roofline_s(model, &product);
  if (op->rate > 0 &&
      !(table >= 0 && orr_cost_build_gemm_is_of(model->profile->gemm->pdata[table], op->release)))
    roofline_s /= op->rate;
  if (table < 0) return (OrrCost){roofline_s, ORR_HOW_MODELLED};
  OrrGridTrust trust;
  gboolean turned = FALSE;
  const gboolean is_thin = batch > 1 && m < LARGEST_TILE && m < n;
  const double rows = is_thin ? m : batch * m, columns = is_thin ? batch * n : n;
  double ratio;
  if (batch <= 1 || !batched_ratio(model, op, table, &ratio, &trust)) {
    ratio =
        ratio_at(orr_cost_build_gemm_at(model, (guint)table), rows, columns, k, &trust, &turned);
    borrowed |= batch > 1;
  }
  borrowed |= product.weight_bytes > 0;
  if (op->gemm.stored.exact_sums) roofline_s *= model->constants->fp8_exact_sums;
  double time_s = roofline_s * exp(ratio);
  if (op->gemm.stored.cast_apart && orr_cost_build_has_gemm(model, (OrrDtype)op->dtype))
    time_s = fmax(time_s - row_cast_s(model, (OrrDtype)op->dtype, (turned ? columns : rows) * k),
                  op->flops / model->peak_flops[op->dtype]);
  return (OrrCost){time_s, borrowed ? ORR_HOW_MODELLED : orr_cost_how(trust)};
}

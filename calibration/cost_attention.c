/*
 * cost_attention.c - fused attention: measured over heads, batch and length, for each kind of heads.
 *
 * Roofline. Of q queries over L keys, causal, query i sees the first L - q + i + 1 keys:
 *
 *   pairs = q L                      (not causal)
 *         = q L - q (q - 1) / 2      (causal)
 *   flops = 4 batch heads pairs head_dim;   bytes = q, k, v and the result once
 *   t     = overhead + sqrt((flops / (peak e))^2 + (bytes / bandwidth)^2)
 *
 * Two measured phases: prefill (q = L, causal) and decode (q = 1). A grid holds, for one head size and one number of
 * key heads (or: as many as query heads), heads x batch x length; between two numbers of key heads, and between two
 * head sizes, the answers are blended in the logarithm. Anything else (a chunk of a prefill, not causal) borrows the
 * distance from the roofline of the prefill with as many pairs: how = modelled.
 *
 * The backward pass was not measured: attention-backward-flops (2.5: five products for two, FlashAttention-2, Dao 2023,
 * section 3.1.2) at attention-backward-efficiency of the forward rate.
 */
#include <math.h>

#include "calibration/cost_private.h"
#include "sim/base/fault.h"

typedef struct {
  OrrProfilePhase phase;
  OrrDtype dtype, kv_dtype;
  double batch, queries, length, heads, kv_heads, head_dim;
  gboolean causal;
} Shape;

static double pairs_of(const Shape *shape) {
  double all = shape->queries * shape->length;
  return shape->causal ? all - shape->queries * (shape->queries - 1) / 2 : all;
}

static double attention_roofline_s(const OrrCostModel *model, const Shape *shape) {
  double flops = 4 * shape->batch * shape->heads * pairs_of(shape) * shape->head_dim;
  double of_queries = 2 * shape->heads * shape->queries * fmax(orr_dtype_bytes(shape->dtype), 2);
  double of_keys = 2 * shape->kv_heads * shape->length * orr_dtype_bytes(shape->kv_dtype);
  double rate = model->peak_flops[shape->dtype] * model->constants->attention_efficiency;
  return orr_cost_roofline_s(model, flops / rate, shape->batch * shape->head_dim * (of_queries + of_keys));
}

/* --- building --- */

static gint64 key_heads_of(const OrrProfileAttentionRow *row) {
  return row->heads == row->kv_heads ? 0 : row->kv_heads;
}

/* Does @row belong to the grid (@head_dim, @kv_heads)? Rows with as many key heads as heads belong to two. */
static gboolean belongs(const OrrProfileAttentionRow *row, gint64 head_dim, gint64 kv_heads) {
  return row->head_dim == head_dim && (kv_heads ? row->kv_heads == kv_heads : row->heads == row->kv_heads);
}

static GArray *heads_axis(const OrrProfileAttention *table, gint64 head_dim, gint64 kv_heads) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < table->rows->len; i++) {
    const OrrProfileAttentionRow *row = table->rows->pdata[i];
    double heads = (double)row->heads;
    if (belongs(row, head_dim, kv_heads)) g_array_append_val(axis, heads);
  }
  orr_grid_sort_axis(axis);
  return axis;
}

typedef struct {
  GArray *heads, *batch, *length;
} Axes;

static gboolean set_row(const OrrCostModel *model, const OrrProfileAttention *table, const OrrProfileAttentionRow *row,
                        const Axes *axes, OrrGrid *grid, GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  if (!us) return FALSE;
  guint i_heads = 0;
  while (g_array_index(axes->heads, double, i_heads) < (double)row->heads) i_heads++;
  Shape shape = {.phase = (OrrProfilePhase)table->phase,
                 .dtype = (OrrDtype)table->dtype,
                 .kv_dtype = (OrrDtype)table->kv_dtype,
                 .causal = TRUE,
                 .heads = (double)row->heads,
                 .kv_heads = (double)row->kv_heads,
                 .head_dim = (double)row->head_dim};
  for (guint i = 0; i < MIN(us->len, axes->batch->len * axes->length->len); i++) {
    guint i_batch = i / axes->length->len, i_length = i % axes->length->len;
    double time_s = g_array_index(us, double, i) * 1e-6;
    shape.batch = g_array_index(axes->batch, double, i_batch);
    shape.length = g_array_index(axes->length, double, i_length);
    shape.queries = table->phase == ORR_PHASE_PREFILL ? shape.length : 1;
    if (!isnan(time_s))
      orr_grid_set(grid, (guint[]){i_heads, i_batch, i_length}, log(time_s / attention_roofline_s(model, &shape)));
  }
  return TRUE;
}

static OrrGrid *build_grid(const OrrCostModel *model, const OrrProfileAttention *table, gint64 head_dim,
                           gint64 kv_heads, Axes *axes, GError **error) {
  g_autoptr(GArray) heads = heads_axis(table, head_dim, kv_heads);
  axes->heads = heads;
  const double *const values[] = {(double *)(void *)heads->data, (double *)(void *)axes->batch->data,
                                  (double *)(void *)axes->length->data};
  g_autoptr(OrrGrid) grid = orr_grid_new(values, (guint[]){heads->len, axes->batch->len, axes->length->len});
  for (guint i = 0; i < table->rows->len; i++) {
    const OrrProfileAttentionRow *row = table->rows->pdata[i];
    if (belongs(row, head_dim, kv_heads) && !set_row(model, table, row, axes, grid, error)) return NULL;
  }
  if (orr_grid_fill(grid)) return g_steal_pointer(&grid);
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "attention: head-dim %" G_GINT64_FORMAT " has no row", head_dim);
  return NULL;
}

static gboolean is_built(const OrrCostModel *model, const OrrProfileAttention *table, gint64 head_dim,
                         gint64 kv_heads) {
  for (guint i = 0; i < model->attention->len; i++) {
    const OrrCostAttention *built = model->attention->pdata[i];
    if (built->phase == (OrrProfilePhase)table->phase && built->kv_dtype == (OrrDtype)table->kv_dtype &&
        built->head_dim == head_dim && built->kv_heads == kv_heads)
      return TRUE;
  }
  return FALSE;
}

gboolean orr_cost_attention_build(OrrCostModel *model, const OrrProfileAttention *table, GError **error) {
  g_autoptr(GArray) batch = orr_profile_numbers(table->batch, FALSE, error);
  g_autoptr(GArray) length = batch ? orr_profile_numbers(table->length, FALSE, error) : NULL;
  if (!length) return FALSE;
  Axes axes = {.batch = batch, .length = length};
  for (guint i = 0; i < table->rows->len; i++) {
    const OrrProfileAttentionRow *row = table->rows->pdata[i];
    gint64 kv_heads = key_heads_of(row);
    if (is_built(model, table, row->head_dim, kv_heads)) continue;
    OrrGrid *grid = build_grid(model, table, row->head_dim, kv_heads, &axes, error);
    if (!grid) return FALSE;
    OrrCostAttention *attention = g_new0(OrrCostAttention, 1);
    *attention =
        (OrrCostAttention){(OrrProfilePhase)table->phase, (OrrDtype)table->kv_dtype, row->head_dim, kv_heads, grid};
    g_ptr_array_add(model->attention, attention);
  }
  return TRUE;
}

/* --- asking --- */

/* A grid that stands at @at on the axis that is blended over. */
typedef struct {
  const OrrCostAttention *grid;
  double at;
} Stand;

static void keep_nearest(Stand *below, Stand *above, Stand found, double wanted) {
  if (found.at <= wanted && (!below->grid || found.at > below->at)) *below = found;
  if (found.at >= wanted && (!above->grid || found.at < above->at)) *above = found;
}

static gboolean is_asked(const OrrCostAttention *grid, const Shape *shape) {
  return grid->phase == shape->phase && grid->kv_dtype == shape->kv_dtype;
}

/* Weight of the upper of two stands; one that is missing is the other, and then @wanted is beyond the table. */
static double blend(Stand *below, Stand *above, double wanted, OrrGridTrust *trust) {
  if (!below->grid || !above->grid) *trust = ORR_GRID_BEYOND;
  if (!below->grid) *below = *above;
  if (!above->grid) *above = *below;
  if (below->at >= above->at) return 0;
  *trust = MAX(*trust, ORR_GRID_BETWEEN);
  return log(wanted / below->at) / log(above->at / below->at);
}

/* Distance from the roofline at the head size @head_dim, which has a grid. */
static double at_head_dim(const OrrCostModel *model, const Shape *shape, gint64 head_dim, OrrGridTrust *trust) {
  Stand below = {0}, above = {0};
  for (guint i = 0; i < model->attention->len; i++) {
    const OrrCostAttention *grid = model->attention->pdata[i];
    Stand stand = {grid, grid->kv_heads ? (double)grid->kv_heads : shape->heads};
    if (is_asked(grid, shape) && grid->head_dim == head_dim) keep_nearest(&below, &above, stand, shape->kv_heads);
  }
  double share = blend(&below, &above, shape->kv_heads, trust);
  const double point[] = {shape->heads, shape->batch, shape->length};
  OrrGridTrust own;
  double value = orr_grid_at(below.grid->grid, point, &own);
  *trust = MAX(*trust, own);
  if (share <= 0) return value;
  double upper = orr_grid_at(above.grid->grid, point, &own);
  *trust = MAX(*trust, own);
  return value * (1 - share) + upper * share;
}

/* Distance from the roofline; FALSE where no table is of that kind. */
static gboolean measured_ratio(const OrrCostModel *model, const Shape *shape, double *ret_ratio,
                               OrrGridTrust *ret_trust) {
  Stand below = {0}, above = {0};
  for (guint i = 0; i < model->attention->len; i++) {
    const OrrCostAttention *grid = model->attention->pdata[i];
    if (is_asked(grid, shape)) keep_nearest(&below, &above, (Stand){grid, (double)grid->head_dim}, shape->head_dim);
  }
  if (!below.grid && !above.grid) return FALSE;
  OrrGridTrust trust = ORR_GRID_ROW;
  double share = blend(&below, &above, shape->head_dim, &trust);
  double value = at_head_dim(model, shape, below.grid->head_dim, &trust);
  if (share > 0) value = value * (1 - share) + share * at_head_dim(model, shape, above.grid->head_dim, &trust);
  *ret_ratio = exp(value);
  *ret_trust = trust;
  return TRUE;
}

static OrrDtype measured_format(OrrDtype dtype) { return dtype == ORR_FP16 ? ORR_BF16 : dtype; }

static OrrCost forward(const OrrCostModel *model, const Shape *asked) {
  double roofline_s = attention_roofline_s(model, asked);
  gboolean as_measured = asked->queries == 1 || (asked->causal && asked->queries == asked->length);
  Shape shape = *asked; /* the measured shape that is nearest in kind */
  if (!as_measured) shape.queries = shape.length = fmax(1, round(sqrt(2 * pairs_of(asked))));
  double ratio;
  OrrGridTrust trust;
  if (!measured_ratio(model, &shape, &ratio, &trust)) {
    shape.kv_dtype = ORR_BF16;
    as_measured = FALSE;
    if (!measured_ratio(model, &shape, &ratio, &trust)) return (OrrCost){roofline_s, ORR_HOW_MODELLED};
  }
  return (OrrCost){roofline_s * ratio, as_measured ? orr_cost_how(trust) : ORR_HOW_MODELLED};
}

OrrCost orr_cost_attention(const OrrCostModel *model, const OrrOperator *op, OrrDtype kv_dtype) {
  if (op->batch <= 0 || op->q_length <= 0 || op->kv_length <= 0 || op->heads <= 0 || op->kv_heads <= 0 ||
      op->head_dim <= 0)
    return (OrrCost){0, ORR_HOW_MODELLED};
  Shape shape = {.phase = op->q_length == 1 && op->kv_length > 1 ? ORR_PHASE_DECODE : ORR_PHASE_PREFILL,
                 .dtype = measured_format((OrrDtype)op->dtype),
                 .kv_dtype = measured_format(kv_dtype),
                 .batch = (double)op->batch,
                 .queries = (double)op->q_length,
                 .length = (double)op->kv_length,
                 .heads = (double)op->heads,
                 .kv_heads = (double)op->kv_heads,
                 .head_dim = (double)op->head_dim,
                 .causal = op->causal};
  OrrCost cost = forward(model, &shape);
  if (op->pass != ORR_PASS_FORWARD) {
    const OrrProfileConstants *constants = model->constants;
    double work_s = fmax(0, cost.time_s - constants->kernel_overhead_s);
    work_s *= constants->attention_backward_flops / constants->attention_backward_efficiency;
    cost = (OrrCost){constants->kernel_overhead_s + work_s, ORR_HOW_MODELLED};
  }
  return cost;
}

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
 * Two measured phases: prefill (q = L, causal) and decode (q = 1). A grid holds, for one head size and one group (query
 * heads for each key head, which is what kernels are chosen by), key heads x batch x length; between two groups, and
 * between two head sizes, the answers are blended in the logarithm. Anything else (a chunk of a prefill, not causal)
 * borrows the distance from the roofline of the prefill with as many pairs: how = modelled.
 *
 * A sequence's key heads are independent, so batch b over h key heads is the work of batch b h over one: rows of equal
 * group, b h and length differ by 0.8 % (A100), 2.2 % (B200, GB200 decode), 3 to 3.5 % (H100, H200) on average. Holes
 * take the mean of such rows as one more neighbour; and a number of key heads beyond the table is looked up at the
 * nearest one with the batch that gives equal work. What fills a GPU is blocks of queries, of all heads and sequences
 * (FlashAttention-2, Dao 2023, section 3.2): one head of 16,384 tokens leaves half of an H100 idle, one of 131,072 does
 * not. So a prefill beyond the longest row is looked up there, as it is and with the batch that gives as many blocks:
 * more of them make no kernel slower, the faster of the two rates counts.
 *
 * The backward pass was not measured: attention-backward-flops (2.5: five products for two, FlashAttention-2, Dao 2023,
 * section 4.1) at attention-backward-efficiency of the forward rate. FlashAttention-2 itself (attention: flash-2)
 * runs at flash-2-forward and flash-2-backward of these rates; FlashAttention in Triton, which came before it
 * (flash-triton), at flash-triton-forward and flash-triton-backward of FlashAttention-2's.
 */
#include <math.h>

#include "calibration/cost_private.h"
#include "sim/base/fault.h"

typedef struct {
  OrrProfilePhase phase;
  OrrDtype dtype, kv_dtype;
  double batch, queries, length, heads, kv_heads;
  double head_dim; /* the mean of a key's and a value's */
  double stored;   /* of a key's and a value's bytes, what is stored and read (MLA's cache: the key alone); 0: all */
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
  if (shape->stored > 0) of_keys *= shape->stored;
  double rate = model->peak_flops[shape->dtype] * model->constants->attention_efficiency;
  return orr_cost_roofline_s(model, flops / rate, shape->batch * shape->head_dim * (of_queries + of_keys));
}

/* --- building --- */

enum { KEY_HEADS, BATCH, LENGTH }; /* axes of a grid */

static double group_of(const OrrProfileAttentionRow *row) { return (double)(row->heads / row->kv_heads); }

static gboolean belongs(const OrrProfileAttentionRow *row, gint64 head_dim, double group) {
  return row->head_dim == head_dim && group_of(row) == group;
}

typedef struct {
  GArray *key_heads, *batch, *length;
} Axes;

/* The sum of ln(ratio) over rows of equal work and length, and how many. */
typedef struct {
  double sum;
  guint n;
} Mean;

static GArray *axis_of_rows(const OrrProfileAttention *table, gint64 head_dim, double group) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < table->rows->len; i++) {
    const OrrProfileAttentionRow *row = table->rows->pdata[i];
    double key_heads = (double)row->kv_heads;
    if (belongs(row, head_dim, group)) g_array_append_val(axis, key_heads);
  }
  orr_grid_sort_axis(axis);
  return axis;
}

/* Key heads times batch and the index of a length, as a key. */
static gint64 work_key(const Axes *axes, guint i_key_heads, guint i_batch, guint i_length) {
  double work = g_array_index(axes->key_heads, double, i_key_heads) * g_array_index(axes->batch, double, i_batch);
  return (gint64)work * (gint64)axes->length->len + i_length;
}

static void add_to_mean(GHashTable *means, gint64 key, double ratio) {
  Mean *mean = g_hash_table_lookup(means, &key);
  if (!mean) g_hash_table_insert(means, g_memdup2(&key, sizeof key), mean = g_new0(Mean, 1));
  mean->sum += ratio;
  mean->n++;
}

static gboolean set_row(const OrrCostModel *model, const OrrProfileAttention *table, const OrrProfileAttentionRow *row,
                        const Axes *axes, OrrGrid *grid, GHashTable *means, GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  if (!us) return FALSE;
  guint i_heads = 0;
  while (g_array_index(axes->key_heads, double, i_heads) < (double)row->kv_heads) i_heads++;
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
    if (isnan(time_s)) continue;
    shape.batch = g_array_index(axes->batch, double, i_batch);
    shape.length = g_array_index(axes->length, double, i_length);
    shape.queries = table->phase == ORR_PHASE_PREFILL ? shape.length : 1;
    double ratio = log(time_s / attention_roofline_s(model, &shape));
    orr_grid_set(grid, (guint[]){i_heads, i_batch, i_length}, ratio);
    add_to_mean(means, work_key(axes, i_heads, i_batch, i_length), ratio);
  }
  return TRUE;
}

/* What the other rows of equal work say of each cell. */
static void hint_equal_work(OrrGrid *grid, const Axes *axes, GHashTable *means) {
  for (guint h = 0; h < axes->key_heads->len; h++)
    for (guint b = 0; b < axes->batch->len; b++)
      for (guint l = 0; l < axes->length->len; l++) {
        gint64 key = work_key(axes, h, b, l);
        const Mean *mean = g_hash_table_lookup(means, &key);
        double own;
        if (!mean) continue;
        guint has_own = orr_grid_get(grid, (guint[]){h, b, l}, &own);
        if (mean->n > has_own)
          orr_grid_hint(grid, (guint[]){h, b, l}, (mean->sum - (has_own ? own : 0)) / (mean->n - has_own));
      }
}

static OrrGrid *build_grid(const OrrCostModel *model, const OrrProfileAttention *table, gint64 head_dim, double group,
                           Axes *axes, GError **error) {
  g_autoptr(GArray) key_heads = axis_of_rows(table, head_dim, group);
  g_autoptr(GHashTable) means = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  axes->key_heads = key_heads;
  const double *const values[] = {(double *)(void *)key_heads->data, (double *)(void *)axes->batch->data,
                                  (double *)(void *)axes->length->data};
  g_autoptr(OrrGrid) grid = orr_grid_new(values, (guint[]){key_heads->len, axes->batch->len, axes->length->len});
  for (guint i = 0; i < table->rows->len; i++) {
    const OrrProfileAttentionRow *row = table->rows->pdata[i];
    if (belongs(row, head_dim, group) && !set_row(model, table, row, axes, grid, means, error)) return NULL;
  }
  hint_equal_work(grid, axes, means);
  if (orr_grid_fill(grid)) return g_steal_pointer(&grid);
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "attention: head-dim %" G_GINT64_FORMAT " has no row", head_dim);
  return NULL;
}

static void group_clear(gpointer group) { orr_grid_free(((OrrCostAttentionGroup *)group)->grid); }

static int compare_groups(gconstpointer a, gconstpointer b) {
  double x = ((const OrrCostAttentionGroup *)a)->group, y = ((const OrrCostAttentionGroup *)b)->group;
  return (x > y) - (x < y);
}

void orr_cost_attention_free(OrrCostAttention *attention) {
  g_array_unref(attention->groups);
  g_free(attention);
}

/* The place for grids of that head size; made where it is not there. */
static OrrCostAttention *find_head_dim(OrrCostModel *model, const OrrProfileAttention *table, gint64 head_dim) {
  for (guint i = 0; i < model->attention->len; i++) {
    OrrCostAttention *built = model->attention->pdata[i];
    if (built->phase == (OrrProfilePhase)table->phase && built->kv_dtype == (OrrDtype)table->kv_dtype &&
        built->head_dim == head_dim)
      return built;
  }
  OrrCostAttention *attention = g_new0(OrrCostAttention, 1);
  *attention = (OrrCostAttention){(OrrProfilePhase)table->phase, (OrrDtype)table->kv_dtype, head_dim,
                                  g_array_new(FALSE, FALSE, sizeof(OrrCostAttentionGroup))};
  g_array_set_clear_func(attention->groups, group_clear);
  g_ptr_array_add(model->attention, attention);
  return attention;
}

static gboolean has_group(const OrrCostAttention *attention, double group) {
  for (guint i = 0; i < attention->groups->len; i++)
    if (g_array_index(attention->groups, OrrCostAttentionGroup, i).group == group) return TRUE;
  return FALSE;
}

gboolean orr_cost_attention_build(OrrCostModel *model, const OrrProfileAttention *table, GError **error) {
  g_autoptr(GArray) batch = orr_profile_numbers(table->batch, FALSE, error);
  g_autoptr(GArray) length = batch ? orr_profile_numbers(table->length, FALSE, error) : NULL;
  if (!length) return FALSE;
  Axes axes = {.batch = batch, .length = length};
  for (guint i = 0; i < table->rows->len; i++) {
    const OrrProfileAttentionRow *row = table->rows->pdata[i];
    OrrCostAttention *attention = find_head_dim(model, table, row->head_dim);
    OrrCostAttentionGroup group = {group_of(row), NULL};
    if (has_group(attention, group.group)) continue;
    group.grid = build_grid(model, table, row->head_dim, group.group, &axes, error);
    if (!group.grid) return FALSE;
    g_array_append_val(attention->groups, group);
    g_array_sort(attention->groups, compare_groups);
  }
  return TRUE;
}

/* --- asking --- */

/* Weight of the upper of two places on an axis; where they are one, @wanted is there or beyond the table. */
static double blend(double below, double above, double wanted, OrrGridTrust *trust) {
  if (below >= above) {
    if (below != wanted) *trust = ORR_GRID_BEYOND;
    return 0;
  }
  *trust = MAX(*trust, ORR_GRID_BETWEEN);
  return log(wanted / below) / log(above / below);
}

/* Goes along equal work towards the box: @moved is brought into its range, as far as @other stays in its own. */
static void slide(const OrrGrid *grid, double *point, int moved, int other) {
  double low, high, other_low, other_high;
  orr_grid_range(grid, moved, &low, &high);
  orr_grid_range(grid, other, &other_low, &other_high);
  double factor = CLAMP(point[moved], low, high) / point[moved]; /* of moved; other goes the other way */
  if (factor == 1) return;
  factor = CLAMP(factor, fmin(1, point[other] / other_high), fmax(1, point[other] / other_low));
  point[moved] *= factor;
  point[other] /= factor;
}

static double at_equal_work(const OrrGrid *grid, double *point, OrrGridTrust *trust) {
  const double batch = point[BATCH];
  OrrGridTrust own;
  slide(grid, point, KEY_HEADS, BATCH);
  slide(grid, point, BATCH, KEY_HEADS);
  const double value = orr_grid_at(grid, point, &own);
  *trust = MAX(*trust, point[BATCH] != batch ? MAX(own, ORR_GRID_BETWEEN) : own);
  return value;
}

static double in_group(const OrrCostAttentionGroup *group, const Shape *shape, OrrGridTrust *trust) {
  double point[ORR_GRID_AXES] = {shape->kv_heads, shape->batch, shape->length}, low, longest;
  const double value = at_equal_work(group->grid, point, trust);
  orr_grid_range(group->grid, LENGTH, &low, &longest);
  if (shape->phase != ORR_PHASE_PREFILL || shape->length <= longest) return value;
  const double as_many_blocks = shape->batch * shape->length / longest;
  double other[ORR_GRID_AXES] = {shape->kv_heads, as_many_blocks, longest};
  return fmin(value, at_equal_work(group->grid, other, trust)); /* *trust says already that it is beyond */
}

/* Distance from the roofline at the head size of @attention. */
static double at_head_dim(const OrrCostAttention *attention, const Shape *shape, OrrGridTrust *trust) {
  const OrrCostAttentionGroup *groups = (const OrrCostAttentionGroup *)(void *)attention->groups->data;
  double wanted = shape->heads / shape->kv_heads;
  guint above = 0, last = attention->groups->len - 1;
  while (above < last && groups[above].group < wanted) above++;
  guint below = above > 0 && groups[above].group > wanted ? above - 1 : above;
  double share = blend(groups[below].group, groups[above].group, wanted, trust);
  double value = in_group(&groups[below], shape, trust);
  return share > 0 ? value * (1 - share) + share * in_group(&groups[above], shape, trust) : value;
}

/* Distance from the roofline; FALSE where no table is of that kind. */
static gboolean measured_ratio(const OrrCostModel *model, const Shape *shape, double *ret_ratio,
                               OrrGridTrust *ret_trust) {
  const OrrCostAttention *below = NULL, *above = NULL; /* the nearest head sizes */
  for (guint i = 0; i < model->attention->len; i++) {
    const OrrCostAttention *at = model->attention->pdata[i];
    if (at->phase != shape->phase || at->kv_dtype != shape->kv_dtype) continue;
    if ((double)at->head_dim <= shape->head_dim && (!below || at->head_dim > below->head_dim)) below = at;
    if ((double)at->head_dim >= shape->head_dim && (!above || at->head_dim < above->head_dim)) above = at;
  }
  if (!below && !above) return FALSE;
  below = below ? below : above;
  above = above ? above : below;
  OrrGridTrust trust = ORR_GRID_ROW;
  double share = blend((double)below->head_dim, (double)above->head_dim, shape->head_dim, &trust);
  double value = at_head_dim(below, shape, &trust);
  if (share > 0) value = value * (1 - share) + share * at_head_dim(above, shape, &trust);
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

/* A kernel that is told by its rate in that of the rows. */
static OrrCost named_kernel(const OrrProfileConstants *constants, const OrrOperator *op, OrrCost cost) {
  const gboolean forward_pass = op->pass == ORR_PASS_FORWARD;
  double share = forward_pass ? constants->flash_2_forward : constants->flash_2_backward;
  if (op->flash == ORR_FLASH_TRITON)
    share *= forward_pass ? constants->flash_triton_forward : constants->flash_triton_backward;
  if (share == 1) return cost;
  const double work_s = fmax(0, cost.time_s - constants->kernel_overhead_s);
  return (OrrCost){constants->kernel_overhead_s + work_s / share, ORR_HOW_MODELLED};
}

OrrCost orr_cost_attention(const OrrCostModel *model, const OrrOperator *op, OrrDtype kv_dtype) {
  if (op->batch <= 0 || op->q_length <= 0 || op->kv_length <= 0 || op->heads <= 0 || op->kv_heads <= 0 ||
      op->head_dim <= 0)
    return (OrrCost){0, ORR_HOW_MODELLED};
  double mean_dim = op->value_dim ? (double)(op->head_dim + op->value_dim) / 2 : (double)op->head_dim;
  Shape shape = {.phase = op->q_length == 1 && op->kv_length > 1 ? ORR_PHASE_DECODE : ORR_PHASE_PREFILL,
                 .dtype = measured_format((OrrDtype)op->dtype),
                 .kv_dtype = measured_format(kv_dtype),
                 .batch = (double)op->batch,
                 .queries = (double)op->q_length,
                 .length = (double)op->kv_length,
                 .heads = (double)op->heads,
                 .kv_heads = (double)op->kv_heads,
                 .head_dim = mean_dim,
                 .stored = op->latent ? (double)op->head_dim / (2 * mean_dim) : 0,
                 .causal = op->causal};
  OrrCost cost = forward(model, &shape);
  if (op->pass != ORR_PASS_FORWARD) {
    const OrrProfileConstants *constants = model->constants;
    double work_s = fmax(0, cost.time_s - constants->kernel_overhead_s);
    work_s *= constants->attention_backward_flops / constants->attention_backward_efficiency;
    cost = (OrrCost){constants->kernel_overhead_s + work_s, ORR_HOW_MODELLED};
  }
  return op->flash == ORR_FLASH_AS_MEASURED ? cost : named_kernel(model->constants, op, cost);
}

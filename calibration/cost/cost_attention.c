/*
 * cost_attention.c - fused attention: measured over heads, batch and length, for each head size and
 * grouping of heads.
 *
 * Roofline. Of q queries over L keys, causal, query i sees the first L - q + i + 1 keys:
 *
 *   pairs = q L                      (not causal)
 *         = q L - q (q - 1) / 2      (causal)
 *   flops = 4 batch heads pairs head_dim;   bytes = q, k, v and the result once
 *   t     = overhead + sqrt((flops / (peak e))^2 + (bytes / bandwidth)^2)
 *
 * On a systolic array both products are padded (cost_roofline.c): a head of 128 fills half of one
 * of 256 x 256.
 *
 * Two phases are measured: prefill (q = L, causal) and decode (q = 1). A grid has the axes key
 * heads x batch x length, for one head size and one group (query heads per key head, by which
 * libraries choose kernels). Between two groups, and between two head sizes, the answers are
 * interpolated in the logarithm. Any other shape (a chunk of a prefill, not causal) borrows the
 * distance from the roofline of the prefill with the same number of pairs: how = modelled.
 *
 * A sequence's key heads are independent, so batch b over h key heads is the same work as batch b h
 * over one: rows of equal group, b h and length differ by 0.8 % (A100), 2.2 % (B200, GB200 decode),
 * 3 to 3.5 % (H100, H200) on average. A hole takes the mean of such rows as one more estimate, and
 * the rows of the nearest groups at the same key heads, batch and length as another. At the ends of
 * the batch axis there is no other: a decode of one sequence over more than 8,192 keys splits them
 * over the GPU, which no larger batch shows (left out, such rows are 1 to 3 % off, 22 % without).
 * H100's decodes of head size 512 change their kernel between 512 and 1,024 sequences, which other
 * groups show. The table decides the weight of each estimate (grid.c).
 *
 * A number of key heads beyond the table is looked up at the nearest one, with the batch that gives
 * equal work. Blocks of queries, over all heads and sequences, fill a GPU (FlashAttention-2, Dao
 * 2023, section 3.2). So a prefill beyond the longest row is looked up there twice: with its own
 * batch, and with the batch of as many blocks. More blocks make no kernel slower.
 *
 * Where rows of a head size read more than the memory gives (302 of A100's decodes, up to 1.7
 * times; other devices' reach 0.96), no answer is shorter than the roofline's bytes / bandwidth.
 *
 * The backward pass was not measured. It has attention-backward-flops times the forward's FLOPs
 * (2.5: five products for two, FlashAttention-2, Dao 2023, section 4.1) at
 * attention-backward-efficiency of its rate. FlashAttention-2 itself (attention: flash-2) runs at
 * flash-2-forward and flash-2-backward of the rate of these rows; its predecessor in Triton
 * (flash-triton) at flash-triton-forward and flash-triton-backward of FlashAttention-2's.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

typedef struct {
  OrrProfilePhase phase;
  OrrDtype dtype, kv_dtype;
  double batch, queries, length, heads, kv_heads;
  double head_dim; /* the mean of a key's size and a value's */
  /* Fraction of a key's and a value's bytes that is stored and read (MLA's cache: the key
   * alone); 0: all. */
  double stored;
  gboolean causal;
} Shape;

static double pairs_of(const Shape *shape) {
  double all = shape->queries * shape->length;
  return shape->causal ? all - shape->queries * (shape->queries - 1) / 2 : all;
}

/* Of the two products, queries x keys over a head's size and weights x values into it. */
static double matrix_unit_use(const OrrCostModel *model, const Shape *shape) {
  const double q = shape->queries, n = shape->length, d = shape->head_dim;
  const double of_keys = orr_cost_matrix_unit_use(model->device, q, n, d),
               of_values = orr_cost_matrix_unit_use(model->device, q, d, n);
  return 2 / (1 / of_keys + 1 / of_values);
}

static double bytes_of_keys(const Shape *shape) {
  return shape->batch * shape->head_dim * 2 * shape->kv_heads * shape->length *
         orr_dtype_bytes(shape->kv_dtype) * (shape->stored > 0 ? shape->stored : 1);
}

static double attention_roofline_s(const OrrCostModel *model, const Shape *shape) {
  double flops = 4 * shape->batch * shape->heads * pairs_of(shape) * shape->head_dim;
  double of_queries = 2 * shape->heads * shape->queries * fmax(orr_dtype_bytes(shape->dtype), 2);
  double rate = model->peak_flops[shape->dtype] * model->constants->attention_efficiency *
                matrix_unit_use(model, shape);
  return orr_cost_roofline_s(model, flops / rate,
                             shape->batch * shape->head_dim * of_queries + bytes_of_keys(shape));
}

/* --- building --- */

enum { KEY_HEADS, BATCH, LENGTH }; /* axes of a grid */

/* Attention with `group` query heads per key head: key heads x batch x length. */
typedef struct {
  double group;
  OrrGrid *grid; /* grid_of */
  gsize is_filled;
} Group;

/* Attention of one head size. */
struct OrrCostAttention {
  gint64 head_dim;
  GArray *groups;         /* Group, rising */
  gboolean beyond_memory; /* a row reads more than the memory gives */
};

static double group_of(const OrrProfileAttentionRow *row) {
  return (double)(row->heads / row->kv_heads);
}

static gboolean belongs(const OrrProfileAttentionRow *row, gint64 head_dim, double group) {
  return row->head_dim == head_dim && group_of(row) == group;
}

typedef struct {
  GArray *key_heads, *batch, *length;
} Axes;

/* Sum of ln(ratio) over the rows of equal work and length, and their number. */
typedef struct {
  double sum;
  guint n;
} Mean;

static GArray *axis_of_rows(const OrrProfileAttention *table, gint64 head_dim, double group) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH_POINTER(const OrrProfileAttentionRow, row, table->rows) {
    double key_heads = (double)row->kv_heads;
    if (belongs(row, head_dim, group)) g_array_append_val(axis, key_heads);
  }
  orr_grid_sort_axis(axis);
  return axis;
}

/* A hash key of the work (key heads times batch) and the index of the length. */
static gint64 work_key(const Axes *axes, guint i_key_heads, guint i_batch, guint i_length) {
  double work = g_array_index(axes->key_heads, double, i_key_heads) *
                g_array_index(axes->batch, double, i_batch);
  return (gint64)work * (gint64)axes->length->len + i_length;
}

static void add_to_mean(GHashTable *means, gint64 key, double ratio) {
  Mean *mean = g_hash_table_lookup(means, &key);
  if (!mean) g_hash_table_insert(means, g_memdup2(&key, sizeof key), mean = g_new0(Mean, 1));
  mean->sum += ratio;
  mean->n++;
}

/* One group of one head size while its grid is built. */
typedef struct {
  gint64 head_dim;
  double group;
  Axes axes; /* owns its key heads */
  OrrGrid *grid;
  GHashTable *means; /* rows of equal work: work_key -> Mean */
  gboolean beyond_memory;
} Building;

/* Whether @time_s is too short to read the keys and values beyond the L2, where that is known. */
static gboolean is_beyond_memory(const OrrDevice *device, const Shape *shape, double time_s) {
  return device->l2_bytes > 0 &&
         time_s * device->memory_bytes_per_s < bytes_of_keys(shape) - device->l2_bytes;
}

static gboolean set_row(const OrrCostModel *model, const OrrProfileAttention *table,
                        const OrrProfileAttentionRow *row, Building *building, GError **error) {
  const Axes *axes = &building->axes;
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
    building->beyond_memory |= is_beyond_memory(model->device, &shape, time_s);
    orr_grid_set(building->grid, (guint[]){i_heads, i_batch, i_length}, ratio);
    orr_grid_time(building->grid, (guint[]){i_heads, i_batch, i_length}, time_s,
                  shape.kv_heads * shape.batch * shape.length * shape.queries);
    add_to_mean(building->means, work_key(axes, i_heads, i_batch, i_length), ratio);
  }
  return TRUE;
}

static void building_free(gpointer data) {
  Building *building = data;
  if (building->axes.key_heads) g_array_unref(building->axes.key_heads);
  orr_grid_free(building->grid);
  g_hash_table_unref(building->means);
  g_free(building);
}

/* The row of @building with the same number of key heads as cell @cell of @own, at the same
 * batch and length. */
static gboolean get_same(const Building *building, const Building *own,
                         const guint cell[ORR_GRID_AXES], double *ret_ratio) {
  const GArray *key_heads = building->axes.key_heads;
  const double wanted = g_array_index(own->axes.key_heads, double, cell[KEY_HEADS]);
  for (guint i = 0; i < key_heads->len; i++)
    if (g_array_index(key_heads, double, i) == wanted)
      return orr_grid_get(building->grid, (guint[]){i, cell[BATCH], cell[LENGTH]}, ret_ratio);
  return FALSE;
}

/* The same from the nearest group on one side that has such a row. @groups: of Building, of one
 * head size, rising. */
static gboolean get_nearest(const GPtrArray *groups, guint own, int direction,
                            const guint cell[ORR_GRID_AXES], double *ret_group, double *ret_ratio) {
  for (guint i = own + (guint)direction; i < groups->len;
       i += (guint)direction) { /* wraps below 0 */
    const Building *building = groups->pdata[i];
    *ret_group = building->group;
    if (get_same(building, groups->pdata[own], cell, ret_ratio)) return TRUE;
  }
  return FALSE;
}

/* The estimate of a cell from other groups: interpolated between the nearest two in the
 * logarithm of the group, or the nearest one's. */
static gboolean groups_at(const GPtrArray *groups, guint own, const guint cell[ORR_GRID_AXES],
                          double *ret_ratio) {
  double low, high, below = 0, above = 0;
  const gboolean has_below = get_nearest(groups, own, -1, cell, &low, &below);
  const gboolean has_above = get_nearest(groups, own, 1, cell, &high, &above);
  const double group = ((const Building *)groups->pdata[own])->group;
  const double fraction = !has_below ? 1 : !has_above ? 0 : log(group / low) / log(high / low);
  *ret_ratio = (1 - fraction) * below + fraction * above;
  return has_below || has_above;
}

/* The estimate of a cell from the other rows of equal work. */
static gboolean equal_work_at(const Building *building, const guint cell[ORR_GRID_AXES],
                              double *ret_ratio) {
  gint64 key = work_key(&building->axes, cell[KEY_HEADS], cell[BATCH], cell[LENGTH]);
  const Mean *mean = g_hash_table_lookup(building->means, &key);
  double row = 0;
  const guint has_row = orr_grid_get(building->grid, cell, &row);
  if (!mean || mean->n <= has_row) return FALSE;
  *ret_ratio = (mean->sum - row) / (mean->n - has_row);
  return TRUE;
}

enum { EQUAL_WORK, OTHER_GROUPS }; /* the kinds of hint */

static void hint_cells(const GPtrArray *groups, guint own) {
  const Building *building = groups->pdata[own];
  const Axes *axes = &building->axes;
  double ratio;
  for (guint h = 0; h < axes->key_heads->len; h++)
    for (guint b = 0; b < axes->batch->len; b++)
      for (guint l = 0; l < axes->length->len; l++) {
        const guint cell[] = {h, b, l};
        if (equal_work_at(building, cell, &ratio))
          orr_grid_hint(building->grid, EQUAL_WORK, cell, ratio);
        if (groups_at(groups, own, cell, &ratio))
          orr_grid_hint(building->grid, OTHER_GROUPS, cell, ratio);
      }
}

static Building *building_new(const OrrCostModel *model, const OrrProfileAttention *table,
                              gint64 head_dim, double group, const Axes *shared, GError **error) {
  Building *building = g_new0(Building, 1);
  const Axes *axes = &building->axes;
  *building = (Building){.head_dim = head_dim, .group = group, .axes = *shared};
  building->means = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  building->axes.key_heads = axis_of_rows(table, head_dim, group);
  const double *const values[] = {(double *)(void *)axes->key_heads->data,
                                  (double *)(void *)axes->batch->data,
                                  (double *)(void *)axes->length->data};
  building->grid =
      orr_grid_new(values, (guint[]){axes->key_heads->len, axes->batch->len, axes->length->len});
  ORR_EACH_POINTER(const OrrProfileAttentionRow, row, table->rows) {
    if (!belongs(row, head_dim, group)) continue;
    if (set_row(model, table, row, building, error)) continue;
    building_free(building);
    return NULL;
  }
  return building;
}

static void group_clear(gpointer group) { orr_grid_free(((Group *)group)->grid); }

/* Its grid, filled when it is first asked for: a run asks for one group or two of a table. */
static const OrrGrid *grid_of(const Group *group) {
  gsize *is_filled = &((Group *)group)->is_filled;
  if (g_once_init_enter(is_filled)) {
    orr_grid_fill(group->grid); /* it has a row: finish_head_dim */
    g_once_init_leave(is_filled, 1);
  }
  return group->grid;
}

void orr_cost_attention_fill(const OrrCostAttention *attention) {
  ORR_EACH(const Group, group, attention->groups) grid_of(group);
}

static int compare_groups(gconstpointer a, gconstpointer b) {
  double x = ((const Group *)a)->group, y = ((const Group *)b)->group;
  return (x > y) - (x < y);
}

gboolean orr_cost_attention_holds(const OrrCostModel *model, OrrProfilePhase phase,
                                  OrrDtype dtype) {
  const GPtrArray *tables = model->profile ? model->profile->attention : NULL;
  for (guint i = 0; i < orr_profile_length(tables); i++) {
    const OrrProfileAttention *table = tables->pdata[i];
    const OrrDtype kv_dtype = (OrrDtype)table->kv_dtype;
    const gboolean same =
        kv_dtype == dtype || (orr_cost_is_16_bit(dtype) && orr_cost_is_16_bit(kv_dtype));
    if (table->phase == (int)phase && same && table->rows->len > 0) return TRUE;
  }
  return FALSE;
}

void orr_cost_attention_free(OrrCostAttention *attention) {
  g_array_unref(attention->groups);
  g_free(attention);
}

void orr_cost_attention_count(const OrrCostAttention *attention, guint *ret_asides,
                              guint *ret_rows) {
  *ret_asides = *ret_rows = 0;
  ORR_EACH(Group, group, attention->groups) {
    const OrrGrid *grid = grid_of(group);
    *ret_asides += orr_grid_n_aside(grid);
    *ret_rows += orr_grid_n_rows(grid);
  }
}

/* The grids of that head size; added where there are none. */
static OrrCostAttention *find_head_dim(GPtrArray *built, gint64 head_dim) {
  ORR_EACH_POINTER(OrrCostAttention, attention, built)
    if (attention->head_dim == head_dim) return attention;
  OrrCostAttention *attention = g_new0(OrrCostAttention, 1);
  *attention =
      (OrrCostAttention){.head_dim = head_dim, .groups = g_array_new(FALSE, FALSE, sizeof(Group))};
  g_array_set_clear_func(attention->groups, group_clear);
  g_ptr_array_add(built, attention);
  return attention;
}

/* By head size, then group. */
static int compare_buildings(gconstpointer a, gconstpointer b) {
  const Building *x = *(Building *const *)a, *y = *(Building *const *)b;
  if (x->head_dim != y->head_dim) return x->head_dim < y->head_dim ? -1 : 1;
  return (x->group > y->group) - (x->group < y->group);
}

static gboolean is_begun(const GPtrArray *buildings, gint64 head_dim, double group) {
  ORR_EACH_POINTER(const Building, building, buildings)
    if (building->head_dim == head_dim && building->group == group) return TRUE;
  return FALSE;
}

/* Every group of every head size with its rows set, sorted; NULL with @error. */
static GPtrArray *begin_all(const OrrCostModel *model, const OrrProfileAttention *table,
                            const Axes *axes, GError **error) {
  g_autoptr(GPtrArray) buildings = g_ptr_array_new_with_free_func(building_free);
  ORR_EACH_POINTER(const OrrProfileAttentionRow, row, table->rows) {
    if (is_begun(buildings, row->head_dim, group_of(row))) continue;
    Building *building = building_new(model, table, row->head_dim, group_of(row), axes, error);
    if (!building) return NULL;
    g_ptr_array_add(buildings, building);
  }
  g_ptr_array_sort(buildings, compare_buildings);
  return g_steal_pointer(&buildings);
}

/* Moves the grids of one head size to @built. */
static gboolean finish_head_dim(const GPtrArray *groups, GPtrArray *built, GError **error) {
  const gint64 head_dim = ((const Building *)groups->pdata[0])->head_dim;
  OrrCostAttention *attention = find_head_dim(built, head_dim);
  for (guint i = 0; i < groups->len; i++) hint_cells(groups, i);
  ORR_EACH_POINTER(Building, building, groups) {
    if (orr_grid_n_rows(building->grid) == 0)
      return orr_fault_set(error, ORR_FAULT_DOCUMENT, "attention: head-dim %ld has no row",
                           head_dim);
    ORR_APPEND(attention->groups, Group, {building->group, g_steal_pointer(&building->grid), 0});
    attention->beyond_memory |= building->beyond_memory;
  }
  g_array_sort(attention->groups, compare_groups);
  return TRUE;
}

gboolean orr_cost_attention_build(const OrrCostModel *model, const OrrProfileAttention *table,
                                  GPtrArray *built, GError **error) {
  g_autoptr(GArray) batch = orr_profile_numbers(table->batch, FALSE, error);
  g_autoptr(GArray) length = batch ? orr_profile_numbers(table->length, FALSE, error) : NULL;
  if (!length) return FALSE;
  const Axes axes = {.batch = batch, .length = length};
  g_autoptr(GPtrArray) buildings = begin_all(model, table, &axes, error);
  for (guint begin = 0, end; buildings && begin < buildings->len; begin = end) {
    g_autoptr(GPtrArray) groups = g_ptr_array_new();
    const gint64 head_dim = ((const Building *)buildings->pdata[begin])->head_dim;
    for (end = begin;
         end < buildings->len && ((const Building *)buildings->pdata[end])->head_dim == head_dim;
         end++)
      g_ptr_array_add(groups, buildings->pdata[end]);
    if (!finish_head_dim(groups, built, error)) return FALSE;
  }
  return buildings != NULL;
}

/* --- queries --- */

/* Weight of the upper of two places on an axis. Where they are the same place, @wanted is there
 * or beyond the table. */
static double blend(double below, double above, double wanted, OrrGridTrust *trust) {
  if (below >= above) {
    if (below != wanted) *trust = ORR_GRID_BEYOND;
    return 0;
  }
  *trust = MAX(*trust, ORR_GRID_BETWEEN);
  return log(wanted / below) / log(above / below);
}

/* Moves @point along equal work towards the box: @moved into its range, as far as @other stays
 * in its own. */
static void slide(const OrrGrid *grid, double *point, int moved, int other) {
  double low, high, other_low, other_high;
  orr_grid_range(grid, moved, &low, &high);
  orr_grid_range(grid, other, &other_low, &other_high);
  double factor =
      CLAMP(point[moved], low, high) / point[moved]; /* factor of moved; other gets the inverse */
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

static double in_group(const Group *group, const Shape *shape, OrrGridTrust *trust) {
  double point[ORR_GRID_AXES] = {shape->kv_heads, shape->batch, shape->length}, low, longest;
  const OrrGrid *grid = grid_of(group);
  const double value = at_equal_work(grid, point, trust);
  orr_grid_range(grid, LENGTH, &low, &longest);
  if (shape->phase != ORR_PHASE_PREFILL || shape->length <= longest) return value;
  const double as_many_blocks = shape->batch * shape->length / longest;
  double other[ORR_GRID_AXES] = {shape->kv_heads, as_many_blocks, longest};
  return fmin(value, at_equal_work(grid, other, trust)); /* *trust says already that it is beyond */
}

/* The distance from the roofline at the head size of @attention. */
static double at_head_dim(const OrrCostAttention *attention, const Shape *shape,
                          OrrGridTrust *trust) {
  const Group *groups = (const Group *)(void *)attention->groups->data;
  double wanted = shape->heads / shape->kv_heads;
  guint above = 0, last = attention->groups->len - 1;
  while (above < last && groups[above].group < wanted) above++;
  guint below = above > 0 && groups[above].group > wanted ? above - 1 : above;
  double fraction = blend(groups[below].group, groups[above].group, wanted, trust);
  double value = in_group(&groups[below], shape, trust);
  return fraction > 0 ? value * (1 - fraction) + fraction * in_group(&groups[above], shape, trust)
                      : value;
}

/* @value, a distance from the roofline; where its table has impossible rows, at least
 * as if the memory alone took the time. */
static double within_memory(const OrrCostModel *model, const OrrCostAttention *attention,
                            const Shape *shape, double value) {
  const double bytes = bytes_of_keys(shape);
  if (!attention->beyond_memory || bytes <= model->device->l2_bytes) return value;
  const double memory_s =
      bytes / (model->device->memory_bytes_per_s * model->constants->memory_efficiency);
  return fmax(value, log(memory_s / attention_roofline_s(model, shape)));
}

/* The distance from the roofline; FALSE where there is no table for the phase and format. */
static gboolean measured_ratio(const OrrCostModel *model, const Shape *shape, double *ret_ratio,
                               OrrGridTrust *ret_trust) {
  const OrrCostAttention *below = NULL, *above = NULL; /* nearest head sizes */
  const GPtrArray *sizes = orr_cost_build_attention(model, shape->phase, shape->kv_dtype);
  for (guint i = 0; i < orr_profile_length(sizes); i++) {
    const OrrCostAttention *at = sizes->pdata[i];
    if ((double)at->head_dim <= shape->head_dim && (!below || at->head_dim > below->head_dim))
      below = at;
    if ((double)at->head_dim >= shape->head_dim && (!above || at->head_dim < above->head_dim))
      above = at;
  }
  if (!below && !above) return FALSE;
  below = below ? below : above;
  above = above ? above : below;
  OrrGridTrust trust = ORR_GRID_ROW;
  double fraction =
      blend((double)below->head_dim, (double)above->head_dim, shape->head_dim, &trust);
  double value = within_memory(model, below, shape, at_head_dim(below, shape, &trust));
  if (fraction > 0)
    value = value * (1 - fraction) +
            fraction * within_memory(model, above, shape, at_head_dim(above, shape, &trust));
  *ret_ratio = exp(value);
  *ret_trust = trust;
  return TRUE;
}

static OrrDtype measured_format(OrrDtype dtype) { return dtype == ORR_FP16 ? ORR_BF16 : dtype; }

static OrrCost forward(const OrrCostModel *model, const Shape *queried) {
  double roofline_s = attention_roofline_s(model, queried);
  gboolean as_measured =
      queried->queries == 1 || (queried->causal && queried->queries == queried->length);
  Shape shape = *queried; /* the most similar measured shape */
  if (!as_measured) shape.queries = shape.length = fmax(1, round(sqrt(2 * pairs_of(queried))));
  double ratio;
  OrrGridTrust trust;
  if (!measured_ratio(model, &shape, &ratio, &trust)) {
    shape.kv_dtype = ORR_BF16;
    as_measured = FALSE;
    if (!measured_ratio(model, &shape, &ratio, &trust))
      return (OrrCost){roofline_s, ORR_HOW_MODELLED};
  }
  return (OrrCost){roofline_s * ratio, as_measured ? orr_cost_how(trust) : ORR_HOW_MODELLED};
}

static double flash_2_forward(const OrrProfileConstants *constants, double head_dim) {
  const double small = constants->flash_2_forward_64, large = constants->flash_2_forward;
  const double part = fmin(fmax(log2(head_dim / 64), 0), 1);
  return small > 0 ? small * pow(large / small, part) : large;
}

/* The cost of a kernel that is modelled as a fraction of the rate of the rows. */
static OrrCost named_kernel(const OrrProfileConstants *constants, const OrrOperator *op,
                            OrrCost cost) {
  const gboolean forward_pass = op->pass == ORR_PASS_FORWARD;
  double rate = forward_pass ? flash_2_forward(constants, (double)op->attention.head_dim)
                             : constants->flash_2_backward;
  if (op->attention.flash == ORR_FLASH_TRITON)
    rate *= forward_pass ? constants->flash_triton_forward : constants->flash_triton_backward;
  if (op->attention.flash == ORR_FLASH_1) rate *= constants->flash_1;
  if (rate == 1) return cost;
  const double work_s = fmax(0, cost.time_s - constants->kernel_overhead_s);
  return (OrrCost){constants->kernel_overhead_s + work_s / rate, ORR_HOW_MODELLED};
}

OrrCost orr_cost_attention(const OrrCostModel *model, const OrrOperator *op, OrrDtype kv_dtype) {
  if (op->attention.batch <= 0 || op->attention.q_length <= 0 || op->attention.kv_length <= 0 ||
      op->attention.heads <= 0 || op->attention.kv_heads <= 0 || op->attention.head_dim <= 0)
    return (OrrCost){0, ORR_HOW_MODELLED};
  double mean_dim = op->attention.value_dim
                        ? (double)(op->attention.head_dim + op->attention.value_dim) / 2
                        : (double)op->attention.head_dim;
  Shape shape = {
      .phase = op->attention.q_length == 1 && op->attention.kv_length > 1 ? ORR_PHASE_DECODE
                                                                          : ORR_PHASE_PREFILL,
      .dtype = measured_format((OrrDtype)op->dtype),
      .kv_dtype = measured_format(kv_dtype),
      .batch = (double)op->attention.batch,
      .queries = (double)op->attention.q_length,
      .length = (double)op->attention.kv_length,
      .heads = (double)op->attention.heads,
      .kv_heads = (double)op->attention.kv_heads,
      .head_dim = mean_dim,
      .stored = op->attention.latent ? (double)op->attention.head_dim / (2 * mean_dim) : 0,
      .causal = op->attention.causal};
  OrrCost cost = forward(model, &shape);
  if (op->pass != ORR_PASS_FORWARD) {
    const OrrProfileConstants *constants = model->constants;
    double work_s = fmax(0, cost.time_s - constants->kernel_overhead_s);
    work_s *= constants->attention_backward_flops / constants->attention_backward_efficiency;
    cost = (OrrCost){constants->kernel_overhead_s + work_s, ORR_HOW_MODELLED};
  }
  return op->attention.flash == ORR_FLASH_AS_MEASURED ? cost
                                                      : named_kernel(model->constants, op, cost);
}

const OrrGrid *orr_cost_attention_grid(const OrrCostModel *model, const OrrOperator *op,
                                       OrrDtype kv_dtype, double *ret_point) {
  const OrrAttentionShape *shape = &op->attention;
  const OrrProfilePhase phase =
      shape->q_length == 1 && shape->kv_length > 1 ? ORR_PHASE_DECODE : ORR_PHASE_PREFILL;
  const GPtrArray *sizes = orr_cost_build_attention(model, phase, measured_format(kv_dtype));
  if (shape->kv_heads <= 0) return NULL;
  ret_point[KEY_HEADS] = (double)shape->kv_heads;
  ret_point[BATCH] = (double)shape->batch;
  ret_point[LENGTH] = (double)shape->kv_length;
  for (guint i = 0; i < orr_profile_length(sizes); i++) {
    const OrrCostAttention *attention = sizes->pdata[i];
    for (guint k = 0; attention->head_dim == shape->head_dim && k < attention->groups->len; k++) {
      const Group *group = &g_array_index(attention->groups, Group, k);
      if (group->group * (double)shape->kv_heads == (double)shape->heads) return grid_of(group);
    }
  }
  return NULL;
}

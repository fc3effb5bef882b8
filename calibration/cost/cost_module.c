/*
 * cost_module.c - sparse and linear attention, predicted from scattered rows of several devices.
 *
 * Rows have no common axes: each is a point of (sequences, queries, keys, heads) by one kernel. So
 * they are not interpolated on a grid but kriged (Matheron 1963; Rasmussen, Williams 2006, chapter
 * 2). A roofline gives the trend, which carries a prediction to devices and sizes without rows:
 *
 *   work_s  products   2 T W / (0.7 peak) + W b_w / (0.8 bandwidth)      T tokens, W weights
 *           indexer    2 T L/r i d / (0.5 fp8) + its keys and scores     L mean keys, r tokens an
 *                                                                        entry
 *           attention  2 T k a (key + value) / (0.5 bf16) + its entries  k = min(topk, L / r) +
 *                                                                        window
 *   trend   floor + work_s                                               floor: the shortest row
 *
 * Each row has a distance from it, z = ln(time / trend). At a point x, over the N = 64 nearest
 * rows with covariance K:
 *
 *   z(x) = mu + k^T K^-1 (z - mu),     mu = 1^T K^-1 z / 1^T K^-1 1
 *   cov  = v (1 + sqrt(3 q)) exp(-sqrt(3 q)) + noise on the diagonal      (Matern 3/2)
 *   q    = sum (log2 x_i / x'_i)^2 / scale_i^2 + sum difference_j [names differ]
 *
 * with the axes sequences, queries, keys, heads and trend, and the names device, chip, engine,
 * kernel, formats, layer, mode, op. Rows of another device or engine therefore count, but less.
 * Scales and differences are part of the table: the ones that make its rows most likely.
 *
 * Errors with whole shapes left out: orrery validate sparse-attention linear-attention.
 */
#include "calibration/cost/cost_module.h"

#include "calibration/cost/cost_private.h"

enum { NEAREST = 64, N_NAMES = ORR_MODULE_DIFFERENCES, N_AXES = ORR_MODULE_SCALES };
enum { BATCH, QUERIES, KEYS, HEADS, WORK };
enum { DEVICE, CHIP, ENGINE, KERNEL, WEIGHTS, CACHE, LAYER, MODE, OP };

/* --- work --- */

enum { PRODUCTS = 1, INDEX = 2, CORE = 4, TOPK = 8, CONV = 16, SCAN = 32, DECODE = 64 };

static const struct {
  const char *op;
  guint parts;
} ops[] = {{"conv", CONV},
           {"conv-update", CONV},
           {"csa-decode", PRODUCTS | INDEX | CORE | DECODE},
           {"csa-prefill", PRODUCTS | INDEX | CORE},
           {"dsa-decode", PRODUCTS | INDEX | CORE | DECODE},
           {"dsa-decode-shared", PRODUCTS | CORE | DECODE},
           {"dsa-prefill", PRODUCTS | INDEX | CORE},
           {"dsa-prefill-shared", PRODUCTS | CORE},
           {"hca-decode", PRODUCTS | CORE | DECODE},
           {"hca-prefill", PRODUCTS | CORE},
           {"index-scores", INDEX},
           {"scan", SCAN},
           {"sparse-core", CORE},
           {"state-update", SCAN | DECODE},
           {"topk", TOPK}};

static guint parts_of(const char *op) {
  for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
    if (strcmp(ops[i].op, op) == 0) return ops[i].parts;
  return 0;
}

gboolean orr_cost_module_is_op(const char *op) { return parts_of(op) != 0; }

/* Fractions of a device's rates in the trend; rows correct them. */
static const double product_efficiency = 0.7, core_efficiency = 0.5, memory_efficiency = 0.8,
                    scan_efficiency = 0.3;

typedef struct {
  double bandwidth, bf16, fp8, fp4;
} Rates;

static Rates rates_of_row(const OrrProfileModuleDevice *device) {
  return (Rates){device->bandwidth_bytes_per_s, device->bf16_flops, device->fp8_flops,
                 device->fp4_flops};
}

static Rates rates_of_model(const OrrCostModel *model) {
  return (Rates){model->device->memory_bytes_per_s, model->peak_flops[ORR_BF16],
                 model->peak_flops[ORR_FP8], model->peak_flops[ORR_FP4]};
}

static gboolean is_8_bit(const char *format) { return format && strstr(format, "fp8") != NULL; }
static gboolean is_4_bit(const char *format) { return format && strstr(format, "fp4") != NULL; }

static double seconds(double flops, double rate, double bytes, const Rates *rates) {
  return flops / rate + bytes / (rates->bandwidth * memory_efficiency);
}

static double products_s(const OrrModuleCall *call, const Rates *rates, gboolean indexes) {
  const OrrProfileModuleLayer *layer = call->layer;
  const double tokens = call->batch * call->queries;
  const double weights =
      layer->weights + layer->head_weights * call->heads + (indexes ? layer->index_weights : 0);
  const gboolean fp8 = is_8_bit(call->weights), fp4 = is_4_bit(call->weights);
  const double rate = fp4 ? rates->fp4 : fp8 ? rates->fp8 : rates->bf16;
  const double width = fp4 ? 9.0 / 16 : fp8 ? 1 : 2; /* fp4: a scale for each 16 */
  /* Between kernels, for each token: four copies of the residual stream's width, and about 1,000
   * elements for each head, in 16 bits. */
  const double moved = tokens * (8 * layer->hidden + 2000 * call->heads);
  return seconds(2 * tokens * weights, rate * product_efficiency, weights * width + moved, rates);
}

/* Mean number of entries that a query of the call attends to, where the best @topk count. */
static double entries_seen(const OrrModuleCall *call) {
  const double ratio = call->layer->ratio, top = call->layer->topk;
  const double least = (call->keys - call->queries) / ratio, most = call->keys / ratio;
  if (top <= 0 || most <= top) return (least + most) / 2;
  if (least >= top) return top;
  const double rises = (top - least) / (most - least);
  return rises * (least + top) / 2 + (1 - rises) * top;
}

static double mean_keys(const OrrModuleCall *call) { return call->keys - call->queries / 2; }

static double index_s(const OrrModuleCall *call, const Rates *rates) {
  const OrrProfileModuleLayer *layer = call->layer;
  const double pairs = call->batch * call->queries * mean_keys(call) / layer->ratio;
  const double keys = call->batch * call->keys / layer->ratio * (layer->index_width + 4);
  return seconds(2 * pairs * layer->index_heads * layer->index_width, rates->fp8 * core_efficiency,
                 keys + 8 * pairs, rates);
}

/* A decode reads the entries that it chose. The queries of a prompt choose mostly the same ones,
 * which stay in the L2 cache: a tenth of their choices counts, and each entry once. */
static double core_s(const OrrModuleCall *call, const Rates *rates, gboolean decodes) {
  const OrrProfileModuleLayer *layer = call->layer;
  const double tokens = call->batch * call->queries;
  const double near = layer->window > 0 ? fmin(layer->window, mean_keys(call) + 1) : 0;
  const double seen = entries_seen(call) + near;
  const double widths = layer->key_width + layer->value_width;
  const double entry = layer->key_width * (is_8_bit(call->cache) ? 1 : 2);
  const double stored =
      call->batch * (call->keys / layer->ratio + (layer->window > 0 ? call->queries : 0));
  const double read = decodes ? tokens * seen : 0.1 * tokens * seen + stored;
  return seconds(2 * tokens * seen * call->heads * widths, rates->bf16 * core_efficiency,
                 read * entry, rates);
}

static double conv_s(const OrrModuleCall *call, const Rates *rates) {
  const double channels = call->batch * call->heads * call->layer->channels;
  return seconds(8 * channels * call->queries, rates->bf16 * scan_efficiency,
                 channels * (4 * call->queries + 12), rates); /* in, out; three kept tokens */
}

/* Each element of the state takes part in four multiply-adds for a token of a prompt, in three for
 * one that decodes; it is read and written once, in fp32 unless the layer says otherwise. */
static double scan_s(const OrrModuleCall *call, const Rates *rates, gboolean decodes) {
  const OrrProfileModuleLayer *layer = call->layer;
  const double heads = call->batch * call->heads, tokens = heads * call->queries;
  const double state = layer->state * (layer->state_bytes > 0 ? layer->state_bytes : 4);
  return seconds((decodes ? 6 : 8) * tokens * layer->state, rates->bf16 * scan_efficiency,
                 2 * tokens * (layer->channels + layer->output) + 2 * heads * state, rates);
}

static double work_of(const OrrModuleCall *call, const Rates *rates, guint parts) {
  double sum = 0;
  if (parts & PRODUCTS) sum += products_s(call, rates, (parts & INDEX) != 0);
  if (parts & INDEX) sum += index_s(call, rates);
  if (parts & CORE) sum += core_s(call, rates, (parts & DECODE) != 0);
  if (parts & CONV) sum += conv_s(call, rates);
  if (parts & SCAN) sum += scan_s(call, rates, (parts & DECODE) != 0);
  if (parts & TOPK) /* reads the scores */
    sum += seconds(0, 1, 4 * call->batch * call->queries * mean_keys(call) / call->layer->ratio,
                   rates);
  return sum;
}

static double work_s(const OrrModuleCall *call, const Rates *rates) {
  return work_of(call, rates, parts_of(call->op));
}

double orr_cost_module_core_s(const OrrCostModel *model, const OrrModuleCall *call) {
  const Rates rates = rates_of_model(model);
  return work_of(call, &rates, parts_of(call->op) & ~(guint)PRODUCTS);
}

/* --- tables --- */

/* A row or a call as a point. A name 0 is any. */
typedef struct {
  double at[N_AXES]; /* log2 */
  GQuark names[N_NAMES];
  double ratio; /* of a row: ln(time / trend) */
} Point;

typedef struct {
  const OrrProfileModuleTable *table;
  GArray *points; /* Point */
  double least[N_AXES], most[N_AXES];
} Table;

static void table_free(gpointer data) {
  g_array_unref(((Table *)data)->points);
  g_free(data);
}

static GQuark quark_of(const char *text) { return text ? g_quark_from_string(text) : 0; }

/* The source writes fp8 and fp8_e4m3 for one format. */
static GQuark cache_quark(const char *cache) {
  return cache ? g_quark_from_string(is_8_bit(cache) ? "fp8" : "bf16") : 0;
}

static Point point_of(const OrrModuleCall *call, const Rates *rates, double floor_s,
                      const char *device, const char *chip) {
  Point point = {.at = {[BATCH] = log2(call->batch),
                        [QUERIES] = log2(call->queries),
                        [KEYS] = log2(call->keys),
                        [HEADS] = log2(call->heads),
                        [WORK] = log2((floor_s + work_s(call, rates)) * 1e6)},
                 .names = {[DEVICE] = quark_of(device),
                           [CHIP] = quark_of(chip),
                           [ENGINE] = quark_of(call->engine),
                           [KERNEL] = quark_of(call->kernel),
                           [WEIGHTS] = quark_of(call->weights),
                           [CACHE] = cache_quark(call->cache),
                           [LAYER] = quark_of(call->layer->name),
                           [MODE] = quark_of(call->mode),
                           [OP] = quark_of(call->op)}};
  return point;
}

static void add_rows(Table *table, const OrrProfileModules *modules,
                     const OrrProfileModuleGroup *group) {
  const OrrProfileModuleDevice *device = orr_profile_module_device(modules, group->device);
  g_autoptr(GArray) numbers = orr_profile_numbers(group->rows, FALSE, NULL);
  const Rates rates = rates_of_row(device);
  const char *const mode = group->mode ? group->mode : "";
  OrrModuleCall call = {
      group->op,      NULL,         group->engine, group->kernel,
      group->weights, group->cache, mode,          orr_profile_module_layer(modules, group->layer)};
  for (guint i = 0; numbers && i + ORR_MODULE_NUMBERS <= numbers->len; i += ORR_MODULE_NUMBERS) {
    const double *row = &g_array_index(numbers, double, i);
    call.heads = row[0], call.batch = row[1], call.queries = row[2], call.keys = row[3];
    Point point = point_of(&call, &rates, table->table->floor_s, device->name, device->chip);
    point.ratio = log(row[4]) - point.at[WORK] * G_LN2;
    for (int a = 0; a < N_AXES; a++) {
      table->least[a] = fmin(table->least[a], point.at[a]);
      table->most[a] = fmax(table->most[a], point.at[a]);
    }
    g_array_append_val(table->points, point);
  }
}

static GPtrArray *build(const OrrProfileModules *modules) {
  GPtrArray *built = g_ptr_array_new_with_free_func(table_free);
  for (guint i = 0; i < orr_profile_length(modules->tables); i++) {
    Table *table = g_new0(Table, 1);
    table->table = modules->tables->pdata[i];
    table->points = g_array_new(FALSE, FALSE, sizeof(Point));
    for (int a = 0; a < N_AXES; a++) table->least[a] = INFINITY, table->most[a] = -INFINITY;
    for (guint g = 0; g < table->table->groups->len; g++)
      add_rows(table, modules, table->table->groups->pdata[g]);
    g_ptr_array_add(built, table);
  }
  return built;
}

static const Table *table_of(const OrrCostModel *model, const char *op) {
  OrrCostTables *tables = model->tables;
  if (!model->profile) return NULL;
  if (g_once_init_enter(&tables->has_built_modules)) {
    tables->modules = build(orr_profile_modules(model->profile));
    g_once_init_leave(&tables->has_built_modules, 1);
  }
  ORR_EACH_POINTER(const Table, table, tables->modules) {
    for (guint g = 0; g < table->table->groups->len && table->points->len > 0; g++)
      if (strcmp(((OrrProfileModuleGroup *)table->table->groups->pdata[g])->op, op) == 0)
        return table;
  }
  return NULL;
}

gboolean orr_cost_module_has(const OrrCostModel *model, const char *op,
                             const OrrProfileModuleLayer *layer) {
  const Table *table = layer->name ? table_of(model, op) : NULL;
  for (guint g = 0; table && g < table->table->groups->len; g++) {
    const OrrProfileModuleGroup *group = table->table->groups->pdata[g];
    if (strcmp(group->op, op) == 0 && strcmp(group->layer, layer->name) == 0) return TRUE;
  }
  return FALSE;
}

/* --- kriging --- */

static double squared_distance(const OrrProfileModuleTable *table, const Point *a, const Point *b) {
  const double *scales = (const double *)(void *)table->scales->data;
  const double *differences = (const double *)(void *)table->differences->data;
  double sum = 0;
  for (int i = 0; i < N_AXES; i++) {
    const double apart = (a->at[i] - b->at[i]) / scales[i];
    sum += apart * apart;
  }
  for (int i = 0; i < N_NAMES; i++)
    if (a->names[i] && b->names[i] && a->names[i] != b->names[i]) sum += differences[i];
  return sum;
}

static double covariance(const OrrProfileModuleTable *table, double squared) {
  const double root = sqrt(3 * squared);
  return table->variance * (1 + root) * exp(-root);
}

typedef struct {
  const Point *point;
  double squared;
} Near;

/* The nearest rows, nearest first. */
static guint find_nearest(const Table *table, const Point *of, Near nearest[NEAREST]) {
  guint n = 0;
  ORR_EACH(const Point, point, table->points) {
    const double squared = squared_distance(table->table, of, point);
    if (n == NEAREST && squared >= nearest[n - 1].squared) continue;
    guint at = n < NEAREST ? n++ : n - 1;
    for (; at > 0 && nearest[at - 1].squared > squared; at--) nearest[at] = nearest[at - 1];
    nearest[at] = (Near){point, squared};
  }
  return n;
}

/* @k = L L^T, in place: the lower triangle of rows of NEAREST. */
static void factorize(double k[NEAREST][NEAREST], guint n) {
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j <= i; j++) {
      double sum = k[i][j];
      for (guint l = 0; l < j; l++) sum -= k[i][l] * k[j][l];
      k[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / k[j][j];
    }
}

/* Solves L L^T x = @x, in place. */
static void solve(double l[NEAREST][NEAREST], guint n, double x[NEAREST]) {
  for (guint i = 0; i < n; i++) {
    for (guint j = 0; j < i; j++) x[i] -= l[i][j] * x[j];
    x[i] /= l[i][i];
  }
  for (guint i = n; i-- > 0;) {
    for (guint j = i + 1; j < n; j++) x[i] -= l[j][i] * x[j];
    x[i] /= l[i][i];
  }
}

/* ln(time / trend) at @of. */
static double krige(const Table *table, const Near nearest[NEAREST], guint n) {
  double k[NEAREST][NEAREST], ones[NEAREST], ratios[NEAREST], mean = 0, sum = 0, answer = 0;
  for (guint i = 0; i < n; i++) {
    for (guint j = 0; j < i; j++)
      k[i][j] = covariance(table->table,
                           squared_distance(table->table, nearest[i].point, nearest[j].point));
    k[i][i] = table->table->variance + table->table->noise;
    ones[i] = 1;
  }
  factorize(k, n);
  solve(k, n, ones);
  for (guint i = 0; i < n; i++) mean += ones[i] * nearest[i].point->ratio, sum += ones[i];
  mean /= sum;
  for (guint i = 0; i < n; i++) ratios[i] = nearest[i].point->ratio - mean;
  solve(k, n, ratios);
  for (guint i = 0; i < n; i++) answer += covariance(table->table, nearest[i].squared) * ratios[i];
  return mean + answer;
}

/* --- queries --- */

/* More than a doubling beyond the rows' range counts as outside it. */
static gboolean is_outside(const Table *table, const Point *point) {
  for (int a = 0; a < WORK; a++)
    if (point->at[a] < table->least[a] - 1 || point->at[a] > table->most[a] + 1) return TRUE;
  return FALSE;
}

static OrrCost how_known(const Table *table, const Point *point, const Near *nearest) {
  const gboolean is_here = nearest->point->names[DEVICE] == point->names[DEVICE];
  if (is_outside(table, point)) return (OrrCost){0, ORR_HOW_OUTSIDE};
  if (is_here)
    return (OrrCost){0, nearest->squared < 1e-9 ? ORR_HOW_MEASURED : ORR_HOW_INTERPOLATED};
  return (OrrCost){0, ORR_HOW_CARRIED, g_quark_to_string(nearest->point->names[DEVICE])};
}

/* Without rows: a module's dozen kernels (projections, norms, positions, indexer, choice,
 * attention, output), or the one of a part. */
static OrrCost modelled(const OrrCostModel *model, const OrrModuleCall *call, const Rates *rates) {
  const double kernels = parts_of(call->op) & PRODUCTS ? 12 : 1;
  return (OrrCost){kernels * model->constants->kernel_overhead_s + work_s(call, rates),
                   ORR_HOW_MODELLED};
}

OrrCost orr_cost_module(const OrrCostModel *model, const OrrModuleCall *call) {
  const Table *table = table_of(model, call->op);
  const OrrProfileModules *modules = model->profile ? orr_profile_modules(model->profile) : NULL;
  const char *name = call->device ? call->device : model->device->name;
  const OrrProfileModuleDevice *device = modules ? orr_profile_module_device(modules, name) : NULL;
  if (modules && !device && !call->device) /* a card whose profile is another one's has its chip */
    device = orr_profile_module_device(modules, model->measured_on->name);
  const Rates rates = call->device && device ? rates_of_row(device) : rates_of_model(model);
  if (!table) return modelled(model, call, &rates);
  const Point point = point_of(call, &rates, table->table->floor_s, device ? device->name : "",
                               device ? device->chip : "");
  Near nearest[NEAREST];
  const guint n = find_nearest(table, &point, nearest);
  OrrCost cost = how_known(table, &point, nearest);
  cost.time_s = exp(point.at[WORK] * G_LN2 + krige(table, nearest, n)) * 1e-6;
  if (!call->device && model->is_scaled && cost.how < ORR_HOW_CARRIED && model->is_changed)
    cost.how = ORR_HOW_CARRIED;
  return cost;
}

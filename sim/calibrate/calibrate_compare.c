/*
 * calibrate_compare.c - converts each measured shape to the operator that a workload would query,
 * predicts its cost, and collects the errors by kernel.
 */
#include "sim/calibrate/calibrate.h"

#include "calibration/measure/family.h"

/* How a family is compared: the label that groups its rows, and the prediction for a row. `predict`
 * returns FALSE for a shape that profiles do not predict. */
typedef struct {
  const char *family;
  char *(*label)(const OrrShape *shape);
  gboolean (*predict)(const OrrCostModel *model, const OrrShape *shape, const OrrMeasureRow *row,
                      OrrCost *ret_cost);
} Comparison;

static gboolean dtype_of(const OrrShape *shape, OrrDtype *ret_dtype) {
  const char *word = orr_shape_word(shape, "dtype");
  for (int d = 0; d < ORR_N_DTYPES; d++)
    if (strcmp(orr_dtype_names[d], word) == 0) {
      *ret_dtype = (OrrDtype)d;
      return TRUE;
    }
  const gboolean is_fp4 = strcmp(word, "nvfp4") == 0;
  *ret_dtype = ORR_FP4;
  return is_fp4; /* mxfp8 and the fp8 of profiles are different kernels */
}

static gboolean predict(const OrrCostModel *model, const OrrOperator *op, OrrCost *ret_cost) {
  *ret_cost = orr_cost_operator(model, op);
  return TRUE;
}

/* --- Matrix products --- */

static char *label_gemm(const OrrShape *shape) {
  const gint64 batch = orr_shape_at(shape, "batch");
  return g_strdup_printf("gemm %s %s%s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "layout"), batch > 1 ? " batched" : "");
}

static gboolean predict_gemm(const OrrCostModel *model, const OrrShape *shape,
                             const OrrMeasureRow *row, OrrCost *ret_cost) {
  static const OrrPass passes[] = {ORR_PASS_FORWARD, ORR_PASS_DGRAD, ORR_PASS_WGRAD};
  OrrDtype dtype;
  if (!dtype_of(shape, &dtype)) return FALSE;
  const OrrOperator op =
      orr_operator_gemm("compared", passes[orr_shape_at(shape, "layout")], dtype,
                        (OrrGemmShape){orr_shape_at(shape, "batch"), orr_shape_at(shape, "m"),
                                       orr_shape_at(shape, "n"), orr_shape_at(shape, "k")});
  return predict(model, &op, ret_cost);
}

/* --- Attention --- */

static char *label_prefill(const OrrShape *shape) {
  return g_strdup_printf("attention-prefill %s %s %s%s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "pass"), orr_shape_word(shape, "mask"),
                         orr_shape_at(shape, "prefix") ? " on a prefix" : "");
}

/* @attention: its lengths and mask; the rest is in @shape. There is no operator for heads whose
 * keys and values differ in size. */
static gboolean predict_attention(const OrrCostModel *model, const OrrShape *shape, OrrPass pass,
                                  OrrAttentionShape attention, OrrCost *ret_cost) {
  OrrDtype dtype;
  if (!dtype_of(shape, &dtype) || orr_shape_at(shape, "v-dim") != orr_shape_at(shape, "head-dim"))
    return FALSE;
  attention.batch = orr_shape_at(shape, "batch");
  attention.heads = orr_shape_at(shape, "heads");
  attention.kv_heads = orr_shape_at(shape, "kv-heads");
  attention.head_dim = orr_shape_at(shape, "head-dim");
  const OrrOperator op = orr_operator_attention("compared", pass, dtype, attention);
  return predict(model, &op, ret_cost);
}

static gboolean predict_prefill(const OrrCostModel *model, const OrrShape *shape,
                                const OrrMeasureRow *row, OrrCost *ret_cost) {
  const gint64 length = orr_shape_at(shape, "length");
  const OrrAttentionShape attention = {.q_length = length,
                                       .kv_length = length + orr_shape_at(shape, "prefix"),
                                       .causal = orr_shape_at(shape, "mask") == 0};
  return predict_attention(model, shape,
                           orr_shape_at(shape, "pass") ? ORR_PASS_DGRAD : ORR_PASS_FORWARD,
                           attention, ret_cost);
}

static char *label_decode(const OrrShape *shape) {
  return g_strdup_printf("attention-decode %s %s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "spread"));
}

/* Queries a batch of mixed lengths as one of their mean length, as serving does. */
static gboolean predict_decode(const OrrCostModel *model, const OrrShape *shape,
                               const OrrMeasureRow *row, OrrCost *ret_cost) {
  const gint64 batch = orr_shape_at(shape, "batch"), length = orr_shape_at(shape, "length");
  const gint64 mean = orr_shape_at(shape, "spread") ? length * (batch + 1) / (2 * batch) : length;
  const OrrAttentionShape attention = {.q_length = 1, .kv_length = MAX(mean, 1), .causal = TRUE};
  return predict_attention(model, shape, ORR_PASS_FORWARD, attention, ret_cost);
}

/* --- Experts, collectives, memory --- */

static char *label_moe(const OrrShape *shape) {
  return g_strdup_printf("moe-ffn %s %s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "distribution"));
}

static gboolean predict_moe(const OrrCostModel *model, const OrrShape *shape,
                            const OrrMeasureRow *row, OrrCost *ret_cost) {
  OrrDtype dtype;
  if (!dtype_of(shape, &dtype)) return FALSE;
  const OrrOperator op =
      orr_operator_moe("compared", ORR_PASS_FORWARD, dtype,
                       (OrrMoeShape){.tokens = orr_shape_at(shape, "num-tokens"),
                                     .hidden = orr_shape_at(shape, "hidden-size"),
                                     .inter = orr_shape_at(shape, "inter-size"),
                                     .topk = orr_shape_at(shape, "topk"),
                                     .experts = orr_shape_at(shape, "num-experts"),
                                     .tp = 1,
                                     .ep = orr_shape_at(shape, "ep"),
                                     .projections = 3,
                                     .imbalance = orr_shape_at(shape, "distribution") ? 1.2 : 0});
  return predict(model, &op, ret_cost);
}

static char *label_collective(const OrrShape *shape) {
  return g_strdup_printf("collective %s %s", orr_shape_word(shape, "op"),
                         orr_shape_word(shape, "dtype"));
}

static gboolean predict_collective(const OrrCostModel *model, const OrrShape *shape,
                                   const OrrMeasureRow *row, OrrCost *ret_cost) {
  static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                      "reduce",     "alltoall",   "sendrecv"};
  return orr_cost_collective(model, names[orr_shape_at(shape, "op")], orr_shape_at(shape, "ranks"),
                             (double)orr_shape_at(shape, "bytes"), ret_cost);
}

static char *label_memory(const OrrShape *shape) {
  return g_strdup_printf("memory %s", orr_shape_word(shape, "op"));
}

/* Queries the kernel by its name in `kernels` of profiles. */
static gboolean predict_memory(const OrrCostModel *model, const OrrShape *shape,
                               const OrrMeasureRow *row, OrrCost *ret_cost) {
  static const struct {
    const char *op, *name;
    OrrPass pass;
  } names[] = {{"bias-gelu", "gelu", ORR_PASS_FORWARD},
               {"layernorm-backward", "layer-norm", ORR_PASS_DGRAD},
               {"layernorm-forward", "layer-norm", ORR_PASS_FORWARD},
               {"rmsnorm-backward", "rms-norm", ORR_PASS_DGRAD},
               {"rmsnorm-forward", "rms-norm", ORR_PASS_FORWARD}};
  const char *op_word = orr_shape_word(shape, "op"), *name = op_word;
  OrrPass pass = strcmp(op_word, "adam") == 0 ? ORR_PASS_OPTIMIZER : ORR_PASS_FORWARD;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(names[i].op, op_word) == 0) name = names[i].name, pass = names[i].pass;
  const OrrOperator op = orr_operator_memory(name, pass, ORR_BF16, row->bytes, 0);
  return predict(model, &op, ret_cost);
}

static char *label_family(const OrrShape *shape) { return g_strdup(shape->family->entry.name); }

/* Alphabetical; other families are only counted. */
static const Comparison comparisons[] = {{"attention-decode", label_decode, predict_decode},
                                         {"attention-prefill", label_prefill, predict_prefill},
                                         {"collective", label_collective, predict_collective},
                                         {"gemm", label_gemm, predict_gemm},
                                         {"memory", label_memory, predict_memory},
                                         {"moe-ffn", label_moe, predict_moe}};

static Comparison comparison_of(const char *family) {
  for (guint i = 0; i < G_N_ELEMENTS(comparisons); i++)
    if (strcmp(comparisons[i].family, family) == 0) return comparisons[i];
  return (Comparison){family, label_family, NULL};
}

/* --- Errors by kernel --- */

typedef struct {
  OrrCalibrateDifference difference;
  GArray *errors;    /* of double */
  guint n_from_rows; /* predictions that are measured or interpolated */
} Tally;

static void difference_free(gpointer data) {
  g_free(((OrrCalibrateDifference *)data)->kernels);
  g_free(data);
}

static void tally_free(gpointer data) {
  Tally *tally = data;
  g_array_unref(tally->errors);
  ORR_FREE(tally->difference.kernels, tally);
}

static Tally *tally_of(GHashTable *tallies, char *label) {
  Tally *tally = g_hash_table_lookup(tallies, label);
  if (tally) {
    g_free(label);
    return tally;
  }
  tally = g_new0(Tally, 1);
  tally->difference.kernels = label;
  tally->errors = g_array_new(FALSE, FALSE, sizeof(double));
  g_hash_table_insert(tallies, label, tally);
  return tally;
}

static gboolean add_row(GHashTable *tallies, const OrrCostModel *model, const OrrMeasureRow *row,
                        GError **error) {
  const OrrMeasureFamily *family = orr_family_find(row->family);
  OrrShape shape;
  OrrCost cost;
  const gboolean is_outdated = orr_measure_row_is_outdated(row);
  if (!family || !orr_shape_parse(family, row->shape, &shape, is_outdated ? NULL : error))
    return !family || is_outdated;
  const Comparison comparison = comparison_of(row->family);
  Tally *tally = tally_of(tallies, comparison.label(&shape));
  tally->difference.n_rows++;
  if (!comparison.predict || !comparison.predict(model, &shape, row, &cost)) return TRUE;
  ORR_APPEND(tally->errors, double, cost.time_s * 1e6 / row->median_us - 1);
  tally->n_from_rows += cost.how == ORR_HOW_MEASURED || cost.how == ORR_HOW_INTERPOLATED;
  return TRUE;
}

static int compare_labels(gconstpointer a, gconstpointer b) {
  const OrrCalibrateDifference *const *x = a, *const *y = b;
  return strcmp((*x)->kernels, (*y)->kernels);
}

static GPtrArray *differences_of(GHashTable *tallies) {
  GPtrArray *differences = g_ptr_array_new_with_free_func(difference_free);
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init(&iter, tallies);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    Tally *tally = value;
    tally->difference.errors = orr_errors_of(tally->errors);
    tally->difference.from_rows =
        tally->errors->len ? (double)tally->n_from_rows / tally->errors->len : NAN;
    OrrCalibrateDifference *difference = g_memdup2(&tally->difference, sizeof tally->difference);
    difference->kernels = g_strdup(tally->difference.kernels);
    g_ptr_array_add(differences, difference);
  }
  g_ptr_array_sort(differences, compare_labels); /* a hash table has no order */
  return differences;
}

GPtrArray *orr_calibrate_compare(const GArray *rows, const OrrMachine *machine, GError **error) {
  g_autoptr(OrrCostModel) model = orr_machine_costs(machine, error);
  if (!model) return NULL;
  g_autoptr(GHashTable) newest = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) tallies = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, tally_free);
  for (guint i = rows->len; i-- > 0;) {
    const OrrMeasureRow *row = &g_array_index(rows, OrrMeasureRow, i);
    if (!orr_measure_row_counts(row) ||
        !g_hash_table_add(newest, g_strconcat(row->family, " ", row->shape, NULL)))
      continue;
    if (!add_row(tallies, model, row, error)) return NULL;
  }
  return differences_of(tallies);
}

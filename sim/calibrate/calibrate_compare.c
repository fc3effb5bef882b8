/*
 * calibrate_compare.c - see calibrate_compare.h: a measured shape as the operator that a workload
 * would ask for.
 */
#include "sim/calibrate/calibrate_compare.h"

#include <math.h>
#include <string.h>

#include "calibration/measure/family.h"

/* The label of a row's kind, and its answer. FALSE: no profile tells it. */
typedef struct {
  const char *family;
  char *(*label)(const OrrShape *shape);
  gboolean (*ask)(const OrrCostModel *model, const OrrShape *shape, const OrrMeasureRow *row,
                  OrrCost *ret_cost);
} Answerer;

static gboolean dtype_of(const OrrShape *shape, OrrDtype *ret_dtype) {
  const char *word = orr_shape_word(shape, "dtype");
  for (int d = 0; d < ORR_N_DTYPES; d++)
    if (strcmp(orr_dtype_names[d], word) == 0) {
      *ret_dtype = (OrrDtype)d;
      return TRUE;
    }
  const gboolean is_fp4 = strcmp(word, "nvfp4") == 0;
  *ret_dtype = ORR_FP4;
  return is_fp4; /* mxfp8 is another kernel than the fp8 of a profile */
}

static gboolean answer(const OrrCostModel *model, const OrrOperator *op, OrrCost *ret_cost) {
  *ret_cost = orr_cost_operator(model, op);
  return TRUE;
}

/* --- Matrix products --- */

static char *label_gemm(const OrrShape *shape) {
  const gint64 batch = orr_shape_at(shape, "batch");
  return g_strdup_printf("gemm %s %s%s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "layout"), batch > 1 ? " batched" : "");
}

static gboolean ask_gemm(const OrrCostModel *model, const OrrShape *shape, const OrrMeasureRow *row,
                         OrrCost *ret_cost) {
  static const OrrPass passes[] = {ORR_PASS_FORWARD, ORR_PASS_DGRAD, ORR_PASS_WGRAD};
  OrrDtype dtype;
  (void)row;
  if (!dtype_of(shape, &dtype)) return FALSE;
  const OrrOperator op =
      orr_operator_gemm("compared", passes[orr_shape_at(shape, "layout")], dtype,
                        (OrrGemmShape){orr_shape_at(shape, "batch"), orr_shape_at(shape, "m"),
                                       orr_shape_at(shape, "n"), orr_shape_at(shape, "k")});
  return answer(model, &op, ret_cost);
}

/* --- Attention --- */

static char *label_prefill(const OrrShape *shape) {
  return g_strdup_printf("attention-prefill %s %s %s%s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "pass"), orr_shape_word(shape, "mask"),
                         orr_shape_at(shape, "prefix") ? " on a prefix" : "");
}

/* Heads whose values are of another size than their keys have no operator. */
static gboolean ask_attention(const OrrCostModel *model, const OrrShape *shape, OrrPass pass,
                              gint64 queries, gint64 keys, gboolean is_causal, OrrCost *ret_cost) {
  OrrDtype dtype;
  if (!dtype_of(shape, &dtype) || orr_shape_at(shape, "v-dim") != orr_shape_at(shape, "head-dim"))
    return FALSE;
  const OrrOperator op =
      orr_operator_attention("compared", pass, dtype,
                             (OrrAttentionShape){.batch = orr_shape_at(shape, "batch"),
                                                 .q_length = queries,
                                                 .kv_length = keys,
                                                 .heads = orr_shape_at(shape, "heads"),
                                                 .kv_heads = orr_shape_at(shape, "kv-heads"),
                                                 .head_dim = orr_shape_at(shape, "head-dim"),
                                                 .causal = is_causal});
  return answer(model, &op, ret_cost);
}

static gboolean ask_prefill(const OrrCostModel *model, const OrrShape *shape,
                            const OrrMeasureRow *row, OrrCost *ret_cost) {
  const gint64 length = orr_shape_at(shape, "length");
  (void)row;
  return ask_attention(
      model, shape, orr_shape_at(shape, "pass") ? ORR_PASS_DGRAD : ORR_PASS_FORWARD, length,
      length + orr_shape_at(shape, "prefix"), orr_shape_at(shape, "mask") == 0, ret_cost);
}

static char *label_decode(const OrrShape *shape) {
  return g_strdup_printf("attention-decode %s %s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "spread"));
}

/* A batch of mixed lengths is asked for as one of their mean: what serving does with it. */
static gboolean ask_decode(const OrrCostModel *model, const OrrShape *shape,
                           const OrrMeasureRow *row, OrrCost *ret_cost) {
  const gint64 batch = orr_shape_at(shape, "batch"), length = orr_shape_at(shape, "length");
  const gint64 mean = orr_shape_at(shape, "spread") ? length * (batch + 1) / (2 * batch) : length;
  (void)row;
  return ask_attention(model, shape, ORR_PASS_FORWARD, 1, MAX(mean, 1), TRUE, ret_cost);
}

/* --- Experts, collectives, memory --- */

static char *label_moe(const OrrShape *shape) {
  return g_strdup_printf("moe-ffn %s %s", orr_shape_word(shape, "dtype"),
                         orr_shape_word(shape, "distribution"));
}

static gboolean ask_moe(const OrrCostModel *model, const OrrShape *shape, const OrrMeasureRow *row,
                        OrrCost *ret_cost) {
  OrrDtype dtype;
  (void)row;
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
  return answer(model, &op, ret_cost);
}

static char *label_collective(const OrrShape *shape) {
  return g_strdup_printf("collective %s %s", orr_shape_word(shape, "op"),
                         orr_shape_word(shape, "dtype"));
}

static gboolean ask_collective(const OrrCostModel *model, const OrrShape *shape,
                               const OrrMeasureRow *row, OrrCost *ret_cost) {
  static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                      "reduce",     "alltoall",   "sendrecv"};
  (void)row;
  return orr_cost_collective(model, names[orr_shape_at(shape, "op")], orr_shape_at(shape, "ranks"),
                             (double)orr_shape_at(shape, "bytes"), ret_cost);
}

static char *label_memory(const OrrShape *shape) {
  return g_strdup_printf("memory %s", orr_shape_word(shape, "op"));
}

/* The kernel as profiles name it in `kernels`. */
static gboolean ask_memory(const OrrCostModel *model, const OrrShape *shape,
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
  return answer(model, &op, ret_cost);
}

static char *label_family(const OrrShape *shape) { return g_strdup(shape->family->entry.name); }

/* Alphabetical; other families have no answer. */
static const Answerer answerers[] = {{"attention-decode", label_decode, ask_decode},
                                     {"attention-prefill", label_prefill, ask_prefill},
                                     {"collective", label_collective, ask_collective},
                                     {"gemm", label_gemm, ask_gemm},
                                     {"memory", label_memory, ask_memory},
                                     {"moe-ffn", label_moe, ask_moe}};

static Answerer answerer_of(const char *family) {
  for (guint i = 0; i < G_N_ELEMENTS(answerers); i++)
    if (strcmp(answerers[i].family, family) == 0) return answerers[i];
  return (Answerer){family, label_family, NULL};
}

/* --- The whole --- */

typedef struct {
  OrrCalibrateDifference difference;
  GArray *errors; /* of double */
  guint n_of_rows;
} Sum;

static void difference_free(gpointer data) {
  g_free(((OrrCalibrateDifference *)data)->kernels);
  g_free(data);
}

static void sum_free(gpointer data) {
  Sum *sum = data;
  g_array_unref(sum->errors);
  g_free(sum->difference.kernels);
  g_free(sum);
}

static Sum *sum_of(GHashTable *sums, char *label) {
  Sum *sum = g_hash_table_lookup(sums, label);
  if (sum) {
    g_free(label);
    return sum;
  }
  sum = g_new0(Sum, 1);
  sum->difference.kernels = label;
  sum->errors = g_array_new(FALSE, FALSE, sizeof(double));
  g_hash_table_insert(sums, label, sum);
  return sum;
}

static gboolean add_row(GHashTable *sums, const OrrCostModel *model, const OrrMeasureRow *row,
                        GError **error) {
  const OrrMeasureFamily *family = orr_family_find(row->family);
  OrrShape shape;
  OrrCost cost;
  if (!family || !orr_shape_parse(family, row->shape, &shape, error)) return family == NULL;
  const Answerer answerer = answerer_of(row->family);
  Sum *sum = sum_of(sums, answerer.label(&shape));
  sum->difference.n_rows++;
  if (!answerer.ask || !answerer.ask(model, &shape, row, &cost)) return TRUE;
  const double off = cost.time_s * 1e6 / row->median_us - 1;
  g_array_append_val(sum->errors, off);
  sum->n_of_rows += cost.how == ORR_HOW_MEASURED || cost.how == ORR_HOW_INTERPOLATED;
  return TRUE;
}

static int compare_labels(gconstpointer a, gconstpointer b) {
  const OrrCalibrateDifference *const *x = a, *const *y = b;
  return strcmp((*x)->kernels, (*y)->kernels);
}

static GPtrArray *differences_of(GHashTable *sums) {
  GPtrArray *differences = g_ptr_array_new_with_free_func(difference_free);
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init(&iter, sums);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    Sum *sum = value;
    sum->difference.errors = orr_errors_of(sum->errors);
    sum->difference.share_rows = sum->errors->len ? (double)sum->n_of_rows / sum->errors->len : NAN;
    OrrCalibrateDifference *difference = g_memdup2(&sum->difference, sizeof sum->difference);
    difference->kernels = g_strdup(sum->difference.kernels);
    g_ptr_array_add(differences, difference);
  }
  g_ptr_array_sort(differences, compare_labels); /* the table has no order of its own */
  return differences;
}

GPtrArray *orr_calibrate_compare(const GArray *rows, const OrrMachine *machine, GError **error) {
  g_autoptr(OrrCostModel) model = orr_machine_costs(machine, error);
  if (!model) return NULL;
  g_autoptr(GHashTable) newest = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) sums = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, sum_free);
  for (guint i = rows->len; i-- > 0;) {
    const OrrMeasureRow *row = &g_array_index(rows, OrrMeasureRow, i);
    if (row->verified == ORR_VERIFIED_NO ||
        !g_hash_table_add(newest, g_strconcat(row->family, " ", row->shape, NULL)))
      continue;
    if (!add_row(sums, model, row, error)) return NULL;
  }
  return differences_of(sums);
}

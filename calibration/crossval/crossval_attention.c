/*
 * crossval_attention.c - fused attention: a shape is a (head size, heads, key heads, batch) with
 * all its lengths.
 */
#include "calibration/crossval/crossval_private.h"

enum { HEAD_DIM, HEADS, KV_HEADS, BATCH, LENGTH };
static const char *const keys[] = {
    [HEAD_DIM] = "head-dim", [HEADS] = "heads",   [KV_HEADS] = "kv-heads",
    [BATCH] = "batch",       [LENGTH] = "length", NULL};

static const OrrProfileAttention *table_at(const OrrProfile *profile, guint table) {
  return profile->attention->pdata[table];
}

static guint n_tables(const OrrProfile *profile) { return orr_profile_length(profile->attention); }

static char *label(const OrrProfile *profile, guint table) {
  const OrrProfileAttention *attention = table_at(profile, table);
  return g_strdup_printf("attention %s %s/%s",
                         attention->phase == ORR_PHASE_DECODE ? "decode" : "prefill",
                         orr_dtype_names[attention->dtype], orr_dtype_names[attention->kv_dtype]);
}

/* The axes of a table, the fold to leave out, and the points that were. */
typedef struct {
  const GArray *batch, *length;
  guint fold;
  GArray *points;
} Split;

/* Appends the row's latencies to @rest with a hole for each cell that is left out; those cells land
 * in the split's points. Its shapes count from @first_shape. */
static gboolean split_row(const Split *split, const OrrProfileAttentionRow *row, guint first_shape,
                          GString *rest, GError **error) {
  const GArray *length = split->length;
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  for (guint i = 0; us && i < MIN(us->len, split->batch->len * length->len); i++) {
    guint i_batch = i / length->len;
    double value = g_array_index(us, double, i);
    gboolean is_out = orr_crossval_fold_of(first_shape + i_batch) == split->fold;
    OrrCrossvalPoint point = {.keys = {[HEAD_DIM] = (double)row->head_dim,
                                       [HEADS] = (double)row->heads,
                                       [KV_HEADS] = (double)row->kv_heads,
                                       [BATCH] = g_array_index(split->batch, double, i_batch),
                                       [LENGTH] = g_array_index(length, double, i % length->len)},
                              .measured_s = value * 1e-6};
    if (is_out && !isnan(value)) g_array_append_val(split->points, point);
    if (is_out || isnan(value)) {
      g_string_append(rest, "- ");
    } else {
      char buffer[G_ASCII_DTOSTR_BUF_SIZE];
      g_string_append_printf(rest, "%s ", g_ascii_formatd(buffer, sizeof buffer, "%.9g", value));
    }
  }
  return us != NULL;
}

static gboolean leave_out(const OrrProfile *profile, guint table, guint fold,
                          OrrCrossvalFold *ret_fold, GError **error) {
  OrrProfileAttention rest = *table_at(profile, table);
  g_autoptr(GArray) batch = orr_profile_numbers(rest.batch, FALSE, error);
  g_autoptr(GArray) length = batch ? orr_profile_numbers(rest.length, FALSE, error) : NULL;
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  if (!length) return FALSE;
  const Split split = {batch, length, fold, ret_fold->left_out};
  for (guint i = 0; i < rest.rows->len; i++) {
    OrrProfileAttentionRow row = *(const OrrProfileAttentionRow *)rest.rows->pdata[i];
    g_autoptr(GString) us = g_string_new(NULL);
    if (!split_row(&split, &row, i * batch->len, us, error)) return FALSE;
    if (strcspn(us->str, "0123456789") == us->len) continue;
    row.us = orr_crossval_own_text(ret_fold, g_strdup(us->str));
    g_ptr_array_add(rows, orr_crossval_own(ret_fold, &row, sizeof row));
  }
  rest.rows = orr_crossval_rest(rows, ORR_CROSSVAL_FOLDS, ret_fold);
  ret_fold->rest.attention =
      orr_crossval_own_list(ret_fold, orr_crossval_own(ret_fold, &rest, sizeof rest));
  return TRUE;
}

static OrrCost query(const OrrCostModel *model, const OrrProfile *profile, guint table,
                     const OrrCrossvalPoint *point) {
  const OrrProfileAttention *attention = table_at(profile, table);
  const double *at = point->keys;
  gint64 length = (gint64)at[LENGTH], queries = attention->phase == ORR_PHASE_DECODE ? 1 : length;
  OrrOperator op = orr_operator_attention("left out", ORR_PASS_FORWARD, (OrrDtype)attention->dtype,
                                          (OrrAttentionShape){.batch = (gint64)at[BATCH],
                                                              .q_length = queries,
                                                              .kv_length = length,
                                                              .heads = (gint64)at[HEADS],
                                                              .kv_heads = (gint64)at[KV_HEADS],
                                                              .head_dim = (gint64)at[HEAD_DIM],
                                                              .causal = TRUE});
  return orr_cost_attention(model, &op, (OrrDtype)attention->kv_dtype);
}

static guint region(const OrrCostModel *model, const OrrProfile *profile, guint table,
                    const OrrCrossvalPoint *point) {
  const OrrProfileAttention *attention = table_at(profile, table);
  const double *at = point->keys;
  gboolean is_decode = attention->phase == ORR_PHASE_DECODE;
  double pairs = is_decode ? at[LENGTH] : at[LENGTH] * (at[LENGTH] + 1) / 2,
         queries = is_decode ? 1 : at[LENGTH];
  double bytes = 2 * at[BATCH] * at[HEAD_DIM] *
                 (2 * at[HEADS] * queries +
                  at[KV_HEADS] * at[LENGTH] * orr_dtype_bytes((OrrDtype)attention->kv_dtype));
  return orr_crossval_bound(model, (OrrDtype)attention->dtype,
                            4 * at[BATCH] * at[HEADS] * pairs * at[HEAD_DIM], bytes);
}

const OrrCrossvalFamily orr_crossval_attention = {
    "attention", keys, orr_crossval_bounds, n_tables, label, leave_out, query, region};

/*
 * crossval_attention.c - fused attention: a shape is a (head size, heads, key heads, batch) with
 * all its lengths.
 */
#include <math.h>

#include "calibration/crossval/crossval_private.h"

static const char *const keys[] = {"head-dim", "heads", "kv-heads", "batch", "length", NULL};

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

/* The row's latencies with a hole where a cell is left out; those land in @points. */
static gboolean split_row(const OrrProfileAttentionRow *row, guint first_shape, const GArray *batch,
                          const GArray *length, guint fold, GString *rest, GArray *points,
                          GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  for (guint i = 0; us && i < MIN(us->len, batch->len * length->len); i++) {
    guint i_batch = i / length->len;
    double value = g_array_index(us, double, i);
    gboolean is_out = orr_crossval_fold_of(first_shape + i_batch) == fold;
    OrrCrossvalPoint point = {.keys = {(double)row->head_dim, (double)row->heads,
                                       (double)row->kv_heads, g_array_index(batch, double, i_batch),
                                       g_array_index(length, double, i % length->len)},
                              .measured_s = value * 1e-6};
    if (is_out && !isnan(value)) g_array_append_val(points, point);
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
  for (guint i = 0; i < rest.rows->len; i++) {
    OrrProfileAttentionRow row = *(const OrrProfileAttentionRow *)rest.rows->pdata[i];
    g_autoptr(GString) us = g_string_new(NULL);
    if (!split_row(&row, i * batch->len, batch, length, fold, us, ret_fold->left_out, error))
      return FALSE;
    if (strcspn(us->str, "0123456789") == us->len) continue;
    row.us = orr_crossval_own_text(ret_fold, g_strdup(us->str));
    g_ptr_array_add(rows, orr_crossval_own(ret_fold, &row, sizeof row));
  }
  rest.rows = orr_crossval_rest(rows, ORR_CROSSVAL_FOLDS, ret_fold);
  ret_fold->rest.attention =
      orr_crossval_own_list(ret_fold, orr_crossval_own(ret_fold, &rest, sizeof rest));
  return TRUE;
}

static OrrCost ask(const OrrCostModel *model, const OrrProfile *profile, guint table,
                   const OrrCrossvalPoint *point) {
  const OrrProfileAttention *attention = table_at(profile, table);
  const double *at = point->keys;
  gint64 length = (gint64)at[4], queries = attention->phase == ORR_PHASE_DECODE ? 1 : length;
  OrrOperator op = orr_operator_attention("left out", ORR_PASS_FORWARD, (OrrDtype)attention->dtype,
                                          (OrrAttentionShape){.batch = (gint64)at[3],
                                                              .q_length = queries,
                                                              .kv_length = length,
                                                              .heads = (gint64)at[1],
                                                              .kv_heads = (gint64)at[2],
                                                              .head_dim = (gint64)at[0],
                                                              .causal = TRUE});
  return orr_cost_attention(model, &op, (OrrDtype)attention->kv_dtype);
}

static guint region(const OrrCostModel *model, const OrrProfile *profile, guint table,
                    const OrrCrossvalPoint *point) {
  const OrrProfileAttention *attention = table_at(profile, table);
  const double *at = point->keys;
  gboolean is_decode = attention->phase == ORR_PHASE_DECODE;
  double pairs = is_decode ? at[4] : at[4] * (at[4] + 1) / 2, queries = is_decode ? 1 : at[4];
  double bytes =
      2 * at[3] * at[0] *
      (2 * at[1] * queries + at[2] * at[4] * orr_dtype_bytes((OrrDtype)attention->kv_dtype));
  return orr_crossval_bound(model,
                            4 * at[3] * at[1] * pairs * at[0] / model->peak_flops[attention->dtype],
                            bytes / model->device->memory_bytes_per_s);
}

const OrrCrossvalFamily orr_crossval_attention = {
    "attention", keys, orr_crossval_bounds, n_tables, label, leave_out, ask, region};

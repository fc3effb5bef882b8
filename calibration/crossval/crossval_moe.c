/*
 * crossval_moe.c - routed experts: a shape is a layer and its split with all its numbers of tokens.
 * Other splits of the same layer stay, and so do the other tables, whose layers answer where the
 * table itself has few. Rows of other devices are not left out.
 */
#include "calibration/crossval/crossval_private.h"

enum { TOKENS, HIDDEN, INTER, TOPK, EXPERTS, TP, EP };
static const char *const keys[] = {
    [TOKENS] = "tokens",   [HIDDEN] = "hidden", [INTER] = "inter", [TOPK] = "topk",
    [EXPERTS] = "experts", [TP] = "tp",         [EP] = "ep",       NULL};

static const OrrProfileMoe *table_at(const OrrProfile *profile, guint table) {
  return profile->moe->pdata[table];
}

static guint n_tables(const OrrProfile *profile) { return orr_profile_length(profile->moe); }

static char *label(const OrrProfile *profile, guint table) {
  const OrrProfileMoe *moe = table_at(profile, table);
  return g_strdup_printf("moe %s %s", orr_dtype_names[moe->dtype], moe->distribution);
}

static gboolean add_row(const OrrProfileMoeRow *row, const GArray *tokens, GArray *points,
                        GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  for (guint i = 0; us && i < MIN(us->len, tokens->len); i++) {
    OrrCrossvalPoint point = {.keys = {[TOKENS] = g_array_index(tokens, double, i),
                                       [HIDDEN] = (double)row->hidden,
                                       [INTER] = (double)row->inter,
                                       [TOPK] = (double)row->topk,
                                       [EXPERTS] = (double)row->experts,
                                       [TP] = (double)row->tp,
                                       [EP] = (double)row->ep},
                              .measured_s = g_array_index(us, double, i) * 1e-6};
    if (!isnan(point.measured_s)) g_array_append_val(points, point);
  }
  return us != NULL;
}

static gboolean leave_out(const OrrProfile *profile, guint table, guint fold,
                          OrrCrossvalFold *ret_fold, GError **error) {
  OrrProfileMoe rest = *table_at(profile, table);
  g_autoptr(GArray) tokens = orr_profile_numbers(rest.tokens, FALSE, error);
  if (!tokens) return FALSE;
  for (guint i = 0; i < rest.rows->len && !rest.measured_on.name; i++)
    if (orr_crossval_fold_of(i) == fold &&
        !add_row(rest.rows->pdata[i], tokens, ret_fold->left_out, error))
      return FALSE;
  rest.rows = orr_crossval_rest(rest.rows, fold, ret_fold);
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  ORR_EACH_POINTER_AT(i, OrrProfileMoe, other, profile->moe)
    g_ptr_array_add(all, i == table ? orr_crossval_own(ret_fold, &rest, sizeof rest) : other);
  ret_fold->rest.moe = orr_crossval_own_array(ret_fold, all);
  return TRUE;
}

/* The other splits of the layer show whether its experts have a gate, as for a user's query. */
static OrrOperator operator_of(const OrrProfile *profile, guint table,
                               const OrrCrossvalPoint *point) {
  const OrrProfileMoe *moe = table_at(profile, table);
  const double *at = point->keys;
  double imbalance = 0;
  orr_profile_moe_imbalance(moe->distribution, &imbalance);
  return orr_operator_moe("left out", ORR_PASS_FORWARD, (OrrDtype)moe->dtype,
                          (OrrMoeShape){.tokens = (gint64)at[TOKENS],
                                        .hidden = (gint64)at[HIDDEN],
                                        .inter = (gint64)at[INTER],
                                        .topk = (gint64)at[TOPK],
                                        .experts = (gint64)at[EXPERTS],
                                        .tp = (gint64)at[TP],
                                        .ep = (gint64)at[EP],
                                        .imbalance = imbalance});
}

static OrrCost query(const OrrCostModel *model, const OrrProfile *profile, guint table,
                     const OrrCrossvalPoint *point) {
  OrrOperator op = operator_of(profile, table, point);
  return orr_cost_moe(model, &op);
}

static guint region(const OrrCostModel *model, const OrrProfile *profile, guint table,
                    const OrrCrossvalPoint *point) {
  OrrOperator op = operator_of(profile, table, point);
  return orr_crossval_bound(model, (OrrDtype)op.dtype, op.flops, op.bytes);
}

const OrrCrossvalFamily orr_crossval_moe = {
    "moe", keys, orr_crossval_bounds, n_tables, label, leave_out, query, region};

/*
 * crossval_gemm.c - matrix products: a shape is an (n, k) with all its m.
 *
 * The tables of libraries follow the profile's own. What they hold is a distance from the own
 * tables, so these stay whole.
 */
#include "calibration/crossval/crossval_private.h"

enum { M, N, K };
static const char *const keys[] = {[M] = "m", [N] = "n", [K] = "k", NULL};

static const OrrProfileLibraryGemm *library_at(const OrrProfile *profile, guint table) {
  const guint n_own = orr_profile_length(profile->gemm);
  return table < n_own ? NULL : profile->library_gemm->pdata[table - n_own];
}

static const OrrProfileGemm *table_at(const OrrProfile *profile, guint table) {
  const OrrProfileLibraryGemm *library = library_at(profile, table);
  return library ? &library->table : profile->gemm->pdata[table];
}

static guint n_tables(const OrrProfile *profile) {
  return orr_profile_length(profile->gemm) + orr_profile_length(profile->library_gemm);
}

static char *label(const OrrProfile *profile, guint table) {
  const OrrProfileLibraryGemm *library = library_at(profile, table);
  const char *dtype = orr_dtype_names[table_at(profile, table)->dtype];
  g_autofree char *own = orr_profile_gemm_label(table_at(profile, table));
  if (!library) return g_strdup_printf("gemm %s", own);
  const char *words = orr_kernel_library_words[library->table.library];
  if (library->weight_bytes > 0)
    return g_strdup_printf("gemm w%.0f %s", 8 * library->weight_bytes, words);
  return g_strdup_printf("gemm %s%s %s", dtype, library->blocks ? "-block" : "", words);
}

static gboolean add_row(const OrrProfileGemmRow *row, const GArray *m, GArray *points,
                        GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  for (guint i = 0; us && i < MIN(us->len, m->len); i++) {
    OrrCrossvalPoint point = {
        .keys = {[M] = g_array_index(m, double, i), [N] = (double)row->n, [K] = (double)row->k},
        .measured_s = g_array_index(us, double, i) * 1e-6};
    if (!isnan(point.measured_s)) g_array_append_val(points, point);
  }
  return us != NULL;
}

/* @rest and the profile's other tables, which give a batched product its unbatched neighbour; but
 * none that differs from @table by the release alone, since it has the same shapes. */
static GPtrArray *with_others(const OrrProfile *profile, guint table, OrrProfileGemm *rest,
                              OrrCrossvalFold *fold) {
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  g_ptr_array_add(all, rest);
  ORR_EACH_POINTER_AT(i, OrrProfileGemm, other, profile->gemm)
    if (i != table && (other->dtype != rest->dtype || other->layout != rest->layout ||
                       MAX(1, other->batch) != MAX(1, rest->batch)))
      g_ptr_array_add(all, other);
  return orr_crossval_own_array(fold, all);
}

static gboolean leave_out(const OrrProfile *profile, guint table, guint fold,
                          OrrCrossvalFold *ret_fold, GError **error) {
  OrrProfileGemm rest = *table_at(profile, table);
  g_autoptr(GArray) m = orr_profile_numbers(rest.m, FALSE, error);
  if (!m) return FALSE;
  for (guint i = 0; i < rest.rows->len; i++)
    if (orr_crossval_fold_of(i) == fold &&
        !add_row(rest.rows->pdata[i], m, ret_fold->left_out, error))
      return FALSE;
  rest.rows = orr_crossval_rest(rest.rows, fold, ret_fold);
  const OrrProfileLibraryGemm *library = library_at(profile, table);
  if (!library) {
    ret_fold->rest.gemm =
        with_others(profile, table, orr_crossval_own(ret_fold, &rest, sizeof rest), ret_fold);
    return TRUE;
  }
  OrrProfileLibraryGemm theirs = *library;
  theirs.table = rest;
  ret_fold->rest.gemm = profile->gemm;
  ret_fold->rest.library_gemm =
      orr_crossval_own_list(ret_fold, orr_crossval_own(ret_fold, &theirs, sizeof theirs));
  return TRUE;
}

static OrrOperator operator_of(const OrrProfile *profile, guint table,
                               const OrrCrossvalPoint *point) {
  static const OrrPass passes[] = {ORR_PASS_FORWARD, ORR_PASS_DGRAD, ORR_PASS_WGRAD};
  const OrrProfileLibraryGemm *library = library_at(profile, table);
  const OrrProfileGemm *own = table_at(profile, table);
  OrrOperator op = orr_operator_gemm(
      "left out", passes[own->layout], (OrrDtype)own->dtype,
      (OrrGemmShape){MAX(1, own->batch), (gint64)point->keys[M], (gint64)point->keys[N],
                     (gint64)point->keys[K], .stored.blocks = library && library->blocks,
                     .stored.weight_bytes = library ? library->weight_bytes : 0});
  op.release = own->release;
  op.library = library ? (guint8)library->table.library : ORR_KERNEL_LIBRARY_ANY;
  return op;
}

static OrrCost query(const OrrCostModel *model, const OrrProfile *profile, guint table,
                     const OrrCrossvalPoint *point) {
  OrrOperator op = operator_of(profile, table, point);
  return orr_cost_gemm(model, &op);
}

static guint region(const OrrCostModel *model, const OrrProfile *profile, guint table,
                    const OrrCrossvalPoint *point) {
  OrrDtype dtype = (OrrDtype)table_at(profile, table)->dtype;
  double m = point->keys[M], n = point->keys[N], k = point->keys[K],
         operand = orr_dtype_bytes(dtype);
  const double bytes = operand * (m * k + n * k) + fmax(operand, 2) * m * n,
               batch = (double)MAX(1, table_at(profile, table)->batch);
  return orr_crossval_bound(model, dtype, batch * 2 * m * n * k, batch * bytes);
}

const OrrCrossvalFamily orr_crossval_gemm = {
    "gemm", keys, orr_crossval_bounds, n_tables, label, leave_out, query, region};

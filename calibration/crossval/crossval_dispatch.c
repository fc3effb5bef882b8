/*
 * crossval_dispatch.c - exchanges of experts' tokens (`libraries`): a shape is a number of ranks, a
 * hidden size, a top-k and a number of experts, with all its numbers of tokens.
 *
 * A table is one (library, operation, format) with at least two shapes. A seventh of the shapes is
 * left out at a time; up to seven shapes, each one by itself. Where no other shape has the same
 * number of ranks, the rest answers from outside.
 */
#include "calibration/crossval/crossval_private.h"
#include "calibration/profile/profile_nccl.h"

enum { TOKENS, RANKS, HIDDEN, TOPK, EXPERTS };
static const char *const keys[] = {[TOKENS] = "tokens", [RANKS] = "ranks",     [HIDDEN] = "hidden",
                                   [TOPK] = "topk",     [EXPERTS] = "experts", NULL};
static const char *const regions[] = {"up to 128 tokens", "above 128 tokens", "outside", NULL};

static gboolean same_kernel(const OrrProfileLibrary *a, const OrrProfileLibrary *b) {
  return a->hidden > 0 && b->hidden > 0 && strcmp(a->library, b->library) == 0 &&
         strcmp(a->op, b->op) == 0 && strcmp(a->dtype, b->dtype) == 0;
}

static const OrrProfileLibrary *row_at(const OrrProfile *profile, guint i) {
  return profile->libraries->pdata[i];
}

/* Number of rows before @end of the same kernel as row @i. */
static guint count_like(const OrrProfile *profile, guint i, guint end) {
  guint n = 0;
  for (guint k = 0; k < end; k++) n += same_kernel(row_at(profile, k), row_at(profile, i));
  return n;
}

/* The first row of the @table-th kernel that has at least two shapes. */
static const OrrProfileLibrary *first_of(const OrrProfile *profile, guint table) {
  guint n_rows = orr_profile_length(profile->libraries);
  for (guint i = 0, n = 0; i < n_rows; i++)
    if (count_like(profile, i, i) == 0 && count_like(profile, i, n_rows) > 1 && n++ == table)
      return row_at(profile, i);
  return NULL;
}

static guint n_tables(const OrrProfile *profile) {
  guint n = 0;
  while (first_of(profile, n)) n++;
  return n;
}

static char *label(const OrrProfile *profile, guint table) {
  const OrrProfileLibrary *row = first_of(profile, table);
  const char *format = g_str_has_prefix(row->library, "deepep") ? "" : row->dtype;
  return g_strdup_printf("%s %s%s%s", row->library, row->op, *format ? " " : "", format);
}

static gboolean add_points(const OrrProfileLibrary *row, GArray *points, GError **error) {
  g_autoptr(GArray) size = orr_profile_numbers(row->size, FALSE, error);
  g_autoptr(GArray) us = size ? orr_profile_numbers(row->us, FALSE, error) : NULL;
  for (guint i = 0; us && i < MIN(size->len, us->len); i++)
    ORR_APPEND(points, OrrCrossvalPoint,
               {.keys = {[TOKENS] = g_array_index(size, double, i),
                         [RANKS] = (double)row->ranks,
                         [HIDDEN] = (double)row->hidden,
                         [TOPK] = (double)row->topk,
                         [EXPERTS] = (double)row->experts},
                .measured_s = g_array_index(us, double, i) * 1e-6});
  return us != NULL;
}

static gboolean leave_out(const OrrProfile *profile, guint table, guint fold,
                          OrrCrossvalFold *ret_fold, GError **error) {
  const OrrProfileLibrary *first = first_of(profile, table);
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  guint shape = 0;
  for (guint i = 0; i < profile->libraries->len; i++) {
    if (!same_kernel(row_at(profile, i), first)) continue;
    if (row_at(profile, i)->measured_on || shape++ % ORR_CROSSVAL_FOLDS != fold)
      g_ptr_array_add(rest, profile->libraries->pdata[i]);
    else if (!add_points(row_at(profile, i), ret_fold->left_out, error))
      return FALSE;
  }
  ret_fold->rest.libraries = orr_crossval_rest(rest, ORR_CROSSVAL_FOLDS, ret_fold);
  return TRUE;
}

static OrrCost query(const OrrCostModel *model, const OrrProfile *profile, guint table,
                     const OrrCrossvalPoint *point) {
  const OrrProfileLibrary *first = first_of(profile, table);
  const OrrLibraryCall call = {.library = first->library,
                               .op = first->op,
                               .dtype = first->dtype,
                               .size = point->keys[TOKENS],
                               .n_ranks = (gint64)point->keys[RANKS],
                               .hidden = (gint64)point->keys[HIDDEN],
                               .topk = (gint64)point->keys[TOPK],
                               .experts = (gint64)point->keys[EXPERTS]};
  OrrCost cost;
  return orr_cost_library(model, &call, &cost) ? cost : orr_cost_library_modelled(model, &call);
}

static guint region(const OrrCostModel *model, const OrrProfile *profile, guint table,
                    const OrrCrossvalPoint *point) {
  return point->keys[TOKENS] > 128;
}

const OrrCrossvalFamily orr_crossval_dispatch = {"dispatch", keys,      regions, n_tables,
                                                 label,      leave_out, query,   region};

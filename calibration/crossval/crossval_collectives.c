/*
 * crossval_collectives.c - measured collectives: a shape is a size, left out for all numbers of
 * ranks at once.
 *
 * A profile has one table per (op, ranks); here there is one per op, in the order in which the
 * profile names them.
 */
#include "calibration/crossval/crossval_private.h"

enum { RANKS, BYTES };
static const char *const keys[] = {[RANKS] = "ranks", [BYTES] = "bytes", NULL};
static const char *const regions[] = {"below 1 MiB", "from 1 MiB", "outside", NULL};

/* The first row of the @table-th op. */
static const OrrProfileCollective *first_of(const OrrProfile *profile, guint table) {
  for (guint i = 0, n = 0; i < orr_profile_length(profile->collectives); i++) {
    const OrrProfileCollective *row = profile->collectives->pdata[i];
    gboolean is_new = TRUE;
    for (guint k = 0; k < i && is_new; k++)
      is_new =
          strcmp(((const OrrProfileCollective *)profile->collectives->pdata[k])->op, row->op) != 0;
    if (is_new && n++ == table) return row;
  }
  return NULL;
}

static guint n_tables(const OrrProfile *profile) {
  guint n = 0;
  while (first_of(profile, n)) n++;
  return n;
}

static char *label(const OrrProfile *profile, guint table) {
  return g_strdup(first_of(profile, table)->op);
}

/* Sizes are dealt by their logarithm in eighths, so that the fold of a size does not depend on
 * the rows around it. */
static guint fold_of(double bytes) { return orr_crossval_fold_of((guint)lround(8 * log2(bytes))); }

static gboolean split_row(const OrrProfileCollective *row, guint fold, OrrCrossvalFold *into,
                          GPtrArray *rest, GError **error) {
  g_autoptr(GArray) bytes = orr_profile_numbers(row->bytes, FALSE, error);
  g_autoptr(GArray) us = bytes ? orr_profile_numbers(row->us, FALSE, error) : NULL;
  g_autoptr(GString) rest_bytes = g_string_new(NULL), rest_us = g_string_new(NULL);
  for (guint i = 0; us && i < MIN(bytes->len, us->len); i++) {
    double size = g_array_index(bytes, double, i), value = g_array_index(us, double, i);
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    OrrCrossvalPoint point = {.keys = {[RANKS] = (double)row->ranks, [BYTES] = size},
                              .measured_s = value * 1e-6};
    if (fold_of(size) == fold) {
      g_array_append_val(into->left_out, point);
      continue;
    }
    g_string_append_printf(rest_bytes, "%.0f ", size);
    g_string_append_printf(rest_us, "%s ", g_ascii_formatd(buffer, sizeof buffer, "%.9g", value));
  }
  if (!us) return FALSE;
  if (!rest_us->len) return TRUE;
  OrrProfileCollective copy = *row;
  copy.bytes = orr_crossval_own_text(into, g_strdup(rest_bytes->str));
  copy.us = orr_crossval_own_text(into, g_strdup(rest_us->str));
  g_ptr_array_add(rest, orr_crossval_own(into, &copy, sizeof copy));
  return TRUE;
}

static gboolean leave_out(const OrrProfile *profile, guint table, guint fold,
                          OrrCrossvalFold *ret_fold, GError **error) {
  const char *op = first_of(profile, table)->op;
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  ORR_EACH_POINTER(const OrrProfileCollective, row, profile->collectives)
    if (strcmp(row->op, op) == 0 && !split_row(row, fold, ret_fold, rest, error)) return FALSE;
  ret_fold->rest.collectives = orr_crossval_rest(rest, ORR_CROSSVAL_FOLDS, ret_fold);
  return TRUE;
}

static OrrCost query(const OrrCostModel *model, const OrrProfile *profile, guint table,
                     const OrrCrossvalPoint *point) {
  const char *op = first_of(profile, table)->op;
  OrrCost cost;
  if (orr_cost_collective(model, op, (gint64)point->keys[RANKS], point->keys[BYTES], &cost))
    return cost;
  return orr_cost_collective_ring(model, op, (gint64)point->keys[RANKS], point->keys[BYTES]);
}

static guint region(const OrrCostModel *model, const OrrProfile *profile, guint table,
                    const OrrCrossvalPoint *point) {
  return point->keys[BYTES] >= 1048576;
}

const OrrCrossvalFamily orr_crossval_collectives = {"collectives", keys,      regions, n_tables,
                                                    label,         leave_out, query,   region};

/*
 * crossval.c - makes a cost model from a table without each fold in turn, queries it for the rows
 * left out, and sums up the errors.
 */
#include "calibration/crossval/crossval.h"

#include "calibration/crossval/crossval_private.h"

static const OrrCrossvalFamily *const families[] = {
    &orr_crossval_attention,        &orr_crossval_collectives,
    &orr_crossval_dispatch,         &orr_crossval_gemm,
    &orr_crossval_linear_attention, &orr_crossval_moe,
    &orr_crossval_sparse_attention};

const char *const orr_crossval_families[] = {
    "attention",        "collectives", "dispatch",         "gemm",
    "linear-attention", "moe",         "sparse-attention", NULL};

/* --- folds --- */

static guint outside_of(const OrrCrossvalFamily *family) {
  return g_strv_length((char **)family->regions) - 1;
}

static gboolean run_fold(const OrrProfile *profile, const OrrDevice *device, guint table,
                         guint fold, OrrCrossvalTable *into, GError **error) {
  const OrrCrossvalFamily *family = into->family;
  g_auto(OrrCrossvalFold) parts;
  orr_crossval_fold_init(&parts, profile);
  if (!family->leave_out(profile, table, fold, &parts, error)) return FALSE;
  if (parts.left_out->len == 0) return TRUE;
  g_autoptr(GError) nothing = NULL; /* where no row is left, the datasheet answers, and `how`
                                     * says so */
  g_autoptr(OrrCostModel) model = orr_cost_model_new(&parts.rest, device, &nothing);
  if (!model) {
    orr_crossval_fold_clear(&parts);
    orr_crossval_fold_init(&parts, profile);
    if (!family->leave_out(profile, table, fold, &parts, error)) return FALSE;
    parts.rest.gemm = parts.rest.library_gemm = parts.rest.attention = parts.rest.collectives =
        parts.rest.moe = parts.rest.libraries = parts.rest.modules.tables = NULL;
    model = orr_cost_model_new(&parts.rest, device, error);
    if (!model) return FALSE;
  }
  ORR_EACH(OrrCrossvalPoint, point, parts.left_out) {
    OrrCost cost = family->query(model, profile, table, point);
    point->modelled_s = cost.time_s;
    point->how = cost.how;
    point->region = cost.how == ORR_HOW_OUTSIDE ? outside_of(family)
                                                : family->region(model, profile, table, point);
  }
  g_array_append_vals(into->points, parts.left_out->data, parts.left_out->len);
  return TRUE;
}

/* --- the whole --- */

static void table_free(OrrCrossvalTable *table) {
  g_free(table->label);
  g_array_unref(table->points);
  g_free(table);
}

static gboolean run_family(const OrrProfile *profile, const OrrDevice *device,
                           const OrrCrossvalFamily *family, GPtrArray *tables, GError **error) {
  for (guint t = 0; t < family->n_tables(profile); t++) {
    OrrCrossvalTable *table = g_new0(OrrCrossvalTable, 1);
    *table = (OrrCrossvalTable){family, family->label(profile, t),
                                g_array_new(FALSE, FALSE, sizeof(OrrCrossvalPoint))};
    g_ptr_array_add(tables, table);
    for (guint fold = 0; fold < ORR_CROSSVAL_FOLDS; fold++)
      if (!run_fold(profile, device, t, fold, table, error)) return FALSE;
    if (table->points->len == 0) g_ptr_array_set_size(tables, (int)tables->len - 1);
  }
  return TRUE;
}

GPtrArray *orr_crossval_run(const OrrProfile *profile, const OrrDevice *device, const char *family,
                            GError **error) {
  g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)table_free);
  for (guint i = 0; i < G_N_ELEMENTS(families); i++)
    if ((!family || strcmp(families[i]->name, family) == 0) &&
        !run_family(profile, device, families[i], tables, error))
      return NULL;
  return g_steal_pointer(&tables);
}

const char *const *orr_crossval_regions(const OrrCrossvalTable *table) {
  return table->family->regions;
}

char *orr_crossval_shape(const OrrCrossvalTable *table, const OrrCrossvalPoint *point) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; table->family->keys[i]; i++)
    g_string_append_printf(text, "%s%s %.0f", i ? " " : "", table->family->keys[i], point->keys[i]);
  return g_string_free(text, FALSE);
}

/* --- errors --- */

static int compare_sizes(gconstpointer a, gconstpointer b) {
  double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
  return (x > y) - (x < y);
}

OrrErrors orr_errors_of(GArray *errors) {
  guint n = errors->len;
  if (n == 0) return (OrrErrors){0, NAN, NAN, NAN, NAN, NAN};
  g_array_sort(errors, compare_sizes);
  const double *values = (const double *)(void *)errors->data;
  OrrErrors result = {.n = n};
  for (guint i = 0; i < n; i++) {
    result.mape += fabs(values[i]) / n;
    result.bias += values[i] / n;
  }
  result.median = (fabs(values[(n - 1) / 2]) + fabs(values[n / 2])) / 2;
  result.p90 = fabs(values[(9 * n + 9) / 10 - 1]); /* nearest rank: the ceil(0.9 n)-th */
  result.worst = fabs(values[n - 1]);
  return result;
}

OrrErrors orr_crossval_errors(const OrrCrossvalTable *table, int region) {
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH(const OrrCrossvalPoint, point, table->points) {
    double error = point->modelled_s / point->measured_s - 1;
    if (region < 0 || point->region == (guint)region) g_array_append_val(errors, error);
  }
  return orr_errors_of(errors);
}

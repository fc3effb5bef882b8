/*
 * validate_costs.c - the document of a set of costs, and its run: collects the errors
 * (validate_private.h), computes the statistics, stores both.
 */
#include "sim/validate/validate_costs.h"

#include "sim/base/file.h"
#include "sim/base/yaml.h"
#include "sim/validate/validate_private.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown" /* meson.build defines it */
#endif

/* --- The set --- */

const OrrFieldTable orr_cost_validation_table = ORR_FIELDS(
    "cost-validation", "Measured kernels against the predictions of profiles.", OrrCostValidation,
    ORR_FIELD_TEXT(OrrCostValidation, "name", name, NULL, "The set's name."),
    ORR_FIELD_TEXT(OrrCostValidation, "family", family, NULL,
                   "The tables from which shapes are left out."),
    ORR_FIELD_TEXTS(
        OrrCostValidation, "operators", operators, NULL,
        "Operators that predict the rows of --rows: the first whose columns the table has."),
    ORR_POSITIVE_REAL(OrrCostValidation, "target-mape", target_mape, ORR_UNIT_FRACTION, NULL,
                      "Target: the mean of |error| is at most this."),
    ORR_POSITIVE_REAL(OrrCostValidation, "target-p90", target_p90, ORR_UNIT_FRACTION, NULL,
                      "Target: the 90th percentile of |error| is at most this."));

gboolean orr_validate_costs_is(OrrLibrary *library, const char *set) {
  g_autofree char *path = orr_validation_path(library, set);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) root = path ? orr_yaml_read_file(path, diags) : NULL;
  const char *schema =
      root && root->kind == ORR_NODE_MAP ? orr_node_get_text(root, "schema") : NULL;
  return g_strcmp0(schema, "cost-validation/1") == 0;
}

static void set_clear(OrrCostValidation *set) { orr_field_clear(&orr_cost_validation_table, set); }
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCostValidation, set_clear)

static gboolean read_set(OrrLibrary *library, const char *path, OrrCostValidation *set,
                         OrrDiags *diags) {
  g_autoptr(OrrNode) tree = orr_library_read_file(library, "cost-validation", path, diags);
  if (!tree || !orr_field_read(&orr_cost_validation_table, tree, library, diags, set)) return FALSE;
  if (g_strv_contains(orr_crossval_families, set->family)) return TRUE;
  g_autofree char *known = g_strjoinv(", ", (char **)orr_crossval_families);
  orr_diags_error(diags, orr_node_get(tree, "family")->place, "unknown family '%s' (known: %s)",
                  set->family, known);
  return FALSE;
}

/* --- The run --- */

static gboolean store_rows(OrrStore *database, const OrrValidation *validation, gboolean with_rows,
                           GError **error) {
  ORR_EACH(OrrCostError, one, validation->costs)
    if (!orr_store_add_row(database, &orr_cost_error_table, one, error)) return FALSE;
  for (guint i = 0; with_rows && i < validation->rows->len; i++)
    if (!orr_store_add_row(database, &orr_validation_row_table,
                           &g_array_index(validation->rows, OrrValidationRow, i), error))
      return FALSE;
  return TRUE;
}

/* @with_rows: store the rows too. The worst shapes of a cross-validation are not stored as rows,
 * since they are not a sample. */
static gboolean store(OrrStore *database, const char *path, const OrrValidation *validation,
                      gboolean with_rows, double wall_time_s, GError **error) {
  gint64 run_id = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, NULL, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
  OrrRunFacts facts = {.scenario = validation->set_name,
                       .kind = "cost-validation",
                       .file = path,
                       .hash = hash,
                       .resolved = text,
                       .tool_version = ORR_VERSION,
                       .engine = "",
                       .fidelity = "",
                       .wall_time_s = wall_time_s};
  if (!orr_store_begin_run(database, &facts, &run_id, error)) return FALSE;
  if (store_rows(database, validation, with_rows, error))
    return orr_store_end_run(database, wall_time_s, error);
  orr_store_abandon_run(database);
  return FALSE;
}

OrrValidation *orr_validate_costs(OrrLibrary *library, const OrrValidateOrder *order,
                                  GError **error) {
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrCostValidation) set = {0};
  g_autofree char *path = orr_validation_path(library, order->set);
  g_autoptr(GError) failure = NULL;
  if (!path || !read_set(library, path, &set, diags)) {
    orr_diags_check(diags, error);
    return NULL;
  }
  g_autoptr(OrrValidation) validation = orr_validation_new(set.name);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  OrrValidateResiduals residuals = {&set, validation, errors};
  const gboolean ok =
      order->rows_csv
          ? orr_validate_residuals_add_rows(&residuals, library, order->profile, order->rows_csv,
                                            diags, &failure)
          : orr_validate_residuals_add_shapes(&residuals, library, order->profile, diags, &failure);
  if (!orr_diags_check(diags, error)) return NULL;
  if (!ok) {
    g_propagate_error(error, g_steal_pointer(&failure));
    return NULL;
  }
  orr_validation_set_errors(validation, orr_errors_of(errors));
  const double wall_time_s = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
  if (order->store)
    store(order->store, path, validation, order->rows_csv != NULL, wall_time_s, order->lost);
  return g_steal_pointer(&validation);
}

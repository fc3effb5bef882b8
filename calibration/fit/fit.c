/*
 * fit.c - joins imported tables, fitted constants and cross-validated errors into one document.
 */
#include "calibration/fit/fit.h"

#include "calibration/profile/profile_private.h"
#include "calibration/fit/measured_private.h"
#include "sim/base/yaml.h"

static OrrProfile *read_text(const char *text, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "the fitted profile", diags);
  OrrProfile *profile = tree ? orr_profile_read(tree, NULL, diags) : NULL;
  if (!profile) orr_diags_check(diags, error);
  return profile;
}

/* Where the head of the imported text ends and its tables begin. */
static const char *tables_of(const char *text) {
  const char *source = strstr(text, "\nsource: ");
  const char *end = source ? strchr(source + 1, '\n') : NULL;
  return end ? end + 1 : text;
}

static char *join(const OrrFitOrder *order, const OrrDevice *device, const char *tables,
                  const char *more, const char *constants, const char *errors) {
  const char *system = order->system ? order->system : order->folder;
  const char *name = order->name ? order->name : device->name;
  g_autofree char *source = g_strdelimit(g_path_get_basename(system), "\"\\", '\'');
  return g_strdup_printf("schema: profile/1\nname: %s\ndevice: %s\nsource: \"made by orrery "
                         "calibrate fit from %s%s\"\n%s%s%s",
                         name, device->name, source, more, constants, errors, tables);
}

/* The tables of @profile alone, as YAML. */
static char *tables_text(const OrrProfile *profile) {
  static const char *const others[] = {"schema",    "name",    "device", "source",
                                       "constants", "kernels", "errors", NULL};
  g_autoptr(OrrNode) node = orr_field_dump(&orr_profile_table, profile);
  for (const char *const *key = others; *key; key++) orr_node_remove(node, *key);
  return orr_yaml_text(node);
}

/* Thins @profile and appends to @source how. */
static gboolean thin(OrrProfile *profile, const OrrDevice *device, const OrrFitOrder *order,
                     GString *source, GError **error) {
  OrrThinned thinned;
  if (order->n_rows == 0) return TRUE;
  if (!orr_thin(profile, device, order->n_rows, &thinned, error)) return FALSE;
  g_string_append_printf(source, ", %u of %u rows", thinned.n_kept, thinned.n_before);
  if (thinned.left_out.n)
    g_string_append_printf(
        source,
        "; their predictions of the others are %.1f %% off on average, 90th percentile %.1f %%",
        100 * thinned.left_out.mape, 100 * thinned.left_out.p90);
  return TRUE;
}

char *orr_fit(const OrrFitOrder *order, const OrrDevice *device, GError **error) {
  const OrrMeasuredOptions options = {
      .device = device->name, .collectives_csv = order->collectives_csv, .system = order->system};
  g_autofree char *imported = orr_measured_import(order->folder, &options, error);
  g_autoptr(OrrProfile) profile = imported ? read_text(imported, error) : NULL;
  if (!profile) return NULL;
  OrrFitOverlap overlap;
  if (!orr_fit_overlap(order->folder, &overlap, error)) return NULL;
  g_autofree char *constants = orr_fit_constants(profile, device, &overlap, error);
  g_autoptr(GString) source = g_string_new(NULL);
  if (!constants || !thin(profile, device, order, source, error)) return NULL;
  g_autoptr(GPtrArray) tables = orr_crossval_run(profile, device, NULL, error);
  if (!tables) return NULL;
  g_autofree char *errors = orr_crossval_yaml(tables),
                  *thinned = order->n_rows ? tables_text(profile) : NULL;
  return join(order, device, thinned ? thinned : tables_of(imported), source->str, constants,
              errors);
}

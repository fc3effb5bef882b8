/*
 * fit.c - see fit.h.
 */
#include "calibration/fit.h"

#include <string.h>

#include "calibration/measured.h"
#include "calibration/profile_errors.h"
#include "sim/base/fault.h"
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

static char *join(const OrrFitOrder *order, const OrrDevice *device, const char *imported, const char *constants,
                  const char *errors) {
  const char *system = order->system ? order->system : order->folder;
  const char *name = order->name ? order->name : device->name;
  g_autofree char *source = g_strdelimit(g_path_get_basename(system), "\"\\", '\'');
  return g_strdup_printf(
      "schema: profile/1\nname: %s\ndevice: %s\nsource: \"made by orrery calibrate fit from %s\"\n%s%s%s", name,
      device->name, source, constants, errors, tables_of(imported));
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
  g_autoptr(GPtrArray) tables = constants ? orr_crossval_run(profile, device, NULL, error) : NULL;
  if (!tables) return NULL;
  g_autofree char *errors = orr_profile_errors_text(tables);
  return join(order, device, imported, constants, errors);
}

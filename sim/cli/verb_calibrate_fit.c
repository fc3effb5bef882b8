/*
 * verb_calibrate_fit.c - orrery calibrate fit --raw DIR --device NAME [-o FILE]; orrery calibrate errors PROFILE.
 */
#include "sim/cli/verb_calibrate_fit.h"

#include <stdio.h>

#include "calibration/fit.h"
#include "calibration/profile_errors.h"
#include "sim/base/fault.h"
#include "sim/cli/show.h"
#include "sim/run/machine.h"

static int write_text(const char *text, const char *output, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (!output) {
    fputs(text, stdout);
    return 0;
  }
  if (g_file_set_contents(output, text, -1, &reason)) return 0;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", reason->message);
  return 1;
}

static gboolean check_fit(const OrrCalibrateFit *fit, GError **error) {
  if (!fit->raw)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "calibrate fit wants --raw DIR: gemm.csv and its siblings");
  else if (!fit->device)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "calibrate fit wants --device NAME: which device was measured");
  else if (fit->collectives && !fit->machine)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--collectives wants --system NAME: whose rows to take");
  else if (!g_file_test(fit->raw, G_FILE_TEST_IS_DIR))
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: no such folder", fit->raw);
  else
    return TRUE;
  return FALSE;
}

int orr_calibrate_fit(OrrLibrary *library, const OrrCalibrateFit *fit, char **args, GError **error) {
  if (!orr_cli_check_args(args, 0, 0, "calibrate fit takes options", error) || !check_fit(fit, error)) return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL, NULL};
  if (!orr_library_path(library, "device", fit->device)) {
    g_auto(GStrv) known = orr_library_names(library, "device");
    return orr_cli_unknown("device", fit->device, (const char *const *)known, error);
  }
  if (!orr_machine_load_device(library, fit->device, &machine, diags)) return orr_diags_check(diags, error), 2;
  g_autofree char *beside = g_build_filename(fit->raw, "collectives.csv", NULL);
  gboolean has_beside = g_file_test(beside, G_FILE_TEST_EXISTS);
  OrrFitOrder order = {.folder = fit->raw,
                       .collectives_csv = fit->collectives ? fit->collectives
                                          : has_beside     ? beside
                                                           : NULL,
                       .system = fit->machine ? fit->machine
                                 : has_beside ? fit->device
                                              : NULL,
                       .name = fit->name};
  g_autofree char *text = orr_fit(&order, machine.device, error);
  return text ? write_text(text, fit->output, error) : 1;
}

int orr_calibrate_errors(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "calibrate errors wants a profile", error)) return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL, NULL};
  gboolean is_loaded = orr_machine_load(library, args[0], &machine, diags);
  orr_show_diags(diags);
  if (!is_loaded) return 2;
  if (!machine.profile) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "device %s has no profile: there is nothing to leave out", args[0]);
    return 2;
  }
  g_autoptr(GPtrArray) tables = orr_crossval_run(machine.profile, machine.device, NULL, error);
  if (!tables) return 1;
  g_autofree char *text = orr_profile_errors_text(tables);
  fputs(text, stdout);
  return 0;
}

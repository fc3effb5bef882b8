/*
 * verb_calibrate_fit.c - orrery calibrate compare|errors|fit|report: checks the options, loads the
 * profile, and prints what sim/calibrate returns.
 */
#include "sim/cli/verb_calibrate_fit.h"

#include "sim/base/paths.h"

/* Loads the machine that argument @name of an action stands for, and prints what is wrong with
 * it. */
static gboolean load_machine(OrrLibrary *library, const char *name, OrrMachine *ret_machine) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const gboolean is_loaded = orr_machine_load(library, name, ret_machine, diags);
  orr_show_diags(diags);
  return is_loaded;
}

/* --- fit --- */

static gboolean check_fit(const OrrCalibrateFit *fit, GError **error) {
  if (!fit->device)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "calibrate fit needs --device NAME: the device that was measured");
  if (fit->collectives && !fit->system)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--collectives needs --system NAME: the system whose rows to use");
  if (fit->n_rows < 0)
    return orr_fault_set(error, ORR_FAULT_USAGE, "--thin takes a number above 0, found %d",
                         fit->n_rows);
  if (!g_file_test(fit->raw, G_FILE_TEST_EXISTS))
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: no such folder or database", fit->raw);
  return TRUE;
}

static gboolean check_fit_paths(const OrrCalibrateFit *fit, const char *output, GError **error) {
  const OrrPath paths[] = {{"calibrate fit", fit->raw, ORR_PATH_READ, TRUE},
                           {"--collectives", fit->collectives, ORR_PATH_READ, FALSE},
                           {"-o", output, ORR_PATH_WRITTEN, FALSE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

int orr_verb_calibrate_fit(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                           GError **error) {
  OrrCalibrateFit fit = options->fit;
  fit.raw = args[0];
  if (!orr_cli_check_args(args, 1, 1,
                          "calibrate fit takes a folder with gemm.csv and other tables, or a "
                          "database of orrery calibrate",
                          error) ||
      !check_fit(&fit, error) || !check_fit_paths(&fit, options->output, error))
    return 2;
  g_autofree char *path = orr_library_path(library, "device", fit.device);
  if (!path) {
    g_auto(GStrv) known = orr_library_names(library, "device");
    return orr_cli_unknown("device", fit.device, (const char *const *)known, error);
  }
  g_autofree char *text = orr_calibrate_fit(&fit, library, error);
  return text && orr_show_document(text, options->output, error) ? 0 : 1;
}

/* --- compare --- */

static void print_difference(const OrrCalibrateDifference *difference) {
  const OrrErrors *errors = &difference->errors;
  if (errors->n == 0) {
    printf("%-48s %6u  not predicted by profiles\n", difference->kernels, difference->n_rows);
    return;
  }
  g_autofree char *mape = orr_show_percent(errors->mape),
                  *bias = orr_show_signed_percent(errors->bias),
                  *p90 = orr_show_percent(errors->p90),
                  *from_rows = orr_show_percent(difference->from_rows);
  printf("%-48s %6u %6u %9s %9s %9s %12s\n", difference->kernels, difference->n_rows, errors->n,
         mape, bias, p90, from_rows);
}

int orr_verb_calibrate_compare(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                               GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "calibrate compare takes a profile", error)) return 2;
  g_auto(OrrMachine) machine = {NULL};
  if (!load_machine(library, args[0], &machine)) return 2;
  const char *device = options->fit.device ? options->fit.device : machine.device->name;
  g_autoptr(GArray) rows = orr_calibrate_rows_of(options->db, device, error);
  g_autoptr(GPtrArray) differences = rows ? orr_calibrate_compare(rows, &machine, error) : NULL;
  if (!differences) return 1;
  printf("%s against measurements on %s\n", args[0], g_array_index(rows, OrrMeasureRow, 0).device);
  printf("%-48s %6s %6s %9s %9s %9s %12s\n", "kernels", "rows", "asked", "mean", "bias", "p90",
         "from rows");
  for (guint i = 0; i < differences->len; i++) print_difference(differences->pdata[i]);
  return 0;
}

/* --- report --- */

static void print_report(const char *file, const OrrCalibrateReport *report, const char *profile) {
  printf("%s: %u rows of %u session%s, %u reason%s for refusals, against %s\n", file,
         report->n_rows, report->n_sessions, report->n_sessions == 1 ? "" : "s", report->n_refusals,
         report->n_refusals == 1 ? "" : "s", *profile ? profile : "no profile");
}

int orr_verb_calibrate_report(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                              GError **error) {
  const char *file = options->output ? options->output : "calibration-report.txt";
  const char *device = options->fit.device;
  const OrrPath paths[] = {{"the database", options->db, ORR_PATH_READ, TRUE},
                           {"-o", file, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_cli_check_args(args, 0, 1, "calibrate report takes at most one profile", error) ||
      !orr_paths_check(paths, G_N_ELEMENTS(paths), error))
    return 2;
  g_auto(OrrMachine) machine = {NULL};
  g_auto(OrrCalibrateReport) report = {NULL, 0, 0, 0};
  g_autofree char *profile = args[0]
                                 ? g_strdup(args[0])
                                 : orr_calibrate_report_device(library, options->db, device, error);
  if (!profile) return 1;
  if (*profile && !load_machine(library, profile, &machine)) return 2;
  if (!device && args[0]) device = machine.device->name;
  if (!orr_calibrate_report(options->db, device, profile, *profile ? &machine : NULL, &report,
                            error))
    return 1;
  if (!orr_show_document(report.text, file, error)) return 1;
  print_report(file, &report, profile);
  return 0;
}

/* --- errors --- */

int orr_verb_calibrate_errors(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                              GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "calibrate errors takes a profile", error)) return 2;
  g_auto(OrrMachine) machine = {NULL, NULL};
  if (!load_machine(library, args[0], &machine)) return 2;
  if (!machine.profile) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "device %s has no profile, so there are no rows to cross-validate", args[0]);
    return 2;
  }
  g_autoptr(GPtrArray) tables = orr_crossval_run(machine.profile, machine.device, NULL, error);
  if (!tables) return 1;
  g_autofree char *text = orr_crossval_yaml(tables);
  fputs(text, stdout);
  return 0;
}

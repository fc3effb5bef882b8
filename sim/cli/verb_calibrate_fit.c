/*
 * verb_calibrate_fit.c - orrery calibrate fit --raw DIR|DB --device NAME [-o FILE]; calibrate
 * compare PROFILE; calibrate errors PROFILE.
 */
#include "sim/cli/verb_calibrate_fit.h"

#include <stdio.h>

#include <glib/gstdio.h>

#include "calibration/fit/fit.h"
#include "calibration/crossval/profile_errors.h"
#include "sim/base/fault.h"
#include "sim/base/paths.h"
#include "sim/cli/show.h"
#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/calibrate_compare.h"
#include "sim/calibrate/calibrate_report.h"
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
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "calibrate fit wants --raw DIR: gemm.csv and its siblings, or a database of orrery "
                "calibrate");
  else if (!fit->device)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "calibrate fit wants --device NAME: which device was measured");
  else if (fit->collectives && !fit->machine)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--collectives wants --system NAME: whose rows to take");
  else if (fit->thin < 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--thin %d: want a number of rows above 0",
                fit->thin);
  else if (!g_file_test(fit->raw, G_FILE_TEST_EXISTS))
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: no such folder or database", fit->raw);
  else
    return TRUE;
  return FALSE;
}

static gboolean check_paths(const OrrCalibrateFit *fit, GError **error) {
  const OrrPath paths[] = {{"--raw", fit->raw, ORR_PATH_READ, TRUE},
                           {"--collectives", fit->collectives, ORR_PATH_READ, FALSE},
                           {"-o", fit->output, ORR_PATH_WRITTEN, FALSE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

/* A database's rows as a folder, for as long as the fit needs it. */
typedef struct {
  char *folder, *machine; /* whose rows its collectives are */
  GPtrArray *files;       /* of OrrExportFile */
} Unpacked;

static void unpacked_clear(Unpacked *unpacked) {
  for (guint i = 0; unpacked->files && i < unpacked->files->len; i++) {
    g_autofree char *path = g_build_filename(
        unpacked->folder, ((OrrExportFile *)unpacked->files->pdata[i])->file, NULL);
    g_unlink(path);
  }
  if (unpacked->folder) g_rmdir(unpacked->folder);
  if (unpacked->files) g_ptr_array_unref(unpacked->files);
  g_free(unpacked->folder);
  g_free(unpacked->machine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Unpacked, unpacked_clear)

static gboolean unpack(const OrrCalibrateFit *fit, Unpacked *unpacked, GError **error) {
  g_autoptr(GError) reason = NULL;
  g_autoptr(GArray) rows = orr_calibrate_rows_of(fit->raw, fit->device, error);
  if (!rows) return FALSE;
  unpacked->machine = orr_measure_row_device_name(g_array_index(rows, OrrMeasureRow, 0).device);
  if (!(unpacked->folder = g_dir_make_tmp("orrery-fit-XXXXXX", &reason))) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", reason->message);
    return FALSE;
  }
  return (unpacked->files = orr_calibrate_export(fit->raw, fit->device, unpacked->folder, error)) !=
         NULL;
}

int orr_calibrate_fit(OrrLibrary *library, const OrrCalibrateFit *fit, char **args,
                      GError **error) {
  if (!orr_cli_check_args(args, 0, 0, "calibrate fit takes options", error) ||
      !check_fit(fit, error) || !check_paths(fit, error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL};
  g_auto(Unpacked) unpacked = {NULL};
  g_autofree char *known_at = orr_library_path(library, "device", fit->device);
  if (!known_at) {
    g_auto(GStrv) known = orr_library_names(library, "device");
    return orr_cli_unknown("device", fit->device, (const char *const *)known, error);
  }
  if (!orr_machine_load_device(library, fit->device, &machine, diags))
    return orr_diags_check(diags, error), 2;
  const gboolean is_db = !g_file_test(fit->raw, G_FILE_TEST_IS_DIR);
  if (is_db && !unpack(fit, &unpacked, error)) return 1;
  const char *folder = is_db ? unpacked.folder : fit->raw;
  g_autofree char *beside = g_build_filename(folder, "collectives.csv", NULL);
  const gboolean has_beside = g_file_test(beside, G_FILE_TEST_EXISTS);
  OrrFitOrder order = {.folder = folder,
                       .collectives_csv = fit->collectives ? fit->collectives
                                          : has_beside     ? beside
                                                           : NULL,
                       .system = fit->machine       ? fit->machine
                                 : unpacked.machine ? unpacked.machine
                                 : has_beside       ? fit->device
                                                    : NULL,
                       .name = fit->name,
                       .n_rows = (guint)fit->thin};
  g_autofree char *text = orr_fit(&order, machine.device, error);
  return text ? write_text(text, fit->output, error) : 1;
}

/* --- Against a profile --- */

static void print_difference(const OrrCalibrateDifference *difference) {
  const OrrErrors *errors = &difference->errors;
  if (errors->n == 0) {
    printf("%-48s %6u  no profile tells these\n", difference->kernels, difference->n_rows);
    return;
  }
  g_autofree char *mape = orr_show_percent(errors->mape),
                  *bias = orr_show_signed_percent(errors->bias),
                  *p90 = orr_show_percent(errors->p90),
                  *from = orr_show_percent(difference->share_rows);
  printf("%-48s %6u %6u %9s %9s %9s %12s\n", difference->kernels, difference->n_rows, errors->n,
         mape, bias, p90, from);
}

int orr_verb_calibrate_differ(OrrLibrary *library, const char *db, const char *device, char **args,
                              GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "calibrate compare wants a profile", error)) return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL};
  gboolean is_loaded = orr_machine_load(library, args[0], &machine, diags);
  orr_show_diags(diags);
  if (!is_loaded) return 2;
  g_autoptr(GArray) rows = orr_calibrate_rows_of(db, device ? device : machine.device->name, error);
  g_autoptr(GPtrArray) differences = rows ? orr_calibrate_compare(rows, &machine, error) : NULL;
  if (!differences) return 1;
  printf("%s against what was measured on %s\n", args[0],
         g_array_index(rows, OrrMeasureRow, 0).device);
  printf("%-48s %6s %6s %9s %9s %9s %12s\n", "kernels", "rows", "asked", "mean", "bias", "p90",
         "from rows");
  for (guint i = 0; i < differences->len; i++) print_difference(differences->pdata[i]);
  return 0;
}

/* --- As a report --- */

/* The profile to hold the rows against: the one that is asked for, else that of the device they
 * were measured on. */
static char *profile_of(OrrLibrary *library, const char *db, const char *device, char **args,
                        GError **error) {
  if (args[0]) return g_strdup(args[0]);
  g_autoptr(GArray) rows = orr_calibrate_rows_of(db, device, error);
  if (!rows) return NULL;
  char *name = orr_measure_row_device_name(g_array_index(rows, OrrMeasureRow, 0).device);
  g_autofree char *path = orr_library_path(library, "device", name);
  if (!path) g_clear_pointer(&name, g_free);
  return name ? name : g_strdup("");
}

int orr_verb_calibrate_write_report(OrrLibrary *library, const char *db, const char *device,
                                    const char *output, char **args, GError **error) {
  const char *file = output ? output : "calibration-report.txt";
  const OrrPath paths[] = {{"the database", db, ORR_PATH_READ, TRUE},
                           {"-o", file, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_cli_check_args(args, 0, 1, "calibrate report takes a profile at most", error) ||
      !orr_paths_check(paths, G_N_ELEMENTS(paths), error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL};
  g_auto(OrrCalibrateReport) report = {NULL, 0, 0, 0};
  g_autofree char *profile = profile_of(library, db, device, args, error);
  if (!profile) return 1;
  const gboolean is_loaded = !*profile || orr_machine_load(library, profile, &machine, diags);
  orr_show_diags(diags);
  if (!is_loaded) return 2;
  const char *whose = device ? device : args[0] ? machine.device->name : NULL;
  if (!orr_calibrate_report(db, whose, profile, *profile ? &machine : NULL, &report, error))
    return 1;
  const int status = write_text(report.text, file, error);
  if (status == 0)
    printf("%s: %u rows of %u session%s, %u reason%s for refusals, against %s\n", file,
           report.n_rows, report.n_sessions, report.n_sessions == 1 ? "" : "s", report.n_refusals,
           report.n_refusals == 1 ? "" : "s", *profile ? profile : "no profile");
  return status;
}

int orr_verb_calibrate_errors(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "calibrate errors wants a profile", error)) return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL, NULL};
  gboolean is_loaded = orr_machine_load(library, args[0], &machine, diags);
  orr_show_diags(diags);
  if (!is_loaded) return 2;
  if (!machine.profile) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "device %s has no profile: there is nothing to leave out", args[0]);
    return 2;
  }
  g_autoptr(GPtrArray) tables = orr_crossval_run(machine.profile, machine.device, NULL, error);
  if (!tables) return 1;
  g_autofree char *text = orr_profile_errors_text(tables);
  fputs(text, stdout);
  return 0;
}

/*
 * verb_calibrate_import.c - orrery calibrate import FILE.csv: reports of nsys and ncu become rows
 * of the database.
 */
#include "sim/base/paths.h"
#include "sim/calibrate/calibrate_import.h"
#include "sim/cli/verb_calibrate_fit.h"

enum { SHOWN = 20 };

static void print_import(const OrrCalibrateImport *import, const char *db) {
  const guint n_unused = import->unused->len;
  printf("  stored     %u rows of %s in %s\n", import->rows->len, import->tool, db);
  ORR_EACH(const OrrMeasureRow, row, import->rows)
    printf("  row        %10.3f us  %s %s\n", row->median_us, row->family, row->shape);
  for (guint i = 0; i < MIN(n_unused, (guint)SHOWN); i++) {
    const OrrCalibrateUnused *unused = import->unused->pdata[i];
    g_autofree char *name = g_strescape(unused->name, NULL),
                    *reason = g_strescape(unused->reason, "'\"");
    printf("  not used   %10.3f us  %.100s: %s\n", unused->us, name, reason);
  }
  if (n_unused > SHOWN) printf("  not used   %u more, shorter\n", n_unused - SHOWN);
  if (import->rows->len) printf("  next       orrery calibrate export DIR --db %s\n", db);
}

int orr_verb_calibrate_import(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                              GError **error) {
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree char *date = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
  if (!orr_cli_check_args(args, 1, 1, "calibrate import takes a CSV of nsys stats or ncu", error))
    return 2;
  if (!options->fit.device) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "calibrate import needs --device NAME: the device that was measured");
    return 2;
  }
  const OrrPath paths[] = {{"the report", args[0], ORR_PATH_READ, TRUE},
                           {"the database", options->db, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  g_autoptr(OrrCalibrateImport) import =
      orr_calibrate_import_read(args[0], options->fit.device, date, error);
  if (!import || (import->rows->len && !orr_calibrate_import_store(import, options->db, error)))
    return 1;
  print_import(import, options->db);
  return 0;
}

/*
 * calibrate_fit.c - a database is exported to a temporary folder first, at the clock of a cool
 * board (calibrate.h), so that orr_fit always reads CSV files.
 */
#include "sim/calibrate/calibrate.h"

#include <glib/gstdio.h>

#include "calibration/fit/fit.h"

/* The temporary folder with the rows of a database. */
typedef struct {
  char *folder;
  char *system;     /* the system in the rows of its collectives */
  GPtrArray *files; /* of OrrExportFile */
} Exported;

static void exported_clear(Exported *exported) {
  for (guint i = 0; exported->files && i < exported->files->len; i++) {
    g_autofree char *path = g_build_filename(
        exported->folder, ((OrrExportFile *)exported->files->pdata[i])->file, NULL);
    g_unlink(path);
  }
  if (exported->folder) g_rmdir(exported->folder);
  if (exported->files) g_ptr_array_unref(exported->files);
  ORR_FREE(exported->folder, exported->system);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Exported, exported_clear)

static gboolean export_database(const OrrCalibrateFit *fit, const OrrDevice *device,
                                Exported *exported, GError **error) {
  g_autoptr(GError) reason = NULL;
  g_autoptr(GArray) rows = orr_calibrate_rows_of(fit->raw, fit->device, error);
  if (!rows) return FALSE;
  exported->system = orr_measure_row_device_name(g_array_index(rows, OrrMeasureRow, 0).device);
  if (!(exported->folder = g_dir_make_tmp("orrery-fit-XXXXXX", &reason)))
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s", reason->message);
  orr_calibrate_burst(rows, device);
  exported->files = orr_calibrate_rows_write(rows, exported->folder, error);
  return exported->files != NULL;
}

/* The folder's own collectives.csv, if it exists; newly allocated. */
static char *find_collectives(const char *folder) {
  char *path = g_build_filename(folder, "collectives.csv", NULL);
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) g_clear_pointer(&path, g_free);
  return path;
}

static const char *system_of(const OrrCalibrateFit *fit, const Exported *exported,
                             const char *collectives) {
  if (fit->system) return fit->system;
  if (exported->system) return exported->system;
  return collectives ? fit->device : NULL;
}

char *orr_calibrate_fit(const OrrCalibrateFit *fit, OrrLibrary *library, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL};
  g_auto(Exported) exported = {NULL};
  if (!orr_machine_load_device(library, fit->device, &machine, diags)) {
    orr_diags_check(diags, error);
    return NULL;
  }
  const gboolean is_db = !g_file_test(fit->raw, G_FILE_TEST_IS_DIR);
  if (is_db && !export_database(fit, machine.device, &exported, error)) return NULL;
  const char *folder = is_db ? exported.folder : fit->raw;
  g_autofree char *own = find_collectives(folder);
  const OrrFitOrder order = {.folder = folder,
                             .collectives_csv = fit->collectives ? fit->collectives : own,
                             .system = system_of(fit, &exported, own),
                             .name = fit->name,
                             .n_rows = (guint)fit->n_rows};
  return orr_fit(&order, machine.device, error);
}

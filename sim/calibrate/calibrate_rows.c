/*
 * calibrate_rows.c - reads measured rows from the database, by the columns of their field table,
 * and writes them to CSV files.
 */
#include "sim/calibrate/calibrate.h"

#include <errno.h>

#include <glib/gstdio.h>

#include "results/store.h"
#include "sim/base/file.h"

static void row_clear(gpointer row) { orr_field_clear(&orr_measure_row_table, row); }

GArray *orr_calibrate_rows_new(void) {
  GArray *rows = g_array_new(FALSE, TRUE, sizeof(OrrMeasureRow));
  g_array_set_clear_func(rows, row_clear);
  return rows;
}

void orr_calibrate_rows_copy(const OrrMeasureRow *row, OrrMeasureRow *ret_copy) {
  *ret_copy = *row;
  for (size_t i = 0; i < orr_measure_row_table.n_fields; i++) {
    const OrrField *field = &orr_measure_row_table.fields[i];
    if (field->kind != ORR_FIELD_TEXT) continue;
    char **text = G_STRUCT_MEMBER_P(ret_copy, field->offset);
    *text = g_strdup(*text);
  }
}

/* --- Reading --- */

static int word_index(const char *const *words, const char *word) {
  for (int w = 0; words[w]; w++)
    if (strcmp(words[w], word) == 0) return w;
  return 0;
}

/* Parses a cell into the member that @field describes; a NULL cell becomes NAN, 0 or NULL. */
static void read_cell(const OrrField *field, const char *cell, OrrMeasureRow *row) {
  gpointer member = G_STRUCT_MEMBER_P(row, field->offset);
  if (field->kind == ORR_FIELD_TEXT)
    *(char **)member = g_strdup(cell);
  else if (field->kind == ORR_FIELD_REAL)
    *(double *)member = cell ? g_ascii_strtod(cell, NULL) : NAN;
  else if (field->kind == ORR_FIELD_INT)
    *(gint64 *)member = cell ? g_ascii_strtoll(cell, NULL, 10) : 0;
  else
    *(int *)member = cell ? word_index(field->words, cell) : ORR_VERIFIED_UNCHECKED;
}

static gboolean is_among(const OrrAnswer *names, const char *name) {
  for (guint i = 0; i < names->rows->len; i++)
    if (g_strcmp0(((char **)names->rows->pdata[i])[0], name) == 0) return TRUE;
  return FALSE;
}

/* Selects every column of the table of rows; a column that an older database lacks reads as
 * NULL. */
static char *select_sql(const OrrAnswer *columns) {
  GString *sql = g_string_new("SELECT ");
  for (size_t i = 0; i < orr_measure_row_table.n_fields; i++) {
    g_autofree char *column =
        g_strdelimit(g_strdup(orr_measure_row_table.fields[i].name), "-", '_');
    g_string_append_printf(sql, is_among(columns, column) ? "%s\"%s\"" : "%sNULL AS \"%s\"",
                           i ? ", " : "", column);
  }
  g_string_append_printf(sql, " FROM %s ORDER BY rowid", orr_measure_row_table.name);
  return g_string_free(sql, FALSE);
}

static gboolean has_rows(OrrStore *store, gboolean *ret_has, GError **error) {
  g_autoptr(OrrAnswer) answer = orr_store_query(
      store, "SELECT name FROM sqlite_master WHERE name = 'kernel_sample'", 0, error);
  if (answer) *ret_has = answer->rows->len > 0;
  return answer != NULL;
}

static gboolean read_rows(OrrStore *store, GArray *rows, GError **error) {
  g_autoptr(OrrAnswer) columns =
      orr_store_query(store, "SELECT name FROM pragma_table_info('kernel_sample')", 0, error);
  if (!columns) return FALSE;
  g_autofree char *sql = select_sql(columns);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
  for (guint i = 0; answer && i < answer->rows->len; i++) {
    char **cells = answer->rows->pdata[i];
    OrrMeasureRow row = {0};
    for (size_t f = 0; f < orr_measure_row_table.n_fields; f++)
      read_cell(&orr_measure_row_table.fields[f], cells[f], &row);
    g_array_append_val(rows, row);
  }
  return answer != NULL;
}

GArray *orr_calibrate_rows_read(const char *db, GError **error) {
  g_autoptr(OrrStore) store = orr_store_open_read(db, error);
  g_autoptr(GArray) rows = orr_calibrate_rows_new();
  gboolean has = FALSE;
  if (!store || !has_rows(store, &has, error) || (has && !read_rows(store, rows, error)))
    return NULL;
  return g_steal_pointer(&rows);
}

/* --- Exporting --- */

static gboolean is_device(const OrrMeasureRow *row, const char *device) {
  g_autofree char *name = orr_measure_row_device_name(row->device);
  return !device || strcmp(row->device, device) == 0 || strcmp(name, device) == 0;
}

/* Whether all rows come from one device that the library does not have. */
static gboolean is_one_unknown(const GArray *rows) {
  ORR_EACH(const OrrMeasureRow, row, rows) {
    const char *device = row->device;
    if (orr_measure_row_device_is_shipped(device) ||
        strcmp(device, g_array_index(rows, OrrMeasureRow, 0).device) != 0)
      return FALSE;
  }
  return rows->len > 0;
}

GArray *orr_calibrate_rows_of(const char *db, const char *device, GError **error) {
  g_autoptr(GArray) all = orr_calibrate_rows_read(db, error);
  if (!all) return NULL;
  if (is_one_unknown(all)) return g_steal_pointer(&all);
  g_autoptr(GArray) rows = orr_calibrate_rows_new();
  for (guint i = 0; i < all->len; i++) {
    OrrMeasureRow copy;
    if (!is_device(&g_array_index(all, OrrMeasureRow, i), device)) continue;
    orr_calibrate_rows_copy(&g_array_index(all, OrrMeasureRow, i), &copy);
    g_array_append_val(rows, copy);
  }
  if (rows->len > 0) return g_steal_pointer(&rows);
  return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: no measured kernels%s%s", db,
                        device ? " of " : "", device ? device : "");
}

static GArray *rows_that_count(const GArray *rows) {
  GArray *counting = orr_calibrate_rows_new();
  for (guint i = 0; i < rows->len; i++) {
    OrrMeasureRow copy;
    if (!orr_measure_row_counts(&g_array_index(rows, OrrMeasureRow, i))) continue;
    orr_calibrate_rows_copy(&g_array_index(rows, OrrMeasureRow, i), &copy);
    g_array_append_val(counting, copy);
  }
  return counting;
}

GPtrArray *orr_calibrate_rows_write(const GArray *rows, const char *folder, GError **error) {
  g_autoptr(GArray) counting = rows_that_count(rows);
  g_autoptr(GPtrArray) files = orr_measure_export(counting, error);
  if (!files) return NULL;
  if (g_mkdir_with_parents(folder, 0777) != 0)
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: %s", folder, g_strerror(errno));
  ORR_EACH_POINTER(const OrrExportFile, file, files) {
    g_autofree char *path = g_build_filename(folder, file->file, NULL);
    if (!orr_file_write(path, file->text, -1, error)) return NULL;
  }
  return g_steal_pointer(&files);
}

GPtrArray *orr_calibrate_rows_export(const char *db, const char *device, const char *folder,
                                     GError **error) {
  g_autoptr(GArray) rows = orr_calibrate_rows_of(db, device, error);
  return rows ? orr_calibrate_rows_write(rows, folder, error) : NULL;
}

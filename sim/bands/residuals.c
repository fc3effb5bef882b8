/*
 * residuals.c - reads and writes the files of residuals.
 *
 * A run reads one of them, so reading is made cheap: the file is one buffer that is cut in place,
 * and a text is interned once per line.
 */
#include "sim/bands/residuals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/file.h"

/* Columns before those of the likeness; `answers` is the last. */
enum { COLUMN_SET, COLUMN_ROW, COLUMN_PART, COLUMN_LABEL, N_COLUMNS_BEFORE };
#define MAX_COLUMNS 64

static void clear_residual(gpointer data) { g_free(((OrrResidual *)data)->label); }

OrrResiduals *orr_residuals_new(void) {
  OrrResiduals *residuals = g_new0(OrrResiduals, 1);
  residuals->rows = g_array_new(FALSE, FALSE, sizeof(OrrResidual));
  g_array_set_clear_func(residuals->rows, clear_residual);
  return residuals;
}

void orr_residuals_free(OrrResiduals *residuals) {
  if (!residuals) return;
  g_array_unref(residuals->rows);
  g_free(residuals);
}

char *orr_residuals_path(OrrLibrary *library, const char *kind) {
  g_auto(GStrv) folders = orr_library_folders(library);
  g_autofree char *name = g_strconcat(kind, ".csv", NULL);
  for (char **folder = folders; *folder; folder++) {
    g_autofree char *path = g_build_filename(*folder, "calibration", "residuals", name, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&path);
  }
  return NULL;
}

const OrrResidualAnswer *orr_residual_answer(const OrrResidual *residual, const char *metric) {
  for (guint i = 0; i < residual->n_answers; i++)
    if (strcmp(residual->answers[i].metric, metric) == 0) return &residual->answers[i];
  return NULL;
}

/* --- A likeness as cells --- */

static void append_number(GString *out, double value) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (isnan(value)) return;
  g_string_append(out, g_ascii_formatd(text, sizeof text, "%.6g", value));
}

static void append_cells(GString *out, const OrrLikenessRow *row, char separator) {
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    const OrrField *field = &orr_likeness_table.fields[i];
    const char *member = (const char *)row + field->offset;
    if (i > 0) g_string_append_c(out, separator);
    if (field->kind == ORR_FIELD_TEXT)
      g_string_append(out, *(char *const *)(const void *)member);
    else
      append_number(out, *(const double *)(const void *)member);
  }
}

static gboolean read_cells(char *const *cells, OrrLikenessRow *row) {
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    const OrrField *field = &orr_likeness_table.fields[i];
    char *member = (char *)row + field->offset, *end = NULL;
    if (field->kind == ORR_FIELD_TEXT) {
      *(const char **)(void *)member = g_intern_string(cells[i]);
      continue;
    }
    *(double *)(void *)member = *cells[i] ? g_ascii_strtod(cells[i], &end) : NAN;
    if (end && *end) return FALSE;
  }
  return TRUE;
}

char *orr_residuals_likeness_text(const OrrLikenessRow *row) {
  GString *out = g_string_new(NULL);
  append_cells(out, row, '\t');
  return g_string_free(out, FALSE);
}

gboolean orr_residuals_likeness_parse(const char *text, OrrLikenessRow *ret_row) {
  g_auto(GStrv) cells = g_strsplit(text, "\t", -1);
  return g_strv_length(cells) == orr_likeness_table.n_fields && read_cells(cells, ret_row);
}

/* --- Writing --- */

/* Labels are for people: what a table of cells cannot hold becomes a blank. */
static void append_plain(GString *out, const char *text) {
  for (const char *c = text ? text : ""; *c; c++)
    g_string_append_c(out, *c == ',' || *c == '"' || g_ascii_iscntrl(*c) ? ' ' : *c);
}

static void append_header(GString *out) {
  g_string_append(out, "set,row,part,label");
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++)
    g_string_append_printf(out, ",%s", orr_likeness_table.fields[i].name);
  g_string_append(out, ",answers\n");
}

static void append_row(GString *out, const OrrResidual *residual) {
  append_plain(out, residual->set);
  g_string_append_printf(out, ",%" G_GINT64_FORMAT ",", residual->row);
  append_plain(out, residual->part);
  g_string_append_c(out, ',');
  append_plain(out, residual->label);
  g_string_append_c(out, ',');
  append_cells(out, &residual->likeness, ',');
  for (guint i = 0; i < residual->n_answers; i++) {
    const OrrResidualAnswer *answer = &residual->answers[i];
    g_string_append_printf(out, "%c%s:", i == 0 ? ',' : ' ', answer->metric);
    append_number(out, answer->measured);
    g_string_append_c(out, ':');
    append_number(out, answer->simulated);
  }
  g_string_append_c(out, '\n');
}

gboolean orr_residuals_write(const OrrResiduals *residuals, const char *kind, const char *path,
                             GError **error) {
  g_autoptr(GString) out = g_string_new(NULL);
  g_string_append_printf(out,
                         "# Measured rows of all validation sets of %s beside their simulation; "
                         "`make residuals` writes this file.\n# model-revision: %d\n",
                         kind, ORR_MODEL_REVISION);
  append_header(out);
  for (guint i = 0; i < residuals->rows->len; i++) {
    const OrrResidual *residual = &g_array_index(residuals->rows, OrrResidual, i);
    if (strcmp(residual->likeness.kind, kind) == 0) append_row(out, residual);
  }
  return g_file_set_contents(path, out->str, (gssize)out->len, error);
}

/* --- Reading --- */

static gboolean read_answers(char *text, OrrResidual *residual) {
  for (char *rest = text, *one; (one = strsep(&rest, " "));) {
    char *metric = strsep(&one, ":"), *measured = strsep(&one, ":"), *end = NULL;
    if (!one || residual->n_answers == ORR_RESIDUAL_ANSWERS) return FALSE;
    OrrResidualAnswer *answer = &residual->answers[residual->n_answers++];
    *answer = (OrrResidualAnswer){g_intern_string(metric), g_ascii_strtod(measured, NULL),
                                  g_ascii_strtod(one, &end)};
    if (*end || !(answer->measured > 0) || !(answer->simulated > 0)) return FALSE;
  }
  return residual->n_answers > 0;
}

static gboolean read_row(char *line, OrrResidual *residual) {
  const guint n_columns = N_COLUMNS_BEFORE + (guint)orr_likeness_table.n_fields + 1;
  char *cells[MAX_COLUMNS], *rest = line;
  guint n = 0;
  while (rest && n < n_columns) cells[n++] = strsep(&rest, ",");
  if (n < n_columns || rest) return FALSE;
  *residual = (OrrResidual){.set = g_intern_string(cells[COLUMN_SET]),
                            .part = g_intern_string(cells[COLUMN_PART]),
                            .row = g_ascii_strtoll(cells[COLUMN_ROW], NULL, 10)};
  if (!read_cells(cells + N_COLUMNS_BEFORE, &residual->likeness) ||
      !read_answers(cells[n_columns - 1], residual))
    return FALSE;
  residual->label = g_strdup(cells[COLUMN_LABEL]);
  return TRUE;
}

static gboolean read_line(char *line, OrrResiduals *residuals) {
  static const char revision[] = "# model-revision: ";
  OrrResidual residual;
  if (g_str_has_prefix(line, revision))
    residuals->revision = g_ascii_strtoll(line + strlen(revision), NULL, 10);
  if (*line == '\0' || *line == '#') return TRUE;
  if (!read_row(line, &residual)) return FALSE;
  g_array_append_val(residuals->rows, residual);
  return TRUE;
}

OrrResiduals *orr_residuals_read(const char *path, GError **error) {
  g_autoptr(OrrResiduals) residuals = orr_residuals_new();
  g_autoptr(GString) header = g_string_new(NULL);
  g_autofree char *text = NULL;
  text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, NULL, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  append_header(header);
  g_string_truncate(header, header->len - 1);
  gint64 number = 0;
  for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
    number++;
    if (strcmp(line, header->str) == 0 || read_line(line, residuals)) continue;
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s:%" G_GINT64_FORMAT ": not a row of residuals; `make residuals` writes the file",
                path, number);
    return NULL;
  }
  return g_steal_pointer(&residuals);
}

/*
 * csv.c - splits lines into cells. A quoted cell can hold commas and doubled quotes, but no line
 * end.
 */
#include "sim/base/csv.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/file.h"

static void line_free(OrrCsvLine *line) {
  g_free(line->text);
  g_strfreev(line->cells);
  g_free(line);
}

void orr_csv_free(OrrCsv *csv) {
  if (!csv) return;
  g_strfreev(csv->header);
  g_ptr_array_unref(csv->lines);
  g_free(csv);
}

/* Reads one cell from @text; returns its end, a comma or the end of the line. */
static const char *read_cell(const char *text, char **ret_cell) {
  g_autoptr(GString) cell = g_string_new(NULL);
  gboolean quoted = FALSE;
  for (; *text && (quoted || *text != ','); text++) {
    if (*text != '"')
      g_string_append_c(cell, *text);
    else if (quoted && text[1] == '"')
      g_string_append_c(cell, *text++);
    else
      quoted = !quoted;
  }
  *ret_cell = g_strdup(g_strstrip(cell->str));
  return text;
}

static GStrv split_cells(const char *text) {
  g_autoptr(GStrvBuilder) cells = g_strv_builder_new();
  while (TRUE) {
    g_autofree char *cell = NULL;
    text = read_cell(text, &cell);
    g_strv_builder_add(cells, cell);
    if (!*text) return g_strv_builder_end(cells);
    text++;
  }
}

static void add_line(OrrCsv *csv, const char *text, OrrPlace place, OrrDiags *diags) {
  OrrCsvLine *line = g_new0(OrrCsvLine, 1);
  line->place = place;
  line->text = g_strdup(text);
  g_strchomp(line->text);
  g_ptr_array_add(csv->lines, line);
  if (*line->text == '#' || !*line->text) return;
  g_auto(GStrv) cells = split_cells(line->text);
  if (!csv->header) {
    csv->header = g_steal_pointer(&cells);
    csv->header_line = csv->lines->len - 1;
    return;
  }
  guint wanted = g_strv_length(csv->header), found = g_strv_length(cells);
  if (wanted == found)
    line->cells = g_steal_pointer(&cells);
  else
    orr_diags_error(diags, place, "%u cells, but the header has %u", found, wanted);
}

static OrrCsv *parse(const char *text, const char *path, OrrDiags *diags) {
  OrrCsv *csv = g_new0(OrrCsv, 1);
  csv->lines = g_ptr_array_new_with_free_func((GDestroyNotify)line_free);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint n_lines = g_strv_length(lines);
  if (n_lines > 0 && !*lines[n_lines - 1]) n_lines--; /* nothing follows the end of the last line */
  for (guint i = 0; i < n_lines; i++)
    add_line(csv, lines[i], (OrrPlace){g_intern_string(path), (int)i + 1, 1}, diags);
  return csv;
}

OrrCsv *orr_csv_read(const char *path, OrrDiags *diags, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: not a text file", path);
    return NULL;
  }
  const gboolean has_mark =
      g_str_has_prefix(text, "\xef\xbb\xbf"); /* spreadsheets begin UTF-8 with one */
  g_autoptr(OrrCsv) csv = parse(text + (has_mark ? 3 : 0), path, diags);
  if (csv->header) return g_steal_pointer(&csv);
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: no header line", path);
  return NULL;
}

int orr_csv_column(const OrrCsv *csv, const char *name) {
  for (int i = 0; csv->header[i]; i++)
    if (strcmp(csv->header[i], name) == 0) return i;
  return -1;
}

gboolean orr_csv_number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                        double *ret_value) {
  const char *cell = line->cells[column];
  char *end;
  double value = g_ascii_strtod(cell, &end);
  if (end == cell || *end || !isfinite(value)) {
    orr_diags_error(diags, line->place, "%s is '%.40s': want a number", csv->header[column], cell);
    return FALSE;
  }
  *ret_value = value;
  return TRUE;
}

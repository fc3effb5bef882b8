/*
 * csv.c - splits lines into cells. A quoted cell can hold commas and doubled quotes, but no line
 * end.
 */
#include "sim/base/csv.h"

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

OrrCsv *orr_csv_parse(const char *text, const char *name, OrrDiags *diags) {
  OrrCsv *csv = g_new0(OrrCsv, 1);
  csv->lines = g_ptr_array_new_with_free_func((GDestroyNotify)line_free);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint n_lines = g_strv_length(lines);
  if (n_lines > 0 && !*lines[n_lines - 1]) n_lines--; /* nothing follows the end of the last line */
  for (guint i = 0; i < n_lines; i++)
    add_line(csv, lines[i], (OrrPlace){g_intern_string(name), (int)i + 1, 1}, diags);
  return csv;
}

OrrCsv *orr_csv_read(const char *path, OrrDiags *diags, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: not a text file", path);
  const gboolean has_mark =
      g_str_has_prefix(text, "\xef\xbb\xbf"); /* spreadsheets begin UTF-8 with one */
  g_autoptr(OrrCsv) csv = orr_csv_parse(text + (has_mark ? 3 : 0), path, diags);
  if (csv->header) return g_steal_pointer(&csv);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: no header line", path);
}

int orr_csv_column(const OrrCsv *csv, const char *name) {
  for (int i = 0; csv->header[i]; i++)
    if (strcmp(csv->header[i], name) == 0) return i;
  return -1;
}

/* Commas inside quotes do not count. */
OrrPlace orr_csv_place(const OrrCsvLine *line, int column) {
  OrrPlace place = line->place;
  gboolean quoted = FALSE;
  const char *at = line->text;
  for (; *at && column > 0; at++) {
    if (*at == '"') quoted = !quoted;
    if (*at == ',' && !quoted) column--;
  }
  place.column = (int)(at - line->text) + 1;
  return place;
}

/* --- Columns that a reader knows --- */

static const OrrCsvLine *header_of(const OrrCsv *csv) {
  return csv->lines->pdata[csv->header_line];
}

int orr_csv_find(const OrrCsv *csv, const char *names) {
  g_auto(GStrv) all = g_strsplit(names, "|", -1);
  int column = -1;
  for (char **one = all; *one && column < 0; one++) column = orr_csv_column(csv, *one);
  return column;
}

static GStrv names_of(const char *const *known) {
  g_autofree char *text = g_strjoinv("|", (char **)known);
  return g_strsplit(text, "|", -1);
}

int orr_csv_require(const OrrCsv *csv, const char *const *known, const char *names,
                    OrrDiags *diags) {
  const int column = orr_csv_find(csv, names);
  if (column >= 0) return column;
  g_auto(GStrv) taken = names_of(known), own = g_strsplit(names, "|", -1);
  g_autoptr(GPtrArray) free_columns = g_ptr_array_new();
  for (char **one = csv->header; *one; one++)
    if (!g_strv_contains((const char *const *)taken, *one)) g_ptr_array_add(free_columns, *one);
  g_ptr_array_add(free_columns, NULL);
  const char *nearest = NULL;
  for (char **one = own; *one && !nearest; one++)
    nearest = orr_diag_nearest_word(*one, (const char *const *)free_columns->pdata);
  g_autofree char *others = own[1] ? g_strjoinv(", ", own + 1) : NULL;
  orr_diags_error(
      diags, header_of(csv)->place, "there is no column %s%s%s%s%s%s%s (the header has %u)", own[0],
      others ? " (or " : "", others ? others : "", others ? ")" : "", nearest ? "; is it '" : "",
      nearest ? nearest : "", nearest ? "'?" : "", g_strv_length(csv->header));
  return -1;
}

/* The names of the entries of @known that the header lacks; sets @is_read of the other entries'
 * columns. */
static GStrv missing_of(const OrrCsv *csv, const char *const *known, gboolean *is_read) {
  g_autoptr(GPtrArray) missing = g_ptr_array_new();
  for (; *known; known++) {
    const int column = orr_csv_find(csv, *known);
    if (column >= 0)
      is_read[column] = TRUE;
    else
      g_ptr_array_add(missing, (char *)*known);
  }
  g_ptr_array_add(missing, NULL);
  return names_of((const char *const *)missing->pdata);
}

char *orr_csv_left_out(const char *what, const GPtrArray *left_out) {
  enum { MOST_LISTED = 12, MOST_LETTERS = 40 };
  GString *text = g_string_new(NULL);
  g_string_printf(text, "%s that are not read: ", what);
  for (guint i = 0; i < left_out->len && i < MOST_LISTED; i++) {
    g_autofree char *name = g_utf8_make_valid(left_out->pdata[i], -1);
    g_autofree char *begin = g_utf8_substring(name, 0, MIN(g_utf8_strlen(name, -1), MOST_LETTERS));
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", begin);
  }
  if (left_out->len > MOST_LISTED)
    g_string_append_printf(text, " and %u more", left_out->len - MOST_LISTED);
  for (char *c = text->str; *c; c++)
    if (g_ascii_iscntrl(*c)) *c = '?';
  return g_string_free(text, left_out->len == 0);
}

char *orr_csv_check(const OrrCsv *csv, const char *const *known, const char *const *others,
                    OrrDiags *diags) {
  enum { MOST_FINDINGS = 20, MOST_COMPARED = 1000 }; /* a search for the nearest word takes 20 us */
  g_autofree gboolean *is_read = g_new0(gboolean, g_strv_length(csv->header));
  g_auto(GStrv) names = names_of(known), missing = missing_of(csv, known, is_read);
  g_autofree char *allowed = g_strjoinv(", ", names);
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal); /* only looked up */
  g_autoptr(GPtrArray) left_out = g_ptr_array_new();
  for (int i = 0, n_found = 0; csv->header[i] && n_found < MOST_FINDINGS; i++) {
    const char *name = csv->header[i];
    if (!*name) continue; /* the unnamed index of a data frame */
    const gboolean is_known = left_out->len > MOST_COMPARED ||
                              g_strv_contains((const char *const *)names, name) ||
                              (others && g_strv_contains(others, name));
    const char *nearest =
        is_known ? NULL : orr_diag_nearest_word(name, (const char *const *)missing);
    const gboolean is_new = g_hash_table_add(seen, (char *)name);
    const OrrPlace place = nearest || !is_new ? orr_csv_place(header_of(csv), i) : (OrrPlace){0};
    if (!is_new)
      orr_diags_error(diags, place, "duplicate column '%s'", name);
    else if (nearest)
      orr_diags_error(diags, place, "unknown column '%s': did you mean '%s'? (allowed: %s)", name,
                      nearest, allowed);
    else if (!is_read[i])
      g_ptr_array_add(left_out, (char *)name);
    n_found += !is_new || nearest;
  }
  return orr_csv_left_out("columns", left_out);
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

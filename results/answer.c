/*
 * answer.c - the answer to a query as text: tables for people (plain, Markdown), CSV and JSON for
 * programs.
 *
 * CSV and JSON give numbers in full: each reads back as the double that is in the database. The
 * table rounds what has a point or an exponent to six significant digits, and leaves integers
 * alone. NULL is "-" in a table, an empty field in CSV (an empty text is ""), null in JSON.
 */
#include <string.h>

#include "results/store.h"

void orr_answer_free(OrrAnswer *answer) {
  if (!answer) return;
  for (guint r = 0; answer->rows && r < answer->rows->len; r++) {
    char **cells = answer->rows->pdata[r];
    for (guint i = 0; i < answer->n_columns; i++) g_free(cells[i]);
    g_free(cells);
  }
  if (answer->rows) g_ptr_array_unref(answer->rows);
  g_strfreev(answer->columns);
  g_free(answer->is_number);
  g_free(answer);
}

/* --- Table --- */

static char *rounded(const char *text) {
  char short_text[G_ASCII_DTOSTR_BUF_SIZE];
  if (!strpbrk(text, ".e")) return g_strdup(text);
  return g_strdup(
      g_ascii_formatd(short_text, sizeof short_text, "%.6g", g_ascii_strtod(text, NULL)));
}

static char *shown(const OrrAnswer *answer, guint column, const char *cell) {
  if (!cell) return g_strdup("-");
  if (answer->is_number[column]) return rounded(cell);
  char *text = g_strdup(cell);
  for (char *c = text; *c; c++)
    if (g_ascii_iscntrl(*c) && *c != '\n') *c = ' '; /* no cell may move the cursor of a terminal */
  return text;
}

/* A row whose cells may have several lines: each cell split at its newlines. */
typedef struct {
  GStrv *cells; /* n_columns of them */
  guint height;
} ShownRow;

static ShownRow show_row(const OrrAnswer *answer, char **cells, gsize *widths) {
  ShownRow row = {.cells = g_new0(GStrv, answer->n_columns), .height = 1};
  for (guint i = 0; i < answer->n_columns; i++) {
    g_autofree char *text = shown(answer, i, cells[i]);
    row.cells[i] = g_strsplit(g_strchomp(text), "\n", -1);
    row.height = MAX(row.height, g_strv_length(row.cells[i]));
    for (char **line = row.cells[i]; *line; line++)
      widths[i] = MAX(widths[i], (gsize)g_utf8_strlen(*line, -1));
  }
  return row;
}

static void shown_row_clear(ShownRow *row, guint n_columns) {
  for (guint i = 0; i < n_columns; i++) g_strfreev(row->cells[i]);
  g_free(row->cells);
}

static void append_spaces(GString *out, gsize n) {
  for (gsize i = 0; i < n; i++) g_string_append_c(out, ' ');
}

/* One cell of a line; @last is not padded, so that no line ends in blanks. */
static void append_cell(GString *out, const char *text, gsize width, gboolean right,
                        gboolean last) {
  gsize pad = width - MIN(width, (gsize)g_utf8_strlen(text, -1));
  if (right) append_spaces(out, pad);
  g_string_append(out, text);
  if (!right && !last) append_spaces(out, pad);
}

static void end_line(GString *out) {
  while (out->len > 0 && out->str[out->len - 1] == ' ') g_string_truncate(out, out->len - 1);
  g_string_append_c(out, '\n');
}

static void append_row(GString *out, const OrrAnswer *answer, const ShownRow *row,
                       const gsize *widths) {
  for (guint l = 0; l < row->height; l++) {
    for (guint i = 0; i < answer->n_columns; i++) {
      gboolean has_line = l < g_strv_length(row->cells[i]);
      g_string_append(out, i > 0 ? "  " : "");
      append_cell(out, has_line ? row->cells[i][l] : "", widths[i], answer->is_number[i],
                  i + 1 == answer->n_columns);
    }
    end_line(out);
  }
}

static void append_head(GString *out, const OrrAnswer *answer, const gsize *widths) {
  for (guint i = 0; i < answer->n_columns; i++) {
    g_string_append(out, i > 0 ? "  " : "");
    append_cell(out, answer->columns[i], widths[i], answer->is_number[i],
                i + 1 == answer->n_columns);
  }
  end_line(out);
  for (guint i = 0; i < answer->n_columns; i++) {
    g_string_append(out, i > 0 ? "  " : "");
    for (gsize k = 0; k < widths[i]; k++) g_string_append_c(out, '-');
  }
  end_line(out);
}

char *orr_answer_table(const OrrAnswer *answer) {
  GString *out = g_string_new(NULL);
  guint n = answer->n_columns;
  g_autofree gsize *widths = g_new0(gsize, n);
  g_autofree ShownRow *rows = g_new0(ShownRow, answer->rows->len);
  for (guint i = 0; i < n; i++) widths[i] = (gsize)g_utf8_strlen(answer->columns[i], -1);
  for (guint r = 0; r < answer->rows->len; r++)
    rows[r] = show_row(answer, answer->rows->pdata[r], widths);
  append_head(out, answer, widths);
  for (guint r = 0; r < answer->rows->len; r++) {
    append_row(out, answer, &rows[r], widths);
    shown_row_clear(&rows[r], n);
  }
  if (answer->rows->len == 0) g_string_append(out, "(no rows)\n");
  return g_string_free(out, FALSE);
}

/* --- CSV --- */

static void append_csv(GString *out, const char *text) {
  gsize length = strlen(text);
  if (length > 0 && !strpbrk(text, "\",\r\n") && text[0] != ' ' && text[length - 1] != ' ') {
    g_string_append(out, text);
    return;
  }
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"') g_string_append_c(out, '"');
    g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

static void append_csv_line(GString *out, char **cells, guint n) {
  for (guint i = 0; i < n; i++) {
    if (i > 0) g_string_append_c(out, ',');
    if (cells[i]) append_csv(out, cells[i]);
  }
  g_string_append_c(out, '\n');
}

char *orr_answer_csv(const OrrAnswer *answer) {
  GString *out = g_string_new(NULL);
  append_csv_line(out, answer->columns, answer->n_columns);
  for (guint r = 0; r < answer->rows->len; r++)
    append_csv_line(out, answer->rows->pdata[r], answer->n_columns);
  return g_string_free(out, FALSE);
}

/* --- Markdown --- */

static void append_markdown_cell(GString *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (strchr("|\\", *c)) g_string_append_c(out, '\\');
    g_string_append_c(out, g_ascii_iscntrl(*c) ? ' ' : *c);
  }
}

char *orr_answer_markdown(const OrrAnswer *answer) {
  GString *out = g_string_new("|");
  for (guint i = 0; i < answer->n_columns; i++) {
    g_string_append_c(out, ' ');
    append_markdown_cell(out, answer->columns[i]);
    g_string_append(out, " |");
  }
  g_string_append(out, "\n|");
  for (guint i = 0; i < answer->n_columns; i++)
    g_string_append(out, answer->is_number[i] ? "---:|" : "---|");
  for (guint r = 0; r < answer->rows->len; r++) {
    g_string_append(out, "\n|");
    for (guint i = 0; i < answer->n_columns; i++) {
      g_autofree char *cell = shown(answer, i, ((char **)answer->rows->pdata[r])[i]);
      g_string_append_c(out, ' ');
      append_markdown_cell(out, cell);
      g_string_append(out, " |");
    }
  }
  g_string_append_c(out, '\n');
  return g_string_free(out, FALSE);
}

/* --- JSON (RFC 8259) --- */

static void append_json_text(GString *out, const char *text) {
  static const char plain[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    const char *found = strchr(plain, *c);
    if (found)
      g_string_append_printf(out, "\\%c", letters[found - plain]);
    else if ((guchar)*c < 0x20)
      g_string_append_printf(out, "\\u%04x", (guchar)*c);
    else
      g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

static void append_json_object(GString *out, const OrrAnswer *answer, char **cells) {
  g_string_append_c(out, '{');
  for (guint i = 0; i < answer->n_columns; i++) {
    g_string_append(out, i > 0 ? ", " : "");
    append_json_text(out, answer->columns[i]);
    g_string_append(out, ": ");
    if (!cells[i])
      g_string_append(out, "null");
    else if (answer->is_number[i])
      g_string_append(out, cells[i]);
    else
      append_json_text(out, cells[i]);
  }
  g_string_append_c(out, '}');
}

char *orr_answer_json(const OrrAnswer *answer) {
  GString *out = g_string_new("[");
  for (guint r = 0; r < answer->rows->len; r++) {
    g_string_append(out, r > 0 ? ",\n " : "\n ");
    append_json_object(out, answer, answer->rows->pdata[r]);
  }
  g_string_append(out, answer->rows->len > 0 ? "\n]\n" : "]\n");
  return g_string_free(out, FALSE);
}

/*
 * answer.c - the answer to a query as text: tables for people (plain, Markdown), CSV and JSON for
 * programs.
 *
 * CSV and JSON give numbers in full: each reads back as the double that is in the database. The
 * table rounds what has a point or an exponent to six significant digits, and leaves integers
 * alone. NULL is "-" in a table, an empty field in CSV (an empty text is ""), null in JSON.
 */
#include "results/store_private.h"

OrrAnswer *orr_answer_new(const char *const *columns, const gboolean *is_number) {
  OrrAnswer *answer = g_new0(OrrAnswer, 1);
  answer->columns = g_strdupv((char **)columns);
  answer->n_columns = g_strv_length(answer->columns);
  answer->is_number = g_memdup2(is_number, sizeof *is_number * answer->n_columns);
  answer->rows = g_ptr_array_new();
  return answer;
}

/* One block per row, as a query makes it: the cells, then their texts. */
void orr_answer_add(OrrAnswer *answer, char *const *cells) {
  const guint n = answer->n_columns;
  gsize length = 0;
  for (guint i = 0; i < n; i++) length += cells[i] ? strlen(cells[i]) + 1 : 0;
  char **row = g_malloc(n * sizeof *row + length), *text = (char *)(row + n);
  for (guint i = 0; i < n; i++) {
    row[i] = cells[i] ? text : NULL;
    if (cells[i]) text = g_stpcpy(text, cells[i]) + 1;
  }
  g_ptr_array_add(answer->rows, row);
}

void orr_answer_free(OrrAnswer *answer) {
  if (!answer) return;
  for (guint r = 0; answer->rows && r < answer->rows->len; r++) g_free(answer->rows->pdata[r]);
  if (answer->rows) g_ptr_array_unref(answer->rows);
  g_strfreev(answer->columns);
  ORR_FREE(answer->is_number, answer);
}

/* --- Table --- */

/* Puts into @out what a table shows of a cell, which may have several lines. */
static void show(const OrrAnswer *answer, guint column, const char *cell, GString *out) {
  char brief[ORR_ANSWER_REAL_SIZE];
  g_string_truncate(out, 0);
  if (!cell) {
    g_string_append_c(out, '-');
  } else if (!answer->is_number[column]) {
    g_string_append(out, cell);
    for (char *c = out->str; *c; c++)
      if (g_ascii_iscntrl(*c) && *c != '\n') *c = ' '; /* no cell may move a terminal's cursor */
  } else if (strpbrk(cell, ".e")) {
    g_string_append_len(out, brief, (gssize)orr_answer_real_short(cell, brief));
  } else {
    g_string_append(out, cell);
  }
}

/* The same without blanks at its end. */
static void show_trimmed(const OrrAnswer *answer, guint column, const char *cell, GString *out) {
  show(answer, column, cell, out);
  while (out->len > 0 && g_ascii_isspace(out->str[out->len - 1]))
    g_string_truncate(out, out->len - 1);
}

/* Characters of the first @n bytes of a text: those that go on with one are not counted. */
static gsize count_characters(const char *text, gsize n) {
  gsize count = 0;
  for (gsize i = 0; i < n; i++) count += ((guchar)text[i] & 0xC0) != 0x80;
  return count;
}

static gsize line_length(const char *text) { return strcspn(text, "\n"); }

/* Widens the column to the longest line of a cell. Returns how many lines it has. */
static guint measure(const char *text, gsize *width) {
  guint n_lines = 1;
  for (;; n_lines++) {
    const gsize length = line_length(text);
    *width = MAX(*width, count_characters(text, length));
    if (!text[length]) return n_lines;
    text += length + 1;
  }
}

static void append_spaces(GString *out, gsize n) {
  static const char blanks[] = "                                                                ";
  for (; n >= sizeof blanks; n -= sizeof blanks - 1)
    g_string_append_len(out, blanks, sizeof blanks - 1);
  g_string_append_len(out, blanks, (gssize)n);
}

/* One cell of a line; @last is not padded, so that no line ends in blanks. */
static void append_cell(GString *out, const char *text, gsize length, gsize width, gboolean right,
                        gboolean last) {
  const gsize shown = count_characters(text, length), pad = width - MIN(width, shown);
  if (right) append_spaces(out, pad);
  g_string_append_len(out, text, (gssize)length);
  if (!right && !last) append_spaces(out, pad);
}

static void end_line(GString *out) {
  while (out->len > 0 && out->str[out->len - 1] == ' ') g_string_truncate(out, out->len - 1);
  g_string_append_c(out, '\n');
}

/* Line @line of a row, from 0. Returns whether a cell has more lines. */
static gboolean append_line(GString *out, const OrrAnswer *answer, char **cells,
                            const gsize *widths, guint line, GString *cell) {
  gboolean has_more = FALSE;
  for (guint i = 0; i < answer->n_columns; i++) {
    show_trimmed(answer, i, cells[i], cell);
    const char *at = cell->str;
    for (guint k = 0; k < line && at; k++) at = (at = strchr(at, '\n')) ? at + 1 : NULL;
    const gsize length = at ? line_length(at) : 0;
    has_more = has_more || (at && at[length]);
    g_string_append(out, i > 0 ? "  " : "");
    append_cell(out, at ? at : "", length, widths[i], answer->is_number[i],
                i + 1 == answer->n_columns);
  }
  end_line(out);
  return has_more;
}

static void append_head(GString *out, const OrrAnswer *answer, const gsize *widths) {
  for (guint i = 0; i < answer->n_columns; i++) {
    g_string_append(out, i > 0 ? "  " : "");
    append_cell(out, answer->columns[i], strlen(answer->columns[i]), widths[i],
                answer->is_number[i], i + 1 == answer->n_columns);
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
  g_autoptr(GString) cell = g_string_new(NULL);
  guint n = answer->n_columns;
  g_autofree gsize *widths = g_new0(gsize, n);
  for (guint i = 0; i < n; i++)
    widths[i] = count_characters(answer->columns[i], strlen(answer->columns[i]));
  for (guint r = 0; r < answer->rows->len; r++)
    for (guint i = 0; i < n; i++) {
      show_trimmed(answer, i, ((char **)answer->rows->pdata[r])[i], cell);
      measure(cell->str, &widths[i]);
    }
  append_head(out, answer, widths);
  for (guint r = 0; r < answer->rows->len; r++)
    for (guint line = 0; append_line(out, answer, answer->rows->pdata[r], widths, line, cell);)
      line++;
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

/* @is_number: the columns that need no quotes; NULL: none. */
static void append_csv_line(GString *out, char **cells, guint n, const gboolean *is_number) {
  for (guint i = 0; i < n; i++) {
    if (i > 0) g_string_append_c(out, ',');
    if (cells[i] && is_number && is_number[i])
      g_string_append(out, cells[i]);
    else if (cells[i])
      append_csv(out, cells[i]);
  }
  g_string_append_c(out, '\n');
}

char *orr_answer_csv(const OrrAnswer *answer) {
  GString *out = g_string_new(NULL);
  append_csv_line(out, answer->columns, answer->n_columns, NULL);
  for (guint r = 0; r < answer->rows->len; r++)
    append_csv_line(out, answer->rows->pdata[r], answer->n_columns, answer->is_number);
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
  g_autoptr(GString) cell = g_string_new(NULL);
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
      show(answer, i, ((char **)answer->rows->pdata[r])[i], cell);
      g_string_append_c(out, ' ');
      append_markdown_cell(out, cell->str);
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
    const char *from = c;
    while ((guchar)*c >= 0x20 && *c != '"' && *c != '\\') c++;
    g_string_append_len(out, from, c - from);
    if (!*c) break;
    const char *found = strchr(plain, *c);
    if (found)
      g_string_append_printf(out, "\\%c", letters[found - plain]);
    else
      g_string_append_printf(out, "\\u%04x", (guchar)*c);
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

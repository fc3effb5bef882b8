/*
 * residuals.c - reads and writes the files of residuals.
 *
 * A run reads one of them, so reading is made cheap: the file is one buffer that is cut in place,
 * short decimal numbers are read here, and a text is interned only where it differs from the row
 * above.
 */
#include "sim/bands/residuals.h"

#include "sim/bands/band_metrics.h"
#include "sim/base/file.h"

/* Columns before the likeness; `answers` is the last. */
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

/* A decimal number of at most 15 digits without exponent, all of @text: the digits are a whole
 * number that a double holds, and so is the power of ten, so the quotient is the nearest double, as
 * strtod's is (Clinger 1990). FALSE: not one. */
static gboolean read_short(const char *text, double *ret_value) {
  static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  gint64 digits = 0;
  guint n = 0, n_after = 0;
  gboolean is_after = FALSE;
  for (const char *c = text; *c; c++) {
    if (*c == '.' && !is_after) {
      is_after = TRUE;
    } else if (g_ascii_isdigit(*c) && ++n <= 15) {
      digits = 10 * digits + (*c - '0');
      n_after += is_after;
    } else {
      return FALSE;
    }
  }
  if (n == 0) return FALSE;
  *ret_value = (double)digits / powers[n_after];
  return TRUE;
}

/* A finite number that is all of @text. */
static gboolean read_number(const char *text, double *ret_value) {
  char *end = NULL;
  if (read_short(text, ret_value)) return TRUE;
  *ret_value = g_ascii_strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*ret_value);
}

/* @text interned; @above: the interned text of the row above, NULL: none. */
static const char *intern(const char *text, const char *above) {
  return above && strcmp(text, above) == 0 ? above : g_intern_string(text);
}

/* NULL, or the field whose cell is not one. @row may have the texts of the row above. */
static const OrrField *read_cells(char *const *cells, OrrLikenessRow *row) {
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    const OrrField *field = &orr_likeness_table.fields[i];
    char *member = (char *)row + field->offset;
    double *number = (double *)(void *)member;
    const char **word = (const char **)(void *)member;
    if (field->kind == ORR_FIELD_TEXT)
      *word = intern(cells[i], *word);
    else if (*cells[i] == '\0')
      *number = NAN;
    else if (!read_number(cells[i], number))
      return field;
  }
  return NULL;
}

char *orr_residuals_likeness_text(const OrrLikenessRow *row) {
  GString *out = g_string_new(NULL);
  append_cells(out, row, '\t');
  return g_string_free(out, FALSE);
}

gboolean orr_residuals_likeness_parse(const char *text, OrrLikenessRow *ret_row) {
  g_auto(GStrv) cells = g_strsplit(text, "\t", -1);
  *ret_row = (OrrLikenessRow){0};
  return g_strv_length(cells) == orr_likeness_table.n_fields && !read_cells(cells, ret_row);
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
  g_string_append_printf(out, ",%ld,", residual->row);
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
                         "# Measured rows of all validation sets of %s with their simulation; "
                         "`make residuals` writes this file.\n# model-revision: %d\n",
                         kind, ORR_MODEL_REVISION);
  append_header(out);
  ORR_EACH(const OrrResidual, residual, residuals->rows)
    if (strcmp(residual->likeness.kind, kind) == 0) append_row(out, residual);
  return orr_file_write(path, out->str, (gssize)out->len, error);
}

/* --- Reading --- */

/* More rows than all that are published; asking takes time in proportion, and the square of it for
 * ratios. */
#define MAX_ROWS 10000

/* Where a file is wrong. */
typedef struct {
  const char *path;
  gint64 line;
} Place;

static gboolean G_GNUC_PRINTF(3, 4)
    fail(const Place *place, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *what = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s:%ld: %s; `make residuals` writes the file",
                       place->path, place->line, what);
}

/* "METRIC:MEASURED:SIMULATED", cut in place. @ret_answer may have the metric of the row above. */
static gboolean read_answer(char *text, OrrResidualAnswer *ret_answer) {
  const char *metric = strsep(&text, ":"), *measured = text ? strsep(&text, ":") : NULL;
  if (!text || *metric == '\0') return FALSE;
  ret_answer->metric = intern(metric, ret_answer->metric);
  return read_number(measured, &ret_answer->measured) &&
         read_number(text, &ret_answer->simulated) && ret_answer->measured > 0 &&
         ret_answer->simulated > 0;
}

static gboolean read_answers(char *text, OrrResidual *residual) {
  for (char *rest = text, *one; (one = strsep(&rest, " "));)
    if (residual->n_answers == ORR_RESIDUAL_ANSWERS ||
        !read_answer(one, &residual->answers[residual->n_answers++]))
      return FALSE;
  return TRUE;
}

/* The cells of a line, cut in place; returns how many there are, counting up to one too many. */
static guint cut(char *line, char **cells, guint n_columns) {
  guint n = 0;
  while (line && n < n_columns) {
    cells[n++] = line;
    line = strchr(line, ',');
    if (line) *line++ = '\0';
  }
  return n + (line != NULL);
}

/* @ret_residual has the row above, or zeros. */
static gboolean read_row(char *line, const Place *place, OrrResidual *ret_residual,
                         GError **error) {
  const guint n_columns = N_COLUMNS_BEFORE + (guint)orr_likeness_table.n_fields + 1;
  char *cells[MAX_COLUMNS];
  const guint n = cut(line, cells, n_columns);
  if (n != n_columns)
    return fail(place, error, "found %s%u columns, allowed: %u", n > n_columns ? "more than " : "",
                MIN(n, n_columns), n_columns);
  ret_residual->set = intern(cells[COLUMN_SET], ret_residual->set);
  ret_residual->part = intern(cells[COLUMN_PART], ret_residual->part);
  ret_residual->n_answers = 0;
  if (!g_ascii_string_to_signed(cells[COLUMN_ROW], 10, 1, G_MAXINT32, &ret_residual->row, NULL))
    return fail(place, error, "row: found '%s', allowed: a line number", cells[COLUMN_ROW]);
  const OrrField *wrong = read_cells(cells + N_COLUMNS_BEFORE, &ret_residual->likeness);
  if (wrong)
    return fail(place, error, "%s: found '%s', allowed: a number or nothing", wrong->name,
                cells[N_COLUMNS_BEFORE + (wrong - orr_likeness_table.fields)]);
  if (!read_answers(cells[n_columns - 1], ret_residual))
    return fail(place, error,
                "answers: allowed: 1 to %d of METRIC:MEASURED:SIMULATED, both above 0",
                ORR_RESIDUAL_ANSWERS);
  ret_residual->label = g_strdup(cells[COLUMN_LABEL]);
  return TRUE;
}

/* @metric: only rows that may have an answer of that name are read; NULL: all are. */
static gboolean read_line(char *line, const Place *place, const char *metric,
                          OrrResiduals *residuals, GError **error) {
  static const char revision[] = "# model-revision: ";
  OrrResidual residual = {0};
  const guint n = residuals->rows->len;
  if (g_str_has_prefix(line, revision))
    residuals->revision = g_ascii_strtoll(line + strlen(revision), NULL, 10);
  if (*line == '\0' || *line == '#' || (metric && !strstr(line, metric))) return TRUE;
  if (n == MAX_ROWS) return fail(place, error, "found more than %d rows", MAX_ROWS);
  if (n > 0) residual = g_array_index(residuals->rows, OrrResidual, n - 1);
  if (!read_row(line, place, &residual, error)) return FALSE;
  g_array_append_val(residuals->rows, residual);
  return TRUE;
}

/* Whether all of @text is ASCII without zeros, eight letters at a time: nearly every file is, and
 * GLib looks at each letter. */
static gboolean is_ascii(const char *text, gsize length) {
  const guint64 ones = G_GUINT64_CONSTANT(0x0101010101010101), tops = ones << 7;
  guint64 wrong = 0;
  gsize i = 0;
  for (; i + sizeof ones <= length; i += sizeof ones) {
    guint64 word;
    memcpy(&word, text + i, sizeof word);
    wrong |=
        (word | (word - ones)) & tops; /* a letter above 127, or 0, from which 1 was borrowed */
  }
  for (; i < length; i++) wrong |= text[i] <= 0;
  return wrong == 0;
}

/* The file's text, without the last line's end; NULL: it cannot be read, or is not text. */
static char *read_text(const char *path, GError **error) {
  gsize length;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  if (is_ascii(text, length) || g_utf8_validate(text, (gssize)length, NULL))
    return g_steal_pointer(&text);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: not UTF-8 text", path);
}

static OrrResiduals *read_rows(const char *path, const char *metric, GError **error) {
  g_autoptr(OrrResiduals) residuals = orr_residuals_new();
  g_autoptr(GString) header = g_string_new(NULL);
  g_autofree char *text = read_text(path, error);
  Place place = {path, 0};
  gboolean has_header = FALSE;
  append_header(header);
  g_string_truncate(header, header->len - 1);
  for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
    place.line++;
    if (!has_header && *line != '\0' && *line != '#') {
      has_header = strcmp(line, header->str) == 0;
      if (has_header) continue;
      fail(&place, error, "not the header of this version: set,row,part,label,...,answers");
      return NULL;
    }
    if (!read_line(line, &place, metric, residuals, error)) return NULL;
  }
  return text ? g_steal_pointer(&residuals) : NULL;
}

OrrResiduals *orr_residuals_read(const char *path, GError **error) {
  return read_rows(path, NULL, error);
}

/* --- All that speak for one kind --- */

static OrrResiduals *read_kind(OrrLibrary *library, const char *kind, const char *metric,
                               GError **error) {
  g_autofree char *path = orr_residuals_path(library, kind);
  return path ? read_rows(path, metric, error) : orr_residuals_new();
}

/* The metric of the power of @kind's GPUs; NULL: it has no band. */
static const char *power_of(const char *kind) {
  for (const OrrBandMetric *one = orr_band_metrics; one->kind; one++)
    if (one->quantity == ORR_QUANTITY_POWER && strcmp(one->kind, kind) == 0) return one->metric;
  return NULL;
}

/* Adds the rows of @from that have @metric, with that answer alone. */
static void add_rows(OrrResiduals *to, const OrrResiduals *from, const char *metric) {
  ORR_EACH(const OrrResidual, residual, from->rows) {
    const OrrResidualAnswer *answer = orr_residual_answer(residual, metric);
    if (!answer) continue;
    OrrResidual row = *residual;
    row.label = g_strdup(residual->label);
    row.n_answers = 1;
    row.answers[0] = *answer;
    g_array_append_val(to->rows, row);
  }
}

OrrResiduals *orr_residuals_for(OrrLibrary *library, const char *kind, GError **error) {
  g_autoptr(OrrResiduals) residuals = read_kind(library, kind, NULL, error);
  if (!residuals || !power_of(kind)) return g_steal_pointer(&residuals);
  for (const OrrBandMetric *one = orr_band_metrics; one->kind; one++) {
    if (one->quantity != ORR_QUANTITY_POWER || one->is_borrowed || strcmp(one->kind, kind) == 0)
      continue;
    g_autoptr(OrrResiduals) others = read_kind(library, one->kind, one->metric, error);
    if (!others) return NULL;
    add_rows(residuals, others, one->metric);
  }
  return g_steal_pointer(&residuals);
}

/*
 * measure_export.c - sorts rows into the CSV files of their families and writes each file as text.
 */

#include "calibration/measure/family.h"

typedef struct {
  OrrShape shape;
  const OrrMeasureRow *row;
} Known;

static void file_free(gpointer data) {
  OrrExportFile *file = data;
  ORR_FREE(file->file, file->text, file);
}

/* --- Which rows --- */

static int compare_known(gconstpointer a, gconstpointer b) {
  const Known *x = a, *y = b;
  const int by_family = strcmp(x->row->family, y->row->family);
  if (by_family) return by_family;
  for (guint c = 0; c < ORR_SHAPE_COLUMNS; c++)
    if (x->shape.at[c] != y->shape.at[c]) return x->shape.at[c] < y->shape.at[c] ? -1 : 1;
  const int by_release = x->shape.family->by_release ? g_strcmp0(x->row->blas, y->row->blas) : 0;
  if (by_release) return by_release;
  return (x->row > y->row) - (x->row < y->row); /* rows of one array, oldest first */
}

static gboolean same_shape(const Known *a, const Known *b) {
  return a->shape.family == b->shape.family &&
         memcmp(a->shape.at, b->shape.at, sizeof a->shape.at) == 0 &&
         (!a->shape.family->by_release || g_strcmp0(a->row->blas, b->row->blas) == 0);
}

static gboolean add_known(GArray *known, const OrrMeasureRow *row, GError **error) {
  Known one = {.row = row};
  const OrrMeasureFamily *family = orr_family_find(row->family);
  if (!family)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "there is no family of microkernels '%s'",
                         row->family);
  const gboolean is_outdated = orr_measure_row_is_outdated(row);
  if (!orr_shape_parse(family, row->shape, &one.shape, is_outdated ? NULL : error))
    return is_outdated;
  g_array_append_val(known, one);
  return TRUE;
}

static GArray *known_of(const GArray *rows, GError **error) {
  g_autoptr(GArray) known = g_array_new(FALSE, FALSE, sizeof(Known));
  ORR_EACH(const OrrMeasureRow, row, rows) {
    const OrrMeasureRow *first = &g_array_index(rows, OrrMeasureRow, 0);
    if (g_strcmp0(row->device, first->device) != 0)
      return orr_fault_null(error, ORR_FAULT_DOCUMENT, "rows of two devices: '%s' and '%s'",
                            first->device, row->device);
    if (row->verified != ORR_VERIFIED_NO && !add_known(known, row, error)) return NULL;
  }
  g_array_sort(known, compare_known);
  return g_steal_pointer(&known);
}

/* --- Writing --- */

static char *known_number(double value, const char *unit) {
  return isfinite(value) && value > 0 ? g_strdup_printf("%.0f %s", value, unit)
                                      : g_strdup("unknown");
}

static char *source_line(const OrrMeasureRow *row) {
  g_autofree char *clock = known_number(row->sm_clock_limit_hz / 1e6, "MHz");
  g_autofree char *limit = known_number(row->power_limit_watts, "W");
  return g_strdup_printf(
      "# device: %s; measured with orrery calibrate, %s; driver %s, runtime %s, blas %s, dnn %s, "
      "ccl %s; SM clock at most %s, power limit %s; latency_us is one call, microseconds\n",
      row->device, row->date, row->driver, row->runtime, row->blas, row->dnn, row->ccl, clock,
      limit);
}

static GString *text_of(GHashTable *files, const char *file, const char *header,
                        const OrrMeasureRow *row) {
  GString *text = g_hash_table_lookup(files, file);
  if (text) return text;
  g_autofree char *source = source_line(row);
  text = g_string_new(source);
  g_string_append_printf(text, "%s\n", header);
  g_hash_table_insert(files, g_strdup(file), text);
  return text;
}

static char *general_header(const OrrMeasureFamily *family) {
  GString *header = g_string_new(NULL);
  for (guint c = 0; family->columns[c].name; c++)
    g_string_append_printf(header, "%s,", family->columns[c].name);
  g_strdelimit(header->str, "-", '_');
  g_string_append(header, "latency_us");
  return g_string_free(header, FALSE);
}

static void write_general(GHashTable *files, const Known *known) {
  const OrrMeasureFamily *family = known->shape.family;
  g_autofree char *file =
      g_strdup_printf("%s%s.csv", family->entry.name, family->tables ? "-more" : "");
  g_autofree char *header = general_header(family);
  g_strdelimit(file, "-", '_');
  GString *text = text_of(files, file, header, known->row);
  for (guint c = 0; family->columns[c].name; c++)
    if (family->columns[c].words)
      g_string_append_printf(text, "%s,", family->columns[c].words[known->shape.at[c]]);
    else
      g_string_append_printf(text, "%ld,", known->shape.at[c]);
  g_string_append_printf(text, "%.6g\n", known->row->median_us);
}

static void write_row(GHashTable *files, const Known *known) {
  g_autoptr(GString) line = g_string_new(NULL);
  for (const OrrMeasureTable *table = known->shape.family->tables; table && table->file; table++)
    if (table->line(&known->shape, known->row, line)) {
      g_string_append(text_of(files, table->file, table->header, known->row), line->str);
      return;
    }
  write_general(files, known);
}

static void string_free(gpointer text) { g_string_free(text, TRUE); }

static guint count_rows(const char *text) {
  guint n = 0;
  for (const char *c = text; *c; c++) n += *c == '\n';
  return n - 2; /* without the source and header lines */
}

static int compare_files(gconstpointer a, gconstpointer b) {
  const OrrExportFile *const *x = a, *const *y = b;
  return strcmp((*x)->file, (*y)->file);
}

GPtrArray *orr_measure_export(const GArray *rows, GError **error) {
  g_autoptr(GArray) known = known_of(rows, error);
  if (!known) return NULL;
  g_autoptr(GHashTable) texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, string_free);
  ORR_EACH_AT(i, const Known, one, known) {
    if (i + 1 == known->len || !same_shape(one, one + 1))
      write_row(texts, one); /* the newest row of each shape */
  }
  GPtrArray *files = g_ptr_array_new_with_free_func(file_free);
  GHashTableIter iter;
  gpointer name, text;
  g_hash_table_iter_init(&iter, texts);
  while (g_hash_table_iter_next(&iter, &name, &text)) {
    OrrExportFile *file = g_new0(OrrExportFile, 1);
    *file = (OrrExportFile){g_strdup(name), g_strdup(((GString *)text)->str),
                            count_rows(((GString *)text)->str)};
    g_ptr_array_add(files, file);
  }
  g_ptr_array_sort(files, compare_files); /* hash tables have no order */
  return files;
}

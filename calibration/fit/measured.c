/*
 * measured.c - imports tables of GEMM and attention, and writes the document.
 *
 * Each table is read into points: a group (a row of the profile: dtype, n, k), a place on the axes
 * (m), and a latency. Groups and axes are then sorted and written. Nothing is fitted, smoothed or
 * left out: rows that looked redundant were not. With decode steps of 3 to 63 keys left out, their
 * interpolated times were 9 % off, and 17 to 18 % too fast from a batch of 256 on; products of 3 to
 * 15 rows 2 to 6 %; products just above a full tile (m of 33, 129 .. 4353) 7.8 % on H100. `thin`
 * rounds to three digits, which costs 0.5 % at most and saves a sixth of a profile's text.
 *
 * A machine can hold rows back (a tray with capped power: GB200's products of 1 ms and longer ran
 * at half the rate of products of 0.8 ms). Tables of the same chip reveal them: `same_chip`.
 */
#include "calibration/fit/measured.h"

#include "calibration/cost/grid.h"
#include "calibration/fit/measured_private.h"
#include "calibration/profile/profile_private.h"

/* --- points --- */

enum { KEYS = 7 };

typedef struct {
  double keys[KEYS]; /* the group first, then the axes; unused ones 0 */
  double us;
  OrrPlace place;
} Point;

static int compare_points(gconstpointer a, gconstpointer b) {
  const Point *x = a, *y = b;
  for (int i = 0; i < KEYS; i++)
    if (x->keys[i] != y->keys[i]) return x->keys[i] < y->keys[i] ? -1 : 1;
  return (x->place.line > y->place.line) - (x->place.line < y->place.line);
}

/* How a file becomes points: its columns in the order of Point.keys. */
typedef struct {
  const char *file;
  /* ends with NULL; one whose name ends in "dtype" holds formats; "layout", "batch" and "release"
   * may be absent (read_optional) */
  const char *columns[KEYS + 1];
  const char *plus; /* added to the last column, or NULL */
} Layout;

static const Layout gemm_layout = {
    "gemm.csv", {"gemm_dtype", "layout", "batch", "release", "n", "k", "m", NULL}, NULL};
enum { GEMM_LAYOUT = 1, GEMM_BATCH, GEMM_RELEASE, GEMM_N, GEMM_K, GEMM_M };
static const Layout prefill_layout = {
    "attention_prefill.csv",
    {"kv_cache_dtype", "head_dim", "num_heads", "num_key_value_heads", "batch_size", "isl", NULL},
    NULL};
static const Layout decode_layout = {
    "attention_decode.csv",
    {"kv_cache_dtype", "head_dim", "num_heads", "num_key_value_heads", "batch_size", "isl", NULL},
    "step"};

int orr_measured_column(const OrrCsv *csv, const char *name, OrrDiags *diags) {
  int column = orr_csv_column(csv, name);
  const OrrCsvLine *header = csv->lines->pdata[csv->header_line];
  if (column < 0) orr_diags_error(diags, header->place, "no column '%s'", name);
  return column;
}

gboolean orr_measured_key(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                          double *ret_key) {
  if (!g_str_has_suffix(csv->header[column], "dtype")) {
    if (!orr_csv_number(csv, line, column, diags, ret_key)) return FALSE;
    if (*ret_key > 0 && *ret_key == floor(*ret_key)) return TRUE;
    orr_diags_error(diags, line->place, "%s is %s: want a whole number above 0",
                    csv->header[column], line->cells[column]);
    return FALSE;
  }
  OrrDtype dtype;
  if (!orr_profile_format(line->cells[column], &dtype)) {
    orr_diags_error(diags, line->place, "%s is '%s': unknown number format", csv->header[column],
                    line->cells[column]);
    return FALSE;
  }
  *ret_key = dtype;
  return TRUE;
}

static gboolean is_optional(const char *name) {
  static const char *const names[] = {"layout", "batch", "release", NULL};
  return g_strv_contains(names, name);
}

/* The key of an optional column. A release is known by its quark: releases are in the order of
 * their first rows. */
static gboolean read_optional(const OrrCsv *csv, const OrrCsvLine *line, const char *name,
                              OrrDiags *diags, double *ret_key) {
  const int column = orr_csv_column(csv, name);
  const char *text = column < 0 ? "" : line->cells[column];
  *ret_key = strcmp(name, "batch") == 0;
  if (!*text) return TRUE;
  if (strcmp(name, "batch") == 0) return orr_measured_key(csv, line, column, diags, ret_key);
  if (strcmp(name, "release") == 0) {
    *ret_key = g_quark_from_string(text);
    return TRUE;
  }
  for (int i = 0; orr_gemm_layout_words[i]; i++) {
    *ret_key = i;
    if (strcmp(text, orr_gemm_layout_words[i]) == 0) return TRUE;
  }
  orr_diags_error(diags, line->place, "layout is '%s': want forward, dgrad or wgrad", text);
  return FALSE;
}

gboolean orr_measured_latency(const OrrCsv *csv, const OrrCsvLine *line, int column,
                              OrrDiags *diags, double *ret_us) {
  if (!orr_csv_number(csv, line, column, diags, ret_us)) return FALSE;
  if (*ret_us > 0) return TRUE;
  orr_diags_error(diags, line->place, "latency_us is %s: want a time above 0", line->cells[column]);
  return FALSE;
}

static gboolean not_negative(const OrrCsvLine *line, const Layout *layout, double value,
                             OrrDiags *diags) {
  if (value < 0) orr_diags_error(diags, line->place, "%s is below 0", layout->plus);
  return value >= 0;
}

static const char *const optional[] = {"window_size", NULL};

/* Windowed attention is another kernel: its rows are skipped. */
static gboolean is_windowed(const OrrCsv *csv, const OrrCsvLine *line) {
  int column = orr_csv_column(csv, "window_size");
  return column >= 0 && strcmp(line->cells[column], "0") != 0;
}

static void read_points(const OrrCsv *csv, const Layout *layout, GArray *points, OrrDiags *diags) {
  int columns[KEYS], n_columns = 0;
  gboolean complete = TRUE;
  for (; layout->columns[n_columns]; n_columns++)
    complete &=
        is_optional(layout->columns[n_columns]) ||
        (columns[n_columns] = orr_measured_column(csv, layout->columns[n_columns], diags)) >= 0;
  int latency = orr_measured_column(csv, "latency_us", diags);
  int plus = layout->plus ? orr_measured_column(csv, layout->plus, diags) : -1;
  if (!complete || latency < 0 || (layout->plus && plus < 0)) return;
  if (layout != &gemm_layout) g_free(orr_csv_check(csv, optional, layout->columns, diags));
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines) {
    Point point = {.place = line->place};
    if (!line->cells || is_windowed(csv, line)) continue;
    gboolean good = orr_measured_latency(csv, line, latency, diags, &point.us);
    for (int c = 0; c < n_columns; c++)
      good &= is_optional(layout->columns[c])
                  ? read_optional(csv, line, layout->columns[c], diags, &point.keys[c])
                  : orr_measured_key(csv, line, columns[c], diags, &point.keys[c]);
    double more = 0;
    good = good && (plus < 0 || (orr_csv_number(csv, line, plus, diags, &more) &&
                                 not_negative(line, layout, more, diags)));
    point.keys[n_columns - 1] += more;
    if (good) g_array_append_val(points, point);
  }
  g_array_sort(points, compare_points);
}

static void refuse_repeats(const GArray *points, OrrDiags *diags) {
  for (guint i = 1; i < points->len; i++) {
    const Point *point = &g_array_index(points, Point, i), *before = point - 1;
    if (memcmp(point->keys, before->keys, sizeof point->keys) == 0)
      orr_diags_error(diags, point->place, "the same row as line %d", before->place.line);
  }
}

double orr_measured_round(double us) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_strtod(g_ascii_formatd(buffer, sizeof buffer, "%.3g", us), NULL);
}

static void round_points(GArray *points) {
  ORR_EACH(Point, point, points) point->us = orr_measured_round(point->us);
}

/* --- rows that the machine held back --- */

/* A power limit is enforced over about a millisecond: a shorter call that is slower has another
 * reason. */
#define HELD_BACK_FROM_US 500
#define HELD_BACK 1.1

static guint point_hash(gconstpointer data) {
  guint hash = 5381;
  for (int i = 0; i < KEYS; i++) hash = hash * 33 + g_double_hash(&((const Point *)data)->keys[i]);
  return hash;
}

static gboolean same_point(gconstpointer a, gconstpointer b) {
  return memcmp(((const Point *)a)->keys, ((const Point *)b)->keys,
                sizeof((const Point *)a)->keys) == 0;
}

/* What both machines measured alike: of products, whatever the library's release. */
static Point key_of(const Point *point, const Layout *layout) {
  Point key = *point;
  if (layout == &gemm_layout) key.keys[GEMM_RELEASE] = 0;
  return key;
}

static void take_faster(GArray *points, const GArray *others, const Layout *layout) {
  g_autoptr(GHashTable) known = /* only looked up, never iterated */
      g_hash_table_new_full(point_hash, same_point, g_free, NULL);
  ORR_EACH(Point, one, others) {
    Point key = key_of(one, layout);
    const Point *faster = g_hash_table_lookup(known, &key);
    if (!faster || key.us < faster->us) g_hash_table_add(known, g_memdup2(&key, sizeof key));
  }
  ORR_EACH(Point, point, points) {
    const Point key = key_of(point, layout), *other = g_hash_table_lookup(known, &key);
    if (other && point->us >= HELD_BACK_FROM_US && point->us > HELD_BACK * other->us)
      point->us = other->us;
  }
}

/* --- writing --- */

void orr_measured_append(GString *text, double value) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append(text,
                  g_ascii_formatd(buffer, sizeof buffer, value < 1e6 ? "%.6g" : "%.0f", value));
}

static void append_axis(GString *text, const char *key, const GArray *axis) {
  g_string_append_printf(text, "    %s: \"", key);
  for (guint i = 0; i < axis->len; i++) {
    g_string_append(text, i ? " " : "");
    orr_measured_append(text, g_array_index(axis, double, i));
  }
  g_string_append(text, "\"\n");
}

static GArray *axis_of(const GArray *points, guint begin, guint end, int key) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = begin; i < end; i++)
    g_array_append_val(axis, g_array_index(points, Point, i).keys[key]);
  orr_grid_sort_axis(axis);
  return axis;
}

/* The line names device, kernels and licence. */
char *orr_measured_source(const OrrCsv *csv) {
  const OrrCsvLine *first = csv->lines->pdata[0];
  if (*first->text != '#') return g_strdup("not stated");
  g_autofree char *text = g_strdup(first->text + 1);
  g_strdelimit(g_strstrip(text), "\"\\", '\'');
  return g_steal_pointer(&text);
}

/* The end of the points that share the first @n_keys keys with point @begin. */
static guint group_end(const GArray *points, guint begin, guint limit, int n_keys) {
  const Point *first = &g_array_index(points, Point, begin);
  guint end = begin + 1;
  while (end < limit &&
         memcmp(g_array_index(points, Point, end).keys, first->keys, n_keys * sizeof(double)) == 0)
    end++;
  return end;
}

/* The latencies of points [begin, end) at each value of @axis, '-' where there is none; points
 * are sorted by @key. */
static void append_latencies(GString *text, const GArray *points, guint begin, guint end, int key,
                             const GArray *axis) {
  for (guint a = 0; a < axis->len; a++) {
    while (begin < end &&
           g_array_index(points, Point, begin).keys[key] < g_array_index(axis, double, a))
      begin++;
    g_string_append(text, a ? " " : "");
    if (begin < end &&
        g_array_index(points, Point, begin).keys[key] == g_array_index(axis, double, a))
      orr_measured_append(text, g_array_index(points, Point, begin).us);
    else
      g_string_append_c(text, '-');
  }
}

/* The library that the source names: "measured with VLLM 0.24.0 kernels". */
static const char *library_in(const char *source) {
  static const char before[] = "measured with ";
  const char *at = strstr(source, before);
  for (int i = 1; at && orr_kernel_library_words[i]; i++)
    if (g_ascii_strncasecmp(at + sizeof before - 1, orr_kernel_library_words[i],
                            strlen(orr_kernel_library_words[i])) == 0)
      return orr_kernel_library_words[i];
  return NULL;
}

/* What all rows of a table share; what is as by default is left out. */
static void write_gemm_table(GString *text, const double *keys) {
  g_string_append_printf(text, "  - dtype: %s\n", orr_dtype_names[(int)keys[0]]);
  if (keys[GEMM_LAYOUT] > 0)
    g_string_append_printf(text, "    layout: %s\n", orr_gemm_layout_words[(int)keys[GEMM_LAYOUT]]);
  if (keys[GEMM_BATCH] > 1) g_string_append_printf(text, "    batch: %.0f\n", keys[GEMM_BATCH]);
  if (keys[GEMM_RELEASE] > 0)
    g_string_append_printf(text, "    release: \"%s\"\n",
                           g_quark_to_string((GQuark)keys[GEMM_RELEASE]));
}

static void write_gemm(GString *text, const GArray *points, const char *what, const char *source) {
  const char *library = library_in(source);
  if (points->len) g_string_append(text, "gemm:\n");
  for (guint begin = 0; begin < points->len;) {
    guint end = group_end(points, begin, points->len, GEMM_N);
    g_autoptr(GArray) m = axis_of(points, begin, end, GEMM_M);
    write_gemm_table(text, g_array_index(points, Point, begin).keys);
    if (library) g_string_append_printf(text, "    library: %s\n", library);
    g_string_append_printf(text, "    source: \"%s\"\n", source);
    append_axis(text, "m", m);
    g_string_append(text, "    rows:\n");
    while (begin < end) {
      guint row_end = group_end(points, begin, end, GEMM_M);
      const Point *point = &g_array_index(points, Point, begin);
      g_string_append_printf(text, "      - {n: %.0f, k: %.0f, us: \"", point->keys[GEMM_N],
                             point->keys[GEMM_K]);
      append_latencies(text, points, begin, row_end, GEMM_M, m);
      g_string_append(text, "\"}\n");
      begin = row_end;
    }
  }
}

static void write_attention_row(GString *text, const GArray *points, guint begin, guint end,
                                const GArray *batch, const GArray *length) {
  const Point *point = &g_array_index(points, Point, begin);
  g_string_append_printf(
      text, "      - head-dim: %.0f\n        heads: %.0f\n        kv-heads: %.0f\n        us: >\n",
      point->keys[1], point->keys[2], point->keys[3]);
  ORR_EACH_VALUE(double, wanted, batch) {
    while (begin < end && g_array_index(points, Point, begin).keys[4] < wanted) begin++;
    guint batch_end = begin;
    while (batch_end < end && g_array_index(points, Point, batch_end).keys[4] == wanted)
      batch_end++;
    g_string_append(text, "          ");
    append_latencies(text, points, begin, batch_end, 5, length);
    g_string_append_c(text, '\n');
  }
}

static void write_attention(GString *text, const GArray *points, const char *phase,
                            const char *source) {
  for (guint begin = 0; begin < points->len;) {
    guint end = group_end(points, begin, points->len, 1);
    g_autoptr(GArray) batch = axis_of(points, begin, end, 4);
    g_autoptr(GArray) length = axis_of(points, begin, end, 5);
    g_string_append_printf(
        text, "  - phase: %s\n    dtype: bf16\n    kv-dtype: %s\n    source: \"%s\"\n", phase,
        orr_dtype_names[(int)g_array_index(points, Point, begin).keys[0]], source);
    append_axis(text, "batch", batch);
    append_axis(text, "length", length);
    g_string_append(text, "    rows:\n");
    while (begin < end) {
      guint row_end = group_end(points, begin, end, 4);
      write_attention_row(text, points, begin, row_end, batch, length);
      begin = row_end;
    }
  }
}

/* --- tables --- */

typedef struct {
  const char *folder, *same_chip;
  gboolean thin;
  OrrDiags *diags;
  guint n_tables; /* tables found */
} Import;

/* The points of @folder's table, sorted, and its source; NULL where the file is not there, or
 * with @error set. */
static GArray *load_from(const Import *import, const char *folder, const Layout *layout,
                         char **ret_source, GError **error) {
  g_autofree char *path = g_build_filename(folder, layout->file, NULL);
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) return NULL;
  g_autoptr(OrrCsv) csv = orr_csv_read(path, import->diags, error);
  if (!csv) return NULL;
  GArray *points = g_array_new(FALSE, FALSE, sizeof(Point));
  read_points(csv, layout, points, import->diags);
  refuse_repeats(points, import->diags);
  *ret_source = orr_measured_source(csv);
  return points;
}

/* The same for the imported folder, with the faster of both chips' times. Decode steps keep
 * theirs: they wait for memory, whose clock no limit lowers. */
static GArray *load(const Import *import, const Layout *layout, char **ret_source, GError **error) {
  GError *failed = NULL;
  g_autofree char *other_source = NULL;
  g_autoptr(GArray) points = load_from(import, import->folder, layout, ret_source, error);
  if (points && import->same_chip && layout != &decode_layout) {
    g_autoptr(GArray) others = load_from(import, import->same_chip, layout, &other_source, &failed);
    if (failed) {
      g_propagate_error(error, failed);
      return NULL;
    }
    if (others) take_faster(points, others, layout);
  }
  if (points && import->thin) round_points(points);
  return g_steal_pointer(&points);
}

typedef void (*Writer)(GString *text, const GArray *points, const char *what, const char *source);

/* FALSE with @error set. */
static gboolean import_table(GString *text, Import *import, const Layout *layout, Writer write,
                             const char *what, GError **error) {
  g_autofree char *source = NULL;
  GError *failed = NULL;
  g_autoptr(GArray) points = load(import, layout, &source, &failed);
  if (failed) {
    g_propagate_error(error, failed);
    return FALSE;
  }
  if (!points) return TRUE;
  import->n_tables++;
  write(text, points, what, source);
  return TRUE;
}

/* --- the document --- */

static gboolean import_attention(GString *text, Import *import, GError **error) {
  g_autoptr(GString) part = g_string_new(NULL);
  if (!import_table(part, import, &prefill_layout, write_attention, "prefill", error) ||
      !import_table(part, import, &decode_layout, write_attention, "decode", error))
    return FALSE;
  if (part->len) g_string_append_printf(text, "attention:\n%s", part->str);
  return TRUE;
}

/* The comment is the command that reproduces the document. */
static void write_head(GString *text, const char *folder, const char *what,
                       const OrrMeasuredOptions *options) {
  const char *system = options->system ? options->system : folder, *csv = options->collectives_csv;
  g_autofree char *file = csv ? g_path_get_basename(csv) : NULL,
                  *tables = g_path_get_basename(folder);
  g_string_append_printf(text, "# orrery import measured %s --device %s", tables, options->device);
  if (csv) g_string_append_printf(text, " --collectives %s", file);
  if (options->system) g_string_append_printf(text, " --system %s", options->system);
  if (options->base) g_string_append_printf(text, " --base %s", options->base);
  g_autofree char *other = options->same_chip ? g_path_get_basename(options->same_chip) : NULL;
  if (other) g_string_append_printf(text, " --same-chip %s", other);
  g_string_append_printf(text, "%s -o %s-%s.yaml\n", options->thin ? " --thin" : "",
                         options->device, what);
  g_string_append_printf(text, "schema: profile/1\nname: %s-%s\n", options->device, what);
  if (options->base) g_string_append_printf(text, "base: %s\n", options->base);
  if (strcmp(what, "kernels") == 0) g_string_append_printf(text, "device: %s\n", options->device);
  g_string_append_printf(text, "source: \"made by orrery import measured from %s%s\"\n", system,
                         csv ? "; collectives: NCCL, in 16 bits where measured" : "");
}

static gboolean import_folder(GString *text, const char *folder, Import *import, GError **error) {
  if (!import_table(text, import, &gemm_layout, write_gemm, NULL, error) ||
      !import_attention(text, import, error) ||
      !orr_measured_moe(text, folder, import->thin, import->diags, &import->n_tables, error))
    return FALSE;
  if (import->n_tables > 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: holds none of %s, %s, %s, %s", folder,
                       gemm_layout.file, prefill_layout.file, decode_layout.file, ORR_MEASURED_MOE);
}

char *orr_measured_import(const char *folder, const OrrMeasuredOptions *options, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GString) text = g_string_new(NULL);
  Import import = {
      .folder = folder, .same_chip = options->same_chip, .thin = options->thin, .diags = diags};
  const gboolean is_file = g_file_test(folder, G_FILE_TEST_IS_REGULAR);
  const char *what = "kernels";
  g_autoptr(GString) rows = g_string_new(NULL);
  if (is_file ? !orr_measured_file(rows, folder, options, &what, diags, error)
              : !import_folder(rows, folder, &import, error))
    return NULL;
  write_head(text, folder, what, options);
  g_string_append(text, rows->str);
  if (options->collectives_csv &&
      !orr_measured_collectives(text, options->collectives_csv, options->system, diags, error))
    return NULL;
  if (!orr_diags_check(diags, error)) return NULL;
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/*
 * calibrate_import.c - reads reports of nsys and ncu, adds up the kernels of each range, and makes
 * rows of the ranges whose shape is known.
 */
#include "sim/calibrate/calibrate_import.h"

#include "results/store.h"
#include "sim/base/csv.h"
#include "sim/base/file.h"
#include "sim/calibrate/calibrate.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown"
#endif

/* A kernel within a range, over all its launches. */
typedef struct {
  char *name;
  double total_us, median_us, least_us; /* median NAN: unknown */
  double launches, ranges;              /* ranges: calls of its range; 0: unknown */
} Kernel;

typedef struct {
  char *text;         /* "": no range; its kernels are then ranges of their own */
  GPtrArray *kernels; /* of Kernel */
} Range;

typedef struct {
  GPtrArray *ranges;   /* of Range, in the order of the file */
  GHashTable *by_text; /* to Range */
} Report;

static void kernel_free(gpointer data) {
  g_free(((Kernel *)data)->name);
  g_free(data);
}

static void range_free(gpointer data) {
  Range *range = data;
  g_free(range->text);
  g_ptr_array_unref(range->kernels);
  g_free(range);
}

static void report_clear(Report *report) {
  if (report->by_text) g_hash_table_unref(report->by_text);
  if (report->ranges) g_ptr_array_unref(report->ranges);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Report, report_clear)

static void unused_free(gpointer data) {
  OrrCalibrateUnused *unused = data;
  ORR_FREE(unused->name, unused->reason, unused);
}

void orr_calibrate_import_free(OrrCalibrateImport *import) {
  if (!import) return;
  g_array_unref(import->rows);
  g_ptr_array_unref(import->unused);
  g_free(import);
}

/* Adds @more, whose name is borrowed, to the kernel of that name in that range. */
static void add_kernel(Report *report, const char *text, const Kernel *more) {
  g_autofree char *key = *text ? g_strdup(text) : g_strconcat("\n", more->name, NULL);
  Range *range = g_hash_table_lookup(report->by_text, key);
  if (!range) {
    range = g_new0(Range, 1);
    *range = (Range){g_strdup(text), g_ptr_array_new_with_free_func(kernel_free)};
    g_ptr_array_add(report->ranges, range);
    g_hash_table_insert(report->by_text, g_steal_pointer(&key), range);
  }
  ORR_EACH_POINTER(Kernel, kernel, range->kernels) {
    if (strcmp(kernel->name, more->name) != 0) continue;
    kernel->total_us += more->total_us;
    kernel->least_us = fmin(kernel->least_us, more->least_us);
    kernel->launches += more->launches;
    kernel->ranges += more->ranges;
    kernel->median_us = NAN; /* of the parts */
    return;
  }
  Kernel *kernel = g_memdup2(more, sizeof *more);
  kernel->name = g_strdup(more->name);
  g_ptr_array_add(range->kernels, kernel);
}

/* --- The file --- */

/* Both tools print lines of their own, and of the program, before the table. */
static const char *table_of(const char *text) {
  static const char *const firsts[] = {"NVTX Range,", "Time (%),", "\"ID\",", "ID,"};
  const char *line = text;
  while (line) {
    for (guint i = 0; i < G_N_ELEMENTS(firsts); i++)
      if (g_str_has_prefix(line, firsts[i])) return line;
    line = strchr(line, '\n');
    if (line) line++;
  }
  return NULL;
}

/* Lines before the table are blank, so that messages have the file's line numbers. */
static char *text_of(const char *path, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: not a text file", path);
  const char *table = table_of(text);
  if (!table)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "%s: no table of 'nsys stats --format csv' (nvtx_kern_sum or "
                          "cuda_gpu_kern_sum) and none of 'ncu --csv'",
                          path);
  GString *kept = g_string_new(NULL);
  for (const char *c = text; c < table; c++)
    if (*c == '\n') g_string_append_c(kept, '\n');
  g_string_append(kept, table);
  return g_string_free(kept, FALSE);
}

static gboolean number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                       double *ret_value) {
  *ret_value = 0;
  if (column < 0) return TRUE;
  if (!orr_csv_number(csv, line, column, diags, ret_value)) return FALSE;
  if (*ret_value >= 0 && *ret_value < 1e18) return TRUE;
  orr_diags_error(diags, orr_csv_place(line, column), "%s: want 0 or more, below 1e18",
                  line->cells[column]);
  return FALSE;
}

/* --- nsys --- */

typedef struct {
  int range, name, ranges, launches, total, median, least;
} NsysColumns;

/* "range/kernel" of cuda_gpu_kern_sum:nvtx-name. Names of kernels can hold '/' only behind '<'. */
static const char *kernel_in(const char *name) {
  const char *slash = g_strrstr_len(name, (gssize)strcspn(name, "<"), "/");
  return slash ? slash + 1 : name;
}

static void add_nsys(const OrrCsv *csv, const OrrCsvLine *line, const NsysColumns *at,
                     OrrDiags *diags, Report *report) {
  double total_ns, median_ns, least_ns;
  const char *name = line->cells[at->name];
  Kernel kernel = {.name = (char *)name};
  if (!number(csv, line, at->total, diags, &total_ns) ||
      !number(csv, line, at->median, diags, &median_ns) ||
      !number(csv, line, at->least, diags, &least_ns) ||
      !number(csv, line, at->launches, diags, &kernel.launches) ||
      !number(csv, line, at->ranges, diags, &kernel.ranges))
    return;
  if (kernel.launches < 1 || (at->ranges >= 0 && kernel.ranges < 1))
    return orr_diags_error(diags, line->place, "a kernel that never ran");
  kernel.total_us = total_ns / 1e3;
  kernel.median_us = at->median >= 0 ? median_ns / 1e3 : NAN;
  kernel.least_us = at->least >= 0 ? least_ns / 1e3 : kernel.total_us / kernel.launches;
  if (at->range >= 0) {
    const char *range = line->cells[at->range];
    add_kernel(report, *range == ':' ? range + 1 : range, &kernel); /* ':' ends the domain */
    return;
  }
  const char *inner = kernel_in(name);
  g_autofree char *range = g_strndup(name, inner > name ? (gsize)(inner - name - 1) : 0);
  kernel.name = (char *)inner;
  add_kernel(report, *range == ':' ? range + 1 : range, &kernel);
}

static gboolean read_nsys(const OrrCsv *csv, OrrDiags *diags, Report *report) {
  const NsysColumns at = {.range = orr_csv_find(csv, "NVTX Range"),
                          .name = orr_csv_find(csv, "Kernel Name|Name"),
                          .ranges = orr_csv_find(csv, "NVTX Inst"),
                          .launches = orr_csv_find(csv, "Kern Inst|Instances"),
                          .total = orr_csv_find(csv, "Total Time (ns)"),
                          .median = orr_csv_find(csv, "Med (ns)"),
                          .least = orr_csv_find(csv, "Min (ns)")};
  if (at.name < 0 || at.launches < 0 || at.total < 0) return FALSE;
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells) add_nsys(csv, line, &at, diags, report);
  return TRUE;
}

/* --- ncu --- */

/* Microseconds; 0: unknown. */
static double unit_of(const char *unit) {
  static const struct {
    const char *word;
    double us;
  } units[] = {{"nsecond", 1e-3}, {"ns", 1e-3}, {"usecond", 1},  {"us", 1},
               {"msecond", 1e3},  {"ms", 1e3},  {"second", 1e6}, {"s", 1e6}};
  for (guint i = 0; i < G_N_ELEMENTS(units); i++)
    if (strcmp(unit, units[i].word) == 0) return units[i].us;
  return 0;
}

/* The range in a cell such as "1234 <default domain>:aten::mm, sizes = [[4, 4], [4, 4]]:none:none".
 * Ranges that hold no shape are "". */
static char *range_in(const char *cell) {
  const char *own = strstr(cell, "orrery:"), *torch = strstr(cell, "aten::");
  if (own) return g_strndup(own, strlen("orrery:") + strcspn(own + strlen("orrery:"), ":;\""));
  const char *end = torch ? strstr(torch, "]]") : NULL;
  return end ? g_strndup(torch, (gsize)(end + 2 - torch)) : g_strdup("");
}

static char *range_of(const OrrCsv *csv, const OrrCsvLine *line) {
  for (int column = 0; csv->header[column]; column++) {
    if (!strstr(csv->header[column], "_Range")) continue;
    g_autofree char *range = range_in(line->cells[column]);
    if (*range) return g_steal_pointer(&range);
  }
  return g_strdup("");
}

/* "1,234.5", with the separators of ncu's locale; below 0: not a time. */
static double duration_of(const char *cell) {
  g_auto(GStrv) parts = g_strsplit(cell, ",", -1);
  g_autofree char *plain = g_strjoinv("", parts);
  char *end = plain;
  const double value = g_ascii_strtod(plain, &end);
  return end != plain && !*end && isfinite(value) && value < 1e18 ? value : -1;
}

static void add_ncu(const OrrCsv *csv, const OrrCsvLine *line, int name, int unit, int value,
                    OrrDiags *diags, Report *report) {
  const double us = unit_of(line->cells[unit]), duration = duration_of(line->cells[value]);
  if (us == 0)
    orr_diags_error(diags, orr_csv_place(line, unit),
                    "'%s' is not a unit of time: want ns, us, ms, s", line->cells[unit]);
  else if (duration < 0)
    orr_diags_error(diags, orr_csv_place(line, value), "'%s' is not a time", line->cells[value]);
  if (us == 0 || duration < 0) return;
  g_autofree char *range = range_of(csv, line);
  const Kernel kernel = {.name = line->cells[name],
                         .total_us = duration * us,
                         .median_us = duration * us,
                         .least_us = duration * us,
                         .launches = 1};
  add_kernel(report, range, &kernel);
}

static gboolean read_ncu(const OrrCsv *csv, OrrDiags *diags, Report *report) {
  const int name = orr_csv_find(csv, "Kernel Name"), metric = orr_csv_find(csv, "Metric Name"),
            unit = orr_csv_find(csv, "Metric Unit"), value = orr_csv_find(csv, "Metric Value");
  if (name < 0 || metric < 0 || unit < 0 || value < 0) return FALSE;
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells && (strcmp(line->cells[metric], "Duration") == 0 ||
                        strcmp(line->cells[metric], "gpu__time_duration.sum") == 0))
      add_ncu(csv, line, name, unit, value, diags, report);
  return TRUE;
}

/* --- Rows --- */

/* The calls of a range; 0 where its kernels contradict each other. */
static double calls_of(const Range *range) {
  const Kernel *first = range->kernels->pdata[0];
  const double calls = first->ranges > 0 ? first->ranges : first->launches;
  for (guint i = 1; i < range->kernels->len; i++) {
    const Kernel *kernel = range->kernels->pdata[i];
    if ((kernel->ranges > 0 ? kernel->ranges : kernel->launches) != calls) return 0;
  }
  return calls;
}

static const Kernel *longest_of(const Range *range, double *ret_total_us) {
  const Kernel *longest = range->kernels->pdata[0];
  *ret_total_us = 0;
  ORR_EACH_POINTER(const Kernel, kernel, range->kernels) {
    *ret_total_us += kernel->total_us;
    if (kernel->total_us > longest->total_us) longest = kernel;
  }
  return longest;
}

static void add_row(OrrCalibrateImport *import, const OrrShape *shape, const Range *range,
                    double calls, double total_us, const char *device, const char *date) {
  const Kernel *kernel = range->kernels->pdata[0];
  const gboolean is_one = range->kernels->len == 1 && kernel->launches == calls;
  const OrrBenchFacts facts = {.device = (char *)device,
                               .driver = (char *)"",
                               .runtime = (char *)"",
                               .blas = (char *)"",
                               .dnn = (char *)"",
                               .ccl = (char *)"",
                               .n_ranks = 1,
                               .sm_clock_limit_hz = NAN,
                               .power_limit_watts = NAN};
  const OrrShapeWork work = shape->family->work(shape, &facts);
  OrrTiming timing = {.median_us =
                          is_one && kernel->median_us > 0 ? kernel->median_us : total_us / calls,
                      .best_us = is_one ? kernel->least_us : NAN,
                      .spread = NAN,
                      .repeats = (guint)fmin(calls, G_MAXINT32),
                      .calls = 1,
                      .method = import->tool,
                      .watts = NAN,
                      .sm_clock_hz = NAN,
                      .memory_clock_hz = NAN,
                      .sustained_us = NAN,
                      .sustained_sm_clock_hz = NAN,
                      .throttle = -1,
                      .sustained_throttle = -1};
  OrrMeasureRow row;
  orr_measure_row_init(&row, shape, &work, &facts, &timing, NULL, date);
  g_array_append_val(import->rows, row);
}

static void use(OrrCalibrateImport *import, const Range *range, const char *device,
                const char *date) {
  OrrShape shape;
  double total_us;
  char *reason = NULL;
  const Kernel *longest = longest_of(range, &total_us);
  const double calls = calls_of(range);
  gboolean fine = orr_calibrate_import_shape(range->text, longest->name, &shape, &reason);
  if (fine && (calls <= 0 || !(total_us > 0))) {
    reason =
        g_strdup(calls <= 0 ? "its kernels ran different numbers of times" : "it took no time");
    fine = FALSE;
  }
  if (fine) return add_row(import, &shape, range, calls, total_us, device, date);
  OrrCalibrateUnused *unused = g_new(OrrCalibrateUnused, 1);
  *unused =
      (OrrCalibrateUnused){g_strdup(*range->text ? range->text : longest->name), reason, total_us};
  g_ptr_array_add(import->unused, unused);
}

static int compare_unused(gconstpointer a, gconstpointer b) {
  const OrrCalibrateUnused *x = *(OrrCalibrateUnused *const *)a,
                           *y = *(OrrCalibrateUnused *const *)b;
  return x->us != y->us ? (x->us < y->us ? 1 : -1) : strcmp(x->name, y->name);
}

OrrCalibrateImport *orr_calibrate_import_read(const char *path, const char *device,
                                              const char *date, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = text_of(path, error);
  if (!text) return NULL;
  g_autoptr(OrrCsv) csv = orr_csv_parse(text, path, diags);
  g_auto(Report) report = {g_ptr_array_new_with_free_func(range_free),
                           g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
  const gboolean is_nsys = orr_csv_find(csv, "Total Time (ns)") >= 0;
  if (!(is_nsys ? read_nsys(csv, diags, &report) : read_ncu(csv, diags, &report)))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "%s: its table lacks columns: want nsys' Kern Inst or Instances, Total "
                          "Time (ns) and Kernel Name or Name, or ncu's Kernel Name, Metric Name, "
                          "Metric Unit and Metric Value",
                          path);
  if (!orr_diags_check(diags, error)) return NULL;
  OrrCalibrateImport *import = g_new0(OrrCalibrateImport, 1);
  *import = (OrrCalibrateImport){is_nsys ? "nsys" : "ncu", orr_calibrate_rows_new(),
                                 g_ptr_array_new_with_free_func(unused_free)};
  for (guint i = 0; i < report.ranges->len; i++) use(import, report.ranges->pdata[i], device, date);
  g_ptr_array_sort(import->unused, compare_unused);
  return import;
}

gboolean orr_calibrate_import_store(const OrrCalibrateImport *import, const char *db,
                                    GError **error) {
  g_autofree char *resolved = g_strdup_printf("kind: calibration\nlayer: %s\n", import->tool);
  g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, resolved, -1);
  const OrrRunFacts facts = {.scenario = "calibrate",
                             .kind = "calibration",
                             .file = "",
                             .hash = hash,
                             .resolved = resolved,
                             .tool_version = ORR_VERSION,
                             .engine = import->tool,
                             .fidelity = "measured"};
  g_autoptr(OrrStore) store = orr_store_open(db, error);
  if (!store || !orr_store_begin_run(store, &facts, NULL, error)) return FALSE;
  ORR_EACH(OrrMeasureRow, row, import->rows)
    if (!orr_store_add_row(store, &orr_measure_row_table, row, error)) {
      orr_store_abandon_run(store);
      return FALSE;
    }
  return orr_store_end_run(store, 0, error);
}

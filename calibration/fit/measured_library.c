/*
 * measured_library.c - imports matrix products of one engine's kernels as the `library-gemm` of a
 * profile.
 *
 * The file holds rows of several systems: system,framework,version,dtype,m,n,k,latency_ms. A table
 * is one framework and one format; its rows are sorted by (n, k). Unknown formats are
 * left out.
 *
 * Or it is a table that AMD's tuner of aiter wrote (aiter/configs, *_tuned_gemm.csv):
 * cu_num,M,N,K,us and more columns, whose system is GFX-UNITS ("gfx950-256"; without a column gfx
 * the units alone). The kernel's family is in a column `family`, or before "_tuned" in the file's
 * name. Several kernels of one shape (with a bias, with another output) count as the fastest one.
 */
#include "calibration/cost/grid.h"
#include "calibration/fit/measured_private.h"

typedef struct {
  int library, dtype, blocks, tuned;
  double weight; /* bytes; 0: as dtype */
  double n, k, m, us;
  const char *version; /* of the line */
  OrrPlace place;
} Sample;

static int compare_samples(gconstpointer a, gconstpointer b) {
  const Sample *x = a, *y = b;
  const double p[] = {x->library, x->dtype, x->blocks, x->weight, x->n, x->k, x->m};
  const double q[] = {y->library, y->dtype, y->blocks, y->weight, y->n, y->k, y->m};
  for (guint i = 0; i < G_N_ELEMENTS(p); i++)
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  return x->place.line - y->place.line;
}

static gboolean same_table(const Sample *x, const Sample *y) {
  return x->library == y->library && x->dtype == y->dtype && x->blocks == y->blocks &&
         x->weight == y->weight;
}

/* --- reading --- */

enum { SYSTEM, FRAMEWORK, VERSION, DTYPE, M, N, K, LATENCY, N_COLUMNS };

static gboolean read_library(const char *word, int *ret_library) {
  g_autofree char *lower = g_ascii_strdown(word, -1);
  for (int i = 1; orr_kernel_library_words[i]; i++)
    if (strcmp(lower, orr_kernel_library_words[i]) == 0) {
      *ret_library = i;
      return TRUE;
    }
  return FALSE;
}

/* int4_wo, int8_wo: weights alone are narrow; sq (SmoothQuant): both operands are int8. */
static gboolean read_format(const char *word, Sample *sample) {
  OrrDtype dtype = ORR_BF16;
  sample->weight = strcmp(word, "int4_wo") == 0 ? 0.5 : strcmp(word, "int8_wo") == 0 ? 1 : 0;
  sample->blocks = strcmp(word, "fp8_block") == 0;
  if (strcmp(word, "sq") == 0)
    dtype = ORR_INT8;
  else if (sample->weight <= 0 && !orr_profile_format(word, &dtype))
    return FALSE;
  sample->dtype = (int)dtype;
  return TRUE;
}

static gboolean read_numbers(const OrrCsv *csv, const OrrCsvLine *line, const int *columns,
                             Sample *sample, OrrDiags *diags) {
  return orr_measured_key(csv, line, columns[M], diags, &sample->m) &&
         orr_measured_key(csv, line, columns[N], diags, &sample->n) &&
         orr_measured_key(csv, line, columns[K], diags, &sample->k) &&
         orr_measured_latency(csv, line, columns[LATENCY], diags, &sample->us);
}

static void read_line(const OrrCsv *csv, const OrrCsvLine *line, const int *columns, gboolean thin,
                      GArray *samples, OrrDiags *diags) {
  Sample sample = {.version = line->cells[columns[VERSION]], .place = line->place};
  if (!read_format(line->cells[columns[DTYPE]], &sample)) return;
  if (!read_library(line->cells[columns[FRAMEWORK]], &sample.library))
    return orr_diags_error(diags, line->place, "framework is '%s': want sglang, trtllm or vllm",
                           line->cells[columns[FRAMEWORK]]);
  if (!read_numbers(csv, line, columns, &sample, diags)) return;
  sample.us *= 1e3;
  if (thin) sample.us = orr_measured_round(sample.us);
  g_array_append_val(samples, sample);
}

static gboolean find_columns(const OrrCsv *csv, const char *const *names, int *columns,
                             OrrDiags *diags) {
  gboolean complete = TRUE;
  for (int i = 0; i < N_COLUMNS; i++)
    if (names[i]) complete &= (columns[i] = orr_measured_column(csv, names[i], diags)) >= 0;
  return complete;
}

static void read_samples(const OrrCsv *csv, const char *system, gboolean thin, GArray *samples,
                         OrrDiags *diags) {
  static const char *const names[] = {"system", "framework", "version", "dtype",
                                      "m",      "n",         "k",       "latency_ms"};
  int columns[N_COLUMNS];
  const gboolean complete = find_columns(csv, names, columns, diags);
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (line->cells && strcmp(line->cells[columns[SYSTEM]], system) == 0)
      read_line(csv, line, columns, thin, samples, diags);
  }
  g_array_sort(samples, compare_samples);
}

/* --- aiter's tables --- */

gboolean orr_measured_of_aiter(const OrrCsv *csv, const OrrCsvLine *line, const char *system) {
  const int units = orr_csv_column(csv, "cu_num"), column = orr_csv_column(csv, "gfx");
  const char *gfx = column < 0 ? "" : line->cells[column], *dash = strchr(system, '-');
  g_autofree char *whole = g_strdup_printf("%s-%s", gfx, line->cells[units]);
  return strcmp(*gfx ? whole : line->cells[units], *gfx || !dash ? system : dash + 1) == 0;
}

/* "a8w8_blockscale" of the column, or of "a8w8_blockscale_tuned_gemm_dsv3.csv". */
static char *family_of(const OrrCsv *csv, const OrrCsvLine *line) {
  const int column = orr_csv_column(csv, "family");
  if (column >= 0) return g_strdup(line->cells[column]);
  char *name = g_path_get_basename(line->place.file), *end = strstr(name, "_tuned");
  if (end) *end = 0;
  return name;
}

/* a8w8: both operands of 8 bits, a4w4 of 4; a scale per tensor or row, or per block of 128 x 128 of
 * the weights (mxfp4's blocks of 32 are the format's own). Batched products are left out. */
static gboolean read_family(const OrrCsv *csv, const OrrCsvLine *line, Sample *sample) {
  static const struct {
    const char *family;
    int dtype;
    gboolean blocks;
  } families[] = {{"bf16", ORR_BF16, FALSE},
                  {"a8w8", ORR_FP8, FALSE},
                  {"a8w8_bpreshuffle", ORR_FP8, FALSE},
                  {"a8w8_blockscale", ORR_FP8, TRUE},
                  {"a8w8_blockscale_bpreshuffle", ORR_FP8, TRUE},
                  {"a4w4_blockscale", ORR_FP4, FALSE}};
  g_autofree char *family = family_of(csv, line);
  const int batch = orr_csv_column(csv, "B"), type = orr_csv_column(csv, "dtype");
  if (batch >= 0 && *line->cells[batch] && strcmp(line->cells[batch], "1") != 0) return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(families); i++)
    if (strcmp(families[i].family, family) == 0) {
      const gboolean is_int8 = type >= 0 && strstr(line->cells[type], "int8") != NULL;
      sample->dtype = is_int8 ? ORR_INT8 : families[i].dtype;
      sample->blocks = families[i].blocks;
      return TRUE;
    }
  return FALSE;
}

static gboolean same_shape(const Sample *x, const Sample *y) {
  return same_table(x, y) && x->n == y->n && x->k == y->k && x->m == y->m;
}

static void keep_fastest(GArray *samples) {
  guint kept = 0;
  ORR_EACH(const Sample, sample, samples) {
    Sample *last = kept ? &g_array_index(samples, Sample, kept - 1) : NULL;
    if (last && same_shape(last, sample))
      last->us = fmin(last->us, sample->us);
    else
      g_array_index(samples, Sample, kept++) = *sample;
  }
  g_array_set_size(samples, kept);
}

static void read_aiter(const OrrCsv *csv, const char *system, gboolean thin, GArray *samples,
                       OrrDiags *diags) {
  static const char *const names[N_COLUMNS] = {[M] = "M", [N] = "N", [K] = "K", [LATENCY] = "us"};
  int columns[N_COLUMNS];
  const gboolean complete = find_columns(csv, names, columns, diags);
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    Sample sample = {
        .library = ORR_KERNEL_LIBRARY_AITER, .tuned = TRUE, .version = "", .place = line->place};
    if (!line->cells || !orr_measured_of_aiter(csv, line, system) ||
        !read_family(csv, line, &sample) || !read_numbers(csv, line, columns, &sample, diags))
      continue;
    if (thin) sample.us = orr_measured_round(sample.us);
    g_array_append_val(samples, sample);
  }
  g_array_sort(samples, compare_samples);
  keep_fastest(samples);
}

/* --- writing --- */

static GArray *axis_of(const GArray *samples, guint begin, guint end) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = begin; i < end; i++) g_array_append_val(axis, g_array_index(samples, Sample, i).m);
  orr_grid_sort_axis(axis);
  return axis;
}

/* Writes the row that begins at @at, and returns the next one's beginning. */
static guint write_row(GString *text, const GArray *samples, guint at, guint end,
                       const GArray *axis) {
  const Sample *first = &g_array_index(samples, Sample, at);
  g_string_append_printf(text, "      - {n: %.0f, k: %.0f, us: \"", first->n, first->k);
  for (guint a = 0; a < axis->len; a++) {
    const Sample *sample = &g_array_index(samples, Sample, at);
    g_string_append(text, a ? " " : "");
    if (at < end && sample->n == first->n && sample->k == first->k &&
        sample->m == g_array_index(axis, double, a)) {
      orr_measured_append(text, sample->us);
      at++;
    } else {
      g_string_append_c(text, '-');
    }
  }
  g_string_append(text, "\"}\n");
  return at;
}

static void write_table(GString *text, const GArray *samples, guint begin, guint end,
                        const char *device, const char *source) {
  const Sample *first = &g_array_index(samples, Sample, begin);
  g_autoptr(GArray) axis = axis_of(samples, begin, end);
  g_string_append_printf(text, "  - library: %s\n    dtype: %s\n%s%s    measured-on: %s\n",
                         orr_kernel_library_words[first->library], orr_dtype_names[first->dtype],
                         first->blocks ? "    blocks: true\n" : "",
                         first->tuned ? "    tuned: true\n" : "", device);
  if (first->weight > 0) g_string_append_printf(text, "    weight-bytes: %.3g\n", first->weight);
  g_string_append_printf(text, "    source: \"%s%s%s; %s\"\n    m: \"",
                         orr_kernel_library_words[first->library], *first->version ? " " : "",
                         first->version, source);
  for (guint a = 0; a < axis->len; a++) {
    g_string_append(text, a ? " " : "");
    orr_measured_append(text, g_array_index(axis, double, a));
  }
  g_string_append(text, "\"\n    rows:\n");
  while (begin < end) begin = write_row(text, samples, begin, end, axis);
}

static gboolean refuse_repeats(const GArray *samples, OrrDiags *diags) {
  for (guint i = 1; i < samples->len; i++) {
    const Sample *sample = &g_array_index(samples, Sample, i), *before = sample - 1;
    if (same_shape(sample, before))
      orr_diags_error(diags, sample->place, "the same row as line %d", before->place.line);
  }
  return orr_diags_n_errors(diags) == 0;
}

static gboolean import_products(GString *text, const OrrCsv *csv, const char *path,
                                const OrrMeasuredOptions *options, OrrDiags *diags,
                                GError **error) {
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
  (orr_csv_column(csv, "cu_num") < 0 ? read_samples : read_aiter)(csv, options->system,
                                                                  options->thin, samples, diags);
  if (!refuse_repeats(samples, diags)) return TRUE;
  if (samples->len == 0)
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: no products of system '%s'", path,
                         options->system);
  g_autofree char *source = orr_measured_source(csv);
  g_string_append(text, "library-gemm:\n");
  for (guint begin = 0, end; begin < samples->len; begin = end) {
    for (end = begin + 1; end < samples->len; end++)
      if (!same_table(&g_array_index(samples, Sample, begin), &g_array_index(samples, Sample, end)))
        break;
    write_table(text, samples, begin, end, options->device, source);
  }
  return TRUE;
}

gboolean orr_measured_file(GString *text, const char *path, const OrrMeasuredOptions *options,
                           const char **ret_what, OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return FALSE;
  const gboolean are_experts = orr_csv_column(csv, "model_dim") >= 0;
  *ret_what = are_experts ? "experts" : "libraries";
  if (!are_experts) return import_products(text, csv, path, options, diags, error);
  return orr_measured_moe_of_aiter(text, csv, options, diags) > 0 || orr_diags_n_errors(diags) ||
         orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: no experts of system '%s'", path,
                       options->system);
}

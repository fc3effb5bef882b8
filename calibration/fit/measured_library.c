/*
 * measured_library.c - imports matrix products of one engine's kernels as the `library-gemm` of a
 * profile.
 *
 * The file holds rows of several systems: system,framework,version,dtype,m,n,k,latency_ms. A table
 * is one framework and one format; its rows are sorted by (n, k). Unknown formats are
 * left out.
 */
#include <math.h>
#include <string.h>

#include "calibration/cost/grid.h"
#include "calibration/fit/measured_private.h"
#include "calibration/profile/profile_format.h"
#include "models/operator.h"
#include "sim/base/fault.h"

typedef struct {
  int library, dtype, blocks;
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

static void read_line(const OrrCsv *csv, const OrrCsvLine *line, const int *columns, gboolean thin,
                      GArray *samples, OrrDiags *diags) {
  Sample sample = {.version = line->cells[columns[VERSION]], .place = line->place};
  if (!read_format(line->cells[columns[DTYPE]], &sample)) return;
  if (!read_library(line->cells[columns[FRAMEWORK]], &sample.library)) {
    orr_diags_error(diags, line->place, "framework is '%s': want sglang, trtllm or vllm",
                    line->cells[columns[FRAMEWORK]]);
    return;
  }
  if (!orr_measured_key(csv, line, columns[M], diags, &sample.m) ||
      !orr_measured_key(csv, line, columns[N], diags, &sample.n) ||
      !orr_measured_key(csv, line, columns[K], diags, &sample.k) ||
      !orr_measured_latency(csv, line, columns[LATENCY], diags, &sample.us))
    return;
  sample.us *= 1e3;
  if (thin) sample.us = orr_measured_round(sample.us);
  g_array_append_val(samples, sample);
}

static void read_samples(const OrrCsv *csv, const char *system, gboolean thin, GArray *samples,
                         OrrDiags *diags) {
  static const char *const names[] = {"system", "framework", "version", "dtype",
                                      "m",      "n",         "k",       "latency_ms"};
  int columns[N_COLUMNS];
  gboolean complete = TRUE;
  for (int i = 0; i < N_COLUMNS; i++)
    complete &= (columns[i] = orr_measured_column(csv, names[i], diags)) >= 0;
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (line->cells && strcmp(line->cells[columns[SYSTEM]], system) == 0)
      read_line(csv, line, columns, thin, samples, diags);
  }
  g_array_sort(samples, compare_samples);
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
  g_string_append_printf(text, "  - library: %s\n    dtype: %s\n%s    measured-on: %s\n",
                         orr_kernel_library_words[first->library], orr_dtype_names[first->dtype],
                         first->blocks ? "    blocks: true\n" : "", device);
  if (first->weight > 0) g_string_append_printf(text, "    weight-bytes: %.3g\n", first->weight);
  g_string_append_printf(text, "    source: \"%s %s; %s\"\n    m: \"",
                         orr_kernel_library_words[first->library], first->version, source);
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
    if (same_table(sample, before) && sample->n == before->n && sample->k == before->k &&
        sample->m == before->m)
      orr_diags_error(diags, sample->place, "the same row as line %d", before->place.line);
  }
  return orr_diags_n_errors(diags) == 0;
}

gboolean orr_measured_library(GString *text, const char *path, const OrrMeasuredOptions *options,
                              OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return FALSE;
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
  read_samples(csv, options->system, options->thin, samples, diags);
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

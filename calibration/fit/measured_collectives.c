/*
 * measured_collectives.c - imports rows of nccl-tests as the collectives of a profile.
 *
 * Runs with equal op, ranks and bytes become one row, their geometric mean. Among runs in several
 * formats it takes those in 16 bits, which training reduces, else fp32, else fp8, else any (int8).
 * Moving data does not depend on the format; reductions in int8 are 1 to 4 % slower than in half
 * (all_reduce, reduce_scatter, medians of eight devices). Runs that do not state their NCCL version
 * count only where no other does.
 */
#include "calibration/fit/measured_private.h"

/* A row of the collectives' file, kept by op, ranks and bytes. */
typedef struct {
  char *op;
  int format;         /* rank of the format, 0 for 16 bits; of equal runs the lowest counts */
  gboolean versioned; /* states its NCCL version */
  double ranks, bytes, us;
} Sample;

static void sample_clear(gpointer sample) { g_free(((Sample *)sample)->op); }

/* FALSE, with a finding, where the cell is not a format. */
static gboolean read_format(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                            int *ret_format) {
  double key;
  if (!orr_measured_key(csv, line, column, diags, &key)) return FALSE;
  OrrDtype dtype = (OrrDtype)key;
  *ret_format = dtype == ORR_FP16 || dtype == ORR_BF16 ? 0
                : dtype == ORR_FP32                    ? 1
                : dtype == ORR_FP8                     ? 2
                                                       : 3;
  return TRUE;
}

static int compare_samples(gconstpointer a, gconstpointer b) {
  const Sample *x = a, *y = b;
  int by_op = strcmp(x->op, y->op);
  if (by_op) return by_op;
  if (x->ranks != y->ranks) return x->ranks < y->ranks ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void read_samples(const OrrCsv *csv, const char *system, GArray *samples, OrrDiags *diags) {
  static const char *const names[] = {"system", "table",  "dtype", "version",
                                      "op",     "n_gpus", "bytes", "latency_us"};
  int columns[G_N_ELEMENTS(names)];
  gboolean complete = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    complete &= (columns[i] = orr_measured_column(csv, names[i], diags)) >= 0;
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (!line->cells || strcmp(line->cells[columns[0]], system) != 0 ||
        strcmp(line->cells[columns[1]], "nccl_perf") != 0)
      continue;
    Sample sample = {.versioned = *line->cells[columns[3]] != 0};
    if (read_format(csv, line, columns[2], diags, &sample.format) &&
        orr_measured_key(csv, line, columns[5], diags, &sample.ranks) &&
        orr_measured_key(csv, line, columns[6], diags, &sample.bytes) &&
        orr_measured_latency(csv, line, columns[7], diags, &sample.us)) {
      sample.op = g_strdup(line->cells[columns[4]]);
      g_array_append_val(samples, sample);
    }
  }
  g_array_sort(samples, compare_samples);
}

static gboolean any_versioned(const GArray *samples) {
  ORR_EACH(const Sample, sample, samples)
    if (sample->versioned) return TRUE;
  return FALSE;
}

/* The mean of the samples, among @n equal ones, whose format has the lowest rank. */
static double mean_of(const GArray *samples, guint first, guint n) {
  double log_sum = 0, only = 0;
  int format = G_MAXINT;
  guint n_taken = 0;
  for (guint i = first; i < first + n; i++)
    format = MIN(format, g_array_index(samples, Sample, i).format);
  for (guint i = first; i < first + n; i++) {
    const Sample *sample = &g_array_index(samples, Sample, i);
    if (sample->format != format) continue;
    log_sum += log(sample->us);
    only = sample->us;
    n_taken++;
  }
  return n_taken == 1 ? only : exp(log_sum / n_taken); /* exact to the last digit for one sample */
}

/* Drops samples without a version (if any has one), and joins equal samples. */
static void join_samples(GArray *samples) {
  gboolean only_versioned = any_versioned(samples);
  for (guint i = samples->len; only_versioned && i-- > 0;)
    if (!g_array_index(samples, Sample, i).versioned) g_array_remove_index(samples, i);
  ORR_EACH_AT(i, Sample, sample, samples) {
    guint n = 0;
    while (i + n < samples->len &&
           compare_samples(sample, &g_array_index(samples, Sample, i + n)) == 0)
      n++;
    sample->us = mean_of(samples, i, n);
    if (n > 1) g_array_remove_range(samples, i + 1, n - 1);
  }
}

static void write_collectives(GString *text, const GArray *samples) {
  for (guint begin = 0, end; begin < samples->len; begin = end) {
    const Sample *first = &g_array_index(samples, Sample, begin);
    g_autoptr(GString) bytes = g_string_new(NULL), us = g_string_new(NULL);
    for (end = begin; end < samples->len; end++) {
      const Sample *sample = &g_array_index(samples, Sample, end);
      if (strcmp(sample->op, first->op) != 0 || sample->ranks != first->ranks) break;
      g_string_append(bytes, end > begin ? " " : "");
      g_string_append_printf(bytes, "%.0f", sample->bytes);
      g_string_append(us, end > begin ? " " : "");
      orr_measured_append(us, sample->us);
    }
    g_string_append_printf(
        text, "%s  - op: %s\n    ranks: %.0f\n    bytes: \"%s\"\n    us: \"%s\"\n",
        begin ? "" : "collectives:\n", first->op, first->ranks, bytes->str, us->str);
  }
}

gboolean orr_measured_collectives(GString *text, const char *path, const char *system,
                                  OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return FALSE;
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
  g_array_set_clear_func(samples, sample_clear);
  read_samples(csv, system, samples, diags);
  join_samples(samples);
  write_collectives(text, samples);
  return TRUE;
}

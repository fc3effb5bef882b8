/*
 * measured_moe.c - imports moe_ffn.csv as the section `moe` of a profile: a table for each number
 * format and distribution of tokens, a row for each layer and split, a latency for each number of
 * tokens. Nothing is fitted.
 *
 * AMD's tuner of aiter writes such layers in another form (aiter/configs, *_tuned_fmoe.csv): the
 * experts and the inner size of one rank, the format of weights and of inputs apart, and several
 * kernels of one shape: the fastest counts. Layers without a gate, and those whose weights
 * and inputs differ in format, are left out.
 */
#include "calibration/cost/grid.h"
#include "calibration/fit/measured_private.h"
#include "calibration/profile/profile_moe.h"

/* The first OF_TABLE keys identify a table, the first OF_ROW a row of it, all of them a place in
 * the row. */
enum { OF_TABLE = 2, OF_ROW = 8, KEYS = 9 };

static const char *const columns[KEYS] = {"moe_dtype",   "distribution", "hidden_size",
                                          "inter_size",  "topk",         "num_experts",
                                          "moe_tp_size", "moe_ep_size",  "num_tokens"};
enum { DISTRIBUTION = 1 };

typedef struct {
  double keys[KEYS]; /* in the order of @columns */
  double us;
  OrrPlace place;
} Sample;

static int compare_samples(gconstpointer a, gconstpointer b) {
  const Sample *x = a, *y = b;
  for (int i = 0; i < KEYS; i++)
    if (x->keys[i] != y->keys[i]) return x->keys[i] < y->keys[i] ? -1 : 1;
  return (x->place.line > y->place.line) - (x->place.line < y->place.line);
}

static gboolean read_distribution(const OrrCsvLine *line, int column, OrrDiags *diags,
                                  double *ret_imbalance) {
  if (orr_profile_moe_imbalance(line->cells[column], ret_imbalance)) return TRUE;
  orr_diags_error(diags, line->place, "distribution is '%s': want balanced or power_law_A",
                  line->cells[column]);
  return FALSE;
}

/* Reports what the profile's check would refuse, at its line. */
static gboolean check_sample(const Sample *sample, OrrDiags *diags) {
  const char *wrong =
      fmod(sample->keys[5], sample->keys[7]) != 0   ? "moe_ep_size must divide num_experts"
      : fmod(sample->keys[3], sample->keys[6]) != 0 ? "moe_tp_size must divide inter_size"
      : sample->keys[4] > sample->keys[5]           ? "topk must not be above num_experts"
                                                    : NULL;
  if (wrong) orr_diags_error(diags, sample->place, "%s", wrong);
  return !wrong;
}

static void read_samples(const OrrCsv *csv, gboolean thin, GArray *samples, OrrDiags *diags) {
  int found[KEYS], latency = orr_measured_column(csv, "latency_us", diags);
  gboolean complete = latency >= 0;
  for (int c = 0; c < KEYS; c++)
    complete &= (found[c] = orr_measured_column(csv, columns[c], diags)) >= 0;
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (!line->cells) continue;
    Sample sample = {.place = line->place};
    gboolean good = orr_measured_latency(csv, line, latency, diags, &sample.us);
    for (int c = 0; c < KEYS; c++)
      good &= c == DISTRIBUTION ? read_distribution(line, found[c], diags, &sample.keys[c])
                                : orr_measured_key(csv, line, found[c], diags, &sample.keys[c]);
    if (!good || !check_sample(&sample, diags)) continue;
    if (thin) sample.us = orr_measured_round(sample.us);
    g_array_append_val(samples, sample);
  }
  g_array_sort(samples, compare_samples);
}

static void refuse_repeats(const GArray *samples, OrrDiags *diags) {
  for (guint i = 1; i < samples->len; i++) {
    const Sample *sample = &g_array_index(samples, Sample, i), *before = sample - 1;
    if (memcmp(sample->keys, before->keys, sizeof sample->keys) == 0)
      orr_diags_error(diags, sample->place, "the same row as line %d", before->place.line);
  }
}

/* --- aiter's tables --- */

enum { HIDDEN = 2, INTER, TOPK, EXPERTS, TP, EP, TOKENS };

/* "torch.float8_e4m3fnuz", "float4_e2m1fn_x2", "bfloat16". */
static gboolean read_weights(const char *word, double *ret_dtype) {
  const OrrDtype dtype = strstr(word, "bfloat16")  ? ORR_BF16
                         : strstr(word, "float16") ? ORR_FP16
                         : strstr(word, "float8")  ? ORR_FP8
                         : strstr(word, "float4")  ? ORR_FP4
                                                   : ORR_N_DTYPES;
  *ret_dtype = dtype;
  return dtype != ORR_N_DTYPES;
}

static gboolean is_plain(const OrrCsv *csv, const OrrCsvLine *line) {
  const int gate = orr_csv_column(csv, "g1u1"), inputs = orr_csv_column(csv, "q_dtype_a"),
            weights = orr_csv_column(csv, "q_dtype_w");
  return (gate < 0 || strcmp(line->cells[gate], "0") != 0) &&
         (inputs < 0 || strcmp(line->cells[inputs], line->cells[weights]) == 0);
}

static void read_aiter(const OrrCsv *csv, const OrrMeasuredOptions *options, GArray *samples,
                       OrrDiags *diags) {
  static const char *const names[KEYS] = {"q_dtype_w", NULL, "model_dim", "inter_dim", "topk",
                                          "expert",    NULL, NULL,        "token"};
  int found[KEYS], latency = orr_measured_column(csv, "us", diags);
  gboolean complete = latency >= 0;
  for (int c = 0; c < KEYS; c++)
    if (names[c]) complete &= (found[c] = orr_measured_column(csv, names[c], diags)) >= 0;
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    Sample sample = {.keys = {[TP] = 1, [EP] = 1}};
    if (!line->cells || !orr_measured_of_aiter(csv, line, options->system) ||
        !is_plain(csv, line) || !read_weights(line->cells[found[0]], &sample.keys[0]))
      continue;
    sample.place = line->place;
    gboolean good = orr_measured_latency(csv, line, latency, diags, &sample.us);
    for (int c = HIDDEN; c < KEYS; c++)
      if (names[c]) good &= orr_measured_key(csv, line, found[c], diags, &sample.keys[c]);
    if (!good || !check_sample(&sample, diags)) continue;
    if (options->thin) sample.us = orr_measured_round(sample.us);
    g_array_append_val(samples, sample);
  }
  g_array_sort(samples, compare_samples);
}

static void keep_fastest(GArray *samples) {
  guint kept = 0;
  ORR_EACH(const Sample, sample, samples) {
    Sample *last = kept ? &g_array_index(samples, Sample, kept - 1) : NULL;
    if (last && memcmp(last->keys, sample->keys, sizeof last->keys) == 0)
      last->us = fmin(last->us, sample->us);
    else
      g_array_index(samples, Sample, kept++) = *sample;
  }
  g_array_set_size(samples, kept);
}

/* --- writing --- */

/* The end of the samples that share the first @n_keys keys with sample @begin. */
static guint group_end(const GArray *samples, guint begin, int n_keys) {
  const Sample *first = &g_array_index(samples, Sample, begin);
  guint end = begin + 1;
  while (end < samples->len && memcmp(g_array_index(samples, Sample, end).keys, first->keys,
                                      (gsize)n_keys * sizeof(double)) == 0)
    end++;
  return end;
}

static GArray *tokens_axis(const GArray *samples, guint begin, guint end) {
  GArray *axis = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = begin; i < end; i++)
    g_array_append_val(axis, g_array_index(samples, Sample, i).keys[KEYS - 1]);
  orr_grid_sort_axis(axis);
  return axis;
}

/* Measured models whose experts have no gate (squared ReLU), which the tables do not state: by
 * their model cards, Nemotron 3 Nano (hidden 2688, inner size 1856, 6 of 128) and Ultra (latent
 * size 2048, inner size 5120, 22 of 512). */
static gboolean has_gate(const double *keys) {
  static const double without[][4] = {{2688, 1856, 6, 128}, {2048, 5120, 22, 512}};
  for (guint i = 0; i < G_N_ELEMENTS(without); i++)
    if (memcmp(keys + 2, without[i], sizeof without[i]) == 0) return FALSE;
  return TRUE;
}

static void write_row(GString *text, const GArray *samples, guint begin, guint end,
                      const GArray *tokens) {
  const double *keys = g_array_index(samples, Sample, begin).keys;
  g_string_append_printf(
      text,
      "      - {hidden: %.0f, inter: %.0f, topk: %.0f, experts: %.0f, tp: %.0f, ep: %.0f, %sus: \"",
      keys[2], keys[3], keys[4], keys[5], keys[6], keys[7],
      has_gate(keys) ? "" : "projections: 2, ");
  for (guint t = 0; t < tokens->len; t++) {
    gboolean is_there = begin < end && g_array_index(samples, Sample, begin).keys[KEYS - 1] ==
                                           g_array_index(tokens, double, t);
    g_string_append(text, t ? " " : "");
    if (is_there)
      orr_measured_append(text, g_array_index(samples, Sample, begin++).us);
    else
      g_string_append_c(text, '-');
  }
  g_string_append(text, "\"}\n");
}

static void write_table(GString *text, const GArray *samples, guint begin, guint end,
                        const char *source) {
  const double *keys = g_array_index(samples, Sample, begin).keys;
  g_autoptr(GArray) tokens = tokens_axis(samples, begin, end);
  g_string_append_printf(text, "  - dtype: %s\n    distribution: ", orr_dtype_names[(int)keys[0]]);
  if (keys[DISTRIBUTION] > 0) {
    g_string_append(text, "power_law_");
    orr_measured_append(text, keys[DISTRIBUTION]);
  } else {
    g_string_append(text, "balanced");
  }
  g_string_append_printf(text, "\n    source: \"%s\"\n    tokens: \"", source);
  for (guint t = 0; t < tokens->len; t++) {
    g_string_append(text, t ? " " : "");
    orr_measured_append(text, g_array_index(tokens, double, t));
  }
  g_string_append(text, "\"\n    rows:\n");
  while (begin < end) {
    guint row_end = group_end(samples, begin, OF_ROW);
    write_row(text, samples, begin, row_end, tokens);
    begin = row_end;
  }
}

static void write_tables(GString *text, const OrrCsv *csv, const GArray *samples) {
  g_autofree char *source = orr_measured_source(csv);
  if (samples->len) g_string_append(text, "moe:\n");
  for (guint begin = 0; begin < samples->len;) {
    guint end = group_end(samples, begin, OF_TABLE);
    write_table(text, samples, begin, end, source);
    begin = end;
  }
}

gboolean orr_measured_moe(GString *text, const char *folder, gboolean thin, OrrDiags *diags,
                          guint *n_tables, GError **error) {
  g_autofree char *path = g_build_filename(folder, ORR_MEASURED_MOE, NULL);
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) return TRUE;
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return FALSE;
  (*n_tables)++;
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
  read_samples(csv, thin, samples, diags);
  refuse_repeats(samples, diags);
  write_tables(text, csv, samples);
  return TRUE;
}

guint orr_measured_moe_of_aiter(GString *text, const OrrCsv *csv, const OrrMeasuredOptions *options,
                                OrrDiags *diags) {
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
  read_aiter(csv, options, samples, diags);
  keep_fastest(samples);
  write_tables(text, csv, samples);
  return samples->len;
}

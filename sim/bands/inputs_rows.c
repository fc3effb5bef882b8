/*
 * inputs_rows.c - makes rows of the replays: for each result its quantiles, and how much of its
 * spread each input explains.
 *
 * Quantiles: the k-th smallest of n results stands for the probability (k - 0.5) / n, the middle of
 * its interval (Hazen 1914), with straight lines between. Effects: squares of Spearman's rank
 * correlation, which is 1 for any result that rises with one input alone, straight or not. The
 * rest, up to 1, is due to several inputs at once, or to answers that rise and fall.
 */
#include "sim/bands/band_private.h"
#include "sim/base/number.h"

/* --- Statistics of n numbers --- */

static double quantile(const double *sorted, guint n, double probability) {
  const double at = CLAMP(probability * n - 0.5, 0, n - 1.0);
  const guint below = MIN((guint)at, n - 2);
  return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

typedef struct {
  double number;
  guint index;
} Ranked;

static int compare_ranked(const void *a, const void *b) {
  const Ranked *x = a, *y = b;
  return orr_number_compare(&x->number, &y->number);
}

/* The ranks of @numbers from 1; equal ones have their mean rank. A replay can add in another order,
 * so neighbours within 1e-9 of each other are equal. */
static double *ranks_of(const double *numbers, guint n) {
  g_autofree Ranked *sorted = g_new(Ranked, n);
  double *ranks = g_new0(double, n);
  for (guint i = 0; i < n; i++) sorted[i] = (Ranked){numbers[i], i};
  qsort(sorted, n, sizeof *sorted, compare_ranked);
  for (guint first = 0, next; first < n; first = next) {
    const double most = sorted[first].number + 1e-9 * fabs(sorted[first].number);
    for (next = first + 1; next < n && sorted[next].number <= most; next++) continue;
    for (guint k = first; k < next; k++) ranks[sorted[k].index] = (first + 1 + next) / 2.0;
  }
  return ranks;
}

/* Pearson's correlation; 0 where one of both is constant. */
static double correlation(const double *a, const double *b, guint n) {
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  for (guint i = 0; i < n; i++) {
    mean_a += a[i] / n;
    mean_b += b[i] / n;
  }
  for (guint i = 0; i < n; i++) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  return aa > 1e-9 && bb > 1e-9 ? ab / sqrt(aa * bb) : 0;
}

/* --- Rows --- */

/* The replays that have a result, and the results of one metric. */
typedef struct {
  guint n;
  guint *replays;  /* [n] */
  double *results; /* [n] */
} Sample;

static double number_in(const OrrField *field, const OrrResult *result) {
  return *(const double *)(const void *)((const char *)result + field->offset);
}

static Sample sample_of(const OrrInputs *inputs, const OrrField *field) {
  Sample sample = {0, g_new(guint, inputs->n), g_new(double, inputs->n)};
  for (guint r = 0; r < inputs->n; r++) {
    if (inputs->replays[r].error) continue;
    const double number = number_in(field, &inputs->replays[r].result);
    if (!isfinite(number)) continue;
    sample.replays[sample.n] = r;
    sample.results[sample.n++] = number;
  }
  return sample;
}

static void sample_clear(Sample *sample) { ORR_FREE(sample->replays, sample->results); }

static void add_results(const Sample *sample, const char *metric, OrrOutcome *outcome) {
  for (guint k = 0; k < sample->n; k++)
    ORR_APPEND(
        outcome->input_results, OrrInputResultRow,
        {.replay = sample->replays[k] + 1, .metric = (char *)metric, .value = sample->results[k]});
}

static void add_spread(const Sample *sample, const char *metric, double value,
                       OrrOutcome *outcome) {
  g_autofree double *sorted = g_memdup2(sample->results, sample->n * sizeof *sorted);
  qsort(sorted, sample->n, sizeof *sorted, orr_number_compare);
  ORR_APPEND(outcome->input_spreads, OrrInputSpreadRow,
             {.metric = (char *)metric,
              .value = value,
              .p10 = quantile(sorted, sample->n, 0.1),
              .p50 = quantile(sorted, sample->n, 0.5),
              .p90 = quantile(sorted, sample->n, 0.9),
              .replays = sample->n});
}

static void add_effects(const OrrInputs *inputs, const Sample *sample, const char *metric,
                        OrrOutcome *outcome) {
  const guint n_inputs = inputs->uncertain->len, first = outcome->input_effects->len;
  g_autofree double *of_results = ranks_of(sample->results, sample->n);
  g_autofree double *values = g_new(double, sample->n);
  double sum = 0;
  for (guint i = 0; i < n_inputs; i++) {
    for (guint k = 0; k < sample->n; k++)
      values[k] = inputs->values[(gsize)sample->replays[k] * n_inputs + i];
    g_autofree double *of_values = ranks_of(values, sample->n);
    OrrInputEffectRow row = {
        .metric = (char *)metric,
        .path = (char *)g_intern_string(((const OrrUncertain *)inputs->uncertain->pdata[i])->path),
        .correlation = correlation(of_values, of_results, sample->n)};
    row.fraction = row.correlation * row.correlation;
    sum += row.fraction;
    g_array_append_val(outcome->input_effects, row);
  }
  for (guint i = first; sum > 1 && i < outcome->input_effects->len; i++)
    g_array_index(outcome->input_effects, OrrInputEffectRow, i).fraction /= sum;
}

/* All numbers but the simulator's own time and its check of itself. */
static gboolean is_result(const OrrField *field) {
  return field->kind == ORR_FIELD_REAL && !g_str_has_prefix(field->name, "wall-time") &&
         !g_str_equal(field->name, "littles-law-error");
}

static void add_result(const OrrInputs *inputs, const OrrField *field, OrrOutcome *outcome) {
  const double value = number_in(field, &outcome->result);
  if (!isfinite(value)) return;
  g_autofree char *name = g_strdelimit(g_strdup(field->name), "-", '_');
  const char *metric = g_intern_string(name);
  Sample sample = sample_of(inputs, field);
  add_results(&sample, metric, outcome);
  if (sample.n >= 2) {
    add_spread(&sample, metric, value, outcome);
    add_effects(inputs, &sample, metric, outcome);
  }
  sample_clear(&sample);
}

static void add_inputs(const OrrInputs *inputs, OrrOutcome *outcome) {
  ORR_EACH_POINTER(const OrrUncertain, one, inputs->uncertain) {
    g_autofree char *place = g_strdup_printf("%s:%d:%d", one->place.file ? one->place.file : "",
                                             one->place.line, one->place.column);
    ORR_APPEND(outcome->uncertain_inputs, OrrUncertainInputRow,
               {.path = (char *)g_intern_string(one->path),
                .value = one->value,
                .low = one->low,
                .high = one->high,
                .unit = (char *)orr_unit_symbol(one->unit),
                .place = g_string_chunk_insert_const(outcome->names, place)});
  }
}

/* Whether a result of training has less memory than it needs. */
static gboolean is_over_memory(const OrrOutcome *outcome, const OrrResult *result) {
  const OrrFieldTable *table = outcome->kind->result;
  for (size_t i = 0; i < table->n_fields; i++)
    if (g_str_has_suffix(table->fields[i].name, "headroom-bytes") &&
        number_in(&table->fields[i], result) < 0)
      return TRUE;
  return FALSE;
}

static char *settings_of(const OrrInputs *inputs, guint replay) {
  GString *text = g_string_new(NULL);
  ORR_EACH_POINTER_AT(i, const OrrUncertain, one, inputs->uncertain) {
    g_autofree char *value =
        orr_uncertain_text(one, inputs->values[(gsize)replay * inputs->uncertain->len + i]);
    g_string_append_printf(text, "%s%s=%s", i > 0 ? "\n" : "", one->path, value);
  }
  return g_string_free(text, FALSE);
}

static void add_replays(const OrrInputs *inputs, OrrOutcome *outcome) {
  for (guint r = 0; r < inputs->n; r++) {
    const OrrStudyAnswer *replay = &inputs->replays[r];
    const char *status = replay->error                              ? "failed"
                         : is_over_memory(outcome, &replay->result) ? "over-memory"
                                                                    : "ok";
    g_autofree char *settings = settings_of(inputs, r);
    ORR_APPEND(outcome->input_replays, OrrInputReplayRow,
               {.replay = r + 1,
                .status = (char *)status,
                .reason = g_string_chunk_insert_const(outcome->names,
                                                      replay->error ? replay->error->message : ""),
                .settings = g_string_chunk_insert_const(outcome->names, settings)});
  }
}

void orr_inputs_add(const OrrInputs *inputs, OrrOutcome *outcome) {
  const OrrFieldTable *table = outcome->kind->result;
  add_inputs(inputs, outcome);
  add_replays(inputs, outcome);
  for (size_t i = 0; i < table->n_fields; i++)
    if (is_result(&table->fields[i])) add_result(inputs, &table->fields[i], outcome);
}

const OrrInputSpreadRow *orr_inputs_spread(const OrrOutcome *outcome, const char *metric) {
  ORR_EACH(const OrrInputSpreadRow, row, outcome->input_spreads)
    if (g_str_equal(row->metric, metric)) return row;
  return NULL;
}

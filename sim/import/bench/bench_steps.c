/*
 * bench_steps.c - times of training steps: medians without the warm-up.
 */
#include "sim/import/bench/bench.h"

#include "sim/base/number.h"

OrrBenchSteps orr_bench_steps_new(void) {
  return (OrrBenchSteps){.seconds = g_array_new(FALSE, FALSE, sizeof(double)),
                         .tflops = g_array_new(FALSE, FALSE, sizeof(double)),
                         .tokens = g_array_new(FALSE, FALSE, sizeof(double)),
                         .samples = g_array_new(FALSE, FALSE, sizeof(double)),
                         .generation = g_array_new(FALSE, FALSE, sizeof(double)),
                         .update = g_array_new(FALSE, FALSE, sizeof(double)),
                         .memory = NAN,
                         .global_batch = NAN,
                         .newest = -1};
}

void orr_bench_steps_clear(OrrBenchSteps *steps) {
  g_array_unref(steps->seconds);
  g_array_unref(steps->tflops);
  g_array_unref(steps->tokens);
  g_array_unref(steps->samples);
  g_array_unref(steps->generation);
  g_array_unref(steps->update);
}

static guint n_steps(const OrrBenchSteps *steps) {
  const guint n = MAX(steps->seconds->len, steps->tokens->len);
  return MAX(MAX(n, steps->update->len), MAX(steps->samples->len, steps->generation->len));
}

void orr_bench_steps_set_batch(OrrBenchSteps *steps, double batch) {
  GArray *const values[] = {steps->seconds, steps->tflops,     steps->tokens,
                            steps->samples, steps->generation, steps->update};
  if (steps->global_batch == batch) return;
  steps->other_batches += n_steps(steps);
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) g_array_set_size(values[i], 0);
  steps->global_batch = batch;
}

double orr_bench_steps_median(const GArray *values, guint skipped) {
  if (values->len <= skipped) return NAN;
  g_autoptr(GArray) rest = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_vals(rest, &g_array_index(values, double, skipped), values->len - skipped);
  g_array_sort(rest, orr_number_compare);
  const guint half = rest->len / 2;
  const double upper = g_array_index(rest, double, half);
  return rest->len % 2 ? upper : (upper + g_array_index(rest, double, half - 1)) / 2;
}

static void add_result(OrrBenchInput *input, const OrrBenchSteps *steps, const char *tool,
                       OrrPlace place) {
  const guint n = n_steps(steps);
  if (n == 0) return;
  const guint skipped = MIN(n - 1, CLAMP(n / 10, MAX(steps->warm_up, 1), 10));
  OrrBenchResult *result = orr_bench_result_new(tool, place);
  result->values[ORR_BENCH_ITERATION] = orr_bench_steps_median(steps->seconds, skipped);
  result->values[ORR_BENCH_ITERATIONS] = n - skipped;
  result->values[ORR_BENCH_WARM_UP] = skipped;
  result->values[ORR_BENCH_GLOBAL_BATCH] = steps->global_batch;
  result->values[ORR_BENCH_TFLOPS] = orr_bench_steps_median(steps->tflops, skipped);
  result->values[ORR_BENCH_TOKENS_PER_GPU] = orr_bench_steps_median(steps->tokens, skipped);
  result->values[ORR_BENCH_SAMPLES] = orr_bench_steps_median(steps->samples, skipped);
  result->values[ORR_BENCH_GENERATION] = orr_bench_steps_median(steps->generation, skipped);
  result->values[ORR_BENCH_UPDATE] = orr_bench_steps_median(steps->update, skipped);
  result->values[ORR_BENCH_MEMORY] = steps->memory;
  result->other_batches = steps->other_batches;
  g_ptr_array_add(input->results, result);
}

void orr_bench_steps_read(OrrBenchInput *input, const char *tool, OrrBenchStepLine read_line,
                          gconstpointer user) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  OrrBenchSteps steps = orr_bench_steps_new();
  OrrPlace place = {.file = input->file, .column = 1}; /* of the first step */
  for (guint i = 0; lines[i]; i++) {
    g_auto(GStrv) states = g_strsplit(lines[i], "\r", -1);
    const guint before = n_steps(&steps), dropped = steps.other_batches;
    for (char **state = states; *state; state++) read_line(&steps, *state, user);
    if (n_steps(&steps) == 1 && (before != 1 || steps.other_batches > dropped))
      place.line = (int)i + 1;
  }
  add_result(input, &steps, tool, place);
  orr_bench_steps_clear(&steps);
}

gboolean orr_bench_steps_number(const char *line, const char *label, double *ret_value) {
  const char *at = strstr(line, label);
  if (!at) return FALSE;
  at += strlen(label);
  at += strspn(at, " :\t");
  const gsize length = strspn(at, "0123456789.,eE+-");
  g_autofree char *text = g_strndup(at, length);
  while (*text && strchr(".,", text[strlen(text) - 1])) text[strlen(text) - 1] = '\0';
  return orr_bench_number(text, ret_value);
}

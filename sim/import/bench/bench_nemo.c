/*
 * bench_nemo.c - training logs of NeMo, lines of its logger and of its progress bar:
 *
 *   Training epoch 0, iteration 7/49 | global_batch_size: 512 | train_step_timing in s: 7.17 | ...
 *   Epoch 0: :  4%| | 7/50 [..., global_step=7.000, train_step_timing in s=7.17]
 *   Epoch 0:  1%| | 795/77225 [9:07:58<878:01:48, 41.36s/it, ..., reduced_train_loss=3.090, ...]
 *
 * The last, of NeMo 1.x without step timing, has the bar's own running mean of a step alone.
 */
#include "sim/import/bench/bench.h"

static const char timing[] = "train_step_timing in s";

static gboolean recognise(const OrrBenchInput *input) {
  return (strstr(input->text, timing) ||
          (strstr(input->text, "reduced_train_loss=") && strstr(input->text, "it, "))) &&
         !strstr(input->text, ":::MLLOG");
}

/* "41.36s/it" or "2.1it/s" of a progress bar. */
static gboolean bar_time(const char *line, double *ret_value) {
  if (!strstr(line, "reduced_train_loss=") || strlen(line) > 4096) return FALSE;
  g_autoptr(GRegex) regex = g_regex_new("[<,] *([0-9.]+)(s/it|it/s),", 0, 0, NULL);
  g_autoptr(GMatchInfo) match = NULL;
  if (!g_regex_match(regex, line, 0, &match)) return FALSE;
  g_autofree char *number = g_match_info_fetch(match, 1), *unit = g_match_info_fetch(match, 2);
  if (!orr_bench_number(number, ret_value) || !(*ret_value > 0)) return FALSE;
  if (unit[0] == 'i') *ret_value = 1 / *ret_value;
  return isfinite(*ret_value);
}

/* "LABEL: 7" or "LABEL=7". */
static gboolean number_at(const char *line, const char *label, double *ret_value) {
  g_autofree char *colon = g_strconcat(label, ":", NULL), *equals = g_strconcat(label, "=", NULL);
  return orr_bench_steps_number(line, colon, ret_value) ||
         orr_bench_steps_number(line, equals, ret_value);
}

static void read_line(OrrBenchSteps *steps, const char *line, gconstpointer user) {
  double seconds = 0, tflops = 0, batch = 0;
  if (!number_at(line, timing, &seconds) && !bar_time(line, &seconds)) return;
  if (number_at(line, "global_batch_size", &batch)) orr_bench_steps_set_batch(steps, batch);
  g_array_append_val(steps->seconds, seconds);
  if (number_at(line, "TFLOPS_per_GPU", &tflops)) g_array_append_val(steps->tflops, tflops);
}

static void read(OrrBenchInput *input) { orr_bench_steps_read(input, "nemo", read_line, NULL); }

const OrrBenchReader orr_bench_nemo = {
    .name = "nemo",
    .sentence = "a training log of NeMo",
    .recognise = recognise,
    .read = read,
};

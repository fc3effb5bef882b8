/*
 * bench_nemo.c - training logs of NeMo, lines of its logger and of its progress bar:
 *
 *   Training epoch 0, iteration 7/49 | global_batch_size: 512 | train_step_timing in s: 7.17 | ...
 *   Epoch 0: :  4%| | 7/50 [..., global_step=7.000, train_step_timing in s=7.17]
 */
#include "sim/import/bench/bench_steps.h"

static const char timing[] = "train_step_timing in s";

static gboolean recognise(const OrrBenchInput *input) {
  return strstr(input->text, timing) != NULL && !strstr(input->text, ":::MLLOG");
}

/* "LABEL: 7" or "LABEL=7". */
static gboolean number_at(const char *line, const char *label, double *ret_value) {
  g_autofree char *colon = g_strconcat(label, ":", NULL), *equals = g_strconcat(label, "=", NULL);
  return orr_bench_steps_number(line, colon, ret_value) ||
         orr_bench_steps_number(line, equals, ret_value);
}

static void read_line(OrrBenchSteps *steps, const char *line, gconstpointer user) {
  (void)user;
  double seconds = 0, tflops = 0, batch = 0;
  if (!number_at(line, timing, &seconds)) return;
  g_array_append_val(steps->seconds, seconds);
  if (number_at(line, "TFLOPS_per_GPU", &tflops)) g_array_append_val(steps->tflops, tflops);
  if (number_at(line, "global_batch_size", &batch)) steps->global_batch = batch;
}

static void read(OrrBenchInput *input) { orr_bench_steps_read(input, "nemo", read_line, NULL); }

const OrrBenchReader orr_bench_nemo = {
    .name = "nemo",
    .sentence = "a training log of NeMo",
    .recognise = recognise,
    .read = read,
};

/*
 * bench_megatron.c - logs of Megatron-LM and Megatron-DeepSpeed:
 *
 *   iteration 3/ 1000 | ... | elapsed time per iteration (ms): 137138.4 | ... | global batch size:
 *   1024 | throughput per GPU (TFLOP/s/GPU): 151.2 |
 *   [Rank 0] (after 2 iterations) memory (MB) | allocated: ... | max allocated: 40123.4 | ...
 *
 * Megatron-DeepSpeed writes seconds ("(s)") and "TFLOPs:".
 */

#include "sim/import/bench/bench_steps.h"

static gboolean recognise(const OrrBenchInput *input) {
  return strstr(input->text, "elapsed time per iteration") != NULL;
}

static void add_number(GArray *values, const char *line, const char *label) {
  double number = 0;
  if (orr_bench_steps_number(line, label, &number)) g_array_append_val(values, number);
}

static void read_line(OrrBenchInput *input, OrrBenchSteps *steps, const char *line, guint i) {
  double number = 0;
  gboolean is_step = TRUE;
  if (orr_bench_steps_number(line, "elapsed time per iteration (ms):", &number))
    number *= 1e-3;
  else
    is_step = orr_bench_steps_number(line, "elapsed time per iteration (s):", &number);
  if (is_step && number > 0) {
    if (steps->seconds->len == 0)
      steps->place = (OrrPlace){.file = input->file, .line = (int)i + 1, .column = 1};
    g_array_append_val(steps->seconds, number);
    add_number(steps->tflops, line, "throughput per GPU (TFLOP/s/GPU):");
    add_number(steps->tflops, line, "TFLOPs:");
    orr_bench_steps_number(line, "global batch size:", &steps->global_batch);
  }
  if (strstr(line, "memory (MB)") && orr_bench_steps_number(line, "max allocated:", &number))
    steps->memory = fmax(isnan(steps->memory) ? 0 : steps->memory, number * 1048576);
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  OrrBenchSteps steps = orr_bench_steps_new();
  for (guint i = 0; lines[i]; i++) read_line(input, &steps, lines[i], i);
  orr_bench_steps_end(input, &steps, "megatron-lm");
  orr_bench_steps_clear(&steps);
}

const OrrBenchReader orr_bench_megatron = {
    .name = "megatron-lm",
    .sentence = "a training log of Megatron-LM",
    .recognise = recognise,
    .read = read,
};

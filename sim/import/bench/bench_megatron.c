/*
 * bench_megatron.c - logs of Megatron-LM and Megatron-DeepSpeed:
 *
 *   iteration 3/ 1000 | ... | elapsed time per iteration (ms): 137138.4 | ... | global batch size:
 *   1024 | throughput per GPU (TFLOP/s/GPU): 151.2 |
 *   [Rank 0] (after 2 iterations) memory (MB) | allocated: ... | max allocated: 40123.4 | ...
 *
 * Megatron-DeepSpeed writes seconds ("(s)") and "TFLOPs:", GPT-NeoX "approx flops per GPU:".
 */
#include "sim/import/bench/bench.h"

static gboolean recognise(const OrrBenchInput *input) {
  return strstr(input->text, "elapsed time per iteration") != NULL;
}

static void add_number(GArray *values, const char *line, const char *label) {
  double number = 0;
  if (orr_bench_steps_number(line, label, &number)) g_array_append_val(values, number);
}

static void read_line(OrrBenchSteps *steps, const char *line, gconstpointer user) {
  double number = 0, batch = 0;
  gboolean is_step = TRUE;
  if (orr_bench_steps_number(line, "elapsed time per iteration (ms):", &number))
    number *= 1e-3;
  else
    is_step = orr_bench_steps_number(line, "elapsed time per iteration (s):", &number);
  if (is_step && number > 0) {
    if (orr_bench_steps_number(line, "global batch size:", &batch))
      orr_bench_steps_set_batch(steps, batch);
    g_array_append_val(steps->seconds, number);
    add_number(steps->tflops, line, "throughput per GPU (TFLOP/s/GPU):");
    add_number(steps->tflops, line, "TFLOPs:");
    add_number(steps->tflops, line, "approx flops per GPU:");
  }
  if (strstr(line, "memory (MB)") && orr_bench_steps_number(line, "max allocated:", &number))
    steps->memory = fmax(steps->memory, number * 1048576);
}

static void read(OrrBenchInput *input) {
  const gboolean is_neox = strstr(input->text, "approx flops per GPU:") != NULL;
  orr_bench_steps_read(input, is_neox ? "gpt-neox" : "megatron-lm", read_line, NULL);
}

const OrrBenchReader orr_bench_megatron = {
    .name = "megatron-lm",
    .sentence = "a training log of Megatron-LM",
    .recognise = recognise,
    .read = read,
};

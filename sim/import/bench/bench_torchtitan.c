/*
 * bench_torchtitan.c - logs of torchtitan:
 *
 *   step: 10  loss:  7.9  memory: 77.04GiB(81.5%)  tps: 6,667  tflops: 389.2  mfu: 39.3%
 *
 * "wps" in older versions. tps counts tokens per second and GPU; the log has no step times.
 */

#include "sim/import/bench/bench_steps.h"

static gboolean recognise(const OrrBenchInput *input) {
  return g_regex_match_simple("step: *[0-9]+ .*memory: *[0-9.]+GiB.*(tps|wps): *[0-9]", input->text,
                              0, 0);
}

static void read_line(OrrBenchInput *input, OrrBenchSteps *steps, const char *line, guint i) {
  double tokens = 0, memory = 0, tflops = 0;
  if (!strstr(line, "step:") || !(orr_bench_steps_number(line, "tps:", &tokens) ||
                                  orr_bench_steps_number(line, "wps:", &tokens)))
    return;
  if (steps->tokens->len == 0)
    steps->place = (OrrPlace){.file = input->file, .line = (int)i + 1, .column = 1};
  g_array_append_val(steps->tokens, tokens);
  if (orr_bench_steps_number(line, "tflops:", &tflops)) g_array_append_val(steps->tflops, tflops);
  if (orr_bench_steps_number(line, "memory:", &memory))
    steps->memory = fmax(isnan(steps->memory) ? 0 : steps->memory, memory * 1073741824);
}

static void read(OrrBenchInput *input) {
  g_auto(GStrv) lines = g_strsplit(input->text, "\n", -1);
  OrrBenchSteps steps = orr_bench_steps_new();
  for (guint i = 0; lines[i]; i++) read_line(input, &steps, lines[i], i);
  orr_bench_steps_end(input, &steps, "torchtitan");
  orr_bench_steps_clear(&steps);
}

const OrrBenchReader orr_bench_torchtitan = {
    .name = "torchtitan",
    .sentence = "a training log of torchtitan",
    .recognise = recognise,
    .read = read,
};

/*
 * bench_torchtitan.c - logs of torchtitan:
 *
 *   step: 10  loss:  7.9  memory: 77.04GiB(81.5%)  tps: 6,667  tflops: 389.2  mfu: 39.3%
 *
 * "wps" in older versions. tps counts tokens per second and GPU; the log has no step times. Where
 * all ranks log, the first line of a step counts: another rank's is the same step.
 */
#include "sim/import/bench/bench.h"

static gboolean recognise(const OrrBenchInput *input) {
  return g_regex_match_simple("step: *[0-9]+ .*memory: *[0-9.]+GiB.*(tps|wps): *[0-9]", input->text,
                              0, 0);
}

static void read_line(OrrBenchSteps *steps, const char *line, gconstpointer user) {
  double tokens = 0, memory = 0, tflops = 0, step = 0;
  if (!strstr(line, "step:") || !(orr_bench_steps_number(line, "tps:", &tokens) ||
                                  orr_bench_steps_number(line, "wps:", &tokens)))
    return;
  if (orr_bench_steps_number(line, "memory:", &memory))
    steps->memory = fmax(steps->memory, memory * 1073741824);
  if (!orr_bench_steps_number(line, "step:", &step) || step == steps->newest) return;
  steps->newest = step;
  g_array_append_val(steps->tokens, tokens);
  if (orr_bench_steps_number(line, "tflops:", &tflops)) g_array_append_val(steps->tflops, tflops);
}

static void read(OrrBenchInput *input) {
  orr_bench_steps_read(input, "torchtitan", read_line, NULL);
}

const OrrBenchReader orr_bench_torchtitan = {
    .name = "torchtitan",
    .sentence = "a training log of torchtitan",
    .recognise = recognise,
    .read = read,
};

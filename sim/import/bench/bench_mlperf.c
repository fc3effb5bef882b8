/*
 * bench_mlperf.c - MLPerf training's result logs: lines of
 *
 *   :::MLLOG {"key": "tracked_stats", "value": {"train_step_time": 14.18, ...}, ...}
 *
 * The step's time is called train_step_time, or train_step_timing in s, and is in seconds; where a
 * log has only the throughput, in samples per second, it is the global batch divided by that.
 * submission_platform is not trusted: templates leave it wrong.
 */
#include "sim/import/bench/bench.h"

static gboolean recognise(const OrrBenchInput *input) {
  return strstr(input->text, ":::MLLOG") != NULL;
}

static void read_line(OrrBenchSteps *steps, const char *line, gconstpointer user) {
  double number = 0;
  if (!strstr(line, ":::MLLOG")) return;
  if (strstr(line, "\"key\": \"global_batch_size\"") &&
      orr_bench_steps_number(line, "\"value\"", &number))
    orr_bench_steps_set_batch(steps, number);
  if (!strstr(line, "tracked_stats")) return;
  if (!orr_bench_steps_number(line, "\"train_step_time\"", &number) &&
      !orr_bench_steps_number(line, "\"train_step_timing in s\"", &number)) {
    if (!orr_bench_steps_number(line, "\"throughput\"", &number) || number <= 0) return;
    number = steps->global_batch / number;
  }
  if (!(number > 0)) return;
  g_array_append_val(steps->seconds, number);
}

static void read(OrrBenchInput *input) { orr_bench_steps_read(input, "mlperf", read_line, NULL); }

const OrrBenchReader orr_bench_mlperf = {
    .name = "mlperf",
    .sentence = "a result log of MLPerf training",
    .recognise = recognise,
    .read = read,
};

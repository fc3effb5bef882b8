/*
 * bench_scale ORRERY FOLDER - how far it goes: the largest jobs and machines, folded and full, and
 * how time grows.
 *
 * Growth is the slope of a straight line through log(processor time) over log(size), by least
 * squares, and between the two largest sizes alone, where nothing constant flatters it. FOLDER
 * takes the scenarios that are written for it.
 */
#include <math.h>

#include "tests/bench/bench_command.h"

static const char *orrery, *folder;

static void measure(const char *what, const char *words, guint n_tries) {
  const BenchProcess found = bench_command(orrery, words, n_tries);
  g_autofree char *time = g_strdup_printf("scale: %s", what),
                  *memory = g_strdup_printf("scale: %s, peak memory", what),
                  *processor = g_strdup_printf("scale: %s, processor", what);
  bench_row(time, found.wall_s, "s");
  bench_row(processor, found.processor_s, "s");
  bench_row(memory, found.memory_mb, "MB");
}

static void measure_training(const char *what, const char *scenario) {
  g_autofree char *folded =
      g_strdup_printf("run scenarios/%s.yaml --db none --fidelity folded", scenario);
  g_autofree char *full =
      g_strdup_printf("run scenarios/%s.yaml --db none --fidelity full", scenario);
  g_autofree char *what_folded = g_strdup_printf("%s, folded", what),
                  *what_full = g_strdup_printf("%s, full", what);
  measure(what_folded, folded, BENCH_TRIES);
  measure(what_full, full, 1);
}

static void write_file(const char *name, const char *text) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_file_set_contents(path, text, -1, &error);
  bench_check(error);
}

/* 1,024 ranks, one a node; 131,072 GPUs of 8 NICs each. */
static void measure_collectives(void) {
  write_file("ring.yaml", "schema: scenario/1\nname: ring\ncluster: {base: dgx-h100-superpod, "
                          "nodes: 1024, max-nodes: 0, fabric: "
                          "{kind: fat-tree, levels: 3}}\nworkload: {kind: collectives, begin: 1 "
                          "MiB, end: 1 MiB, ranks: 1024, "
                          "stride: 8, algorithm: ring}\n");
  write_file("whole.yaml", "schema: scenario/1\nname: whole\ncluster: {base: dgx-h100-superpod, "
                           "nodes: 16384, max-nodes: 0, node: "
                           "{nics-per-gpu: 8}, fabric: {kind: fat-tree, levels: 3, radix: "
                           "512}}\nworkload: {kind: collectives, "
                           "begin: 1 GiB, end: 1 GiB, algorithm: ring}\n");
  g_autofree char *ring = g_strdup_printf("run %s/ring.yaml --db none", folder);
  g_autofree char *steps = g_strdup_printf("%s --set workload.replay=steps", ring);
  g_autofree char *check = g_strdup_printf("check %s/whole.yaml", folder);
  g_autofree char *whole = g_strdup_printf("run %s/whole.yaml --db none", folder);
  measure("1 MiB ring all-reduce over 1,024 ranks, one flow", ring, BENCH_TRIES);
  measure("the same, step by step", steps, 1);
  measure("fat-tree of 131,072 GPUs with 8 NICs each, built", check, BENCH_TRIES);
  measure("one ring all-reduce over all of them", whole, BENCH_TRIES);
}

/* Of @sizes, @command makes the words of each. */
static void measure_growth(const char *what, const double *sizes, guint n,
                           char *(*command)(double size)) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, x = 0, y = 0, x_before = 0, y_before = 0;
  for (guint i = 0; i < n; i++) {
    g_autofree char *words = command(sizes[i]);
    x_before = x;
    y_before = y;
    x = log(sizes[i]);
    y = log(bench_command(orrery, words, 3).processor_s);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  g_autofree char *all =
      g_strdup_printf("growth: against %s, %.0f to %.0f", what, sizes[0], sizes[n - 1]);
  g_autofree char *last =
      g_strdup_printf("growth: against %s, %.0f to %.0f", what, sizes[n - 2], sizes[n - 1]);
  bench_row(all, (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x), "log-log slope");
  bench_row(last, (y - y_before) / (x - x_before), "log-log slope");
}

/* GPT-3 6.7B as TP 8 x PP 8: 64 GPUs are a replica, 8 micro-batches each, every one of them
 * replayed. */
#define GROWTH "run %s/growth.yaml --db none --fidelity full "

static char *with_gpus(double gpus) {
  return g_strdup_printf(GROWTH "--set cluster.nodes=%.0f --set workload.batch.global=%.0f", folder,
                         gpus / 8, gpus / 8);
}

static char *with_layers(double layers) {
  return g_strdup_printf(GROWTH "--set model.layers=%.0f", folder, layers);
}

static char *with_micro_batches(double n) {
  return g_strdup_printf(GROWTH "--set workload.batch.global=%.0f", folder, n * 8);
}

int main(int argc, char **argv) {
  static const double gpus[] = {64, 512, 4096, 32768, 131072}, layers[] = {64, 256, 1024, 4096},
                      micro_batches[] = {16, 64, 256, 1024};
  if (argc != 3) g_error("usage: bench_scale ORRERY FOLDER");
  orrery = argv[1];
  folder = argv[2];
  measure_training("GPT-3 175B on 12,288 A100", "gpt3-175b-12288-a100");
  measure("Llama 3.1 405B on 16,384 H100, folded",
          "run scenarios/llama-3.1-405b-16384-h100.yaml --db none", BENCH_TRIES);
  measure("DeepSeek-V3 on 2,048 H100, EP 64, folded",
          "run scenarios/deepseek-v3-2048-h100.yaml --db none", BENCH_TRIES);
  measure_collectives();
  write_file("growth.yaml",
             "schema: scenario/1\nname: growth\ncluster: {base: dgx-h100-superpod, nodes: 64, "
             "max-nodes: 0, fabric: "
             "{kind: fat-tree, levels: 3, radix: 512}}\nmodel: {base: gpt3-6.7b, parameters: "
             "0}\nworkload: {kind: "
             "training, parallel: "
             "{tp: 8, pp: 8, dp: 0}, pipeline: {kind: 1f1b}, batch: {global: 64, micro: 1}}\n");
  measure_growth("GPUs at equal work a GPU", gpus, G_N_ELEMENTS(gpus), with_gpus);
  measure_growth("layers", layers, G_N_ELEMENTS(layers), with_layers);
  measure_growth("micro-batches", micro_batches, G_N_ELEMENTS(micro_batches), with_micro_batches);
  return 0;
}

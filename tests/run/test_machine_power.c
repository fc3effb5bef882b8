/*
 * test_machine_power.c - the parts of the machine add up to it, and its CPUs draw by host time.
 */
#include <math.h>
#include <string.h>

#include "tests/run/run_text.h"

/* 50 W a node when idle, and 2 W more for each of its 100 cores that is busy. */
#define CLUSTER                                                                                    \
  "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 4, node: {host: {cores: 100}}, "        \
  "power: {parts: {cpu-idle: 50 W, cpu-busy: 250 W}}}\n"
#define TRAINING_WITH(more)                                                                        \
  "schema: scenario/1\n"                                                                           \
  "name: small\n" CLUSTER                                                                          \
  "model: {layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"                     \
  "workload: {" more                                                                               \
  "kind: training, stack: none, parallel: {tp: 4, pp: 2, dp: 2}, batch: {global: 16, micro: 1}}\n" \
  "engine: ideal\n"
#define TRAINING TRAINING_WITH("")
#define SERVING_WITH(more)                                                                         \
  "schema: scenario/1\n"                                                                           \
  "name: small\n" CLUSTER "model: llama-3.1-8b\n"                                                  \
  "workload: {" more                                                                               \
  "kind: serving, stack: none, requests: 32, replicas: 2, input: {kind: fixed, tokens: 512}, "     \
  "output: {kind: fixed, tokens: 32}, load: {kind: closed-loop, concurrency: 8}}\n"                \
  "engine: ideal\n"
#define COLLECTIVES                                                                                \
  "schema: scenario/1\n"                                                                           \
  "name: calls\n" CLUSTER                                                                          \
  "workload: {kind: collectives, stack: none, collective: all-reduce, begin: 64 MiB, end: 64 "     \
  "MiB}\n"                                                                                         \
  "engine: ideal\n"
#define CAMPAIGN                                                                                   \
  "campaign: {duration: 10 h, seeds: 1, spares: 1, failures: {processes: [{component: gpu, "       \
  "scope: gpu, symptom: crash, rate-per-hour: 1e-12}]}, detection: [{symptom: crash, after: 1 "    \
  "s}], policy: restart, repair: 1 h, recovery: {requeue: 0 s, restart: 0 s, initialise: 0 s}, "   \
  "maintenance: {every: 1 h, lasts: 30 min}, checkpoints: [{tier: host, interval: 1 min}]}\n"

static void assert_near(double a, double b) { g_assert_cmpfloat_with_epsilon(a / b, 1, 1e-9); }

static const OrrPowerPartRow *part_of(const OrrOutcome *outcome, const char *part) {
  for (guint i = 0; i < outcome->power_parts->len; i++) {
    const OrrPowerPartRow *row = &g_array_index(outcome->power_parts, OrrPowerPartRow, i);
    if (g_str_equal(row->part, part)) return row;
  }
  g_error("no part %s", part);
}

static void assert_adds_up(const OrrOutcome *outcome, const OrrMachinePower *machine) {
  double watts = 0, fraction = 0;
  for (guint i = 0; i < outcome->power_parts->len; i++) {
    const OrrPowerPartRow *row = &g_array_index(outcome->power_parts, OrrPowerPartRow, i);
    watts += isnan(row->watts) ? 0 : row->watts;
    fraction += isnan(row->fraction) ? 0 : row->fraction;
  }
  assert_near(watts, machine->all_w);
  assert_near(fraction, 1);
}

/* Of every kind of run; network counted, a meter for the nodes. */
static void test_sums(void) {
  g_autoptr(OrrOutcome) training = run(TRAINING, "");
  g_autoptr(OrrOutcome) serving = run(SERVING_WITH(""), "");
  g_autoptr(OrrOutcome) calls = run(COLLECTIVES, "");
  g_autoptr(OrrOutcome) campaign = run(TRAINING CAMPAIGN, "");
  assert_adds_up(training, &training->result.training.machine);
  assert_adds_up(serving, &serving->result.serving.machine);
  assert_adds_up(calls, &calls->result.collectives.machine);
  assert_adds_up(campaign, &campaign->result.campaign.machine);
  assert_near(part_of(training, "gpu")->pieces, 16);
  assert_near(part_of(training, "cpu")->pieces, 2);
  assert_near(part_of(calls, "cpu")->watts, 2 * 50); /* no host time is known */
}

/* Core seconds per step, from what the CPUs draw: 2 W for a busy core. */
static double core_s(const OrrOutcome *outcome) {
  const double watts = part_of(outcome, "cpu")->watts - 2 * 50;
  return watts / 2 * outcome->result.training.iteration_time_s;
}

/* 16 sequences of 10 ms each, whether or not training waits for them. */
static void test_loader(void) {
  g_autoptr(OrrOutcome) without = run(TRAINING, "");
  g_autoptr(OrrOutcome) with = run(TRAINING_WITH("loader: {sample-time: 10 ms, workers: 8}, "), "");
  g_assert_cmpfloat(core_s(without), >, 0); /* launches */
  assert_near(core_s(with) - core_s(without), 0.16);
}

/* One rank of each class gives what all of them give. */
static void test_fidelity(void) {
  g_autoptr(OrrOutcome) folded = run(TRAINING, "fidelity: folded\n");
  g_autoptr(OrrOutcome) full = run(TRAINING, "fidelity: full\n");
  assert_near(part_of(folded, "cpu")->watts, part_of(full, "cpu")->watts);
  assert_near(folded->result.training.machine.all_w, full->result.training.machine.all_w);
}

/* 3 ms for each step of an engine core, though steps take longer; the meter's nodes draw more by
 * what busy cores add, at the 96 % of the supplies. 2 GPUs fill a quarter of a node. */
static void test_serving(void) {
  g_autoptr(OrrOutcome) idle = run(SERVING_WITH(""), "");
  g_autoptr(OrrOutcome) busy = run(SERVING_WITH("engine: {host: {step: 3 ms}}, "), "");
  const OrrServingResult *r = &busy->result.serving;
  const double end_s = 32 / r->requests_per_s;
  assert_near(part_of(idle, "cpu")->watts, 0.25 * 50);
  assert_near((part_of(busy, "cpu")->watts - 0.25 * 50) / 2 * end_s, 0.003 * (double)r->steps);
  const OrrMachinePower *a = &r->machine;
  const double boards_w = r->gpu_power_mean_w / 2, load = (boards_w - 150) / (700 - 150);
  const double line_w = 0.25 * (1620 + load * (2800 - 1620));
  assert_near(a->nodes_w, line_w + (part_of(busy, "cpu")->watts - 0.25 * 50) / 0.96);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/machine-power/sums", test_sums);
  g_test_add_func("/machine-power/loader", test_loader);
  g_test_add_func("/machine-power/fidelity", test_fidelity);
  g_test_add_func("/machine-power/serving", test_serving);
  return g_test_run();
}

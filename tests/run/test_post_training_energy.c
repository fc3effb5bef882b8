/*
 * test_post_training_energy.c - joules of post-training by pool, phase and role, over time and by
 * kind are one energy; and what a step costs.
 */
#include <math.h>
#include <string.h>

#include "tests/run/run_text.h"

#define LOOP(pools, more)                                                                          \
  "schema: scenario/1\n"                                                                           \
  "name: loop\n"                                                                                   \
  "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 2}\n"                                   \
  "model: qwen2.5-7b\n"                                                                            \
  "workload: {kind: post-training, algorithm: {kind: grpo}, prompts: 16, samples: 4, steps: 3, "   \
  "prompt: {tokens: 200}, response: {kind: lognormal, tokens: 300, sigma: 1, most: 2048}, "        \
  "pools: {" pools "}, " more "rollout: {stack: vllm-0.19, engine: {max-model-len: 4096}}, "       \
  "update: {stack: megatron-core-25.11, parallel: {tp: 2}, batch: {global: 64}, sequence: 4096, "  \
  "recompute: full, optimizer: {sharding: distributed-optimizer}}}\n"
#define POOLS LOOP("rollout-gpus: 8", "mode: {kind: asynchronous, staleness: 1}, sync: broadcast, ")
#define SHARED LOOP("", "offload: all, ")
#define RENT "prices: {currency: EUR, gpu-hour: 3.6}\n"

static void assert_near(double a, double b) { g_assert_cmpfloat_with_epsilon(a / b, 1, 1e-9); }

static const OrrPostTrainingEnergyRow *row_at(const OrrOutcome *outcome, guint i) {
  return &g_array_index(outcome->post_training_energies, OrrPostTrainingEnergyRow, i);
}

/* By kinds and over time: the same joules of all steps. By phases, by watts and by tokens: the same
 * joules of a step that counts. */
static void assert_conserved(const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  const double all_j = r->gpu_energy_compute_j + r->gpu_energy_memory_j + r->gpu_energy_network_j +
                       r->gpu_energy_idle_j;
  double phases_j = 0, time_j = 0, compute_j = 0;
  for (guint i = 0; i < outcome->post_training_energies->len; i++) {
    const OrrPostTrainingEnergyRow *row = row_at(outcome, i);
    phases_j += row->joules;
    assert_near(row->joules, row->compute_j + row->memory_j + row->network_j + row->idle_j);
  }
  for (guint i = 0; i < outcome->powers->len; i++) {
    const OrrPowerRow *row = &g_array_index(outcome->powers, OrrPowerRow, i);
    time_j += row->watts * (row->end_s - row->begin_s);
    compute_j += row->compute_w * (row->end_s - row->begin_s);
  }
  assert_near(phases_j, r->energy_j_per_step);
  assert_near(time_j, all_j);
  assert_near(compute_j, r->gpu_energy_compute_j);
  assert_near(r->energy_j_per_step, r->gpu_power_mean_w * r->step_time_s);
  assert_near(r->energy_j_per_step, r->energy_j_per_token * r->tokens_per_s * r->step_time_s);
  assert_near(row_at(outcome, 0)->seconds, r->step_time_s);
  g_assert_cmpfloat(r->power_swing_w, >, 0);
}

static double joules_of(const OrrOutcome *outcome, const char *role) {
  double sum_j = 0;
  for (guint i = 0; i < outcome->post_training_energies->len; i++)
    if (g_strcmp0(row_at(outcome, i)->role, role) == 0) sum_j += row_at(outcome, i)->joules;
  return sum_j;
}

/* Engines with GPUs of their own draw their static power, 8 * 150 W, all the time; on the
 * trainer's it counts there. */
static void test_conservation(void) {
  g_autoptr(OrrOutcome) pools = run(POOLS, "");
  g_autoptr(OrrOutcome) shared = run(SHARED, "");
  assert_conserved(pools);
  assert_conserved(shared);
  g_assert_cmpstr(row_at(pools, 0)->role, ==, "engine");
  assert_near(row_at(pools, 0)->idle_j, 8 * 150 * row_at(pools, 0)->seconds);
  g_assert_cmpfloat(row_at(shared, 0)->idle_j, ==, 0);
  g_assert_cmpfloat(joules_of(pools, "actor"), >, joules_of(pools, "reference"));
  g_assert_cmpfloat(joules_of(pools, "reference"), >, 0);
}

/* 16 GPUs at 3.6 an hour: 0.016 a second. */
static void test_money(void) {
  g_autoptr(OrrOutcome) outcome =
      run(LOOP("rollout-gpus: 8",
               "mode: {kind: asynchronous, staleness: 1}, sync: broadcast, run-steps: 500, "),
          RENT);
  g_autoptr(OrrOutcome) unpriced = run(POOLS, "");
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  assert_near(r->cost_per_step, 0.016 * r->step_time_s);
  assert_near(r->money.per_day, 1382.4);
  assert_near(r->money.per_million_tokens, 0.016e6 / r->tokens_per_s);
  assert_near(r->cost_per_million_response_tokens,
              0.016e6 / (r->samples_per_s * r->response_tokens_mean));
  assert_near(r->run_days, 500 * r->step_time_s / 86400);
  assert_near(r->cost_per_run, 500 * r->cost_per_step);
  g_assert_true(isnan(unpriced->result.post_training.cost_per_step));
  g_assert_true(isnan(unpriced->result.post_training.run_days));
}

/* The meter counts the whole machine, at its PUE. */
static void test_meter(void) {
  g_autoptr(OrrOutcome) outcome =
      run(SHARED, "prices: {currency: EUR, kwh: 0.5, pue: 1.5, carbon-grams-per-kwh: 100}\n");
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  g_assert_cmpfloat(r->machine.all_w, >, r->gpu_power_mean_w);
  assert_near(r->money.energy_per_gpu_hour, r->machine.all_w / 16 / 1000 * 1.5 * 0.5);
  assert_near(r->money.carbon_kg_per_day, r->machine.all_w * 24 / 1e6 * 1.5 * 100);
  g_assert_cmpuint(outcome->power_parts->len, >, 0);
}

/* Pools with a rent of their own. */
static void test_devices(void) {
  g_autoptr(OrrOutcome) outcome =
      run(POOLS, "prices: {currency: EUR, gpu-hour: 3.6, devices: [{device: h100-sxm, gpu-hour: "
                 "7.2}]}\n");
  assert_near(outcome->result.post_training.money.per_gpu_hour, 7.2);
}

/* Without a power model of the device nothing is known. */
static void test_unknown(void) {
  g_auto(GStrv) parts = g_strsplit(SHARED, "nodes: 2,", 2);
  g_autofree char *text = g_strconcat(
      parts[0], "nodes: 2, device: {base: h100-sxm, power: {static: 0 W}},", parts[1], NULL);
  g_autoptr(OrrOutcome) outcome = run(text, "");
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  g_assert_true(isnan(r->gpu_power_mean_w) && isnan(r->energy_j_per_step) &&
                isnan(r->gpu_energy_compute_j) && isnan(r->machine.all_w));
  g_assert_cmpuint(outcome->post_training_energies->len, ==, 0);
  g_assert_cmpuint(outcome->powers->len, ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/post-training-energy/conservation", test_conservation);
  g_test_add_func("/post-training-energy/money", test_money);
  g_test_add_func("/post-training-energy/meter", test_meter);
  g_test_add_func("/post-training-energy/devices", test_devices);
  g_test_add_func("/post-training-energy/unknown", test_unknown);
  return g_test_run();
}

/*
 * test_sweep_needs.c - objectives of joules, watts and money for every kind of workload: what they
 * are computed from is asked for at their line; and with it each is minimized.
 */
#include "tests/sweep/sweep_fixture.h"

#define H100 "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 4}\n"
#define TRAINING                                                                                   \
  H100 "model: {layers: 8, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                \
       "workload: {kind: training, stack: none, parallel: {tp: 4, pp: 2, dp: 2}, batch: {global: " \
       "16, "                                                                                      \
       "micro: 1}}\n"
#define CAMPAIGN                                                                                   \
  TRAINING                                                                                         \
  "campaign: {duration: 10 h, seeds: 1, failures: {processes: [{component: gpu, scope: gpu, "      \
  "symptom: crash, rate-per-hour: 1e-12}]}, detection: [{symptom: crash, after: 1 s}], policy: "   \
  "restart, repair: 1 h, recovery: {requeue: 0 s, restart: 0 s, initialise: 0 s}, checkpoints: "   \
  "[{tier: host, interval: 1 min}]}\n"
#define COLLECTIVES                                                                                \
  H100                                                                                             \
      "workload: {kind: collectives, stack: none, collective: all-reduce, begin: 64 MiB, end: 64 " \
      "MiB}\n"
#define JOBS                                                                                       \
  "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 4}\n"                                   \
  "workload: {kind: cluster, jobs: jobs.csv}\n"
#define LOOP                                                                                       \
  H100                                                                                             \
      "model: qwen2.5-7b\n"                                                                        \
      "workload: {kind: post-training, algorithm: {kind: grpo}, prompts: 16, samples: 4, steps: "  \
      "1, "                                                                                        \
      "response: {tokens: 300}, pools: {rollout-gpus: 8}, sync: broadcast, rollout: {stack: "      \
      "vllm-0.19, engine: {max-model-len: 4096}}, update: {stack: megatron-core-25.11, parallel: " \
      "{tp: 2}, batch: {global: 64}, sequence: 4096, recompute: full, optimizer: {sharding: "      \
      "distributed-optimizer}}}\n"
#define RENT "prices: {currency: EUR, gpu-hour: 2}\n"
#define METER "prices: {currency: EUR, kwh: 0.2}\n"

static char *put(const char *body, const char *axes, const char *objective) {
  char *file = sweep_fresh("needs.yaml");
  g_autofree char *text =
      g_strdup_printf("schema: scenario/1\nname: needs\nengine: ideal\n%ssweep: {axes: {%s}, "
                      "objective: %s}\n",
                      body, axes, objective);
  g_autoptr(GError) error = NULL;
  g_file_set_contents(file, text, -1, &error);
  g_assert_no_error(error);
  return file;
}

/* @wanted: part of the error; NULL: none. */
static void check(const char *body, const char *objective, const char *wanted) {
  g_autofree char *jobs = sweep_fresh("jobs.csv");
  g_autofree char *file = put(body, "cluster.nodes: [1, 2]", objective);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_file_set_contents(jobs, "job_id,submit_s,duration_s,gpus\n1,0,100,8\n", -1, NULL);
  orr_sweep_check_document(sweep_library, file, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_test_message("%s: %s", objective, found);
  g_assert_cmpint(orr_diags_n_errors(diags) > 0, ==, wanted != NULL);
  g_assert_true(!wanted || strstr(found, wanted));
}

static void test_refused(void) {
  check(TRAINING, "minimize cost_per_run", "set workload.run-tokens");
  check(TRAINING RENT, "minimize power_swing_w", "it needs spans, which points do not keep");
  check(CAMPAIGN, "minimize cost_lost", "set prices");
  check(COLLECTIVES, "minimize cost_per_day", "set prices");
  check(LOOP, "minimize cost_per_step", "set prices");
  check(LOOP RENT, "minimize cost_per_run", "set workload.run-steps");
  check(JOBS, "minimize energy_kwh", "the power of replayed steps: set workload.speed");
  check(JOBS METER, "minimize cost_energy", "set workload.speed");
  check(JOBS, "minimize cost_hardware", "set prices.gpu-hour");
}

static void test_accepted(void) {
  check(TRAINING RENT, "minimize cost_per_step", NULL);
  check(CAMPAIGN METER, "[minimize cost, minimize energy_j_per_token]", NULL);
  check(COLLECTIVES METER, "[minimize energy_j_per_call, minimize cost_per_day]", NULL);
  check(LOOP RENT, "[minimize cost_per_step, minimize energy_j_per_token]", NULL);
  check(LOOP, "minimize power_swing_w", NULL);
  check(JOBS RENT, "minimize cost_hardware", NULL);
}

/* A machine known by the parts of its nodes has a meter, too. */
static void test_parts(void) {
  static const char node[] = "{base: aws-p5, nodes: 2, node: {host: {cores: 96}}";
  g_autofree char *without =
      g_strdup_printf("cluster: %s}\n%s%s", node, strchr(COLLECTIVES, '\n'), METER);
  g_autofree char *with =
      g_strdup_printf("cluster: %s, power: {parts: {cpu-idle: 100 W, cpu-busy: 700 W}}}\n%s%s",
                      node, strchr(COLLECTIVES, '\n'), METER);
  check(without, "minimize energy_cost_per_gpu_hour", "set cluster.power.rest-busy");
  check(with, "minimize energy_cost_per_gpu_hour", NULL);
}

/* Fewer nodes take fewer joules; with time as the other objective both ends are on the front. */
static void test_front(void) {
  g_autofree char *file = put(COLLECTIVES RENT, "cluster.nodes: [1, 2, 4]",
                              "[minimize energy_j_per_call, minimize cost_per_day]");
  g_autofree char *db = sweep_fresh("front.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 1, FALSE);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, 3);
  g_assert_cmpuint(report->front->len, ==, 1);
  g_assert_cmpint((gint64)g_array_index(report->best, OrrSweepBest, 0).point, ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/sweep-needs/refused", test_refused);
  g_test_add_func("/sweep-needs/accepted", test_accepted);
  g_test_add_func("/sweep-needs/parts", test_parts);
  g_test_add_func("/sweep-needs/front", test_front);
  const int status = g_test_run();
  sweep_tear_down();
  return status;
}

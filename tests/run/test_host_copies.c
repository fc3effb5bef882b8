/*
 * test_host_copies.c - copies between a GPU and its host's memory, which several kinds of workload
 * have: they reach as much of a link of 40 GB/s at an efficiency of 50 % as of one of 20 GB/s at
 * 100 %, and more at 100 % of 40 GB/s.
 */
#include "tests/workloads/scenario_fixture.h"

#define HEAD "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
#define SMALL HEAD "model: llama-3.2-1b\n"

static double saved_s(const OrrOutcome *outcome) {
  ORR_EACH(const OrrCampaignStateRow, row, outcome->campaign_states)
    if (g_str_equal(row->state, "checkpoint-host")) return row->stall_s;
  return 0;
}

static double switch_s(const OrrOutcome *outcome) { return outcome->result.post_training.switch_s; }
static double first_s(const OrrOutcome *outcome) { return outcome->result.serving.ttft.mean; }
static double rows_s(const OrrOutcome *outcome) { return outcome->result.step.host_memory_s; }
static double parts_s(const OrrOutcome *outcome) { return outcome->result.diffusion.offload_s; }
static double step_s(const OrrOutcome *outcome) {
  return outcome->result.training.iteration_time_s;
}

static const struct {
  const char *text;
  double (*answer)(const OrrOutcome *outcome);
} cases[] = {
    {SMALL
     "workload: {kind: training, sequence: 2048, batch: {global: 8, micro: 1}}\n"
     "campaign: {duration: 1 d, seeds: 1, policy: restart, spares: 1, repair: 1 h, "
     "recovery: {requeue: 1 min, restart: 1 min, initialise: 20 s}, checkpoints: [{tier: host, "
     "interval: 200 s}], failures: {name: f, source: s, processes: "
     "[{component: c, rate-per-hour: 1e-9, scope: job, symptom: crash}]}}\n",
     saved_s},
    {SMALL "workload: {kind: post-training, prompts: 32, samples: 4, prompt: {tokens: 200}, "
           "response: {tokens: 100}, rollout: {engine: {max-model-len: 4096}}, update: {batch: "
           "{global: 64}, sequence: 4096, optimizer: {sharding: fsdp}}, steps: 2, offload: all}\n",
     switch_s},
    {SMALL "workload: {kind: serving, stack: none, input: {tokens: 100}, output: {tokens: 10}, "
           "requests: 1, "
           "load: {kind: poisson, rate: 1}, "
           "engine: {lora: {adapters: 1, shape: {rank: 64}}}}\n",
     first_s},
    {SMALL "workload: {kind: training, stack: none, sequence: 4096, batch: {global: 8, micro: 1}, "
           "optimizer: {sharding: zero-2}, offload: {optimizer: 1, overlap: false}}\n",
     step_s},
    {HEAD "workload: {kind: recommendation, stack: none, recommender: dlrm-dcnv2, batch: 65536, "
          "mode: inference, sharding: row, tier: host, cached: 50 %}\n",
     rows_s},
    {HEAD "workload: {kind: diffusion, stack: none, generator: flux.1-dev, steps: 2, offload: "
          "stages}\n",
     parts_s},
};

static void test_efficiency(void) {
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    static const char *const links[] = {"40 GB/s;cluster.node.host-link-efficiency=50 %",
                                        "20 GB/s;cluster.node.host-link-efficiency=100 %",
                                        "40 GB/s;cluster.node.host-link-efficiency=100 %"};
    double s[G_N_ELEMENTS(links)];
    for (guint k = 0; k < G_N_ELEMENTS(links); k++) {
      g_autofree char *sets = g_strconcat("cluster.node.host.network-path=apart;"
                                          "cluster.node.host-link-bandwidth=",
                                          links[k], NULL);
      OrrOutcome *outcome = ideal_outcome_of(cases[i].text, sets, FALSE);
      s[k] = cases[i].answer(outcome);
      orr_outcome_free(outcome);
    }
    g_test_message("case %u: %g s, %g s, %g s", i, s[0], s[1], s[2]);
    g_assert_cmpfloat_with_epsilon(s[0], s[1], 1e-9 * s[1]);
    g_assert_cmpfloat(s[2], <, 0.999 * s[1]);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/run/host-copies/efficiency", test_efficiency);
  return g_test_run();
}

/*
 * test_post_training.c - loops whose times are known: parts add up, engines agree with the replay
 * of serving, the slower pool decides, and repeats are equal.
 */
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/simulate.h"

#define HEAD                                                                                       \
  "schema: scenario/1\n"                                                                           \
  "name: loop\n"                                                                                   \
  "cluster: {base: dgx-h100-superpod, nodes: 2}\n"                                                 \
  "model: llama-3.2-1b\n"
#define ENGINE "engine: {max-model-len: 4096}"
#define LOOP_OF(response, more)                                                                    \
  HEAD "workload: {kind: post-training, prompts: 32, samples: 4, prompt: {tokens: 200}, "          \
       "response: {" response "}, rollout: {" ENGINE "}, update: {batch: {global: 64}, "           \
       "sequence: 4096, optimizer: {sharding: fsdp}}, steps: 6, " more "}\n"
#define LOOP(more) LOOP_OF("tokens: 500", more)
#define ROLLOUT(keys)                                                                              \
  HEAD "workload: {kind: post-training, prompts: 32, samples: 4, response: {tokens: 500}, "        \
       "rollout: {" keys "}, update: {batch: {global: 64}, sequence: 4096}}\n"

static OrrOutcome *try_run(const char *text, char **ret_found) {
  static OrrLibrary *library = NULL;
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "loop.yaml", diags);
  g_autoptr(OrrScenario) read = orr_scenario_read(library, tree, diags);
  *ret_found = orr_diags_text(diags);
  if (!read) return NULL;
  OrrOutcome *outcome = orr_simulate(library, read, FALSE, &error);
  g_assert_no_error(error);
  return outcome;
}

static OrrPostTrainingResult run(const char *text) {
  g_autofree char *found = NULL;
  g_autoptr(OrrOutcome) outcome = try_run(text, &found);
  g_assert_cmpstr(found, ==, "");
  return outcome->result.post_training;
}

static double parts_of(const OrrPostTrainingResult *r) {
  return r->rollout_wait_s + r->switch_s + r->data_s + r->old_log_probs_s + r->reference_s +
         r->rewards_s + r->values_s + r->critic_update_s + r->update_s + r->weight_sync_s;
}

/* In turns, a step is its parts, one after the other; equal lengths have no tail. */
static void test_in_turns(void) {
  const OrrPostTrainingResult r = run(LOOP("driver: {sample: 1 ms, batch: 0.5 s}"));
  g_assert_cmpfloat_with_epsilon(r.step_time_s, parts_of(&r), 1e-9);
  g_assert_cmpfloat_with_epsilon(r.data_s, 0.128 + 0.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(r.old_log_probs_s, r.reference_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(r.rollout_s, r.rollout_wait_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(r.rollout_tail, 0, 0.02);
  g_assert_cmpfloat(r.response_tokens_mean, ==, 500);
  g_assert_cmpfloat(r.staleness_most, ==, 0);
  /* the driver's part of a pass is per response, an update's also per batch */
  const OrrPostTrainingResult plain = run(LOOP("epochs: 1")),
                              driven = run(LOOP("driver: {pass: 1 ms, update: 2 s}"));
  g_assert_cmpfloat_with_epsilon(driven.reference_s - plain.reference_s, 0.128, 1e-9);
  g_assert_cmpfloat_with_epsilon(driven.update_s - plain.update_s, 2.128, 1e-9);
  g_assert_cmpfloat_with_epsilon(r.batch_wait_s, r.rollout_wait_s + r.data_s, 1e-12);
  /* engines wake and go to sleep once in a step */
  const OrrPostTrainingResult slow = run(LOOP("wake: 2 s, offload: all"));
  const OrrPostTrainingResult fast = run(LOOP("wake: 0 s, offload: all"));
  g_assert_cmpfloat_with_epsilon(slow.switch_s - fast.switch_s, 4, 1e-9);
}

/* --- Weights beside another job --- */

/* Both jobs have two nodes under each of two leaves, whose two uplinks of 50 GB/s carry 96 GB/s
 * together (nic-efficiency 0.96). A broadcast crosses them once, and two equal ones get a half
 * each, so that the weights take as long again as their bytes take there. */
static void test_contended(void) {
#define BESIDE(size)                                                                               \
  "schema: scenario/1\nname: contended\nmodel: llama-3.2-1b\n"                                     \
  "cluster: {base: dgx-h100-superpod, nodes: 8, max-nodes: 8, "                                    \
  "fabric: {kind: fat-tree, levels: 2, radix: 40, oversubscription: 16}}\n"                        \
  "workload: {kind: post-training, prompts: 32, samples: 4, response: {tokens: 200}, "             \
  "pools: {rollout-gpus: 31}, sync: {kind: broadcast, bucket: 4 GiB}, "                            \
  "beside: {gpus: 32, placement: {kind: explicit, gpus: [16-31, 48-63]}, "                         \
  "traffic: {collective: broadcast, begin: " size ", end: " size "}}, "                            \
  "rollout: {" ENGINE "}, update: {batch: {global: 64}, sequence: 4096}}\n"
  const OrrPostTrainingResult alone = run(BESIDE("1 KiB")), both = run(BESIDE("2471628800 B"));
  g_assert_cmpfloat(alone.weight_sync_bytes, ==, 2471628800);
  g_assert_cmpfloat_with_epsilon(
      (both.weight_sync_s - alone.weight_sync_s) / (alone.weight_sync_bytes / 96e9), 1, 1e-3);
  g_assert_cmpint(both.n_gpus, ==, 32);
}

/* --- Pools --- */

static double seconds_of(const OrrOutcome *outcome, const char *pool, const char *state) {
  double sum = 0;
  for (guint i = 0; i < outcome->post_training_pools->len; i++) {
    const OrrPostTrainingPoolRow *row =
        &g_array_index(outcome->post_training_pools, OrrPostTrainingPoolRow, i);
    if (strcmp(row->pool, pool) == 0 && (!state || strcmp(row->state, state) == 0))
      sum += row->seconds;
  }
  return sum;
}

static OrrOutcome *run_all(const char *text) {
  g_autofree char *found = NULL;
  OrrOutcome *outcome = try_run(text, &found);
  g_assert_cmpstr(found, ==, "");
  return outcome;
}

#define APART "pools: {rollout-gpus: 8}, sync: broadcast"

/* What each pool does and waits for adds up to a step; in turns, each waits while the other
 * works. */
static void test_waits(void) {
  g_autoptr(OrrOutcome) outcome = run_all(LOOP(APART));
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "trainer", NULL), r->step_time_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "rollouts", NULL), r->step_time_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "rollouts", "trainer"),
                                 seconds_of(outcome, "trainer", "busy"), 1e-9);
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "trainer", "rollouts"),
                                 seconds_of(outcome, "rollouts", "busy"), 1e-9);
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "rollouts", "weight-sync"), r->weight_sync_s,
                                 1e-9);
}

/* A verifier of 5 s is waited for by both. */
static void test_waits_for_verifier(void) {
  g_autoptr(OrrOutcome) outcome = run_all(LOOP(APART ", verifier: {latency: 5 s}"));
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "rollouts", "verifier"), 5, 1e-9);
}

/* Groups far beyond the limit: the step is the slower pool's, and no more. Engines that
 * never wait write as many responses in a step as the trainer takes; the last steps of 60 are even.
 */
static void test_slower_pool(void) {
#define FAR "mode: {kind: asynchronous, staleness: 50}, steps: 60"
#define OF(more)                                                                                   \
  HEAD "workload: {kind: post-training, prompts: 32, samples: 4, prompt: {tokens: 200}, "          \
       "response: {tokens: 500}, rollout: {" ENGINE "}, update: {batch: {global: 120}, "           \
       "sequence: 4096, optimizer: {sharding: fsdp}}, sync: broadcast, " FAR ", " more "}\n"
  g_autoptr(OrrOutcome) rollouts = run_all(OF("pools: {rollout-gpus: 1}"));
  const OrrPostTrainingResult *slow = &rollouts->result.post_training;
  g_assert_cmpfloat_with_epsilon(seconds_of(rollouts, "rollouts", "busy") +
                                     seconds_of(rollouts, "rollouts", "weight-sync"),
                                 slow->step_time_s, 1e-9);
  g_autoptr(OrrOutcome) trainer = run_all(OF("pools: {rollout-gpus: 8}, epochs: 20"));
  const OrrPostTrainingResult *r = &trainer->result.post_training;
  g_assert_cmpfloat_with_epsilon(r->rollout_wait_s, 0, 1e-9);
  g_assert_cmpfloat_with_epsilon(r->step_time_s, parts_of(r), 1e-9);
}

/* The trainer's engines help in turns: half of the responses each, as if they were one pool. */
static void test_hybrid(void) {
#define FULL(more)                                                                                 \
  HEAD "workload: {kind: post-training, prompts: 32, samples: 4, prompt: {tokens: 200}, "          \
       "response: {tokens: 500}, rollout: {engine: {max-model-len: 4096, max-num-seqs: 4}}, "      \
       "update: {batch: {global: 64}, sequence: 4096, optimizer: {sharding: fsdp}}, " more "}\n"
  const OrrPostTrainingResult apart = run(FULL(APART));
  const OrrPostTrainingResult both = run(FULL("pools: {rollout-gpus: 8, hybrid: true}, "
                                              "sync: broadcast, offload: none"));
  const OrrPostTrainingResult one = run(FULL("offload: none"));
  /* engines of four places: four rounds by eight engines, two by sixteen */
  g_assert_cmpfloat_with_epsilon(apart.rollout_s / both.rollout_s, 2, 0.02);
  g_assert_cmpfloat_with_epsilon(both.rollout_s, one.rollout_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(both.update_s, apart.update_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(both.rollout_help, both.rollout_s / both.step_time_s, 0.01);
  g_assert_true(isnan(apart.rollout_help));
  /* ahead of the trainer, what helpers have not finished moves to the other pool */
  const OrrPostTrainingResult ahead =
      run(LOOP_OF("kind: lognormal, tokens: 500, sigma: 0.9, most: 3500",
                  "pools: {rollout-gpus: 8, hybrid: true}, sync: broadcast, "
                  "mode: {kind: asynchronous, staleness: 1}"));
  g_assert_cmpint(ahead.samples_moved, >, 0);
  g_assert_cmpint(ahead.samples_dropped, ==, 0);
}

static double rollout_as_serving(const char *engine) {
  g_autofree char *rollouts = g_strdup_printf(
      HEAD "workload: {kind: post-training, prompts: 128, samples: 1, prompt: {tokens: 200}, "
           "response: {tokens: 500}, rollout: {engine: {max-model-len: 4096%s}}, "
           "mode: {route: sample}, steps: 1, update: {batch: {global: 64}, sequence: 4096, "
           "optimizer: {sharding: fsdp}}}\n",
      engine);
  g_autofree char *requests = g_strdup_printf(
      HEAD "workload: {kind: serving, replicas: 16, requests: 128, "
           "engine: {max-model-len: 4096%s}, input: {tokens: 200}, output: {tokens: 500}, "
           "load: {kind: closed-loop, concurrency: 128}}\n",
      engine);
  g_autoptr(OrrOutcome) outcome = run_all(requests);
  return run(rollouts).rollout_s / outcome->result.serving.duration_s;
}

/* The same responses as a closed batch of the workload serving, whose engines are replayed step by
 * step: 16 engines of 8 sequences. In 150 blocks, three of 44 blocks each fit at their ends. */
static void test_as_serving(void) {
  g_assert_cmpfloat_with_epsilon(rollout_as_serving(""), 1, 0.02);
  g_assert_cmpfloat_with_epsilon(rollout_as_serving(", max-num-seqs: 4"), 1, 0.01);
  g_assert_cmpfloat_with_epsilon(rollout_as_serving(", kv-blocks: 150"), 1, 0.005);
}

/* Rollouts far ahead: the slower pool sets the pace, and does not wait. */
static void test_ahead(void) {
  const OrrPostTrainingResult trainer =
      run(LOOP("pools: {rollout-gpus: 12}, sync: broadcast, epochs: 8, "
               "mode: {kind: asynchronous, staleness: 3}"));
  g_assert_cmpfloat_with_epsilon(trainer.rollout_wait_s, 0, 1e-9);
  g_assert_cmpfloat_with_epsilon(trainer.step_time_s, parts_of(&trainer) - trainer.rollout_wait_s,
                                 1e-9);
  const OrrPostTrainingResult turns =
      run(LOOP("pools: {rollout-gpus: 12}, sync: broadcast, epochs: 8"));
  g_assert_cmpfloat(turns.step_time_s, >, trainer.step_time_s);
  g_assert_cmpfloat_with_epsilon(turns.update_s, trainer.update_s, 1e-9);
  g_assert_cmpfloat(trainer.staleness_most, <=, 3);
  g_assert_cmpfloat(trainer.staleness_most, >, 0);
}

/* Of twice the groups the first half is taken; the rest is dropped, so the tail is shorter. */
static void test_over_sampling(void) {
#define SPREAD "kind: lognormal, tokens: 500, sigma: 0.9, most: 3500"
  const OrrPostTrainingResult all = run(LOOP_OF(SPREAD, "epochs: 1"));
  const OrrPostTrainingResult cut = run(LOOP_OF(SPREAD, "mode: {over-sampling: 1}"));
  g_assert_cmpint(all.samples_dropped, ==, 0);
  /* of 64 groups of four in each of six steps, the 32 that are scored last, each counted once */
  g_assert_cmpint(cut.samples_dropped, ==, 6 * 32 * 4);
  g_assert_cmpfloat(cut.rollout_s, <, all.rollout_s);
}

/* Resumed instead, nothing that was written is lost, and some responses span two versions. */
static void test_unfinished(void) {
  const OrrPostTrainingResult cut = run(LOOP_OF(SPREAD, "mode: {over-sampling: 0.5}"));
  const OrrPostTrainingResult kept =
      run(LOOP_OF(SPREAD, "mode: {over-sampling: 0.5, unfinished: resume}"));
  g_assert_cmpint(kept.samples_dropped, ==, 0);
  g_assert_cmpint(kept.samples_resumed, >, 0);
  g_assert_cmpfloat(kept.staleness_most, >=, 1);
  g_assert_cmpfloat(cut.staleness_most, ==, 0);
  /* long responses come later instead of never */
  g_assert_cmpfloat(kept.response_tokens_mean, >, cut.response_tokens_mean);
}

/* Equal responses: a round takes as long as the one before, so a step has whole rounds, and none of
 * them has a tail. */
static void test_rounds(void) {
  static const char text[] = "algorithm: {kind: dapo, filtered: %s}, epochs: 1";
  g_autofree char *all = g_strdup_printf(text, "0"), *some = g_strdup_printf(text, "0.5");
  g_autofree char *once = g_strdup_printf(LOOP("%s"), all),
                  *more = g_strdup_printf(LOOP("%s"), some);
  const OrrPostTrainingResult a = run(once), b = run(more);
  const double rounds = 5 * b.rollout_s / a.rollout_s; /* of the five steps that count */
  g_assert_cmpfloat_with_epsilon(rounds, round(rounds), 0.05);
  g_assert_cmpfloat(rounds, >=, 10);
  g_assert_cmpfloat(rounds, <=, 20);
  g_assert_cmpfloat_with_epsilon(b.rollout_tail, 0, 0.02);
}

/* Half of the groups are filtered: about twice as many are rolled out. */
static void test_filtered(void) {
  const OrrPostTrainingResult r = run(LOOP("algorithm: {kind: dapo, filtered: 0.5}, epochs: 1"));
  g_assert_cmpfloat_with_epsilon((double)r.groups_filtered / (6 * 32), 1, 0.4);
  g_assert_cmpfloat(r.reference_s, ==, 0);
}

static void test_critic(void) {
  const OrrPostTrainingResult r = run(LOOP("algorithm: ppo"));
  g_assert_cmpfloat_with_epsilon(r.critic_update_s, r.update_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(r.values_s, r.old_log_probs_s, 1e-12);
}

static const OrrPostTrainingMemoryRow *memory_of(const OrrOutcome *outcome, const char *phase) {
  for (guint i = 0; i < outcome->post_training_memories->len; i++) {
    const OrrPostTrainingMemoryRow *row =
        &g_array_index(outcome->post_training_memories, OrrPostTrainingMemoryRow, i);
    if (strcmp(row->phase, phase) == 0) return row;
  }
  g_error("no memory of phase %s", phase);
}

/* Models of their own take their own time, and their states stay on the GPU or do not. */
static void test_roles(void) {
  g_autoptr(OrrOutcome) same = run_all(LOOP("algorithm: ppo, offload: all"));
  g_autoptr(OrrOutcome) host = run_all(
      LOOP("algorithm: ppo, offload: all, critic: {state: host}, reference: {state: host}"));
  g_autoptr(OrrOutcome) large =
      run_all(LOOP("algorithm: ppo, offload: all, critic: {model: llama-3.1-8b}, "
                   "reward: {model: llama-3.2-3b}"));
  const OrrPostTrainingResult *a = &same->result.post_training, *b = &host->result.post_training,
                              *c = &large->result.post_training;
  const double state = memory_of(same, "update")->state_bytes,
               alone = memory_of(host, "update")->state_bytes;
  /* on the GPU: actor and critic of one size, and the reference's weights */
  g_assert_cmpfloat(state, >, 2 * alone);
  g_assert_cmpfloat(state, <, 3 * alone);
  /* a critic's state comes before its values and goes after its update: once each way */
  const double there_s = b->values_s - a->values_s,
               back_s = b->critic_update_s - a->critic_update_s;
  g_assert_cmpfloat(there_s, >, 0);
  g_assert_cmpfloat_with_epsilon(there_s, back_s, 1e-9);
  g_assert_cmpfloat(c->critic_update_s, >, 3 * a->critic_update_s);
  g_assert_cmpfloat(c->rewards_s, >, a->reference_s);
  g_assert_cmpfloat(a->rewards_s, ==, 0);
  g_assert_cmpfloat_with_epsilon(c->update_s, a->update_s, 1e-9);
}

/* Weights in the engines' format are as many bytes as an engine has: of Llama 3.2 1B in fp8 a byte
 * of each, and another one of the embedding's 128,256 x 2,048 and of 32 norms; the last norm, of
 * 2,048, stays at the trainer. */
static void test_quantized_sync(void) {
  const OrrPostTrainingResult r =
      run(HEAD "workload: {kind: post-training, prompts: 32, samples: 4, prompt: {tokens: 200}, "
               "response: {tokens: 50}, quantized-sync: true, steps: 1, "
               "rollout: {quantization: fp8, " ENGINE "}, "
               "update: {batch: {global: 64}, sequence: 4096, optimizer: {sharding: fsdp}}}\n");
  g_assert_cmpfloat(r.weight_sync_bytes, ==, 2471628800 / 2 - 2048 + 128256.0 * 2048 + 32 * 2048);
}

/* An engine that does not sleep has its GPU's memory in every phase of a trainer that shares it, in
 * none of one with GPUs of its own; times stay. */
static void test_sleep(void) {
  g_autoptr(OrrOutcome) asleep = run_all(LOOP("epochs: 1"));
  g_autoptr(OrrOutcome) awake = run_all(LOOP("epochs: 1, sleep: false"));
  g_autoptr(OrrOutcome) apart =
      run_all(LOOP("epochs: 1, pools: {rollout-gpus: 8}, sync: broadcast"));
  g_autoptr(OrrOutcome) apart_awake =
      run_all(LOOP("epochs: 1, pools: {rollout-gpus: 8}, sync: broadcast, sleep: false"));
  const double engine = asleep->result.post_training.rollout_memory_bytes;
  g_assert_cmpfloat(engine, >, 0);
  static const char *const phases[] = {"update", "old-log-probs"};
  for (guint i = 0; i < G_N_ELEMENTS(phases); i++)
    g_assert_cmpfloat(memory_of(awake, phases[i])->total_bytes -
                          memory_of(asleep, phases[i])->total_bytes,
                      ==, engine);
  g_assert_cmpfloat(memory_of(apart_awake, "update")->total_bytes, ==,
                    memory_of(apart, "update")->total_bytes);
  g_assert_cmpfloat(awake->result.post_training.step_time_s, ==,
                    asleep->result.post_training.step_time_s);
}

/* A tool of 10 s between two turns: rollouts take at least that longer. Two turns of half the
 * length write as many tokens. */
static void test_turns(void) {
  const OrrPostTrainingResult one = run(LOOP("epochs: 1"));
  const OrrPostTrainingResult two =
      run(HEAD "workload: {kind: post-training, prompts: 32, samples: 4, prompt: {tokens: 200}, "
               "response: {tokens: 250}, rollout: {" ENGINE "}, "
               "turns: {number: {tokens: 2}, answer: {tokens: 50}, latency: 10 s}, "
               "verifier: {latency: 1 s, workers: 64}, "
               "update: {batch: {global: 64}, sequence: 4096, optimizer: {sharding: fsdp}}}\n");
  g_assert_cmpfloat(two.response_tokens_mean, ==, 500);
  /* 10 s of tools, and 128 scores by 64 workers of 1 s each */
  g_assert_cmpfloat_with_epsilon(two.rollout_s - one.rollout_s, 12, 0.5);
}

/* Two responses of two turns, each on an engine of its own; their prompts differ, so that one
 * engine is a little slower. Each waits 10 s for its tools, also while the other one runs; only
 * after the last turn does one of them wait for the tail. */
static void test_tools_before_tail(void) {
  g_autoptr(OrrOutcome) outcome =
      run_all(HEAD "workload: {kind: post-training, prompts: 2, samples: 1, "
                   "prompt: {kind: lognormal, tokens: 400, sigma: 0.8, most: 2000}, "
                   "response: {tokens: 250}, rollout: {" ENGINE "}, pools: {rollout-gpus: 8}, "
                   "sync: broadcast, steps: 2, "
                   "turns: {number: {tokens: 2}, answer: {tokens: 50}, latency: 10 s}, "
                   "update: {batch: {global: 2}, sequence: 4096, parallel: {tp: 4, dp: 2}, "
                   "optimizer: {sharding: fsdp}}}\n");
  g_assert_cmpfloat_with_epsilon(seconds_of(outcome, "rollouts", "tools"), 10, 0.01);
  g_assert_cmpfloat(seconds_of(outcome, "rollouts", "tail"), >, 0);
}

static void test_repeats(void) {
  const OrrPostTrainingResult a = run(LOOP("mode: {over-sampling: 0.5}")),
                              b = run(LOOP("mode: {over-sampling: 0.5}")),
                              full = run(LOOP("mode: {over-sampling: 0.5}") "fidelity: full\n");
  g_assert_cmpfloat(a.step_time_s, ==, b.step_time_s);
  g_assert_cmpfloat_with_epsilon(full.step_time_s / a.step_time_s, 1, 1e-9);
}

static void refuses(const char *text, const char *says) {
  g_autofree char *found = NULL;
  g_autoptr(OrrOutcome) outcome = try_run(text, &found);
  g_assert_null(outcome);
  if (!strstr(found, says)) g_error("'%s' is not in: %s", says, found);
}

static void test_bad(void) {
  refuses(LOOP("pools: {rollout-gpus: 8}, sync: broadcast, mode: {kind: asynchronous}"),
          "staleness of 0 is synchronous");
  refuses(LOOP("mode: {kind: asynchronous, staleness: 1}"), "set pools.rollout-gpus");
  refuses(LOOP("pools: {rollout-gpus: 16}, sync: broadcast"), "leaves no GPU to train");
  refuses(ROLLOUT("samples: 4"), "rollout.samples is not for rollouts");
  refuses(ROLLOUT("regions: [{name: a}]"), "rollout.regions is not for rollouts");
  refuses(ROLLOUT("disaggregation: {prefill: 4}"), "rollout.disaggregation is not");
  refuses(ROLLOUT("engine: {cache-tiers: {host: 1 GiB}}"), "rollout.engine.cache-tiers is not");
  refuses(LOOP("pools: {rollout-gpus: 8}"), "sync ipc: its engines share");
  refuses(LOOP("sync: broadcast"), "sync broadcast: it sends to GPUs of their own");
  refuses(LOOP("mode: {staleness: 1}"), "has no staleness");
  refuses(LOOP("mode: {streaming: 8}"), "trains while rollouts run");
  refuses(LOOP("mode: {unfinished: resume}"), "set mode.over-sampling");
  refuses(LOOP("pools: {hybrid: true}"), "is for two pools");
  refuses(
      "schema: scenario/1\nname: large\ncluster: {base: dgx-h100-superpod, nodes: 2}\n"
      "model: llama-3.1-70b\nworkload: {kind: post-training, prompts: 1, response: {tokens: 9}, "
      "pools: {rollout-gpus: 8}, sync: broadcast, update: {batch: {global: 1}}}\n",
      "model llama-3.1-70b does not fit");
  refuses(LOOP(APART ", beside: {gpus: 16}"), "beside.gpus 16 leaves no GPU");
  refuses(LOOP("beside: {gpus: 8}"), "sync ipc sends nothing");
  refuses(LOOP(APART ", critic: {state: disk}"), "state");
  refuses(LOOP("algorithm: ppo, critic: {model: llama-3.1-8b, tp: 3}"), "tp * pp * dp");
  refuses(HEAD "workload: {kind: post-training, prompts: 1, response: {tokens: 9}, "
               "rollout: {parallel: {tp: 3}}, update: {batch: {global: 1}}}\n",
          "not whole engines");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/post-training/in-turns", test_in_turns);
  g_test_add_func("/post-training/contended", test_contended);
  g_test_add_func("/post-training/waits", test_waits);
  g_test_add_func("/post-training/waits-for-verifier", test_waits_for_verifier);
  g_test_add_func("/post-training/slower-pool", test_slower_pool);
  g_test_add_func("/post-training/hybrid", test_hybrid);
  g_test_add_func("/post-training/unfinished", test_unfinished);
  g_test_add_func("/post-training/roles", test_roles);
  g_test_add_func("/post-training/sleep", test_sleep);
  g_test_add_func("/post-training/quantized-sync", test_quantized_sync);
  g_test_add_func("/post-training/as-serving", test_as_serving);
  g_test_add_func("/post-training/ahead", test_ahead);
  g_test_add_func("/post-training/over-sampling", test_over_sampling);
  g_test_add_func("/post-training/filtered", test_filtered);
  g_test_add_func("/post-training/rounds", test_rounds);
  g_test_add_func("/post-training/critic", test_critic);
  g_test_add_func("/post-training/turns", test_turns);
  g_test_add_func("/post-training/tools-before-tail", test_tools_before_tail);
  g_test_add_func("/post-training/repeats", test_repeats);
  g_test_add_func("/post-training/bad", test_bad);
  return g_test_run();
}

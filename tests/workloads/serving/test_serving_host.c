/*
 * test_serving_host.c - what an engine's CPU does between steps: plans made ahead, looks for
 * requests, waits for other servers; what the GPUs take to sample; when the cache is full.
 */
#include <math.h>

#include "tests/workloads/serving/serving_fixture.h"

/* The step that @at_s falls into, or at whose end it is. */
static guint step_of(const OrrOutcome *outcome, double at_s) {
  for (guint i = 0; i < outcome->serving_steps->len; i++) {
    const OrrServingStepRow *step = &g_array_index(outcome->serving_steps, OrrServingStepRow, i);
    if (at_s > step->begin_s + 1e-9 && at_s <= step->begin_s + step->step_s + 1e-9) return i;
  }
  g_error("no step at %g s", at_s);
}

static guint last_prefill(const OrrOutcome *outcome) {
  for (guint i = outcome->serving_steps->len; i-- > 0;)
    if (g_array_index(outcome->serving_steps, OrrServingStepRow, i).prefill_tokens > 0) return i;
  g_error("no prefill");
}

/* With asynchronous scheduling step k + 1 is planned when step k begins. Who comes during step k
 * is in step k + 1 without it, and in step k + 2 with it. Two seats, three requests of equal
 * lengths: the first ends in step k, while the second still runs; the third gets its seat in
 * step k + 1, or in step k + 2. Alone, nobody waits longer. */
static void test_async_plans_a_step_ahead(void) {
  static const char *const words[] = {"false", "true"};
  for (guint async = 0; async < 2; async++) {
    g_autofree char *base =
        g_strdup_printf("fidelity=full;workload.input={tokens: 100};workload.output={tokens: 40};"
                        "workload.engine.host={step: 1 ms, async: %s};",
                        words[async]);
    g_autofree char *late =
        g_strconcat(base, "workload.load={kind: constant, rate: 10};workload.requests=2", NULL);
    g_autofree char *seats =
        g_strconcat(base,
                    "workload.load={kind: constant, rate: 1000};workload.requests=3;"
                    "workload.engine.max-num-seqs=2",
                    NULL);
    g_autofree char *alone =
        g_strconcat(base, "workload.load={kind: constant, rate: 1};workload.requests=2", NULL);
    g_autoptr(OrrOutcome) second = serving_run(late), third = serving_run(seats),
                          apart = serving_run(alone);
    const guint came = step_of(second, serving_request(second, 1)->arrival_s);
    g_assert_cmpuint(last_prefill(second), ==, came + 1 + async);
    const OrrServingRequestRow *first = serving_request(third, 0);
    g_assert_cmpuint(last_prefill(third), ==,
                     step_of(third, first->arrival_s + first->e2e_s) + 1 + async);
    g_assert_cmpfloat_with_epsilon(serving_request(apart, 1)->queue_s, 0, 1e-9);
  }
}

/* With recv-interval 20 the engine looks after the step with the first prompt, and then after each
 * 20 decodes: a request that comes in between is in the first step after a look, one of every 20.
 * Single steps and runs of steps look at the same times. Alone, nobody waits. */
static void test_polls(void) {
  static const char base[] =
      "workload.input={tokens: 100};workload.output={tokens: 150};workload.engine.recv-interval=20;"
      "workload.load={kind: constant, rate: 3};workload.requests=%d%s";
  g_autofree char *full = g_strdup_printf(base, 2, ";fidelity=full");
  g_autofree char *runs = g_strdup_printf(base, 2, ""), *alone = g_strdup_printf(base, 1, "");
  g_autoptr(OrrOutcome) single = serving_run(full), folded = serving_run(runs),
                        first = serving_run(alone);
  const guint came = step_of(single, serving_request(single, 1)->arrival_s),
              begins = last_prefill(single);
  g_assert_cmpuint(came, <, 149); /* the first request still writes */
  g_assert_cmpuint(begins, >, came);
  g_assert_cmpuint(begins, <=, came + 20);
  g_assert_cmpuint(begins % 20, ==, 1); /* step 0 has the first prompt; 1 to 20 decode */
  g_assert_cmpfloat_with_epsilon(serving_request(folded, 1)->ttft_s,
                                 serving_request(single, 1)->ttft_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(serving_request(first, 0)->queue_s, 0, 1e-9);
}

/* Eight servers whose teams have a thread per core: each step waits for the slices of seven
 * others, 3 ms each. 8 x 1 threads are fewer than the 112 cores; 8 x 28 are two per core, or seven
 * of 32. */
static void test_neighbours(void) {
  static const struct {
    const char *host;
    double wait_s;
  } cases[] = {{"{neighbours: 8, threads: 0}", 21e-3},
               {"{neighbours: 8, threads: 1}", 0},
               {"{neighbours: 8, threads: 28}", 3e-3},
               {"{neighbours: 8, threads: 28, cores: 32}", 18e-3}};
  static const char load[] = "workload.load={kind: constant, rate: 1};workload.requests=1;"
                             "workload.input={tokens: 100};workload.output={tokens: 50}";
  g_autoptr(OrrOutcome) plain = serving_run(load);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *sets = g_strdup_printf("%s;workload.engine.host=%s", load, cases[i].host);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpfloat_with_epsilon(serving_request(outcome, 0)->tpot_s -
                                       serving_request(plain, 0)->tpot_s,
                                   cases[i].wait_s, 1e-6);
  }
}

/* Blocks of 16 tokens that a request with @input tokens holds on average, while it grows by
 * @output. */
static double mean_blocks(int input, int output) {
  double sum = 0;
  for (int tokens = input + 1; tokens <= input + output; tokens++) sum += (tokens + 15) / 16;
  return sum / output;
}

/* 20,000 blocks of 16 tokens. Requests that grow from 101 to 200 tokens hold on average
 * (12 * 7 + 16 (8 + ... + 12) + 8 * 13) / 100 = 9.88 of them, reserved 13. */
static void test_cache_full(void) {
  static const char load[] = "workload.requests=20;workload.input={tokens: 100};"
                             "workload.output={tokens: 100};workload.engine.scheduler=%s";
  g_autofree char *half = g_strdup_printf(load, "vllm"), *whole = g_strdup_printf(load, "trtllm");
  g_autoptr(OrrOutcome) grows = serving_run(half), reserves = serving_run(whole);
  g_assert_cmpfloat_with_epsilon(grows->result.serving.kv_full_requests,
                                 20000 / mean_blocks(100, 100), 1e-6);
  g_assert_cmpfloat_with_epsilon(mean_blocks(100, 100), 9.88, 1e-9);
  g_assert_cmpfloat_with_epsilon(reserves->result.serving.kv_full_requests, 20000 / 13., 1e-6);
}

/* Attention's data parallelism: each of two cores has a cache of as many blocks, and the requests
 * of both count. */
static void test_cache_full_of_cores(void) {
  static const char load[] = "workload.requests=20;workload.input={tokens: 100};"
                             "workload.output={tokens: 100};workload.parallel={tp: 2, "
                             "dp-attention: %d}";
  g_autofree char *one = g_strdup_printf(load, 1), *two = g_strdup_printf(load, 2);
  g_autoptr(OrrOutcome) single = serving_run(one), both = serving_run(two);
  g_assert_cmpfloat_with_epsilon(
      both->result.serving.kv_full_requests / single->result.serving.kv_full_requests, 2, 1e-6);
}

/* A prefix of 64 tokens, four blocks, is held once; its 10 tokens beyond a block are each request's
 * own. Of a prefill and two decodes the decodes hold what runs. */
static void test_cache_full_of_shared(void) {
  static const char load[] = "workload.requests=20;workload.input={tokens: 100};"
                             "workload.output={tokens: 100};workload.shared-prefix=74;"
                             "workload.engine.prefix-caching=";
  g_autofree char *hash = g_strconcat(load, "block-hash", NULL),
                  *none = g_strconcat(load, "none", NULL),
                  *apart = g_strconcat(
                      hash, ";workload.replicas=3;workload.disaggregation.prefill=1", NULL);
  g_autoptr(OrrOutcome) shared = serving_run(hash), plain = serving_run(none),
                        decodes = serving_run(apart);
  const double blocks = mean_blocks(174, 100), own = (20000 - 4) / (blocks - 4);
  g_assert_cmpfloat_with_epsilon(shared->result.serving.kv_full_requests, own, 1e-6);
  g_assert_cmpfloat_with_epsilon(plain->result.serving.kv_full_requests, 20000 / blocks, 1e-6);
  g_assert_cmpfloat_with_epsilon(decodes->result.serving.kv_full_requests, 2 * own, 1e-6);
}

/* The same where 52 of 62 layers keep a window of 1,024 tokens and a block, and where layers keep a
 * state: the number of requests whose blocks the cache holds. */
static void test_cache_full_of_layers(void) {
  static const char load[] = "workload.load={kind: constant, rate: 1};workload.requests=1;"
                             "workload.input={tokens: 4000};workload.output={tokens: 200};model=";
  g_autofree char *gemma = g_strconcat(load, "gemma-3-27b", NULL),
                  *mamba = g_strconcat(load, "nemotron-h-8b;workload.engine.kv-blocks=3000", NULL);
  g_autoptr(OrrOutcome) windows = serving_run(gemma), states = serving_run(mamba);
  const double empty = 16 * mean_blocks(4000, 200) - 4100.5; /* of its last block */
  g_assert_cmpfloat_with_epsilon(windows->result.serving.kv_full_requests,
                                 320000 / (10 / 62. * 4100.5 + 52 / 62. * 1040 + empty), 1e-6);
  const OrrServingReplicaRow *row =
      &g_array_index(states->serving_replicas, OrrServingReplicaRow, 0);
  const double at_the_end = row->kv_peak * 3000; /* one request with all but its last token */
  g_assert_cmpint(row->most_running, ==, 1);
  g_assert_cmpfloat_with_epsilon(3000 / states->result.serving.kv_full_requests,
                                 at_the_end - 100 / 16., 1.1);
  g_assert_cmpfloat(at_the_end, >, 1.2 * 4200 / 16); /* the state is not small */
}

/* Sorting takes 100 us of GPU time per sequence: a step of one is longer by that, even where
 * asynchronous scheduling hides the host. */
static void test_sampling(void) {
  static const char base[] =
      "workload.load={kind: constant, rate: 1};workload.requests=1;workload.input={tokens: 100};"
      "workload.output={tokens: 50};workload.engine.host={sampling: 100 us, async: true};"
      "workload.sampling=%s";
  g_autofree char *all = g_strdup_printf(base, "all"), *top_p = g_strdup_printf(base, "top-p");
  g_autoptr(OrrOutcome) drawn = serving_run(all), sorted = serving_run(top_p);
  g_assert_cmpfloat_with_epsilon(
      serving_request(sorted, 0)->tpot_s - serving_request(drawn, 0)->tpot_s, 100e-6, 10e-6);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/serving-host/async-plans-a-step-ahead", test_async_plans_a_step_ahead);
  g_test_add_func("/serving-host/cache-full", test_cache_full);
  g_test_add_func("/serving-host/cache-full-of-cores", test_cache_full_of_cores);
  g_test_add_func("/serving-host/cache-full-of-shared", test_cache_full_of_shared);
  g_test_add_func("/serving-host/cache-full-of-layers", test_cache_full_of_layers);
  g_test_add_func("/serving-host/neighbours", test_neighbours);
  g_test_add_func("/serving-host/polls", test_polls);
  g_test_add_func("/serving-host/sampling", test_sampling);
  return g_test_run();
}

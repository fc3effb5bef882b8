/*
 * test_serving_front.c - the processes that parse, tokenise and stream: what they add to a lone
 * request, what they let through, and that engines do not wait for them.
 */
#include "tests/workloads/serving/serving_fixture.h"

#define LOOP                                                                                       \
  "workload.load={kind: closed-loop, concurrency: "                                                \
  "%d};workload.requests=%d;workload.input={tokens: 100};"                                         \
  "workload.output={tokens: 100};workload.engine.kv-blocks=0;workload.engine.front-end={%s};"

static OrrOutcome *loop(int clients, int requests, const char *front_end, const char *more) {
  g_autofree char *sets = g_strdup_printf(LOOP "%s", clients, requests, front_end, more);
  return serving_run(sets);
}

/* Steps of a lone request are longer than 1 ms: no piece waits, and all are seen 1 ms after
 * their step. */
static void test_alone(void) {
  g_autoptr(OrrOutcome) without = loop(1, 4, "", ""), with = loop(1, 4, "chunk: 1 ms", "");
  const OrrServingResult *a = &without->result.serving, *b = &with->result.serving;
  g_assert_cmpfloat(a->tpot.mean, >, 1e-3);
  g_assert_cmpfloat_with_epsilon(b->ttft.mean - a->ttft.mean, 1e-3, 1e-12);
  g_assert_cmpfloat_with_epsilon(b->e2e.mean - a->e2e.mean, 1e-3, 1e-12);
  g_assert_cmpfloat_with_epsilon(b->tpot.mean, a->tpot.mean, 1e-12);
}

/* All requests have 100 tokens, so that the mean of the gaps that their clients see is the mean
 * time per token, also where the front end makes them wait: 16 clients of one process see a token
 * each 16 ms. In chunks of 11 the first and 9 more come, so that gaps are 11 steps long. */
static void test_gaps(void) {
  g_autoptr(OrrOutcome) slow = loop(16, 64, "chunk: 1 ms", ""), at_once = loop(16, 64, "", ""),
                        chunks = loop(16, 64, "stream-interval: 11", "");
  const OrrServingResult *a = &slow->result.serving, *b = &at_once->result.serving,
                         *c = &chunks->result.serving;
  g_assert_cmpfloat(a->tpot.mean, >, 15e-3);
  g_assert_cmpfloat_with_epsilon(a->itl.mean / a->tpot.mean, 1, 1e-5);
  g_assert_cmpfloat_with_epsilon(b->itl.mean / b->tpot.mean, 1, 1e-5);
  g_assert_cmpfloat_with_epsilon(c->itl.mean / c->tpot.mean, 11, 1e-3);
}

/* 200 us a piece let 5,000 pieces a second through, whatever the engine makes: 64 requests are
 * some 7,000. Then all who wait are at the front end: a request of 100 tokens takes 64 * 100 *
 * 200 us = 1.28 s in all, and a tenth more at most, for the loop's prompts are computed in step,
 * while the front end runs dry. */
static void test_limit(void) {
  g_autoptr(OrrOutcome) without = loop(64, 640, "", ""), with = loop(64, 640, "chunk: 200 us", "");
  const OrrServingResult *a = &without->result.serving, *b = &with->result.serving;
  g_test_message("%g and %g tokens/s, e2e %g s", a->output_tokens_per_s, b->output_tokens_per_s,
                 b->e2e.mean);
  g_assert_cmpfloat(a->output_tokens_per_s, >, 6000);
  g_assert_cmpfloat(b->output_tokens_per_s, <, 5000);
  g_assert_cmpfloat(b->output_tokens_per_s, >, 4500);
  g_assert_cmpfloat_with_epsilon(b->e2e.mean, 64 * 100 * 200e-6, 0.128);
  g_assert_cmpfloat_with_epsilon(b->front_end_busy, b->output_tokens_per_s * 200e-6, 1e-3);
  g_assert_cmpfloat(a->front_end_busy, ==, 0);
  g_assert_true(serving_warns(with, "the front end is busy"));
  g_assert_false(serving_warns(without, "the front end is busy"));
}

/* Before the engine hears of a lone request its prompt of 100 tokens is parsed: 5 ms and 10 us per
 * token. Nothing else changes. */
static void test_parsing(void) {
  g_autoptr(OrrOutcome) without = loop(1, 4, "", ""),
                        with = loop(1, 4, "request: 5 ms, prompt-token: 10 us", "");
  const OrrServingResult *a = &without->result.serving, *b = &with->result.serving;
  g_assert_cmpfloat_with_epsilon(b->ttft.mean - a->ttft.mean, 6e-3, 1e-12);
  g_assert_cmpfloat_with_epsilon(b->tpot.mean, a->tpot.mean, 1e-12);
}

/* 64 requests come at once; one process of two parses each of its 32 after the other, 10 ms each,
 * while the engine computes those that it has: the last one comes after 320 ms, and the mean first
 * token is no earlier than the mean end of parsing, 10 ms (1 + 32) / 2. */
static void test_parsing_queues(void) {
  g_autoptr(OrrOutcome) two = loop(64, 64, "request: 10 ms, processes: 2", ""),
                        one = loop(64, 64, "request: 10 ms", "");
  g_assert_cmpfloat(two->result.serving.ttft.mean, >, 165e-3);
  g_assert_cmpfloat(two->result.serving.ttft.mean, <, 185e-3);
  g_assert_cmpfloat(one->result.serving.ttft.mean, >, 325e-3);
  g_assert_cmpfloat(one->result.serving.ttft.mean, <, 345e-3);
}

/* Requests that are still parsed count as load of the core that they will join: 8 that come at once
 * are spread over 4 cores. Steps hold one prompt per core. Without parsing each core has two
 * prompts, 1.5 steps on average. With it the first request's step begins alone, and the others
 * follow in two more: (1 + 4 * 2 + 3 * 3) / 8 = 2.25 steps. All on one core: 4.5. */
static void test_parsing_counts(void) {
  const char *const cores = "workload.parallel={tp: 1, dp-attention: 4};cluster.gpus=4;"
                            "workload.input={tokens: 4000};workload.engine."
                            "max-num-batched-tokens=4096;";
  g_autoptr(OrrOutcome) without = loop(8, 8, "", cores), with = loop(8, 8, "request: 10 us", cores);
  g_assert_cmpfloat_with_epsilon(with->result.serving.ttft.mean / without->result.serving.ttft.mean,
                                 2.25 / 1.5, 0.05);
}

/* A CPU of half the speed takes twice as long: 5 ms of parsing become 10 ms, and 2 ms between two
 * steps 4 ms. With asynchronous scheduling the GPUs' step, which is longer, hides them, but for
 * what is exposed: a half of 4 ms. */
static void test_cpu(void) {
  const char *const half = "cluster.node.host.cpu-speed=0.5;";
  const char *const slow = "cluster.node.host.cpu-speed=0.5;workload.engine.host.step=2 ms;";
  g_autofree char *async = g_strconcat(slow, "workload.engine.host.async=true", NULL),
                  *exposed = g_strconcat(async, ";workload.engine.host.exposed=50 %", NULL);
  g_autoptr(OrrOutcome) fast = loop(1, 4, "", ""), parsing = loop(1, 4, "request: 5 ms", half),
                        serial = loop(1, 4, "", slow), hidden = loop(1, 4, "", async),
                        half_hidden = loop(1, 4, "", exposed);
  const double tpot_s = fast->result.serving.tpot.mean;
  g_assert_cmpfloat(tpot_s, >, 4e-3);
  g_assert_cmpfloat_with_epsilon(parsing->result.serving.ttft.mean - fast->result.serving.ttft.mean,
                                 10e-3, 1e-12);
  g_assert_cmpfloat_with_epsilon(serial->result.serving.tpot.mean - tpot_s, 4e-3, 1e-12);
  g_assert_cmpfloat_with_epsilon(hidden->result.serving.tpot.mean, tpot_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(half_hidden->result.serving.tpot.mean - tpot_s, 2e-3, 1e-12);
}

/* A CPU of half the speed in launching alone: 2 ms that a step does once become 4 ms, 3 ms that it
 * does for its one sequence and 5 ms of parsing stay. */
static void test_launch(void) {
  const char *const half = "cluster.node.host.launch-speed=0.5;";
  g_autofree char *step =
      g_strconcat(half, "workload.engine.host={step: 2 ms, sequence: 3 ms};", NULL);
  g_autoptr(OrrOutcome) fast = loop(1, 4, "", ""), parsing = loop(1, 4, "request: 5 ms", half),
                        serial = loop(1, 4, "", step);
  const OrrServingResult *a = &fast->result.serving, *b = &parsing->result.serving;
  g_assert_cmpfloat_with_epsilon(b->ttft.mean - a->ttft.mean, 5e-3, 1e-12);
  g_assert_cmpfloat_with_epsilon(serial->result.serving.tpot.mean - a->tpot.mean, 7e-3, 1e-12);
}

/* What a front end that limits the engine lets through: N processes N times as much; with chunks of
 * 10 tokens (1, 11, 21 ... 91, 100: 11 chunks for 100 tokens) 100 / 11 times as much; and where a
 * chunk costs 16 us for each token written, a request of 100 costs 16 us (1 + 2 ... + 100) = 80.8
 * ms, as much as 808 us per chunk. */
static void test_rates(void) {
  g_autoptr(OrrOutcome) one = loop(64, 640, "chunk: 800 us", ""),
                        two = loop(64, 640, "chunk: 800 us, processes: 2", ""),
                        interval = loop(64, 640, "chunk: 4 ms, stream-interval: 10", ""),
                        grows = loop(64, 640, "written-token: 16 us", "");
  g_assert_cmpfloat_with_epsilon(one->result.serving.output_tokens_per_s, 1250, 40);
  g_assert_cmpfloat_with_epsilon(two->result.serving.output_tokens_per_s, 2500, 75);
  g_assert_cmpfloat_with_epsilon(interval->result.serving.output_tokens_per_s, 2500 / 1.1, 75);
  g_assert_cmpfloat_with_epsilon(grows->result.serving.output_tokens_per_s, 1e6 / 808, 40);
}

/* Requests that come by themselves: the engine does what it did. */
static void test_engine_goes_on(void) {
  g_autoptr(OrrOutcome)
      without = serving_run("workload.requests=100"),
      with = serving_run("workload.requests=100;workload.engine.front-end.chunk=50 us");
  g_assert_cmpint(with->result.serving.steps, ==, without->result.serving.steps);
  g_assert_cmpfloat(with->result.serving.e2e.mean, >, without->result.serving.e2e.mean);
}

#define FRONT                                                                                      \
  "processes: 2, request: 1 ms, prompt-token: 3 us, chunk: 300 us, written-token: 1 us, "          \
  "stream-interval: 3"

/* Runs of steps are single steps, requests add up, with samples, guesses, pools and stages too. */
static void test_laws(void) {
  static const char *const kinds[] = {
      "", "workload.samples=2", "workload.parallel.pp=2",
      "workload.replicas=2;workload.disaggregation={prefill: 1}",
      "workload.engine.speculation={kind: ngram, num-speculative-tokens: 3, "
      "found: 0.5, acceptance: [0.5]}"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *full = g_strconcat("fidelity=full;", kinds[i], NULL);
    g_autoptr(OrrOutcome) a = loop(8, 80, FRONT, kinds[i]), b = loop(8, 80, FRONT, full);
    g_test_message("%s: ttft %g", kinds[i], a->result.serving.ttft.mean);
    g_assert_cmpint(a->result.serving.completed, ==, 80);
    g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
    g_assert_true(a->result.serving.ttft.mean == b->result.serving.ttft.mean);
    g_assert_true(a->result.serving.e2e.mean == b->result.serving.e2e.mean);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-front/alone", test_alone);
  g_test_add_func("/workloads/serving-front/gaps", test_gaps);
  g_test_add_func("/workloads/serving-front/limit", test_limit);
  g_test_add_func("/workloads/serving-front/parsing", test_parsing);
  g_test_add_func("/workloads/serving-front/parsing-queues", test_parsing_queues);
  g_test_add_func("/workloads/serving-front/parsing-counts", test_parsing_counts);
  g_test_add_func("/workloads/serving-front/cpu", test_cpu);
  g_test_add_func("/workloads/serving-front/launch", test_launch);
  g_test_add_func("/workloads/serving-front/rates", test_rates);
  g_test_add_func("/workloads/serving-front/engine-goes-on", test_engine_goes_on);
  g_test_add_func("/workloads/serving-front/laws", test_laws);
  return g_test_run();
}

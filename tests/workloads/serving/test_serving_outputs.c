/*
 * test_serving_outputs.c - several outputs of a prompt, low-rank adapters, how many run at once.
 */
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/stations/station.h"

#define ALONE "workload.load={kind: closed-loop, concurrency: 1};"

/* --- samples --- */

/* Four outputs of 1,600 + 100 tokens: the others find 99 of the prompt's 100 blocks and compute the
 * last again; then four sequences decode together, so that the request takes hardly longer than
 * with one. Blocks: 100, 3 last ones and 4 times 7 for 100 tokens, at most 131 and one that is
 * begun for each. Without a cache three more prompts are computed.
 */
static void test_samples(void) {
  static const char load[] =
      ALONE "workload.requests=5;workload.input={tokens: 1600};workload.output={tokens: 100};"
            "workload.engine.prefix-caching=%s;workload.samples=%d";
  g_autofree char *one = g_strdup_printf(load, "block-hash", 1),
                  *four = g_strdup_printf(load, "block-hash", 4);
  g_autofree char *apart = g_strdup_printf(load, "none", 4);
  g_autoptr(OrrOutcome) a = serving_run(one);
  g_autoptr(OrrOutcome) b = serving_run(four);
  g_autoptr(OrrOutcome) c = serving_run(apart);
  const OrrServingResult *x = &a->result.serving, *y = &b->result.serving, *z = &c->result.serving;
  g_assert_cmpint(y->completed, ==, 5);
  g_assert_cmpfloat_with_epsilon(x->output_tokens_per_s * x->duration_s, 500, 1e-6);
  g_assert_cmpfloat_with_epsilon(y->output_tokens_per_s * y->duration_s, 2000, 1e-6);
  g_assert_cmpint(serving_request(b, 0)->output_tokens, ==, 400); /* of all four */
  g_assert_cmpfloat_with_epsilon(x->ttft.mean, y->ttft.mean, 1e-9);
  g_assert_cmpfloat(y->e2e.mean, <, 1.1 * x->e2e.mean);
  g_assert_cmpfloat(y->e2e.mean, >, x->e2e.mean);
  g_assert_cmpfloat(z->e2e.mean, >, y->e2e.mean);
  g_assert_cmpfloat(y->kv_peak * 20000, <=, 131 + 4);
  g_assert_cmpfloat(z->kv_peak * 20000, >=, 4 * 100);
  g_assert_cmpfloat_with_epsilon(y->prefix_hit_rate, 3 * 99.0 / 400, 1e-6);
  /* 20,000 blocks: 100 of a prompt; an output that grows to 100 tokens has (16 (1 + ... + 6) + 4 *
   * 7) / 100 = 3.64 of its own in the mean */
  g_assert_cmpfloat_with_epsilon(y->kv_full_requests, 20000 / (100 + 4 * 3.64), 1e-6);
  g_assert_cmpfloat_with_epsilon(z->kv_full_requests, 20000 / (4 * 103.64), 1e-6);
}

/* Under every scheduler, with little room or much, all outputs come out and Little's law holds. */
static void test_samples_laws(void) {
  static const char *const kinds[] = {
      "",
      "workload.engine.kv-blocks=500",
      "workload.engine.kv-blocks=500;workload.engine.prefix-caching=block-hash",
      "workload.engine.scheduler=sglang;workload.engine.prefix-caching=radix",
      "workload.parallel.pp=2",
      "workload.parallel.dp-attention=2",
      "workload.output={tokens: 1}",
      "workload.engine.speculation={kind: eagle, num-speculative-tokens: 2, acceptance: [0.7]}",
  };
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *sets = g_strconcat("workload.requests=60;workload.samples=3;", kinds[k], NULL);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpint(outcome->result.serving.completed, ==, 60);
    g_assert_cmpfloat(outcome->result.serving.littles_law_error, <, 1e-9);
  }
  serving_refused("workload.samples=65", "above engine.max-num-seqs (64)");
}

/* Separate prefill and decode: three outputs of 1,600 tokens are three prefills and three
 * hand-overs of 131,072 bytes per token; where prefixes are found again, the prefill finds 99 of
 * 100 blocks of the others' prompts, and still sends all, unless the decoder has them by then. */
static void test_samples_apart(void) {
  static const char load[] =
      "workload.replicas=2;workload.disaggregation={prefill: 1%s};workload.samples=3;" ALONE
      "workload.requests=4;workload.input={tokens: 1600};workload.output={tokens: 20};"
      "workload.engine.prefix-caching=%s";
  for (guint layered = 0; layered < 2; layered++)
    for (guint caching = 0; caching < 2; caching++) {
      g_autofree char *sets = g_strdup_printf(load, layered ? ", transfer: per-layer" : "",
                                              caching ? "block-hash" : "none");
      g_autoptr(OrrOutcome) outcome = serving_run(sets);
      const OrrServingResult *result = &outcome->result.serving;
      g_assert_cmpint(result->completed, ==, 4);
      g_assert_cmpfloat_with_epsilon(result->output_tokens_per_s * result->duration_s, 4 * 3 * 20,
                                     1e-6);
      g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
      if (!caching) g_assert_cmpfloat_with_epsilon(result->handover_bytes, 12 * 1600 * 131072.0, 1);
      g_assert_cmpfloat(result->handover_bytes, >=, 4 * 1600 * 131072.0);
    }
  serving_refused("workload.samples=2;workload.replicas=2;workload.disaggregation={prefill: 1};"
                  "workload.admission={in-flight: 4, queue: 2}",
                  "exclude each other");
}

/* --- adapters --- */

/* Two slots: 1 2 held, 3 does not fit; 1 released, 3 takes its place; 1 has to come again. */
static void test_slots(void) {
  OrrAdapters *adapters = orr_adapters_new(5, 2);
  g_assert_true(orr_adapters_hold(adapters, 1));
  g_assert_true(orr_adapters_hold(adapters, 2));
  g_assert_false(orr_adapters_hold(adapters, 1));
  g_assert_false(orr_adapters_fit(adapters, 3));
  orr_adapters_release(adapters, 1);
  g_assert_false(orr_adapters_fit(adapters, 3)); /* 1 is held once more */
  orr_adapters_release(adapters, 1);
  g_assert_true(orr_adapters_fit(adapters, 3));
  g_assert_true(orr_adapters_hold(adapters, 3));
  orr_adapters_release(adapters, 2);
  g_assert_true(orr_adapters_hold(adapters, 1));
  orr_adapters_free(adapters);
  g_assert_null(orr_adapters_new(0, 8));
}

/* Llama 3.1 8B, rank 16 on q, k, v and projection: 32 layers of 16 (3 4096 + 6144 + 4096 + 4096)
 * weights of 2 bytes. The first request waits for them over a link of 1 GB/s, the second does
 * not; eight slots are kept for eight adapters. */
static void test_load_time(void) {
  static const char load[] = ALONE "workload.requests=2;workload.input={tokens: "
                                   "100};workload.output={tokens: 20};workload.engine.kv-blocks=0;"
                                   "cluster.node.host-link-bandwidth=1 "
                                   "GB/s;cluster.node.host-link-efficiency=1;"
                                   "workload.engine.lora={adapters: 1, shape: {rank: 16}}";
  const double bytes = 32 * 16.0 * (3 * 4096 + 6144 + 4096 + 4096) * 2;
  g_autoptr(OrrOutcome) outcome = serving_run(load);
  g_autoptr(OrrOutcome) plain =
      serving_run(ALONE "workload.requests=2;workload.engine.kv-blocks=0");
  g_autoptr(OrrOutcome) eight =
      serving_run(ALONE "workload.requests=2;workload.engine.kv-blocks=0;"
                        "workload.engine.lora={adapters: 100, shape: {rank: 16}}");
  g_assert_cmpint(outcome->result.serving.adapter_loads, ==, 1);
  g_assert_cmpfloat_with_epsilon(
      serving_request(outcome, 0)->ttft_s - serving_request(outcome, 1)->ttft_s, bytes / 1e9, 1e-9);
  const double base = plain->result.serving.weights_bytes;
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.weights_bytes - base, bytes, 1);
  g_assert_cmpfloat_with_epsilon(eight->result.serving.weights_bytes - base, 8 * bytes, 1);
}

/* As many slots as adapters: each comes once. Fewer: they come again; the steeper the law, the
 * more seldom. A step with adapters takes longer than one without, by tens of percent at most. */
static void test_loads(void) {
  static const char load[] =
      "workload.requests=400;workload.load={kind: poisson, rate: 4};"
      "workload.engine.lora={adapters: 20, max-loras: %d, skew: %g, shape: {rank: 16}}";
  g_autofree char *all = g_strdup_printf(load, 20, 0.0), *few = g_strdup_printf(load, 4, 0.0);
  g_autofree char *steep = g_strdup_printf(load, 4, 2.0);
  g_autoptr(OrrOutcome) a = serving_run(all);
  g_autoptr(OrrOutcome) b = serving_run(few);
  g_autoptr(OrrOutcome) c = serving_run(steep);
  g_autoptr(OrrOutcome) plain =
      serving_run("workload.requests=400;workload.load={kind: poisson, rate: 4}");
  g_assert_cmpint(a->result.serving.adapter_loads, ==, 20);
  g_assert_cmpint(b->result.serving.adapter_loads, >, 100);
  g_assert_cmpint(c->result.serving.adapter_loads, <, b->result.serving.adapter_loads);
  g_assert_cmpfloat(b->result.serving.queue.mean, >, 2 * a->result.serving.queue.mean);
  g_assert_cmpfloat(a->result.serving.tpot.mean, >, 1.01 * plain->result.serving.tpot.mean);
  g_assert_cmpfloat(a->result.serving.tpot.mean, <, 1.5 * plain->result.serving.tpot.mean);
  g_assert_cmpfloat(b->result.serving.littles_law_error, <, 1e-9);
}

/* One slot; a long output holds it. vLLM passes over a request whose adapter finds none and goes on
 * with those behind it: requests of the adapter that is there never wait for it, so that with two
 * adapters the queue moves while one of them is shut out. In a queue that stood still as many would
 * run at once as have one adapter in a row, two in the mean.
 */
static void test_passed_over(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      "workload.requests=200;workload.load={kind: poisson, rate: 20};workload.output={tokens: 200};"
      "workload.engine.lora={adapters: 2, max-loras: 1, skew: 0, shape: {rank: 16}}");
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpint(result->completed, ==, 200);
  g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
  g_assert_cmpint(result->adapter_loads, <, 20);
  g_assert_cmpfloat(result->running_mean, >, 8);
}

/* Separate prefill and decode: both hold adapters, and a request whose cache has come waits for a
 * slot at the decoder. */
static void test_apart(void) {
  static const char load[] =
      "workload.replicas=2;workload.disaggregation={prefill: 1%s};workload.requests=120;"
      "workload.load={kind: poisson, rate: 8};%s"
      "workload.engine.lora={adapters: 6, max-loras: %d, skew: 0, shape: {rank: 16}}";
  static const char *const kinds[] = {"", "workload.engine.kv-blocks=300;", "fidelity=full;"};
  for (guint layered = 0; layered < 2; layered++)
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
      const char *way = layered ? ", transfer: per-layer" : "";
      g_autofree char *all = g_strdup_printf(load, way, kinds[k], 6),
                      *few = g_strdup_printf(load, way, kinds[k], 2);
      g_autoptr(OrrOutcome) a = serving_run(all);
      g_autoptr(OrrOutcome) b = serving_run(few);
      g_assert_cmpint(a->result.serving.completed, ==, 120);
      g_assert_cmpint(b->result.serving.completed, ==, 120);
      g_assert_cmpint(a->result.serving.adapter_loads, ==, 12); /* each once, on both */
      g_assert_cmpint(b->result.serving.adapter_loads, >, 12);
      g_assert_cmpfloat(b->result.serving.e2e.mean, >, a->result.serving.e2e.mean);
      g_assert_cmpfloat(b->result.serving.littles_law_error, <, 1e-9);
    }
}

/* A prompt's blocks are its adapter's: what was computed with one is not found with another. */
static void test_adapters_share_nothing(void) {
  static const char load[] = ALONE
      "workload.requests=40;workload.shared-prefix=1600;workload.input={tokens: 16};"
      "workload.engine.prefix-caching=block-hash;workload.engine.lora={adapters: %d, skew: 0, "
      "shape: {rank: 8}}";
  g_autofree char *one = g_strdup_printf(load, 1), *four = g_strdup_printf(load, 4);
  g_autoptr(OrrOutcome) a = serving_run(one);
  g_autoptr(OrrOutcome) b = serving_run(four);
  g_assert_cmpfloat_with_epsilon(a->result.serving.prefix_hit_rate, 39 * 1600 / (40 * 1616.0),
                                 1e-6);
  g_assert_cmpfloat_with_epsilon(b->result.serving.prefix_hit_rate, 36 * 1600 / (40 * 1616.0),
                                 1e-6);
}

static void test_refused(void) {
  serving_refused("workload.engine.lora={adapters: 4}", "give shape.rank");
  serving_refused("workload.engine.lora={adapters: 4, shape: {rank: 8, targets: [qkw]}}",
                  "did you mean 'qkv'?");
  serving_refused("workload.engine.lora={adapters: 4, shape: {rank: 8, quantised: true}}",
                  "is of training");
  serving_refused("model=deepseek-v2-lite;workload.engine.lora={adapters: 4, shape: {rank: 8}}",
                  "latent attention");
  serving_refused("workload.engine.lora={adapters: -4, shape: {rank: 8}}", "adapters");
}

/* --- how many run --- */

/* Never more requests than there are clients, whatever the stages. One alone is 1 throughout, with
 * host time, too. With
 * eight Little's law holds: requests/s times their time; both ends of the run, of ten rounds, have
 * fewer. */
static void test_pipeline_running(void) {
  static const char load[] =
      "workload.parallel.pp=%d;workload.requests=%d;workload.output={kind: constant, tokens: 50};"
      "workload.input={kind: constant, tokens: 500};workload.load={kind: closed-loop, concurrency: "
      "%d}";
  for (int pp = 1; pp <= 8; pp *= 2) {
    g_autofree char *one = g_strdup_printf(load, pp, 4, 1),
                    *many = g_strdup_printf(load, pp, 80, 8),
                    *host = g_strconcat(one, ";workload.engine.host={step: 5 ms}", NULL);
    g_autoptr(OrrOutcome) alone = serving_run(one), together = serving_run(many),
                          hosted = serving_run(host);
    const OrrServingResult *r = &together->result.serving;
    g_test_message("pp %d: %g run, by Little %g", pp, r->running_mean,
                   r->requests_per_s * r->e2e.mean);
    g_assert_cmpfloat_with_epsilon(alone->result.serving.running_mean, 1, 1e-9);
    g_assert_cmpfloat_with_epsilon(hosted->result.serving.running_mean, 1, 1e-9);
    g_assert_cmpfloat(r->running_mean, <=, 8 + 1e-9);
    g_assert_cmpfloat_with_epsilon(r->running_mean, r->requests_per_s * r->e2e.mean, 0.8);
    g_assert_cmpfloat(r->kv_utilization, <=, r->kv_peak + 1e-9);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-outputs/samples", test_samples);
  g_test_add_func("/workloads/serving-outputs/samples-laws", test_samples_laws);
  g_test_add_func("/workloads/serving-outputs/samples-apart", test_samples_apart);
  g_test_add_func("/workloads/serving-outputs/slots", test_slots);
  g_test_add_func("/workloads/serving-outputs/load-time", test_load_time);
  g_test_add_func("/workloads/serving-outputs/loads", test_loads);
  g_test_add_func("/workloads/serving-outputs/passed-over", test_passed_over);
  g_test_add_func("/workloads/serving-outputs/apart", test_apart);
  g_test_add_func("/workloads/serving-outputs/adapters-share-nothing", test_adapters_share_nothing);
  g_test_add_func("/workloads/serving-outputs/refused", test_refused);
  g_test_add_func("/workloads/serving-outputs/pipeline-running", test_pipeline_running);
  return g_test_run();
}

/*
 * test_handover.c - prefill and decode apart: what a hand-over takes, what it changes, what is refused.
 */
#include "tests/workloads/serving_fixture.h"

#define APART "workload.replicas=2;workload.input={tokens: 2000};workload.output={tokens: 50};"
/* Far apart: nothing waits for anything. */
#define ALONE APART "workload.load={kind: constant, rate: 0.5};workload.requests=20;"

static double handover_s(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_test_message("hand-over %g s, ttft %g s, tpot %g s", outcome->result.serving.handover_mean_s,
                 outcome->result.serving.ttft.mean, outcome->result.serving.tpot.mean);
  return outcome->result.serving.handover_mean_s;
}

/* Llama 3.1 8B: 2 (keys, values) * 32 layers * 8 heads * 128 * 2 bytes = 131,072 bytes a token. 2,000 of them over
 * NVLink at bandwidth B take 262,144,000 / B more than nothing does: halving B adds as much again. */
static void test_bytes(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(ALONE "workload.disaggregation={prefill: 1}");
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.handover_bytes, 20 * 2000 * 131072.0, 1);
  const double full_s = outcome->result.serving.handover_mean_s;
  const double half_s =
      handover_s(ALONE "workload.disaggregation={prefill: 1};cluster.device.scale-up-bandwidth=225 GB/s");
  const double bytes_s = half_s - full_s;
  g_assert_cmpfloat(bytes_s, >, 2000 * 131072.0 / 450e9);
  g_assert_cmpfloat(bytes_s, <, 1.4 * 2000 * 131072.0 / 450e9); /* NCCL's share of the nominal rate */
  g_assert_cmpfloat_with_epsilon(full_s, bytes_s, 20e-6);       /* the rest is latency */
  const double later_s = handover_s(ALONE "workload.disaggregation={prefill: 1, overhead: 5 ms}");
  g_assert_cmpfloat_with_epsilon(later_s - full_s, 5e-3, 1e-9);
}

/* Rank by rank: with tp 2 each link has half of the bytes. fp8 halves them too. */
static void test_ranks(void) {
  const double one_s = handover_s(ALONE "workload.disaggregation={prefill: 1}");
  const double two_s = handover_s(ALONE "workload.disaggregation={prefill: 1};workload.parallel.tp=2");
  const double fp8_s = handover_s(ALONE "workload.disaggregation={prefill: 1};workload.kv-dtype=fp8");
  g_assert_cmpfloat_with_epsilon(two_s / one_s, 0.5, 0.03);
  g_assert_cmpfloat_with_epsilon(fp8_s / one_s, 0.5, 0.03);
}

/* Pushed layer by layer, all but the last of 32 layers is there at the prompt's end, where NVLink is faster than the
 * prefill. */
static void test_per_layer(void) {
  const double whole_s = handover_s(ALONE "workload.disaggregation={prefill: 1}");
  const double layer_s = handover_s(ALONE "workload.disaggregation={prefill: 1, transfer: per-layer}");
  g_assert_cmpfloat_with_epsilon(layer_s / whole_s, 1.0 / 32, 0.03);
}

/* Alone in the fleet a request has its mixed times, and the hand-over in the gap after the first token. */
static void test_alone(void) {
  g_autoptr(OrrOutcome) mixed = serving_run(ALONE "workload.replicas=1");
  g_autoptr(OrrOutcome) apart = serving_run(ALONE "workload.disaggregation={prefill: 1}");
  const OrrServingResult *m = &mixed->result.serving, *a = &apart->result.serving;
  g_assert_cmpfloat_with_epsilon(a->ttft.mean, m->ttft.mean, 1e-9);
  g_assert_cmpfloat_with_epsilon(a->e2e.mean, m->e2e.mean + a->handover_mean_s, 1e-9);
}

/* Long prompts delay nobody's next token; on one engine they do. */
static void test_interference(void) {
  static const char load[] = "workload.input={tokens: 6000};workload.output={tokens: 200};workload.requests=300;"
                             "workload.load={kind: poisson, rate: 5};workload.replicas=2;%s";
  g_autofree char *mixed = g_strdup_printf(load, ""),
                  *apart = g_strdup_printf(load, "workload.disaggregation={prefill: 1}");
  g_autoptr(OrrOutcome) m = serving_run(mixed);
  g_autoptr(OrrOutcome) a = serving_run(apart);
  g_test_message("mixed: ttft %g, itl p99 %g; apart: ttft %g, itl p99 %g", m->result.serving.ttft.mean,
                 m->result.serving.itl.p99, a->result.serving.ttft.mean, a->result.serving.itl.p99);
  g_assert_cmpfloat(a->result.serving.itl.p99, <, 0.5 * m->result.serving.itl.p99);
}

static const char *const kinds[] = {
    "",
    "workload.disaggregation.transfer=per-layer",
    "workload.disaggregation.least-prompt=1000",
    "workload.engine.kv-blocks=200",
    "workload.engine.kv-blocks=200;workload.disaggregation.transfer=per-layer",
    "workload.engine.prefix-caching=block-hash;workload.shared-prefix=500",
    "workload.engine.prefix-caching=block-hash;workload.shared-prefix=500;workload.router=kv-aware;"
    "workload.disaggregation.transfer=per-layer",
    "workload.parallel.pp=2;workload.replicas=3",
    "workload.engine.scheduler=sarathi",
    "workload.engine.scheduler=trtllm",
    "workload.output={tokens: 1}",
    "workload.load={kind: closed-loop, concurrency: 16}",
    "workload.load={kind: sessions, rate: 1, longest: 4000};workload.engine.prefix-caching=block-hash",
    "workload.admission={in-flight: 8}",
    "workload.admission={in-flight: 2, queue: 2}",
};

/* Little's law, conserved blocks (by the run itself), and runs of steps that are single steps. */
static void test_laws(void) {
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *runs = g_strdup_printf("workload.replicas=4;workload.disaggregation={prefill: 1};%s", kinds[k]);
    g_autofree char *steps = g_strdup_printf("fidelity=full;%s", runs);
    g_autoptr(OrrOutcome) a = serving_run(runs);
    g_autoptr(OrrOutcome) b = serving_run(steps);
    g_test_message("%s: %g", kinds[k], a->result.serving.ttft.mean);
    g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
    g_assert_cmpuint(a->serving_requests->len, ==, b->serving_requests->len);
    for (guint i = 0; i < a->serving_requests->len; i++)
      g_assert_true(serving_request(a, i)->e2e_s == serving_request(b, i)->e2e_s);
  }
}

/* Three prefill, one decodes: caches share its way in on SimGrid, and have it to themselves on the ideal engine. One
 * run on SimGrid a process. */
static void test_contention(void) {
  static const char load[] = "workload.input={tokens: 4000};workload.output={tokens: 2};workload.requests=60;"
                             "workload.load={kind: constant, rate: 40};workload.replicas=4;"
                             "workload.disaggregation={prefill: 3};cluster.device.scale-up-bandwidth=20 GB/s;%s";
  g_autofree char *ideal = g_strdup_printf(load, ""), *shared = g_strdup_printf(load, "engine=auto");
  const double ideal_s = handover_s(ideal), shared_s = handover_s(shared);
  g_assert_cmpfloat(shared_s, >, 1.2 * ideal_s);
}

static void test_refused(void) {
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 2}", "leaves none of the 2 replicas");
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 1};workload.parallel.dp-attention=2",
                  "is not known yet");
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 1, transfer: layers}", "per-layer");
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 1, transfer: per-layer};"
                  "workload.admission={in-flight: 1, queue: 1}",
                  "exclude each other");
}

/* A run that fails with caches on their way leaves nothing behind: what the sanitizers look at. */
static void test_ends_early(void) {
  static const char load[] = "workload.replicas=3;workload.input={tokens: 6000};workload.output={tokens: 100};"
                             "workload.load={kind: constant, rate: 200};workload.longest-queue=0.5 s;"
                             "workload.disaggregation={prefill: 1%s};cluster.device.scale-up-bandwidth=2 GB/s%s";
  static const char *const ways[][2] = {
      {"", ""}, {", transfer: per-layer", ""}, {"", ";workload.parallel.pp=2"}, {", overhead: 2 s", ""}};
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    g_autofree char *sets = g_strdup_printf(load, ways[i][0], ways[i][1]);
    serving_refused(sets, "the queue diverges");
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/handover/bytes", test_bytes);
  g_test_add_func("/workloads/handover/ranks", test_ranks);
  g_test_add_func("/workloads/handover/per-layer", test_per_layer);
  g_test_add_func("/workloads/handover/alone", test_alone);
  g_test_add_func("/workloads/handover/interference", test_interference);
  g_test_add_func("/workloads/handover/laws", test_laws);
  g_test_add_func("/workloads/handover/contention", test_contention);
  g_test_add_func("/workloads/handover/refused", test_refused);
  g_test_add_func("/workloads/handover/ends-early", test_ends_early);
  return g_test_run();
}

/*
 * test_shared_gpus.c - several models in one fleet: who serves whom, engines that share GPUs and
 * wake when a request waits for their model, and what is refused.
 */
#include "tests/workloads/serving/serving_fixture.h"

#define TWO(n_, shares_)                                                                           \
  "cluster.node.host-link-efficiency=100 %;workload.input={tokens: 64};workload.output={tokens: "  \
  "8};workload.classes=[{name: a}, {name: b, model: qwen3-8b}];workload.replicas=" n_              \
  ";workload.groups=[{replicas: " n_ ", model: qwen3-8b, shares: " shares_ "}];"
#define SLEEPS "workload.start={sleeps: true, wake: 1 s};"
#define ALONE "workload.load={kind: closed-loop, concurrency: 1};workload.requests=40;"

static gboolean is_b(const OrrServingRequestRow *row) { return row->group[0] == 'b'; }

/* By hand: one GPU, two models, one client that asks one after the other. The engine of the model
 * that was asked last is awake. A request for it takes what it takes on a GPU of its own; one for
 * the other model waits for 1 s and the weights of both over PCIe, 63 GB/s: the other engine is
 * idle, and its weights leave at once. */
static void test_alternate(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(TWO("1", "true") SLEEPS ALONE);
  g_autoptr(OrrOutcome) a =
      serving_run("workload.input={tokens: 64};workload.output={tokens: 8};" ALONE);
  g_autoptr(OrrOutcome) b =
      serving_run("model=qwen3-8b;workload.input={tokens: 64};workload.output={tokens: 8};" ALONE);
  const OrrServingResult *of[] = {&a->result.serving, &b->result.serving};
  const double both_s = (of[0]->weights_bytes + of[1]->weights_bytes) / 63e9;
  gboolean awake = FALSE; /* whether b's is */
  gint64 starts = 0;
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.kv_full_requests,
                                 fmin(of[0]->kv_full_requests, of[1]->kv_full_requests), 1e-6);
  for (guint i = 0; i < 40; i++) {
    const OrrServingRequestRow *row = serving_request(outcome, i);
    const OrrServingResult *alone = of[is_b(row)];
    const double wake_s = is_b(row) != awake ? 1 + both_s : 0;
    starts += is_b(row) != awake;
    awake = is_b(row);
    g_assert_cmpint(row->replica, ==, is_b(row));
    g_assert_cmpfloat_with_epsilon(row->ttft_s, wake_s + alone->ttft.mean, 1e-6);
    g_assert_cmpfloat_with_epsilon(row->tpot_s, alone->tpot.mean, 1e-6);
  }
  g_assert_cmpint(starts, >, 5);
  g_assert_cmpint(outcome->result.serving.starts, ==, starts);
  g_assert_cmpint(outcome->result.serving.n_gpus, ==, 1);
}

/* On GPUs of their own both models are as fast as alone, each served by its own engine. */
static void test_apart(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(TWO("1", "false") ALONE);
  g_autoptr(OrrOutcome) b =
      serving_run("model=qwen3-8b;workload.input={tokens: 64};workload.output={tokens: 8};" ALONE);
  g_assert_cmpint(outcome->result.serving.n_gpus, ==, 2);
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.kv_full_requests,
                                 2 * b->result.serving.kv_full_requests, 1e-6);
  for (guint i = 0; i < 40; i++) {
    const OrrServingRequestRow *row = serving_request(outcome, i);
    g_assert_cmpint(row->replica, ==, is_b(row));
    if (is_b(row)) g_assert_cmpfloat_with_epsilon(row->ttft_s, b->result.serving.ttft.mean, 1e-9);
  }
}

/* At any time one of the replicas that share a GPU holds it. */
static void check_turns(const OrrOutcome *outcome, gint64 n) {
  g_autofree gboolean *holds = g_new0(gboolean, 2 * n);
  ORR_EACH(const OrrServingTurnRow, turn, outcome->serving_turns) {
    holds[turn->replica] = strcmp(turn->state, "off") != 0 && strcmp(turn->state, "down") != 0;
    g_assert_false(holds[turn->replica] && holds[(turn->replica + n) % (2 * n)]);
  }
}

static OrrOutcome *loaded(const char *two, gint64 n, const char *more) {
  g_autofree char *sets =
      g_strconcat(two, "workload.load={kind: poisson, rate: 5};workload.requests=400;", more, NULL);
  OrrOutcome *outcome = serving_run(sets);
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpint(result->completed, ==, 400);
  g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
  check_turns(outcome, n);
  for (guint i = 0; i < 400; i++)
    g_assert_cmpint(serving_request(outcome, i)->replica >= n, ==,
                    is_b(serving_request(outcome, i)));
  return outcome;
}

/* Two GPUs, two models, Poisson arrivals: both have one engine awake after the first request of
 * the second model, and none moves again unless engines are full. With one place each they are,
 * and move; those that stay longer move less often. */
static void test_load(void) {
  g_autoptr(OrrOutcome) calm = loaded(TWO("2", "true"), 2, SLEEPS);
  g_autoptr(OrrOutcome) full =
      loaded(TWO("2", "true"), 2, SLEEPS "workload.admission.in-flight=1;");
  g_autoptr(OrrOutcome) stays = loaded(TWO("2", "true"), 2,
                                       "workload.start={sleeps: true, wake: 1 s, stays: 20 s};"
                                       "workload.admission.in-flight=1;");
  g_assert_cmpint(calm->result.serving.starts, ==, 1);
  g_test_message("%ld and %ld starts", (long)full->result.serving.starts,
                 (long)stays->result.serving.starts);
  g_assert_cmpint(full->result.serving.starts, >, 2);
  g_assert_cmpint(stays->result.serving.starts, <, full->result.serving.starts);
}

/* A node that is lost takes what is awake on it; requests go to what another GPU wakes. */
static void test_lost(void) {
  g_autoptr(OrrOutcome) outcome =
      loaded(TWO("12", "true"), 12,
             SLEEPS "cluster.nodes=2;workload.admission.in-flight=4;"
                    "faults=[{at: 2 s, until: 4 s, fault: {kind: node-lost, node: 0}}];"
                    "cluster.storage={servers: 1, server-bandwidth: 10 GB/s, node-bandwidth: 1 "
                    "TB/s}");
  g_assert_cmpint(outcome->result.serving.failed, ==, 0);
}

static void test_refused(void) {
  serving_refused("workload.groups=[{replicas: 1, model: qwen3-8b}]", "no class of requests asks");
  serving_refused("workload.classes=[{name: a, model: qwen3-8b}]", "no replicas serve model");
  serving_refused(TWO("2", "true") "workload.replicas=1", "those that they share are 1");
  serving_refused(TWO("1", "true") SLEEPS "workload.autoscaling={by: queue}",
                  "groups.shares and autoscaling exclude each other");
  serving_refused(TWO("1", "true"), "cluster.storage");
  serving_refused("workload.start={stays: 3 s}", "start.stays is for groups.shares");
  serving_refused(SLEEPS, "no groups.shares");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/shared-gpus/alternate", test_alternate);
  g_test_add_func("/workloads/shared-gpus/apart", test_apart);
  g_test_add_func("/workloads/shared-gpus/load", test_load);
  g_test_add_func("/workloads/shared-gpus/lost", test_lost);
  g_test_add_func("/workloads/shared-gpus/refused", test_refused);
  return g_test_run();
}

/*
 * test_fleet_life.c - replicas that start, are scaled, lose their node and come back.
 */
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/autoscalers/autoscaler.h"

/* 10 GB/s is all that binds: a GPU's PCIe and the node's way to the file system are faster. */
#define FILES "cluster.storage={servers: 1, server-bandwidth: 10 GB/s, node-bandwidth: 1 TB/s};"
#define NO_FILES "workload.start={weights: false};"

static void check_books(const OrrOutcome *outcome, gint64 requests) {
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpint(result->completed + result->failed + result->rejected, ==, requests);
  g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
}

/* --- cold starts --- */

/* The first request of a cold engine waits for overhead + weights / 10 GB/s, and is then served
 * as by a warm one. */
static void test_cold_start(void) {
  static const char one[] = FILES "workload.requests=1;workload.load={kind: constant, rate: 1};%s";
  g_autofree char *warm = g_strdup_printf(one, ""),
                  *cold = g_strdup_printf(one, "workload.start={warm: false, overhead: 3 s}");
  g_autoptr(OrrOutcome) w = serving_run(warm);
  g_autoptr(OrrOutcome) c = serving_run(cold);
  const double start_s = 3 + w->result.serving.weights_bytes / 10e9;
  g_assert_cmpint(c->result.serving.starts, ==, 1);
  g_assert_cmpfloat_with_epsilon(c->result.serving.start_mean_s, start_s,
                                 1e-4); /* the network's latency */
  g_assert_cmpfloat_with_epsilon(c->result.serving.ttft.mean, w->result.serving.ttft.mean + start_s,
                                 1e-4);
  check_books(c, 1);
}

/* A start of 1,000 s that the load's growth asks for does not end in a run of some 20 s. */
static void test_unfinished_starts(void) {
  static const char grows[] =
      NO_FILES "workload.replicas=4;workload.requests=400;workload.load={kind: ramp, from: 5, to: "
               "40, duration: 20 s};workload.autoscaling={by: {kind: queue, target: 4}, least: 1, "
               "interval: 1 s};workload.engine.host={step: 50 ms};";
  g_autofree char *sets = g_strconcat(grows, "workload.start.overhead=1000 s", NULL);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpint(outcome->result.serving.starts, ==, 0);
  g_assert_true(serving_warns(outcome, "starts of replicas did not end in this run"));
  g_assert_false(serving_warns(outcome, "has no effect: no replica started"));
}

/* Two that start at once have half of the server each. The one test here with links that are
 * shared. */
static void test_cold_starts_share(void) {
  static const char two[] = FILES "engine=simgrid;workload.replicas=2;workload.requests=4;"
                                  "workload.start={warm: false}";
  g_autoptr(OrrOutcome) outcome = serving_run(two);
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpint(result->starts, ==, 2);
  g_assert_cmpfloat_with_epsilon(result->start_mean_s, 2 * result->weights_bytes / 10e9, 1e-4);
}

/* --- scaling --- */

#define SLOW                                                                                       \
  "workload.engine.host={step: 50 ms};workload.input={tokens: 100};workload.output={tokens: "      \
  "100};" NO_FILES
static const char scaled[] =
    SLOW "workload.replicas=8;workload.load={kind: poisson, rate: 4};workload.requests=2000;"
         "workload.autoscaling={by: %s, least: 1, interval: 5 s, down-after: 60 s};"
         "workload.slo={ttft: %s}";

/* A step takes some 55 ms whatever is in it, a request 100 of them, so that 4 a second are s = 4
 * * 5.5 = 22 in the system (Little); at 5 a replica some 22 / 5 = 4.4 to 5 are wanted, and the
 * most of the last minute is held. */
static void test_queue(void) {
  g_autofree char *sets = g_strdup_printf(scaled, "{kind: queue, target: 5}", "0 s");
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  const OrrServingResult *result = &outcome->result.serving;
  const double in_system = result->requests_per_s * result->e2e.mean;
  g_test_message("in system %g, replicas %g", in_system, result->replicas_mean);
  g_assert_cmpfloat(result->replicas_mean, >, in_system / 5 * 0.95);
  g_assert_cmpfloat(result->replicas_mean, <,
                    in_system / 5 * 1.8); /* the most of a minute, whole ones */
  check_books(outcome, 2000);
}

/* An objective that all requests meet needs one replica, one that none meets all of them. */
static void test_slo(void) {
  g_autofree char *easy = g_strdup_printf(scaled, "slo", "1000 s"),
                  *hard = g_strdup_printf(scaled, "slo", "56 ms");
  g_autoptr(OrrOutcome) e = serving_run(easy);
  g_autoptr(OrrOutcome) h = serving_run(hard);
  g_assert_cmpfloat_with_epsilon(e->result.serving.replicas_mean, 1, 1e-9);
  g_assert_cmpfloat(h->result.serving.replicas_mean, >, 7);
  check_books(e, 2000);
  check_books(h, 2000);
}

/* GPUs of an engine that decodes are as busy with one request as with many: gpu / (gpu + host)
 * of the time. */
static void test_utilization(void) {
  g_autofree char *low = g_strdup_printf(scaled, "{kind: utilization, target: 100 %}", "0 s"),
                  *high = g_strdup_printf(scaled, "{kind: utilization, target: 1 %}", "0 s");
  g_autoptr(OrrOutcome) l = serving_run(low);
  g_autoptr(OrrOutcome) h = serving_run(high);
  g_assert_cmpfloat_with_epsilon(l->result.serving.replicas_mean, 1, 1e-9);
  g_assert_cmpfloat(h->result.serving.replicas_mean, >, 7);
}

/* A scaler that may not scale changes nothing. */
static void test_all_are_least(void) {
  g_autoptr(OrrOutcome) still = serving_run("workload.replicas=3;" NO_FILES);
  g_autoptr(OrrOutcome) asked = serving_run(
      "workload.replicas=3;" NO_FILES "workload.autoscaling={by: queue, least: 3, interval: 1 s}");
  g_assert_cmpfloat(still->result.serving.e2e.mean, ==, asked->result.serving.e2e.mean);
  g_assert_cmpfloat(still->result.serving.ttft.p99, ==, asked->result.serving.ttft.p99);
  g_assert_cmpfloat(still->result.serving.replicas_mean, ==, 3);
}

/* Of two replicas the second starts cold once, in 10 s; it sleeps in each trough of a load that
 * swings, and wakes by 1 s and its weights over PCIe, 63 GB/s: n starts take 10 + (n - 1) w. Where
 * feed-forwards have a GPU of their own, the fuller of both decides. */
static void test_sleep(void) {
  static const char *const parallel[] = {"", ";workload.parallel.feed-forward={gpus: 1}"};
  for (guint i = 0; i < G_N_ELEMENTS(parallel); i++) {
    g_autofree char *sets = g_strconcat(
        "workload.replicas=2;cluster.node.host-link-efficiency=100 %;workload.requests=4000;"
        "workload.start={weights: false, overhead: 10 s, sleeps: true, wake: 1 "
        "s};workload.load={kind: diurnal, rate: 10, swing: 1, period: 100 "
        "s};workload.autoscaling={by: {kind: queue, target: 4}, least: 1, interval: 1 s, "
        "down-after: 3 s}",
        parallel[i], NULL);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const OrrServingResult *result = &outcome->result.serving;
    const double n = (double)result->starts,
                 wake_s = 1 + fmax(result->weights_bytes, result->feed_weights_bytes) / 63e9;
    g_test_message("%g starts of %g s, %g s to wake", n, result->start_mean_s, wake_s);
    g_assert_cmpfloat(n, >=, 3);
    g_assert_cmpfloat_with_epsilon(n * result->start_mean_s, 10 + (n - 1) * wake_s, 1e-6);
    if (i == 1) g_assert_cmpfloat(result->feed_weights_bytes, >, result->weights_bytes);
  }
}

/* All routers live with replicas that come and go, separate prefill and decode or not. */
static void test_routers(void) {
  static const char *const pools[] = {"", "workload.disaggregation={prefill: 3};",
                                      "workload.disaggregation={prefill: 3, transfer: per-layer};"};
  for (guint i = 0; orr_router_registry.entries[i]; i++)
    for (guint k = 0; k < G_N_ELEMENTS(pools); k++) {
      g_autofree char *sets = g_strdup_printf(
          NO_FILES
          "workload.replicas=6;workload.router=%s;workload.engine.prefix-caching=block-hash;%s"
          "workload.shared-prefix=200;workload.load={kind: ramp, from: 5, to: 80, duration: 10 s};"
          "workload.start={weights: false, overhead: 1 s};"
          "workload.autoscaling={by: {kind: queue, target: 4}, interval: 1 s, down-after: 3 s}",
          orr_router_registry.entries[i]->name, pools[k]);
      g_autoptr(OrrOutcome) outcome = serving_run(sets);
      g_assert_cmpint(outcome->result.serving.starts, >, 0);
      check_books(outcome, 400);
    }
}

/* --- nodes that are lost --- */

/* Eight replicas of a GPU on each of two nodes; the second node is gone from 5 s to 15 s. */
#define LOST(what_)                                                                                \
  "cluster.nodes=2;faults=[{at: 5 s, until: 15 s, fault: {kind: node-lost, node: " what_ "}}];"
static const char lost[] =
    "%sworkload.replicas=16;workload.load={kind: poisson, rate: 20};workload.requests=500;" NO_FILES
    "workload.on-failure=%s;%s";

static void test_node_lost(void) {
  static const char *const kinds[] = {
      "",
      "workload.disaggregation={prefill: 4}",
      "workload.disaggregation={prefill: 12}",
      "workload.disaggregation={prefill: 4, transfer: per-layer}",
      "workload.disaggregation={prefill: 12, transfer: per-layer}",
      "workload.parallel.pp=2;workload.replicas=8",
      "workload.parallel.dp-attention=2;workload.replicas=8",
      "workload.router=kv-aware;workload.engine.prefix-caching=block-hash;"
      "workload.shared-prefix=300",
      "workload.engine.preemption=swap;workload.engine.kv-blocks=200"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *again = g_strdup_printf(lost, LOST("1"), "retry", kinds[i]),
                    *gone = g_strdup_printf(lost, LOST("1"), "fail", kinds[i]);
    g_autoptr(OrrOutcome) a = serving_run(again);
    g_autoptr(OrrOutcome) g = serving_run(gone);
    g_test_message("%s: %ld retried, %ld failed", kinds[i], (long)a->result.serving.retried,
                   (long)g->result.serving.failed);
    g_assert_cmpint(a->result.serving.retried, >, 0);
    g_autofree char *steps =
        g_strconcat("fidelity=full;", again, NULL); /* a loss cuts runs of steps where it is */
    g_autoptr(OrrOutcome) s = serving_run(steps);
    g_assert_true(a->result.serving.e2e.mean == s->result.serving.e2e.mean);
    g_assert_cmpint(a->result.serving.steps, ==, s->result.serving.steps);
    g_assert_cmpint(a->result.serving.failed, ==, 0);
    g_assert_cmpint(g->result.serving.failed, >, 0);
    g_assert_cmpint(g->result.serving.retried, ==, 0);
    if (i == 0) /* until then both runs are the same, and no request goes from lost to lost */
      g_assert_cmpint(a->result.serving.retried, ==, g->result.serving.failed);
    g_assert_cmpint(a->result.serving.starts, ==, strstr(kinds[i], "replicas=8") ? 4 : 8);
    check_books(a, 500);
    check_books(g, 500);
  }
}

/* Room that was taken at decoders for prompts that one prefill replica still has to compute is
 * lost with them. */
static void test_expected_lost(void) {
  g_autofree char *sets =
      g_strdup_printf(lost, LOST("1"), "retry",
                      "workload.disaggregation={prefill: 1, transfer: per-layer};"
                      "workload.load={kind: poisson, rate: 60}");
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpint(outcome->result.serving.retried, >, 0);
  check_books(outcome, 500);
}

/* Nodes that go on failing after the last request are not part of the run. */
static void test_over(void) {
  g_autofree char *sets = g_strdup_printf(
      lost, "cluster.nodes=2;faults=[{mtbf: 5 s, duration: 5 s, fault: {kind: node-lost}}];",
      "retry", "");
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpint(result->starts, >, 0);
  g_assert_cmpfloat(result->replicas_mean, <, 16);
  /* 8 of 16 are away 5 s in 10 s or so; no start can take longer than the run */
  g_assert_cmpfloat((double)result->starts, <=, 8 * (outcome->result.serving.duration_s / 5 + 2));
}

/* Both nodes gone: requests wait at the door until they are back. Gone for good, nobody is left
 * to take them. */
static void test_all_lost(void) {
  g_autofree char *until =
      g_strdup_printf(lost, "faults=[{at: 5 s, until: 15 s, fault: {kind: node-lost, node: 0}}];",
                      "retry", "workload.replicas=8");
  g_autofree char *for_good =
      g_strdup_printf(lost, "faults=[{at: 5 s, fault: {kind: node-lost, node: 0}}];", "retry",
                      "workload.replicas=8");
  g_autoptr(OrrOutcome) outcome = serving_run(until);
  double longest_s = 0;
  for (guint i = 0; i < outcome->serving_requests->len; i++)
    longest_s = fmax(longest_s, serving_request(outcome, i)->e2e_s);
  g_assert_cmpfloat(longest_s, >, 10);
  check_books(outcome, 500);
  serving_refused(for_good, "no replica is left that could take them");
  g_autofree char *scaling =
      g_strconcat(for_good, ";workload.autoscaling={by: queue, least: 8}", NULL);
  serving_refused(scaling, "no replica is left that could take them");
}

/* All GPUs at half their speed from the start: kernels take twice as long, collectives and hosts
 * do not. */
static void test_slow_gpu(void) {
  static const char one[] = "workload.requests=20;workload.load={kind: constant, rate: 0.2};%s";
  g_autofree char *usual = g_strdup_printf(one, ""),
                  *slow = g_strdup_printf(
                      one, "faults=[{fault: {kind: slow-gpu, gpu: 0, slower: 100 %}}]"),
                  *other = g_strdup_printf(
                      one, "faults=[{fault: {kind: slow-gpu, gpu: 1, slower: 100 %}}]");
  g_autoptr(OrrOutcome) u = serving_run(usual);
  g_autoptr(OrrOutcome) s = serving_run(slow);
  g_autoptr(OrrOutcome) o = serving_run(other);
  g_assert_cmpfloat_with_epsilon(s->result.serving.tpot.mean, 2 * u->result.serving.tpot.mean,
                                 1e-9);
  g_assert_cmpfloat_with_epsilon(o->result.serving.tpot.mean, u->result.serving.tpot.mean, 1e-12);
}

static void test_refused(void) {
  serving_refused("workload.replicas=4;workload.autoscaling={by: queue, least: 5};" NO_FILES,
                  "is above the 4 replicas");
  serving_refused("workload.autoscaling={by: slo};" NO_FILES, "needs slo.ttft");
  serving_refused("workload.autoscaling={by: queue}", "the cluster has none: give cluster.storage");
  serving_refused("workload.start={warm: false}", "the cluster has none: give cluster.storage");
  serving_refused("workload.start={weights: false, wake: 1 s}", "start.wake is for start.sleeps");
  serving_refused("workload.start={weights: false, sleeps: true}", "autoscaling.by: none");
  serving_refused("workload.autoscaling={by: quue}", "did you mean 'queue'");
  serving_refused("faults=[{at: 1 s, until: 2 s, fault: {kind: node-lost, node: 0}}]",
                  "whose node comes back");
  serving_refused("workload.autoscaling={by: queue, interval: 0 s}", "interval");
}

/* --- faults of links --- */

/* One prompt of 4,096 tokens with one token of output, over two stages of a node each. */
#define STAGES                                                                                     \
  "cluster.nodes=2;workload.parallel={tp: 8, pp: 2};workload.requests=1;workload.output={tokens: " \
  "1};workload.input={kind: constant, tokens: 4096};workload.load={kind: constant, rate: 1};"

static double first_token_s(const char *sets) {
  g_autofree char *all = g_strconcat(STAGES, sets, NULL);
  g_autoptr(OrrOutcome) outcome = serving_run(all);
  return serving_request(outcome, 0)->ttft_s;
}

/* The slowest of eight NICs sets the pace of a send between stages: one with a tenth of its rate
 * costs as much as eight. */
static void test_slow_nic(void) {
  const double built = first_token_s("cluster.node.nic-bandwidth=400 Gb/s"),
               one = first_token_s("faults=[{fault: {kind: nic, gpu: 3, bandwidth: 0.1}}]"),
               all = first_token_s("cluster.node.nic-bandwidth=40 Gb/s");
  g_assert_cmpfloat(all, >, 1.01 * built);
  g_assert_cmpfloat_with_epsilon(one, all, 1e-9 * all);
}

/* An engine begins no step while a NIC that it needs, or the leaf above it, is down: a prompt that
 * comes at 0 has its token 5 s later than otherwise. For good, it never has it. */
static void test_nic_down(void) {
  const double built = first_token_s("cluster.node.nic-bandwidth=400 Gb/s"),
               down = first_token_s("faults=[{until: 5 s, fault: {kind: nic, gpu: 3}}]"),
               leaf = first_token_s("faults=[{until: 5 s, fault: {kind: switch, name: leaf0}}]");
  g_assert_cmpfloat_with_epsilon(down, 5 + built, 1e-9);
  g_assert_cmpfloat_with_epsilon(leaf, 5 + built, 1e-9);
  serving_refused(STAGES "faults=[{fault: {kind: nic, gpu: 3}}]",
                  "took a link that its engine needs");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/fleet-life/cold-start", test_cold_start);
  g_test_add_func("/workloads/fleet-life/unfinished-starts", test_unfinished_starts);
  g_test_add_func("/workloads/fleet-life/cold-starts-share", test_cold_starts_share);
  g_test_add_func("/workloads/fleet-life/queue", test_queue);
  g_test_add_func("/workloads/fleet-life/slo", test_slo);
  g_test_add_func("/workloads/fleet-life/utilization", test_utilization);
  g_test_add_func("/workloads/fleet-life/all-are-least", test_all_are_least);
  g_test_add_func("/workloads/fleet-life/sleep", test_sleep);
  g_test_add_func("/workloads/fleet-life/routers", test_routers);
  g_test_add_func("/workloads/fleet-life/node-lost", test_node_lost);
  g_test_add_func("/workloads/fleet-life/expected-lost", test_expected_lost);
  g_test_add_func("/workloads/fleet-life/over", test_over);
  g_test_add_func("/workloads/fleet-life/all-lost", test_all_lost);
  g_test_add_func("/workloads/fleet-life/slow-gpu", test_slow_gpu);
  g_test_add_func("/workloads/fleet-life/refused", test_refused);
  g_test_add_func("/workloads/serving/life/slow-nic", test_slow_nic);
  g_test_add_func("/workloads/serving/life/nic-down", test_nic_down);
  return g_test_run();
}

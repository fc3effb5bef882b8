/*
 * test_regions.c - a fleet in several regions: the way there and back, whom the router sends where,
 * by hand and by Erlang's formula, a region that is lost, days that are later, and what is refused.
 */
#include "tests/workloads/serving/serving_fixture.h"

/* An engine on each of two nodes, the first in a and the second in b, 80 ms apart. */
#define TWO                                                                                        \
  "cluster.nodes=2;workload.parallel.tp=8;workload.input={tokens: 64};workload.output={tokens: "   \
  "8};workload.groups=[{replicas: 1, parallel: {tp: 8}, region: b}];"                              \
  "workload.regions=[{name: a}, {name: b}];"                                                       \
  "workload.between-regions.round-trips=[{from: a, to: b, time: 80 ms}];"
#define FROM_A "workload.regions=[{name: a}, {name: b, share: 0}];"
#define TOGETHER "workload.load={kind: closed-loop, concurrency: 6};"

#define CLOSE(a_, b_) g_assert_cmpfloat_with_epsilon(a_, b_, 1e-6)

static const OrrServingRegionRow *region(const OrrOutcome *outcome, guint i) {
  return &g_array_index(outcome->serving_regions, OrrServingRegionRow, i);
}

/* All requests come from one place and are served in one, whatever the regions. */
static void conserve(const OrrOutcome *outcome, gint64 n) {
  const OrrServingRegionRow *a = region(outcome, 0), *b = region(outcome, 1);
  g_assert_cmpint(a->completed + b->completed + a->rejected + b->rejected + a->failed + b->failed,
                  ==, n);
  g_assert_cmpint(a->served + b->served, ==, outcome->result.serving.completed);
  g_assert_cmpint(a->completed + b->completed, ==, outcome->result.serving.completed);
  g_assert_cmpint(a->served, ==, a->completed - a->away + b->away);
  g_assert_cmpint(a->rejected + b->rejected, ==, outcome->result.serving.rejected);
  g_assert_cmpint(a->failed + b->failed, ==, outcome->result.serving.failed);
  g_assert_cmpfloat(outcome->result.serving.littles_law_error, <, 1e-9);
}

/* By hand: engines in a, clients in b. A request takes a round trip more, and at 64 tokens of 8 B
 * over 2 MB/s 256 us more; its queue and its gaps are as before. */
static void test_far(void) {
#define SIX                                                                                        \
  "workload.input={tokens: 64};workload.output={tokens: 8};workload.load={kind: constant, rate: "  \
  "1};workload.requests=6;"
#define FAR                                                                                        \
  SIX "workload.regions=[{name: a, share: 0}, {name: b}];workload.between-regions={round-trips: "  \
      "[{from: b, to: a, time: 80 ms, bandwidth: 2 MB/s}], token-bytes: 8 B}"
  g_autoptr(OrrOutcome) here = serving_run(SIX);
  g_autoptr(OrrOutcome) far = serving_run(FAR);
  g_assert_cmpuint(here->serving_regions->len, ==, 0);
  for (guint i = 0; i < 6; i++) {
    const OrrServingRequestRow *a = serving_request(here, i), *b = serving_request(far, i);
    CLOSE(b->arrival_s, a->arrival_s);
    CLOSE(b->ttft_s, a->ttft_s + 0.08 + 256e-6);
    CLOSE(b->e2e_s, a->e2e_s + 0.08 + 256e-6);
    CLOSE(b->queue_s, a->queue_s);
    CLOSE(b->tpot_s, a->tpot_s);
    CLOSE(b->network_s, 0.08 + 256e-6);
    g_assert_cmpstr(b->from_region, ==, "b");
    g_assert_cmpstr(b->in_region, ==, "a");
    g_assert_true(isnan(a->network_s) && !a->from_region);
  }
  g_assert_cmpint(region(far, 1)->away, ==, 6);
  CLOSE(far->result.serving.itl.mean, here->result.serving.itl.mean);
}

/* A client's next request comes when it has seen the last token, and from the same place. */
static void test_client(void) {
#define ONE                                                                                        \
  "workload.input={tokens: 64};workload.output={tokens: 8};workload.load={kind: closed-loop, "     \
  "concurrency: 1};workload.requests=5;"
  g_autoptr(OrrOutcome) here = serving_run(ONE);
  g_autoptr(OrrOutcome) far =
      serving_run(ONE "workload.regions=[{name: a}];workload.between-regions.round-trips="
                      "[{from: a, to: a, time: 20 ms}]");
  const double each_s = serving_request(here, 0)->e2e_s + 0.02;
  for (guint i = 0; i < 5; i++) {
    CLOSE(serving_request(far, i)->e2e_s, each_s);
    CLOSE(serving_request(far, i)->arrival_s, i * each_s);
  }
  g_autoptr(OrrOutcome) two =
      serving_run(TWO "workload.requests=20;workload.load={kind: closed-loop, concurrency: 1}");
  for (guint i = 0; i < 20; i++)
    g_assert_cmpstr(serving_request(two, i)->from_region, ==, serving_request(two, 0)->from_region);
}

/* Six requests of clients in a, at once. */
static void check_replicas(const OrrOutcome *outcome, const char *wanted) {
  for (guint i = 0; i < strlen(wanted); i++)
    g_assert_cmpint(serving_request(outcome, i)->in_region[0], ==, wanted[i]);
}

/* By hand: two and two, the nearest first; where all are full the others go to the nearest. With
 * a router that sees all of them they alternate. */
static void test_spill(void) {
  g_autoptr(OrrOutcome) near = serving_run(TWO FROM_A TOGETHER "workload.requests=6");
  g_autoptr(OrrOutcome) spill =
      serving_run(TWO FROM_A TOGETHER "workload.requests=6;workload.between-regions.spill-at="
                                      "2");
  g_autoptr(OrrOutcome) any =
      serving_run(TWO FROM_A TOGETHER "workload.requests=6;workload.router=least-loaded;"
                                      "workload.between-regions.order=any");
  g_autoptr(OrrOutcome) waiting = serving_run(
      TWO FROM_A TOGETHER
      "workload.requests=6;workload.between-regions.spill-by=waiting;workload.between-regions."
      "spill-at=2");
  g_autoptr(OrrOutcome) blocks = serving_run(
      TWO FROM_A TOGETHER
      "workload.requests=6;workload.between-regions.spill-by=kv-blocks;workload.between-regions."
      "spill-at=12");
  check_replicas(near, "aaaaaa");
  check_replicas(waiting, "aabbbb"); /* on its way a request neither waits nor holds blocks */
  check_replicas(blocks, "aaabbb");  /* 64 tokens are four blocks */
  check_replicas(spill, "aabbaa");
  check_replicas(any, "ababab");
  CLOSE(serving_request(spill, 2)->queue_s, 0);
  CLOSE(serving_request(spill, 2)->network_s, 0.08);
  CLOSE(serving_request(spill, 0)->network_s, 0);
  g_assert_cmpint(region(spill, 0)->away, ==, 2);
  conserve(near, 6);
  conserve(spill, 6);
  conserve(any, 6);
}

/* By hand: two places in each region. The last two requests wait at the router until region a, 20
 * ms from its clients, is done with the first two, 10 ms before these see their last token. Then
 * they go there, and take as long to a first token as the first two. */
static void test_places(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      TWO FROM_A TOGETHER "workload.requests=6;workload.admission.in-flight=2;workload.between-"
                          "regions.round-trips=[{from: a, to: b, time: 80 ms}, {from: a, to: a, "
                          "time: 20 ms}]");
  const OrrServingRequestRow *first = serving_request(outcome, 0);
  check_replicas(outcome, "aabbaa");
  for (guint i = 4; i < 6; i++) {
    const OrrServingRequestRow *last = serving_request(outcome, i);
    CLOSE(last->ttft_s, first->e2e_s - 0.01 + first->ttft_s);
    CLOSE(last->queue_s, first->e2e_s - 0.01);
  }
  conserve(outcome, 6);
}

/* By hand: region b is lost after 20 ms, with two requests 20 ms from it: they set out again, to a,
 * which is at their clients. */
static void test_lost_on_the_way(void) {
#define LOST                                                                                       \
  TWO FROM_A TOGETHER "workload.requests=4;workload.output={tokens: 50};"                          \
                      "workload.between-regions.spill-at=2;"                                       \
                      "faults=[{at: 20 ms, fault: {kind: node-lost, node: 1}}];"
  g_autoptr(OrrOutcome) outcome = serving_run(LOST);
  g_autoptr(OrrOutcome) fails = serving_run(LOST "workload.on-failure=fail");
  check_replicas(outcome, "aaaa");
  g_assert_cmpint(outcome->result.serving.retried, ==, 2);
  for (guint i = 2; i < 4; i++) {
    const OrrServingRequestRow *row = serving_request(outcome, i);
    g_assert_cmpfloat(row->ttft_s, >, 0.02);
    CLOSE(row->network_s, 0.04); /* half of the way to b */
  }
  conserve(outcome, 4);
  conserve(fails, 4);
  g_assert_cmpint(region(fails, 0)->failed, ==, 2);
}

/* One request of a client in a, 20 ms from its region, which is lost: what its client has seen
 * stays, and the rest comes from b, 80 ms away. The gaps that it sees add up to the time between
 * the first token, which came from a, and the last. */
static void test_lost_and_resumed(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      TWO FROM_A TOGETHER "workload.requests=1;workload.output={tokens: 200};workload.between-"
                          "regions.round-trips=[{from: a, to: b, time: 80 ms}, {from: a, to: a, "
                          "time: 20 ms}];faults=[{at: 200 ms, fault: {kind: node-lost, node: 0}}]");
  g_autoptr(OrrOutcome) whole = serving_run(
      TWO FROM_A TOGETHER "workload.requests=1;workload.output={tokens: 200};workload.between-"
                          "regions.round-trips=[{from: a, to: b, time: 80 ms}, {from: a, to: a, "
                          "time: 20 ms}]");
  const OrrServingRequestRow *row = serving_request(outcome, 0);
  g_assert_cmpstr(row->in_region, ==, "b");
  CLOSE(row->ttft_s, serving_request(whole, 0)->ttft_s);
  g_assert_cmpfloat(row->e2e_s, >, serving_request(whole, 0)->e2e_s + 0.04 + 0.03);
  CLOSE(199 * outcome->result.serving.itl.mean, row->e2e_s - row->ttft_s);
}

/* A region that is lost while it serves: all its requests go on in the other one. */
static void test_lost(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(TWO "workload.output={tokens: 200};workload.load={kind: poisson, rate: 20};"
                      "faults=[{at: 5 s, fault: {kind: node-lost, node: 1}}]");
  g_assert_cmpint(outcome->result.serving.retried, >, 0);
  for (guint i = 0; i < 400; i++)
    if (serving_request(outcome, i)->arrival_s > 5)
      g_assert_cmpstr(serving_request(outcome, i)->in_region, ==, "a");
  conserve(outcome, 400);
}

/* Parts of the load: 2/3 of 2,000 within four standard deviations. Without spilling, and with the
 * regions far apart, each serves its own. */
static void test_shares(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(TWO "workload.regions=[{name: a, share: 2}, {name: b}];workload.requests=2000;"
                      "workload.load={kind: poisson, rate: 50}");
  const double n = (double)region(outcome, 0)->completed;
  g_assert_cmpfloat(fabs(n - 2000 * 2 / 3.0), <, 4 * sqrt(2000 * 2 / 9.0));
  g_assert_cmpint(region(outcome, 0)->away + region(outcome, 1)->away, ==, 0);
  conserve(outcome, 2000);
}

/* Each region takes its turns by itself, however clients of both alternate. */
static void test_turns(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      TWO "cluster.nodes=4;workload.replicas=2;workload.groups=[{replicas: 2, parallel: {tp: 8}, "
          "region: b}]");
  gint64 n[4];
  for (guint i = 0; i < 4; i++)
    n[i] = g_array_index(outcome->serving_replicas, OrrServingReplicaRow, i).requests;
  g_assert_cmpint(ABS(n[0] - n[1]), <=, 1);
  g_assert_cmpint(ABS(n[2] - n[3]), <=, 1);
  conserve(outcome, 400);
}

/* Each region is scaled by its own load: a grows as it does alone, and b, which has no clients,
 * keeps one of its three replicas. With two places in each replica requests wait for a, or go to
 * b's first; those that wait are a's load. */
static void test_scaling(void) {
#define SCALES                                                                                     \
  "workload.parallel.tp=8;workload.input={tokens: 64};workload.output={tokens: 200};"              \
  "workload.load={kind: poisson, rate: 20};workload.start={overhead: 2 s, weights: false};"        \
  "workload.autoscaling={by: {kind: queue, target: 4}, interval: 1 s, down-after: 5 s};"           \
  "workload.router=least-loaded;workload.replicas=3;"
#define SIX_NODES                                                                                  \
  TWO FROM_A SCALES "cluster.nodes=6;workload.groups=[{replicas: 3, parallel: {tp: 8}, region: "   \
                    "b}];"
  g_autoptr(OrrOutcome) alone = serving_run(SCALES "cluster.nodes=3");
  g_autoptr(OrrOutcome) both = serving_run(SIX_NODES);
  g_autoptr(OrrOutcome) full = serving_run(SIX_NODES "workload.admission.in-flight=2");
  g_autoptr(OrrOutcome) any = serving_run(SIX_NODES "workload.between-regions.order=any");
  g_assert_cmpint(alone->result.serving.starts, >, 1);
  g_assert_cmpint(both->result.serving.starts, ==, alone->result.serving.starts);
  for (guint i = 0; i < 400; i++) {
    g_assert_cmpint(serving_request(both, i)->replica, ==, serving_request(alone, i)->replica);
    CLOSE(serving_request(both, i)->ttft_s, serving_request(alone, i)->ttft_s);
  }
  ORR_EACH(const OrrServingTurnRow, turn, both->serving_turns)
    g_assert_false(turn->replica > 3 && strcmp(turn->state, "starting") == 0);
  ORR_EACH(const OrrServingTurnRow, turn, full->serving_turns)
    g_assert_false(turn->replica > 3 && strcmp(turn->state, "starting") == 0);
  g_assert_cmpint(full->result.serving.starts, >=, 2);
  g_assert_cmpint(any->result.serving.starts, >, alone->result.serving.starts);
  conserve(both, 400);
  conserve(full, 400);
  conserve(any, 400);
}

static double erlang_b(guint places, double a) {
  double b = 1;
  for (guint c = 1; c <= places; c++) b = a * b / (c + a * b);
  return b;
}

/* Four places in each region, clients in a, no queue. A place is taken from when a request sets
 * out, 10 s before it arrives. Requests that find all eight taken are rejected: B(8, a); those that
 * find a's four taken go to b: B(4, a) (Erlang 1917: places tried in order), of any distribution of
 * service. Steps of 1 s, as in test_router.c. */
static void test_erlang(void) {
  enum { N = 40000 };
  g_autoptr(OrrOutcome) outcome = serving_run(
      TWO FROM_A "workload.engine={max-num-seqs: 8, kv-blocks: 100000, eager-prefill: false, host: "
                 "{step: 1 s}};workload.input={tokens: 1};workload.output={tokens: 100};"
                 "workload.requests=40000;workload.metrics.request-rows=0;"
                 "workload.load={kind: poisson, rate: 0.06};"
                 "workload.admission={in-flight: 4, queue: 0};workload.between-regions.round-trips="
                 "[{from: a, to: b, time: 20 s}, {from: a, to: a, time: 20 s}]");
  const OrrServingResult *result = &outcome->result.serving;
  const double a = 0.06 * (result->e2e.mean - 10), all = erlang_b(8, a), first = erlang_b(4, a);
  const double rejected = (double)result->rejected / N;
  const double spilled = (double)region(outcome, 0)->away / N;
  g_test_message("rejected %.4f, B(8, %.2f) = %.4f; served in b %.4f, B(4) - B(8) = %.4f", rejected,
                 a, all, spilled, first - all);
  g_assert_cmpfloat(fabs(rejected - all), <, 0.03 * all + 4 * sqrt(all / N));
  g_assert_cmpfloat(fabs(spilled - (first - all)), <, 0.03 * first + 4 * sqrt(first / N));
  conserve(outcome, N);
}

/* Days half a period apart: the load of both together is even, and the fraction of a's requests in
 * the middle half of the period is 1/2 + swing/pi. */
static void test_days(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(TWO "workload.regions=[{name: a}, {name: b, later: 50 s}];"
                      "workload.load={kind: diurnal, rate: 40, swing: 1, period: 100 s};"
                      "workload.output={tokens: 1};workload.requests=4000");
  guint n = 0, middle = 0, all_middle = 0;
  for (guint i = 0; i < 4000; i++) {
    const OrrServingRequestRow *row = serving_request(outcome, i);
    const double day = fmod(row->arrival_s, 100);
    const gboolean is_middle = day >= 25 && day < 75;
    all_middle += is_middle;
    n += row->from_region[0] == 'a';
    middle += is_middle && row->from_region[0] == 'a';
  }
  g_test_message("%u of a's %u, %u of 4000 in the middle", middle, n, all_middle);
  g_assert_cmpfloat(fabs(n - 2000.0), <, 4 * sqrt(1000));
  g_assert_cmpfloat(fabs(all_middle - 2000.0), <, 4 * sqrt(1000));
  g_assert_cmpfloat(fabs(middle / (double)n - (0.5 + 1 / G_PI)), <, 0.035);
}

/* Conversations stay in their region, and find their cache there. */
static void test_conversations(void) {
#define TALK                                                                                       \
  TWO "workload.engine.prefix-caching=block-hash;workload.requests=400;"                           \
      "workload.load={kind: sessions, rate: 4, turns: 8, think: 2 s};"
  g_autoptr(OrrOutcome) near = serving_run(TALK);
  g_autoptr(OrrOutcome) any = serving_run(TALK "workload.between-regions.order=any");
  g_autoptr(OrrOutcome) affine =
      serving_run(TALK "workload.between-regions.order=any;workload.router=session-affinity");
  g_test_message("hits %.3f near, %.3f any, %.3f with affinity",
                 near->result.serving.prefix_hit_rate, any->result.serving.prefix_hit_rate,
                 affine->result.serving.prefix_hit_rate);
  g_assert_cmpfloat(near->result.serving.prefix_hit_rate, >,
                    1.2 * any->result.serving.prefix_hit_rate);
  g_assert_cmpfloat_with_epsilon(near->result.serving.prefix_hit_rate,
                                 affine->result.serving.prefix_hit_rate, 0.03);
  conserve(near, 400);
}

/* A region whose energy costs twice as much pays for it; both add up to the answer's. */
static void test_money(void) {
#define PAID                                                                                       \
  TWO "prices={currency: EUR, kwh: 0.1, carbon-grams-per-kwh: 400};"                               \
      "workload.regions=[{name: a, kwh: 0.2, share: 3}, {name: b, carbon-grams-per-kwh: 40}];"
  g_autoptr(OrrOutcome) outcome = serving_run(PAID);
  const OrrServingResult *result = &outcome->result.serving;
  const OrrServingRegionRow *a = region(outcome, 0), *b = region(outcome, 1);
  const double hours = result->duration_s / 3600;
  g_assert_cmpfloat(a->gpu_energy_j, >, b->gpu_energy_j);
  CLOSE(a->energy_cost / b->energy_cost, 2 * a->gpu_energy_j / b->gpu_energy_j);
  CLOSE(a->carbon_kg / b->carbon_kg, 10 * a->gpu_energy_j / b->gpu_energy_j);
  CLOSE((a->energy_cost + b->energy_cost) / (result->money.energy_per_gpu_hour * 16 * hours), 1);
  CLOSE((a->carbon_kg + b->carbon_kg) / (result->money.carbon_kg_per_day * hours / 24), 1);
  g_assert_cmpfloat_with_epsilon((a->gpu_energy_j + b->gpu_energy_j) /
                                     (result->gpu_power_mean_w * result->duration_s),
                                 1, 0.01); /* the run begins before its first request */
}

static void test_refused(void) {
  serving_refused(TWO "workload.groups=[{parallel: {tp: 8}, region: c}]",
                  "groups: unknown region 'c' (allowed: a, b)");
  serving_refused("workload.groups=[{region: c}]", "the workload has no regions");
  serving_refused(TWO "workload.regions=[{name: a}, {name: a}]", "two regions are named 'a'");
  serving_refused(TWO "workload.regions=[{name: a, share: 0}, {name: b, share: 0}]",
                  "no region has clients");
  serving_refused(TWO "workload.regions=[{name: a}, {name: b, later: 1 h}]",
                  "region b is later, but the rate of load poisson does not follow");
  serving_refused(TWO "workload.between-regions={}", "nothing is given between a");
  serving_refused(TWO "workload.between-regions.round-trips=[{from: a, to: b, time: 1 s}, {from: "
                      "b, to: a, time: 2 s}]",
                  "b and a are given twice");
  serving_refused(TWO "workload.between-regions.round-trips=[{from: a, to: x, time: 1 s}]",
                  "unknown region 'x'");
  serving_refused(TWO "workload.parallel.tp=4;workload.groups=[{parallel: {tp: 4}, region: b}]",
                  "node 0 has replicas of a and of b");
  serving_refused(TWO "workload.disaggregation.prefill=1",
                  "regions and disaggregation exclude each other");
  serving_refused(TWO "workload.autoscaling={by: queue};workload.start.weights=false;cluster.nodes="
                      "3;workload.groups=[{parallel: {tp: 8}, region: b}, {parallel: {tp: 8}}]",
                  "between those in a there is one in another region");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/regions/far", test_far);
  g_test_add_func("/workloads/regions/client", test_client);
  g_test_add_func("/workloads/regions/spill", test_spill);
  g_test_add_func("/workloads/regions/places", test_places);
  g_test_add_func("/workloads/regions/lost-on-the-way", test_lost_on_the_way);
  g_test_add_func("/workloads/regions/lost-and-resumed", test_lost_and_resumed);
  g_test_add_func("/workloads/regions/lost", test_lost);
  g_test_add_func("/workloads/regions/shares", test_shares);
  g_test_add_func("/workloads/regions/turns", test_turns);
  g_test_add_func("/workloads/regions/scaling", test_scaling);
  g_test_add_func("/workloads/regions/erlang", test_erlang);
  g_test_add_func("/workloads/regions/days", test_days);
  g_test_add_func("/workloads/regions/conversations", test_conversations);
  g_test_add_func("/workloads/regions/money", test_money);
  g_test_add_func("/workloads/regions/refused", test_refused);
  return g_test_run();
}

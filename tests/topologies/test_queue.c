/*
 * test_queue.c - fluids against closed forms: an incast, unfair ports, strangers behind a pause, a
 * storm, DCQCN's fixed point, credits.
 */
#include "topologies/queue_model.h"

#include <math.h>

#include "topologies/fabric.h"

#define G40 5e9 /* 40 Gb/s */
#define MOST 32

typedef struct {
  double bandwidth[MOST];
  guint32 routes[MOST][8];
  OrrQueueFlow flows[MOST];
  guint n_flows;
  OrrQueueParams params;
} Case;

static double bandwidth(gconstpointer data, guint32 link) {
  return ((const Case *)data)->bandwidth[link];
}

static void case_init(Case *it) {
  *it = (Case){.params = {.xoff_bytes = 96e3, .xon_bytes = 48e3}};
  for (guint i = 0; i < MOST; i++) it->bandwidth[i] = G40;
}

/* The route ends before the first link that is 0, except at its head. */
static void add(Case *it, double bytes, const guint32 route[8]) {
  OrrQueueFlow *flow = &it->flows[it->n_flows];
  guint n = 1;
  while (n < 8 && route[n]) n++;
  memcpy(it->routes[it->n_flows], route, n * sizeof *route);
  *flow = (OrrQueueFlow){it->routes[it->n_flows], n, bytes, 0};
  it->n_flows++;
}
#define ADD(it_, bytes_, ...) add(it_, bytes_, (const guint32[8]){__VA_ARGS__})

static OrrQueueResult *solve(const Case *it, const char *name) {
  const OrrChoice choice = {orr_registry_find(&orr_queue_registry, name), (gpointer)&it->params};
  return orr_queue_model_solve(&choice, it->flows, it->n_flows, bandwidth, it);
}

static const OrrQueueLink *facts_of(const OrrQueueResult *result, guint32 link) {
  for (guint i = 0; i < result->links->len; i++)
    if (g_array_index(result->links, guint32, i) == link) return &result->facts[i];
  g_assert_not_reached();
}

static void assert_near(double value, double wanted, double tolerance) {
  if (fabs(value - wanted) > tolerance * wanted) g_test_message("%g, expected %g", value, wanted);
  g_assert_cmpfloat(fabs(value - wanted), <=, tolerance * wanted);
}

/* The rate of a long flow while all run: its bytes by the time that the first flow ends is not
 * kept, so the flow under test has few bytes and ends first. */
static double rate_of(const Case *it, const char *name, guint flow) {
  g_autoptr(OrrQueueResult) result = solve(it, name);
  g_assert_false(result->is_stuck);
  return it->flows[flow].bytes / result->finish_s[flow];
}

/* Links 1 to 8 are senders, 9 the receiver. */
static void incast(Case *it, guint n, double bytes) {
  case_init(it);
  for (guint i = 1; i <= n; i++) ADD(it, bytes, i, 9);
}

/* Eight senders to one receiver: all end after 8 S / C, each is paused 7/8 of the time, and the
 * queue holds between 8 xon and 8 xoff and what comes in a step (an eighth of xoff each). */
static void test_incast(void) {
  Case it;
  incast(&it, 8, 50e6);
  g_autoptr(OrrQueueResult) result = solve(&it, "pfc");
  for (guint i = 0; i < 8; i++) assert_near(result->finish_s[i], 8 * 50e6 / G40, 0.02);
  for (guint32 i = 1; i <= 8; i++)
    assert_near(facts_of(result, i)->paused_s / result->last_s, 7 / 8., 0.03);
  const double peak = facts_of(result, 9)->peak_bytes;
  g_assert_cmpfloat(peak, >=, 8 * it.params.xon_bytes);
  g_assert_cmpfloat(peak, <=, 9.01 * it.params.xoff_bytes);
  g_assert_false(result->is_rough);
}

static void test_alone(void) {
  Case it;
  case_init(&it);
  ADD(&it, 10e6, 1, 2, 3);
  ADD(&it, 0, 4, 5);
  g_autoptr(OrrQueueResult) result = solve(&it, "pfc");
  assert_near(result->finish_s[0], 10e6 / G40, 0.01);
  g_assert_cmpfloat(result->finish_s[1], <, 1e-4);
  g_assert_cmpfloat(facts_of(result, 1)->paused_s, ==, 0);
}

/* Twice the bandwidth, bytes and thresholds: the same times. */
static void test_scales(void) {
  Case a, b;
  incast(&a, 5, 20e6);
  incast(&b, 5, 40e6);
  for (guint i = 0; i < MOST; i++) b.bandwidth[i] *= 2;
  b.params.xoff_bytes *= 2;
  b.params.xon_bytes *= 2;
  g_autoptr(OrrQueueResult) first = solve(&a, "pfc"), second = solve(&b, "pfc");
  assert_near(second->last_s, first->last_s, 0.005);
}

/* Zhu et al., SIGCOMM 2015, figure 3: three senders arrive over one port of the last switch, the
 * fourth over its own: 20 Gb/s, not 10. */
static void test_unfair_ports(void) {
  Case it;
  case_init(&it);
  for (guint32 i = 1; i <= 3; i++) ADD(&it, 100e6, i, 5, 6);
  ADD(&it, 20e6, 4, 6);
  assert_near(rate_of(&it, "pfc", 3), G40 / 2, 0.03);
}

enum { VICTIM, UP_A = 6, UP_B, DOWN_A, DOWN_B, LAST_A, LAST_B, RECEIVER, OTHER_LEAF, OTHER };

/* The same, figure 4. Senders 1 to 4 use two uplinks of their switch to a far receiver; a victim
 * (sender 5) shares the first uplink and goes elsewhere. With @more, two senders behind the last
 * leaves join. */
static void victim(Case *it, gboolean more) {
  case_init(it);
  ADD(it, 20e6, 5, UP_A, OTHER_LEAF, OTHER);
  for (guint32 i = 1; i <= 4; i++) {
    const gboolean first = i <= 2;
    ADD(it, 400e6, i, first ? UP_A : UP_B, first ? DOWN_A : DOWN_B, first ? LAST_A : LAST_B,
        RECEIVER);
  }
  if (!more) return;
  ADD(it, 400e6, 20, LAST_A, RECEIVER);
  ADD(it, 400e6, 21, LAST_B, RECEIVER);
}

/* By the ports: the receiver's 40 Gb/s are 20 for each last link, 10 for each sender, and the
 * victim next to them gets as much; with two more senders, a last link's 20 are 10 for the port
 * that the others come from, 5 for each sender. Measured: 10 and 4.5 (from memory). Fair: 20. */
static void test_victim(void) {
  Case it;
  victim(&it, FALSE);
  assert_near(rate_of(&it, "pfc", VICTIM), G40 / 4, 0.06);
  victim(&it, TRUE);
  assert_near(rate_of(&it, "pfc", VICTIM), G40 / 8, 0.06);
}

/* A receiver that takes 1 Gb/s pauses the link that leads to it, and a stranger on that link gets
 * the same 1 Gb/s. */
static void test_storm(void) {
  Case it;
  case_init(&it);
  it.bandwidth[8] = G40 / 40;
  ADD(&it, 200e6, 1, 3, 8);
  ADD(&it, 5e6, 2, 3, 9);
  assert_near(rate_of(&it, "pfc", 1), G40 / 40, 0.06);
}

static void dcqcn_params(Case *it) { /* of the paper, at 40 Gb/s */
  it->params = (OrrQueueParams){.xoff_bytes = 400e3,
                                .xon_bytes = 200e3,
                                .rtt_s = 4e-6,
                                .kmin_bytes = 5e3,
                                .kmax_bytes = 200e3,
                                .pmax = 0.01,
                                .gain = 1 / 256.,
                                .cnp_s = 50e-6,
                                .timer_s = 55e-6,
                                .counter_bytes = 10e6,
                                .increase_bytes_per_s = 5e6,
                                .mtu_bytes = 1024};
}

/* Under DCQCN the victim has its fair 20 Gb/s again: senders leave the paused regime. */
static void test_dcqcn_spares_strangers(void) {
  Case it;
  victim(&it, FALSE);
  dcqcn_params(&it);
  it.flows[VICTIM].bytes = 200e6;
  for (guint i = 1; i < it.n_flows; i++) it.flows[i].bytes = 4e9;
  assert_near(rate_of(&it, "dcqcn", VICTIM), G40 / 2, 0.15);
}

/* "ECN or Delay", theorem 1, for N = 8: p^3 = R_AI N^2 / (tau C^2) (1/B + N/(T C))^2 in packets.
 * R_AI 4,883, C 4.88e6, B 9,766 packets: p = 0.62 %, a queue of kmin + 0.62 195 KB = 126 KB. */
static void test_dcqcn_fixed_point(void) {
  Case it;
  incast(&it, 8, 400e6);
  dcqcn_params(&it);
  const double packet = it.params.mtu_bytes, c = G40 / packet, n = 8, tau = it.params.cnp_s;
  const double per = packet / it.params.counter_bytes + n / (it.params.timer_s * c);
  const double p =
      cbrt(it.params.increase_bytes_per_s / packet * n * n / (tau * c * c) * per * per);
  g_autoptr(OrrQueueResult) result = solve(&it, "dcqcn");
  const OrrQueueLink *last = facts_of(result, 9);
  g_test_message("p %g, marked %g", p, last->marked_bytes / last->bytes);
  assert_near(last->marked_bytes / last->bytes, p, 0.3);
  for (guint i = 0; i < 8; i++) assert_near(result->finish_s[i], 8 * 400e6 / G40, 0.03);
}

/* Receivers grant 98 %: 8 S / (0.98 C); the queue holds what seven senders sent unasked; nobody is
 * paused. */
static void test_credit(void) {
  Case it;
  incast(&it, 8, 50e6);
  it.params = (OrrQueueParams){
      .xoff_bytes = 400e3, .xon_bytes = 200e3, .credit_fraction = 0.98, .unsolicited_bytes = 40e3};
  g_autoptr(OrrQueueResult) result = solve(&it, "credit");
  assert_near(result->last_s, 8 * 50e6 / (0.98 * G40), 0.02);
  assert_near(facts_of(result, 9)->peak_bytes, 7 * 40e3, 0.3);
  for (guint32 i = 1; i <= 8; i++) g_assert_cmpfloat(facts_of(result, i)->paused_s, ==, 0);
}

/* A sender that begins later has its receiver to itself until then. */
static void test_start(void) {
  Case it;
  incast(&it, 2, 50e6);
  it.flows[1].start_s = 20e-3;
  g_autoptr(OrrQueueResult) result = solve(&it, "pfc");
  assert_near(result->finish_s[0], 50e6 / G40, 0.01);
  assert_near(result->finish_s[1], 20e-3 + 50e6 / G40, 0.01);
}

/* Four switches in a ring, each flow over two of its links: pauses may wait for each other. Either
 * all flows end, or the result says that they do not. */
static void test_ring_ends(void) {
  Case it;
  case_init(&it);
  for (guint32 i = 0; i < 4; i++) ADD(&it, 50e6, 10 + i, 1 + i, 1 + (i + 1) % 4, 20 + (i + 2) % 4);
  g_autoptr(OrrQueueResult) result = solve(&it, "pfc");
  g_assert_true(result->is_stuck || result->last_s >= 2 * 50e6 / G40 * 0.98);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/queue/alone", test_alone);
  g_test_add_func("/queue/incast", test_incast);
  g_test_add_func("/queue/scales", test_scales);
  g_test_add_func("/queue/unfair-ports", test_unfair_ports);
  g_test_add_func("/queue/victim", test_victim);
  g_test_add_func("/queue/storm", test_storm);
  g_test_add_func("/queue/dcqcn-spares-strangers", test_dcqcn_spares_strangers);
  g_test_add_func("/queue/dcqcn-fixed-point", test_dcqcn_fixed_point);
  g_test_add_func("/queue/credit", test_credit);
  g_test_add_func("/queue/start", test_start);
  g_test_add_func("/queue/ring-ends", test_ring_ends);
  return g_test_run();
}

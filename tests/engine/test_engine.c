/*
 * Both engines: closed forms of max-min sharing, and of links that change or fail midway.
 */
#include "tests/engine/engine_fixture.h"

/* Two flows on a link of 1 G/s: half each. 1 G ends at 2 s; the other has sent 1 of its 2 G
 * then, and the rest alone at 1 G/s: 3 s. */
static void two_flows(gconstpointer data) {
  (void)data;
  open_engine(ORR_ENGINE_SIMGRID, 1, (double[]){G});
  send(0, 1 * G, USES({0, 1}));
  send(1, 2 * G, USES({0, 1}));
  run();
  assert_near(watches[0].at_s, 2, 1e-15);
  assert_near(watches[1].at_s, 3, 1e-15);
  assert_near(orr_engine_link_bytes(engine, 0), 3 * G, 1e-15);
  g_assert_cmpuint(orr_engine_n_events(engine), ==, 2);
  close_engine();
}

/* A on links 0 (10 G/s) and 1 (6 G/s), B on 0, C on 1. Link 1 is the first bottleneck: A = C =
 * 3; B has what A leaves of link 0: 7. A (3 G) ends at 1 s. Then C, 3 of 6 G sent, has 6 G/s:
 * 1.5 s; B, 7 of 14 G sent, has 10 G/s: 1.7 s. */
static void chain(gconstpointer data) {
  (void)data;
  open_engine(ORR_ENGINE_SIMGRID, 2, (double[]){10 * G, 6 * G});
  send(0, 3 * G, USES({0, 1}, {1, 1}));
  send(1, 14 * G, USES({0, 1}));
  send(2, 6 * G, USES({1, 1}));
  run();
  assert_near(watches[0].at_s, 1, 1e-15);
  assert_near(watches[1].at_s, 1.7, 1e-15);
  assert_near(watches[2].at_s, 1.5, 1e-15);
  close_engine();
}

/* Weight 2 on a link of 10 G/s, 1 on one of 8: the rate is min(10 / 2, 8 / 1) = 5 G/s; 10 G take
 * 2 s and load the links with 20 and 10 G. */
static void weights(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 2, (double[]){10 * G, 8 * G});
  send(0, 10 * G, USES({0, 2}, {1, 1}));
  run();
  assert_near(watches[0].at_s, 2, 1e-15);
  assert_near(orr_engine_link_bytes(engine, 0), 20 * G, 1e-15);
  assert_near(orr_engine_link_bytes(engine, 1), 10 * G, 1e-15);
  close_engine();
}

/* Weights 3 and 1 on a link of 8 G/s: equal rates r, not equal shares: 3 r + r = 8, r = 2 G/s. 2
 * G end at 1 s (weight 3); the other, 2 of 10 G sent, then has 8 G/s: 2 s. */
static void shared_weights(gconstpointer data) {
  (void)data;
  open_engine(ORR_ENGINE_SIMGRID, 1, (double[]){8 * G});
  send(0, 2 * G, USES({0, 3}));
  send(1, 10 * G, USES({0, 1}));
  run();
  assert_near(watches[0].at_s, 1, 1e-15);
  assert_near(watches[1].at_s, 2, 1e-15);
  close_engine();
}

/* A (2 G) alone on 1 G/s until B (1 G) arrives at 1 s; both have 1 G left and half the link:
 * both end at 3 s. */
static void late_arrival(gconstpointer data) {
  (void)data;
  static const Step arrive = {SEND, 1, 1 * G, {{0, 1}, {0, 0}}};
  open_engine(ORR_ENGINE_SIMGRID, 1, (double[]){G});
  send(0, 2 * G, USES({0, 1}));
  orr_engine_after(engine, 1, take_step, (void *)&arrive);
  run();
  assert_near(watches[0].at_s, 3, 1e-15);
  assert_near(watches[1].at_s, 3, 1e-15);
  g_assert_cmpuint(watches[0].order, <, watches[1].order);
  close_engine();
}

/* 10 G on 1 G/s; at 4 s the link falls to 0.5 G/s: 6 G are left for 12 s. End: 16 s. */
static void degrades(gconstpointer data) {
  static const Step slower = {BANDWIDTH, 0, 0.5 * G, {{0, 1}, {0, 0}}};
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){G});
  send(0, 10 * G, USES({0, 1}));
  orr_engine_after(engine, 4, take_step, (void *)&slower);
  run();
  assert_near(watches[0].at_s, 16, 1e-15);
  close_engine();
}

/* 10 G on 1 G/s, down in [2 s, 5 s]: 13 s. Bandwidth 0 holds as down does. */
static void down_and_up(gconstpointer data) {
  static const Step down = {UP, 0, 0, {{0, 1}, {0, 0}}}, up = {UP, 0, 1, {{0, 1}, {0, 0}}};
  static const Step none = {BANDWIDTH, 0, 0, {{1, 1}, {0, 0}}},
                    all = {BANDWIDTH, 0, G, {{1, 1}, {0, 0}}};
  open_engine(*(const OrrEngineKind *)data, 2, (double[]){G, G});
  send(0, 10 * G, USES({0, 1}));
  send(1, 10 * G, USES({1, 1}));
  orr_engine_after(engine, 2, take_step, (void *)&down);
  orr_engine_after(engine, 2, take_step, (void *)&none);
  orr_engine_after(engine, 5, take_step, (void *)&up);
  orr_engine_after(engine, 5, take_step, (void *)&all);
  run();
  g_assert_cmpfloat(watches[0].at_s, ==, 13);
  g_assert_cmpfloat(watches[1].at_s, ==, 13);
  close_engine();
}

/* A on links 0 and 1, B on 1, 1 G/s each, 10 G each. Until 2 s both have 0.5 G/s (9 G left).
 * Link 0 is down in [2, 5]: A is held and B has link 1 alone (6 G left). From 5 s on half each:
 * B ends at 17 s; A has 9 - 6 = 3 G left then and all of the link: 20 s. */
static void held_flows_take_no_share(gconstpointer data) {
  (void)data;
  static const Step down = {UP, 0, 0, {{0, 1}, {0, 0}}}, up = {UP, 0, 1, {{0, 1}, {0, 0}}};
  open_engine(ORR_ENGINE_SIMGRID, 2, (double[]){G, G});
  send(0, 10 * G, USES({0, 1}, {1, 1}));
  send(1, 10 * G, USES({1, 1}));
  orr_engine_after(engine, 2, take_step, (void *)&down);
  orr_engine_after(engine, 5, take_step, (void *)&up);
  run();
  assert_near(watches[0].at_s, 20, 1e-15);
  assert_near(watches[1].at_s, 17, 1e-15);
  close_engine();
}

/* A transfer that starts while its link is down begins when it is up: 5 s + 10 G / (1 G/s) = 15
 * s. */
static void starts_while_down(gconstpointer data) {
  static const Step up = {UP, 0, 1, {{0, 1}, {0, 0}}};
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){G});
  orr_engine_set_up(engine, 0, FALSE);
  send(0, 10 * G, USES({0, 1}));
  orr_engine_after(engine, 5, take_step, (void *)&up);
  run();
  g_assert_cmpfloat(watches[0].at_s, ==, 15);
  close_engine();
}

static OrrEvent *pending;

static void withdraw(void *user) {
  (void)user;
  orr_engine_withdraw(engine, g_steal_pointer(&pending));
}

/* Of calls at 1, 2 and 3 s the second is withdrawn before its date, and of two at 4 s the second by
 * the first. None of both is made, the last call keeps its place, and each counts as an event. */
static void withdrawn_calls(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 0, NULL);
  pending = orr_engine_at(engine, 2, seen, &watches[1]);
  orr_engine_at(engine, 1, seen, &watches[0]);
  orr_engine_withdraw(engine, g_steal_pointer(&pending));
  orr_engine_withdraw(engine, NULL);
  orr_engine_at(engine, 3, seen, &watches[2]);
  orr_engine_at(engine, 4, withdraw, NULL);
  pending = orr_engine_at(engine, 4, seen, &watches[3]);
  orr_engine_at(engine, 4, seen, &watches[4]);
  run();
  g_assert_cmpuint(watches[0].order, ==, 1);
  g_assert_cmpuint(watches[1].order, ==, 0);
  g_assert_cmpuint(watches[2].order, ==, 2);
  g_assert_cmpuint(watches[3].order, ==, 0);
  g_assert_cmpuint(watches[4].order, ==, 3);
  g_assert_cmpfloat(watches[4].at_s, ==, 4);
  g_assert_cmpuint(orr_engine_n_events(engine), ==, 6);
  close_engine();
}

static const Case cases[] = {
    {"two-flows", two_flows, FALSE, FALSE},
    {"chain", chain, FALSE, FALSE},
    {"weights", weights, TRUE, FALSE},
    {"shared-weights", shared_weights, FALSE, FALSE},
    {"late-arrival", late_arrival, FALSE, FALSE},
    {"degrades", degrades, TRUE, FALSE},
    {"down-and-up", down_and_up, TRUE, FALSE},
    {"held-flows-take-no-share", held_flows_take_no_share, FALSE, FALSE},
    {"starts-while-down", starts_while_down, TRUE, FALSE},
    {"withdrawn-calls", withdrawn_calls, TRUE, FALSE},
};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  add_cases(cases, G_N_ELEMENTS(cases));
  return g_test_run();
}

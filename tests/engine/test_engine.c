/*
 * Both engines: closed forms of max-min sharing, faults, order at equal times, wrong arguments.
 *
 * G is 1e9 bytes or 1e9 bytes/s, so that the numbers below can be done in the head.
 */
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/random.h"
#include "sim/engine/engine.h"
#include "tests/engine/forked.h"

#define G 1e9
#define MAX_WATCHES 4096

/* One transfer or call that is watched: when and as the how-manieth it came. */
typedef struct {
  double at_s;
  guint order; /* from 1; 0: never */
} Watch;

static OrrEngine *engine;
static Watch watches[MAX_WATCHES];
static guint n_seen;

static void seen(void *user) {
  Watch *watch = user;
  g_assert_cmpuint(watch->order, ==, 0);
  watch->at_s = orr_engine_now(engine);
  watch->order = ++n_seen;
}

static void open_engine(OrrEngineKind kind, guint n_links, const double *bandwidths) {
  g_autoptr(GError) error = NULL;
  memset(watches, 0, sizeof watches);
  n_seen = 0;
  engine = orr_engine_new(kind, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < n_links; i++) {
    OrrLink link = G_MAXUINT32;
    g_autofree char *name = g_strdup_printf("link %u", i);
    g_assert_true(orr_engine_add_link(engine, name, bandwidths[i], &link, &error));
    g_assert_cmpuint(link, ==, i);
  }
}

static void run(void) {
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_engine_run(engine, &error));
  g_assert_no_error(error);
}

static void close_engine(void) { g_clear_pointer(&engine, orr_engine_free); }

/* Starts a transfer that is watched as number @i; @uses ends with weight 0. */
static void send(guint i, double bytes, const OrrLinkUse *uses) {
  guint n = 0;
  while (uses[n].weight > 0) n++;
  orr_engine_transfer(engine, bytes, uses, n, seen, &watches[i]);
}

#define USES(...) ((const OrrLinkUse[]){__VA_ARGS__, {0, 0}})

static void assert_near(double value, double expected, double relative) {
  if (!(fabs(value - expected) <= relative * fabs(expected)))
    g_error("%.17g, expected %.17g (relative %g)", value, expected, relative);
}

/* Calls later in the run */

typedef struct {
  enum { SEND, BANDWIDTH, UP } what;
  guint watch;
  double value;
  OrrLinkUse uses[2];
} Step;

static void take_step(void *user) {
  const Step *step = user;
  if (step->what == SEND)
    send(step->watch, step->value, step->uses);
  else if (step->what == BANDWIDTH)
    orr_engine_set_bandwidth(engine, step->uses[0].link, step->value);
  else
    orr_engine_set_up(engine, step->uses[0].link, step->value > 0);
}

/* Two flows on a link of 1 G/s: half each. 1 G ends at 2 s; the other has sent 1 of its 2 G then, and the rest alone at
 * 1 G/s: 3 s. */
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

/* A on links 0 (10 G/s) and 1 (6 G/s), B on 0, C on 1. Link 1 is the first bottleneck: A = C = 3; B has what A leaves
 * of link 0: 7. A (3 G) ends at 1 s. Then C, 3 of 6 G sent, has 6 G/s: 1.5 s; B, 7 of 14 G sent, has 10 G/s: 1.7 s. */
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

/* Weight 2 on a link of 10 G/s, 1 on one of 8: the rate is min(10 / 2, 8 / 1) = 5 G/s; 10 G take 2 s and load the links
 * with 20 and 10 G. */
static void weights(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 2, (double[]){10 * G, 8 * G});
  send(0, 10 * G, USES({0, 2}, {1, 1}));
  run();
  assert_near(watches[0].at_s, 2, 1e-15);
  assert_near(orr_engine_link_bytes(engine, 0), 20 * G, 1e-15);
  assert_near(orr_engine_link_bytes(engine, 1), 10 * G, 1e-15);
  close_engine();
}

/* Weights 3 and 1 on a link of 8 G/s: equal rates r, not equal shares: 3 r + r = 8, r = 2 G/s. 2 G end at 1 s (weight
 * 3); the other, 2 of 10 G sent, then has 8 G/s: 2 s. */
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

/* A (2 G) alone on 1 G/s until B (1 G) arrives at 1 s; both have 1 G left and half the link: both end at 3 s. */
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
  static const Step none = {BANDWIDTH, 0, 0, {{1, 1}, {0, 0}}}, all = {BANDWIDTH, 0, G, {{1, 1}, {0, 0}}};
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

/* A on links 0 and 1, B on 1, 1 G/s each, 10 G each. Until 2 s both have 0.5 G/s (9 G left). Link 0 is down in [2, 5]:
 * A is held and B has link 1 alone (6 G left). From 5 s on half each: B ends at 17 s; A has 9 - 6 = 3 G left then and
 * all of the link: 20 s. */
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

/* A transfer that starts while its link is down begins when it is up: 5 s + 10 G / (1 G/s) = 15 s. */
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

static void now_again(void *user) {
  seen(user);
  orr_engine_after(engine, 0, seen, &watches[5]);
}

/* Everything falls on 1 s; it comes in the order of submission, what is submitted at 1 s for 1 s comes last. */
static void equal_times(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 3, (double[]){G, 3 * G, 7 * G});
  orr_engine_after(engine, 1, now_again, &watches[0]);
  send(1, 7 * G, USES({2, 1}));
  orr_engine_after(engine, 1, seen, &watches[2]);
  send(3, 3 * G, USES({1, 1}));
  send(4, 1 * G, USES({0, 1}));
  run();
  for (guint i = 0; i <= 5; i++) {
    g_assert_cmpuint(watches[i].order, ==, i + 1);
    g_assert_cmpfloat(watches[i].at_s, ==, 1);
  }
  close_engine();
}

/* 0.1 added three times is not 0.3: a rounding apart is the same time, and the order is still that of submission. */
static void after_a_rounding(void *user) { orr_engine_after(engine, 0.1, seen, user); }

static void two_tenths(void *user) { orr_engine_after(engine, 0.1, after_a_rounding, user); }

static void equal_but_for_rounding(gconstpointer data) {
  g_assert_cmpfloat(0.1 + 0.1 + 0.1, !=, 0.3);
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){0.7 * G});
  send(0, 0.7 * G * (0.1 + 0.1 + 0.1), USES({0, 1}));
  orr_engine_after(engine, 0.3, seen, &watches[1]);
  orr_engine_after(engine, 0.1, two_tenths, &watches[2]);
  run();
  for (guint i = 0; i < 3; i++) g_assert_cmpuint(watches[i].order, ==, i + 1);
  close_engine();
}

/* Nothing to send, or nothing to send it over: no time, but never within the call that submits. */
static void no_bytes_no_links(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){G});
  orr_engine_set_up(engine, 0, FALSE);
  send(0, 0, USES({0, 1}));
  orr_engine_transfer(engine, 5 * G, NULL, 0, seen, &watches[1]);
  g_assert_cmpuint(n_seen, ==, 0);
  run();
  g_assert_cmpuint(n_seen, ==, 2);
  g_assert_cmpfloat(orr_engine_now(engine), ==, 0);
  close_engine();
}

static void nothing_to_do(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 0, NULL);
  run();
  g_assert_cmpfloat(orr_engine_now(engine), ==, 0);
  g_assert_cmpuint(orr_engine_n_events(engine), ==, 0);
  close_engine();
}

static void stays_down(gconstpointer data) {
  static const Step down = {UP, 0, 0, {{1, 1}, {0, 0}}};
  g_autoptr(GError) error = NULL;
  open_engine(*(const OrrEngineKind *)data, 2, (double[]){G, G});
  send(0, 10 * G, USES({0, 1}, {1, 1}));
  send(1, 10 * G, USES({1, 2}));
  orr_engine_after(engine, 2, take_step, (void *)&down);
  g_assert_false(orr_engine_run(engine, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_STUCK);
  g_assert_nonnull(strstr(error->message, "2 transfers"));
  g_assert_nonnull(strstr(error->message, "link 1"));
  close_engine();
}

static void expect_refused(OrrEngineKind kind, void (*misuse)(void)) {
  g_autoptr(GError) error = NULL;
  open_engine(kind, 1, (double[]){G});
  misuse();
  g_assert_false(orr_engine_run(engine, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
  close_engine();
}

static void call_in_the_past(void) { orr_engine_after(engine, -1, seen, &watches[0]); }
static void call_at_nan(void) { orr_engine_after(engine, NAN, seen, &watches[0]); }
static void negative_size(void) { send(0, -1, USES({0, 1})); }
static void endless_size(void) { send(0, INFINITY, USES({0, 1})); }
static void no_such_link(void) { send(0, 1, USES({7, 1})); }
static void zero_weight(void) { orr_engine_transfer(engine, 1, &(OrrLinkUse){0, 0}, 1, seen, &watches[0]); }
static void negative_bandwidth(void) { orr_engine_set_bandwidth(engine, 0, -1); }
static void no_such_link_up(void) { orr_engine_set_up(engine, 1, TRUE); }

static void wrong_arguments(void) {
  void (*const misuses[])(void) = {call_in_the_past, call_at_nan, negative_size,      endless_size,
                                   no_such_link,     zero_weight, negative_bandwidth, no_such_link_up};
  for (guint i = 0; i < G_N_ELEMENTS(misuses); i++) expect_refused(ORR_ENGINE_IDEAL, misuses[i]);
  const double bad[] = {0, -1, NAN, INFINITY};
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autoptr(GError) error = NULL;
    OrrLink link = 77;
    open_engine(ORR_ENGINE_IDEAL, 0, NULL);
    g_assert_false(orr_engine_add_link(engine, "bad", bad[i], &link, &error));
    g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
    g_assert_cmpuint(link, ==, 77);
    close_engine();
  }
}

static void second_simgrid(gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) first = orr_engine_new(ORR_ENGINE_SIMGRID, &error);
  g_assert_no_error(error);
  g_assert_nonnull(first);
  g_assert_null(orr_engine_new(ORR_ENGINE_SIMGRID, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
}

/* An engine may go away with things still to happen. */
static void freed_early(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){G});
  send(0, 1 * G, USES({0, 1}));
  orr_engine_after(engine, 3, seen, &watches[1]);
  close_engine();
  g_assert_cmpuint(n_seen, ==, 0);
}

/* Rows of dependent transfers, each row on links of its own: nothing contends, so the two engines agree. */

#define N_ROWS 50
#define ROW_LINKS 4

typedef struct {
  OrrRandom random;
  guint row, left;
  double end_s;
} Row;

static void next_in_row(void *user) {
  Row *row = user;
  row->end_s = orr_engine_now(engine);
  if (row->left-- == 0) return;
  OrrLinkUse uses[ROW_LINKS];
  guint n = 1 + (guint)orr_random_below(&row->random, ROW_LINKS);
  for (guint i = 0; i < n; i++)
    uses[i] = (OrrLinkUse){row->row * ROW_LINKS + i, 1 + (guint32)orr_random_below(&row->random, 1000)};
  orr_engine_transfer(engine, 1e3 + 1e9 * orr_random_unit(&row->random), uses, n, next_in_row, row);
}

static void run_rows(OrrEngineKind kind, Row *rows) {
  double bandwidths[N_ROWS * ROW_LINKS];
  OrrRandom random = orr_random_stream(1, "bandwidths");
  for (guint i = 0; i < G_N_ELEMENTS(bandwidths); i++) bandwidths[i] = 1e9 * (1 + 400 * orr_random_unit(&random));
  open_engine(kind, G_N_ELEMENTS(bandwidths), bandwidths);
  for (guint i = 0; i < N_ROWS; i++) {
    rows[i] = (Row){orr_random_stream(i, "row"), i, 100, 0};
    orr_engine_after(engine, orr_random_unit(&random), next_in_row, &rows[i]);
  }
  run();
  close_engine();
}

static void engines_agree(gconstpointer data) {
  (void)data;
  static Row lone[N_ROWS], shared[N_ROWS];
  run_rows(ORR_ENGINE_IDEAL, lone);
  run_rows(ORR_ENGINE_SIMGRID, shared);
  for (guint i = 0; i < N_ROWS; i++) {
    g_assert_cmpfloat(lone[i].end_s, >, 0);
    assert_near(shared[i].end_s, lone[i].end_s, 1e-12);
  }
}

/* A random network and what max-min sharing makes of it, by progressive filling (Bertsekas and Gallager, 6.5.2): raise
 * all rates together, freeze the transfers of the link that is full first, repeat. */

#define N_FLOWS 1000
#define N_LINKS 120
#define FLOW_LINKS 4

typedef struct {
  OrrLinkUse uses[FLOW_LINKS];
  double bytes, rate, end_s;
  gboolean fixed;
} Flow;

static void make_network(Flow *flows, double *bandwidths) {
  OrrRandom random = orr_random_stream(7, "network");
  for (guint i = 0; i < N_LINKS; i++) bandwidths[i] = 1e9 * (1 + 9 * orr_random_unit(&random));
  for (guint i = 0; i < N_FLOWS; i++) {
    flows[i] = (Flow){.bytes = 1e8 + 1e10 * orr_random_unit(&random), .end_s = -1};
    guint first = (guint)orr_random_below(&random, N_LINKS);
    for (guint j = 0; j < FLOW_LINKS; j++) /* steps below N_LINKS / FLOW_LINKS keep the links apart */
      flows[i].uses[j] = (OrrLinkUse){(first + j * 29) % N_LINKS, 1 + (guint32)orr_random_below(&random, 5)};
  }
}

/* Per link: what is left of it after the fixed transfers, and the weights of the others. */
static void sum_up(const Flow *flows, const double *bandwidths, double *left, double *open_weight) {
  memcpy(left, bandwidths, N_LINKS * sizeof *left);
  memset(open_weight, 0, N_LINKS * sizeof *open_weight);
  for (guint i = 0; i < N_FLOWS; i++)
    for (guint j = 0; flows[i].end_s < 0 && j < FLOW_LINKS; j++) {
      if (flows[i].fixed)
        left[flows[i].uses[j].link] -= flows[i].uses[j].weight * flows[i].rate;
      else
        open_weight[flows[i].uses[j].link] += flows[i].uses[j].weight;
    }
}

static void fill(Flow *flows, const double *bandwidths) {
  double left[N_LINKS], open_weight[N_LINKS];
  for (guint i = 0; i < N_FLOWS; i++) flows[i].fixed = flows[i].end_s >= 0;
  for (;;) {
    sum_up(flows, bandwidths, left, open_weight);
    guint full = N_LINKS;
    for (guint i = 0; i < N_LINKS; i++)
      if (open_weight[i] > 0 && (full == N_LINKS || left[i] / open_weight[i] < left[full] / open_weight[full]))
        full = i;
    if (full == N_LINKS) return;
    for (guint i = 0; i < N_FLOWS; i++)
      for (guint j = 0; !flows[i].fixed && j < FLOW_LINKS; j++)
        if (flows[i].uses[j].link == full) {
          flows[i].rate = left[full] / open_weight[full];
          flows[i].fixed = TRUE;
        }
  }
}

/* Fills, advances to the next end, and so on; @n_ends of them. */
static void simulate(Flow *flows, const double *bandwidths, guint n_ends) {
  g_autofree double *left = g_new(double, N_FLOWS);
  for (guint i = 0; i < N_FLOWS; i++) left[i] = flows[i].bytes;
  double now_s = 0;
  for (guint n = 0; n < n_ends; n++) {
    fill(flows, bandwidths);
    guint first = N_FLOWS;
    for (guint i = 0; i < N_FLOWS; i++)
      if (flows[i].end_s < 0 && (first == N_FLOWS || left[i] / flows[i].rate < left[first] / flows[first].rate))
        first = i;
    double step_s = left[first] / flows[first].rate;
    for (guint i = 0; i < N_FLOWS; i++) left[i] -= flows[i].rate * step_s;
    now_s += step_s;
    flows[first].end_s = now_s;
  }
}

static void random_network(gconstpointer data) {
  (void)data;
  static Flow flows[N_FLOWS];
  double bandwidths[N_LINKS];
  make_network(flows, bandwidths);
  open_engine(ORR_ENGINE_SIMGRID, N_LINKS, bandwidths);
  for (guint i = 0; i < N_FLOWS; i++)
    orr_engine_transfer(engine, flows[i].bytes, flows[i].uses, FLOW_LINKS, seen, &watches[i]);
  run();
  guint n_ends = g_test_slow() ? N_FLOWS : 100;
  simulate(flows, bandwidths, n_ends);
  guint n_compared = 0;
  for (guint i = 0; i < N_FLOWS; i++)
    if (flows[i].end_s >= 0) {
      assert_near(watches[i].at_s, flows[i].end_s, 1e-9);
      n_compared++;
    }
  g_assert_cmpuint(n_compared, ==, n_ends);
  close_engine();
}

/* The same network twice in one engine, the second with twice the bandwidth everywhere: half the times. */
static void doubled_bandwidth(gconstpointer data) {
  (void)data;
  static Flow flows[N_FLOWS];
  double bandwidths[2 * N_LINKS];
  make_network(flows, bandwidths);
  for (guint i = 0; i < N_LINKS; i++) bandwidths[N_LINKS + i] = 2 * bandwidths[i];
  open_engine(ORR_ENGINE_SIMGRID, 2 * N_LINKS, bandwidths);
  for (guint i = 0; i < N_FLOWS; i++) {
    orr_engine_transfer(engine, flows[i].bytes, flows[i].uses, FLOW_LINKS, seen, &watches[i]);
    for (guint j = 0; j < FLOW_LINKS; j++) flows[i].uses[j].link += N_LINKS;
    orr_engine_transfer(engine, flows[i].bytes, flows[i].uses, FLOW_LINKS, seen, &watches[N_FLOWS + i]);
  }
  run();
  for (guint i = 0; i < N_FLOWS; i++) assert_near(2 * watches[N_FLOWS + i].at_s, watches[i].at_s, 1e-9);
  close_engine();
}

static void not_watched(void *user) { (void)user; }

/* A hundred thousand links in a row, each flow on two neighbours: one component as deep as it is long. Every flow has
 * half of a link of 1 G/s but the first and last links are shared by fewer: all rates are 0.5, 1 G takes 2 s. */
static void long_chain(gconstpointer data) {
  (void)data;
  const guint n = 100000;
  g_autofree double *bandwidths = g_new(double, n);
  for (guint i = 0; i < n; i++) bandwidths[i] = G;
  open_engine(ORR_ENGINE_SIMGRID, n, bandwidths);
  for (guint i = 0; i + 1 < n; i++)
    orr_engine_transfer(engine, G, USES({i, 1}, {i + 1, 1}), 2, i + 2 < n ? not_watched : seen, &watches[0]);
  run();
  assert_near(watches[0].at_s, 2, 1e-12);
  close_engine();
}

/* Costs, with -m perf: transfers over three links, drawn from @n_links, so many in flight. */

typedef struct {
  guint in_flight, n_links, n_transfers;
} Load;

static OrrRandom load_random;
static const Load *load;
static guint load_left;

static void next_of_load(void *user) {
  if (load_left == 0) return;
  load_left--;
  OrrLinkUse uses[3];
  for (guint i = 0; i < 3; i++)
    uses[i] = (OrrLinkUse){(guint32)orr_random_below(&load_random, load->n_links / 3) * 3 + i, 1 + i * 500};
  orr_engine_transfer(engine, 1e6 * (1 + orr_random_unit(&load_random)), uses, 3, next_of_load, user);
}

static void measure_load(gconstpointer data) {
  load = data;
  load_left = load->n_transfers;
  load_random = orr_random_stream(1, "load");
  g_autofree double *bandwidths = g_new(double, load->n_links);
  for (guint i = 0; i < load->n_links; i++) bandwidths[i] = G;
  open_engine(ORR_ENGINE_SIMGRID, load->n_links, bandwidths);
  g_test_timer_start();
  for (guint i = 0; i < load->in_flight; i++) next_of_load(NULL);
  run();
  double us = 1e6 * g_test_timer_elapsed() / load->n_transfers;
  g_test_minimized_result(us, "%u in flight over %u links: %.2f us a transfer", load->in_flight, load->n_links, us);
  close_engine();
}

static void speed(void) {
  const Load loads[] = {{16, 48, 200000}, {1000, 300000, 200000}, {8000, 300000, 200000}};
  for (guint i = 0; i < G_N_ELEMENTS(loads); i++) forked(measure_load, &loads[i]);
}

/* Each body in a child, on the engines it is for */

typedef struct {
  const char *name;
  void (*body)(gconstpointer kind);
  gboolean both;
} Case;

static const Case cases[] = {
    {"two-flows", two_flows, FALSE},
    {"chain", chain, FALSE},
    {"weights", weights, TRUE},
    {"shared-weights", shared_weights, FALSE},
    {"late-arrival", late_arrival, FALSE},
    {"degrades", degrades, TRUE},
    {"down-and-up", down_and_up, TRUE},
    {"held-flows-take-no-share", held_flows_take_no_share, FALSE},
    {"starts-while-down", starts_while_down, TRUE},
    {"equal-times", equal_times, TRUE},
    {"equal-but-for-rounding", equal_but_for_rounding, TRUE},
    {"no-bytes-no-links", no_bytes_no_links, TRUE},
    {"nothing-to-do", nothing_to_do, TRUE},
    {"stays-down", stays_down, TRUE},
    {"second-simgrid", second_simgrid, FALSE},
    {"freed-early", freed_early, TRUE},
    {"engines-agree", engines_agree, FALSE},
    {"random-network", random_network, FALSE},
    {"doubled-bandwidth", doubled_bandwidth, FALSE},
    {"long-chain", long_chain, FALSE},
};

static const OrrEngineKind simgrid = ORR_ENGINE_SIMGRID, ideal = ORR_ENGINE_IDEAL;

static void on_simgrid(gconstpointer data) { forked(((const Case *)data)->body, &simgrid); }

static void on_ideal(gconstpointer data) { forked(((const Case *)data)->body, &ideal); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = g_strdup_printf("/engine/simgrid/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], on_simgrid);
    g_autofree char *ideal_path = g_strdup_printf("/engine/ideal/%s", cases[i].name);
    if (cases[i].both) g_test_add_data_func(ideal_path, &cases[i], on_ideal);
  }
  g_test_add_func("/engine/wrong-arguments", wrong_arguments);
  if (g_test_perf()) g_test_add_func("/engine/speed", speed);
  return g_test_run();
}

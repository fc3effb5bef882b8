/*
 * Random and large networks: the two engines against each other, SimGrid against progressive
 * filling.
 */
#include "sim/base/random.h"
#include "tests/engine/engine_fixture.h"

/* Rows of dependent transfers, each row on links of its own: nothing contends, so the two
 * engines agree. */

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
    uses[i] =
        (OrrLinkUse){row->row * ROW_LINKS + i, 1 + (guint32)orr_random_below(&row->random, 1000)};
  orr_engine_transfer(engine, 1e3 + 1e9 * orr_random_unit(&row->random), uses, n, next_in_row, row);
}

static void run_rows(OrrEngineKind kind, Row *rows) {
  double bandwidths[N_ROWS * ROW_LINKS];
  OrrRandom random = orr_random_stream(1, "bandwidths");
  for (guint i = 0; i < G_N_ELEMENTS(bandwidths); i++)
    bandwidths[i] = 1e9 * (1 + 400 * orr_random_unit(&random));
  open_engine(kind, G_N_ELEMENTS(bandwidths), bandwidths);
  for (guint i = 0; i < N_ROWS; i++) {
    rows[i] = (Row){orr_random_stream(i, "row"), i, 100, 0};
    orr_engine_after(engine, orr_random_unit(&random), next_in_row, &rows[i]);
  }
  run();
  close_engine();
}

static void engines_agree(gconstpointer data) {
  static Row lone[N_ROWS], shared[N_ROWS];
  run_rows(ORR_ENGINE_IDEAL, lone);
  run_rows(*(const OrrEngineKind *)data, shared);
  for (guint i = 0; i < N_ROWS; i++) {
    g_assert_cmpfloat(lone[i].end_s, >, 0);
    assert_near(shared[i].end_s, lone[i].end_s, 1e-12);
  }
}

/* A random network and what max-min sharing makes of it, by progressive filling (Bertsekas and
 * Gallager, 6.5.2): raise all rates together, freeze the transfers of the link that is full
 * first, repeat. */

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
    for (guint j = 0; j < FLOW_LINKS;
         j++) /* steps below N_LINKS / FLOW_LINKS keep the links apart */
      flows[i].uses[j] =
          (OrrLinkUse){(first + j * 29) % N_LINKS, 1 + (guint32)orr_random_below(&random, 5)};
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
      if (open_weight[i] > 0 &&
          (full == N_LINKS || left[i] / open_weight[i] < left[full] / open_weight[full]))
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
      if (flows[i].end_s < 0 &&
          (first == N_FLOWS || left[i] / flows[i].rate < left[first] / flows[first].rate))
        first = i;
    double step_s = left[first] / flows[first].rate;
    for (guint i = 0; i < N_FLOWS; i++) left[i] -= flows[i].rate * step_s;
    now_s += step_s;
    flows[first].end_s = now_s;
  }
}

static void random_network(gconstpointer data) {
  static Flow flows[N_FLOWS];
  double bandwidths[N_LINKS];
  make_network(flows, bandwidths);
  open_engine(*(const OrrEngineKind *)data, N_LINKS, bandwidths);
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

/* The same network twice in one engine, the second with twice the bandwidth everywhere: half the
 * times. */
static void doubled_bandwidth(gconstpointer data) {
  static Flow flows[N_FLOWS];
  double bandwidths[2 * N_LINKS];
  make_network(flows, bandwidths);
  for (guint i = 0; i < N_LINKS; i++) bandwidths[N_LINKS + i] = 2 * bandwidths[i];
  open_engine(*(const OrrEngineKind *)data, 2 * N_LINKS, bandwidths);
  for (guint i = 0; i < N_FLOWS; i++) {
    orr_engine_transfer(engine, flows[i].bytes, flows[i].uses, FLOW_LINKS, seen, &watches[i]);
    for (guint j = 0; j < FLOW_LINKS; j++) flows[i].uses[j].link += N_LINKS;
    orr_engine_transfer(engine, flows[i].bytes, flows[i].uses, FLOW_LINKS, seen,
                        &watches[N_FLOWS + i]);
  }
  run();
  for (guint i = 0; i < N_FLOWS; i++)
    assert_near(2 * watches[N_FLOWS + i].at_s, watches[i].at_s, 1e-9);
  close_engine();
}

static void not_watched(void *user) { (void)user; }

/* A hundred thousand links in a row, each flow on two neighbours: one component as deep as it is
 * long. Every flow has half of a link of 1 G/s but the first and last links are shared by fewer:
 * all rates are 0.5, 1 G takes 2 s. */
static void long_chain(gconstpointer data) {
  (void)data;
  const guint n = 100000;
  g_autofree double *bandwidths = g_new(double, n);
  for (guint i = 0; i < n; i++) bandwidths[i] = G;
  open_engine(ORR_ENGINE_SIMGRID, n, bandwidths);
  for (guint i = 0; i + 1 < n; i++)
    orr_engine_transfer(engine, G, USES({i, 1}, {i + 1, 1}), 2, i + 2 < n ? not_watched : seen,
                        &watches[0]);
  run();
  assert_near(watches[0].at_s, 2, 1e-12);
  close_engine();
}

static const Case cases[] = {
    {"engines-agree", engines_agree, FALSE, FALSE},
    {"random-network", random_network, FALSE, FALSE},
    {"doubled-bandwidth", doubled_bandwidth, FALSE, FALSE},
    {"long-chain", long_chain, FALSE, TRUE},
};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  add_cases(cases, G_N_ELEMENTS(cases));
  return g_test_run();
}

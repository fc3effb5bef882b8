/*
 * A thousand small random networks on one engine, each against a reference solver of its own: 1 to
 * 6 links, 1 to 8 transfers that begin at different times, whole weights from 1 to 9.
 *
 * The reference is progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2) between
 * events: raise all rates together, freeze the transfers that cross the link that is full first,
 * until all are frozen.
 */
#include "sim/base/random.h"
#include "tests/engine/engine_fixture.h"

enum { N_NETWORKS = 1000, MOST_LINKS = 6, MOST_FLOWS = 8 };

typedef struct {
  OrrLinkUse uses[MOST_LINKS];
  guint n_uses;
  double begin_s, bytes, left, rate, end_s, seen_s;
  gboolean frozen;
} Flow;

typedef struct {
  guint n_links, n_flows, first; /* first: of its links on the engine */
  double bandwidths[MOST_LINKS];
  Flow flows[MOST_FLOWS];
} Network;

static void make_flow(Network *network, Flow *flow, OrrRandom *random) {
  *flow = (Flow){.begin_s = orr_random_unit(random),
                 .bytes = 1e8 * (0.1 + orr_random_unit(random)),
                 .end_s = -1};
  for (guint link = 0; link < network->n_links; link++)
    if (orr_random_below(random, 2) || (link + 1 == network->n_links && flow->n_uses == 0))
      flow->uses[flow->n_uses++] = (OrrLinkUse){link, 1 + (guint32)orr_random_below(random, 9)};
  flow->left = flow->bytes;
}

static void make_network(Network *network, OrrRandom *random) {
  network->n_links = 1 + (guint)orr_random_below(random, MOST_LINKS);
  network->n_flows = 1 + (guint)orr_random_below(random, MOST_FLOWS);
  for (guint i = 0; i < network->n_links; i++)
    network->bandwidths[i] = 1e8 * (1 + 9 * orr_random_unit(random));
  for (guint i = 0; i < network->n_flows; i++) make_flow(network, &network->flows[i], random);
}

/* --- The reference --- */

static gboolean is_under_way(const Flow *flow, double now_s) {
  return flow->end_s < 0 && flow->begin_s <= now_s;
}

static double weight_on(const Flow *flow, guint link) {
  for (guint i = 0; i < flow->n_uses; i++)
    if (flow->uses[i].link == link) return flow->uses[i].weight;
  return 0;
}

/* The rate at which @link is full if all that are not frozen have it; below 0: nothing open
 * crosses it. */
static double level_of(const Network *network, guint link, double now_s) {
  double left = network->bandwidths[link], open = 0;
  for (guint i = 0; i < network->n_flows; i++) {
    const Flow *flow = &network->flows[i];
    if (!is_under_way(flow, now_s)) continue;
    if (flow->frozen)
      left -= weight_on(flow, link) * flow->rate;
    else
      open += weight_on(flow, link);
  }
  return open > 0 ? MAX(left, 0) / open : -1;
}

static void fill(Network *network, double now_s) {
  for (guint i = 0; i < network->n_flows; i++) network->flows[i].frozen = FALSE;
  for (;;) {
    guint full = MOST_LINKS;
    double least = 0;
    for (guint link = 0; link < network->n_links; link++) {
      double level = level_of(network, link, now_s);
      if (level >= 0 && (full == MOST_LINKS || level < least)) full = link, least = level;
    }
    if (full == MOST_LINKS) return;
    for (guint i = 0; i < network->n_flows; i++) {
      Flow *flow = &network->flows[i];
      if (!is_under_way(flow, now_s) || flow->frozen || weight_on(flow, full) == 0) continue;
      flow->rate = least;
      flow->frozen = TRUE;
    }
  }
}

/* When the next transfer begins or ends. */
static double next_event(const Network *network, double now_s) {
  double next_s = G_MAXDOUBLE;
  for (guint i = 0; i < network->n_flows; i++) {
    const Flow *flow = &network->flows[i];
    if (flow->end_s >= 0) continue;
    double event_s = flow->begin_s > now_s ? flow->begin_s : now_s + flow->left / flow->rate;
    next_s = MIN(next_s, event_s);
  }
  return next_s;
}

static void solve(Network *network) {
  double now_s = 0;
  for (fill(network, now_s);;) {
    const double next_s = next_event(network, now_s);
    if (next_s == G_MAXDOUBLE) return;
    for (guint i = 0; i < network->n_flows; i++) {
      Flow *flow = &network->flows[i];
      if (!is_under_way(flow, now_s)) continue;
      flow->left -= flow->rate * (next_s - now_s);
      if (flow->left <= 1e-6) flow->end_s = next_s; /* of 1e7 bytes and more: rounding */
    }
    now_s = next_s;
    fill(network, now_s);
  }
}

/* --- The engine --- */

static Network networks[N_NETWORKS];

static void note_end(void *user) { ((Flow *)user)->seen_s = orr_engine_now(engine); }

static void begin(void *user) {
  Flow *flow = user;
  const Network *network = &networks[((char *)flow - (char *)networks) / sizeof(Network)];
  OrrLinkUse uses[MOST_LINKS];
  for (guint i = 0; i < flow->n_uses; i++)
    uses[i] = (OrrLinkUse){network->first + flow->uses[i].link, flow->uses[i].weight};
  orr_engine_transfer(engine, flow->bytes, uses, flow->n_uses, note_end, flow);
}

static void thousand(gconstpointer data) {
  OrrRandom random = orr_random_stream(11, "small networks");
  g_autofree double *bandwidths = g_new(double, N_NETWORKS *MOST_LINKS);
  guint n_links = 0;
  for (guint i = 0; i < N_NETWORKS; i++) {
    make_network(&networks[i], &random);
    networks[i].first = n_links;
    for (guint link = 0; link < networks[i].n_links; link++)
      bandwidths[n_links++] = networks[i].bandwidths[link];
  }
  open_engine(*(const OrrEngineKind *)data, n_links, bandwidths);
  for (guint i = 0; i < N_NETWORKS; i++)
    for (guint f = 0; f < networks[i].n_flows; f++)
      orr_engine_after(engine, networks[i].flows[f].begin_s, begin, &networks[i].flows[f]);
  run();
  for (guint i = 0; i < N_NETWORKS; i++) {
    solve(&networks[i]);
    for (guint f = 0; f < networks[i].n_flows; f++)
      assert_near(networks[i].flows[f].seen_s, networks[i].flows[f].end_s, 1e-9);
  }
  close_engine();
}

static const Case cases[] = {{"thousand-small-networks", thousand, FALSE, FALSE}};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  add_cases(cases, G_N_ELEMENTS(cases));
  return g_test_run();
}

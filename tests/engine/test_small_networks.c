/*
 * Random networks on one engine, each against a reference solver of its own, with transfers that
 * begin at different times and whole weights from 1 to 9: a thousand small ones of 1 to 6 links and
 * 1 to 8 transfers, and fifty chains of 40 links, in which a change at one end reaches the other.
 *
 * The reference is progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2) between
 * events: raise all rates together, freeze the transfers that cross the link that is full first,
 * until all are frozen.
 */
#include "sim/base/random.h"
#include "tests/engine/engine_fixture.h"

enum {
  N_NETWORKS = 1000,
  SMALL_LINKS = 6,
  SMALL_FLOWS = 8,
  N_CHAINS = 50,
  CHAIN_LINKS = 40,
  CHAIN_FLOWS = 50,
  MOST_USES = 6,
};

typedef struct {
  OrrLinkUse uses[MOST_USES];
  guint n_uses;
  double begin_s, bytes, left, rate, end_s, seen_s;
  gboolean frozen;
} Flow;

typedef struct {
  guint n_links, n_flows, first; /* first: of its links on the engine */
  double bandwidths[CHAIN_LINKS];
  Flow flows[CHAIN_FLOWS];
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
  network->n_links = 1 + (guint)orr_random_below(random, SMALL_LINKS);
  network->n_flows = 1 + (guint)orr_random_below(random, SMALL_FLOWS);
  for (guint i = 0; i < network->n_links; i++)
    network->bandwidths[i] = 1e8 * (1 + 9 * orr_random_unit(random));
  for (guint i = 0; i < network->n_flows; i++) make_flow(network, &network->flows[i], random);
}

/* Transfers over one to three neighbouring links, each link shared by some four. */
static void make_chain(Network *network, OrrRandom *random) {
  network->n_links = CHAIN_LINKS;
  network->n_flows = CHAIN_FLOWS;
  for (guint i = 0; i < CHAIN_LINKS; i++)
    network->bandwidths[i] = 1e8 * (1 + orr_random_unit(random));
  for (guint i = 0; i < CHAIN_FLOWS; i++) {
    const guint first = (guint)orr_random_below(random, CHAIN_LINKS - 2),
                n = 1 + (guint)orr_random_below(random, 3);
    network->flows[i] = (Flow){.begin_s = orr_random_unit(random),
                               .bytes = 1e8 * (0.1 + orr_random_unit(random)),
                               .n_uses = n,
                               .end_s = -1};
    for (guint u = 0; u < n; u++)
      network->flows[i].uses[u] = (OrrLinkUse){first + u, 1 + (guint32)orr_random_below(random, 9)};
    network->flows[i].left = network->flows[i].bytes;
  }
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
    guint full = CHAIN_LINKS;
    double least = 0;
    for (guint link = 0; link < network->n_links; link++) {
      double level = level_of(network, link, now_s);
      if (level >= 0 && (full == CHAIN_LINKS || level < least)) full = link, least = level;
    }
    if (full == CHAIN_LINKS) return;
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
  OrrLinkUse uses[MOST_USES];
  for (guint i = 0; i < flow->n_uses; i++)
    uses[i] = (OrrLinkUse){network->first + flow->uses[i].link, flow->uses[i].weight};
  orr_engine_transfer(engine, flow->bytes, uses, flow->n_uses, note_end, flow);
}

static void compare(OrrEngineKind kind, guint n,
                    void (*make)(Network *network, OrrRandom *random)) {
  OrrRandom random = orr_random_stream(11, "small networks");
  g_autoptr(GArray) bandwidths = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < n; i++) {
    make(&networks[i], &random);
    networks[i].first = bandwidths->len;
    g_array_append_vals(bandwidths, networks[i].bandwidths, networks[i].n_links);
  }
  open_engine(kind, bandwidths->len, (double *)(void *)bandwidths->data);
  for (guint i = 0; i < n; i++)
    for (guint f = 0; f < networks[i].n_flows; f++)
      orr_engine_after(engine, networks[i].flows[f].begin_s, begin, &networks[i].flows[f]);
  run();
  for (guint i = 0; i < n; i++) {
    solve(&networks[i]);
    for (guint f = 0; f < networks[i].n_flows; f++)
      assert_near(networks[i].flows[f].seen_s, networks[i].flows[f].end_s, 1e-9);
  }
  close_engine();
}

static void small(gconstpointer kind) {
  compare(*(const OrrEngineKind *)kind, N_NETWORKS, make_network);
}

static void chains(gconstpointer kind) {
  compare(*(const OrrEngineKind *)kind, N_CHAINS, make_chain);
}

static const Case cases[] = {{"thousand-small-networks", small, FALSE, FALSE},
                             {"chains", chains, FALSE, FALSE}};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  add_cases(cases, G_N_ELEMENTS(cases));
  return g_test_run();
}

/*
 * test_changing_networks.c - rates while everything changes: transfers begin, end, move and are
 * dropped; links get other bandwidths, fail and come back. At random dates the rates of all
 * transfers in flight equal a reference's that solves the whole network anew.
 *
 * The reference is progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): raise all
 * rates together, freeze the transfers that cross the link that is full first, until all are
 * frozen.
 */
#include "sim/base/random.h"
#include "sim/engine/engine_private.h"
#include "tests/engine/engine_fixture.h"

enum { N_LINKS = 48, MOST_USES = 5, N_STARTS = 400, N_CHANGES = 120, N_LOOKS = 250 };

/* What networks look like. Equal bandwidths and weights make ties: many links fill together. */
typedef struct {
  const char *name;
  guint span;   /* the links of a transfer lie this close together */
  guint region; /* links of one component at most; 0: no bound */
  gboolean ties;
} Shape;

static const Shape shapes[] = {
    {"spread", N_LINKS, 0, FALSE}, {"spread-ties", N_LINKS, 0, TRUE},
    {"chain", 6, 0, FALSE},        {"chain-ties", 6, 0, TRUE},
    {"components", 6, 6, FALSE},   {"components-ties", 6, 6, TRUE},
};

static const Shape *shape;
static OrrRandom dice;
static guint n_looks, n_rates;

static double bandwidth(void) { return 1e9 * (shape->ties ? 1 : 1 + 9 * orr_random_unit(&dice)); }

static guint make_uses(OrrLinkUse *uses) {
  const guint span = shape->span, n = 1 + (guint)orr_random_below(&dice, MOST_USES);
  const guint first = shape->region ? span * (guint)orr_random_below(&dice, N_LINKS / span)
                                    : (guint)orr_random_below(&dice, N_LINKS - span + 1);
  guint n_uses = 0;
  for (guint i = 0; i < span && n_uses < n; i++) /* each link with a chance that leaves n of them */
    if (orr_random_below(&dice, span - i) < n - n_uses)
      uses[n_uses++] =
          (OrrLinkUse){first + i, shape->ties ? 1 : 1 + (guint32)orr_random_below(&dice, 9)};
  return n_uses;
}

/* --- The reference --- */

/* The weight of each transfer on each link, link by link. */
static double *weights_of(const OrrPointers *transfers) {
  double *weights = g_new0(double, N_LINKS *(transfers->len + 1));
  for (guint i = 0; i < transfers->len; i++) {
    const OrrTransfer *transfer = transfers->pdata[i];
    for (guint k = transfer->n_uses; k-- > 0;)
      weights[transfer->uses[k].link * transfers->len + i] = transfer->uses[k].weight;
  }
  return weights;
}

/* The rate at which @link is full if all transfers without a rate have it; below 0: there are
 * none. @weights: on it. */
static double level_of(guint link, const double *weights, const double *rates) {
  double left = orr_engine_link(engine, link)->bandwidth, open = 0;
  for (guint i = 0; i < engine->transfers.len; i++) {
    if (rates[i] < 0)
      open += weights[i];
    else
      left -= weights[i] * rates[i];
  }
  return open > 0 ? MAX(left, 0) / open : -1;
}

static void solve(double *rates) {
  const guint n = engine->transfers.len;
  g_autofree double *weights = weights_of(&engine->transfers);
  for (guint i = 0; i < engine->transfers.len; i++)
    rates[i] = ((const OrrTransfer *)engine->transfers.pdata[i])->held ? 0 : -1;
  for (;;) {
    guint full = N_LINKS;
    double least = 0;
    for (guint link = 0; link < N_LINKS; link++) {
      const double level = level_of(link, weights + link * n, rates);
      if (level >= 0 && (full == N_LINKS || level < least)) full = link, least = level;
    }
    if (full == N_LINKS) return;
    for (guint i = 0; i < engine->transfers.len; i++)
      if (rates[i] < 0 && weights[full * n + i] > 0) rates[i] = least;
  }
}

/* A call at a date of its own sees the rates that held until then. */
static void look(void *user) {
  (void)user;
  g_autofree double *rates = g_new(double, engine->transfers.len + 1);
  solve(rates);
  for (guint i = 0; i < engine->transfers.len; i++) {
    const double rate = ((const OrrTransfer *)engine->transfers.pdata[i])->rate;
    if (fabs(rate - rates[i]) > 1e-9 * rates[i])
      g_error("%s, at %.17g s: transfer %u of %u has %.17g bytes/s, not %.17g", shape->name,
              orr_engine_now(engine), i, engine->transfers.len, rate, rates[i]);
    n_rates++;
  }
  n_looks++;
}

/* --- What changes --- */

static void done(void *user) { (void)user; }

static void start(void *user) {
  (void)user;
  OrrLinkUse uses[MOST_USES];
  const guint n = make_uses(uses);
  orr_engine_transfer(engine, 1e6 + 5e7 * orr_random_unit(&dice), uses, n, done, NULL);
}

static void come_back(void *link) { orr_engine_set_up(engine, GPOINTER_TO_UINT(link), TRUE); }

static void change(void *user) {
  (void)user;
  const guint link = (guint)orr_random_below(&dice, N_LINKS);
  OrrLinkUse uses[MOST_USES];
  const guint n_flying = engine->transfers.len, kind = (guint)orr_random_below(&dice, 4);
  OrrTransfer *one = n_flying ? engine->transfers.pdata[orr_random_below(&dice, n_flying)] : NULL;
  if (kind == 0) {
    orr_engine_set_bandwidth(engine, link, bandwidth() * (0.2 + orr_random_unit(&dice)));
  } else if (kind == 1) {
    orr_engine_set_up(engine, link, FALSE);
    orr_engine_after(engine, 0.05 * orr_random_unit(&dice), come_back, GUINT_TO_POINTER(link));
  } else if (one && kind == 2) {
    orr_engine_drop(engine, one);
  } else if (one) {
    const guint n = make_uses(uses);
    orr_engine_move(engine, one, 1e6 + 5e7 * orr_random_unit(&dice), uses, n);
  }
}

static void changing(OrrEngineKind kind) {
  double bandwidths[N_LINKS];
  for (guint i = 0; i < N_LINKS; i++) bandwidths[i] = bandwidth();
  open_engine(kind, N_LINKS, bandwidths);
  for (guint i = 0; i < N_STARTS; i++)
    orr_engine_after(engine, orr_random_unit(&dice), start, NULL);
  for (guint i = 0; i < N_CHANGES; i++)
    orr_engine_after(engine, orr_random_unit(&dice), change, NULL);
  for (guint i = 0; i < N_LOOKS; i++) orr_engine_after(engine, orr_random_unit(&dice), look, NULL);
  run();
  close_engine();
}

/* SimGrid has one network in a process, the others as many as we like. */
static void of_shape(OrrEngineKind kind, guint which) {
  for (guint seed = 0; seed < (kind == ORR_ENGINE_SIMGRID ? 1 : 5); seed++) {
    shape = &shapes[which];
    dice = orr_random_stream(100 * seed + which, "changing networks");
    n_looks = n_rates = 0;
    changing(kind);
    g_test_message("%s, seed %u: %u looks at %u rates", shape->name, seed, n_looks, n_rates);
    g_assert_cmpuint(n_looks, ==, N_LOOKS);
    g_assert_cmpuint(n_rates, >, 5 * N_LOOKS);
  }
}

static void spread(gconstpointer kind) { of_shape(*(const OrrEngineKind *)kind, 0); }
static void spread_ties(gconstpointer kind) { of_shape(*(const OrrEngineKind *)kind, 1); }
static void chain(gconstpointer kind) { of_shape(*(const OrrEngineKind *)kind, 2); }
static void chain_ties(gconstpointer kind) { of_shape(*(const OrrEngineKind *)kind, 3); }
static void components(gconstpointer kind) { of_shape(*(const OrrEngineKind *)kind, 4); }
static void components_ties(gconstpointer kind) { of_shape(*(const OrrEngineKind *)kind, 5); }

static const Case cases[] = {
    {"spread", spread, FALSE, FALSE},         {"spread-ties", spread_ties, FALSE, FALSE},
    {"chain", chain, FALSE, FALSE},           {"chain-ties", chain_ties, FALSE, FALSE},
    {"components", components, FALSE, FALSE}, {"components-ties", components_ties, FALSE, FALSE}};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  add_cases(cases, G_N_ELEMENTS(cases));
  return g_test_run();
}

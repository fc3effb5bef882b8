/*
 * engine_fair.c - transfers share links max-min fairly, like SimGrid's but solved here, in less
 * time.
 *
 *     maximise the smallest rate, then the next smallest ...
 *     subject to  sum over transfers t of w(t, l) * rate(t) <= B(l)  for every link l
 *
 * by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): all rates grow together
 * until the link with the least B / sum of weights is full; the rates of its transfers are then
 * fixed, and the bandwidth that they take is subtracted from their other links. The solution is
 * unique, so it equals SimGrid's up to rounding (1e-15 of a rate; tests/engine/test_engine_random.c
 * checks both). A process can open any number of these engines, so sweeps need no child processes.
 *
 * Only the component that a change can reach is solved again: from the links of transfers that
 * started or ended, over the transfers on these links, to their links, and so on. A component of k
 * transfers over m links takes O(m) for each link that fills, and O(1) for each use. Where
 * thousands of links fill one by one, SimGrid is faster.
 *
 *   link -> first use <-> use <-> use        transfer -> its uses, one array
 *
 * Invariants
 *  1. A link lists the uses of the transfers that run on it. Rates depend on the order of the list
 *     only by rounding. Held transfers are in no list.
 *  2. A link is in `changed` at most once.
 */
#include "sim/engine/engine_private.h"

typedef struct Use Use;
typedef struct Flow Flow;

struct Use {
  Flow *flow;
  Use *previous, *next;
};

struct Flow {
  OrrTransfer *transfer;
  gboolean runs;  /* in the lists of its links */
  guint64 round;  /* the solution that last included it */
  gboolean fixed; /* its rate is fixed in that solution */
  Use uses[];
};

typedef struct {
  Use *first;
  guint64 round;
  guint64 weight; /* sum over transfers that are not fixed */
  double left;    /* bandwidth left by fixed transfers */
  gboolean changed;
} Link;

typedef struct {
  GArray *links;     /* of Link */
  GArray *changed;   /* of OrrLink */
  GArray *reached;   /* of OrrLink: the component being solved */
  GPtrArray *spread; /* of Flow *: the component being solved */
  guint64 round;
} Fair;

static Link *link_at(const Fair *fair, OrrLink link) {
  return &g_array_index(fair->links, Link, link);
}

static void note_change(Fair *fair, OrrLink link) {
  Link *it = link_at(fair, link);
  if (it->changed) return;
  it->changed = TRUE;
  g_array_append_val(fair->changed, link);
}

/* --- lists of uses --- */

static void put_on_links(Fair *fair, Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  flow->runs = TRUE;
  for (guint32 i = 0; i < transfer->n_uses; i++) {
    Link *link = link_at(fair, transfer->uses[i].link);
    Use *use = &flow->uses[i];
    *use = (Use){flow, NULL, link->first};
    if (link->first) link->first->previous = use;
    link->first = use;
    note_change(fair, transfer->uses[i].link);
  }
}

static void take_off_links(Fair *fair, Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  if (!flow->runs) return;
  flow->runs = FALSE;
  for (guint32 i = 0; i < transfer->n_uses; i++) {
    Link *link = link_at(fair, transfer->uses[i].link);
    Use *use = &flow->uses[i];
    if (use->previous)
      use->previous->next = use->next;
    else
      link->first = use->next;
    if (use->next) use->next->previous = use->previous;
    note_change(fair, transfer->uses[i].link);
  }
}

/* --- solving --- */

static void reach(Fair *fair, OrrLink link, const OrrEngine *engine) {
  Link *it = link_at(fair, link);
  if (it->round == fair->round) return;
  it->round = fair->round;
  it->weight = 0;
  it->left = orr_engine_link(engine, link)->bandwidth;
  g_array_append_val(fair->reached, link);
}

/* Collects the component that the changed links reach in fair->reached and fair->spread. */
static void gather(Fair *fair, const OrrEngine *engine) {
  fair->round++;
  g_array_set_size(fair->reached, 0);
  g_ptr_array_set_size(fair->spread, 0);
  for (guint i = 0; i < fair->changed->len; i++) {
    link_at(fair, g_array_index(fair->changed, OrrLink, i))->changed = FALSE;
    reach(fair, g_array_index(fair->changed, OrrLink, i), engine);
  }
  g_array_set_size(fair->changed, 0);
  for (guint i = 0; i < fair->reached->len; i++)
    for (Use *use = link_at(fair, g_array_index(fair->reached, OrrLink, i))->first; use;
         use = use->next) {
      Flow *flow = use->flow;
      if (flow->round == fair->round) continue;
      flow->round = fair->round;
      flow->fixed = FALSE;
      g_ptr_array_add(fair->spread, flow);
      for (guint32 u = 0; u < flow->transfer->n_uses; u++) {
        reach(fair, flow->transfer->uses[u].link, engine);
        link_at(fair, flow->transfer->uses[u].link)->weight += flow->transfer->uses[u].weight;
      }
    }
}

/* The link that fills first; NULL when all rates are fixed. Links without unfixed transfers leave
 * the list. */
static Link *fullest(Fair *fair, double *ret_rate) {
  Link *first = NULL;
  guint kept = 0;
  for (guint i = 0; i < fair->reached->len; i++) {
    const OrrLink index = g_array_index(fair->reached, OrrLink, i);
    Link *link = link_at(fair, index);
    if (link->weight == 0) continue;
    g_array_index(fair->reached, OrrLink, kept++) = index;
    const double rate = link->left / (double)link->weight;
    if (first && rate >= *ret_rate) continue;
    first = link;
    *ret_rate = rate;
  }
  g_array_set_size(fair->reached, kept);
  return first;
}

static void fix(Fair *fair, OrrEngine *engine, Flow *flow, double rate) {
  const OrrTransfer *transfer = flow->transfer;
  flow->fixed = TRUE;
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    Link *link = link_at(fair, transfer->uses[u].link);
    link->weight -= transfer->uses[u].weight;
    link->left = MAX(link->left - transfer->uses[u].weight * rate, 0);
  }
  orr_engine_set_rate(engine, flow->transfer, rate);
}

/* The most frequent case: a transfer alone on its links. */
static gboolean solve_lone(const Fair *fair, OrrEngine *engine) {
  if (fair->spread->len != 1) return fair->spread->len == 0;
  OrrTransfer *transfer = ((Flow *)fair->spread->pdata[0])->transfer;
  double rate = G_MAXDOUBLE;
  for (guint32 u = 0; u < transfer->n_uses; u++)
    rate = MIN(rate, orr_engine_link(engine, transfer->uses[u].link)->bandwidth /
                         transfer->uses[u].weight);
  orr_engine_set_rate(engine, transfer, rate);
  return TRUE;
}

static void fair_settle(OrrEngine *engine) {
  Fair *fair = engine->state;
  if (fair->changed->len == 0) return;
  gather(fair, engine);
  if (solve_lone(fair, engine)) return;
  double rate = 0;
  for (Link *link; (link = fullest(fair, &rate));)
    for (Use *use = link->first; use; use = use->next)
      if (!use->flow->fixed) fix(fair, engine, use->flow, rate);
}

/* --- the class --- */

static gboolean fair_open(OrrEngine *engine, GError **error) {
  (void)error;
  Fair *fair = g_new0(Fair, 1);
  fair->links = g_array_new(FALSE, TRUE, sizeof(Link));
  fair->changed = g_array_new(FALSE, FALSE, sizeof(OrrLink));
  fair->reached = g_array_new(FALSE, FALSE, sizeof(OrrLink));
  fair->spread = g_ptr_array_new();
  engine->state = fair;
  return TRUE;
}

static void fair_close(OrrEngine *engine) {
  Fair *fair = engine->state;
  g_array_unref(fair->links);
  g_array_unref(fair->changed);
  g_array_unref(fair->reached);
  g_ptr_array_unref(fair->spread);
  g_free(fair);
  engine->state = NULL;
}

static gboolean fair_add_link(OrrEngine *engine, OrrLink link, GError **error) {
  (void)error;
  Fair *fair = engine->state;
  g_array_set_size(fair->links, link + 1);
  return TRUE;
}

static void fair_start(OrrEngine *engine, OrrTransfer *transfer) {
  Flow *flow = g_malloc(sizeof *flow + transfer->n_uses * sizeof(Use));
  *flow = (Flow){.transfer = transfer};
  transfer->action = flow;
  if (!transfer->held) put_on_links(engine->state, flow);
}

static void fair_end(OrrEngine *engine, OrrTransfer *transfer) {
  take_off_links(engine->state, transfer->action);
  g_clear_pointer(&transfer->action, g_free);
}

static void fair_hold(OrrEngine *engine, OrrTransfer *transfer, gboolean held) {
  (held ? take_off_links : put_on_links)(engine->state, transfer->action);
}

static void fair_bandwidth_changed(OrrEngine *engine, OrrLink link) {
  note_change(engine->state, link);
}

static gboolean fair_run(OrrEngine *engine, GError **error) {
  (void)error;
  for (double date_s; orr_engine_next_date(engine, &date_s);) orr_engine_dispatch(engine);
  return TRUE;
}

const OrrEngineClass orr_engine_fair_class = {
    .settings = "fair: max-min, progressive filling",
    .open = fair_open,
    .close = fair_close,
    .add_link = fair_add_link,
    .start = fair_start,
    .end = fair_end,
    .hold = fair_hold,
    .bandwidth_changed = fair_bandwidth_changed,
    .settle = fair_settle,
    .run = fair_run,
};

/*
 * sharing.c - finds the region of a change, reduces it to systems and checks their solutions.
 * engine_private.h has the method.
 *
 *   link -> first use <-> use <-> use        transfer -> its uses, one array
 *
 * Invariants
 *  1. A link lists the uses of the transfers that run on it. Rates depend on the order of the list
 *     only by rounding. Held transfers are in no list.
 *  2. Between two settlements, every transfer that runs has a rate, and a bottleneck that is full
 *     and has no faster transfer, both up to TOLERANCE.
 *  3. A link is in `changed` at most once.
 *
 * Sums over the transfers of a link are computed anew each time, so rounding does not accumulate.
 */
#include "sim/engine/engine_private.h"

#include "sim/base/arrays.h"

/* Relative: above the rounding of sums (1e-13 with a thousand doubles) and SimGrid's precision
 * (1e-12), far below the 1e-9 to which tests/engine holds dates. */
#define TOLERANCE 1e-11
/* Then all that the region's links reach is solved at once: in a long chain a region grows link by
 * link. Assumed: it changes how long a solution takes, not what it is. */
#define MOST_GROWTHS 12
#define NO_LINK G_MAXUINT32

typedef struct Use Use;
typedef struct Flow Flow;

struct Use {
  Flow *flow;
  Use *previous, *next;
};

struct Flow {
  OrrTransfer *transfer;
  double rate;        /* the last solution's */
  OrrLink bottleneck; /* NO_LINK: none yet */
  gboolean runs;      /* in the lists of its links */
  guint64 round;      /* the settlement that last solved it */
  guint32 place;      /* in the region */
  guint32 leader;     /* a flow of the region with which it shares a system */
  double most;        /* its rate if the region's others took nothing; 0: it is in no system */
  Use uses[];
};

typedef struct {
  Use *first;
  guint32 n; /* uses in the list */
  gboolean changed, has_new_bandwidth;
  guint64 pass;        /* the solution that last touched it; the rest belongs to that solution */
  guint32 n_region;    /* uses by the region */
  guint32 n_held;      /* other transfers that have their bottleneck here */
  double left;         /* bandwidth without what the others take */
  double fastest;      /* of the others; after a solution, of all */
  double demand;       /* of the region, if each were as fast as `most` */
  double fastest_here; /* of the region, after a solution */
  double taken;        /* by all, after a solution */
  guint32 first_flow;  /* of the region that shares it, + 1; 0: none yet, or it is in the system */
  guint32 index;       /* in the system being made */
} Link;

struct OrrSharing {
  OrrSharingSolve solve;
  void *user;
  GArray *links;      /* of Link */
  OrrNumbers changed; /* of OrrLink */
  OrrNumbers touched; /* of OrrLink: the region's links */
  OrrPointers region; /* of Flow * */
  OrrSpares ended;    /* of Flow, by n_uses */
  guint64 round, pass;
  OrrNumbers order, next; /* the region's flows by system; where the next of each goes */
  /* the system being made */
  GArray *capacities, *uses, *rates;
  OrrNumbers firsts;
  guint n_capacities, n_uses;
};

static Link *link_at(const OrrSharing *sharing, OrrLink link) {
  return &g_array_index(sharing->links, Link, link);
}

static double bandwidth_of(const OrrEngine *engine, OrrLink link) {
  return orr_engine_link(engine, link)->bandwidth;
}

/* --- lists of uses --- */

static void note_change(OrrSharing *sharing, OrrLink link) {
  Link *it = link_at(sharing, link);
  if (it->changed) return;
  it->changed = TRUE;
  orr_numbers_add(&sharing->changed, link);
}

static void put_on_links(OrrSharing *sharing, Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  flow->runs = TRUE;
  flow->rate = 0;
  flow->bottleneck = NO_LINK;
  for (guint32 i = 0; i < transfer->n_uses; i++) {
    Link *link = link_at(sharing, transfer->uses[i].link);
    Use *use = &flow->uses[i];
    *use = (Use){flow, NULL, link->first};
    if (link->first) link->first->previous = use;
    link->first = use;
    link->n++;
    if (i == 0) note_change(sharing, transfer->uses[i].link); /* from there it is found */
  }
}

/* Only links that were a bottleneck need a new solution; begin_region looks which were. */
static void take_off_links(OrrSharing *sharing, Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  if (!flow->runs) return;
  flow->runs = FALSE;
  for (guint32 i = 0; i < transfer->n_uses; i++) {
    Link *link = link_at(sharing, transfer->uses[i].link);
    Use *use = &flow->uses[i];
    if (use->previous)
      use->previous->next = use->next;
    else
      link->first = use->next;
    if (use->next) use->next->previous = use->previous;
    link->n--;
    if (link->n > 0) note_change(sharing, transfer->uses[i].link);
  }
}

/* --- the region --- */

static Flow *flow_at(const OrrSharing *sharing, guint32 place) {
  return sharing->region.pdata[place];
}

static void join(OrrSharing *sharing, Flow *flow) {
  if (flow->round == sharing->round) return;
  flow->round = sharing->round;
  flow->place = sharing->region.len;
  orr_pointers_add(&sharing->region, flow);
}

static gboolean is_in(const OrrSharing *sharing, const Flow *flow) {
  return flow->round == sharing->round;
}

/* The flows that the changed links move: new ones, those held there, and all where a bandwidth
 * changed. */
static void begin_region(OrrSharing *sharing) {
  sharing->round++;
  sharing->region.len = 0;
  ORR_EACH_VALUE(const OrrLink, index, &sharing->changed) {
    Link *link = link_at(sharing, index);
    for (Use *use = link->first; use; use = use->next)
      if (link->has_new_bandwidth || use->flow->bottleneck == NO_LINK ||
          use->flow->bottleneck == index)
        join(sharing, use->flow);
    link->changed = link->has_new_bandwidth = FALSE;
  }
  sharing->changed.len = 0;
}

/* All that the region's links reach. */
static void spread(OrrSharing *sharing) {
  for (guint i = 0; i < sharing->region.len; i++) {
    const OrrTransfer *transfer = ((Flow *)sharing->region.pdata[i])->transfer;
    for (guint32 u = 0; u < transfer->n_uses; u++)
      for (Use *use = link_at(sharing, transfer->uses[u].link)->first; use; use = use->next)
        join(sharing, use->flow);
  }
}

/* --- what is left to the region --- */

static guint32 weight_of(const Use *use) {
  return use->flow->transfer->uses[use - use->flow->uses].weight;
}

/* The bandwidth that the others leave of the link; `left` is its bandwidth before. */
static void look_at_others(const OrrSharing *sharing, Link *link, OrrLink index) {
  const double rounding = TOLERANCE * link->left;
  if (link->n == link->n_region) return;
  for (Use *use = link->first; use; use = use->next) {
    if (is_in(sharing, use->flow)) continue;
    link->left -= weight_of(use) * use->flow->rate;
    link->fastest = MAX(link->fastest, use->flow->rate);
    link->n_held += use->flow->bottleneck == index;
  }
  if (link->left < rounding) link->left = 0;
}

static void touch(OrrSharing *sharing, const OrrEngine *engine) {
  sharing->pass++;
  sharing->touched.len = 0;
  for (guint i = 0; i < sharing->region.len; i++) {
    const OrrTransfer *transfer = ((Flow *)sharing->region.pdata[i])->transfer;
    for (guint32 u = 0; u < transfer->n_uses; u++) {
      const OrrLink index = transfer->uses[u].link;
      Link *link = link_at(sharing, index);
      if (link->pass != sharing->pass) {
        link->pass = sharing->pass;
        link->n_region = link->n_held = link->first_flow = 0;
        link->left = bandwidth_of(engine, index);
        link->fastest = link->fastest_here = link->demand = link->taken = 0;
        orr_numbers_add(&sharing->touched, index);
      }
      link->n_region++;
    }
  }
  ORR_EACH_VALUE(const OrrLink, index, &sharing->touched)
    look_at_others(sharing, link_at(sharing, index), index);
}

static void bound_rates(const OrrSharing *sharing) {
  for (guint i = 0; i < sharing->region.len; i++) {
    Flow *flow = flow_at(sharing, i);
    const OrrTransfer *transfer = flow->transfer;
    flow->most = G_MAXDOUBLE;
    for (guint32 u = 0; u < transfer->n_uses; u++)
      flow->most = MIN(flow->most,
                       link_at(sharing, transfer->uses[u].link)->left / transfer->uses[u].weight);
    for (guint32 u = 0; u < transfer->n_uses; u++)
      link_at(sharing, transfer->uses[u].link)->demand += transfer->uses[u].weight * flow->most;
  }
}

/* Whether flows of the region can fill it together. */
static gboolean can_bind(const Link *link) {
  return link->n_region > 1 && link->demand > link->left;
}

/* --- systems --- */

static guint32 leader_of(const OrrSharing *sharing, guint32 place) {
  while (flow_at(sharing, place)->leader != place) {
    Flow *flow = flow_at(sharing, place);
    flow->leader = flow_at(sharing, flow->leader)->leader;
    place = flow->leader;
  }
  return place;
}

static void lead_together(OrrSharing *sharing, Flow *flow, Link *link) {
  if (link->first_flow == 0) {
    link->first_flow = flow->place + 1;
    return;
  }
  const guint32 a = leader_of(sharing, flow->place), b = leader_of(sharing, link->first_flow - 1);
  flow_at(sharing, MAX(a, b))->leader = MIN(a, b);
}

/* Lists the flows in `order`, by leader and then by place. */
static void list_by_leader(OrrSharing *sharing) {
  const guint n = sharing->region.len;
  orr_numbers_set_size(&sharing->order, n);
  orr_numbers_set_size(&sharing->next, n + 1);
  guint32 *next = sharing->next.data; /* by leader: the place of its next flow */
  memset(next, 0, (n + 1) * sizeof *next);
  for (guint32 i = 0; i < n; i++) next[flow_at(sharing, i)->leader + 1]++;
  for (guint32 i = 0; i < n; i++) next[i + 1] += next[i];
  for (guint32 i = 0; i < n; i++) sharing->order.data[next[flow_at(sharing, i)->leader]++] = i;
}

/* Puts the flows of one system next to each other in `order`. */
static void group(OrrSharing *sharing) {
  const guint n = sharing->region.len;
  for (guint32 i = 0; i < n; i++) flow_at(sharing, i)->leader = i;
  for (guint32 i = 0; i < n; i++) {
    const OrrTransfer *transfer = flow_at(sharing, i)->transfer;
    for (guint32 u = 0; u < transfer->n_uses; u++) {
      Link *link = link_at(sharing, transfer->uses[u].link);
      if (flow_at(sharing, i)->most > 0 && can_bind(link))
        lead_together(sharing, flow_at(sharing, i), link);
    }
  }
  for (guint32 i = 0; i < n; i++) flow_at(sharing, i)->leader = leader_of(sharing, i);
  list_by_leader(sharing);
}

/* solve_system has made room for all uses, and for as many capacities. */
static void add_use(OrrSharing *sharing, guint32 index, guint32 weight) {
  g_array_index(sharing->uses, OrrLinkUse, sharing->n_uses++) = (OrrLinkUse){index, weight};
}

static guint32 add_capacity(OrrSharing *sharing, double capacity) {
  g_array_index(sharing->capacities, double, sharing->n_capacities) = capacity;
  return sharing->n_capacities++;
}

/* Adds a flow with the links that it shares, and a link of its own where those do not bound it as
 * much as its other links do. */
static void add_flow(OrrSharing *sharing, const Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  double alone = G_MAXDOUBLE, shared = G_MAXDOUBLE;
  orr_numbers_add(&sharing->firsts, sharing->n_uses);
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    Link *link = link_at(sharing, transfer->uses[u].link);
    const guint32 weight = transfer->uses[u].weight;
    double *bound = can_bind(link) ? &shared : &alone;
    *bound = MIN(*bound, link->left / weight);
    if (!can_bind(link)) continue;
    if (link->first_flow > 0) { /* not in the system yet */
      link->first_flow = 0;
      link->index = add_capacity(sharing, link->left);
    }
    add_use(sharing, link->index, weight);
  }
  if (alone < shared) add_use(sharing, add_capacity(sharing, alone), 1);
}

static Flow *flow_in_order(const OrrSharing *sharing, guint i) {
  return flow_at(sharing, sharing->order.data[i]);
}

/* Solves the system of the flows @from to @to of `order`. */
static void solve_system(OrrSharing *sharing, guint from, guint to) {
  guint most_uses = 0;
  for (guint i = from; i < to; i++)
    most_uses += flow_in_order(sharing, i)->transfer->n_uses + 1; /* and a link of its own */
  g_array_set_size(sharing->capacities, most_uses);
  g_array_set_size(sharing->uses, most_uses);
  sharing->n_capacities = sharing->n_uses = sharing->firsts.len = 0;
  for (guint i = from; i < to; i++) add_flow(sharing, flow_in_order(sharing, i));
  orr_numbers_add(&sharing->firsts, sharing->n_uses);
  g_array_set_size(sharing->rates, to - from);
  const OrrSharingSystem system = {.n_transfers = to - from,
                                   .n_links = sharing->n_capacities,
                                   .n_uses = sharing->n_uses,
                                   .capacities = (double *)(void *)sharing->capacities->data,
                                   .first_uses = sharing->firsts.data,
                                   .uses = (OrrLinkUse *)(void *)sharing->uses->data,
                                   .rates = (double *)(void *)sharing->rates->data};
  sharing->solve(&system, sharing->user);
  for (guint i = from; i < to; i++) flow_in_order(sharing, i)->rate = system.rates[i - from];
}

static void solve_region(OrrSharing *sharing) {
  const guint n = sharing->region.len;
  bound_rates(sharing);
  group(sharing);
  for (guint from = 0, to; from < n; from = to) {
    Flow *first = flow_in_order(sharing, from);
    for (to = from + 1; to < n; to++)
      if (flow_in_order(sharing, to)->leader != first->leader) break;
    if (to == from + 1)
      first->rate = first->most;
    else
      solve_system(sharing, from, to);
  }
}

/* --- the check --- */

static void sum_up(const OrrSharing *sharing, const OrrEngine *engine) {
  ORR_EACH_VALUE(const OrrLink, index, &sharing->touched) {
    Link *link = link_at(sharing, index);
    link->taken = bandwidth_of(engine, index) - link->left;
  }
  for (guint i = 0; i < sharing->region.len; i++) {
    const Flow *flow = flow_at(sharing, i);
    const OrrTransfer *transfer = flow->transfer;
    for (guint32 u = 0; u < transfer->n_uses; u++) {
      Link *link = link_at(sharing, transfer->uses[u].link);
      link->taken += transfer->uses[u].weight * flow->rate;
      link->fastest_here = MAX(link->fastest_here, flow->rate);
    }
  }
}

static gboolean is_full(const Link *link, double bandwidth) {
  return link->taken >= bandwidth * (1 - TOLERANCE);
}

/* Others that have their bottleneck on a link that lost that role. */
static void free_held(OrrSharing *sharing, const OrrEngine *engine) {
  ORR_EACH_VALUE(const OrrLink, index, &sharing->touched) {
    Link *link = link_at(sharing, index);
    const gboolean holds = is_full(link, bandwidth_of(engine, index)) &&
                           link->fastest_here <= link->fastest * (1 + TOLERANCE);
    if (link->n_held > 0 && !holds)
      for (Use *use = link->first; use; use = use->next)
        if (use->flow->bottleneck == index) join(sharing, use->flow);
    link->fastest = MAX(link->fastest, link->fastest_here);
  }
}

/* The full link on which @flow is the fastest; NO_LINK without one. */
static OrrLink bottleneck_of(const OrrSharing *sharing, const OrrEngine *engine, const Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    const OrrLink index = transfer->uses[u].link;
    const Link *link = link_at(sharing, index);
    if (is_full(link, bandwidth_of(engine, index)) && flow->rate >= link->fastest * (1 - TOLERANCE))
      return index;
  }
  return NO_LINK;
}

/* Others that take more of a full link than @flow, which has no bottleneck, join. */
static void slow_others(OrrSharing *sharing, const OrrEngine *engine, const Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    const OrrLink index = transfer->uses[u].link;
    const Link *link = link_at(sharing, index);
    if (!is_full(link, bandwidth_of(engine, index)) || link->n == link->n_region) continue;
    for (Use *use = link->first; use; use = use->next)
      if (use->flow->rate > flow->rate) join(sharing, use->flow);
  }
}

/* Where rounding leaves no link full: that which is nearest to it. */
static OrrLink fullest_of(const OrrSharing *sharing, const OrrEngine *engine, const Flow *flow) {
  const OrrTransfer *transfer = flow->transfer;
  OrrLink best = NO_LINK;
  double most = -1;
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    const OrrLink index = transfer->uses[u].link;
    const double filled = link_at(sharing, index)->taken / bandwidth_of(engine, index);
    if (filled <= most) continue;
    most = filled;
    best = index;
  }
  return best;
}

/* Whether the region's rates hold in the whole network; otherwise flows joined the region. */
static gboolean check(OrrSharing *sharing, const OrrEngine *engine) {
  const guint n = sharing->region.len;
  sum_up(sharing, engine);
  free_held(sharing, engine);
  for (guint i = 0; i < n; i++) {
    Flow *flow = flow_at(sharing, i);
    flow->bottleneck = bottleneck_of(sharing, engine, flow);
    if (flow->bottleneck == NO_LINK) slow_others(sharing, engine, flow);
  }
  if (sharing->region.len > n) return FALSE;
  for (guint i = 0; i < n; i++) {
    Flow *flow = flow_at(sharing, i);
    if (flow->bottleneck == NO_LINK) flow->bottleneck = fullest_of(sharing, engine, flow);
  }
  return TRUE;
}

/* --- what engines call --- */

/* A region of one transfer that has its links to itself, the most frequent one: what the systems
 * and the check would find, in two passes over its links. FALSE: there are others. */
static gboolean solve_alone(const OrrSharing *sharing, const OrrEngine *engine) {
  Flow *flow = flow_at(sharing, 0);
  const OrrTransfer *transfer = flow->transfer;
  double most = G_MAXDOUBLE;
  if (sharing->region.len > 1) return FALSE;
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    if (link_at(sharing, transfer->uses[u].link)->n > 1) return FALSE;
    most = MIN(most, bandwidth_of(engine, transfer->uses[u].link) / transfer->uses[u].weight);
  }
  flow->rate = most;
  for (guint32 u = 0; u < transfer->n_uses; u++) {
    flow->bottleneck = transfer->uses[u].link;
    if (transfer->uses[u].weight * most >= bandwidth_of(engine, flow->bottleneck) * (1 - TOLERANCE))
      break;
  }
  return TRUE;
}

void orr_sharing_settle(OrrSharing *sharing, OrrEngine *engine) {
  if (sharing->changed.len == 0) return;
  begin_region(sharing);
  if (sharing->region.len == 0) return;
  for (guint growths = 0; !solve_alone(sharing, engine); growths++) {
    if (growths == MOST_GROWTHS) spread(sharing);
    touch(sharing, engine);
    solve_region(sharing);
    if (check(sharing, engine)) break;
  }
  for (guint i = 0; i < sharing->region.len; i++)
    orr_engine_set_rate(engine, flow_at(sharing, i)->transfer, flow_at(sharing, i)->rate);
}

OrrSharing *orr_sharing_new(OrrSharingSolve solve, void *user) {
  OrrSharing *sharing = g_new0(OrrSharing, 1);
  sharing->solve = solve;
  sharing->user = user;
  sharing->links = g_array_new(FALSE, TRUE, sizeof(Link));
  sharing->capacities = g_array_new(FALSE, FALSE, sizeof(double));
  sharing->uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  sharing->rates = g_array_new(FALSE, FALSE, sizeof(double));
  return sharing;
}

void orr_sharing_free(OrrSharing *sharing) {
  if (!sharing) return;
  GArray *arrays[] = {sharing->links, sharing->capacities, sharing->uses, sharing->rates};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) g_array_unref(arrays[i]);
  ORR_FREE(sharing->region.pdata, sharing->changed.data, sharing->touched.data, sharing->order.data,
           sharing->next.data, sharing->firsts.data);
  orr_spares_clear(&sharing->ended);
  g_free(sharing);
}

void orr_sharing_add_link(OrrSharing *sharing, OrrLink link) {
  g_array_set_size(sharing->links, link + 1);
}

void orr_sharing_start(OrrSharing *sharing, OrrTransfer *transfer) {
  Flow *flow = orr_spares_take(&sharing->ended, transfer->n_uses,
                               sizeof *flow + transfer->n_uses * sizeof(Use));
  *flow = (Flow){.transfer = transfer};
  transfer->action = flow;
  if (!transfer->held) put_on_links(sharing, flow);
}

void orr_sharing_end(OrrSharing *sharing, OrrTransfer *transfer) {
  take_off_links(sharing, transfer->action);
  orr_spares_give(&sharing->ended, transfer->n_uses, g_steal_pointer(&transfer->action));
}

void orr_sharing_hold(OrrSharing *sharing, OrrTransfer *transfer, gboolean held) {
  (held ? take_off_links : put_on_links)(sharing, transfer->action);
}

void orr_sharing_bandwidth_changed(OrrSharing *sharing, OrrLink link) {
  note_change(sharing, link);
  link_at(sharing, link)->has_new_bandwidth = TRUE;
}

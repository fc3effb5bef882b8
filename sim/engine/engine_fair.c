/*
 * engine_fair.c - transfers share links max-min fairly, like SimGrid's but solved here, in less
 * time.
 *
 * A system (sharing.c) is solved by progressive filling (Bertsekas and Gallager, Data Networks,
 * 6.5.2): all rates grow together until the link with the least B / sum of weights is full; the
 * rates of its transfers are then fixed, and the bandwidth that they take is subtracted from their
 * other links. The solution is unique, so it equals SimGrid's up to rounding
 * (tests/engine/test_engine_random.c checks both). A process can open any number of these engines,
 * so sweeps need no child processes.
 *
 * What is left of a link divided by the weights of its open transfers never falls, so a heap of
 * links by that rate finds the next one: a link whose rate rose since it was put there goes back.
 * A system with n uses takes O(n log n).
 */
#include "sim/engine/engine_private.h"

typedef struct {
  double left;    /* bandwidth left by fixed transfers */
  guint64 weight; /* sum over open transfers */
  guint32 first;  /* of its uses in `by_link` */
} Link;

typedef struct {
  double rate;
  guint32 link;
} Next;

typedef struct {
  OrrSharing *sharing;
  GArray *links;   /* of Link, one more than the system has */
  GArray *by_link; /* of guint32: transfers by link */
  GArray *heap;    /* of Next, the least rate first */
} Fair;

static Link *link_at(const Fair *fair, guint32 link) {
  return &g_array_index(fair->links, Link, link);
}

/* --- the heap --- */

static void push(GArray *heap, Next next) {
  guint at = heap->len++; /* solve has made room */
  Next *all = (Next *)(void *)heap->data;
  for (; at > 0 && next.rate < all[(at - 1) / 2].rate; at = (at - 1) / 2)
    all[at] = all[(at - 1) / 2];
  all[at] = next;
}

static void sift_down(GArray *heap, Next next) {
  Next *all = (Next *)(void *)heap->data;
  guint at = 0;
  for (guint child; (child = 2 * at + 1) < heap->len; at = child) {
    if (child + 1 < heap->len && all[child + 1].rate < all[child].rate) child++;
    if (next.rate <= all[child].rate) break;
    all[at] = all[child];
  }
  all[at] = next;
}

static void pop(GArray *heap) {
  const Next last = g_array_index(heap, Next, heap->len - 1);
  heap->len--;
  if (heap->len > 0) sift_down(heap, last);
}

/* --- solving --- */

static void sort_by_link(Fair *fair, const OrrSharingSystem *system) {
  g_array_set_size(fair->links, system->n_links + 1);
  g_array_set_size(fair->by_link, system->n_uses);
  for (guint32 l = 0; l <= system->n_links; l++)
    *link_at(fair, l) = (Link){l < system->n_links ? system->capacities[l] : 0, 0, 0};
  for (guint32 u = 0; u < system->n_uses; u++) {
    link_at(fair, system->uses[u].link)->weight += system->uses[u].weight;
    link_at(fair, system->uses[u].link + 1)->first++;
  }
  for (guint32 l = 0; l < system->n_links; l++)
    link_at(fair, l + 1)->first += link_at(fair, l)->first;
  for (guint32 t = system->n_transfers; t-- > 0;)
    for (guint32 u = system->first_uses[t]; u < system->first_uses[t + 1]; u++)
      g_array_index(fair->by_link, guint32, --link_at(fair, system->uses[u].link + 1)->first) = t;
  /* Each link's uses now begin at the `first` of the one after it. */
}

static void fix(Fair *fair, const OrrSharingSystem *system, guint32 transfer, double rate) {
  system->rates[transfer] = rate;
  for (guint32 u = system->first_uses[transfer]; u < system->first_uses[transfer + 1]; u++) {
    Link *link = link_at(fair, system->uses[u].link);
    link->weight -= system->uses[u].weight;
    link->left = MAX(link->left - system->uses[u].weight * rate, 0);
  }
}

static void fill(Fair *fair, const OrrSharingSystem *system, guint32 link, double rate) {
  const guint32 from = link_at(fair, link + 1)->first,
                to = link + 1 < system->n_links ? link_at(fair, link + 2)->first : system->n_uses;
  for (guint32 i = from; i < to; i++) {
    const guint32 transfer = g_array_index(fair->by_link, guint32, i);
    if (system->rates[transfer] < 0) fix(fair, system, transfer, rate);
  }
}

static void solve(const OrrSharingSystem *system, void *user) {
  Fair *fair = user;
  sort_by_link(fair, system);
  g_array_set_size(fair->heap, system->n_links);
  fair->heap->len = 0;
  for (guint32 t = 0; t < system->n_transfers; t++) system->rates[t] = -1; /* open */
  for (guint32 l = 0; l < system->n_links; l++)
    push(fair->heap, (Next){link_at(fair, l)->left / (double)link_at(fair, l)->weight, l});
  while (fair->heap->len > 0) {
    const Next next = g_array_index(fair->heap, Next, 0);
    const Link *link = link_at(fair, next.link);
    const double rate = link->weight > 0 ? link->left / (double)link->weight : G_MAXDOUBLE;
    if (link->weight > 0 && rate > next.rate) {
      sift_down(fair->heap, (Next){rate, next.link});
      continue;
    }
    pop(fair->heap);
    if (link->weight > 0) fill(fair, system, next.link, rate);
  }
}

/* --- the class --- */

static gboolean fair_open(OrrEngine *engine, GError **error) {
  Fair *fair = g_new0(Fair, 1);
  fair->sharing = orr_sharing_new(solve, fair);
  fair->links = g_array_new(FALSE, FALSE, sizeof(Link));
  fair->by_link = g_array_new(FALSE, FALSE, sizeof(guint32));
  fair->heap = g_array_new(FALSE, FALSE, sizeof(Next));
  engine->state = fair;
  return TRUE;
}

static void fair_close(OrrEngine *engine) {
  Fair *fair = engine->state;
  orr_sharing_free(fair->sharing);
  g_array_unref(fair->links);
  g_array_unref(fair->by_link);
  g_array_unref(fair->heap);
  g_free(fair);
  engine->state = NULL;
}

static OrrSharing *sharing_of(const OrrEngine *engine) { return ((Fair *)engine->state)->sharing; }

static gboolean fair_add_link(OrrEngine *engine, OrrLink link, GError **error) {
  orr_sharing_add_link(sharing_of(engine), link);
  return TRUE;
}

static void fair_start(OrrEngine *engine, OrrTransfer *transfer) {
  orr_sharing_start(sharing_of(engine), transfer);
}

static void fair_end(OrrEngine *engine, OrrTransfer *transfer) {
  orr_sharing_end(sharing_of(engine), transfer);
}

static void fair_hold(OrrEngine *engine, OrrTransfer *transfer, gboolean held) {
  orr_sharing_hold(sharing_of(engine), transfer, held);
}

static void fair_bandwidth_changed(OrrEngine *engine, OrrLink link) {
  orr_sharing_bandwidth_changed(sharing_of(engine), link);
}

static void fair_settle(OrrEngine *engine) { orr_sharing_settle(sharing_of(engine), engine); }

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
};

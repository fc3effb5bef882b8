/*
 * double_tree_steps.c - the double binary trees as single sends, one per chunk and edge: the form
 * that double_tree.c and nvls_tree.c plan as one flow.
 *
 * Tree t of channel k carries S/(2m), cut into consecutive chunks: an edge sends chunk c when its
 * chunk c - 1 is done and everything that goes into chunk c has arrived.
 *
 *   up      a domain's members give to its k-th (chain, or NVSwitch), children to their parent's
 *   root    turns round: what came up goes down
 *   down    from the parent, on to the children, and into the domain
 */
#include "workloads/collectives/collective_private.h"

enum { MOST_NEEDS = 8, UNDER_WAY = 4 };

typedef struct {
  guint32 sends[MOST_NEEDS];
  guint n;
} Needs;

/* One tree of one channel. Node i of the tree is domain i. */
typedef struct {
  OrrCollectiveSteps *steps;
  const OrrCollectiveLayout *layout;
  guint tree, channel, n;
  gboolean by_switch; /* in a domain, the NVSwitch gathers and spreads; otherwise a chain does */
  double bytes;       /* bytes per chunk */
  guint *above;       /* parent of each node; n: the root */
  guint *order;       /* nodes, from the root downwards */
  /* by edge: its send of the previous chunk; first the two edges of each member of a domain, then
   * the trees' edges */
  guint32 *last;
  Needs *risen, *came; /* by node: the sends that brought the chunk up to it and down to it */
} Tree;

static void add_need(Needs *needs, guint32 send) {
  g_assert(needs->n < MOST_NEEDS);
  if (send != ORR_NO_SEND) needs->sends[needs->n++] = send;
}

static guint depth_below(const Tree *tree, guint node) {
  guint depth = 0;
  for (; tree->above[node] != tree->n; node = tree->above[node]) depth++;
  return depth;
}

static void tree_init(Tree *tree) {
  const guint n_edges = 2 * tree->layout->first[tree->layout->n_domains] + 2 * tree->n;
  guint depth = 0, done = 0;
  tree->above = g_new0(guint, tree->n + 1);
  tree->order = g_new0(guint, tree->n + 1);
  for (guint node = 0; node < tree->n; node++)
    tree->above[node] = orr_double_tree_above(tree->tree, node, tree->n);
  for (; done < tree->n; depth++)
    for (guint node = 0; node < tree->n; node++)
      if (depth_below(tree, node) == depth) tree->order[done++] = node;
  tree->last = g_new(guint32, n_edges * UNDER_WAY);
  for (guint edge = 0; edge < n_edges * UNDER_WAY; edge++) tree->last[edge] = ORR_NO_SEND;
  tree->risen = g_new0(Needs, tree->n + 1);
  tree->came = g_new0(Needs, tree->n + 1);
}

static void tree_clear(Tree *tree) {
  ORR_FREE(tree->above, tree->order, tree->last, tree->risen, tree->came);
}

static guint size_of(const Tree *tree, guint domain) {
  return orr_collective_layout_size(tree->layout, domain);
}

static gint64 member(const Tree *tree, guint domain, guint i) {
  return orr_collective_layout_gpu(tree->layout, domain, tree->channel + i);
}

static guint32 note(Tree *tree, guint edge, guint32 sent) {
  guint32 *last = &tree->last[edge * UNDER_WAY];
  for (guint i = UNDER_WAY - 1; i > 0; i--) last[i] = last[i - 1];
  return last[0] = sent;
}

/* Sends a chunk over an edge, after the previous chunk and what it needs. */
static guint32 send(Tree *tree, guint edge, gint64 src, gint64 dst, Needs needs) {
  add_need(&needs, tree->last[edge * UNDER_WAY + UNDER_WAY - 1]);
  return note(tree, edge,
              orr_collective_steps_send(tree->steps, src, dst, tree->channel, tree->bytes,
                                        needs.sends, needs.n));
}

/* Sends through the NVSwitch: from all members of a domain to its k-th, or back. */
static guint32 send_by_switch(Tree *tree, guint edge, guint domain, gboolean spread, Needs needs) {
  const gint64 *gpus = tree->layout->gpus + tree->layout->first[domain];
  add_need(&needs, tree->last[edge * UNDER_WAY + UNDER_WAY - 1]);
  return note(tree, edge,
              orr_collective_steps_switch(tree->steps, gpus, size_of(tree, domain), tree->channel,
                                          spread, tree->bytes, needs.sends, needs.n));
}

static guint inner_edge(const Tree *tree, guint domain, guint i, gboolean down) {
  return (tree->layout->first[domain] + i) * 2 + (down ? 1 : 0);
}

static guint tree_edge(const Tree *tree, guint node, gboolean down) {
  return 2 * tree->layout->first[tree->layout->n_domains] + 2 * node + (down ? 1 : 0);
}

/* Gathers a domain's chunk at its k-th member; ORR_NO_SEND if that is the only member. */
static guint32 gather(Tree *tree, guint domain) {
  const guint m = size_of(tree, domain);
  guint32 got = ORR_NO_SEND;
  if (m == 1) return ORR_NO_SEND;
  if (tree->by_switch)
    return send_by_switch(tree, inner_edge(tree, domain, 0, FALSE), domain, FALSE, (Needs){{0}, 0});
  for (guint i = m - 1; i > 0; i--) {
    Needs needs = {{0}, 0};
    add_need(&needs, got);
    got = send(tree, inner_edge(tree, domain, i, FALSE), member(tree, domain, i),
               member(tree, domain, i - 1), needs);
  }
  return got;
}

static void spread(Tree *tree, guint domain, Needs needs) {
  const guint m = size_of(tree, domain);
  if (m == 1) return;
  if (tree->by_switch) {
    send_by_switch(tree, inner_edge(tree, domain, 0, TRUE), domain, TRUE, needs);
    return;
  }
  for (guint i = 1; i < m; i++) {
    const guint32 passed = send(tree, inner_edge(tree, domain, i, TRUE),
                                member(tree, domain, i - 1), member(tree, domain, i), needs);
    needs = (Needs){{passed}, 1};
  }
}

static void rise(Tree *tree) {
  for (guint node = 0; node < tree->n; node++) tree->risen[node].n = 0;
  for (guint i = tree->n; i-- > 0;) {
    const guint node = tree->order[i], above = tree->above[node];
    add_need(&tree->risen[node], gather(tree, node));
    if (above == tree->n) continue;
    add_need(&tree->risen[above], send(tree, tree_edge(tree, node, FALSE), member(tree, node, 0),
                                       member(tree, above, 0), tree->risen[node]));
  }
}

/* From the root, to which the chunk has risen. */
static void descend(Tree *tree) {
  for (guint i = 0; i < tree->n; i++) {
    const guint node = tree->order[i], above = tree->above[node];
    tree->came[node] = tree->risen[node];
    if (above < tree->n) {
      const guint32 got = send(tree, tree_edge(tree, node, TRUE), member(tree, above, 0),
                               member(tree, node, 0), tree->came[above]);
      tree->came[node] = (Needs){{got}, 1};
    }
    spread(tree, node, tree->came[node]);
  }
}

void orr_double_tree_steps(const OrrCollectiveCall *call, const OrrCollectiveLayout *layout,
                           gboolean by_switch, OrrCollectiveSteps *steps) {
  const guint m = layout->channels;
  const double bytes = call->bytes / (ORR_N_TREES * m);
  const guint n_chunks = orr_collective_steps_chunks(steps, bytes, layout->n_domains == 1,
                                                     2 * ORR_N_TREES * m * call->n);
  Tree *trees = g_new0(Tree, ORR_N_TREES * m);
  for (guint i = 0; i < ORR_N_TREES * m; i++) {
    trees[i] = (Tree){.steps = steps,
                      .layout = layout,
                      .tree = i % ORR_N_TREES,
                      .channel = i / ORR_N_TREES,
                      .n = layout->n_domains,
                      .by_switch = by_switch,
                      .bytes = bytes / n_chunks};
    tree_init(&trees[i]);
  }
  for (guint chunk = 0; chunk < n_chunks; chunk++)
    for (guint i = 0; i < ORR_N_TREES * m; i++) {
      rise(&trees[i]);
      descend(&trees[i]);
    }
  for (guint i = 0; i < ORR_N_TREES * m; i++) tree_clear(&trees[i]);
  g_free(trees);
}

/*
 * levelled.c - HCCL's algorithms of few steps between servers, after a level inside them: H-D_R
 * (halving-doubling), NHR and NB (HCCL's manual, "Collective communication algorithms").
 *
 * N nodes of m members. As in hierarchical.c, members reduce-scatter inside their node, the ranks
 * at one position of all nodes (a rail) reduce their S/m, and members gather inside; all-gathers
 * and reduce-scatters are one half of it. Inside: all members of a mesh at once, else a ring.
 * Between nodes, for data D = S/m, n = N:
 *
 *   nhr, nb             step k = 0, 1, ..., ceil(log2 n) - 1 to the rank at distance 2^k, with
 *                       floor((n - 1 + 2^k) / 2^(k+1)) parts of D/n: half of the data to the next
 *                       rank, one part to the farthest; n - 1 parts in all, for any n
 *   halving-doubling    p = 2^floor(log2 n) ranks exchange D/2, D/4, ... D/p with the rank at
 *                       distance 1, 2, ... p/2; the n - p others first give all of D to a
 *                       neighbour, and get it back
 *
 *   reduce-scatter or all-gather    nhr, nb            ceil(log2 n) alpha + (n-1)/n D/B
 *                                   halving-doubling   (log2 p + e) alpha + ((p-1)/p + e) D/B
 *                                                      e: 1 unless n is a power of two, then 0
 *   all-reduce                      twice that
 *
 * NHR and NB differ in how the parts lie in memory (NHR renumbers them so that a send is one
 * piece), which no link sees. HCCL's `pipeline`, which overlaps both levels, and AHC are not
 * modelled.
 *
 * A group inside one node, or with unequal nodes, has one level: rank to rank. Inside a mesh that
 * would use one link of several at a time, so it is refused there; HCCL takes `mesh`.
 *
 * Only if the profile's `choices` say so, or forced. Example:   algorithm: nhr
 */
#include "workloads/collectives/collective_private.h"

/* @n ranks gpus[0], gpus[stride], ... on one rail. */
typedef struct {
  const gint64 *gpus;
  guint n, stride;
  guint64 rail;
} Ranks;

typedef struct {
  /* Adds one pass over @ranks, with @gather an all-gather, else a reduce-scatter, in parts of the
   * data; returns its latency. */
  double (*add)(OrrCollectiveFlow *flow, const Ranks *ranks, gboolean gather);
  guint (*parts)(guint n); /* into which the data of @n ranks is cut */
} Pass;

static double send(OrrCollectiveFlow *flow, const Ranks *ranks, guint from, guint to,
                   guint weight) {
  return orr_collective_flow_edge(flow, ranks->gpus[from * ranks->stride],
                                  ranks->gpus[to * ranks->stride], ranks->rail, weight);
}

/* --- NHR, NB --- */

static guint one_part_a_rank(guint n) { return n; }

static double add_nonuniform(OrrCollectiveFlow *flow, const Ranks *ranks, gboolean gather) {
  const guint n = ranks->n;
  double sum_s = 0;
  for (guint distance = 1; distance < n; distance *= 2) {
    const guint parts = (n - 1 + distance) / (2 * distance);
    double dearest_s = 0;
    for (guint r = 0; r < n; r++) {
      const guint other = (r + distance) % n;
      const double hop_s =
          gather ? send(flow, ranks, other, r, parts) : send(flow, ranks, r, other, parts);
      dearest_s = MAX(dearest_s, hop_s);
    }
    sum_s += dearest_s;
  }
  return sum_s;
}

/* --- Halving-doubling --- */

static guint power_below(guint n) { return 1u << (g_bit_storage(n) - 1); }

/* Where 2^k = p of n ranks exchange, the n - p pairs at the front have one that does. */
static guint exchanger(guint i, guint n_pairs) { return i < n_pairs ? 2 * i : i + n_pairs; }

static double add_halving(OrrCollectiveFlow *flow, const Ranks *ranks, gboolean gather) {
  const guint p = power_below(ranks->n), n_pairs = ranks->n - p;
  double sum_s = 0, pair_s = 0;
  for (guint distance = 1; distance < p; distance *= 2) {
    double dearest_s = 0;
    for (guint i = 0; i < p; i++) {
      const double hop_s = send(flow, ranks, exchanger(i, n_pairs),
                                exchanger(i ^ distance, n_pairs), p / (2 * distance));
      dearest_s = MAX(dearest_s, hop_s);
    }
    sum_s += dearest_s;
  }
  for (guint i = 0; i < n_pairs; i++) {
    const guint one = 2 * i, other = one + 1;
    const double hop_s =
        gather ? send(flow, ranks, one, other, p) : send(flow, ranks, other, one, p);
    pair_s = MAX(pair_s, hop_s);
  }
  return sum_s + pair_s;
}

static const Pass nonuniform = {add_nonuniform, one_part_a_rank};
static const Pass halving = {add_halving, power_below};

/* --- Levels --- */

typedef struct {
  const OrrCollectiveContext *context;
  const OrrCollectiveCall *call;
  const Pass *pass;
  OrrCollectiveLayout layout; /* by node */
  GArray *phases;
} Levels;

/* The ranks of all rails, or of the group where it has one level. */
static void add_across(const Levels *levels, gboolean gather) {
  const OrrCollectiveLayout *layout = &levels->layout;
  const guint n_domains = layout->n_domains;
  const gboolean is_flat = n_domains == 1 || !layout->equal;
  const guint rails = is_flat ? 1 : layout->channels,
              n = is_flat ? levels->call->n : layout->n_domains;
  double pass_s = 0;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, levels->context);
  for (guint rail = 0; rail < rails; rail++) {
    const Ranks ranks = {layout->gpus + rail, n, rails, rail};
    const double rail_s = levels->pass->add(&flow, &ranks, gather);
    pass_s = MAX(pass_s, rail_s);
  }
  orr_collective_flow_finish(&flow, pass_s, levels->call->bytes / rails / levels->pass->parts(n),
                             levels->phases);
}

static void add_inside(const Levels *levels) {
  const OrrCollectiveLayout *layout = &levels->layout;
  if (layout->n_domains > 1 && layout->equal && layout->channels > 1)
    orr_hierarchical_inside(levels->context, levels->call, layout, levels->phases);
}

static void plan_with(const Pass *pass, const OrrCollectiveContext *context,
                      const OrrCollectiveCall *call, GArray *phases) {
  Levels levels = {.context = context, .call = call, .pass = pass, .phases = phases};
  orr_collective_layout_init_nodes(&levels.layout, context->fabric, call->gpus, call->n);
  if (call->op != ORR_ALL_GATHER) {
    add_inside(&levels);
    add_across(&levels, FALSE);
  }
  if (call->op != ORR_REDUCE_SCATTER) {
    add_across(&levels, TRUE);
    add_inside(&levels);
  }
  orr_collective_layout_clear(&levels.layout);
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  gboolean one_node = TRUE;
  for (guint i = 1; i < call->n; i++)
    one_node &= orr_fabric_node(context->fabric, call->gpus[0]) ==
                orr_fabric_node(context->fabric, call->gpus[i]);
  if (one_node && orr_fabric_mesh_links(context->fabric, 0) > 1) return FALSE;
  return call->op == ORR_ALL_REDUCE || call->op == ORR_ALL_GATHER || call->op == ORR_REDUCE_SCATTER;
}

static guint passes(const OrrCollectiveCall *call) { return call->op == ORR_ALL_REDUCE ? 2 : 1; }

static void plan_nonuniform(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                            GArray *phases) {
  plan_with(&nonuniform, context, call, phases);
}

static double oracle_nonuniform(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return passes(call) * (g_bit_storage(call->n - 1) * alpha_s +
                         (call->n - 1.0) / call->n * call->bytes / bytes_per_s);
}

static void plan_halving(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                         GArray *phases) {
  plan_with(&halving, context, call, phases);
}

static double oracle_halving(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  const guint p = power_below(call->n), extra = p < call->n;
  return passes(call) * ((g_bit_storage(p) - 1 + extra) * alpha_s +
                         ((p - 1.0) / p + extra) * call->bytes / bytes_per_s);
}

const OrrCollectiveAlgorithm orr_halving_doubling = {
    .entry = {.name = "halving-doubling",
              .sentence = "Inside nodes, then halves of halves between them (HCCL's H-D_R)."},
    .chosen = ORR_CHOSEN_NEVER,
    .needs = "several nodes, or a domain with a switch",
    .supports = supports,
    .plan = plan_halving,
    .oracle = oracle_halving,
};

const OrrCollectiveAlgorithm orr_nb = {
    .entry = {.name = "nb",
              .sentence = "Inside nodes, then log2 n steps between any number (HCCL's NB)."},
    .chosen = ORR_CHOSEN_NEVER,
    .needs = "several nodes, or a domain with a switch",
    .supports = supports,
    .plan = plan_nonuniform,
    .oracle = oracle_nonuniform,
};

const OrrCollectiveAlgorithm orr_nhr = {
    .entry = {.name = "nhr",
              .sentence = "Inside nodes, then a ring's bytes in log2 n steps, most of them to "
                          "neighbours (HCCL's NHR)."},
    .chosen = ORR_CHOSEN_NEVER,
    .needs = "several nodes, or a domain with a switch",
    .supports = supports,
    .plan = plan_nonuniform,
    .oracle = oracle_nonuniform,
};

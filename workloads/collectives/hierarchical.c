/*
 * hierarchical.c - first inside the domains, then across them on all rails at once (Horovod's
 * hierarchical all-reduce; Jia et al., "Highly scalable deep learning training system with
 * mixed-precision", 2018, section 3.2; ASTRA-sim's multi-dimensional collectives).
 *
 * N domains of m members, n = N m; a rail is the set of ranks at the same position of their
 * domains.
 *
 *      domain 0   domain 1   domain 2
 *        0          4          8       rail 0       1. reduce-scatter down each column: a member
 *                                                   has S/m, summed
 *        1          5          9       rail 1       2. all-reduce along each row: S/m over N ranks,
 *                                                   all rows at once
 *        2          6         10       rail 2       3. all-gather down each column
 *        3          7         11       rail 3
 *
 * Each step is one phase of rings (ring.c), inside a mesh of links one of direct sends (mesh.c);
 * phases follow one another.
 *
 *                     inside           across                    inside
 *   all-reduce        (m-1)/m S        2(N-1)/N S/m              (m-1)/m S         bytes of a rank
 *   all-gather                         (N-1) S/n                 (m-1)/m S
 *   reduce-scatter    (m-1)/m S        (N-1) S/n
 *   broadcast         scatter (m-1)/m S from the root   S/m      (m-1)/m S
 *   reduce            (m-1)/m S        S/m                       gather (m-1)/m S at the root
 *   all-to-all        (m-1)/m S        (N-1)/N S                 (Tutel's 2DH, arXiv 2206.03382)
 *
 *   hops              m-1              N-1, all-reduce 2(N-1)    m-1; scatter and gather 1 (all
 *                                                                sends at once)
 *
 * Compared with one flat ring: N - 1 instead of n - 1 expensive hops per pass, at the price of an
 * inside part that is not overlapped. With one domain, one member per domain, or domains of
 * different sizes, there is one level only: NCCL's rings (all-to-all: pairwise). NCCL has no such
 * algorithm (frameworks build it from several calls), so it is used only if forced.
 *
 * Example:   algorithm: hierarchical
 */
#include "workloads/collectives/collective_private.h"

typedef struct {
  const OrrCollectiveContext *context;
  const OrrCollectiveCall *call;
  OrrCollectiveLayout layout;
  GArray *phases;
} Levels;

void orr_hierarchical_inside(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                             const OrrCollectiveLayout *layout, GArray *phases) {
  const gboolean is_mesh = orr_fabric_mesh_links(context->fabric, 0) > 1;
  const guint m = layout->channels;
  double pass_s = 0;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  for (guint d = 0; d < layout->n_domains; d++) {
    const gint64 *gpus = layout->gpus + d * m;
    double domain_s = is_mesh ? orr_mesh_pass(&flow, gpus, m)
                              : orr_collective_flow_chain(&flow, gpus, m, 1, 0, ORR_CHAIN_CLOSED);
    pass_s = MAX(pass_s, domain_s);
  }
  orr_collective_flow_finish(&flow, pass_s, call->bytes * (is_mesh ? 1 : m - 1) / m, phases);
}

static void add_inside(const Levels *levels) {
  orr_hierarchical_inside(levels->context, levels->call, &levels->layout, levels->phases);
}

/* Adds a chain over the domains on each rail: @passes passes, in which a rank sends @bytes in
 * total. */
static void add_across(const Levels *levels, OrrChain chain, guint passes, double bytes) {
  guint m = levels->layout.channels;
  double pass_s = 0;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, levels->context);
  for (guint rail = 0; rail < m; rail++) {
    double rail_s = orr_collective_flow_chain(&flow, levels->layout.gpus + rail,
                                              levels->layout.n_domains, m, rail, chain);
    pass_s = MAX(pass_s, rail_s);
  }
  orr_collective_flow_finish(&flow, passes * pass_s, bytes, levels->phases);
}

/* The root sends each member of its domain its S/m or, without @scatter, receives it from them. */
static void add_root(const Levels *levels, gboolean scatter) {
  double hop_s = 0;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, levels->context);
  for (guint i = 1; i < levels->layout.channels; i++) {
    gint64 root = levels->layout.gpus[0], other = levels->layout.gpus[i];
    double edge_s =
        orr_collective_flow_edge(&flow, scatter ? root : other, scatter ? other : root, 0, 1);
    hop_s = MAX(hop_s, edge_s);
  }
  orr_collective_flow_finish(&flow, hop_s, levels->call->bytes / levels->layout.channels,
                             levels->phases);
}

/* With @inside, members exchange the data for other rails, S/m per rail; otherwise the members
 * of each rail exchange S/N. */
static void add_exchange(const Levels *levels, gboolean inside) {
  const OrrCollectiveLayout *layout = &levels->layout;
  const guint m = layout->channels, n_domains = layout->n_domains, n = inside ? m : n_domains;
  double hop_s = 0;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, levels->context);
  for (guint from = 0; from < m * n_domains; from++)
    for (guint r = 1; r < n; r++) {
      const guint domain = from / m, rail = from % m;
      const guint to = inside ? domain * m + (rail + r) % m : (domain + r) % n_domains * m + rail;
      const double edge_s =
          orr_collective_flow_edge(&flow, layout->gpus[from], layout->gpus[to], 0, 1);
      hop_s = MAX(hop_s, edge_s);
    }
  orr_collective_flow_finish(&flow, (n - 1) * hop_s, levels->call->bytes / n, levels->phases);
}

static void add_levels(const Levels *levels) {
  double n_domains = levels->layout.n_domains,
         rail_bytes = levels->call->bytes / levels->layout.channels;
  double ring_bytes = (n_domains - 1) / n_domains * rail_bytes;
  switch (levels->call->op) {
  case ORR_ALL_REDUCE:
    add_inside(levels);
    add_across(levels, ORR_CHAIN_CLOSED, 2, 2 * ring_bytes);
    add_inside(levels);
    break;
  case ORR_ALL_GATHER:
    add_across(levels, ORR_CHAIN_CLOSED, 1, ring_bytes);
    add_inside(levels);
    break;
  case ORR_REDUCE_SCATTER:
    add_inside(levels);
    add_across(levels, ORR_CHAIN_CLOSED, 1, ring_bytes);
    break;
  case ORR_BROADCAST:
    add_root(levels, TRUE);
    add_across(levels, ORR_CHAIN_FROM_FIRST, 1, rail_bytes);
    add_inside(levels);
    break;
  case ORR_REDUCE:
    add_inside(levels);
    add_across(levels, ORR_CHAIN_TO_FIRST, 1, rail_bytes);
    add_root(levels, FALSE);
    break;
  case ORR_ALL_TO_ALL:
    add_exchange(levels, TRUE);
    add_exchange(levels, FALSE);
    break;
  default:
    g_assert_not_reached(); /* see supports() */
  }
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  return call->op == ORR_ALL_TO_ALL || orr_ring.supports(context, call);
}

static gboolean has_one_level(const OrrCollectiveLayout *layout) {
  return layout->n_domains == 1 || !layout->equal || layout->channels == 1;
}

static const OrrCollectiveAlgorithm *one_level(const OrrCollectiveCall *call) {
  return call->op == ORR_ALL_TO_ALL ? &orr_pairwise : &orr_ring;
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  Levels levels = {.context = context, .call = call, .phases = phases};
  orr_collective_layout_init(&levels.layout, context->fabric, call->gpus, call->n);
  if (has_one_level(&levels.layout))
    one_level(call)->plan(context, call, phases);
  else
    add_levels(&levels);
  orr_collective_layout_clear(&levels.layout);
}

/* --- Step by step: a rank goes on to the next level when it has all of the one before --- */

typedef struct {
  const Levels *levels;
  OrrCollectiveSteps *steps;
  guint32 *got; /* by position in the layout */
} StepLevels;

static void step_inside(const StepLevels *at) {
  const OrrCollectiveLayout *layout = &at->levels->layout;
  const guint m = layout->channels;
  for (guint d = 0; d < layout->n_domains; d++)
    orr_collective_steps_ring(at->steps, layout->gpus + d * m, m, 1, 0, at->levels->call->bytes / m,
                              m - 1, at->got + d * m);
}

static void step_across(const StepLevels *at, guint passes) {
  const OrrCollectiveLayout *layout = &at->levels->layout;
  const guint m = layout->channels, n = layout->n_domains;
  for (guint rail = 0; rail < m; rail++)
    orr_collective_steps_ring(at->steps, layout->gpus + rail, n, m, rail,
                              at->levels->call->bytes / m / n, passes * (n - 1), at->got + rail);
}

static void step_rails(const StepLevels *at, gboolean to_first) {
  const OrrCollectiveLayout *layout = &at->levels->layout;
  for (guint rail = 0; rail < layout->channels; rail++)
    orr_collective_steps_chain(at->steps, layout->gpus + rail, layout->n_domains, layout->channels,
                               rail, at->levels->call->bytes / layout->channels, to_first,
                               at->got + rail);
}

static void step_root(const StepLevels *at, gboolean scatter) {
  const OrrCollectiveLayout *layout = &at->levels->layout;
  for (guint i = 1; i < layout->channels; i++) {
    const gint64 root = layout->gpus[0], other = layout->gpus[i];
    const guint32 *need = scatter ? &at->got[0] : &at->got[i];
    const guint32 sent = orr_collective_steps_send(
        at->steps, scatter ? root : other, scatter ? other : root, 0,
        at->levels->call->bytes / layout->channels, need, *need != ORR_NO_SEND);
    if (scatter) at->got[i] = sent;
  }
}

static void step_levels(const StepLevels *at) {
  const OrrCollectiveOp op = at->levels->call->op;
  if (op == ORR_BROADCAST) step_root(at, TRUE);
  if (op == ORR_ALL_REDUCE || op == ORR_REDUCE_SCATTER || op == ORR_REDUCE) step_inside(at);
  if (op == ORR_BROADCAST || op == ORR_REDUCE)
    step_rails(at, op == ORR_REDUCE);
  else
    step_across(at, op == ORR_ALL_REDUCE ? 2 : 1);
  if (op == ORR_ALL_REDUCE || op == ORR_ALL_GATHER || op == ORR_BROADCAST) step_inside(at);
  if (op == ORR_REDUCE) step_root(at, FALSE);
}

static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  Levels levels = {.context = context, .call = call};
  orr_collective_layout_init(&levels.layout, context->fabric, call->gpus, call->n);
  g_autofree guint32 *got = orr_collective_steps_nothing(call->n);
  if (has_one_level(&levels.layout))
    orr_ring.steps(context, call, ret_steps);
  else
    step_levels(&(StepLevels){&levels, ret_steps, got});
  orr_collective_layout_clear(&levels.layout);
}

/* If all members reach each other equally, there is one level. */
static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return one_level(call)->oracle(call, alpha_s, bytes_per_s);
}

const OrrCollectiveAlgorithm orr_hierarchical = {
    .chosen = ORR_CHOSEN_NEVER,
    .entry = {.name = "hierarchical",
              .sentence =
                  "Inside each scale-up domain, then across them on all rails, then inside."},
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};

/*
 * nvls.c - all-reduce in the NVSwitch (NVLink SHARP; NCCL's NVLS since 2.17, on Hopper and later).
 *
 *   GPU 0   GPU 1   GPU 2   GPU 3      each GPU owns S/n of the buffer: the switch fetches that
 *     \       |       |       /        part from all n GPUs, hands over the sum
 *      +----- NVSwitch: + ---+         (multimem.ld_reduce), and multicasts what the GPU writes
 *                                      back to all n (multimem.st)
 *
 * A link carries n + 1 units of S/n in each direction: its own slice once, and all n slices on
 * their way to the owners; a ring carries 2(n-1). For 8 GPUs that is 9/8 S against 14/8 S: 1.56
 * times the ring's bandwidth; NCCL reaches 1.31 times (480 of 367 GB/s, H200,
 * stas00/ml-engineering), the profile's efficiency.
 *
 *   all-reduce    base + step + (n + 1)/n S/B
 *
 * NCCL 2.27 uses the ring for groups of up to 4 (collectives_nvls_singlenode.csv of the same
 * source), and for all-gather and reduce-scatter. Refused if the profile has no row (before
 * Hopper): NCCL ends in an error there.
 *
 * Example:   algorithm: nvls
 */
#include "workloads/collectives/collective_private.h"

gboolean orr_nvls_sums(const OrrCollectiveContext *context) {
  OrrNcclCosts row;
  return !context->cost ||
         orr_cost_nccl(context->cost, orr_nvls.entry.name, ORR_PROTOCOL_SIMPLE, &row);
}

gboolean orr_collective_reduces_inside(const OrrCollectiveContext *context,
                                       const OrrCollectiveCall *call) {
  for (guint i = 1; i < call->n; i++)
    if (!orr_fabric_same_domain(context->fabric, call->gpus[0], call->gpus[i])) return FALSE;
  return call->op == ORR_ALL_REDUCE && orr_fabric_mesh_links(context->fabric, 0) == 1;
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  return orr_collective_reduces_inside(context, call) && orr_nvls_sums(context);
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  orr_collective_flow_fill(&flow, call->bytes, 0);
  double hop_s = orr_collective_flow_switch(&flow, call->gpus, call->n, call->n + 1);
  orr_collective_flow_finish(&flow, hop_s, call->bytes / call->n, phases);
}

/* Each owner's slice in two halves, as in a tree of one node. */
static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  orr_double_tree_steps(call, &layout, TRUE, ret_steps);
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return alpha_s + (call->n + 1.0) / call->n * call->bytes / bytes_per_s;
}

static gboolean is_released(const OrrNccl *nccl) { return !nccl || nccl->nvls; }

const OrrCollectiveAlgorithm orr_nvls = {
    .entry = {.name = "nvls", .sentence = "The NVSwitch sums and multicasts: one trip through it."},
    .chosen = ORR_CHOSEN_WITH_ROWS,
    .is_released = is_released,
    .least_ranks = 5,
    .needs = "a group inside one scale-up domain whose switch sums: Hopper's or a later one",
    .is_simple_only = TRUE,
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};

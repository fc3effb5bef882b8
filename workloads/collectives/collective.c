/*
 * collective.c - plans collectives: the choice among algorithms, and measured times.
 *
 * The time of a plan that has the fabric to itself is
 *
 *   predicted_s = sum over phases of  latency_s + bytes * max over links (weight / bandwidth)
 *
 * which is also the engine's time if nothing else uses those links.
 *
 * 1. The choice is the least predicted_s of all algorithms and protocols, as in NCCL's tuning
 *    (ncclTopoGetAlgoTime); of equal ones the ring, then the first by name, and the first protocol.
 *    Where a row has what the tuning counts on (`tuning-efficiency`), that decides and not what
 *    the row reaches: over 20 racks of GB200 NCCL takes the tree, of whose links it expects 92 %
 *    and gets 61 %, where the ring is faster.
 *    Where the profile states what its library takes by size and number of nodes (`choices`: RCCL's
 *    cutoff points, HCCL's rules by servers), that decides, not the times.
 * 2. An algorithm is tried under the protocols that the profile has rows for (`nccl`); where it has
 *    none at all, once, with the profile's constants.
 * 3. Where the group shares one scale-up domain and nothing is forced, the profile's measured time
 *    (NCCL's own choice of algorithm and protocol, NVLS included) replaces the model: the latency
 *    is what the measured time leaves beyond the transfers; where it leaves less than nothing (NVLS
 * sends fewer bytes than a ring), the transfers shrink to it. A profile's own rows replace it in
 * the range of their sizes, and hand over to its base's next to it (cost_collective.c).
 *    Measured times of a library's own kernels replace the model where such a kernel is forced;
 *    over slower links than the measured ones their bytes take longer (over_slower_links,
 *    over_slower_network).
 * 4. A forced algorithm (that is not the choice anyway) or protocol is modelled, never measured:
 *    the rows do not say which they saw.
 */
#include "workloads/collectives/collective_private.h"

const char *const orr_collective_words[] = {"all-reduce", "all-gather", "reduce-scatter",
                                            "broadcast",  "reduce",     "all-to-all",
                                            "send-recv",  NULL};
const char *const orr_collective_nccl_words[] = {"all_reduce", "all_gather", "reduce_scatter",
                                                 "broadcast",  "reduce",     "alltoall",
                                                 "sendrecv",   NULL};

static void clear_phase(gpointer data) {
  OrrCollectivePhase *phase = data;
  g_free(phase->uses);
}

static OrrCollectivePlan *plan_new(const OrrCollectiveAlgorithm *algorithm) {
  OrrCollectivePlan *plan = g_new0(OrrCollectivePlan, 1);
  plan->algorithm = algorithm;
  plan->n_owners = 1;
  plan->how = ORR_HOW_MODELLED;
  plan->phases = g_array_new(FALSE, FALSE, sizeof(OrrCollectivePhase));
  g_array_set_clear_func(plan->phases, clear_phase);
  return plan;
}

void orr_collective_plan_free(OrrCollectivePlan *plan) {
  if (!plan || --plan->n_owners > 0) return;
  g_array_unref(plan->phases);
  g_free(plan);
}

OrrCollectivePlan *orr_collective_plan_ref(OrrCollectivePlan *plan) {
  plan->n_owners++;
  return plan;
}

OrrCollectivePlan *orr_collective_plan_own(OrrCollectivePlan *plan) {
  if (plan->n_owners == 1) return plan;
  OrrCollectivePlan *copy = plan_new(plan->algorithm);
  GArray *phases = copy->phases;
  g_array_append_vals(phases, plan->phases->data, plan->phases->len);
  ORR_EACH(OrrCollectivePhase, phase, phases)
    phase->uses = g_memdup2(phase->uses, phase->n_uses * sizeof *phase->uses);
  copy->protocol = plan->protocol;
  copy->predicted_s = plan->predicted_s;
  copy->choice_s = plan->choice_s;
  copy->how = plan->how;
  orr_collective_plan_free(plan);
  return copy;
}

static double transfer_time(const OrrFabric *fabric, const OrrCollectivePhase *phase) {
  return phase->bytes * orr_collective_per_byte(fabric, phase->uses, phase->n_uses, NULL);
}

static double all_transfers(const OrrFabric *fabric, const OrrCollectivePlan *plan) {
  double sum_s = 0;
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases) sum_s += transfer_time(fabric, phase);
  return sum_s;
}

static double all_latencies(const OrrCollectivePlan *plan) {
  double sum_s = 0;
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases) sum_s += phase->latency_s;
  return sum_s;
}

static gboolean in_one_domain(const OrrFabric *fabric, const OrrCollectiveCall *call) {
  for (guint i = 1; i < call->n; i++)
    if (!orr_fabric_same_domain(fabric, call->gpus[0], call->gpus[i])) return FALSE;
  return TRUE;
}

gboolean orr_collective_are_peers(const OrrFabric *fabric, const gint64 *gpus, guint n) {
  gboolean one_domain = TRUE, one_node = TRUE;
  for (guint i = 1; i < n; i++) {
    one_domain &= orr_fabric_same_domain(fabric, gpus[0], gpus[i]);
    one_node &= orr_fabric_node(fabric, gpus[0]) == orr_fabric_node(fabric, gpus[i]);
  }
  return one_domain || (one_node && orr_fabric_peers_on_pcie(fabric));
}

/* Times that differ only by rounding count as equal, so that the order decides and not the last
 * bit. */
static gboolean is_better(const OrrCollectivePlan *plan, const OrrCollectivePlan *best) {
  return !best || plan->choice_s < best->choice_s * (1 - 1e-12);
}

/* Replaces @best by @plan if @plan is better. Takes ownership of @plan. */
static void keep_better(OrrCollectivePlan **best, OrrCollectivePlan *plan) {
  if (plan && is_better(plan, *best)) {
    orr_collective_plan_free(*best);
    *best = plan;
  } else {
    orr_collective_plan_free(plan);
  }
}

/* Settles the costs that depend on the group's position: see OrrNcclCosts. */
static void settle_costs(OrrNcclCosts *costs, const OrrFabric *fabric, gboolean is_near,
                         OrrCollectiveOp op) {
  const OrrTransport *transport = orr_fabric_transport(fabric);
  costs->network_step_s += transport->offloaded * (transport->dpu_work_s - costs->network_step_s);
  if (!is_near) costs->scale_up_step_s = MAX(costs->scale_up_step_s, costs->network_step_s);
  if (is_near || op != ORR_ALL_REDUCE) costs->plateau = 1;
}

/* NCCL gives data to a further channel only where each has this much: 512 threads times
 * NCCL_SIMPLE_THREAD_THRESHOLD 64 or NCCL_LL_THREAD_THRESHOLD 8 (src/include/comm.h). */
#define SIMPLE_WHOLE_BYTES 32768.0
#define LOW_LATENCY_WHOLE_BYTES 4096.0

/* Settles what a transport adds to a hop, beyond LL's step of the algorithm, or of the tree where
 * it has no LL (NVLSTree runs trees over the network). */
static void settle_network(OrrNcclCosts *costs, const OrrCollectiveContext *context,
                           const OrrCollectiveAlgorithm *algorithm, OrrProtocol protocol) {
  OrrNcclCosts wire;
  costs->whole_bytes = protocol == ORR_PROTOCOL_LL || protocol == ORR_PROTOCOL_LL128
                           ? LOW_LATENCY_WHOLE_BYTES
                           : SIMPLE_WHOLE_BYTES;
  if (protocol == ORR_PROTOCOL_SIMPLE)
    costs->flush_s = orr_fabric_transport(context->fabric)->flush_s;
  if (protocol == ORR_PROTOCOL_AUTO || protocol == ORR_PROTOCOL_LL) return;
  if (orr_cost_nccl(context->cost, algorithm->entry.name, ORR_PROTOCOL_LL, &wire) ||
      orr_cost_nccl(context->cost, orr_double_tree.entry.name, ORR_PROTOCOL_LL, &wire))
    costs->beyond_wire_s = MAX(costs->scale_out_step_s - wire.scale_out_step_s, 0);
}

static void settle(OrrNcclCosts *costs, const OrrCollectiveContext *context,
                   const OrrCollectiveCall *call, const OrrCollectiveAlgorithm *algorithm,
                   OrrProtocol protocol) {
  settle_costs(costs, context->fabric, in_one_domain(context->fabric, call), call->op);
  settle_network(costs, context, algorithm, protocol);
}

static OrrCollectivePlan *plan_under(const OrrCollectiveContext *context,
                                     const OrrCollectiveCall *call,
                                     const OrrCollectiveAlgorithm *algorithm, OrrProtocol protocol,
                                     OrrNcclCosts *costs) {
  OrrCollectivePlan *plan = plan_new(algorithm);
  OrrCollectiveContext inner = *context;
  inner.costs = costs;
  if (costs) settle(costs, context, call, algorithm, protocol);
  if (context->tape) orr_route_tape_rewind(context->tape);
  plan->protocol = protocol;
  algorithm->plan(&inner, call, plan->phases);
  plan->predicted_s = all_latencies(plan) + all_transfers(context->fabric, plan);
  plan->choice_s = plan->predicted_s;
  return plan;
}

/* The same, chosen by the time that NCCL's tuning expects of the links. The tuning does not count
 * how long a pipeline fills; the row does, since no measured choice hangs on that. */
static OrrCollectivePlan *plan_under_row(const OrrCollectiveContext *context,
                                         const OrrCollectiveCall *call,
                                         const OrrCollectiveAlgorithm *algorithm,
                                         OrrProtocol protocol, OrrNcclCosts *costs) {
  OrrNcclCosts tuning = *costs;
  OrrCollectivePlan *plan = plan_under(context, call, algorithm, protocol, costs);
  if (tuning.tuning_efficiency <= 0 || in_one_domain(context->fabric, call)) return plan;
  tuning.scale_up_efficiency = tuning.scale_out_efficiency = tuning.tuning_efficiency;
  OrrCollectivePlan *expected = plan_under(context, call, algorithm, protocol, &tuning);
  plan->choice_s = expected->predicted_s;
  orr_collective_plan_free(expected);
  return plan;
}

const OrrNcclCosts *orr_collective_costs_of(const OrrCollectiveContext *context,
                                            const OrrCollectiveCall *call,
                                            const OrrCollectivePlan *plan,
                                            OrrNcclCosts *ret_costs) {
  if (!context->cost) return NULL;
  if (plan->protocol == ORR_PROTOCOL_AUTO ||
      !orr_cost_nccl(context->cost, plan->algorithm->entry.name, plan->protocol, ret_costs))
    *ret_costs = orr_cost_collective_constants(context->cost);
  settle(ret_costs, context, call, plan->algorithm, plan->protocol);
  return ret_costs;
}

OrrCollectivePlan *orr_collective_plan_again(const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
                                             const OrrCollectivePlan *plan, OrrNcclCosts *costs,
                                             GArray *edges) {
  OrrCollectiveContext inner = *context;
  OrrCollectivePlan *again = plan_new(plan->algorithm);
  inner.costs = orr_collective_costs_of(context, call, plan, costs);
  inner.edges = edges;
  again->protocol = plan->protocol;
  plan->algorithm->plan(&inner, call, again->phases);
  again->predicted_s = all_latencies(again) + all_transfers(context->fabric, again);
  return again;
}

/* LL128 requires 128 bytes to arrive at once, which NCCL assumes over the network only from NIC
 * to GPU (typeInter <= PATH_PXB, src/graph/tuning.cc). A transport may forbid more. */
static gboolean is_possible(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                            OrrProtocol protocol) {
  if (protocol == ORR_PROTOCOL_SIMPLE || in_one_domain(context->fabric, call)) return TRUE;
  const int allowed = orr_fabric_transport(context->fabric)->protocols;
  return protocol == ORR_PROTOCOL_LL128
             ? allowed == ORR_TRANSPORT_ALL_PROTOCOLS && orr_fabric_gpudirect(context->fabric)
             : allowed != ORR_TRANSPORT_SIMPLE_ONLY;
}

/* Plans under the best protocol for which the profile has a row, or under the forced one; NULL
 * if there is no such row. */
static OrrCollectivePlan *plan_by_rows(const OrrCollectiveContext *context,
                                       const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm) {
  g_autoptr(OrrRouteTape) tape = orr_route_tape_new(TRUE);
  OrrCollectiveContext taped = *context;
  OrrCollectivePlan *best = NULL;
  taped.tape = tape;
  for (OrrProtocol protocol = ORR_PROTOCOL_LL; context->cost && protocol < ORR_N_PROTOCOLS;
       protocol++) {
    OrrNcclCosts costs;
    if (call->protocol == ORR_PROTOCOL_AUTO ? !is_possible(context, call, protocol)
                                            : call->protocol != protocol)
      continue;
    if (orr_cost_nccl(context->cost, algorithm->entry.name, protocol, &costs))
      keep_better(&best, plan_under_row(&taped, call, algorithm, protocol, &costs));
  }
  return best;
}

/* An algorithm without rows of the forced protocol runs under those that it has: NCCL_PROTO=LL128
 * leaves sends in LL and Simple (src/enqueue.cc). Without any rows, constants stand in. */
static OrrCollectivePlan *plan_by(const OrrCollectiveContext *context,
                                  const OrrCollectiveCall *call,
                                  const OrrCollectiveAlgorithm *algorithm) {
  OrrCollectivePlan *plan = plan_by_rows(context, call, algorithm);
  if (plan) return plan;
  OrrCollectiveCall free = *call;
  free.protocol = ORR_PROTOCOL_AUTO;
  plan = plan_by_rows(context, &free, algorithm);
  if (plan) return plan;
  OrrNcclCosts constants;
  if (context->cost) constants = orr_cost_collective_constants(context->cost);
  return plan_under(context, call, algorithm, ORR_PROTOCOL_AUTO, context->cost ? &constants : NULL);
}

/* Whether the release has the algorithm and chooses it by itself. */
static gboolean is_released(const OrrNccl *nccl, const OrrCollectiveAlgorithm *algorithm) {
  if (algorithm->is_released) return algorithm->is_released(nccl);
  return algorithm->chosen != ORR_CHOSEN_NEVER;
}

/* Whether plan_best can end with it: what is forced is then maybe the choice anyway. */
static gboolean is_ever_chosen(const OrrNccl *nccl, const OrrCollectiveAlgorithm *algorithm) {
  return algorithm->chosen == ORR_CHOSEN_ALWAYS || is_released(nccl, algorithm);
}

static OrrCollectivePlan *plan_chosen(const OrrCollectiveContext *context,
                                      const OrrCollectiveCall *call,
                                      const OrrCollectiveAlgorithm *algorithm) {
  gboolean by_rows = algorithm->chosen == ORR_CHOSEN_WITH_ROWS ||
                     (context->cost && orr_cost_has_nccl(context->cost));
  /* NCCL has rings alone for these two (src/graph/tuning.cc) */
  if ((call->op == ORR_BROADCAST || call->op == ORR_REDUCE) && !algorithm->is_first) return NULL;
  if (!is_released(context->nccl, algorithm) || call->n < algorithm->least_ranks ||
      !algorithm->supports(context, call))
    return NULL;
  return by_rows ? plan_by_rows(context, call, algorithm) : plan_by(context, call, algorithm);
}

static const OrrCollectiveAlgorithm *at(guint i) {
  return (const OrrCollectiveAlgorithm *)orr_collective_registry.entries[i];
}

/* The ring. */
static const OrrCollectiveAlgorithm *first(void) {
  guint i = 0;
  while (!at(i)->is_first) i++;
  return at(i);
}

static gint64 nodes_of(const OrrFabric *fabric, const OrrCollectiveCall *call) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  for (guint i = 0; i < call->n; i++)
    g_hash_table_add(seen, GSIZE_TO_POINTER((gsize)orr_fabric_node(fabric, call->gpus[i])));
  return g_hash_table_size(seen);
}

/* What the device's library takes whatever the times are; NULL where the profile does not say. A
 * row whose algorithm or protocol the call excludes is passed over. */
static OrrCollectivePlan *plan_by_choice(const OrrCollectiveContext *context,
                                         const OrrCollectiveCall *call) {
  if (!context->cost || !orr_cost_has_choices(context->cost)) return NULL;
  const gboolean in_parts = call->op == ORR_ALL_GATHER || call->op == ORR_REDUCE_SCATTER;
  const OrrChoiceCall asked = {.op = orr_collective_nccl_words[call->op],
                               .bytes = in_parts ? call->bytes / call->n : call->bytes,
                               .n_nodes = nodes_of(context->fabric, call),
                               .n_ranks = call->n,
                               .with_optional = context->nccl && context->nccl->mscclpp};
  OrrProtocol protocol;
  const char *name;
  for (guint i = 0; (name = orr_cost_choice(context->cost, &asked, &i, &protocol));) {
    const OrrCollectiveAlgorithm *algorithm =
        (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, name);
    OrrCollectiveCall as = *call;
    if (as.protocol == ORR_PROTOCOL_AUTO) as.protocol = protocol;
    if (!algorithm->supports(context, call) ||
        (protocol != ORR_PROTOCOL_AUTO &&
         (as.protocol != protocol || !is_possible(context, call, protocol))))
      continue;
    return plan_by(context, &as, algorithm);
  }
  return NULL;
}

/* Tries the first one before all others, so that it wins among equals; algorithms without rows of
 * the forced protocol come last. */
static OrrCollectivePlan *plan_best(const OrrCollectiveContext *context,
                                    const OrrCollectiveCall *call) {
  OrrCollectivePlan *best = plan_by_choice(context, call);
  if (best) return best;
  best = plan_chosen(context, call, first());
  for (guint i = 0; at(i); i++)
    if (!at(i)->is_first) keep_better(&best, plan_chosen(context, call, at(i)));
  for (guint i = 0; at(i) && !best; i++)
    if (at(i)->chosen == ORR_CHOSEN_ALWAYS && at(i)->supports(context, call))
      best = plan_by(context, call, at(i));
  return best;
}

/* Scales the plan's phases to @time_s in total; see 3 above. */
static void stretch_to(const OrrFabric *fabric, OrrCollectivePlan *plan, double time_s) {
  double transfers_s = all_transfers(fabric, plan);
  double shrink = transfers_s > time_s ? time_s / transfers_s : 1;
  ORR_EACH_AT(i, OrrCollectivePhase, phase, plan->phases) {
    phase->bytes *= shrink;
    phase->latency_s = i == 0 ? MAX(time_s - transfers_s, 0) : 0;
  }
  plan->predicted_s = time_s;
}

/* The profile has rows of other sizes and its base has none: the rows near this size correct the
 * model. */
static void apply_hand_over(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                            OrrCollectivePlan *plan) {
  const char *op = orr_collective_nccl_words[call->op];
  OrrHandOver hand;
  if (!orr_cost_collective_hand_over(context->cost, op, call->n, call->bytes, &hand)) return;
  OrrCollectiveCall edge = *call;
  edge.bytes = hand.edge_bytes;
  g_autoptr(OrrCollectivePlan) modelled = plan_best(context, &edge);
  const OrrCost cost =
      orr_cost_hand_over(&hand, modelled->predicted_s, (OrrCost){plan->predicted_s, plan->how});
  if (cost.time_s == plan->predicted_s) return;
  stretch_to(context->fabric, plan, cost.time_s);
  plan->how = cost.how;
}

/* Whether measured times of NCCL can apply, which count for the algorithm that NCCL chooses. */
static gboolean can_be_measured(const OrrCollectiveContext *context,
                                const OrrCollectiveCall *call) {
  return context->cost && call->bytes > 0 && call->protocol == ORR_PROTOCOL_AUTO &&
         orr_collective_are_peers(context->fabric, call->gpus, call->n);
}

/* Whether @plan, NCCL's choice without NVLS, differs from the choice with it, whose time the rows
 * of a domain with NVLS have. */
static gboolean lacks_nvls_of_rows(const OrrCollectiveContext *context,
                                   const OrrCollectiveCall *call, const OrrCollectivePlan *plan) {
  if (!context->nccl || context->nccl->nvls) return FALSE;
  OrrNccl nccl = *context->nccl;
  nccl.nvls = TRUE;
  OrrCollectiveContext with = *context;
  with.nccl = &nccl;
  g_autoptr(OrrCollectivePlan) best = plan_best(&with, call);
  return best->algorithm != plan->algorithm;
}

/* A broadcast or a reduce without rows takes the time of an all-gather of n/(n-1) S: a ring cut at
 * its root passes as many bytes over each link, in as many hops (ring.c). */
static void apply_measured(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           OrrCollectivePlan *plan) {
  OrrCost measured;
  if (!can_be_measured(context, call) || lacks_nvls_of_rows(context, call, plan)) return;
  const char *op = orr_collective_nccl_words[call->op];
  if (!orr_cost_collective(context->cost, op, call->n, call->bytes, &measured)) {
    const double bytes = call->bytes * call->n / (call->n - 1);
    if ((call->op != ORR_BROADCAST && call->op != ORR_REDUCE) ||
        !orr_cost_collective(context->cost, "all_gather", call->n, bytes, &measured))
      return apply_hand_over(context, call, plan);
    measured.how = MAX(measured.how, ORR_HOW_MODELLED);
  }
  stretch_to(context->fabric, plan, measured.time_s);
  plan->how = measured.how;
}

static gboolean ask_library(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                            const char *library, OrrCost *ret_cost) {
  const OrrLibraryCall asked = {.library = library,
                                .op = orr_collective_nccl_words[call->op],
                                .n_ranks = call->n,
                                .size = call->bytes};
  if (!context->cost) return FALSE;
  if (call->exchange)
    return call->exchange->tokens > 0 &&
           orr_expert_exchange_measured(context, call, library, ret_cost);
  return call->bytes > 0 && orr_cost_library(context->cost, &asked, ret_cost);
}

/* What a measured time takes over links that are slower than the measured ones: each byte of the
 * plan the difference more, and all together no less than they take over these links. */
static double over_slower_links(const OrrCollectiveContext *context, const OrrCollectivePlan *plan,
                                double measured_s) {
  const double slower = orr_cost_links_slower(context->cost);
  if (slower <= 1) return measured_s;
  const double transfers_s = all_transfers(context->fabric, plan);
  return MAX(measured_s + transfers_s * (1 - 1 / slower), transfers_s);
}

/* Seconds that the plan's transfers take over NICs of @bytes_per_s for each GPU: what a mean GPU
 * sends and receives. */
static double nic_transfers(const OrrFabric *fabric, const OrrCollectivePlan *plan, guint n,
                            double bytes_per_s) {
  double bytes = 0;
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases)
    for (guint k = 0; k < phase->n_uses; k++)
      if (g_str_equal(orr_fabric_link_kind(fabric, phase->uses[k].link), "nic"))
        bytes += phase->bytes * phase->uses[k].weight;
  return bytes / (2.0 * n) / bytes_per_s;
}

/* The same over a network that is slower than the NICs over which @library was measured, by which
 * the time also becomes a modelled one. */
static void over_slower_network(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                                const OrrCollectivePlan *plan, OrrCost *measured) {
  const double rate =
      call->exchange ? orr_expert_exchange_nic(context, call, plan->algorithm->library) : 0;
  const double here_s = all_transfers(context->fabric, plan);
  const double there_s = rate > 0 ? nic_transfers(context->fabric, plan, call->n, rate) : here_s;
  const double slower_s = here_s > there_s * (1 + 1e-6) ? here_s - there_s : 0;
  const double time_s = MAX(measured->time_s + slower_s, here_s);
  if (time_s > measured->time_s)
    *measured = (OrrCost){time_s, MAX(measured->how, ORR_HOW_MODELLED)};
}

/* Rows are of tokens whose experts lie anywhere. If the router limits the domains of a token's
 * experts, or chooses neighbours, takes off the time of the transfers that are left out, inside a
 * domain over its links, else over the NICs of the rows: with faster ones the rows hold. */
static gboolean ask_routed(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           const OrrCollectivePlan *plan, OrrCost *ret_cost) {
  const char *library = plan->algorithm->library;
  if (!call->exchange || (call->exchange->most_domains == 0 && !call->exchange->in_turn))
    return ask_library(context, call, library, ret_cost);
  OrrExpertExchange anywhere = *call->exchange;
  OrrCollectiveCall other = *call;
  anywhere.most_domains = 0;
  anywhere.in_turn = FALSE;
  other.exchange = &anywhere;
  if (!ask_library(context, &other, library, ret_cost)) return FALSE;
  g_autoptr(OrrCollectivePlan) all = plan_by(context, &other, plan->algorithm);
  const double rate = orr_collective_are_peers(context->fabric, call->gpus, call->n)
                          ? 0
                          : orr_expert_exchange_nic(context, &other, library);
  const double here_s = all_transfers(context->fabric, plan);
  const double saved_s = rate > 0 ? nic_transfers(context->fabric, all, call->n, rate) -
                                        nic_transfers(context->fabric, plan, call->n, rate)
                                  : all_transfers(context->fabric, all) - here_s;
  if (saved_s <= 0) return TRUE;
  *ret_cost =
      (OrrCost){MAX(ret_cost->time_s - saved_s, here_s), MAX(ret_cost->how, ORR_HOW_CARRIED)};
  return TRUE;
}

/* The same for measured times of a library's own kernels. */
static void apply_library(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                          OrrCollectivePlan *plan) {
  OrrCost measured;
  if (!ask_routed(context, call, plan, &measured)) return;
  if (orr_collective_are_peers(context->fabric, call->gpus, call->n))
    measured.time_s = over_slower_links(context, plan, measured.time_s);
  else
    over_slower_network(context, call, plan, &measured);
  stretch_to(context->fabric, plan, measured.time_s);
  plan->how = measured.how;
}

/* "all-reduce, broadcast": what @algorithm supports over this group. */
static char *supported_words(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                             const OrrCollectiveAlgorithm *algorithm) {
  g_autoptr(GString) words = g_string_new(NULL);
  for (guint op = 0; op < ORR_N_COLLECTIVES; op++) {
    OrrCollectiveCall other = *call;
    other.op = (OrrCollectiveOp)op;
    if (algorithm->supports(context, &other))
      g_string_append_printf(words, "%s%s", words->len ? ", " : "", orr_collective_words[op]);
  }
  return g_string_free(g_steal_pointer(&words), FALSE);
}

static OrrCollectivePlan *plan_forced(const OrrCollectiveContext *context,
                                      const OrrCollectiveCall *call,
                                      const OrrCollectiveAlgorithm *algorithm) {
  OrrCollectivePlan *forced = plan_by(context, call, algorithm);
  if (algorithm->library) apply_library(context, call, forced);
  return forced;
}

/* A protocol that is forced and would be chosen anyway changes nothing: measured times hold. */
static OrrCollectivePlan *plan_call(const OrrCollectiveContext *context,
                                    const OrrCollectiveCall *call,
                                    const OrrCollectiveAlgorithm *algorithm) {
  if (call->protocol != ORR_PROTOCOL_AUTO) {
    OrrCollectiveCall unforced = *call;
    unforced.protocol = ORR_PROTOCOL_AUTO;
    g_autoptr(OrrCollectivePlan) chosen = plan_call(context, &unforced, algorithm);
    if (chosen->protocol == call->protocol) return g_steal_pointer(&chosen);
  }
  if (algorithm && !algorithm->library && !can_be_measured(context, call))
    return plan_by(context, call, algorithm); /* the plan is the same if it is NCCL's choice */
  if (algorithm && !is_ever_chosen(context->nccl, algorithm))
    return plan_forced(context, call, algorithm);
  g_autoptr(OrrCollectivePlan) best = plan_best(context, call);
  if (algorithm && algorithm != best->algorithm) return plan_forced(context, call, algorithm);
  apply_measured(context, call, best);
  return g_steal_pointer(&best);
}

/* For on-missing: error. A plan counts as known if it has a measured time, or a row of its
 * algorithm and protocol. */
static gboolean is_known(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                         const OrrCollectivePlan *plan, GError **error) {
  if (!context->cost || !orr_cost_refuses_gaps(context->cost) || call->bytes <= 0) return TRUE;
  if (plan->protocol != ORR_PROTOCOL_AUTO || plan->how != ORR_HOW_MODELLED) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "the device's profile holds no rows of '%s' for %s over %u GPUs (on-missing: error)",
      plan->algorithm->entry.name, orr_collective_words[call->op], call->n);
}

/* Sets an error that names what @algorithm supports over the group, or what it needs if it
 * supports nothing. */
static void refuse(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                   const OrrCollectiveAlgorithm *algorithm, GError **error) {
  g_autofree char *words = supported_words(context, call, algorithm);
  if (*words)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "collective algorithm '%s' does not support %s over %u GPUs (it supports: %s)",
                algorithm->entry.name, orr_collective_words[call->op], call->n, words);
  else
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "collective algorithm '%s' supports no collective over these %u GPUs (it needs %s)",
                algorithm->entry.name, call->n, algorithm->needs);
}

OrrCollectivePlan *orr_collective_plan(const OrrCollectiveContext *context,
                                       const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error) {
  const gboolean is_fast =
      call->protocol == ORR_PROTOCOL_LL || call->protocol == ORR_PROTOCOL_LL128;
  if (algorithm && !algorithm->supports(context, call)) {
    refuse(context, call, algorithm, error);
    return NULL;
  }
  if (algorithm && algorithm->is_simple_only && is_fast)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "collective algorithm '%s' has the protocol simple alone, not %s",
                          algorithm->entry.name, orr_protocol_words[call->protocol]);
  if (call->n < 2) return plan_new(algorithm ? algorithm : first());
  g_autoptr(OrrCollectivePlan) plan = plan_call(context, call, algorithm);
  orr_collective_draws_take(context, call, plan);
  orr_collective_queue_add(context, call, plan);
  return is_known(context, call, plan, error) ? g_steal_pointer(&plan) : NULL;
}

/*
 * collective_private.h - what the algorithms of this folder share: the layout of a group, and a
 * flow under construction. No other folder includes it.
 */
#pragma once

#include "workloads/collectives/collective.h"
#include "workloads/collectives/collective_steps.h"

extern const OrrCollectiveAlgorithm orr_double_tree;
extern const OrrCollectiveAlgorithm orr_nvls;
extern const OrrCollectiveAlgorithm orr_pairwise;
extern const OrrCollectiveAlgorithm orr_ring;

/* A group, domain by domain: member i of domain d is gpus[first[d] + i]. Domains are in the
 * order of their first rank and members in rank order, so gpus[0] is rank 0, the root. If
 * domains have different numbers of members, each domain begins with the members whose NIC no
 * earlier member has. Members 0 .. channels - 1 of a domain are the ends of its channels. */
typedef struct {
  gint64 *gpus;
  guint *first; /* n_domains + 1 entries; the last is the number of ranks */
  guint n_domains;
  /* members of each domain if all have the same number; otherwise see collective_layout.c */
  guint channels;
  gboolean equal;
} OrrCollectiveLayout;

void orr_collective_layout_init(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                const gint64 *gpus, guint n);
/* The same by host: a node's domains together, or the domain that spans nodes. */
void orr_collective_layout_init_hosts(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                      const gint64 *gpus, guint n);
/* For rings: by domain; by host where a node has several domains, whose rings then run over all of
 * its GPUs, one for each NIC next to them. In that case returns, domain after domain, the members
 * from which its `channels` rings start, the first ones next to a NIC (owned); otherwise NULL: ring
 * k starts at member k. */
guint *orr_collective_layout_init_rings(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                        const gint64 *gpus, guint n);
/* The same by node, also where a domain spans nodes. */
void orr_collective_layout_init_nodes(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                      const gint64 *gpus, guint n);
void orr_collective_layout_clear(OrrCollectiveLayout *layout);

static inline guint orr_collective_layout_size(const OrrCollectiveLayout *layout, guint domain) {
  return layout->first[domain + 1] - layout->first[domain];
}

/* The number of members of the largest domain from @first on; 1 if there is none. */
guint orr_collective_layout_most(const OrrCollectiveLayout *layout, guint first);

/* Member @i, modulo the domain's number of members. */
static inline gint64 orr_collective_layout_gpu(const OrrCollectiveLayout *layout, guint domain,
                                               guint i) {
  return layout->gpus[layout->first[domain] + i % orr_collective_layout_size(layout, domain)];
}

/* The number of members of domain @other that correspond to member @i of @domain: those at i
 * modulo the number of @domain's members. */
static inline guint orr_collective_layout_behind(const OrrCollectiveLayout *layout, guint domain,
                                                 guint i, guint other) {
  const guint size = orr_collective_layout_size(layout, domain);
  return (orr_collective_layout_size(layout, other) + size - 1 - i) / size;
}

/* Channel k passes a domain's members in the order k, k+1, ..., k-1. Returns how many channels
 * join member @i to the next one: all but the one that ends there. */
static inline guint orr_collective_layout_joined(const OrrCollectiveLayout *layout, guint domain,
                                                 guint i) {
  const guint next = (i + 1) % orr_collective_layout_size(layout, domain);
  return layout->channels - (next < layout->channels ? 1 : 0);
}

/* Whether all of @gpus are in one scale-up domain, or in one node whose GPUs reach each other over
 * PCIe alone (orr_fabric_peers_on_pcie). */
gboolean orr_collective_are_peers(const OrrFabric *fabric, const gint64 *gpus, guint n);

/* Whether some node has several members, each on its own PCIe switch (ranks of tensor-parallel 2
 * and 4 on a DGX A100): NCCL before 2.12 finds one channel there, and therefore uses one
 * everywhere. */
gboolean orr_collective_layout_is_strided(const OrrCollectiveLayout *layout,
                                          const OrrCollectiveContext *context);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCollectiveLayout, orr_collective_layout_clear)

/* The routes of a plan in the order in which it asked for them. An algorithm asks for the same ones
 * under each protocol, so only the first plan computes them. Of a long plan the first 4,096. */
typedef struct OrrRouteTape OrrRouteTape;
OrrRouteTape *orr_route_tape_new(gboolean is_kept);
void orr_route_tape_free(OrrRouteTape *tape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrRouteTape, orr_route_tape_free)
void orr_route_tape_rewind(OrrRouteTape *tape); /* before the next plan */

/* One phase under construction: edges between GPUs accumulate as weights on links.
 *
 * If the fabric spreads a flow over P routes (orr_fabric_n_paths), a unit flow has P parts, one
 * per route, and weights count parts. Under ugal, detours accumulate separately from the
 * shortest routes, in parts of their own; when the phase is finished, the flow is split between
 * the two so that the load of the busiest link is least. */
typedef struct {
  const OrrFabric *fabric;
  guint n_paths, n_detours;
  guint32 *connections; /* the context's array */
  GArray *edges;        /* the context's; those from `first_edge` on are of this phase */
  guint first_edge;
  /* of guint32, parallel to uses: number of edges that end on the link; kept if the transport
   * models incast */
  GArray *senders;
  GArray *detour_weights; /* of guint32, parallel to uses; under ugal only */
  OrrNcclCosts costs;
  double scale_up_fill_bytes,
      scale_out_fill_bytes; /* what fills a step: see orr_collective_flow_fill */
  double message_bytes;     /* of a step's message over the network */
  gboolean leaves_node;     /* some edge does */
  GArray *uses;             /* of OrrLinkUse, in the order of first use */
  guint32 *slots;           /* open addressing, link -> index into uses + 1; 0: empty */
  guint n_slots;            /* a power of two */
  OrrRouteTape *tape;       /* the context's, or own_tape */
  OrrRouteTape *own_tape;   /* holds the last route alone; NULL: none */
} OrrCollectiveFlow;

void orr_collective_flow_init(OrrCollectiveFlow *flow, const OrrCollectiveContext *context);
void orr_collective_flow_clear(OrrCollectiveFlow *flow);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCollectiveFlow, orr_collective_flow_clear)

/* Sets the bytes that a step moves, inside a domain (over the whole scale-up link of a GPU) and
 * over the network (over a NIC). Edges added later then cost the time to fill the pipeline with
 * these bytes (cost.h). */
void orr_collective_flow_fill(OrrCollectiveFlow *flow, double scale_up_bytes,
                              double scale_out_bytes);

/* Adds @weight unit flows from @src to @dst. Returns the latency of one hop: the profile's step
 * constant for that kind of hop plus the route's latency. @channel distinguishes parallel
 * connections of one pair (ECMP). */
double orr_collective_flow_edge(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel,
                                guint32 weight);

/* orr_collective_flow_load adds to one link's weight, in parts; orr_collective_flow_clear
 * removes all weights. */
void orr_collective_flow_load(OrrCollectiveFlow *flow, guint32 link, guint32 parts);
void orr_collective_flow_empty(OrrCollectiveFlow *flow);

typedef enum {
  ORR_CHAIN_CLOSED,     /* 0 -> 1 -> ... -> n-1 -> 0 */
  ORR_CHAIN_FROM_FIRST, /* 0 -> 1 -> ... -> n-1 */
  ORR_CHAIN_TO_FIRST    /* n-1 -> ... -> 1 -> 0 */
} OrrChain;

/* Adds edges of weight 1 through gpus[0], gpus[stride], ..., @n of them. Returns the latency of
 * n - 1 hops: all hops of an open chain; for a closed one all but the cheapest, the longest path
 * that a chunk takes. */
double orr_collective_flow_chain(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, guint stride,
                                 guint64 channel, OrrChain chain);

/* is_symmetric: whether a collective in which every GPU of the fabric does the same can be
 * counted for one domain alone. orr_collective_flow_spread then gives every link the load that
 * each of @n_domains domains adds, by symmetry with the load in @flow. Returns FALSE and changes
 * nothing if weights would not be whole numbers. */
gboolean orr_collective_flow_is_symmetric(const OrrCollectiveFlow *flow, const gint64 *gpus,
                                          guint n);
gboolean orr_collective_flow_spread(OrrCollectiveFlow *flow, guint n_domains);

/* Loads every scale-up link of the domain's @n members with @weight units in each direction: the
 * exchange between the members and a switch that reduces and multicasts for them (NVLS). Returns
 * the latency to the switch. */
double orr_collective_flow_switch(OrrCollectiveFlow *flow, const gint64 *gpus, guint n,
                                  guint32 weight);

/* The same for the slice of one owner: each member sends one unit to @owner or, with @spread,
 * receives one from it. Returns the latency of the trip; the two calls are halves of one trip,
 * so with @spread it is 0. */
double orr_collective_flow_owner(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, gint64 owner,
                                 gboolean spread);

/* Appends the phase, in which one unit flow moves @bytes. Weights are divided by their common
 * divisor and bytes multiplied by it. Adds to @latency_s the base, before the first phase, and
 * the time by which the protocol falls short of the links' bandwidth: a delay, because the links
 * are idle for it. The flow is empty afterwards. */
void orr_collective_flow_finish(OrrCollectiveFlow *flow, double latency_s, double bytes,
                                GArray *phases);

/* collective_queue.c: adds to @plan what queues cost it (topologies/queue_model.h), as a delay,
 * since paused links are idle. collective_draws.c: compares the draws of ecmp's hash, and takes the
 * one that the cluster asks for. Both leave @plan alone on a cluster that asks for neither, and
 * note on the fabric what they found. */
void orr_collective_queue_add(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                              OrrCollectivePlan *plan);
void orr_collective_draws_take(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               OrrCollectivePlan *plan);

/* Plans @call anew with the algorithm and protocol of @plan, on the fabric of @context; notes its
 * edges in @edges, which may be NULL. @costs is storage that the call uses. */
OrrCollectivePlan *orr_collective_plan_again(const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
                                             const OrrCollectivePlan *plan, OrrNcclCosts *costs,
                                             GArray *edges);

/* The costs with which @plan was made, settled for the group's position; NULL if it was made
 * without a cost model. */
const OrrNcclCosts *orr_collective_costs_of(const OrrCollectiveContext *context,
                                            const OrrCollectiveCall *call,
                                            const OrrCollectivePlan *plan, OrrNcclCosts *ret_costs);

/* Seconds per byte of a unit flow on the busiest link; with the protocol's efficiencies if
 * @costs is not NULL. */
double orr_collective_per_byte(const OrrFabric *fabric, const OrrLinkUse *uses, guint n_uses,
                               const OrrNcclCosts *costs);

/* The time that the profile measured of @library's kernel for the call's tokens; FALSE if no row
 * applies. */
gboolean orr_expert_exchange_measured(const OrrCollectiveContext *context,
                                      const OrrCollectiveCall *call, const char *library,
                                      OrrCost *ret_cost);
/* What the NICs of a GPU reached there, bytes per second; 0: not stated. */
double orr_expert_exchange_nic(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               const char *library);

/* mesh.c. Adds a send of weight 1 from each of @n members of a domain to each other; returns the
 * most expensive hop. */
double orr_mesh_pass(OrrCollectiveFlow *flow, const gint64 *gpus, guint n);

/* hierarchical.c. Appends the phase of one pass over the members of each domain of @layout, all
 * domains at once: (m-1)/m S per rank, by rings or, in a mesh, by direct sends. */
void orr_hierarchical_inside(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                             const OrrCollectiveLayout *layout, GArray *phases);

/* double_tree.c. Adds the trees over the domains, data in both directions, one pair per rail, in
 * units of S/(2m), and returns the most expensive hop. orr_double_tree_above: the node above
 * @node in tree @t over @n nodes; @n for the root. orr_double_tree_depth: levels below the root. */
enum { ORR_N_TREES = 2 };
double orr_double_tree_across(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout);
guint orr_double_tree_above(guint t, guint node, guint n);
guint orr_double_tree_depth(guint n);

/* double_tree_steps.c. All sends of an all-reduce; @by_switch: NVSwitches sum and multicast
 * inside domains. */
void orr_double_tree_steps(const OrrCollectiveCall *call, const OrrCollectiveLayout *layout,
                           gboolean by_switch, OrrCollectiveSteps *steps);

/* nvls.c. Whether it is an all-reduce inside one scale-up domain with a switch. */
gboolean orr_collective_reduces_inside(const OrrCollectiveContext *context,
                                       const OrrCollectiveCall *call);

/* nvls.c. Whether the switches of scale-up domains can sum: the profile of a device whose switches
 * do has rows of it. TRUE without a profile. */
gboolean orr_nvls_sums(const OrrCollectiveContext *context);

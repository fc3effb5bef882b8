/*
 * collective_private.h - what the algorithms of this folder share: the shape of a group, and a flow
 * in the making. Nobody else includes it.
 */
#ifndef ORR_COLLECTIVE_PRIVATE_H
#define ORR_COLLECTIVE_PRIVATE_H

#include "workloads/collectives/collective.h"
#include "workloads/collectives/collective_steps.h"

G_BEGIN_DECLS

extern const OrrCollectiveAlgorithm orr_bucket;
extern const OrrCollectiveAlgorithm orr_collnet;
extern const OrrCollectiveAlgorithm orr_custom_trtllm;
extern const OrrCollectiveAlgorithm orr_custom_vllm;
extern const OrrCollectiveAlgorithm orr_deepep;
extern const OrrCollectiveAlgorithm orr_deepep_low_latency;
extern const OrrCollectiveAlgorithm orr_direct;
extern const OrrCollectiveAlgorithm orr_double_tree;
extern const OrrCollectiveAlgorithm orr_hierarchical;
extern const OrrCollectiveAlgorithm orr_nvls;
extern const OrrCollectiveAlgorithm orr_nvls_tree;
extern const OrrCollectiveAlgorithm orr_pairwise;
extern const OrrCollectiveAlgorithm orr_pat;
extern const OrrCollectiveAlgorithm orr_ring;
extern const OrrCollectiveAlgorithm orr_torus_ring;
extern const OrrCollectiveAlgorithm orr_trtllm_one_sided;
extern const OrrCollectiveAlgorithm orr_trtllm_two_sided;

/* A group domain by domain: member i of domain d is gpus[first[d] + i]. Domains stand in the
 * order of their first rank, members in rank order, so that gpus[0] is rank 0, the root. Where
 * domains hold unequally many members, those come first in each whose NIC no member before them
 * has. Members 0 .. channels - 1 of a domain are the ends of its channels. */
typedef struct {
  gint64 *gpus;
  guint *first; /* n_domains + 1 of them: the last is the number of ranks */
  guint n_domains;
  guint channels; /* members of each domain where all hold as many; else see collective_layout.c */
  gboolean equal;
} OrrCollectiveLayout;

void orr_collective_layout_init(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                const gint64 *gpus, guint n);
void orr_collective_layout_clear(OrrCollectiveLayout *layout);

static inline guint orr_collective_layout_size(const OrrCollectiveLayout *layout, guint domain) {
  return layout->first[domain + 1] - layout->first[domain];
}

/* Members of the largest domain from @first on; 1 where there is none. */
guint orr_collective_layout_most(const OrrCollectiveLayout *layout, guint first);

/* Member @i, modulo the domain's members. */
static inline gint64 orr_collective_layout_gpu(const OrrCollectiveLayout *layout, guint domain,
                                               guint i) {
  return layout->gpus[layout->first[domain] + i % orr_collective_layout_size(layout, domain)];
}

/* How many members of domain @other member @i of @domain stands for: those at i modulo the
 * domain's members. */
static inline guint orr_collective_layout_behind(const OrrCollectiveLayout *layout, guint domain,
                                                 guint i, guint other) {
  const guint size = orr_collective_layout_size(layout, domain);
  return (orr_collective_layout_size(layout, other) + size - 1 - i) / size;
}

/* Of the channels, each of which passes a domain's members k, k+1, ..., k-1 (channel k), those
 * that join member @i to the next one: all but the one that ends there. */
static inline guint orr_collective_layout_joined(const OrrCollectiveLayout *layout, guint domain,
                                                 guint i) {
  const guint next = (i + 1) % orr_collective_layout_size(layout, domain);
  return layout->channels - (next < layout->channels ? 1 : 0);
}

/* Whether the members in some node, several of them, sit on a PCIe switch each (ranks of
 * tensor-parallel 2 and 4 on a DGX A100): NCCL before 2.12 finds one channel there, and so for
 * all. */
gboolean orr_collective_layout_is_strided(const OrrCollectiveLayout *layout,
                                          const OrrCollectiveContext *context);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCollectiveLayout, orr_collective_layout_clear)

/* One phase in the making: edges between GPUs pile up as weights on links.
 *
 * Where the fabric spreads a flow over P routes (orr_fabric_n_paths), a unit flow is P parts,
 * one a route, and weights count parts. Under ugal detours pile up beside the shortest routes,
 * in parts of their own; when the phase is finished the split between the two is the one that
 * leaves its busiest link the least to carry. */
typedef struct {
  const OrrFabric *fabric;
  guint n_paths, n_detours;
  guint32 *connections; /* the context's */
  /* of guint32, beside uses: edges that end on the link, where the transport minds (incast) */
  GArray *senders;
  GArray *detour_weights; /* of guint32, beside uses: under ugal alone */
  OrrNcclCosts costs;
  double scale_up_fill_bytes,
      scale_out_fill_bytes; /* what fills a step: see orr_collective_flow_fill */
  GArray *uses;             /* of OrrLinkUse, in the order in which links were first met */
  guint32 *slots;           /* open addressing, link -> index into uses + 1; 0: empty */
  guint n_slots;            /* a power of two */
  GArray *route;            /* scratch, of guint32 */
} OrrCollectiveFlow;

void orr_collective_flow_init(OrrCollectiveFlow *flow, const OrrCollectiveContext *context);
void orr_collective_flow_clear(OrrCollectiveFlow *flow);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCollectiveFlow, orr_collective_flow_clear)

/* How many bytes a step moves, inside a domain (over all of a GPU's scale-up link) and over the
 * network (a NIC): edges that are added afterwards cost what it takes to fill the pipeline with
 * them (cost.h). */
void orr_collective_flow_fill(OrrCollectiveFlow *flow, double scale_up_bytes,
                              double scale_out_bytes);

/* Lets @weight unit flows go from @src to @dst; returns what one hop costs in latency: the
 * profile's step constant of that kind of hop and the route's own latency. @channel tells
 * parallel connections of one pair apart (ECMP). */
double orr_collective_flow_edge(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel,
                                guint32 weight);

/* One link's weight, in parts; and nothing loaded any more. */
void orr_collective_flow_load(OrrCollectiveFlow *flow, guint32 link, guint32 parts);
void orr_collective_flow_empty(OrrCollectiveFlow *flow);

typedef enum {
  ORR_CHAIN_CLOSED,     /* 0 -> 1 -> ... -> n-1 -> 0 */
  ORR_CHAIN_FROM_FIRST, /* 0 -> 1 -> ... -> n-1 */
  ORR_CHAIN_TO_FIRST    /* n-1 -> ... -> 1 -> 0 */
} OrrChain;

/* Edges of weight 1 through gpus[0], gpus[stride], ..., @n of them. Returns the latency of n - 1
 * hops: all of an open chain; of a closed one all but the cheapest, which is the longest way
 * that a chunk goes. */
double orr_collective_flow_chain(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, guint stride,
                                 guint64 channel, OrrChain chain);

/* Whether a collective that every GPU of the fabric takes part in alike may be counted for one
 * domain alone, and the rest told from it by orr_collective_flow_spread; and that: each of
 * @n_domains loads the network as what is in @flow does. FALSE, and nothing is changed, where
 * that leaves parts of a unit. */
gboolean orr_collective_flow_is_symmetric(const OrrCollectiveFlow *flow, const gint64 *gpus,
                                          guint n);
gboolean orr_collective_flow_spread(OrrCollectiveFlow *flow, guint n_domains);

/* Loads every scale-up link of the domain's @n members with @weight units, out and in: what
 * members exchange with the switch that reduces and multicasts for them (NVLS). Returns what
 * reaching it costs. */
double orr_collective_flow_switch(OrrCollectiveFlow *flow, const gint64 *gpus, guint n,
                                  guint32 weight);

/* The same for the part of one owner: one unit of each member to @owner, or (@spread) of it to
 * each. Returns what the trip costs, which both are half of: nothing where @spread. */
double orr_collective_flow_owner(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, gint64 owner,
                                 gboolean spread);

/* Appends the phase; one unit flow moves @bytes. Weights are divided by their common divisor,
 * and bytes multiplied by it. To @latency_s come the base, before the first phase, and the time
 * by which the protocol falls short of the links' bandwidth: a delay, since the links are not in
 * use for it. The flow is empty afterwards. */
void orr_collective_flow_finish(OrrCollectiveFlow *flow, double latency_s, double bytes,
                                GArray *phases);

/* The costs that @plan was made with, settled for where the group lies; NULL where it was made
 * without a cost model. */
const OrrNcclCosts *orr_collective_costs_of(const OrrCollectiveContext *context,
                                            const OrrCollectiveCall *call,
                                            const OrrCollectivePlan *plan, OrrNcclCosts *ret_costs);

/* Seconds a byte of a unit flow on the busiest link; with the protocol's efficiencies where
 * @costs is not NULL. */
double orr_collective_per_byte(const OrrFabric *fabric, const OrrLinkUse *uses, guint n_uses,
                               const OrrNcclCosts *costs);

/* What the profile measured of @library's kernel for the call's tokens; FALSE: nothing that
 * holds for it. */
gboolean orr_expert_exchange_measured(const OrrCollectiveContext *context,
                                      const OrrCollectiveCall *call, const char *library,
                                      OrrCost *ret_cost);

/* double_tree.c. The trees over the domains, data both ways, one pair a rail: returns the
 * dearest hop. Units of S/(2m). Node above @node in tree @t over @n nodes; @n for the root.
 * Levels below the root. */
enum { ORR_N_TREES = 2 };
double orr_double_tree_across(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout);
guint orr_double_tree_above(guint t, guint node, guint n);
guint orr_double_tree_depth(guint n);

/* double_tree_steps.c. All of an all-reduce, broadcast or reduce; @by_switch: NVSwitches sum and
 * multicast in domains. */
void orr_double_tree_steps(const OrrCollectiveCall *call, const OrrCollectiveLayout *layout,
                           gboolean by_switch, OrrCollectiveSteps *steps);

G_END_DECLS

#endif

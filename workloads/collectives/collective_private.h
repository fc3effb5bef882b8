/*
 * collective_private.h - what the algorithms of this folder share: the shape of a group, and a flow in the making.
 * Nobody else includes it.
 */
#ifndef ORR_COLLECTIVE_PRIVATE_H
#define ORR_COLLECTIVE_PRIVATE_H

#include "workloads/collectives/collective.h"

G_BEGIN_DECLS

extern const OrrCollectiveAlgorithm orr_direct;
extern const OrrCollectiveAlgorithm orr_double_tree;
extern const OrrCollectiveAlgorithm orr_hierarchical;
extern const OrrCollectiveAlgorithm orr_pairwise;
extern const OrrCollectiveAlgorithm orr_ring;

/* A group as domains of equally many members: member i of domain d is gpus[d * per_domain + i]. Domains stand in the
 * order of their first rank, members in rank order, so that gpus[0] is rank 0, the root. Where domains hold unequally
 * many members, each GPU counts as a domain of its own, in rank order. */
typedef struct {
  gint64 *gpus;
  guint n_domains;
  guint per_domain;
} OrrCollectiveLayout;

void orr_collective_layout_init(OrrCollectiveLayout *layout, const OrrFabric *fabric, const gint64 *gpus, guint n);
void orr_collective_layout_clear(OrrCollectiveLayout *layout);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCollectiveLayout, orr_collective_layout_clear)

/* One phase in the making: edges between GPUs pile up as weights on links. */
typedef struct {
  const OrrFabric *fabric;
  OrrCollectiveCosts costs;
  GArray *uses;  /* of OrrLinkUse, in the order in which links were first met */
  guint32 *slots; /* open addressing, link -> index into uses + 1; 0: empty */
  guint n_slots;  /* a power of two */
  GArray *route;  /* scratch, of guint32 */
} OrrCollectiveFlow;

void orr_collective_flow_init(OrrCollectiveFlow *flow, const OrrCollectiveContext *context);
void orr_collective_flow_clear(OrrCollectiveFlow *flow);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCollectiveFlow, orr_collective_flow_clear)

/* Lets @weight unit flows go from @src to @dst; returns what one hop costs in latency: the profile's step constant of
 * that kind of hop and the route's own latency. @channel tells parallel connections of one pair apart (ECMP). */
double orr_collective_flow_edge(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel, guint32 weight);

typedef enum {
  ORR_CHAIN_CLOSED,     /* 0 -> 1 -> ... -> n-1 -> 0 */
  ORR_CHAIN_FROM_FIRST, /* 0 -> 1 -> ... -> n-1 */
  ORR_CHAIN_TO_FIRST    /* n-1 -> ... -> 1 -> 0 */
} OrrChain;

/* Edges of weight 1 through gpus[0], gpus[stride], ..., @n of them. Returns the latency of n - 1 hops: all of an open
 * chain; of a closed one all but the cheapest, which is the longest way that a chunk goes. */
double orr_collective_flow_chain(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, guint stride, guint64 channel,
                                 OrrChain chain);

/* Appends the phase; one unit flow moves @bytes. Weights are divided by their common divisor, and bytes multiplied by
 * it. The flow is empty afterwards. */
void orr_collective_flow_finish(OrrCollectiveFlow *flow, double latency_s, double bytes, GArray *phases);

G_END_DECLS

#endif

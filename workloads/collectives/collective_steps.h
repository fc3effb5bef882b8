/*
 * collective_steps.h - a collective as every send of every step: what the one-flow form
 * (collective.h) stands for.
 *
 * A schedule is sends over connections. A connection (source, destination, channel) sends in order,
 * one at a time; a send begins when those that it needs have ended and the one before it on its
 * connection has. It takes what a hop takes: the route's and the protocol's latency, then its bytes
 * over the route's links, shared with all that is under way.
 *
 * It is there to check the one-flow form and to show what that cannot: pipelines that stall. Equal
 * to it within 2 % where hops are alike, pipelines long and nothing else is on the links
 * (tests/workloads/collectives/test_collective_steps.c); faster where a ring mixes fast and slow
 * links, since what queues for the slow one hides the other hops' latency (docs/modelling.md);
 * slower where flows share a link unevenly for a while.
 */
#ifndef ORR_COLLECTIVE_STEPS_H
#define ORR_COLLECTIVE_STEPS_H

#include "workloads/collectives/collective.h"

G_BEGIN_DECLS

/* What one send is: a delay, then bytes over links. Sends of equal ends, channel and size share
 * one. */
typedef OrrCollectivePhase OrrStepRoute;

typedef struct {
  guint32 route;               /* index into routes */
  guint32 connection;          /* 0, 1, ... */
  guint32 first_need, n_needs; /* into needs: sends by number, all before this one */
} OrrStepSend;

typedef struct OrrCollectiveSteps OrrCollectiveSteps;

struct OrrCollectiveSteps {
  const OrrCollectiveContext *context; /* with the costs of the protocol; while being made */
  GArray *routes;                      /* of OrrStepRoute */
  GArray *sends;                       /* of OrrStepSend */
  GArray *needs;                       /* of guint32 */
  GHashTable *known;                   /* connection and size -> numbers; while being made */
  guint32 n_connections;
  double base_s; /* once, before all */
};

/* @plan: of the call, by orr_collective_plan; its algorithm and protocol are taken.
 * ORR_FAULT_DOCUMENT where the algorithm has no step form, or the schedule would be too long. */
OrrCollectiveSteps *orr_collective_steps_new(const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
                                             const OrrCollectivePlan *plan, GError **error);
void orr_collective_steps_free(OrrCollectiveSteps *steps); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectiveSteps, orr_collective_steps_free)

/* For algorithms: one send; returns its number. */
guint32 orr_collective_steps_send(OrrCollectiveSteps *steps, gint64 src, gint64 dst, guint channel,
                                  double bytes, const guint32 *needs, guint n_needs);

/* Through an NVSwitch, over a domain's @n members: each gives @bytes and the @owner-th has their
 * sum, a hop later; or (@spread) all have what the @owner-th gives, which is of the same trip
 * and costs no hop. */
guint32 orr_collective_steps_switch(OrrCollectiveSteps *steps, const gint64 *gpus, guint n,
                                    guint owner, gboolean spread, double bytes,
                                    const guint32 *needs, guint n_needs);

/* Of rings and chains over gpus[0], gpus[stride], ..., @n of them. @got: for each place in @gpus
 * the send that has brought it what it begins with, ORR_NO_SEND where that is nothing;
 * afterwards the one that it got last.
 *
 * Ring: @rounds rounds of @bytes, in each of which all pass on what they got in the round
 * before. Chain: @bytes in @n chunks behind one another, from the first to the last or
 * (@to_first) the other way. */
enum { ORR_NO_SEND = G_MAXUINT32 };
void orr_collective_steps_ring(OrrCollectiveSteps *steps, const gint64 *gpus, guint n, guint stride,
                               guint channel, double bytes, guint rounds, guint32 *got);
void orr_collective_steps_chain(OrrCollectiveSteps *steps, const gint64 *gpus, guint n,
                                guint stride, guint channel, double bytes, gboolean to_first,
                                guint32 *got);
guint32 *orr_collective_steps_nothing(guint n); /* @got of @n places; free with g_free */

/* In how many chunks a pipeline sends @bytes: by the profile's chunk, else by NCCL's slice; so
 * few that all sends, of which each chunk makes @sends_each, are not too many. */
guint orr_collective_steps_chunks(const OrrCollectiveSteps *steps, double bytes, gboolean near,
                                  guint sends_each);

G_END_DECLS

#endif

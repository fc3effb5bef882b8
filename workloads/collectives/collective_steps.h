/*
 * collective_steps.h - a collective as every send of every step, which the one-flow form
 * (collective.h) approximates.
 *
 * A schedule is a set of sends over connections. A connection (source, destination, channel) sends
 * in order, one send at a time. A send begins when the sends that it needs, and the previous send
 * of its connection, have ended. It takes the time of a hop: the route's and the protocol's
 * latency, then its bytes over the route's links, shared with all concurrent sends.
 *
 * It checks the one-flow form and shows what that form cannot: pipelines that stall. The two agree
 * within 2 % if hops are alike, pipelines long and the links otherwise idle
 * (tests/workloads/collectives/test_collective_steps.c). Steps are faster if a ring mixes fast and
 * slow links, because the queue for the slow link hides the latency of other hops (docs/modelling);
 * they are slower if flows share a link unevenly for a while.
 */
#pragma once

#include "workloads/collectives/collective.h"

/* What sends with the same ends, channel and size have in common. */
typedef struct {
  OrrCollectivePhase effect; /* of one send: a delay, then bytes over links */
  gint64 src, dst;           /* GPUs; dst < 0: through an NVSwitch, of all members */
  double bytes;              /* without a protocol's flags */
} OrrStepRoute;

/* There are millions. */
typedef struct {
  guint32 route;               /* index into routes */
  guint32 connection;          /* 0, 1, ... */
  guint32 first_need, n_needs; /* index into needs: numbers of earlier sends */
} OrrStepSend;

typedef struct OrrCollectiveSteps OrrCollectiveSteps;

struct OrrCollectiveSteps {
  const OrrCollectiveContext *context; /* with the protocol's costs; only during construction */
  GArray *routes;                      /* of OrrStepRoute */
  GArray *sends;                       /* of OrrStepSend */
  GArray *needs;                       /* of guint32 */
  /* connection and size -> numbers; only during construction */
  GHashTable *known;
  guint32 n_connections;
  double base_s; /* taken once, before all sends */
};

/* @plan: the call's plan by orr_collective_plan, for its algorithm and protocol.
 * ORR_FAULT_DOCUMENT if the algorithm has no step form or the schedule would be too long. */
OrrCollectiveSteps *orr_collective_steps_new(const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
                                             const OrrCollectivePlan *plan, GError **error);
void orr_collective_steps_free(OrrCollectiveSteps *steps); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectiveSteps, orr_collective_steps_free)

static inline const OrrStepRoute *orr_collective_steps_route(const OrrCollectiveSteps *steps,
                                                             const OrrStepSend *send) {
  return &g_array_index(steps->routes, OrrStepRoute, send->route);
}

/* For algorithms: adds one send and returns its number. */
guint32 orr_collective_steps_send(OrrCollectiveSteps *steps, gint64 src, gint64 dst, guint channel,
                                  double bytes, const guint32 *needs, guint n_needs);

/* Adds a send through an NVSwitch over a domain's @n members: each gives @bytes, and member
 * @owner has their sum one hop later; or, with @spread, all receive what @owner gives. That
 * belongs to the same trip and costs no further hop. */
guint32 orr_collective_steps_switch(OrrCollectiveSteps *steps, const gint64 *gpus, guint n,
                                    guint owner, gboolean spread, double bytes,
                                    const guint32 *needs, guint n_needs);

/* Rings and chains over gpus[0], gpus[stride], ..., @n of them. @got holds, for each place in
 * @gpus, the send that brought its initial data (ORR_NO_SEND: none), and afterwards the last
 * send that it received.
 *
 * Ring: @rounds rounds of @bytes; in each round every member passes on what it received in the
 * round before. Chain: @bytes in @n consecutive chunks, from the first member to the last or,
 * with @to_first, in the opposite direction. */
enum { ORR_NO_SEND = G_MAXUINT32 };
void orr_collective_steps_ring(OrrCollectiveSteps *steps, const gint64 *gpus, guint n, guint stride,
                               guint channel, double bytes, guint rounds, guint32 *got);
void orr_collective_steps_chain(OrrCollectiveSteps *steps, const gint64 *gpus, guint n,
                                guint stride, guint channel, double bytes, gboolean to_first,
                                guint32 *got);
guint32 *orr_collective_steps_nothing(guint n); /* @got of @n places; free with g_free */

/* The number of chunks in which a pipeline sends @bytes: by the profile's chunk, or else NCCL's
 * slice. It is limited so that all sends, @sends_each per chunk, are not too many. */
guint orr_collective_steps_chunks(const OrrCollectiveSteps *steps, double bytes, gboolean near,
                                  guint sends_each);

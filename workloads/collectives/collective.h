/*
 * collective.h - collectives as weighted flows on a fabric.
 *
 * A call (op, bytes, group of GPUs) is planned by one algorithm into phases; each phase is a delay and then one transfer
 * that loads every link it uses (a lock-step collective moves at the pace of its slowest link). Weights are integers:
 * how many of the algorithm's unit flows cross the link; the phase's bytes are what one unit flow moves.
 *
 * `bytes` follows nccl-tests: all-reduce, broadcast, reduce, send-recv: the buffer; all-gather, reduce-scatter,
 * all-to-all: the whole buffer, of which each rank holds 1/n.
 *
 * Algorithms are entries: ring, tree (double binary), hierarchical, pairwise (all-to-all), direct (send-recv). To add
 * one: write workloads/collectives/NAME.c, add it to the array in collective.c and to meson.build; the family's test
 * holds simulation against its oracle.
 */
#ifndef ORR_COLLECTIVE_H
#define ORR_COLLECTIVE_H

#include "calibration/cost.h"
#include "sim/engine/engine.h"
#include "topologies/fabric.h"

G_BEGIN_DECLS

typedef enum {
  ORR_ALL_REDUCE,
  ORR_ALL_GATHER,
  ORR_REDUCE_SCATTER,
  ORR_BROADCAST,
  ORR_REDUCE,
  ORR_ALL_TO_ALL,
  ORR_SEND_RECV, /* gpus[0] to gpus[1] */
  ORR_N_COLLECTIVES
} OrrCollectiveOp;

extern const char *const orr_collective_words[];      /* "all-reduce", "all-gather", ..., NULL */
extern const char *const orr_collective_nccl_words[]; /* "all_reduce", ... as nccl-tests names them */

typedef struct {
  OrrCollectiveOp op;
  double bytes;
  const gint64 *gpus; /* the group in rank order */
  guint n;
} OrrCollectiveCall;

typedef struct {
  double latency_s;
  double bytes;     /* of one unit flow */
  OrrLinkUse *uses; /* fabric link ids; owned by the plan */
  guint n_uses;
} OrrCollectivePhase;

typedef struct OrrCollectiveAlgorithm OrrCollectiveAlgorithm;

typedef struct {
  const OrrCollectiveAlgorithm *algorithm;
  GArray *phases;     /* of OrrCollectivePhase */
  double predicted_s; /* alone on the fabric: sum of latency + bytes * max(weight / bandwidth) */
  OrrHow how;         /* measured when a measured time replaced the modelled latency part */
} OrrCollectivePlan;

/* What plans are made from. @cost may be NULL (constants zero: pure alpha-beta of the fabric). */
typedef struct {
  const OrrFabric *fabric;
  const OrrCostModel *cost;
} OrrCollectiveContext;

struct OrrCollectiveAlgorithm {
  OrrEntry entry;
  gboolean (*supports)(const OrrCollectiveContext *context, const OrrCollectiveCall *call);
  void (*plan)(const OrrCollectiveContext *context, const OrrCollectiveCall *call, GArray *phases);
  /* Closed form of the time on an idle fabric whose group members all reach each other at @bytes_per_s with step cost
   * @alpha_s (launch left out): what the plan's phases must take there. Holds for one member a scale-up domain, and,
   * but for the tree, which is a chain inside a domain, for a group inside one. */
  double (*oracle)(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s);
};

extern const OrrRegistry orr_collective_registry;

/* Plans @call by @algorithm, or where NULL by the one with the least predicted time. A group of one rank, or zero bytes
 * of one rank, takes no time and has no phases. ORR_FAULT_DOCUMENT when the forced algorithm does not support the call.
 * Inside one scale-up domain, where the profile has measured rows, the latency part is set so that the isolated call
 * takes its measured time; not where an algorithm is forced that would not be chosen: the rows are of NCCL's choice. */
OrrCollectivePlan *orr_collective_plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error);
void orr_collective_plan_free(OrrCollectivePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectivePlan, orr_collective_plan_free)

/* nccl-tests' bus bandwidth factor: busbw = factor * bytes / time; 2(n-1)/n for all-reduce ... */
double orr_collective_bus_factor(OrrCollectiveOp op, guint n);

G_END_DECLS

#endif

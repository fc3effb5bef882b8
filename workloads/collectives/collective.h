/*
 * collective.h - collectives as weighted flows on a fabric.
 *
 * One algorithm plans a call (op, bytes, group of GPUs) as phases. Each phase is a delay followed
 * by one transfer that loads every link it uses, because a lock-step collective moves at the pace
 * of its slowest link. Weights are integers: the number of the algorithm's unit flows that cross
 * the link. The phase's bytes are one unit flow's.
 *
 * `bytes` follows nccl-tests. All-reduce, broadcast, reduce, send-recv: the buffer; all-gather,
 * reduce-scatter, all-to-all: the whole buffer; each rank holds 1/n of it.
 *
 * Algorithms are entries: NCCL's ring, tree (double binary), nvls, nvls-tree, collnet, pat,
 * pairwise (all-to-all) and direct (send-recv), and hierarchical; RCCL's and HCCL's mesh, HCCL's
 * halving-doubling, nhr and nb; a torus' torus-ring and bucket; forced by name only, serving
 * engines': custom-* (all-reduce), deepep*, trtllm-* (experts' tokens). Each has up to three
 * protocols (LL, LL128, Simple), with costs from the profile (cost.h). To add one: write
 * workloads/collectives/NAME.c, and its line in meson.build; the family's test compares its
 * simulation with its oracle.
 */
#pragma once

#include "calibration/cost/cost.h"
#include "sim/engine/engine.h"
#include "topologies/fabric.h"
#include "workloads/collectives/nccl.h"

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

extern const char *const orr_collective_words[]; /* "all-reduce", "all-gather", ..., NULL */
/* "all_reduce", ... as nccl-tests names them */
extern const char *const orr_collective_nccl_words[];

/* The contents of an all-to-all, if known: tokens sent to their experts, or back. */
typedef struct {
  double tokens;            /* tokens per rank */
  gint64 hidden;            /* elements per token */
  gint64 topk, experts;     /* experts per token, and in total */
  double bytes_per_element; /* bytes per element as sent */
  /* number format of the experts, on which TensorRT-LLM's kernels depend */
  OrrDtype experts_dtype;
  gboolean is_combine; /* FALSE: dispatch */
  /* a token's experts lie in at most this many domains (node-limited routing); 0: any */
  gint64 most_domains;
  gboolean in_turn; /* a token's experts are the next topk in order; FALSE: drawn */
} OrrExpertExchange;

/* The buffer of an all-to-all that sends a token to each of its experts, in bytes: tokens * topk
 * * hidden elements. */
double orr_expert_exchange_bytes(const OrrExpertExchange *exchange);
/* Whether the kernels @library send each token directly to its experts, by NICs and without
 * multiprocessors that wait: low-latency kernels and pplx-garden's. */
gboolean orr_expert_exchange_is_direct(const char *library);

typedef struct {
  OrrCollectiveOp op;
  double bytes;
  const gint64 *gpus; /* the group in rank order */
  guint n;
  OrrProtocol protocol; /* forced, as NCCL_PROTO does; ORR_PROTOCOL_AUTO (0): the fastest */
  /* contents of an all-to-all; NULL: unknown. NCCL's algorithms depend on bytes alone */
  const OrrExpertExchange *exchange;
} OrrCollectiveCall;

typedef struct {
  double latency_s;
  double bytes;     /* of one unit flow */
  OrrLinkUse *uses; /* links by fabric link id; owned by the plan */
  guint n_uses;
} OrrCollectivePhase;

typedef struct OrrCollectiveAlgorithm OrrCollectiveAlgorithm;
struct OrrCollectiveSteps;

typedef struct {
  const OrrCollectiveAlgorithm *algorithm;
  OrrProtocol protocol; /* AUTO: the algorithm has no protocols, or no costs are known */
  GArray *phases;       /* of OrrCollectivePhase */
  double predicted_s;   /* alone on the fabric: sum of latency + bytes * max(weight / bandwidth) */
  double choice_s;      /* what NCCL's tuning expects, by which it is chosen */
  OrrHow how;           /* `measured` if a measured time replaced the modelled latency part */
  guint n_owners;       /* a plan with several must not be changed */
} OrrCollectivePlan;

/* One send of a phase, for models that look at single flows. */
typedef struct {
  guint phase;
  gint64 src, dst;
  guint64 channel;
  double bytes;
} OrrCollectiveEdge;

/* The inputs of a plan. @cost may be NULL: all constants are then 0, a pure alpha-beta model of
 * the fabric. */
typedef struct {
  const OrrFabric *fabric;
  const OrrCostModel *cost;
  /* set by the planner: costs of the algorithm and protocol being planned; callers leave it NULL */
  const OrrNcclCosts *costs;
  struct OrrRouteTape *tape; /* set by the planner, too */
  /* if not NULL: by link, the number of connections (queue pairs) that the plan puts on it */
  guint32 *connections;
  /* if not NULL (of OrrCollectiveEdge): every send over the network that the plan puts there */
  GArray *edges;
  const OrrNccl *nccl; /* NULL: the newest release */
  /* Without PXN (nccl.h): GPUs per PCIe switch, if the cluster states it. A channel then enters
   * and leaves a node through one NIC, next to which two members must sit. 0: with PXN, or no such
   * switches. */
  gint64 gpus_per_switch;
} OrrCollectiveContext;

/* When the planner chooses an algorithm that the user did not force. */
typedef enum {
  ORR_CHOSEN_ALWAYS,
  /* only if the profile has an `nccl` row of it: hardware that not every device has */
  ORR_CHOSEN_WITH_ROWS,
  ORR_CHOSEN_NEVER /* only if forced: not NCCL's, or it needs something that a cluster document
                    * does not state */
} OrrCollectiveChosen;

struct OrrCollectiveAlgorithm {
  OrrEntry entry;
  /* Mandatory: supports, plan, oracle. Other functions may be NULL. */
  OrrCollectiveChosen chosen;
  gboolean is_first; /* of equal times it wins; of one rank it is the plan. One algorithm is */
  /* Whether @nccl (NULL: any release) has it and chooses it by itself; NULL: as `chosen` says. */
  gboolean (*is_released)(const OrrNccl *nccl);
  /* library of the profile's `libraries` whose rows give its times; NULL: NCCL */
  const char *library;
  gboolean is_simple_only; /* has the protocol Simple alone: LL and LL128 are refused */
  guint least_ranks;       /* smallest group for which the planner chooses it; 0: any */
  /* what it needs of the group or the call, e.g. "a group inside one ..."; NULL: nothing */
  const char *needs;
  gboolean (*supports)(const OrrCollectiveContext *context, const OrrCollectiveCall *call);
  void (*plan)(const OrrCollectiveContext *context, const OrrCollectiveCall *call, GArray *phases);
  /* The same as single sends, step by step (collective_steps.h); NULL: no such form. */
  void (*steps)(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                struct OrrCollectiveSteps *steps);
  /* Closed form of the time on an idle fabric in which all members of the group reach each other
   * at @bytes_per_s with step cost @alpha_s (without launch): the plan's phases must take this
   * time there. Holds for one member per scale-up domain and for a group inside one domain,
   * except that the tree is a chain inside a domain. */
  double (*oracle)(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s);
};

extern const OrrRegistry orr_collective_registry;

/* Plans @call with @algorithm or, if NULL, with the algorithm of the least predicted time, under
 * the fastest or the forced protocol. A group of one rank, or zero bytes, takes no time and has
 * no phases. ORR_FAULT_DOCUMENT if the forced algorithm does not support the call, or if the
 * costs refuse gaps (on-missing: error) and the plan has no rows. Inside one scale-up domain, or
 * one node without such links (orr_fabric_peers_on_pcie), with measured rows, the latency part is
 * set so that the isolated call takes its measured time; not if an algorithm is forced that would
 * not be chosen, because the rows are of NCCL's own choice. */
OrrCollectivePlan *orr_collective_plan(const OrrCollectiveContext *context,
                                       const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error);
void orr_collective_plan_free(OrrCollectivePlan *plan);              /* by each of its owners */
OrrCollectivePlan *orr_collective_plan_ref(OrrCollectivePlan *plan); /* one more owner */
/* A plan that the caller may change, for one that it owns: the same, or a copy. */
OrrCollectivePlan *orr_collective_plan_own(OrrCollectivePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectivePlan, orr_collective_plan_free)

/* nccl-tests' bus bandwidth factor: busbw = factor * bytes / time; 2(n-1)/n for all-reduce ... */
double orr_collective_bus_factor(OrrCollectiveOp op, guint n);

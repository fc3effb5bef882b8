/*
 * collective.h - collectives as weighted flows on a fabric.
 *
 * A call (op, bytes, group of GPUs) is planned by one algorithm into phases; each phase is a delay
 * and then one transfer that loads every link it uses (a lock-step collective moves at the pace of
 * its slowest link). Weights are integers: how many of the algorithm's unit flows cross the link;
 * the phase's bytes are what one unit flow moves.
 *
 * `bytes` follows nccl-tests: all-reduce, broadcast, reduce, send-recv: the buffer; all-gather,
 * reduce-scatter, all-to-all: the whole buffer, of which each rank holds 1/n.
 *
 * Algorithms are entries: NCCL's ring, tree (double binary), nvls, nvls-tree, collnet, pat,
 * pairwise (all-to-all) and direct (send-recv), and hierarchical; forced by name, the engines' own:
 * custom-* (all-reduce), deepep*, trtllm-* (experts' tokens). Each has up to three protocols (LL,
 * LL128, Simple), whose costs the profile holds (cost.h). To add one: write
 * workloads/collectives/NAME.c, add it to the array in collective.c and to meson.build; the
 * family's test holds simulation against its oracle.
 */
#ifndef ORR_COLLECTIVE_H
#define ORR_COLLECTIVE_H

#include "calibration/cost/cost.h"
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

extern const char *const orr_collective_words[]; /* "all-reduce", "all-gather", ..., NULL */
/* "all_reduce", ... as nccl-tests names them */
extern const char *const orr_collective_nccl_words[];

/* What an all-to-all carries, where that is known: tokens on the way to their experts, or back. */
typedef struct {
  double tokens;            /* of a rank */
  gint64 hidden;            /* elements of a token */
  gint64 topk, experts;     /* experts of a token, and in all */
  double bytes_per_element; /* as they travel */
  OrrDtype experts_dtype;   /* the experts' format, by which TensorRT-LLM's kernels differ */
  gboolean is_combine;      /* FALSE: dispatch */
  /* a token's experts lie in at most as many domains (node-limited routing); 0: any */
  gint64 most_domains;
} OrrExpertExchange;

/* The buffer of an all-to-all that sends a token to each of its experts: tokens * topk * hidden
 * elements. */
double orr_expert_exchange_bytes(const OrrExpertExchange *exchange);

typedef struct {
  OrrCollectiveOp op;
  double bytes;
  const gint64 *gpus; /* the group in rank order */
  guint n;
  OrrProtocol protocol; /* forced, as NCCL_PROTO does; ORR_PROTOCOL_AUTO (0): the fastest */
  /* of an all-to-all: what it carries; NULL: anything. NCCL's algorithms go by bytes */
  const OrrExpertExchange *exchange;
} OrrCollectiveCall;

typedef struct {
  double latency_s;
  double bytes;     /* of one unit flow */
  OrrLinkUse *uses; /* fabric link ids; owned by the plan */
  guint n_uses;
} OrrCollectivePhase;

typedef struct OrrCollectiveAlgorithm OrrCollectiveAlgorithm;
struct OrrCollectiveSteps;

typedef struct {
  const OrrCollectiveAlgorithm *algorithm;
  OrrProtocol protocol; /* AUTO: the algorithm has no protocols (nothing is known of them) */
  GArray *phases;       /* of OrrCollectivePhase */
  double predicted_s;   /* alone on the fabric: sum of latency + bytes * max(weight / bandwidth) */
  OrrHow how;           /* measured when a measured time replaced the modelled latency part */
} OrrCollectivePlan;

/* What plans are made from. @cost may be NULL (constants zero: pure alpha-beta of the fabric). */
typedef struct {
  const OrrFabric *fabric;
  const OrrCostModel *cost;
  /* the planner's: of the algorithm and protocol that it plans; callers leave it NULL */
  const OrrNcclCosts *costs;
  /* by link, where not NULL: counts those that an algorithm's plan() puts on it (queue pairs) */
  guint32 *connections;
  /* Of NCCL before 2.12 (March 2022), which has no PXN: GPUs of a PCIe switch, where the cluster
   * says it. A channel enters and leaves a node by one NIC, next to which two members must sit.
   * 0: later, or no such switches. */
  gint64 gpus_per_switch;
} OrrCollectiveContext;

/* When an algorithm is chosen by itself. */
typedef enum {
  ORR_CHOSEN_ALWAYS,
  /* only where the profile has an `nccl` row of it: hardware that not every device has */
  ORR_CHOSEN_WITH_ROWS,
  ORR_CHOSEN_NEVER /* only forced: not NCCL's, or in need of what a cluster does not say that it has */
} OrrCollectiveChosen;

struct OrrCollectiveAlgorithm {
  OrrEntry entry;
  OrrCollectiveChosen chosen;
  const char *library; /* of the profile's `libraries`, whose rows it is measured by; NULL: NCCL */
  guint least_ranks;   /* of a group for which it is chosen by itself; 0: any */
  /* of the group or the call, beside the operation: "a group inside one ..."; NULL: nothing */
  const char *needs;
  gboolean (*supports)(const OrrCollectiveContext *context, const OrrCollectiveCall *call);
  void (*plan)(const OrrCollectiveContext *context, const OrrCollectiveCall *call, GArray *phases);
  /* The same as sends, step by step (collective_steps.h); NULL: the algorithm has no such form. */
  void (*steps)(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                struct OrrCollectiveSteps *steps);
  /* Closed form of the time on an idle fabric whose group members all reach each other at
   * @bytes_per_s with step cost @alpha_s (launch left out): what the plan's phases must take
   * there. Holds for one member a scale-up domain, and, but for the tree, which is a chain
   * inside a domain, for a group inside one. */
  double (*oracle)(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s);
};

extern const OrrRegistry orr_collective_registry;

/* Plans @call by @algorithm, or where NULL by the one with the least predicted time, under the
 * protocol that is fastest or forced. A group of one rank, or zero bytes of one rank, takes no
 * time and has no phases. ORR_FAULT_DOCUMENT when the forced algorithm does not support the
 * call, and where the costs refuse gaps (on-missing: error) and nothing is known of what was
 * planned. Inside one scale-up domain, where the profile has measured rows, the latency part is
 * set so that the isolated call takes its measured time; not where an algorithm is forced that
 * would not be chosen: the rows are of NCCL's choice. */
OrrCollectivePlan *orr_collective_plan(const OrrCollectiveContext *context,
                                       const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error);
void orr_collective_plan_free(OrrCollectivePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectivePlan, orr_collective_plan_free)

/* nccl-tests' bus bandwidth factor: busbw = factor * bytes / time; 2(n-1)/n for all-reduce ... */
double orr_collective_bus_factor(OrrCollectiveOp op, guint n);

G_END_DECLS

#endif

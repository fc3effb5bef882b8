/*
 * collective_bench.h - the workload `collectives`: what nccl-tests runs, size after size, on one
 * group or on several at once.
 *
 * Group g of n ranks at stride s runs on the GPUs
 *
 *   (g / s) n s + g mod s + i s,  i = 0 .. n-1
 *
 * Stride 1 fills nodes one after another. A stride equal to the number of GPUs per node takes one
 * rank of each node; as many groups as a node has GPUs are then its rails. All groups start a size
 * together, when all have finished the size before.
 *
 * A group is a lane with one stream, and a size is one communication per group. In a step-by-step
 * replay (collective_steps.h) each connection is a further stream of the lane and each send is a
 * communication; the lane's first stream has a mark of category "step" at the end of each size.
 */
#pragma once

#include "workloads/collectives/collective.h"
#include "workloads/workload.h"

typedef struct {
  char *stack;    /* name of the software stack */
  int collective; /* OrrCollectiveOp */
  double begin_bytes, end_bytes, factor, step_bytes;
  gint64 ranks; /* 0: all GPUs */
  gint64 stride, groups;
  int dtype; /* OrrDtype */
  int redop; /* index into orr_redop_words */
  gint64 root;
  char *algorithm; /* of orr_collective_registry, or "auto" */
  OrrNccl nccl;
  int protocol;                 /* OrrProtocol */
  gint64 hidden, topk, experts; /* an all-to-all of experts' tokens; experts 0: any contents */
  int phase;                    /* index into orr_exchange_words */
  int experts_dtype;            /* OrrDtype */
  int replay;                   /* OrrBenchReplay */
} OrrCollectiveBench;

typedef enum { ORR_BENCH_FLOW, ORR_BENCH_STEPS } OrrBenchReplay; /* words "flow", "steps" */

extern const char *const orr_exchange_words[]; /* "dispatch", "combine" */
extern const char *const orr_redop_words[];    /* "sum", "prod", ... */
extern const OrrFieldTable orr_collective_bench_table;
extern const OrrWorkloadKind orr_collectives_kind;

/* One size, with the plan of the first group. */
typedef struct {
  const char *label; /* label of its communications in the program */
  double bytes;
  const OrrCollectiveAlgorithm *algorithm;
  OrrProtocol protocol;
  OrrHow how;
  double latency_s, predicted_s;
} OrrBenchSize;

typedef struct {
  OrrWork work; /* first */
  OrrCollectiveBench params;
  guint n_ranks, n_groups;
  GArray *sizes; /* of OrrBenchSize */
} OrrBenchWork;

gboolean orr_collective_bench_has_root(OrrCollectiveOp op);
gboolean orr_collective_bench_reduces(OrrCollectiveOp op);

/* The number of elements as nccl-tests counts them: for all-gather, reduce-scatter and all-to-all,
 * the elements of one rank's slice. */
gint64 orr_collective_bench_count(const OrrCollectiveBench *params, double bytes, guint n_ranks);

/*
 * collective_bench.h - the workload `collectives`: what nccl-tests runs, size after size, by one
 * group or several at once.
 *
 * Group g of n ranks at stride s runs on the GPUs  (g / s) n s + g mod s + i s,  i = 0 .. n-1: stride 1 fills nodes one
 * after another; the number of GPUs a node takes one rank of each node, and as many groups as a
 * node has GPUs are its rails. All groups start a size together; a size starts when all have ended
 * the one before.
 *
 * A group is a lane with one stream; a size is one communication a group. Replayed step by step
 * (collective_steps.h) each connection is a stream of the lane, too, each send a communication, and
 * the lane's first stream has a mark of category "step" where a size ends.
 */
#ifndef ORR_COLLECTIVE_BENCH_H
#define ORR_COLLECTIVE_BENCH_H

#include "workloads/collectives/collective.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct {
  int collective; /* OrrCollectiveOp */
  double begin_bytes, end_bytes, factor, step_bytes;
  gint64 ranks; /* 0: all GPUs */
  gint64 stride, groups;
  int dtype; /* OrrDtype */
  int redop; /* index into orr_redop_words */
  gint64 root;
  char *algorithm;              /* of orr_collective_registry, or "auto" */
  int protocol;                 /* OrrProtocol */
  gint64 hidden, topk, experts; /* an all-to-all of experts' tokens; experts 0: of anything */
  int phase;                    /* index into orr_exchange_words */
  int experts_dtype;            /* OrrDtype */
  int replay;                   /* OrrBenchReplay */
} OrrCollectiveBench;

typedef enum { ORR_BENCH_FLOW, ORR_BENCH_STEPS } OrrBenchReplay; /* words "flow", "steps" */

extern const char *const orr_exchange_words[]; /* "dispatch", "combine" */
extern const char *const orr_redop_words[];    /* "sum", "prod", ... */
extern const OrrFieldTable orr_collective_bench_table;
extern const OrrWorkloadKind orr_collectives_kind;

/* One size, as the first group was planned. */
typedef struct {
  const char *label; /* of its communications in the program */
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

/* Elements, as nccl-tests counts them: of one rank's part for all-gather, reduce-scatter and
 * all-to-all. */
gint64 orr_collective_bench_count(const OrrCollectiveBench *params, double bytes, guint n_ranks);

G_END_DECLS

#endif

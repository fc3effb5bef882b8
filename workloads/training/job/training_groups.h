/*
 * training_groups.h - which ranks of a job communicate with each other, and their calls.
 *
 * A grouping divides the ranks of a stage into equal groups: ranks i, i + stride, ..., `size` of
 * them, for each i below stride; then the same for the next stride * size ranks.
 *
 *   stride 2, size 3     ranks  0 1 2 3 4 5 | 6 7 8 9 10 11
 *                        group  a b a b a b | c d c d c  d
 */
#pragma once

#include "workloads/training/job/training_job.h"

typedef struct {
  gint64 stride, size;
} OrrGrouping;

/* The groups of collectives inside layers. */
OrrGrouping orr_grouping_of(const OrrJob *job, OrrOperatorGroup group);
/* How many replicas meet in those collectives: 1, or, for experts, as many as one group spans. */
gint64 orr_grouping_span(const OrrJob *job, OrrOperatorGroup group);

/* Ranks that hold the same parameters of @set: cp dp of them, for experts tp cp dp / (etp ep). */
OrrGrouping orr_grouping_replicas(const OrrJob *job, OrrWeightSet set);
/* Among those, ranks that shard one copy; and ranks that hold the same shard of different
 * copies. */
OrrGrouping orr_grouping_shards(const OrrJob *job, OrrWeightSet set);
OrrGrouping orr_grouping_copies(const OrrJob *job, OrrWeightSet set);
/* How many GPUs hold the same parameter: a bidirectional schedule has twice as many. */
gint64 orr_grouping_n_holders(const OrrJob *job, OrrWeightSet set);

/* Equal calls of several groups at the same time. The GPUs of call g, with n ranks each, are
 * gpus[g * n] to gpus[g * n + n - 1]. */
typedef struct {
  gint64 *gpus;
  OrrCollectiveCall *calls;
  guint n_calls;
} OrrCalls;

/* What each group calls. */
typedef struct {
  OrrCollectiveOp op;
  double bytes;
  OrrGrouping grouping;
} OrrCallSpec;

/* Ranks [first, first + n) of @stage, for each of @n_firsts @firsts. */
typedef struct {
  gint64 stage;
  const gint64 *firsts;
  guint n_firsts;
  gint64 n;
} OrrRankRanges;

/* @n_calls calls of @n ranks whose GPUs the caller fills in. */
void orr_calls_init(OrrCalls *calls, OrrCollectiveOp op, double bytes, guint n_calls, guint n);
/* The groups within each range. A send-recv is one step of a ring: each rank calls the next. */
void orr_calls_within(OrrCalls *calls, const OrrJob *job, const OrrCallSpec *spec,
                      const OrrRankRanges *ranges);
/* The groups over all ranks of @stages; each group is joined with its equals in the other
 * stages. */
void orr_calls_across(OrrCalls *calls, const OrrJob *job, const OrrCallSpec *spec,
                      const gint64 *stages, guint n_stages);
void orr_calls_clear(OrrCalls *calls);

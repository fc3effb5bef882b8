/*
 * training_costs.h - operators as seconds: what a lane does for each layer, between collectives.
 *
 * A run is one layer in one direction, a list of segments. A segment is compute up to a collective
 * of one of the lane's groups, or to the end of the run:
 *
 *   run   segment 0 | all-gather | segment 1 | reduce-scatter | segment 2
 *
 * Runs belong to specs, not to layers: equal layers share them.
 */
#pragma once

#include "workloads/training/cost/training_packing.h"
#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

typedef struct {
  double seconds[ORR_N_TIMES];
  double squares;    /* sum of the squares of its kernels' seconds */
  int comm;          /* OrrOperatorComm of the collective that ends it, or -1 */
  int group;         /* the collective's OrrOperatorGroup */
  double comm_bytes; /* the collective's size as NCCL counts it */
  /* The collective overlaps the next segment; the segment after that waits for it. */
  gboolean overlaps;
} OrrSegment;

typedef struct {
  GArray *segments; /* of OrrSegment */
  double host_s;    /* host time for its launches; the run takes at least this long */
  gboolean serial;  /* host and GPU alternate: the run takes the sum of both */
  gboolean encodes; /* layers of the model's encoder */
  gboolean syncs;   /* in the run the host waits for the GPU: what it launched ahead is used up */
  /* Of a run of routed experts, what lies between their two exchanges: kernels, and launches. */
  double experts_s, experts_host_s;
} OrrRun;

/* A backward begins with what is recomputed. It is one run (BACKWARD), or two (INPUT, WEIGHT) where
 * the schedule splits it. */
typedef enum {
  ORR_RUN_FORWARD,
  ORR_RUN_BACKWARD,
  ORR_RUN_INPUT,
  ORR_RUN_WEIGHT,
  ORR_N_RUNS
} OrrRunKind;

typedef struct {
  OrrRun runs[ORR_N_RUNS];
} OrrLayerCosts;

typedef struct {
  OrrLayerCosts *layers; /* by spec of the layout */
  guint n_specs;
  GArray *operators;      /* of OrrCostedOperator */
  gint64 outside;         /* how many of them lie outside the measured range */
  OrrPackedLoads *packed; /* NULL: one document per sequence */
} OrrTrainingCosts;

void orr_training_costs_init(OrrTrainingCosts *costs, const OrrJob *job);
void orr_training_costs_clear(OrrTrainingCosts *costs);

/* Seconds of the optimizer on one GPU of @stage. For stage 0 its operators join
 * costs->operators. */
double orr_training_costs_optimizer_s(OrrTrainingCosts *costs, const OrrJob *job, gint64 stage);

/* The kind of time that @op, not a COMM, is counted as. */
OrrTimeKind orr_training_costs_kind(const OrrOperator *op);

double orr_segment_seconds(const OrrSegment *segment); /* of all kinds, without the collective */

/* How long @work_s of compute takes next to a collective of @comm_s alone: both slow each other
 * down. @ret_left_s: how much of the collective is left afterwards. */
double orr_training_costs_overlapped_s(const OrrJob *job, double work_s, double comm_s,
                                       double *ret_left_s);

/* training_by_tensor.c: what it costs that weights and gradients travel tensor by tensor (zero-3's
 * by-tensor), in addition to their collectives. */

/* Seconds that the lists of a layer's tensors take of its lane, by kind of time: in a forward, in a
 * backward (two gathers), and after the backward. */
typedef struct {
  double gather[ORR_N_TIMES], again[ORR_N_TIMES], scatter[ORR_N_TIMES];
} OrrListWork;

OrrListWork orr_list_work_of(const OrrJob *job, guint spec);

/* of double: the parameters of each sharded tensor of a layer, in the order of the backward. */
GArray *orr_training_by_tensor_sizes(const OrrJob *job, guint spec);
/* The ones of @tensors that are gathered once more, between the layer's recomputation and its
 * backward. */
GArray *orr_training_by_tensor_regathered(const OrrJob *job, guint spec, const GArray *tensors);

/* training_host.c: how long CPU cores work for a rank of a training job. */

/* Seconds of one core per step, mean over ranks: launching its kernels, preparing its data. */
double orr_training_host_s(const OrrTrainingCosts *costs, const OrrJob *job);

/* training_launches.c: what the host does for a run of kernels: how many operators it dispatches,
 * and how long that takes. */

typedef struct {
  guint kernels;        /* operators that the framework dispatches, collectives included */
  guint expert_kernels; /* the part of @kernels for routed experts */
  double fetched;       /* products whose weights the host gathers one by one */
  guint launched;       /* further kernels, which a dispatched operator launches itself */
} OrrLaunchCounts;

/* How many kernels the framework runs for @op, each dispatched by itself; more than 1 where it
 * splits what is one operator here. */
guint orr_launch_counts_of(const OrrJob *job, const OrrOperator *op);

void orr_launch_counts_add(OrrLaunchCounts *counts, const OrrJob *job, const OrrOperator *op);
/* Host time for all of them, as workload.launches has it. */
double orr_launch_counts_host_s(const OrrLaunchCounts *counts, const OrrJob *job);

/* training_operator_cost.c: what one operator costs in training. */

/* At the clock that the job's power draw permits; routed experts by the faster kind of kernel. */
OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *op);

/* training_overlap.c: tensor-parallel collectives and products split into slices together
 * (parallel.tp-comm-overlap). */

/* Replaces those @operators (OrrOperator) of a layer that the job's overlap splits by their
 * slices. */
void orr_training_overlap(const OrrJob *job, gboolean is_replayed, GArray *operators);

/* training_power.c: what a GPU of a training job draws in each kind of time. */

/* From the job's operators (OrrTrainingCosts.operators), by how often a step runs them. */
OrrWorkPower orr_training_power(const OrrTrainingCosts *costs, const OrrJob *job);

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
#ifndef ORR_TRAINING_COSTS_H
#define ORR_TRAINING_COSTS_H

#include "workloads/training/cost/training_packing.h"
#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

G_BEGIN_DECLS

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
  gboolean syncs;   /* in the run the host waits for the GPU: what it launched ahead is used up */
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

/* How long @work_s of compute takes next to a collective of @comm_s, which slows it down. */
double orr_training_costs_overlapped_s(const OrrJob *job, double work_s, double comm_s);

G_END_DECLS

#endif

/*
 * training_runs.h - the runs of a pass as operations: compute, and the collectives inside layers.
 */
#ifndef ORR_TRAINING_RUNS_H
#define ORR_TRAINING_RUNS_H

#include "workloads/training/emit/training_emitter.h"

G_BEGIN_DECLS

/* Consecutive equal layers: @count times a run. */
typedef struct {
  const OrrRun *run;
  gint64 count;
} OrrRuns;

/* A pass of one micro-batch through a block, or part of one. */
typedef struct {
  const char *name;
  const OrrRuns *runs;
  guint n;
  double extra_pp_s; /* what a receiver of a boundary tensor adds first */
  gint32 tag;        /* the micro-batch */
} OrrPassRuns;

/* What a lane repeats for every micro-batch: layers [from, to) of a chunk, in one kind of pass. */
typedef struct {
  guint32 lane, kind, chunk, from, to;
} OrrPassKey;

/* Whether equal passes are emitted once, and repeated for each micro-batch. */
gboolean orr_training_runs_are_repeated(const OrrJob *job, const OrrLayerTraffic *layers);

/* For OrrEmitter.passes; NULL where no two passes are equal. */
GHashTable *orr_training_runs_passes_new(const OrrEmitter *e);

/* Repeats the pass of @key if it was emitted before for another micro-batch; else FALSE: call
 * orr_training_runs_emit. */
gboolean orr_training_runs_repeat(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key,
                                  gint32 tag);
/* Emits @pass in order: as one operation where that is exact, else as a routine where that is
 * possible, else segment by segment. */
void orr_training_runs_emit(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key,
                            const OrrPassRuns *pass);
/* Emits two micro-batches' passes alternately: while the all-to-all between experts of one is under
 * way, the other computes (DualPipe). */
void orr_training_runs_interleave(OrrEmitter *e, const OrrLaneAt *lane,
                                  const OrrPassRuns passes[2]);

G_END_DECLS

#endif

/*
 * pipeline.h - pipeline schedules: in which order a stage runs its micro-batches.
 *
 * A schedule is an entry: for each stage it lists forward and backward steps of (micro-batch, chunk). A chunk is the
 * stage's c-th block of consecutive layers; chunk c of stage s holds the model's block c * stages + s (Megatron's
 * interleaving). The order is all a schedule says: times, sends and receives are the training workload's.
 *
 * To add one: write workloads/pipelines/NAME.c with one `const OrrPipelineKind`, add it to the array in pipeline.c and
 * to meson.build. The family's test replays it on equal stages against its `bubble` and `peak` oracles.
 */
#ifndef ORR_PIPELINE_H
#define ORR_PIPELINE_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  gint64 stages;
  gint64 chunks; /* a stage */
  gint64 micro_batches;
} OrrPipelineShape;

typedef struct {
  gboolean backward;
  gint32 chunk;
  gint32 micro_batch;
} OrrPipelineStep;

typedef struct {
  OrrEntry entry;
  gint64 (*chunks)(const void *params); /* a stage */
  /* NULL, or why this shape cannot be scheduled (newly allocated). */
  char *(*refuse)(const OrrPipelineShape *shape);
  void (*steps)(const OrrPipelineShape *shape, gint64 stage, GArray *steps /* of OrrPipelineStep */);
  /* Closed form on equal stages and free communication: idle time of a stage as a share of its busy time. */
  double (*bubble)(const OrrPipelineShape *shape);
  /* Closed form: most (micro-batch, chunk) activations that @stage holds at once. */
  gint64 (*peak)(const OrrPipelineShape *shape, gint64 stage);
} OrrPipelineKind;

extern const OrrRegistry orr_pipeline_registry;

/* Most (micro-batch, chunk) activations that are alive at once in @steps: forwards begun less backwards ended. */
gint64 orr_pipeline_peak(const GArray *steps);

extern const OrrPipelineKind orr_gpipe;
extern const OrrPipelineKind orr_one_f_one_b;
extern const OrrPipelineKind orr_interleaved;

G_END_DECLS

#endif

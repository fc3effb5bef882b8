/*
 * pipeline.h - pipeline schedules: in which order a stage runs its micro-batches.
 *
 * A schedule is an entry: for each stage it lists steps of (micro-batch, chunk): forwards, and
 * backwards, whole or cut into the gradient of the input, which the block before waits for (B), and
 * that of the weights (W; Qi et al. 2024). The order is all a schedule says: times, sends and
 * receives are the training workload's.
 *
 * A chunk is a stage's block of consecutive layers. Which block of the model it is depends on the
 * shape:
 *
 *   loop           chunk c of stage s is block c p + s (Megatron's interleaving)
 *   v              there and back (ZB-V): chunk 0 of stage s is block s, chunk 1 block 2 p - 1 - s
 *   bidirectional  the model twice (DualPipe): chunk 0 is block s of the first copy, chunk 1 block p - 1 - s of the
 *                  second. A micro-batch passes one of the copies: a direction
 *
 * To add one: write workloads/training/pipelines/NAME.c with one `const OrrPipelineKind`, add it to
 * the array in pipeline.c and to meson.build. The family's test replays it on equal stages against
 * its `bubble` and `peak` oracles.
 */
#ifndef ORR_PIPELINE_H
#define ORR_PIPELINE_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  gint64 stages;
  gint64 chunks; /* a stage */
  gint64 micro_batches;
  /* micro-batches that pass a chunk in a row, where the schedule has such groups; 0: as it likes */
  gint64 group;
} OrrPipelineShape;

typedef enum {
  ORR_STEP_FORWARD,
  ORR_STEP_BACKWARD,        /* whole */
  ORR_STEP_BACKWARD_INPUT,  /* B */
  ORR_STEP_BACKWARD_WEIGHT, /* W; its activations live until then */
  ORR_STEP_BOTH /* the forward of (chunk, micro-batch) beside the whole backward of (back_*) */
} OrrStepKind;

typedef struct {
  guint8 kind; /* OrrStepKind */
  gint32 chunk, micro_batch;
  gint32 back_chunk, back_micro_batch; /* BOTH */
} OrrPipelineStep;

typedef enum { ORR_BLOCKS_LOOP, ORR_BLOCKS_V, ORR_BLOCKS_BIDIRECTIONAL } OrrBlocks;

/* Block @block of copy @direction of the model. */
typedef struct {
  gint64 direction, block;
} OrrPipelinePlace;

typedef struct {
  OrrEntry entry;
  OrrBlocks blocks;
  gint64 (*chunks)(const void *params); /* a stage */
  gint64 (*group)(const void *params);  /* NULL: 0 */
  gboolean (*post_validates)(
      const void *params); /* stages do not wait for the gradient norm; NULL: they do */
  /* NULL, or why this shape cannot be scheduled (newly allocated). */
  char *(*refuse)(const OrrPipelineShape *shape);
  void (*steps)(const OrrPipelineShape *shape, gint64 stage,
                GArray *steps /* of OrrPipelineStep */);
  /* Micro-batches after which the order repeats itself in the middle: of @period more, every
   * stage's steps are the same but for that many micro-batches more of the repeating part. NULL,
   * or 0: there is no such part. */
  gint64 (*period)(const OrrPipelineShape *shape);
  /* Closed form on equal stages and free communication, a forward as long as B and as W: idle
   * time of a stage, from the step's begin to the last stage's end, as a share of its busy time. */
  double (*bubble)(const OrrPipelineShape *shape);
  /* Closed form: most (micro-batch, chunk) activations that @stage holds at once. */
  gint64 (*peak)(const OrrPipelineShape *shape, gint64 stage);
} OrrPipelineKind;

extern const OrrRegistry orr_pipeline_registry;

OrrPipelineShape orr_pipeline_shape(const OrrChoice *choice, gint64 stages, gint64 micro_batches);
gint64 orr_pipeline_n_directions(const OrrPipelineKind *kind);
/* of a direction */
gint64 orr_pipeline_n_blocks(const OrrPipelineKind *kind, const OrrPipelineShape *shape);
OrrPipelinePlace orr_pipeline_place(const OrrPipelineKind *kind, const OrrPipelineShape *shape,
                                    gint64 stage, gint64 chunk);
gint64 orr_pipeline_stage(const OrrPipelineKind *kind, const OrrPipelineShape *shape,
                          OrrPipelinePlace place);

/* What a step begins and ends of activations: a forward begins, a whole backward or a W ends. */
static inline gboolean orr_step_begins(const OrrPipelineStep *step) {
  return step->kind == ORR_STEP_FORWARD || step->kind == ORR_STEP_BOTH;
}
static inline gboolean orr_step_ends(const OrrPipelineStep *step) {
  return step->kind != ORR_STEP_FORWARD && step->kind != ORR_STEP_BACKWARD_INPUT;
}

/* Most (micro-batch, chunk) activations that are alive at once in @steps: forwards begun less
 * backwards ended. */
gint64 orr_pipeline_peak(const GArray *steps);

void orr_pipeline_put(GArray *steps, OrrStepKind kind, gint64 chunk, gint64 micro_batch);

extern const OrrPipelineKind orr_breadth_first;
extern const OrrPipelineKind orr_dualpipe;
extern const OrrPipelineKind orr_gpipe;
extern const OrrPipelineKind orr_interleaved;
extern const OrrPipelineKind orr_one_f_one_b;
extern const OrrPipelineKind orr_zb_h1;
extern const OrrPipelineKind orr_zb_v;

G_END_DECLS

#endif

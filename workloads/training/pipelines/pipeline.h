/*
 * pipeline.h - pipeline schedules: the order in which a stage runs its micro-batches.
 *
 * A schedule is an entry. For each stage it lists steps of (micro-batch, chunk): forwards, and
 * backwards, either whole or split into the gradient of the input (B), for which the previous block
 * waits, and the gradient of the weights (W; Qi et al. 2024). A schedule defines only the order;
 * the training workload adds times, sends and receives.
 *
 * A chunk is a block of consecutive layers on a stage. The shape decides which block of the model
 * it is:
 *
 *   loop           chunk c of stage s is block c p + s (Megatron's interleaving)
 *   v              there and back (ZB-V): chunk 0 of stage s is block s, chunk 1 block 2 p - 1 - s
 *   bidirectional  the model twice (DualPipe): chunk 0 is block s of the first copy, chunk 1 block
 *                  p - 1 - s of the second. A micro-batch passes one of the copies: a direction
 *
 * To add one: write workloads/training/pipelines/NAME.c with one `const OrrPipelineKind` and its
 * line in meson.build. The family's test replays it on equal stages against its `bubble` and `peak`
 * oracles.
 */
#pragma once

#include "sim/base/field.h"

typedef struct {
  gint64 stages;
  gint64 chunks; /* per stage */
  gint64 micro_batches;
  /* consecutive micro-batches per chunk, for schedules with such groups; 0: the schedule decides */
  gint64 group;
  /* a forward and a backward run together: each hides the other's exchange between experts */
  gboolean pairs;
} OrrPipelineShape;

typedef enum {
  ORR_STEP_FORWARD,
  ORR_STEP_BACKWARD,        /* whole */
  ORR_STEP_BACKWARD_INPUT,  /* B */
  ORR_STEP_BACKWARD_WEIGHT, /* W; its activations live until then */
  ORR_STEP_BOTH /* the forward of (chunk, micro-batch), overlapped with the whole backward of
                 * (back_*) */
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
  /* Mandatory: chunks, steps, bubble, peak. Other functions may be NULL. */
  OrrBlocks blocks;
  gint64 (*chunks)(const void *params);  /* per stage */
  gint64 (*group)(const void *params);   /* NULL: 0 */
  gboolean (*pairs)(const void *params); /* NULL: FALSE */
  gboolean (*post_validates)(
      const void *params); /* whether stages do not wait for the gradient norm; NULL: they wait */
  /* NULL, or why this shape cannot be scheduled (newly allocated). */
  char *(*refuse)(const OrrPipelineShape *shape);
  void (*steps)(const OrrPipelineShape *shape, gint64 stage,
                GArray *steps /* of OrrPipelineStep */);
  /* The number of micro-batches after which the order repeats in the middle: with @period more
   * micro-batches, every stage's steps differ only by as many more repetitions. NULL or 0: no
   * such part. */
  gint64 (*period)(const OrrPipelineShape *shape);
  /* Closed form for equal stages, free communication and a forward as long as B and as W: a
   * stage's idle time from the start of the step to the end of the last stage, as a fraction of
   * its busy time. */
  double (*bubble)(const OrrPipelineShape *shape);
  /* Closed form: the largest number of (micro-batch, chunk) activations that @stage holds at
   * once. */
  gint64 (*peak)(const OrrPipelineShape *shape, gint64 stage);
} OrrPipelineKind;

extern const OrrRegistry orr_pipeline_registry;

OrrPipelineShape orr_pipeline_shape(const OrrChoice *choice, gint64 stages, gint64 micro_batches);
gint64 orr_pipeline_n_directions(const OrrPipelineKind *kind);
/* blocks of one copy of the model */
gint64 orr_pipeline_n_blocks(const OrrPipelineKind *kind, const OrrPipelineShape *shape);
OrrPipelinePlace orr_pipeline_place(const OrrPipelineKind *kind, const OrrPipelineShape *shape,
                                    gint64 stage, gint64 chunk);
gint64 orr_pipeline_stage(const OrrPipelineKind *kind, const OrrPipelineShape *shape,
                          OrrPipelinePlace place);

/* Which activations a step begins or ends: a forward begins one; a whole backward or a W ends
 * one. */
static inline gboolean orr_step_begins(const OrrPipelineStep *step) {
  return step->kind == ORR_STEP_FORWARD || step->kind == ORR_STEP_BOTH;
}
static inline gboolean orr_step_ends(const OrrPipelineStep *step) {
  return step->kind != ORR_STEP_FORWARD && step->kind != ORR_STEP_BACKWARD_INPUT;
}

/* The largest number of (micro-batch, chunk) activations alive at once in @steps: forwards begun
 * minus backwards ended. */
gint64 orr_pipeline_peak(const GArray *steps);

/* Zero-bubble schedules: their parameter, and their `post_validates`. */
typedef struct {
  gboolean post_validation;
} OrrZeroBubble;

#define ORR_PIPELINE_POST_VALIDATION                                                               \
  ORR_FIELD_BOOL(OrrZeroBubble, "post-validation", post_validation, "false",                       \
                 "Stages step their optimizer without waiting for the gradient norm, which is "    \
                 "checked afterwards.")
gboolean orr_pipeline_post_validates(const void *params);

void orr_pipeline_put(GArray *steps, OrrStepKind kind, gint64 chunk, gint64 micro_batch);

extern const OrrPipelineKind orr_one_f_one_b;

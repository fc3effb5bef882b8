/*
 * pipeline.c - which block of the model a chunk is.
 */
#include "workloads/training/pipelines/pipeline.h"

OrrPipelineShape orr_pipeline_shape(const OrrChoice *choice, gint64 stages, gint64 micro_batches) {
  const OrrPipelineKind *kind = (const OrrPipelineKind *)choice->entry;
  return (OrrPipelineShape){
      .stages = stages,
      .chunks = kind->chunks(choice->params),
      .micro_batches = micro_batches,
      .group = kind->group ? kind->group(choice->params) : 0,
      .pairs = kind->pairs && kind->pairs(choice->params),
  };
}

gint64 orr_pipeline_n_directions(const OrrPipelineKind *kind) {
  return kind->blocks == ORR_BLOCKS_BIDIRECTIONAL ? 2 : 1;
}

gint64 orr_pipeline_n_blocks(const OrrPipelineKind *kind, const OrrPipelineShape *shape) {
  return shape->stages * shape->chunks / orr_pipeline_n_directions(kind);
}

OrrPipelinePlace orr_pipeline_place(const OrrPipelineKind *kind, const OrrPipelineShape *shape,
                                    gint64 stage, gint64 chunk) {
  const gint64 p = shape->stages;
  switch (kind->blocks) {
  case ORR_BLOCKS_LOOP:
    return (OrrPipelinePlace){0, chunk * p + stage};
  case ORR_BLOCKS_V:
    return (OrrPipelinePlace){0, chunk ? 2 * p - 1 - stage : stage};
  case ORR_BLOCKS_BIDIRECTIONAL:
    return (OrrPipelinePlace){chunk, chunk ? p - 1 - stage : stage};
  }
  g_return_val_if_reached(((OrrPipelinePlace){0, 0}));
}

gint64 orr_pipeline_stage(const OrrPipelineKind *kind, const OrrPipelineShape *shape,
                          OrrPipelinePlace place) {
  const gint64 p = shape->stages;
  switch (kind->blocks) {
  case ORR_BLOCKS_LOOP:
    return place.block % p;
  case ORR_BLOCKS_V:
    return place.block < p ? place.block : 2 * p - 1 - place.block;
  case ORR_BLOCKS_BIDIRECTIONAL:
    return place.direction ? p - 1 - place.block : place.block;
  }
  g_return_val_if_reached(0);
}

gint64 orr_pipeline_peak(const GArray *steps) {
  gint64 alive = 0, peak = 0;
  ORR_EACH(const OrrPipelineStep, step, steps) {
    alive += orr_step_begins(step);
    peak = MAX(peak, alive);
    alive -= orr_step_ends(step);
  }
  return peak;
}

gboolean orr_pipeline_post_validates(const void *params) {
  return ((const OrrZeroBubble *)params)->post_validation;
}

void orr_pipeline_put(GArray *steps, OrrStepKind kind, gint64 chunk, gint64 micro_batch) {
  ORR_APPEND(steps, OrrPipelineStep, {.kind = kind, .chunk = chunk, .micro_batch = micro_batch});
}

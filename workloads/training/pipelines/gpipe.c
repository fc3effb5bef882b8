/*
 * gpipe - all forwards, then all backwards (Huang et al., GPipe, NeurIPS 2019).
 *
 *   stage 0  F0 F1 F2 F3 .  .  .  .  B3 B2 B1 B0        p stages, m micro-batches
 *   stage 1  .  F0 F1 F2 F3 .  .  B3 B2 B1 B0 .
 *
 * bubble: (p - 1) / m of the busy time. peak: m, since the activations of every micro-batch wait
 * for its backward.
 *
 *   pipeline: {kind: gpipe}
 */
#include "workloads/training/pipelines/pipeline.h"

static gint64 chunks(const void *params G_GNUC_UNUSED) { return 1; }

static char *refuse(const OrrPipelineShape *shape G_GNUC_UNUSED) { return NULL; }

static void steps(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED, GArray *out) {
  const gint64 m = shape->micro_batches;
  for (gint64 i = 0; i < m; i++) orr_pipeline_put(out, ORR_STEP_FORWARD, 0, i);
  for (gint64 i = m - 1; i >= 0; i--) orr_pipeline_put(out, ORR_STEP_BACKWARD, 0, i);
}

static double bubble(const OrrPipelineShape *shape) {
  return (double)(shape->stages - 1) / shape->micro_batches;
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED) {
  return shape->micro_batches;
}

const OrrPipelineKind orr_gpipe = {
    .entry = {"gpipe", "All forward passes, then all backward passes.", NULL},
    .chunks = chunks,
    .refuse = refuse,
    .steps = steps,
    .bubble = bubble,
    .peak = peak,
};

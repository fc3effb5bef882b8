/*
 * 1f1b - one forward, one backward (PipeDream-Flush; Narayanan et al., SC21, figure 3).
 *
 *   stage 0  F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3        p = 3 stages
 *   stage 1  .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .
 *   stage 2  .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .
 *
 * Stage s warms up with min(p - 1 - s, m) forwards, then alternates, then drains. bubble: (p - 1) /
 * m of the busy time. peak: min(p - s, m) micro-batches regardless of m, the reason why it replaced
 * GPipe.
 *
 *   pipeline: {kind: 1f1b}
 */
#include "workloads/training/pipelines/pipeline.h"

static gint64 chunks(const void *params G_GNUC_UNUSED) { return 1; }

static char *refuse(const OrrPipelineShape *shape G_GNUC_UNUSED) { return NULL; }

static void steps(const OrrPipelineShape *shape, gint64 stage, GArray *out) {
  const gint64 m = shape->micro_batches;
  const gint64 warm_up = MIN(shape->stages - 1 - stage, m);
  for (gint64 i = 0; i < warm_up; i++) orr_pipeline_put(out, ORR_STEP_FORWARD, 0, i);
  for (gint64 i = 0; i < m; i++) {
    if (warm_up + i < m) orr_pipeline_put(out, ORR_STEP_FORWARD, 0, warm_up + i);
    orr_pipeline_put(out, ORR_STEP_BACKWARD, 0, i);
  }
}

static gint64 period(const OrrPipelineShape *shape G_GNUC_UNUSED) { return 1; }

static double bubble(const OrrPipelineShape *shape) {
  return (double)(shape->stages - 1) / shape->micro_batches;
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage) {
  return MIN(shape->stages - stage, shape->micro_batches);
}

const OrrPipelineKind orr_one_f_one_b = {
    .entry = {"1f1b", "One forward, one backward alternately, with a flush at the end of the step.",
              NULL},
    .chunks = chunks,
    .refuse = refuse,
    .steps = steps,
    .period = period,
    .bubble = bubble,
    .peak = peak,
};

/*
 * zb-h1 - 1F1B with split backwards: W fills the bubble (Qi et al., Zero Bubble Pipeline
 * Parallelism, ICLR 2024, section 3.1).
 *
 *   stage 0  F F F . . B W F B W F B W B W B W     p = 3, m = 5; B, W as long as F
 *   stage 1  . F F . B F B W F B W F B W B W W
 *   stage 2  . . F B F B F B W F B W F B W W W
 *
 * Stage s warms up with min(p - 1 - s, m) forwards and alternates as 1F1B does. It runs the W of
 * micro-batch k - s after the B of k, so that s of them remain to fill the end, when a stage waits
 * for the B of the next stage.
 *
 * bubble: (p - 1) (F + B - W) of 3 m for m >= p, a third of 1F1B's if F = B = W; for m < p, p - m
 * more. peak: min(p, m) micro-batches on every stage, as on 1F1B's first stage. `post-validation`
 * lets a stage continue with the optimizer before the gradient norm is known (section 4 of the
 * paper), and with the next step.
 *
 *   pipeline: {kind: zb-h1}
 */
#include "workloads/training/pipelines/pipeline.h"

static const OrrFieldTable table = ORR_FIELDS("zb-h1", "Parameters of the ZB-H1 schedule.",
                                              OrrZeroBubble, ORR_PIPELINE_POST_VALIDATION);

static gint64 chunks(const void *params G_GNUC_UNUSED) { return 1; }

static char *refuse(const OrrPipelineShape *shape) {
  return shape->chunks == 1 ? NULL : g_strdup("zb-h1 has one chunk per stage");
}

static void steps(const OrrPipelineShape *shape, gint64 stage, GArray *out) {
  const gint64 m = shape->micro_batches, warm_up = MIN(shape->stages - 1 - stage, m);
  gint64 weights = 0;
  for (gint64 i = 0; i < warm_up; i++) orr_pipeline_put(out, ORR_STEP_FORWARD, 0, i);
  for (gint64 k = 0; k < m; k++) {
    if (warm_up + k < m) orr_pipeline_put(out, ORR_STEP_FORWARD, 0, warm_up + k);
    orr_pipeline_put(out, ORR_STEP_BACKWARD_INPUT, 0, k);
    if (k >= stage) orr_pipeline_put(out, ORR_STEP_BACKWARD_WEIGHT, 0, weights++);
  }
  while (weights < m) orr_pipeline_put(out, ORR_STEP_BACKWARD_WEIGHT, 0, weights++);
}

static gint64 period(const OrrPipelineShape *shape G_GNUC_UNUSED) { return 1; }

static double bubble(const OrrPipelineShape *shape) {
  const gint64 p = shape->stages, m = shape->micro_batches;
  return (double)(p - 1 + MAX(p - m, 0)) / (3 * m);
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED) {
  return MIN(shape->stages, shape->micro_batches);
}

const OrrPipelineKind orr_zb_h1 = {
    .entry = {"zb-h1",
              "1F1B with the weights' gradients delayed to fill the bubble (zero bubble, H1).",
              &table},
    .chunks = chunks,
    .post_validates = orr_pipeline_post_validates,
    .refuse = refuse,
    .steps = steps,
    .period = period,
    .bubble = bubble,
    .peak = peak,
};

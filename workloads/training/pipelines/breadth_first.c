/*
 * breadth-first - all micro-batches of a chunk before the next chunk (Lamy-Poirier, Breadth-First
 * Pipeline Parallelism, MLSys 2023).
 *
 *   stage 0  F0 F0 F1 F1 .  .  .  .  B1 B1 B0 B0     p = 2 stages, v = 2 chunks, m = 2
 *   stage 1  .  F0 F0 F1 F1 B1 B1 B0 B0 .  .  .      micro-batches; the number is the chunk's
 *
 * GPipe over a loop. A chunk's gradients are complete after m consecutive backwards, so their
 * reduction (and, if parameters are sharded, their gathering, once per chunk) overlaps with the
 * work of the other chunks.
 *
 * bubble: (p - 1 + (v - 1) max(p - m, 0)) / (v m) of the busy time: with m < p micro-batches a
 * stage waits for the loop to complete. peak: v m chunk activations, all of them.
 *
 *   pipeline: {kind: breadth-first, chunks: 4}
 */
#include "workloads/training/pipelines/pipeline.h"

typedef struct {
  gint64 chunks;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "breadth-first", "Parameters of the breadth-first schedule.", Params,
    ORR_FIELD_INT(Params, "chunks", chunks, "2", "Model chunks per stage.", .min = 1, .max = 1e6));

static gint64 chunks(const void *params) { return ((const Params *)params)->chunks; }

static char *refuse(const OrrPipelineShape *shape G_GNUC_UNUSED) { return NULL; }

static void steps(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED, GArray *out) {
  for (gint64 c = 0; c < shape->chunks; c++)
    for (gint64 i = 0; i < shape->micro_batches; i++) orr_pipeline_put(out, ORR_STEP_FORWARD, c, i);
  for (gint64 c = shape->chunks; c-- > 0;)
    for (gint64 i = 0; i < shape->micro_batches; i++)
      orr_pipeline_put(out, ORR_STEP_BACKWARD, c, i);
}

static double bubble(const OrrPipelineShape *shape) {
  const gint64 p = shape->stages, m = shape->micro_batches, v = shape->chunks;
  return (double)(p - 1 + (v - 1) * MAX(p - m, 0)) / (v * m);
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED) {
  return shape->chunks * shape->micro_batches;
}

const OrrPipelineKind orr_breadth_first = {
    .entry =
        {"breadth-first",
         "All micro-batches of a chunk before the next chunk: GPipe over several chunks per stage.",
         &table},
    .chunks = chunks,
    .refuse = refuse,
    .steps = steps,
    .bubble = bubble,
    .peak = peak,
};

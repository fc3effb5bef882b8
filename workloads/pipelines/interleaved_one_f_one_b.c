/*
 * interleaved-1f1b - 1F1B with several model chunks a stage (Narayanan et al., SC21, section 2.2, figure 4).
 *
 * A stage holds v chunks of layers instead of one block; micro-batches pass the pipeline v times, in groups of p. The
 * k-th forward of a stage is
 *
 *   chunk       (k mod p v) div p          (k mod p v) = position inside the group
 *   micro-batch (k div p v) p + k mod p
 *
 * and the k-th backward the same with the chunks in reverse. Stage s warms up with 2 (p - 1 - s) + (v - 1) p forwards
 * (all of them when m = p, where there is nothing to alternate with), then alternates, then drains. m must be a
 * multiple of p. With one chunk it is plain 1F1B, as in Megatron.
 *
 * bubble: (p - 1) / (v m) of the busy time. peak: warm-up + 1 chunk activations, each 1/v of a stage: the first stage
 * holds p (1 + (p - 1) / (p v)) stages' worth (Korthikanti et al. 2022, section 4.2).
 *
 *   pipeline: {kind: interleaved-1f1b, chunks: 3}
 */
#include "workloads/pipelines/pipeline.h"

typedef struct {
  gint64 chunks;
} Params;

static const OrrField fields[] = {
    {.name = "chunks",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Params, chunks),
     .sentence = "Model chunks a stage (Megatron's virtual pipeline size).",
     .fallback = "2",
     .min = 1,
     .max = 1e6},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("interleaved-1f1b", "Parameters of the interleaved 1F1B schedule.", Params, fields);

static gint64 chunks(const void *params) { return ((const Params *)params)->chunks; }

static char *refuse(const OrrPipelineShape *shape) {
  if (shape->chunks == 1 || shape->micro_batches % shape->stages == 0) return NULL;
  return g_strdup_printf("interleaved-1f1b needs the number of micro-batches (%" G_GINT64_FORMAT
                         ") to be a multiple of pp (%" G_GINT64_FORMAT ")",
                         shape->micro_batches, shape->stages);
}

static gint64 warm_up_of(const OrrPipelineShape *shape, gint64 stage) {
  const gint64 all = shape->chunks * shape->micro_batches;
  if (shape->micro_batches == shape->stages) return all;
  return MIN(2 * (shape->stages - 1 - stage) + (shape->chunks - 1) * shape->stages, all);
}

static OrrPipelineStep step_at(const OrrPipelineShape *shape, gint64 k, gboolean backward) {
  const gint64 group = shape->stages * shape->chunks;
  const gint64 chunk = k % group / shape->stages;
  return (OrrPipelineStep){
      .kind = backward ? ORR_STEP_BACKWARD : ORR_STEP_FORWARD,
      .chunk = backward ? shape->chunks - 1 - chunk : chunk,
      .micro_batch = k / group * shape->stages + k % shape->stages,
  };
}

static void steps(const OrrPipelineShape *shape, gint64 stage, GArray *out) {
  if (shape->chunks == 1) {
    orr_one_f_one_b.steps(shape, stage, out);
    return;
  }
  const gint64 all = shape->chunks * shape->micro_batches;
  const gint64 warm_up = warm_up_of(shape, stage);
  for (gint64 k = 0; k < warm_up; k++) {
    const OrrPipelineStep step = step_at(shape, k, FALSE);
    g_array_append_val(out, step);
  }
  for (gint64 k = 0; k < all; k++) {
    if (warm_up + k < all) {
      const OrrPipelineStep forward = step_at(shape, warm_up + k, FALSE);
      g_array_append_val(out, forward);
    }
    const OrrPipelineStep backward = step_at(shape, k, TRUE);
    g_array_append_val(out, backward);
  }
}

static double bubble(const OrrPipelineShape *shape) {
  return (double)(shape->stages - 1) / (shape->chunks * shape->micro_batches);
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage) {
  if (shape->chunks == 1) return orr_one_f_one_b.peak(shape, stage);
  return MIN(warm_up_of(shape, stage) + 1, shape->chunks * shape->micro_batches);
}

const OrrPipelineKind orr_interleaved = {
    .entry = {"interleaved-1f1b", "1F1B over several model chunks a stage: a smaller bubble for more transfers.",
              &table},
    .chunks = chunks,
    .refuse = refuse,
    .steps = steps,
    .bubble = bubble,
    .peak = peak,
};

/*
 * interleaved-1f1b - 1F1B with several model chunks per stage (Narayanan et al., SC21, section 2.2,
 * figure 4).
 *
 * A stage holds v chunks of layers instead of one block. Micro-batches cross the pipeline v times,
 * in groups of g = p, or of more if `group` says so (Megatron's microbatch-group-size-per-vp-stage;
 * the last group may be smaller than g, but not than p). In a group of g that begins at micro-batch
 * i g, the k-th forward of a stage is
 *
 *   chunk       (k - i g v) div g
 *   micro-batch i g + (k - i g v) mod g
 *
 * and the k-th backward the same with the chunks in reverse. Stage s warms up with 2 (p - 1 - s) +
 * (v - 1) g forwards (all of them if m = p, when there is nothing to alternate with), then
 * alternates, then drains. With one chunk this is plain 1F1B, as in Megatron.
 *
 * With `pair` a forward and a backward of the alternating part run together, so that the exchange
 * between experts of one overlaps the other's compute; a stage then warms up with one forward more
 * (Megatron's overlap-moe-expert-parallel-comm, combined_1f1b.py; over several stages it requires
 * chunks).
 *
 * bubble: (p - 1) / (v m) of the busy time. peak: warm-up + 1 chunk activations, each 1/v of a
 * stage: with g = p the first stage holds p (1 + (p - 1) / (p v)) stages' worth (Korthikanti et al.
 * 2022, section 4.2).
 *
 *   pipeline: {kind: interleaved-1f1b, chunks: 3}
 */
#include "workloads/training/pipelines/pipeline.h"

typedef struct {
  gint64 chunks;
  gint64 group;
  gboolean pair;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "interleaved-1f1b", "Parameters of the interleaved 1F1B schedule.", Params,
    ORR_FIELD_INT(Params, "chunks", chunks, "2",
                  "Model chunks per stage (Megatron's virtual pipeline size).", .min = 1,
                  .max = 1e6),
    ORR_FIELD_INT(Params, "group", group, "0",
                  "Consecutive micro-batches per chunk before the next chunk (Megatron's "
                  "microbatch-group-size-per-vp-stage); 0: pp.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_BOOL(
        Params, "pair", pair, "false",
        "Run a forward and a backward together, each during the other's exchange between "
        "experts (Megatron's overlap-moe-expert-parallel-comm)."));

static gint64 chunks(const void *params) { return ((const Params *)params)->chunks; }

static gint64 group(const void *params) { return ((const Params *)params)->group; }

static gboolean pairs(const void *params) { return ((const Params *)params)->pair; }

static gint64 group_of(const OrrPipelineShape *shape) {
  return shape->group ? shape->group : shape->stages;
}

static char *refuse(const OrrPipelineShape *shape) {
  const gint64 p = shape->stages, m = shape->micro_batches, g = group_of(shape);
  if (shape->pairs && shape->chunks == 1 && p > 1)
    return g_strdup_printf("interleaved-1f1b: pair over %ld stages needs chunks of 2 or more", p);
  if (shape->chunks == 1) return NULL;
  if (g < p)
    return g_strdup_printf("interleaved-1f1b: group is %ld, but must be pp (%ld) or more", g, p);
  if (m % g == 0 || (m >= g && m % g >= p)) return NULL;
  if (g == p)
    return g_strdup_printf(
        "interleaved-1f1b needs the number of micro-batches (%ld) to be a multiple of pp (%ld)", m,
        p);
  return g_strdup_printf("interleaved-1f1b: %ld micro-batches in groups of %ld leave %ld for the "
                         "last group: it must have none, or pp (%ld) or more",
                         m, g, m % g, p);
}

static gint64 warm_up_of(const OrrPipelineShape *shape, gint64 stage) {
  const gint64 all = shape->chunks * shape->micro_batches;
  if (shape->micro_batches == shape->stages && !shape->pairs) return all;
  return MIN(2 * (shape->stages - 1 - stage) + (shape->chunks - 1) * group_of(shape) +
                 (shape->pairs ? 1 : 0),
             all);
}

static OrrPipelineStep step_at(const OrrPipelineShape *shape, gint64 k, gboolean backward) {
  const gint64 g = group_of(shape),
               first = k / (g * shape->chunks) * g; /* first micro-batch of the group */
  const gint64 size = MIN(g, shape->micro_batches - first), inside = k - first * shape->chunks;
  return (OrrPipelineStep){
      .kind = backward ? ORR_STEP_BACKWARD : ORR_STEP_FORWARD,
      .chunk = backward ? shape->chunks - 1 - inside / size : inside / size,
      .micro_batch = first + inside % size,
  };
}

static void put_pair(const OrrPipelineShape *shape, gint64 forward, gint64 backward, GArray *out) {
  const OrrPipelineStep back = step_at(shape, backward, TRUE);
  OrrPipelineStep both = step_at(shape, forward, FALSE);
  both.kind = ORR_STEP_BOTH;
  both.back_chunk = back.chunk;
  both.back_micro_batch = back.micro_batch;
  g_array_append_val(out, both);
}

static void steps(const OrrPipelineShape *shape, gint64 stage, GArray *out) {
  if (shape->chunks == 1 && !shape->pairs) {
    orr_one_f_one_b.steps(shape, stage, out);
    return;
  }
  const gint64 all = shape->chunks * shape->micro_batches;
  const gint64 warm_up = warm_up_of(shape, stage);
  for (gint64 k = 0; k < warm_up; k++) ORR_APPEND(out, OrrPipelineStep, step_at(shape, k, FALSE));
  for (gint64 k = 0; k < all; k++) {
    if (warm_up + k < all && shape->pairs) {
      put_pair(shape, warm_up + k, k, out);
      continue;
    }
    if (warm_up + k < all) ORR_APPEND(out, OrrPipelineStep, step_at(shape, warm_up + k, FALSE));
    ORR_APPEND(out, OrrPipelineStep, step_at(shape, k, TRUE));
  }
}

/* A last group of another size follows the repeating part; if all groups are equal, the period
 * is simpler. */
static gint64 period(const OrrPipelineShape *shape) {
  if (shape->chunks == 1) return 1;
  return shape->micro_batches % group_of(shape) == 0 ? group_of(shape) : 0;
}

static double bubble(const OrrPipelineShape *shape) {
  return (double)(shape->stages - 1) / (shape->chunks * shape->micro_batches);
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage) {
  if (shape->chunks == 1 && !shape->pairs) return orr_one_f_one_b.peak(shape, stage);
  return MIN(warm_up_of(shape, stage) + 1, shape->chunks * shape->micro_batches);
}

const OrrPipelineKind orr_interleaved = {
    .entry = {"interleaved-1f1b",
              "1F1B over several model chunks per stage: a smaller bubble for more transfers.",
              &table},
    .chunks = chunks,
    .group = group,
    .pairs = pairs,
    .refuse = refuse,
    .steps = steps,
    .period = period,
    .bubble = bubble,
    .peak = peak,
};

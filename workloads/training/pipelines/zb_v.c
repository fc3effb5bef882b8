/*
 * zb-v - zero bubble over a V: the model runs down the stages and up again (Qi et al., ICLR 2024,
 * section 6).
 *
 *   stage 0  blocks 0 and 2p-1      embedding and loss on one stage
 *   stage 1  blocks 1 and 2p-2
 *   ...
 *
 * Backwards are split into B and W. Stage s of p begins with 2 (p - s) - 1 forwards on the way
 * down, then s pairs of one forward up and one down, then p - s times F B W on the way up; from
 * then on it repeats
 *
 *   F down, B W of the way down, F up, B W of the way up
 *
 * and ends with s pairs of B, p - s times B W on the way down, and the remaining W.
 *
 * bubble: the p - 1 forwards of a block before the last stage has work, (p - 1) / (6 m); nothing
 * else waits if F, B and W take equally long. (Over several steps with `post-validation` this
 * vanishes too, because a stage that began later ends later.) peak: 2 p blocks on every stage, as
 * many activations as on 1F1B's first stage. m must be at least 2 p - 1.
 *
 *   pipeline: {kind: zb-v}
 */
#include "workloads/training/pipelines/pipeline.h"

static const OrrFieldTable table = ORR_FIELDS("zb-v", "Parameters of the ZB-V schedule.",
                                              OrrZeroBubble, ORR_PIPELINE_POST_VALIDATION);

static gint64 chunks(const void *params G_GNUC_UNUSED) { return 2; }

static char *refuse(const OrrPipelineShape *shape) {
  const gint64 least = 2 * shape->stages - 1;
  if (shape->chunks != 2) return g_strdup("zb-v has two chunks per stage");
  if (shape->micro_batches >= least) return NULL;
  return g_strdup_printf("zb-v needs 2 pp - 1 = %ld micro-batches or more, but there are %ld",
                         least, shape->micro_batches);
}

enum { DOWN, UP };

/* Steps done, by direction. */
typedef struct {
  GArray *out;
  gint64 forward[2], input[2], weight[2];
} Stage;

static void put_forward(Stage *s, int direction) {
  orr_pipeline_put(s->out, ORR_STEP_FORWARD, direction, s->forward[direction]++);
}
static void put_input(Stage *s, int direction) {
  orr_pipeline_put(s->out, ORR_STEP_BACKWARD_INPUT, direction, s->input[direction]++);
}
static void put_weight(Stage *s, int direction) {
  orr_pipeline_put(s->out, ORR_STEP_BACKWARD_WEIGHT, direction, s->weight[direction]++);
}

static void put_backward(Stage *s, int direction) {
  put_input(s, direction);
  put_weight(s, direction);
}

static void warm_up(Stage *s, const OrrPipelineShape *shape, gint64 stage) {
  const gint64 rest = shape->stages - stage;
  for (gint64 i = 0; i < 2 * rest - 1; i++) put_forward(s, DOWN);
  for (gint64 i = 0; i < stage; i++) {
    put_forward(s, UP);
    put_forward(s, DOWN);
  }
  for (gint64 i = 0; i < rest; i++) {
    put_forward(s, UP);
    put_backward(s, UP);
  }
}

static void steps(const OrrPipelineShape *shape, gint64 stage, GArray *out) {
  const gint64 m = shape->micro_batches;
  Stage s = {.out = out};
  warm_up(&s, shape, stage);
  while (s.forward[UP] < m) {
    if (s.forward[DOWN] < m) put_forward(&s, DOWN);
    put_backward(&s, DOWN);
    put_forward(&s, UP);
    put_backward(&s, UP);
  }
  for (gint64 i = 0; i < stage; i++) {
    put_input(&s, DOWN);
    put_input(&s, UP);
  }
  for (gint64 i = 0; i < shape->stages - stage; i++) put_backward(&s, DOWN);
  while (s.weight[UP] < m) put_weight(&s, UP);
  while (s.weight[DOWN] < m) put_weight(&s, DOWN);
}

static double bubble(const OrrPipelineShape *shape) {
  return (double)(shape->stages - 1) / (6 * shape->micro_batches);
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED) {
  return 2 * shape->stages;
}

const OrrPipelineKind orr_zb_v = {
    .entry = {"zb-v", "Zero bubble over a V of two chunks per stage, with 1F1B's memory.", &table},
    .blocks = ORR_BLOCKS_V,
    .chunks = chunks,
    .post_validates = orr_pipeline_post_validates,
    .refuse = refuse,
    .steps = steps,
    .bubble = bubble,
    .peak = peak,
};

/*
 * dualpipe - micro-batches from both ends, forwards beside backwards (DeepSeek-V3, arXiv
 * 2412.19437, section 3.2.1).
 *
 *   stage 0      block 0 of the first copy of the model, block p-1 of the second
 *   stage 1      block 1                           ,     block p-2
 *   ...          half of the micro-batches enter at stage 0, half at stage p-1, and meet
 *
 * Two copies of the model are held; chunk 0 runs down the stages, chunk 1 up. A stage calls the
 * direction that enters at its end "own" and the other "opposite". With h = p / 2 and r its
 * distance to the nearer end, it runs (DeepSeek's DualPipe, 2025)
 *
 *   1  2 (h - 1 - r)            F own
 *   2  r + 1                    F own, F opposite
 *   3  h - 1 - r                B opposite, W, F opposite                   (zero bubble)
 *   4  m / 2 - p + r + 1        [F own | B opposite] [F opposite | B own]   overlapped, steady
 *   5  h - 1 - r                B opposite (with its W), [F opposite | B own]
 *   6  r + 1                    B opposite, B own: the second half of these without their W
 *   7  h - 1 - r                W, B own without W
 *   8  r + 1                    W
 *
 * bubble: (p / 2 - 1) (F&B + B - 3 W) with B the whole backward: 2 (p / 2 - 1) of 3 m if F, B's
 * input and W are equal and F&B is their sum; less if communication hides in F&B. peak: p + 1
 * micro-batches, and the parameters twice. p must be even, m even and at least 2 p.
 *
 *   pipeline: {kind: dualpipe}
 */
#include "workloads/training/pipelines/pipeline.h"

static gint64 chunks(const void *params G_GNUC_UNUSED) { return 2; }

static char *refuse(const OrrPipelineShape *shape) {
  const gint64 p = shape->stages, m = shape->micro_batches;
  if (shape->chunks != 2) return g_strdup("dualpipe has two chunks per stage");
  if (p % 2) return g_strdup_printf("dualpipe needs an even pp, but it is %ld", p);
  if (m % 2 == 0 && m >= 2 * p) return NULL;
  return g_strdup_printf(
      "dualpipe needs an even number of micro-batches, 2 pp = %ld or more, but there are %ld",
      2 * p, m);
}

enum { OWN, OPPOSITE };

typedef struct {
  GArray *out;
  gint64 half;     /* micro-batches per direction */
  gboolean second; /* the stage is in the second half: its own direction is chunk 1's */
  gint64 forward[2], backward[2];
  GArray *weights; /* of OrrPipelineStep: W steps that wait */
  guint done;      /* how many of them are done */
} Stage;

static gint64 chunk_of(const Stage *s, int direction) { return direction ^ s->second; }

/* The numbers of the second copy's micro-batches follow the first copy's. */
static gint64 micro_batch_of(const Stage *s, int direction, gint64 k) {
  return k + (chunk_of(s, direction) ? s->half : 0);
}

static void put_forward(Stage *s, int direction) {
  orr_pipeline_put(s->out, ORR_STEP_FORWARD, chunk_of(s, direction),
                   micro_batch_of(s, direction, s->forward[direction]++));
}

static void put_backward(Stage *s, int direction) {
  orr_pipeline_put(s->out, ORR_STEP_BACKWARD, chunk_of(s, direction),
                   micro_batch_of(s, direction, s->backward[direction]++));
}

static void put_input(Stage *s, int direction) {
  const gint64 chunk = chunk_of(s, direction),
               mb = micro_batch_of(s, direction, s->backward[direction]++);
  orr_pipeline_put(s->out, ORR_STEP_BACKWARD_INPUT, chunk, mb);
  orr_pipeline_put(s->weights, ORR_STEP_BACKWARD_WEIGHT, chunk, mb);
}

static void put_weight(Stage *s) {
  g_array_append_vals(s->out, &g_array_index(s->weights, OrrPipelineStep, s->done++), 1);
}

static void put_both(Stage *s, int forward, int backward) {
  ORR_APPEND(s->out, OrrPipelineStep,
             {
                 .kind = ORR_STEP_BOTH,
                 .chunk = chunk_of(s, forward),
                 .micro_batch = micro_batch_of(s, forward, s->forward[forward]++),
                 .back_chunk = chunk_of(s, backward),
                 .back_micro_batch = micro_batch_of(s, backward, s->backward[backward]++),
             });
}

static void put_begin(Stage *s, gint64 h, gint64 r) {
  for (gint64 i = 0; i < 2 * (h - 1 - r); i++) put_forward(s, OWN);
  for (gint64 i = 0; i < r + 1; i++) {
    put_forward(s, OWN);
    put_forward(s, OPPOSITE);
  }
  for (gint64 i = 0; i < h - 1 - r; i++) {
    put_input(s, OPPOSITE);
    put_weight(s);
    put_forward(s, OPPOSITE);
  }
}

/* The two middle stages pass activations to each other, so their first pair does not overlap. */
static void put_middle(Stage *s, gint64 h, gint64 r) {
  for (gint64 i = 0; i < s->half - 2 * h + r + 1; i++) {
    if (i == 0 && r == h - 1) {
      put_forward(s, OWN);
      put_backward(s, OPPOSITE);
    } else {
      put_both(s, OWN, OPPOSITE);
    }
    put_both(s, OPPOSITE, OWN);
  }
  for (gint64 i = 0; i < h - 1 - r; i++) {
    put_backward(s, OPPOSITE);
    put_both(s, OPPOSITE, OWN);
  }
}

static void put_end(Stage *s, gint64 h, gint64 r) {
  for (gint64 i = 0; i < 2 * (r + 1);
       i++) { /* r + 1 of each direction, the last r + 1 of all without their W */
    if (i >= r + 1)
      put_input(s, i % 2 ? OWN : OPPOSITE);
    else
      put_backward(s, i % 2 ? OWN : OPPOSITE);
  }
  for (gint64 i = 0; i < h - 1 - r; i++) {
    put_weight(s);
    put_input(s, OWN);
  }
  for (gint64 i = 0; i < r + 1; i++) put_weight(s);
}

static void steps(const OrrPipelineShape *shape, gint64 stage, GArray *out) {
  const gint64 p = shape->stages, h = p / 2, r = MIN(stage, p - 1 - stage);
  g_autoptr(GArray) weights = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  Stage s = {
      .out = out, .half = shape->micro_batches / 2, .second = stage >= h, .weights = weights};
  put_begin(&s, h, r);
  put_middle(&s, h, r);
  put_end(&s, h, r);
}

static double bubble(const OrrPipelineShape *shape) {
  return 2 * (shape->stages / 2.0 - 1) / (3 * shape->micro_batches);
}

static gint64 peak(const OrrPipelineShape *shape, gint64 stage G_GNUC_UNUSED) {
  return shape->stages + 1;
}

const OrrPipelineKind orr_dualpipe = {
    .entry = {"dualpipe",
              "Micro-batches from both ends over two copies of the model, forwards overlapped with "
              "backwards.",
              NULL},
    .blocks = ORR_BLOCKS_BIDIRECTIONAL,
    .chunks = chunks,
    .refuse = refuse,
    .steps = steps,
    .bubble = bubble,
    .peak = peak,
};

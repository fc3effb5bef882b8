/*
 * Every pipeline schedule against its own closed forms, by replaying it on equal stages with free
 * communication.
 *
 * A pass of a block takes p / blocks s forward, as long for the gradient of its input and of its
 * weights: a stage of a schedule with v chunks is busy 3 m / v * v = 3 m seconds, one of DualPipe
 * too, and each of its chunks is a whole stage that half of the micro-batches pass. The step then
 * lasts 3 m (1 + bubble).
 */
#include "sim/engine/executor.h"
#include "workloads/training/pipelines/pipeline.h"

extern const OrrPipelineKind orr_dualpipe, orr_interleaved, orr_zb_v;

typedef struct {
  const OrrPipelineKind *kind;
  const OrrPipelineShape *shape;
  OrrProgram *program;
  /* of (backward, direction, block, micro-batch): the step is done; G_MAXUINT32: not made yet */
  guint32 *events;
} Replay;

static guint32 done(const Replay *r, gboolean backward, OrrPipelinePlace place,
                    gint64 micro_batch) {
  const gint64 blocks = orr_pipeline_n_blocks(r->kind, r->shape),
               directions = orr_pipeline_n_directions(r->kind);
  guint32 *event = &r->events[((backward * directions + place.direction) * blocks + place.block) *
                                  r->shape->micro_batches +
                              micro_batch];
  if (*event == G_MAXUINT32) *event = orr_program_event(r->program);
  return *event;
}

/* What a pass waits for: the block before it in its direction; a backward its forward too. */
static void wait_for(const Replay *r, guint32 stream, gboolean backward, OrrPipelinePlace place,
                     gint64 mb) {
  const OrrPipelinePlace before = {place.direction, place.block - 1},
                         after = {place.direction, place.block + 1};
  if (!backward && place.block > 0)
    orr_program_wait(r->program, stream, done(r, FALSE, before, mb));
  if (!backward) return;
  if (after.block < orr_pipeline_n_blocks(r->kind, r->shape))
    orr_program_wait(r->program, stream, done(r, TRUE, after, mb));
  orr_program_wait(r->program, stream, done(r, FALSE, place, mb));
}

static void emit_step(const Replay *r, guint32 stream, gint64 stage, const OrrPipelineStep *step) {
  static const double passes[] = {1, 2, 1, 1, 3};
  const gboolean both = step->kind == ORR_STEP_BOTH;
  const OrrPipelinePlace place = orr_pipeline_place(r->kind, r->shape, stage, step->chunk);
  const OrrPipelinePlace back =
      orr_pipeline_place(r->kind, r->shape, stage, both ? step->back_chunk : step->chunk);
  const gint64 back_mb = both ? step->back_micro_batch : step->micro_batch;
  const gboolean forward = orr_step_begins(step),
                 backward = step->kind == ORR_STEP_BACKWARD || both;
  const gboolean input = backward || step->kind == ORR_STEP_BACKWARD_INPUT;
  if (forward) wait_for(r, stream, FALSE, place, step->micro_batch);
  if (input) wait_for(r, stream, TRUE, back, back_mb);
  if (step->kind == ORR_STEP_BACKWARD_WEIGHT)
    orr_program_wait(r->program, stream, done(r, TRUE, place, back_mb));
  const double each_s = (double)r->shape->stages / orr_pipeline_n_blocks(r->kind, r->shape);
  orr_program_work(r->program, stream, passes[step->kind] * each_s,
                   orr_program_label(r->program, "work", "compute"), step->micro_batch);
  if (forward) orr_program_record(r->program, stream, done(r, FALSE, place, step->micro_batch));
  if (input) orr_program_record(r->program, stream, done(r, TRUE, back, back_mb));
}

static void emit_stage(const Replay *r, gint64 stage) {
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  r->kind->steps(r->shape, stage, steps);
  const guint32 lane = orr_program_lane(r->program, "stage", 1);
  const guint32 stream = orr_program_stream(r->program, lane, "compute");
  for (guint i = 0; i < steps->len; i++)
    emit_step(r, stream, stage, &g_array_index(steps, OrrPipelineStep, i));
}

static double replay(const OrrPipelineKind *kind, const OrrPipelineShape *shape) {
  g_autoptr(OrrProgram) program = orr_program_new();
  const gint64 n = 2 * shape->stages * shape->chunks * shape->micro_batches;
  g_autofree guint32 *events = g_new(guint32, n);
  for (gint64 i = 0; i < n; i++) events[i] = G_MAXUINT32;
  const Replay r = {kind, shape, program, events};
  for (gint64 stage = 0; stage < shape->stages; stage++) emit_stage(&r, stage);
  g_autoptr(GError) error = NULL;
  OrrReplay result = {0};
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_IDEAL, &error);
  orr_program_seal(program, &error);
  g_assert_no_error(error);
  orr_executor_run(program, engine, NULL, NULL, NULL, &result, &error);
  g_assert_no_error(error);
  return result.end_s;
}

static const OrrPipelineShape shapes[] = {
    {1, 1, 1},  {1, 1, 5},     {2, 1, 1},     {2, 1, 2},    {4, 1, 8},  {4, 1, 3},
    {8, 1, 64}, {4, 2, 8},     {4, 3, 12},    {2, 2, 2},    {2, 2, 3},  {16, 3, 192},
    {8, 4, 32}, {3, 5, 9},     {64, 1, 16},   {1, 2, 1},    {2, 2, 4},  {4, 2, 7},
    {4, 2, 10}, {4, 2, 16, 8}, {4, 3, 21, 8}, {2, 2, 9, 3}, {6, 2, 12}, {6, 2, 36},
    {8, 2, 48}, {16, 2, 32},   {16, 2, 96},   {7, 2, 13},   {4, 4, 6},  {5, 1, 2}};

static gboolean can_run(const OrrPipelineKind *kind, const OrrPipelineShape *shape) {
  if (!kind->entry.params && kind->chunks(NULL) != shape->chunks) return FALSE;
  g_autofree char *refusal = kind->refuse(shape);
  return !refusal;
}

static void test_bubble(gconstpointer data) {
  const OrrPipelineKind *kind = data;
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (!can_run(kind, &shapes[i])) continue;
    const double busy = 3.0 * shapes[i].micro_batches;
    const double expected = busy * (1 + kind->bubble(&shapes[i]));
    g_assert_cmpfloat_with_epsilon(replay(kind, &shapes[i]), expected, 1e-9 * expected);
  }
}

static void test_peak(gconstpointer data) {
  const OrrPipelineKind *kind = data;
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (!can_run(kind, &shapes[i])) continue;
    for (gint64 stage = 0; stage < shapes[i].stages; stage++) {
      g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
      kind->steps(&shapes[i], stage, steps);
      g_assert_cmpint(orr_pipeline_peak(steps), ==, kind->peak(&shapes[i], stage));
    }
  }
}

/* 0: nothing yet, 1: after its forward, 2: after B, 3: after its backward or W. */
static void advance(int *state, int from, int to) {
  g_assert_cmpint(*state, ==, from);
  *state = to;
}

static void follow(int *seen, const OrrPipelineShape *shape, const OrrPipelineStep *step) {
  int *state = &seen[step->chunk * shape->micro_batches + step->micro_batch];
  switch ((OrrStepKind)step->kind) {
  case ORR_STEP_FORWARD:
    advance(state, 0, 1);
    break;
  case ORR_STEP_BACKWARD:
    advance(state, 1, 3);
    break;
  case ORR_STEP_BACKWARD_INPUT:
    advance(state, 1, 2);
    break;
  case ORR_STEP_BACKWARD_WEIGHT:
    advance(state, 2, 3);
    break;
  case ORR_STEP_BOTH:
    advance(state, 0, 1);
    advance(&seen[step->back_chunk * shape->micro_batches + step->back_micro_batch], 1, 3);
    break;
  }
}

/* Each (chunk, micro-batch) forward exactly once, its backward exactly once and later; half of
 * the micro-batches pass a chunk where there are two directions. */
static void test_complete(gconstpointer data) {
  const OrrPipelineKind *kind = data;
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (!can_run(kind, &shapes[i])) continue;
    const gint64 n = shapes[i].chunks * shapes[i].micro_batches;
    for (gint64 stage = 0; stage < shapes[i].stages; stage++) {
      g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
      g_autofree int *seen = g_new0(int, n);
      kind->steps(&shapes[i], stage, steps);
      for (guint k = 0; k < steps->len; k++)
        follow(seen, &shapes[i], &g_array_index(steps, OrrPipelineStep, k));
      gint64 passed = 0;
      for (gint64 k = 0; k < n; k++) {
        passed += seen[k] == 3;
        g_assert_true(seen[k] == 0 || seen[k] == 3);
      }
      g_assert_cmpint(passed, ==, n / orr_pipeline_n_directions(kind));
    }
  }
}

/* Each block of each direction lies on one stage, in one chunk, and is found there. */
static void test_places(gconstpointer data) {
  const OrrPipelineKind *kind = data;
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (!can_run(kind, &shapes[i])) continue;
    const gint64 blocks = orr_pipeline_n_blocks(kind, &shapes[i]);
    g_autofree int *held = g_new0(int, blocks *orr_pipeline_n_directions(kind));
    for (gint64 stage = 0; stage < shapes[i].stages; stage++)
      for (gint64 chunk = 0; chunk < shapes[i].chunks; chunk++) {
        const OrrPipelinePlace place = orr_pipeline_place(kind, &shapes[i], stage, chunk);
        held[place.direction * blocks + place.block]++;
        g_assert_cmpint(orr_pipeline_stage(kind, &shapes[i], place), ==, stage);
      }
    for (gint64 k = 0; k < blocks * orr_pipeline_n_directions(kind); k++)
      g_assert_cmpint(held[k], ==, 1);
  }
}

/* Pairs: everything once, the peak as stated, one forward of warm-up more, and no later than the
 * same passes one after the other with as much more of a beginning. */
static void test_pairs(void) {
  const OrrPipelineKind *kind = &orr_interleaved;
  static const OrrPipelineShape paired[] = {
      {1, 1, 5, 0, TRUE}, {4, 2, 8, 0, TRUE}, {2, 3, 12, 0, TRUE}, {4, 4, 32, 0, TRUE}};
  for (guint i = 0; i < G_N_ELEMENTS(paired); i++) {
    const OrrPipelineShape *shape = &paired[i];
    const gint64 n = shape->chunks * shape->micro_batches;
    for (gint64 stage = 0; stage < shape->stages; stage++) {
      g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
      g_autofree int *seen = g_new0(int, n);
      kind->steps(shape, stage, steps);
      for (guint k = 0; k < steps->len; k++)
        follow(seen, shape, &g_array_index(steps, OrrPipelineStep, k));
      for (gint64 k = 0; k < n; k++) g_assert_cmpint(seen[k], ==, 3);
      g_assert_cmpint(orr_pipeline_peak(steps), ==, kind->peak(shape, stage));
    }
    const double busy = 3.0 * shape->micro_batches;
    g_assert_cmpfloat(replay(kind, shape), >=, busy * (1 - 1e-9));
    g_assert_cmpfloat(replay(kind, shape), <, busy + 6.0 * shape->stages);
  }
  const OrrPipelineShape one_chunk = {4, 1, 8, 0, TRUE};
  g_autofree char *refusal = kind->refuse(&one_chunk);
  g_assert_nonnull(strstr(refusal, "needs chunks of 2 or more"));
}

static void test_refuses(void) {
  const OrrPipelineShape shape = {4, 2, 6}; /* 6 is not a multiple of 4 */
  g_autofree char *refusal = orr_interleaved.refuse(&shape);
  g_assert_nonnull(strstr(refusal, "(6)"));
  g_assert_nonnull(strstr(refusal, "(4)"));
  static const struct {
    const OrrPipelineKind *kind;
    OrrPipelineShape shape;
    const char *says;
  } cases[] = {
      {&orr_interleaved, {4, 2, 8, 3}, "group is 3, but must be pp (4) or more"},
      {&orr_interleaved, {4, 2, 10, 8}, "10 micro-batches in groups of 8 leave 2"},
      {&orr_zb_v, {4, 2, 6}, "2 pp - 1 = 7 micro-batches or more, but there are 6"},
      {&orr_dualpipe, {3, 2, 12}, "even pp, but it is 3"},
      {&orr_dualpipe, {4, 2, 6}, "2 pp = 8 or more, but there are 6"},
      {&orr_dualpipe, {4, 2, 9}, "even number of micro-batches"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = cases[i].kind->refuse(&cases[i].shape);
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, cases[i].says));
  }
}

/* @longer has n periods more than @shorter: the same beginning, a middle that repeats itself,
 * the same end. */
static void assert_periodic(const GArray *shorter, const GArray *longer, gint64 tags, gint64 n) {
  const OrrPipelineStep *s = (const OrrPipelineStep *)(void *)shorter->data;
  const OrrPipelineStep *l = (const OrrPipelineStep *)(void *)longer->data;
  const guint more = (longer->len - shorter->len) / n;
  guint same = 0;
  g_assert_cmpuint(longer->len, ==, shorter->len + n * more);
  while (same < shorter->len && s[same].kind == l[same].kind && s[same].chunk == l[same].chunk &&
         s[same].micro_batch == l[same].micro_batch)
    same++;
  for (guint i = same; i < shorter->len; i++) { /* the end, n periods of micro-batches on */
    const OrrPipelineStep *end = &l[i + n * more];
    g_assert_true(s[i].kind == end->kind && s[i].chunk == end->chunk);
    g_assert_cmpint(end->micro_batch, ==, s[i].micro_batch + n * tags);
  }
  for (guint i = same - more; i + more < same + n * more; i++) { /* the middle */
    g_assert_true(l[i].kind == l[i + more].kind && l[i].chunk == l[i + more].chunk);
    g_assert_cmpint(l[i + more].micro_batch, ==, l[i].micro_batch + tags);
  }
}

static void test_period(gconstpointer entry) {
  const OrrPipelineKind *kind = entry;
  const OrrPipelineShape sizes[] = {
      {4, 1, 24, 0}, {4, 2, 24, 0}, {3, 4, 36, 0}, {1, 1, 9, 0}, {4, 2, 48, 6}};
  for (guint i = 0; i < G_N_ELEMENTS(sizes) && kind->period; i++) {
    OrrPipelineShape shape = sizes[i], longer = shape;
    g_autofree char *refusal = kind->refuse(&shape);
    const gint64 period = refusal ? 0 : kind->period(&shape);
    longer.micro_batches += 5 * period;
    for (gint64 stage = 0; stage < shape.stages && period > 0; stage++) {
      g_autoptr(GArray) a = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
      g_autoptr(GArray) b = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
      kind->steps(&shape, stage, a);
      kind->steps(&longer, stage, b);
      assert_periodic(a, b, period, 5);
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; orr_pipeline_registry.entries[i]; i++) {
    const OrrEntry *entry = orr_pipeline_registry.entries[i];
    const struct {
      const char *what;
      GTestDataFunc test;
    } tests[] = {{"bubble", test_bubble},
                 {"peak", test_peak},
                 {"period", test_period},
                 {"complete", test_complete},
                 {"places", test_places}};
    for (guint t = 0; t < G_N_ELEMENTS(tests); t++) {
      g_autofree char *path = g_strdup_printf("/pipeline/%s/%s", entry->name, tests[t].what);
      g_test_add_data_func(path, entry, tests[t].test);
    }
  }
  g_test_add_func("/pipeline/refuses", test_refuses);
  g_test_add_func("/pipeline/pairs", test_pairs);
  return g_test_run();
}

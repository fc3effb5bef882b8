/*
 * Every pipeline schedule against its own closed forms, by replaying it on equal stages with free communication.
 *
 * A forward of a chunk takes 1/v s and a backward 2/v s, so that a stage is busy m (1 + 2) seconds whatever the chunks;
 * the step then lasts 3 m (1 + bubble).
 */
#include "sim/engine/executor.h"
#include "workloads/pipelines/pipeline.h"

typedef struct {
  const OrrPipelineShape *shape;
  OrrProgram *program;
  guint32 *events; /* by (backward * blocks + block) * m + micro-batch: the step is done */
} Replay;

static guint32 done(const Replay *r, gboolean backward, gint64 block, gint64 micro_batch) {
  const gint64 blocks = r->shape->stages * r->shape->chunks;
  return r->events[(backward * blocks + block) * r->shape->micro_batches + micro_batch];
}

static void emit_stage(const Replay *r, const OrrPipelineKind *kind, gint64 stage) {
  const gint64 last = r->shape->stages * r->shape->chunks - 1;
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  kind->steps(r->shape, stage, steps);
  const guint32 lane = orr_program_lane(r->program, "stage", 1);
  const guint32 stream = orr_program_stream(r->program, lane, "compute");
  for (guint i = 0; i < steps->len; i++) {
    const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, i);
    const gint64 block = step->chunk * r->shape->stages + stage, mb = step->micro_batch;
    if (!step->backward && block > 0) orr_program_wait(r->program, stream, done(r, FALSE, block - 1, mb));
    if (step->backward && block < last) orr_program_wait(r->program, stream, done(r, TRUE, block + 1, mb));
    if (step->backward) orr_program_wait(r->program, stream, done(r, FALSE, block, mb));
    const double seconds = (step->backward ? 2.0 : 1.0) / r->shape->chunks;
    orr_program_work(r->program, stream, seconds, orr_program_label(r->program, "work", "compute"), step->micro_batch);
    orr_program_record(r->program, stream, done(r, step->backward, block, mb));
  }
}

static double replay(const OrrPipelineKind *kind, const OrrPipelineShape *shape) {
  g_autoptr(OrrProgram) program = orr_program_new();
  const gint64 n = 2 * shape->stages * shape->chunks * shape->micro_batches;
  g_autofree guint32 *events = g_new(guint32, n);
  for (gint64 i = 0; i < n; i++) events[i] = orr_program_event(program);
  const Replay r = {shape, program, events};
  for (gint64 stage = 0; stage < shape->stages; stage++) emit_stage(&r, kind, stage);
  g_autoptr(GError) error = NULL;
  OrrReplay result = {0};
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_IDEAL, &error);
  orr_program_seal(program, &error);
  g_assert_no_error(error);
  orr_executor_run(program, engine, NULL, NULL, NULL, &result, &error);
  g_assert_no_error(error);
  return result.end_s;
}

static const OrrPipelineShape shapes[] = {{1, 1, 1},  {1, 1, 5},  {2, 1, 1},  {2, 1, 2},  {4, 1, 8},   {4, 1, 3},
                                          {8, 1, 64}, {4, 2, 8},  {4, 3, 12}, {2, 2, 2},  {16, 3, 192}, {8, 4, 32},
                                          {3, 5, 9},  {64, 1, 16}};

static gboolean can_run(const OrrPipelineKind *kind, const OrrPipelineShape *shape) {
  g_autofree char *refusal = kind->refuse(shape);
  return !refusal && (shape->chunks == 1 || kind->entry.params);
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

/* Each (chunk, micro-batch) forward exactly once, its backward exactly once and later. */
static void test_complete(gconstpointer data) {
  const OrrPipelineKind *kind = data;
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (!can_run(kind, &shapes[i])) continue;
    const gint64 n = shapes[i].chunks * shapes[i].micro_batches;
    for (gint64 stage = 0; stage < shapes[i].stages; stage++) {
      g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
      g_autofree int *seen = g_new0(int, n);
      kind->steps(&shapes[i], stage, steps);
      g_assert_cmpint(steps->len, ==, 2 * n);
      for (guint k = 0; k < steps->len; k++) {
        const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, k);
        int *state = &seen[step->chunk * shapes[i].micro_batches + step->micro_batch];
        g_assert_cmpint(*state, ==, step->backward ? 1 : 0);
        (*state)++;
      }
    }
  }
}

static void test_refuses(void) {
  const OrrPipelineShape shape = {4, 2, 6}; /* 6 is no multiple of 4 */
  g_autofree char *refusal = orr_interleaved.refuse(&shape);
  g_assert_nonnull(strstr(refusal, "(6)"));
  g_assert_nonnull(strstr(refusal, "(4)"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; orr_pipeline_registry.entries[i]; i++) {
    const OrrEntry *entry = orr_pipeline_registry.entries[i];
    const struct {
      const char *what;
      GTestDataFunc test;
    } tests[] = {{"bubble", test_bubble}, {"peak", test_peak}, {"complete", test_complete}};
    for (guint t = 0; t < G_N_ELEMENTS(tests); t++) {
      g_autofree char *path = g_strdup_printf("/pipeline/%s/%s", entry->name, tests[t].what);
      g_test_add_data_func(path, entry, tests[t].test);
    }
  }
  g_test_add_func("/pipeline/refuses", test_refuses);
  return g_test_run();
}

/*
 * test_job.c - ranks of a job on fake devices, a thread each: they measure the same collectives,
 * and none hangs where one runs out of memory or fails.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/measure_session.h"
#include "sim/base/fault.h"

enum { RANKS = 3 };

/* What the ranks share. A meeting ends when all have come, or one has failed. */
typedef struct {
  GMutex lock;
  GCond changed;
  guint n_here, n_meetings;
  gint64 number;
  OrrJobWord word;
  char *failed; /* of the first */
} Job;

typedef enum { WELL, NO_MEMORY, BREAKS_IN_PREPARE, BREAKS_IN_TIME } Ill;

typedef struct {
  Job *job;
  gint64 rank;
  Ill ill;
  gint64 ill_bytes; /* of what shape it is ill */
  GPtrArray *rows, *refusals;
  GPtrArray *notes;
  char *error; /* how its session ended; NULL: well */
  OrrMeasureOutcome outcome;
} Rank;

/* The fake device of the thread's rank. */
static _Thread_local Rank *me;
static _Thread_local OrrBenchFacts my_facts;

/* All bring something; TRUE when all have, FALSE when one has failed. */
static gboolean meet(Job *job, GError **error) {
  g_mutex_lock(&job->lock);
  const guint meeting = job->n_meetings;
  if (++job->n_here == RANKS) {
    job->n_here = 0;
    job->n_meetings++;
    g_cond_broadcast(&job->changed);
  }
  while (job->n_meetings == meeting && !job->failed) g_cond_wait(&job->changed, &job->lock);
  const gboolean fine = job->n_meetings != meeting;
  if (!fine) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_RESOURCE, job->failed);
  g_mutex_unlock(&job->lock);
  return fine;
}

static const OrrBenchFacts *facts(const OrrBench *bench) {
  my_facts = *orr_fake_layer.facts(bench);
  my_facts.n_gpus = 1;
  my_facts.n_ranks = RANKS;
  my_facts.rank = me->rank;
  return &my_facts;
}

static gboolean is_ill(const OrrShape *shape, Ill ill) {
  return me->ill == ill && orr_shape_at(shape, "bytes") == me->ill_bytes;
}

static OrrKernel *prepare(OrrBench *bench, const OrrShape *shape, GError **error) {
  if (is_ill(shape, NO_MEMORY)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "out of memory");
    return NULL;
  }
  if (is_ill(shape, BREAKS_IN_PREPARE)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "the GPU has fallen off the bus");
    return NULL;
  }
  me->outcome.n_wrong =
      me->ill == BREAKS_IN_TIME && orr_shape_at(shape, "bytes") == me->ill_bytes; /* for time_all */
  return orr_fake_layer.prepare(bench, shape, error);
}

/* A collective: it ends when all ranks have called it. */
static gboolean time_all(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                         GError **error) {
  if (me->outcome.n_wrong) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "an illegal address");
    return FALSE;
  }
  return meet(me->job, error) && orr_fake_layer.time(kernel, rule, ret_timing, error);
}

static gboolean agree(OrrBench *bench, gint64 *number, GError **error) {
  (void)bench;
  if (me->rank == 0) me->job->number = *number;
  if (!meet(me->job, error)) return FALSE;
  *number = me->job->number;
  return meet(me->job, error); /* nobody writes before all have read */
}

static gboolean settle(OrrBench *bench, const char *mine, gboolean ends_job, OrrJobWord *ret_word,
                       GError **error) {
  (void)bench;
  g_mutex_lock(&me->job->lock);
  if (mine) me->job->word = orr_job_word(me->rank, mine, ends_job);
  g_mutex_unlock(&me->job->lock);
  if (!meet(me->job, error)) return FALSE;
  *ret_word = me->job->word;
  if (!meet(me->job, error)) return FALSE;
  me->job->word = (OrrJobWord){.rank = -1};
  return meet(me->job, error);
}

static void fail(OrrBench *bench, const char *reason) {
  (void)bench;
  g_mutex_lock(&me->job->lock);
  if (!me->job->failed) me->job->failed = g_strdup_printf("rank %d: %s", (int)me->rank, reason);
  g_cond_broadcast(&me->job->changed);
  g_mutex_unlock(&me->job->lock);
}

static gboolean keep_row(const OrrMeasureRow *row, void *user, GError **error) {
  (void)error;
  g_ptr_array_add(((Rank *)user)->rows, g_strdup(row->shape));
  return TRUE;
}

static gboolean keep_refusal(const OrrMeasureRefusal *refusal, void *user, GError **error) {
  (void)error;
  g_ptr_array_add(((Rank *)user)->refusals,
                  g_strdup_printf("%s|%d|%d|%s", refusal->shape, (int)refusal->rank,
                                  refusal->ends_job, refusal->reason));
  return TRUE;
}

static void keep_note(const char *text, void *user) {
  g_ptr_array_add(((Rank *)user)->notes, g_strdup(text));
}

static gpointer run_rank(gpointer data) {
  OrrDeviceLayer layer = orr_fake_layer;
  g_autoptr(GError) error = NULL;
  const OrrMeasureFamily *const families[] = {orr_family_find("collective"), NULL};
  me = data;
  layer.facts = facts, layer.prepare = prepare, layer.time = time_all;
  layer.agree = agree, layer.settle = settle, layer.fail = fail;
  OrrBench *bench = layer.open(0, NULL);
  const OrrMeasureOrder order = {.budget_s = 60,
                                 .families = families,
                                 .date = "2026-01-01T00:00:00Z",
                                 .rule = orr_timing_default,
                                 .row = keep_row,
                                 .refusal = keep_refusal,
                                 .note = keep_note,
                                 .user = me};
  OrrMeasureOutcome outcome = {0};
  if (!orr_measure_session(&layer, bench, &order, &outcome, NULL, &error))
    me->error = g_strdup(error->message);
  me->outcome = outcome;
  orr_fake_layer.close(bench);
  return NULL;
}

typedef struct {
  Job job;
  Rank ranks[RANKS];
} Run;

static void run_clear(Run *run) {
  for (int r = 0; r < RANKS; r++) {
    g_ptr_array_unref(run->ranks[r].rows);
    g_ptr_array_unref(run->ranks[r].refusals);
    g_ptr_array_unref(run->ranks[r].notes);
    g_free(run->ranks[r].error);
  }
  g_free(run->job.failed);
  g_mutex_clear(&run->job.lock);
  g_cond_clear(&run->job.changed);
}

/* Rank @of is @ill with shapes of @bytes. A rank that hangs is seen by the test's time limit. */
static void run_job(Run *run, gint64 of, Ill ill, gint64 bytes) {
  GThread *threads[RANKS];
  *run = (Run){.job = {.word = {.rank = -1}}};
  g_mutex_init(&run->job.lock);
  g_cond_init(&run->job.changed);
  for (int r = 0; r < RANKS; r++) {
    run->ranks[r] = (Rank){.job = &run->job,
                           .rank = r,
                           .ill = r == of ? ill : WELL,
                           .ill_bytes = bytes,
                           .rows = g_ptr_array_new_with_free_func(g_free),
                           .refusals = g_ptr_array_new_with_free_func(g_free),
                           .notes = g_ptr_array_new_with_free_func(g_free)};
    threads[r] = g_thread_new("rank", run_rank, &run->ranks[r]);
  }
  for (int r = 0; r < RANKS; r++) g_thread_join(threads[r]);
}

/* 30 s (half of the budget) at 0.39 s per row are some 77 rows; rank 0 alone keeps them, all count
 * them. */
static void test_all_well(void) {
  Run run;
  run_job(&run, 0, WELL, 0);
  g_assert_cmpuint(run.ranks[0].rows->len, >, 60);
  for (int r = 0; r < RANKS; r++) {
    g_assert_null(run.ranks[r].error);
    g_assert_cmpuint(run.ranks[r].outcome.n_new, ==, run.ranks[0].rows->len);
    g_assert_cmpuint(run.ranks[r].rows->len, ==, r == 0 ? run.ranks[0].rows->len : 0);
  }
  run_clear(&run);
}

/* Rank 2 has no memory for 1 KiB (a seed of every slice): all pass those shapes over, reported
 * once, and measure the rest. Three reductions in four formats, four others in one and the
 * all-to-all in fp8, and all seven in fp16 over two ranks: 24 slices, a refusal each. */
static void test_out_of_memory(void) {
  Run run;
  run_job(&run, 2, NO_MEMORY, 1024);
  for (int r = 0; r < RANKS; r++) {
    g_assert_null(run.ranks[r].error);
    g_assert_cmpuint(run.ranks[r].outcome.n_new, ==, run.ranks[0].rows->len);
    g_assert_cmpuint(run.ranks[r].outcome.n_passed_over, ==, run.ranks[0].outcome.n_passed_over);
  }
  guint n = 0;
  for (guint i = 0; i < run.ranks[0].refusals->len; i++)
    n += g_str_has_suffix(run.ranks[0].refusals->pdata[i], " bytes=1024|2|0|out of memory");
  g_assert_cmpuint(n, ==, 24);
  for (guint i = 0; i < run.ranks[0].rows->len; i++)
    g_assert_false(g_str_has_suffix(run.ranks[0].rows->pdata[i], " bytes=1024"));
  g_assert_true(
      g_ptr_array_find_with_equal_func(run.ranks[0].notes, "out of memory", g_str_equal, NULL));
  g_assert_cmpuint(run.ranks[1].refusals->len + run.ranks[1].notes->len, ==, 0);
  run_clear(&run);
}

/* A rank that breaks before the collective says so: all end with its reason, which rank 0
 * records. */
static void test_breaks_before(void) {
  Run run;
  run_job(&run, 1, BREAKS_IN_PREPARE, 1024);
  for (int r = 0; r < RANKS; r++) {
    g_assert_nonnull(run.ranks[r].error);
    g_assert_nonnull(strstr(run.ranks[r].error, "the GPU has fallen off the bus"));
    g_assert_true(r == 1 || g_str_has_prefix(run.ranks[r].error, "rank 1: collective op="));
  }
  const GPtrArray *refusals = run.ranks[0].refusals;
  g_assert_true(
      g_str_has_suffix(refusals->pdata[refusals->len - 1], "|1|1|the GPU has fallen off the bus"));
  run_clear(&run);
}

/* One that breaks in the collective leaves the others in it: they are let go, and say whose
 * fault it was. So they are when it is rank 0. */
static void test_breaks_amid(void) {
  for (gint64 of = 0; of < 2; of++) {
    Run run;
    run_job(&run, of, BREAKS_IN_TIME, 1024);
    for (int r = 0; r < RANKS; r++) {
      g_assert_nonnull(run.ranks[r].error);
      g_assert_nonnull(strstr(run.ranks[r].error, "an illegal address"));
    }
    const GPtrArray *refusals = run.ranks[0].refusals;
    g_assert_cmpuint(refusals->len, >=, 1);
    g_assert_nonnull(strstr(refusals->pdata[refusals->len - 1], "an illegal address"));
    run_clear(&run);
  }
}

/* A reason that is cut off stays UTF-8. */
static void test_long_reason(void) {
  g_autoptr(GString) text = g_string_new("x");
  for (int i = 0; i < 200; i++) g_string_append(text, "\xc3\xa4");
  const OrrJobWord word = orr_job_word(1, text->str, FALSE);
  g_assert_cmpuint(strlen(word.reason), ==, 255); /* 1 + 127 of 2 bytes */
  g_assert_true(g_utf8_validate(word.reason, -1, NULL));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/job/all-well", test_all_well);
  g_test_add_func("/measure/job/out-of-memory", test_out_of_memory);
  g_test_add_func("/measure/job/breaks-before", test_breaks_before);
  g_test_add_func("/measure/job/breaks-amid", test_breaks_amid);
  g_test_add_func("/measure/job/long-reason", test_long_reason);
  return g_test_run();
}

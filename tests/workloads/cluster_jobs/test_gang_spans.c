/*
 * test_gang_spans.c - packed spans come back as they were added, whatever comes before them.
 */
#include "sim/base/random.h"
#include "workloads/cluster_jobs/core/gang_history.h"

enum { N = 5000, N_JOBS = 300, MOST_RUNS = 4 };

typedef struct {
  OrrGangSpan span;
  OrrGangRun runs[MOST_RUNS];
  gsize at;
} Kept;

typedef struct {
  Kept kept[N];
  guint n;
} Log;

/* Every fourth span is drawn anew; the others follow the one before as first-fit places gangs. */
static void draw(Kept *kept, const Kept *before, OrrRandom *random, gint64 *now_us) {
  const gboolean is_new = orr_random_below(random, 4) == 0;
  OrrGangSpan *span = &kept->span;
  if (orr_random_below(random, 5) == 0) *now_us += (gint64)orr_random_below(random, 1000000000000);
  span->begin_us = *now_us;
  span->end_us = -1;
  span->job = is_new ? (guint32)orr_random_below(random, N_JOBS) : (before->span.job + 1) % N_JOBS;
  span->n_runs = is_new ? (guint)orr_random_below(random, MOST_RUNS + 1) : 1;
  for (guint i = 0; i < span->n_runs; i++)
    kept->runs[i] = (OrrGangRun){.first = is_new ? (guint32)orr_random_below(random, G_MAXUINT32)
                                                 : before->runs[0].first + before->runs[0].n,
                                 .n = 1 + (guint32)orr_random_below(random, is_new ? 100000 : 4),
                                 .gpus = is_new ? (gint32)orr_random_below(random, 10000) : 8};
  span->gpus = is_new ? (gint32)orr_random_below(random, G_MAXINT32) : (gint32)kept->runs[0].n * 8;
  span->runs = kept->runs;
}

static void compare(const OrrGangSpan *span, void *user) {
  Log *log = user;
  const OrrGangSpan *wanted = &log->kept[log->n++].span;
  g_assert_cmpint(span->begin_us, ==, wanted->begin_us);
  g_assert_cmpint(span->end_us, ==, wanted->end_us);
  g_assert_cmpuint(span->job, ==, wanted->job);
  g_assert_cmpint(span->gpus, ==, wanted->gpus);
  g_assert_cmpuint(span->why, ==, wanted->why);
  g_assert_cmpuint(span->n_runs, ==, wanted->n_runs);
  for (guint i = 0; i < span->n_runs; i++) {
    g_assert_cmpuint(span->runs[i].first, ==, wanted->runs[i].first);
    g_assert_cmpuint(span->runs[i].n, ==, wanted->runs[i].n);
    g_assert_cmpint(span->runs[i].gpus, ==, wanted->runs[i].gpus);
  }
}

/* Spans end in any order, some of them never, and are read twice. */
static void test_round_trip(void) {
  OrrRandom random = orr_random_stream(1, "spans");
  OrrGangSpans *spans = orr_gang_spans_new();
  Log *log = g_new0(Log, 1);
  gint64 now_us = -7;
  for (guint i = 0; i < N; i++) {
    Kept *kept = &log->kept[i];
    draw(kept, &log->kept[i > 0 ? i - 1 : 0], &random, &now_us);
    kept->at = orr_gang_spans_add(spans, &kept->span);
    Kept *ends = &log->kept[orr_random_below(&random, i + 1)];
    if (ends->span.end_us >= 0) continue;
    ends->span.end_us = MAX(now_us, 0);
    ends->span.why = (guint)orr_random_below(&random, 8);
    orr_gang_spans_end(spans, ends->at, ends->span.end_us, ends->span.why);
  }
  for (int again = 0; again < 2; again++) {
    log->n = 0;
    orr_gang_spans_each(spans, compare, log);
    g_assert_cmpuint(log->n, ==, N);
  }
  orr_gang_spans_unref(spans);
  g_free(log);
}

static void test_none(void) {
  OrrGangSpans *spans = orr_gang_spans_ref(orr_gang_spans_new());
  Log *log = g_new0(Log, 1);
  orr_gang_spans_unref(spans);
  orr_gang_spans_each(spans, compare, log);
  g_assert_cmpuint(log->n, ==, 0);
  orr_gang_spans_unref(spans);
  g_free(log);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang_spans/round-trip", test_round_trip);
  g_test_add_func("/gang_spans/none", test_none);
  return g_test_run();
}

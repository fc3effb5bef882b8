/*
 * cluster_spans.c - makes a row for each run of neighbouring nodes of a span.
 */
#include "sim/run/answer/answer_private.h"

struct OrrClusterSpans {
  OrrGangSpans *spans;
  const char **jobs; /* ids by index */
};

OrrClusterSpans *orr_cluster_spans_new(const OrrClusterWork *work, GStringChunk *names) {
  OrrClusterSpans *own = g_new0(OrrClusterSpans, 1);
  const GArray *jobs = work->trace->jobs;
  own->spans = orr_gang_spans_ref(work->history->spans);
  own->jobs = g_new0(const char *, jobs->len + 1);
  for (guint i = 0; i < jobs->len; i++)
    own->jobs[i] = g_string_chunk_insert_const(names, g_array_index(jobs, OrrGangJob, i).id);
  return own;
}

void orr_cluster_spans_free(OrrClusterSpans *spans) {
  if (!spans) return;
  orr_gang_spans_unref(spans->spans);
  ORR_FREE(spans->jobs, spans);
}

static double seconds(gint64 us) { return (double)us / ORR_GANG_US_PER_S; }

static OrrClusterSpanRow row_of(const OrrClusterSpans *spans, const OrrGangSpan *span,
                                const OrrGangRun *run) {
  return (OrrClusterSpanRow){.job = (char *)spans->jobs[span->job],
                             .gpus = span->gpus,
                             .begin_s = seconds(span->begin_us),
                             .end_s = seconds(span->end_us),
                             .first_node = run->first,
                             .last_node = run->first + run->n - 1,
                             .node_gpus = run->gpus,
                             .why = (char *)orr_gang_why_words[span->why]};
}

typedef struct {
  const OrrClusterSpans *spans;
  OrrOnClusterSpan call;
  void *user;
} Each;

static void each_run(const OrrGangSpan *span, void *data) {
  const Each *each = data;
  for (guint i = 0; i < span->n_runs; i++) {
    const OrrClusterSpanRow row = row_of(each->spans, span, &span->runs[i]);
    each->call(&row, each->user);
  }
}

void orr_cluster_spans_each(const OrrClusterSpans *spans, OrrOnClusterSpan call, void *user) {
  Each each = {spans, call, user};
  if (spans) orr_gang_spans_each(spans->spans, each_run, &each);
}

/* --- Storing --- */

enum { BATCH = 256 };

typedef struct {
  OrrStore *store;
  OrrClusterSpanRow rows[BATCH];
  guint n;
  GError *error;
} Batch;

static void flush(Batch *batch) {
  if (!batch->error)
    orr_store_add_rows(batch->store, &orr_cluster_span_table, batch->rows, batch->n, &batch->error);
  batch->n = 0;
}

static void add(const OrrClusterSpanRow *row, void *user) {
  Batch *batch = user;
  batch->rows[batch->n++] = *row;
  if (batch->n == BATCH) flush(batch);
}

gboolean orr_cluster_spans_store(const OrrClusterSpans *spans, OrrStore *store, GError **error) {
  Batch batch = {.store = store};
  orr_cluster_spans_each(spans, add, &batch);
  if (batch.n > 0) flush(&batch);
  if (!batch.error) return TRUE;
  g_propagate_error(error, batch.error);
  return FALSE;
}

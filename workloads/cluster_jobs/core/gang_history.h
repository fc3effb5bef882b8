/*
 * gang_history.h - what happened over time: where each gang sat, and the state of the cluster.
 *
 * Spans are one per stretch of a job on the same GPUs (gang_history.h). The state is summed in at
 * most 256 equal intervals: where the run outlasts them, neighbours merge and each is twice as
 * long, so that memory does not grow with time.
 */
#pragma once

#include "workloads/cluster_jobs/core/gang_bins.h"

/* gang_spans.c: the stretches of time for which gangs sat on the same GPUs, in the order of their
 * begins, packed into some seven bytes each: orders that preempt make hundreds of them for a job.
 */

/* Nodes @first, ..., @first + @n - 1, with @gpus of a gang on each. */
typedef struct {
  guint32 first, n;
  gint32 gpus;
} OrrGangRun;

typedef struct {
  gint64 begin_us, end_us; /* end -1: it runs */
  guint32 job;             /* its index in the trace */
  gint32 gpus;             /* of its gang then */
  guint why;               /* its end, of orr_gang_why_words (gang_history.h) */
  guint n_runs;
  const OrrGangRun *runs;
} OrrGangSpan;

typedef struct OrrGangSpans OrrGangSpans;

OrrGangSpans *orr_gang_spans_new(void);
OrrGangSpans *orr_gang_spans_ref(OrrGangSpans *spans);
void orr_gang_spans_unref(OrrGangSpans *spans);

/* Adds @span, which begins no earlier than those before and has no end yet; returns what
 * orr_gang_spans_end calls it. */
gsize orr_gang_spans_add(OrrGangSpans *spans, const OrrGangSpan *span);
void orr_gang_spans_end(OrrGangSpans *spans, gsize at, gint64 end_us, guint why);

/* Calls for each span, in the order in which they were added; @span lasts as long as the call. */
typedef void (*OrrOnGangSpan)(const OrrGangSpan *span, void *user);
void orr_gang_spans_each(const OrrGangSpans *spans, OrrOnGangSpan call, void *user);

/* Why a span ended: "" (it has not), "done", "preempted", "cancelled", "failed", "moved", NULL. */
extern const char *const orr_gang_why_words[];

/* Sums over the time of one interval, of GPUs times microseconds. */
typedef struct {
  double held, waiting, free, largest, out, jobs_waiting;
} OrrGangMoment;

enum { ORR_GANG_N_MOMENTS = 256 };

typedef struct {
  OrrGangSpans *spans;
  GPtrArray *open; /* spans that run: a job's is its `span`, from 1; NULL: none */
  GArray *unused;  /* of guint: places there without a span */
  GArray *place;   /* of OrrGangRun; scratch */
  OrrGangMoment moments[ORR_GANG_N_MOMENTS];
  gint64 begin_us, each_us;
  guint n;     /* moments in use */
  guint moved; /* of orr_gang_why_words */
} OrrGangHistory;

OrrGangHistory *orr_gang_history_new(void);
void orr_gang_history_free(OrrGangHistory *history);

/* @job starts on its shares at @now_us, or goes on there. */
void orr_gang_history_start(OrrGangHistory *history, OrrGangJob *job, gint64 now_us);
/* It stops; nothing where it does not run. @why: of orr_gang_why_words. */
void orr_gang_history_stop(OrrGangHistory *history, OrrGangJob *job, gint64 now_us,
                           const char *why);
/* From @from_us to @to_us the state was @rates, in GPUs (and jobs). */
void orr_gang_history_pass(OrrGangHistory *history, gint64 from_us, gint64 to_us,
                           const OrrGangMoment *rates);
/* The largest gang that would start now on @n nodes of @size GPUs: whole empty nodes, and the rest
 * on one more. */
gint64 orr_gang_history_largest(const gint64 *free, guint n, gint64 size);

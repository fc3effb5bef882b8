/*
 * gang_spans.h - the stretches of time for which gangs sat on the same GPUs, in the order of their
 * begins, packed into some seven bytes each: orders that preempt make hundreds of them for a job.
 */
#ifndef ORR_GANG_SPANS_H
#define ORR_GANG_SPANS_H

#include <glib.h>

G_BEGIN_DECLS

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

G_END_DECLS

#endif

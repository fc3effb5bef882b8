/*
 * executor_spans.c - spans are produced out of order, since streams run ahead; hands them out in
 * order.
 */
#include "sim/engine/executor_private.h"

static int compare_spans(const void *a, const void *b) {
  const OrrKeptSpan *x = a, *y = b;
  if (x->span.end_s != y->span.end_s) return x->span.end_s < y->span.end_s ? -1 : 1;
  if (x->span.started_s != y->span.started_s) return x->span.started_s < y->span.started_s ? -1 : 1;
  if (x->span.stream != y->span.stream) return x->span.stream < y->span.stream ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

/* Insertion sort; gives up with FALSE, keeping all spans, where they are far from sorted. */
static gboolean settle_spans(OrrKeptSpan *spans, guint n) {
  guint64 n_moves = 0;
  for (guint i = 1; i < n && n_moves <= 8 * (guint64)n; i++) {
    guint at = i;
    while (at > 0 && compare_spans(&spans[at - 1], &spans[i]) > 0) at--;
    if (at == i) continue;
    const OrrKeptSpan span = spans[i];
    memmove(&spans[at + 1], &spans[at], (i - at) * sizeof *spans);
    spans[at] = span;
    n_moves += i - at;
  }
  return n_moves <= 8 * (guint64)n;
}

void orr_span_buffer_flush(OrrSpanBuffer *buffer, double before_s) {
  /* Where no stream runs ahead, spans are nearly in order. */
  if (!settle_spans(buffer->kept, buffer->n_kept))
    qsort(buffer->kept, buffer->n_kept, sizeof *buffer->kept, compare_spans);
  guint n = 0;
  for (; n < buffer->n_kept && buffer->kept[n].span.end_s < before_s; n++)
    buffer->sink(&buffer->kept[n].span, buffer->user);
  buffer->n_kept -= n;
  if (n > 0) memmove(buffer->kept, buffer->kept + n, buffer->n_kept * sizeof *buffer->kept);
  buffer->flush_at = ORR_SPAN_BUFFER + 2 * buffer->n_kept;
}

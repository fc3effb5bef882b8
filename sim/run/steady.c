/*
 * steady.c - finds two equal periods in a row.
 *
 * The machine is deterministic. What follows depends on where each stream stands in its list of
 * ops, and on which ops are in flight and since when; on nothing else, since rates follow from the
 * transfers in flight. Compare, stream by stream, the ops that end in (t, t + d] with the ops that
 * end in (t + d, t + 2 d]. Suppose that each of the latter is d later, from its begin on, has the
 * same label, and has a tag (micro-batch) one period of the schedule higher. Then
 *
 *   1. at t + d each stream stands where it stood at t, one period of its schedule further on;
 *   2. an op in flight at t ends within (t, t + d], so its counterpart is in flight at t + d and
 *      began d later; it has as many bytes left, because the same transfers were in flight all
 *      along.
 *
 * So the state at t + d equals the state at t. A schedule with n more periods in the middle passes
 * through that state n more times: it ends n d later, and every sum over its spans grows by n times
 * the sum over one period. This holds on all engines, whether links are shared or not. Requiring
 * that every lane runs forward and backward passes in the period excludes the warm-up, in which
 * some stages repeat themselves while others still wait.
 *
 * Dates are equal when they differ by less than TOLERANCE of the period, which allows for rounding
 * (1e-16 of each date) and no more.
 */
#include "sim/run/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9
#define MOST_WINDOWS 12

typedef struct {
  const OrrProgram *program;
  const OrrSpan *spans;
  guint n;
  gint64 shift;
  guint32 *starts; /* stream s: by_stream[starts[s] .. starts[s + 1]), in order of end */
  guint32 *by_stream;
} Replay;

static void sort_by_stream(Replay *r) {
  const guint n_streams = orr_program_n_streams(r->program);
  r->starts = g_new0(guint32, n_streams + 2);
  r->by_stream = g_new(guint32, r->n + 1);
  for (guint i = 0; i < r->n; i++) r->starts[r->spans[i].stream + 2]++;
  for (guint s = 2; s < n_streams + 2; s++) r->starts[s] += r->starts[s - 1];
  for (guint i = 0; i < r->n; i++) r->by_stream[r->starts[r->spans[i].stream + 1]++] = i;
}

static const OrrSpan *span_of(const Replay *r, guint stream, guint k) {
  return &r->spans[r->by_stream[r->starts[stream] + k]];
}

static guint n_of(const Replay *r, guint stream) {
  return r->starts[stream + 1] - r->starts[stream];
}

/* Number of the stream's spans that end by @at_s. */
static guint count_until(const Replay *r, guint stream, double at_s) {
  guint low = 0, high = n_of(r, stream);
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (span_of(r, stream, middle)->end_s <= at_s)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static gboolean are_equal(const Replay *r, const OrrSpan *a, const OrrSpan *b, double period_s) {
  const double tolerance = TOLERANCE * period_s;
  return a->label == b->label && a->n_ops == b->n_ops && a->first == b->first &&
         b->tag - a->tag == r->shift && fabs(b->begin_s - a->begin_s - period_s) <= tolerance &&
         fabs(b->started_s - a->started_s - period_s) <= tolerance &&
         fabs(b->end_s - a->end_s - period_s) <= tolerance;
}

/* A pass is a forward, a backward, or both, by its label. */
static void note_pass(const Replay *r, const OrrSpan *span, gboolean *forward, gboolean *backward) {
  const char *name = orr_program_label_name(r->program, span->label);
  *forward = *forward || g_str_has_prefix(name, "forward");
  *backward = *backward || g_str_has_prefix(name, "backward");
}

static gboolean stream_repeats(const Replay *r, guint stream, double from_s, double period_s,
                               gboolean is_compute) {
  const guint a = count_until(r, stream, from_s), b = count_until(r, stream, from_s + period_s);
  const guint c = count_until(r, stream, from_s + 2 * period_s);
  gboolean forward = FALSE, backward = FALSE;
  if (b - a != c - b) return FALSE;
  for (guint k = a; k < b; k++) {
    if (!are_equal(r, span_of(r, stream, k), span_of(r, stream, k + b - a), period_s)) return FALSE;
    if (is_compute) note_pass(r, span_of(r, stream, k), &forward, &backward);
  }
  return !is_compute || (forward && backward);
}

static gboolean all_repeat(const Replay *r, double from_s, double period_s) {
  guint32 lane = G_MAXUINT32;
  for (guint s = 0; s < orr_program_n_streams(r->program); s++) {
    const gboolean is_compute =
        orr_program_stream_lane(r->program, s) != lane; /* a lane's first stream */
    lane = orr_program_stream_lane(r->program, s);
    if (!stream_repeats(r, s, from_s, period_s, is_compute)) return FALSE;
  }
  return TRUE;
}

/* The middle of the longest gap between two ends in (from, from + period): rounding does not move
 * an op across that cut. */
static gboolean find_cut(const Replay *r, double from_s, double period_s, double *ret_cut_s) {
  guint low = 0, high = r->n;
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (r->spans[middle].end_s < from_s)
      low = middle + 1;
    else
      high = middle;
  }
  double longest_s = 0;
  for (guint i = low; i + 1 < r->n && r->spans[i].end_s < from_s + period_s; i++) {
    const double gap_s = r->spans[i + 1].end_s - r->spans[i].end_s;
    if (gap_s <= longest_s) continue;
    longest_s = gap_s;
    *ret_cut_s = r->spans[i].end_s + gap_s / 2;
  }
  return longest_s > 8 * TOLERANCE * period_s;
}

/* Whether the @n spans of @stream up to @at match the @n before them in labels and tags, and
 * include both forward and backward passes. */
static gboolean ends_period(const Replay *r, guint stream, guint at, guint n) {
  gboolean forward = FALSE, backward = FALSE;
  for (guint k = 0; k < n; k++) {
    const OrrSpan *x = span_of(r, stream, at - k), *y = span_of(r, stream, at - k - n);
    if (x->label != y->label || x->tag - y->tag != r->shift) return FALSE;
    note_pass(r, x, &forward, &backward);
  }
  return forward && backward;
}

/* The last two periods of @stream: spans *@ret_at + 1 to *@ret_at + 2 *@ret_n. */
static gboolean last_two_periods(const Replay *r, guint stream, guint *ret_at, guint *ret_n) {
  for (guint at = n_of(r, stream); at-- > 0;) {
    const OrrSpan *last = span_of(r, stream, at);
    for (guint n = 1; 2 * n <= at && last->tag >= r->shift; n++) {
      const OrrSpan *before = span_of(r, stream, at - n);
      if (before->label != last->label || last->tag - before->tag != r->shift) continue;
      if (ends_period(r, stream, at, n)) {
        *ret_at = at - 2 * n;
        *ret_n = n;
        return TRUE;
      }
      break; /* a micro-batch runs a label once per period */
    }
  }
  return FALSE;
}

static gboolean find(const Replay *r, OrrSteady *ret_steady) {
  guint at = 0, n = 0;
  if (r->n == 0 || !last_two_periods(r, 0, &at, &n)) return FALSE;
  const double period_s = span_of(r, 0, at + n)->end_s - span_of(r, 0, at)->end_s;
  for (guint w = 0; w < MOST_WINDOWS && period_s > 0; w++) {
    const double begin_s = span_of(r, 0, at)->end_s - (w + 1) * period_s;
    double cut_s = 0;
    if (begin_s < 0) break;
    if (!find_cut(r, begin_s, period_s, &cut_s) || !all_repeat(r, cut_s, period_s)) continue;
    *ret_steady = (OrrSteady){cut_s, period_s};
    return TRUE;
  }
  return FALSE;
}

gboolean orr_steady_find(const OrrProgram *program, const GArray *spans, gint64 tags_per_period,
                         OrrSteady *ret_steady) {
  Replay r = {program, (const OrrSpan *)(void *)spans->data, spans->len, tags_per_period, NULL,
              NULL};
  sort_by_stream(&r);
  const gboolean is_found = find(&r, ret_steady);
  g_free(r.starts);
  g_free(r.by_stream);
  return is_found;
}

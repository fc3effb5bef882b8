/*
 * gang_spans.c - spans as a row of bytes. A span is coded against what the one before lets expect,
 * as jobs start one after the other on the next nodes:
 *
 *   end       4 bytes, filled when it ends: 1 + the place of its time among the times, and why
 *   flags     which of the following are there
 *   time      of its begin, among the times, less the last span's    if it differs
 *   job       its index                        if it is not the one that followed the last one's
 *                                              job the time before
 *   runs      their number                                               if it is not one
 *             each: the first node, less the one behind the run before; its nodes; GPUs of a node
 *             and at last the gang's GPUs              if they do not follow from the run before
 *
 * Numbers are in bytes of seven bits, the lowest first; differences have their sign in the lowest
 * bit.
 */
#include "workloads/cluster_jobs/core/gang_history.h"

enum { NEW_TIME = 1, NEW_JOB = 2, NEW_N_RUNS = 4, NEW_GPUS = 8 };
enum { WHY_BITS = 3 };

struct OrrGangSpans {
  int refs;
  GByteArray *bytes;
  GArray *times; /* of gint64: each differs from the one before */
  GArray *next;  /* of guint32, by job: the one whose span followed its last; writing */
  /* The last span that was added. */
  guint32 time, job;
  OrrGangRun run; /* its last */
};

OrrGangSpans *orr_gang_spans_new(void) {
  OrrGangSpans *spans = g_new0(OrrGangSpans, 1);
  spans->refs = 1;
  spans->bytes = g_byte_array_new();
  spans->times = g_array_new(FALSE, FALSE, sizeof(gint64));
  spans->next = g_array_new(FALSE, TRUE, sizeof(guint32));
  return spans;
}

OrrGangSpans *orr_gang_spans_ref(OrrGangSpans *spans) {
  spans->refs++;
  return spans;
}

void orr_gang_spans_unref(OrrGangSpans *spans) {
  if (!spans || --spans->refs > 0) return;
  g_byte_array_unref(spans->bytes);
  g_array_unref(spans->times);
  g_array_unref(spans->next);
  g_free(spans);
}

/* --- Writing --- */

static void put(guint8 **at, guint64 value) {
  for (; value >= 0x80; value >>= 7) *(*at)++ = (guint8)(value | 0x80);
  *(*at)++ = (guint8)value;
}

static void put_difference(guint8 **at, gint64 value) {
  put(at, (guint64)value << 1 ^ (guint64)(value >> 63));
}

static guint32 time_of(const OrrGangSpans *spans, gint64 at_us) {
  const guint n = spans->times->len;
  if (n == 0 || g_array_index(spans->times, gint64, n - 1) != at_us)
    g_array_append_val(spans->times, at_us);
  g_assert(spans->times->len < G_MAXUINT32 >> WHY_BITS);
  return spans->times->len - 1;
}

/* Whether the runs have other GPUs of a node than the run before each. */
static gboolean has_new_gpus(const OrrGangSpans *spans, const OrrGangSpan *span) {
  gint64 sum = 0;
  for (guint i = 0; i < span->n_runs; i++) {
    if (span->runs[i].gpus != spans->run.gpus) return TRUE;
    sum += (gint64)span->runs[i].n * span->runs[i].gpus;
  }
  return sum != span->gpus;
}

/* The job whose span followed @job's last, as far as @next knows. */
static guint32 *follower(GArray *next, guint32 job) {
  if (job >= next->len) g_array_set_size(next, job + 1);
  return &g_array_index(next, guint32, job);
}

static void put_runs(guint8 **at, const OrrGangSpan *span, OrrGangRun *last, gboolean with_gpus) {
  for (guint i = 0; i < span->n_runs; i++) {
    const OrrGangRun *run = &span->runs[i];
    put_difference(at, (gint64)run->first - last->first - last->n);
    put(at, run->n);
    if (with_gpus) put_difference(at, run->gpus);
    *last = *run;
  }
  if (with_gpus) put_difference(at, span->gpus);
}

/* The most that a span takes: five bytes for a number of 32 bits, and one more for its sign. */
static gsize most_bytes(const OrrGangSpan *span) {
  return sizeof(guint32) + 1 + 6 * (4 + 3 * (gsize)span->n_runs);
}

gsize orr_gang_spans_add(OrrGangSpans *spans, const OrrGangSpan *span) {
  const gsize begin = spans->bytes->len;
  const guint32 time = time_of(spans, span->begin_us), last_job = spans->job;
  const guint flags = (time != spans->time ? NEW_TIME : 0) |
                      (*follower(spans->next, last_job) != span->job ? NEW_JOB : 0) |
                      (span->n_runs != 1 ? NEW_N_RUNS : 0) |
                      (has_new_gpus(spans, span) ? NEW_GPUS : 0);
  g_byte_array_set_size(spans->bytes, (guint)(begin + most_bytes(span)));
  guint8 *at = spans->bytes->data + begin;
  memset(at, 0, sizeof(guint32));
  at += sizeof(guint32);
  *at++ = (guint8)flags;
  if (flags & NEW_TIME) put_difference(&at, (gint64)time - spans->time);
  if (flags & NEW_JOB) put(&at, span->job);
  if (flags & NEW_N_RUNS) put(&at, span->n_runs);
  put_runs(&at, span, &spans->run, (flags & NEW_GPUS) != 0);
  g_byte_array_set_size(spans->bytes, (guint)(at - spans->bytes->data));
  *follower(spans->next, last_job) = span->job;
  spans->time = time;
  spans->job = span->job;
  return begin;
}

void orr_gang_spans_end(OrrGangSpans *spans, gsize at, gint64 end_us, guint why) {
  const guint32 end = (time_of(spans, end_us) + 1) << WHY_BITS | why;
  memcpy(spans->bytes->data + at, &end, sizeof end);
}

/* --- Reading --- */

static guint64 take(const guint8 **at) {
  guint64 value = 0;
  for (int shift = 0;; shift += 7) {
    const guint8 byte = *(*at)++;
    value |= (guint64)(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

static gint64 take_difference(const guint8 **at) {
  const guint64 value = take(at);
  return (gint64)(value >> 1 ^ -(value & 1));
}

static void take_runs(const guint8 **at, GArray *runs, OrrGangRun *last, gboolean with_gpus) {
  for (guint i = 0; i < runs->len; i++) {
    last->first = (guint32)(take_difference(at) + last->first + last->n);
    last->n = (guint32)take(at);
    if (with_gpus) last->gpus = (gint32)take_difference(at);
    g_array_index(runs, OrrGangRun, i) = *last;
  }
}

/* Sets @span to the next; @last has what orr_gang_spans_add had when it was written. */
static const guint8 *read_span(OrrGangSpans *last, const guint8 *at, GArray *runs,
                               OrrGangSpan *span) {
  guint32 end;
  memcpy(&end, at, sizeof end);
  at += sizeof end;
  const guint flags = *at++;
  if (flags & NEW_TIME) last->time = (guint32)(take_difference(&at) + last->time);
  span->job = flags & NEW_JOB ? (guint32)take(&at) : *follower(last->next, last->job);
  g_array_set_size(runs, flags & NEW_N_RUNS ? (guint)take(&at) : 1);
  take_runs(&at, runs, &last->run, (flags & NEW_GPUS) != 0);
  gint64 sum = 0;
  for (guint i = 0; i < runs->len; i++)
    sum += (gint64)g_array_index(runs, OrrGangRun, i).n * g_array_index(runs, OrrGangRun, i).gpus;
  span->gpus = (gint32)(flags & NEW_GPUS ? take_difference(&at) : sum);
  *follower(last->next, last->job) = span->job;
  last->job = span->job;
  span->begin_us = g_array_index(last->times, gint64, last->time);
  span->end_us = end > 0 ? g_array_index(last->times, gint64, (end >> WHY_BITS) - 1) : -1;
  span->why = end & ((1 << WHY_BITS) - 1);
  span->n_runs = runs->len;
  span->runs = (const OrrGangRun *)(const void *)runs->data;
  return at;
}

void orr_gang_spans_each(const OrrGangSpans *spans, OrrOnGangSpan call, void *user) {
  g_autoptr(GArray) next = g_array_new(FALSE, TRUE, sizeof(guint32));
  g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(OrrGangRun));
  OrrGangSpans last = {.times = spans->times, .next = next};
  const guint8 *at = spans->bytes->data, *end = at + spans->bytes->len;
  while (at < end) {
    OrrGangSpan span;
    at = read_span(&last, at, runs, &span);
    call(&span, user);
  }
}

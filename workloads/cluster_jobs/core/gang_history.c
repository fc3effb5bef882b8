/*
 * gang_history.c - spans of jobs, and intervals that double.
 */
#include "workloads/cluster_jobs/core/gang_history.h"

#include <string.h>

const char *const orr_gang_why_words[] = {"",       "done",  "preempted", "cancelled",
                                          "failed", "moved", NULL};

OrrGangHistory *orr_gang_history_new(void) {
  OrrGangHistory *history = g_new0(OrrGangHistory, 1);
  history->spans = g_array_new(FALSE, FALSE, sizeof(OrrGangSpan));
  history->runs = g_array_new(FALSE, FALSE, sizeof(OrrGangRun));
  history->place = g_array_new(FALSE, FALSE, sizeof(OrrGangRun));
  history->each_us = 1;
  return history;
}

void orr_gang_history_free(OrrGangHistory *history) {
  if (!history) return;
  g_array_unref(history->spans);
  g_array_unref(history->runs);
  g_array_unref(history->place);
  g_free(history);
}

/* --- Spans --- */

/* Sets history->place to the nodes of @job. */
static void find_place(OrrGangHistory *history, const OrrGangJob *job) {
  const OrrGangShare *all = (const OrrGangShare *)(const void *)job->shares->data;
  g_array_set_size(history->place, 0);
  for (guint i = 0; i < job->shares->len;) {
    OrrGangRun run = {all[i].bin, 1, all[i].gpus};
    while (i + run.n < job->shares->len && all[i + run.n].bin == run.first + run.n &&
           all[i + run.n].gpus == run.gpus)
      run.n++;
    g_array_append_val(history->place, run);
    i += run.n;
  }
}

static gboolean is_there(const OrrGangHistory *history, const OrrGangSpan *span) {
  return span->n_runs == history->place->len &&
         memcmp(&g_array_index(history->runs, OrrGangRun, span->first_run), history->place->data,
                sizeof(OrrGangRun) * span->n_runs) == 0;
}

static OrrGangSpan *open_span(const OrrGangHistory *history, const OrrGangJob *job) {
  return job->span > 0 ? &g_array_index(history->spans, OrrGangSpan, job->span - 1) : NULL;
}

static guint index_of_why(const char *why) {
  guint i = 0;
  while (orr_gang_why_words[i] && strcmp(orr_gang_why_words[i], why) != 0) i++;
  g_assert(orr_gang_why_words[i]);
  return i;
}

void orr_gang_history_stop(OrrGangHistory *history, OrrGangJob *job, gint64 now_us,
                           const char *why) {
  OrrGangSpan *span = open_span(history, job);
  job->span = 0;
  if (!span) return;
  span->end_us = now_us;
  span->why = index_of_why(why) & 0xFF;
}

void orr_gang_history_start(OrrGangHistory *history, OrrGangJob *job, gint64 now_us) {
  const OrrGangSpan *open = open_span(history, job);
  find_place(history, job);
  if (open && is_there(history, open)) return;
  orr_gang_history_stop(history, job, now_us, "moved");
  const OrrGangSpan span = {.job = job->index,
                            .gpus = (gint32)job->gpus,
                            .begin_us = now_us,
                            .end_us = -1,
                            .first_run = history->runs->len,
                            .n_runs = history->place->len & 0xFFFFFF};
  g_array_append_vals(history->runs, history->place->data, history->place->len);
  g_array_append_val(history->spans, span);
  job->span = history->spans->len;
}

/* --- The cluster over time --- */

static void add(OrrGangMoment *moment, const OrrGangMoment *rates, double span_us) {
  moment->held += rates->held * span_us;
  moment->waiting += rates->waiting * span_us;
  moment->free += rates->free * span_us;
  moment->largest += rates->largest * span_us;
  moment->out += rates->out * span_us;
  moment->jobs_waiting += rates->jobs_waiting * span_us;
}

static void halve(OrrGangHistory *history) {
  static const OrrGangMoment none;
  for (guint i = 0; i < ORR_GANG_N_MOMENTS; i++) {
    OrrGangMoment sum = none;
    if (2 * i + 1 < ORR_GANG_N_MOMENTS) {
      add(&sum, &history->moments[2 * i], 1);
      add(&sum, &history->moments[2 * i + 1], 1);
    }
    history->moments[i] = sum;
  }
  history->each_us *= 2;
}

void orr_gang_history_pass(OrrGangHistory *history, gint64 from_us, gint64 to_us,
                           const OrrGangMoment *rates) {
  while ((to_us - history->begin_us) / history->each_us >= ORR_GANG_N_MOMENTS) halve(history);
  while (from_us < to_us) {
    const guint i = (guint)((from_us - history->begin_us) / history->each_us);
    const gint64 end_us = MIN(history->begin_us + (i + 1) * history->each_us, to_us);
    add(&history->moments[i], rates, (double)(end_us - from_us));
    history->n = MAX(history->n, i + 1);
    from_us = end_us;
  }
  history->n = MIN(history->n, (guint)((to_us - history->begin_us) / history->each_us) + 1);
}

gint64 orr_gang_history_largest(const gint64 *free, guint n, gint64 size) {
  gint64 whole = 0, most = 0;
  for (guint i = 0; i < n; i++) {
    if (free[i] == size)
      whole += size;
    else
      most = MAX(most, free[i]);
  }
  return whole + most;
}

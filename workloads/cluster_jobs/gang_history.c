/*
 * gang_history.c - spans of jobs, and intervals that double.
 */
#include "workloads/cluster_jobs/gang_history.h"

#include <string.h>

OrrGangHistory *orr_gang_history_new(void) {
  OrrGangHistory *history = g_new0(OrrGangHistory, 1);
  history->spans = g_array_new(FALSE, FALSE, sizeof(OrrGangSpan));
  history->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  history->each_us = 1;
  return history;
}

void orr_gang_history_free(OrrGangHistory *history) {
  if (!history) return;
  g_array_unref(history->spans);
  g_array_unref(history->shares);
  g_free(history);
}

/* --- Spans --- */

static gboolean is_there(const OrrGangHistory *history, const OrrGangSpan *span,
                         const OrrGangJob *job) {
  return span->n_shares == job->shares->len &&
         memcmp(&g_array_index(history->shares, OrrGangShare, span->first_share), job->shares->data,
                sizeof(OrrGangShare) * span->n_shares) == 0;
}

static OrrGangSpan *open_span(const OrrGangHistory *history, const OrrGangJob *job) {
  return job->span > 0 ? &g_array_index(history->spans, OrrGangSpan, job->span - 1) : NULL;
}

void orr_gang_history_stop(OrrGangHistory *history, OrrGangJob *job, gint64 now_us,
                           const char *why) {
  OrrGangSpan *span = open_span(history, job);
  job->span = 0;
  if (!span) return;
  span->end_us = now_us;
  span->why = why;
}

void orr_gang_history_start(OrrGangHistory *history, OrrGangJob *job, gint64 now_us) {
  const OrrGangSpan *open = open_span(history, job);
  if (open && is_there(history, open, job)) return;
  orr_gang_history_stop(history, job, now_us, "moved");
  const OrrGangSpan span = {.job = job,
                            .begin_us = now_us,
                            .end_us = -1,
                            .first_share = history->shares->len,
                            .n_shares = job->shares->len,
                            .why = ""};
  g_array_append_vals(history->shares, job->shares->data, job->shares->len);
  g_array_append_val(history->spans, span);
  job->span = history->spans->len;
}

char *orr_gang_history_nodes(const OrrGangHistory *history, const OrrGangSpan *span) {
  g_autoptr(GString) text = g_string_new(NULL);
  const OrrGangShare *all = &g_array_index(history->shares, OrrGangShare, span->first_share);
  for (guint i = 0; i < span->n_shares;) {
    guint n = 1;
    while (i + n < span->n_shares && all[i + n].bin == all[i].bin + n) n++;
    g_string_append_printf(text, "%s%u", text->len ? "," : "", all[i].bin);
    if (n > 1) g_string_append_printf(text, "-%u", all[i].bin + n - 1);
    i += n;
  }
  return g_string_free(g_steal_pointer(&text), FALSE);
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

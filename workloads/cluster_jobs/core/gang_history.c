/*
 * gang_history.c - spans of jobs, and intervals that double.
 */
#include "workloads/cluster_jobs/core/gang_history.h"

const char *const orr_gang_why_words[] = {"",       "done",  "preempted", "cancelled",
                                          "failed", "moved", NULL};

/* A span that runs: what it is called, and its nodes. */
typedef struct {
  gsize at;
  guint n_runs;
  OrrGangRun runs[];
} Open;

static guint index_of_why(const char *why) {
  guint i = 0;
  while (orr_gang_why_words[i] && strcmp(orr_gang_why_words[i], why) != 0) i++;
  g_assert(orr_gang_why_words[i]);
  return i;
}

OrrGangHistory *orr_gang_history_new(void) {
  OrrGangHistory *history = g_new0(OrrGangHistory, 1);
  history->spans = orr_gang_spans_new();
  history->open = g_ptr_array_new_with_free_func(g_free);
  history->unused = g_array_new(FALSE, FALSE, sizeof(guint));
  history->place = g_array_new(FALSE, FALSE, sizeof(OrrGangRun));
  history->each_us = 1;
  history->moved = index_of_why("moved");
  return history;
}

void orr_gang_history_free(OrrGangHistory *history) {
  if (!history) return;
  orr_gang_spans_unref(history->spans);
  g_ptr_array_unref(history->open);
  g_array_unref(history->unused);
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

static gboolean is_there(const OrrGangHistory *history, const Open *open) {
  return open->n_runs == history->place->len &&
         memcmp(open->runs, history->place->data, sizeof(OrrGangRun) * open->n_runs) == 0;
}

static void stop(OrrGangHistory *history, OrrGangJob *job, gint64 now_us, guint why) {
  if (job->span == 0) return;
  const guint i = job->span - 1;
  const Open *open = history->open->pdata[i];
  orr_gang_spans_end(history->spans, open->at, now_us, why);
  g_clear_pointer(&history->open->pdata[i], g_free);
  g_array_append_val(history->unused, i);
  job->span = 0;
}

void orr_gang_history_stop(OrrGangHistory *history, OrrGangJob *job, gint64 now_us,
                           const char *why) {
  stop(history, job, now_us, index_of_why(why));
}

/* Sets the span of @job to @open. */
static void keep(OrrGangHistory *history, OrrGangJob *job, Open *open) {
  const guint n = history->unused->len;
  if (n == 0) {
    g_ptr_array_add(history->open, open);
    job->span = history->open->len;
    return;
  }
  const guint i = g_array_index(history->unused, guint, n - 1);
  g_array_set_size(history->unused, n - 1);
  history->open->pdata[i] = open;
  job->span = i + 1;
}

void orr_gang_history_start(OrrGangHistory *history, OrrGangJob *job, gint64 now_us) {
  find_place(history, job);
  if (job->span > 0 && is_there(history, history->open->pdata[job->span - 1])) return;
  stop(history, job, now_us, history->moved);
  const guint n_runs = history->place->len;
  Open *open = g_malloc(sizeof(Open) + sizeof(OrrGangRun) * n_runs);
  memcpy(open->runs, history->place->data, sizeof(OrrGangRun) * n_runs);
  open->n_runs = n_runs;
  const OrrGangSpan span = {.job = job->index,
                            .gpus = (gint32)job->gpus,
                            .begin_us = now_us,
                            .runs = open->runs,
                            .n_runs = n_runs};
  open->at = orr_gang_spans_add(history->spans, &span);
  keep(history, job, open);
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

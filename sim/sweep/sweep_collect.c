/*
 * sweep_collect.c - merges the tasks' databases, submits again the points that are left, and
 * reports the status of a submitted sweep.
 */
#include <unistd.h>

#include "results/store.h"
#include "sim/sweep/sweep_reasons.h"
#include "sim/sweep/sweep_slurm.h"
#include "sim/sweep/sweep_submit.h"

#define MOST_BARREN 3
/* The job that merges waits this long for tasks to end; Slurm takes up to KillWait, 30 s. */
#define AWAIT_S 120

static const OrrSlurmTask *find_task(const GArray *tasks, gint64 index) {
  const OrrSlurmTask *found = NULL;
  ORR_EACH(const OrrSlurmTask, one, tasks) {
    if (one->task == index) return one;
    if (one->task < 0) found = one;
  }
  return found;
}

/* The states of the tasks of the last submission, with Slurm's words for them. Slurm forgets a task
 * that was cancelled while it waited at once, and one that ended after MinJobAge: a forgotten task
 * that never began counts as cancelled, any other as done. NULL with @error. */
static OrrSlurmState *query_states(const OrrSweepBatch *batch, char ***ret_words, GError **error) {
  g_autoptr(GArray) tasks = NULL;
  if (batch->job && !(tasks = orr_slurm_tasks(batch->job, error))) return NULL;
  OrrSlurmState *states = g_new0(OrrSlurmState, (gsize)batch->tasks + 1);
  char **words = g_new0(char *, (gsize)batch->tasks + 1);
  for (gint64 i = 0; i < batch->tasks; i++) {
    const OrrSlurmTask *found = batch->is_submitted[i] ? find_task(tasks, i) : NULL;
    const gboolean is_lost =
        !found && batch->is_submitted[i] && batch->job && !orr_sweep_batch_has_begun(batch, i);
    states[i] = found ? found->state : is_lost ? ORR_SLURM_CANCELLED : ORR_SLURM_DONE;
    words[i] = g_strdup(found ? found->word : "CANCELLED");
  }
  *ret_words = words;
  return states;
}

static gboolean is_active(OrrSlurmState state) {
  return state == ORR_SLURM_QUEUED || state == ORR_SLURM_RUNNING;
}

/* Whether this process is the job that merges, and not a person's --collect. */
static gboolean is_unattended(const OrrSweepBatch *batch) {
  return batch->merge_job && g_strcmp0(g_getenv("SLURM_JOB_ID"), batch->merge_job) == 0;
}

static gboolean is_any_active(const OrrSweepBatch *batch, const OrrSlurmState *states) {
  for (gint64 i = 0; i < batch->tasks; i++)
    if (is_active(states[i])) return TRUE;
  return FALSE;
}

/* The same, but the job that merges waits until all tasks have ended: Slurm starts it while the
 * last task is still COMPLETING. */
static OrrSlurmState *await_states(const OrrSweepBatch *batch, char ***ret_words, GError **error) {
  OrrSlurmState *states = query_states(batch, ret_words, error);
  for (int s = 0; s < AWAIT_S && states && is_unattended(batch) && is_any_active(batch, states);
       s++) {
    g_usleep(G_USEC_PER_SEC);
    g_free(states);
    g_clear_pointer(ret_words, g_strfreev);
    states = query_states(batch, ret_words, error);
  }
  return states;
}

/* Merges the shards, except running tasks'. */
static gboolean merge(const OrrSweepBatch *batch, const OrrSlurmState *states, GError **error) {
  g_autoptr(OrrStore) store = orr_store_open(batch->db, error);
  if (!store) return FALSE;
  for (gint64 task = 0; task < batch->tasks; task++) {
    g_autofree char *shard = orr_sweep_batch_task_path(batch, task, "db");
    if (states[task] == ORR_SLURM_RUNNING || orr_store_is_blank(shard)) continue;
    if (!orr_store_begin_batch(store, error) || !orr_store_merge(store, shard, NULL, error) ||
        !orr_store_end_batch(store, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean check_progress(OrrSweepBatch *batch, const OrrSweepReport *report, GError **error) {
  const gboolean is_barren = (gint64)report->n_done <= batch->n_done;
  batch->n_barren = is_barren && is_unattended(batch) ? batch->n_barren + 1 : 0;
  if (batch->n_barren < MOST_BARREN) return TRUE;
  g_autofree char *words = NULL;
  for (gint64 i = 0; i < batch->tasks && !words; i++)
    if (report->left[i] > 0) words = orr_sweep_batch_last_line(batch, i);
  return orr_fault_set(
      error, ORR_FAULT_RESOURCE,
      "%" G_GUINT64_FORMAT
      " points are left, and the last %d submissions brought none: '%s' (%s/task-*.out); "
      "--collect submits again",
      report->n_left, MOST_BARREN, words ? words : "no task printed anything", batch->folder);
}

/* Submits the points that are left, except points of tasks that still run or were cancelled. */
static gboolean submit_left(OrrLibrary *library, OrrSweepBatch *batch, OrrSweepReport *report,
                            const OrrSlurmState *states, GError **error) {
  if (report->is_whole) {
    batch->is_whole = TRUE;
    orr_sweep_batch_clear_shards(batch);
    return orr_sweep_batch_save(batch, error);
  }
  guint64 n = 0;
  if (is_any_active(batch, states)) return TRUE;
  for (gint64 i = 0; i < batch->tasks; i++) {
    if (states[i] == ORR_SLURM_CANCELLED && is_unattended(batch)) report->left[i] = 0;
    n += report->left[i];
  }
  if (n == 0) return TRUE;
  g_autoptr(OrrSweepPlan) plan =
      orr_sweep_submit_plan(library, batch->file, batch->settings, error);
  if (!plan) return FALSE;
  if (check_progress(batch, report, error))
    return orr_sweep_submit(batch, &plan->section.slurm, report, error);
  orr_sweep_batch_save(batch, NULL);
  return FALSE;
}

static OrrSweepReport *collect(OrrLibrary *library, OrrSweepBatch *batch, GError **error) {
  g_auto(GStrv) words = NULL;
  g_autofree OrrSlurmState *states = NULL;
  if (!batch->is_whole) {
    if (!(states = await_states(batch, &words, error)) || !merge(batch, states, error)) return NULL;
  }
  g_autoptr(OrrSweepReport) report = orr_sweep_submit_look(library, batch, TRUE, TRUE, error);
  if (!report || (states && !submit_left(library, batch, report, states, error))) return NULL;
  return g_steal_pointer(&report);
}

OrrSweepReport *orr_sweep_slurm_collect(OrrLibrary *library, const char *db, GError **error) {
  if (!orr_slurm_check(error)) return NULL;
  g_autoptr(OrrSweepBatch) found =
      orr_sweep_batch_load(db, error); /* before the lock, which creates a folder */
  const int lock = found ? orr_sweep_batch_lock(db, error) : -1;
  if (lock < 0) return NULL;
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_load(db, error);
  OrrSweepReport *report = batch ? collect(library, batch, error) : NULL;
  close(lock);
  return report;
}

/* --- Status --- */

void orr_slurm_status_free(OrrSlurmStatus *status) {
  if (!status) return;
  ORR_FREE(status->file, status->db, status->folder, status->job, status->merge_job);
  g_array_unref(status->refused);
  g_strfreev(status->settings);
  g_array_unref(status->failures);
  g_free(status);
}

static OrrSlurmStatus *status_new(const OrrSweepBatch *batch) {
  OrrSlurmStatus *status = g_new0(OrrSlurmStatus, 1);
  status->sweep = batch->run;
  status->file = g_strdup(batch->file);
  status->settings = g_strdupv(batch->settings);
  status->db = g_strdup(batch->db);
  status->folder = g_strdup(batch->folder);
  status->job = g_strdup(batch->job);
  status->merge_job = g_strdup(batch->merge_job);
  status->submission = batch->submission;
  status->n_points = (guint64)batch->n_points;
  status->is_whole = batch->is_whole;
  status->refused = orr_sweep_reasons_new();
  status->failures = orr_sweep_reasons_new();
  return status;
}

static void count_task(const OrrSweepBatch *batch, gint64 task, OrrSlurmState state,
                       const char *word, OrrSlurmStatus *status) {
  status->n_tasks++;
  status->by_state[state]++;
  if (state != ORR_SLURM_FAILED && state != ORR_SLURM_CANCELLED) return;
  g_autofree char *words = orr_sweep_batch_last_line(batch, task);
  g_autofree char *reason = words ? g_strdup_printf("%s: %s", word, words) : g_strdup(word);
  orr_sweep_reasons_add(status->failures, reason, 1);
}

OrrSlurmStatus *orr_sweep_slurm_status(const char *db, GError **error) {
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_load(db, error);
  if (!batch || !orr_slurm_check(error)) return NULL;
  g_auto(GStrv) words = NULL;
  g_autofree OrrSlurmState *states = query_states(batch, &words, error);
  if (!states) return NULL;
  OrrSlurmStatus *status = status_new(batch);
  orr_sweep_batch_add_notes(batch, status);
  for (gint64 task = 0; task < batch->tasks; task++)
    if (batch->is_submitted[task]) count_task(batch, task, states[task], words[task], status);
  return status;
}

/*
 * sweep_slurm.c - begins a sweep on Slurm, and runs one of its tasks.
 */
#include "sim/sweep/sweep_slurm.h"

#include <unistd.h>

#include "sim/sweep/sweep_submit.h"

#define NOTE_US G_USEC_PER_SEC

static OrrSweepBatch *begin(const OrrSweepOrder *order, const OrrSweepPlan *plan) {
  OrrSweepBatch *batch = orr_sweep_batch_new(order->db);
  batch->file = g_strdup(order->file);
  batch->settings = g_strdupv(order->settings);
  batch->hash = g_strdup(plan->hash);
  batch->tasks = plan->section.slurm.tasks;
  batch->cpus = plan->section.slurm.cpus;
  batch->timeout_s = order->timeout_s;
  batch->whole_steps = order->whole_steps;
  return batch;
}

/* Refuses to replace a submitted sweep that is not whole, since it would lose its shards. A sweep
 * that died before sbatch took it has no shards: it begins again under its number, *@ret_run. */
static gboolean check_free(const char *db, const char *hash, gint64 *ret_run, GError **error) {
  *ret_run = 0;
  if (!orr_sweep_batch_exists(db)) return TRUE;
  g_autoptr(OrrSweepBatch) old = orr_sweep_batch_load(db, error);
  if (!old) return FALSE;
  if (old->is_whole) return TRUE;
  if (!old->job && old->submission == 1) {
    if (g_str_equal(old->hash, hash)) *ret_run = old->run;
    return TRUE;
  }
  return orr_fault_set(
      error, ORR_FAULT_USAGE,
      "the sweep of %s that was submitted for %s is not complete: --status prints its progress, "
      "--collect merges it and submits missing points again; to give it up, remove %s",
      old->file, db, old->folder);
}

static gboolean write_scripts(const OrrSweepBatch *batch, const OrrLibrary *library,
                              GError **error) {
  return orr_sweep_batch_write_script(batch, library, "batch", "--task \"$SLURM_ARRAY_TASK_ID\"",
                                      error) &&
         orr_sweep_batch_write_script(batch, library, "merge", "--collect", error);
}

/* After Slurm took no job: removes the sweep that was begun, and restores the folder. */
static void undo(const OrrSweepBatch *batch, const OrrSweepReport *report, gboolean is_begun,
                 const char *kept) {
  orr_sweep_batch_restore(batch, kept);
  g_autoptr(OrrStore) store = is_begun ? orr_store_open(batch->db, NULL) : NULL;
  if (store) orr_store_remove_run(store, report->sweep, NULL);
}

static gboolean submit_left(OrrLibrary *library, OrrSweepBatch *batch, const OrrSweepPlan *plan,
                            const OrrSweepReport *report, GError **error) {
  batch->run = report->sweep;
  batch->n_points = (gint64)report->n_points;
  for (int status = 0; status < ORR_N_POINT_STATUSES; status++)
    batch->before[status] = (gint64)report->by_status[status];
  orr_sweep_batch_clear_shards(batch);
  orr_sweep_batch_clear_notes(batch);
  if (report->n_left == 0) {
    batch->is_whole = TRUE;
    return orr_sweep_batch_save(batch, error);
  }
  return write_scripts(batch, library, error) &&
         orr_sweep_submit(batch, &plan->section.slurm, report, error);
}

static gboolean submit_first(OrrLibrary *library, const OrrSweepOrder *order,
                             const OrrSweepPlan *plan, GError **error) {
  g_autoptr(OrrSweepBatch) batch = begin(order, plan);
  if (!check_free(order->db, plan->hash, &batch->run, error)) return FALSE;
  g_autofree char *kept = orr_sweep_batch_keep(batch);
  g_autoptr(OrrSweepReport) report =
      orr_sweep_submit_look(library, batch, order->resume, order->yes, error);
  if (!report) return FALSE;
  const gboolean fine = submit_left(library, batch, plan, report, error);
  if (!fine && !batch->job) undo(batch, report, !order->resume && report->n_before == 0, kept);
  return fine;
}

gboolean orr_sweep_slurm_submit(OrrLibrary *library, const OrrSweepOrder *order, GError **error) {
  if (!orr_slurm_check(error)) return FALSE;
  g_autoptr(OrrSweepPlan) plan =
      orr_sweep_submit_plan(library, order->file, order->settings, error);
  const int lock = plan ? orr_sweep_batch_lock(order->db, error) : -1;
  if (lock < 0) return FALSE;
  const gboolean fine = submit_first(library, order, plan, error);
  close(lock);
  return fine;
}

/* --- A task --- */

typedef struct {
  const OrrSweepBatch *batch;
  gint64 task, noted_us;
} Noting;

static void note(const OrrSweepReport *report, void *user) {
  Noting *noting = user;
  const gint64 now_us = g_get_monotonic_time();
  if (now_us - noting->noted_us < NOTE_US) return;
  noting->noted_us = now_us;
  orr_sweep_batch_note(noting->batch, noting->task, report);
}

gboolean orr_sweep_slurm_task(OrrLibrary *library, const char *db, gint64 task,
                              const volatile gint *interrupted, GError **error) {
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_load(db, error);
  if (!batch) return FALSE;
  if (task >= batch->tasks)
    return orr_fault_set(error, ORR_FAULT_USAGE, "--task %ld: the tasks are 0 to %ld", task,
                         batch->tasks - 1);
  g_autofree char *shard = orr_sweep_batch_task_path(batch, task, "db"),
                  *known = orr_sweep_batch_path(batch, "known");
  Noting noting = {batch, task, 0};
  orr_sweep_batch_note_begin(batch, task);
  const OrrSweepOrder order = {.file = batch->file,
                               .settings = batch->settings,
                               .db = shard,
                               .jobs = (guint)batch->cpus,
                               .timeout_s = batch->timeout_s,
                               .yes = TRUE,
                               .whole_steps = batch->whole_steps,
                               .shard = (guint)task,
                               .n_shards = (guint)batch->tasks,
                               .run = batch->run,
                               .hash = batch->hash,
                               .known = known,
                               .interrupted = interrupted,
                               .progress = note,
                               .user = &noting};
  g_autoptr(OrrSweepReport) report = orr_sweep(library, &order, error);
  if (report) orr_sweep_batch_note(batch, task, report);
  return report != NULL;
}

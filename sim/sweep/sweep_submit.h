/*
 * sweep_submit.h - a submission to Slurm: finds the points that are left, and submits their tasks.
 */
#pragma once

#include "sim/sweep/sweep_plan.h"
#include "sim/sweep/sweep_slurm.h"

/* sweep_batch.c: the folder DB.slurm of a sweep on Slurm (sweep_slurm.h): the submission
 * (sweep.ini) and the progress of each task (task-K.progress), in small text files that are
 * replaced whole.
 */

/* A submitted sweep. */
typedef struct {
  char *folder;
  char *db, *file, *hash;
  char **settings;
  gint64 run, n_points, tasks, cpus, submission;
  gint64 n_done;   /* points merged at the last submission */
  gint64 n_barren; /* successive submissions that brought no point */
  /* Points in the database before the first submission, by status. */
  gint64 before[ORR_N_POINT_STATUSES];
  double timeout_s; /* of --timeout; 0: the document's */
  gboolean whole_steps, is_whole;
  char *job, *merge_job;
  gboolean *is_submitted; /* by task: whether the last submission had it */
} OrrSweepBatch;

OrrSweepBatch *orr_sweep_batch_new(const char *db);
/* ORR_FAULT_RESOURCE if no sweep was submitted for @db. */
OrrSweepBatch *orr_sweep_batch_load(const char *db, GError **error);
gboolean orr_sweep_batch_exists(const char *db);
gboolean orr_sweep_batch_save(const OrrSweepBatch *batch, GError **error);
/* The text of sweep.ini, to restore it if the submission that replaces it is refused; NULL: there
 * is no sweep.ini. */
char *orr_sweep_batch_keep(const OrrSweepBatch *batch);
void orr_sweep_batch_restore(const OrrSweepBatch *batch, const char *kept);
void orr_sweep_batch_free(OrrSweepBatch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepBatch, orr_sweep_batch_free)

/* FOLDER/task-K.TAIL, and FOLDER/NAME; newly allocated. */
char *orr_sweep_batch_task_path(const OrrSweepBatch *batch, gint64 task, const char *tail);
char *orr_sweep_batch_path(const OrrSweepBatch *batch, const char *name);

/* Locks the folder against other processes until the returned descriptor is closed; -1 with
 * @error. */
int orr_sweep_batch_lock(const char *db, GError **error);

/* Writes the script NAME, which runs `orrery sweep --db DB @arguments` on a node. */
gboolean orr_sweep_batch_write_script(const OrrSweepBatch *batch, const OrrLibrary *library,
                                      const char *name, const char *arguments, GError **error);

/* Records that a task began; and whether it began since the last submission. */
void orr_sweep_batch_note_begin(const OrrSweepBatch *batch, gint64 task);
gboolean orr_sweep_batch_has_begun(const OrrSweepBatch *batch, gint64 task);

/* Records the progress of a task; and adds the progress of all tasks to @status. */
void orr_sweep_batch_note(const OrrSweepBatch *batch, gint64 task, const OrrSweepReport *report);
void orr_sweep_batch_add_notes(const OrrSweepBatch *batch, OrrSlurmStatus *status);
/* The last line that a task printed, newly allocated; NULL if it printed nothing. */
char *orr_sweep_batch_last_line(const OrrSweepBatch *batch, gint64 task);

/* Removes the tasks' databases; and their records of progress and output. */
void orr_sweep_batch_clear_shards(const OrrSweepBatch *batch);
void orr_sweep_batch_clear_notes(const OrrSweepBatch *batch);

/* The plan of @file, whose section sweep.slurm has the options of sbatch. */
OrrSweepPlan *orr_sweep_submit_plan(OrrLibrary *library, const char *file, char **settings,
                                    GError **error);

/* Counts the points that are left, by task (report->left), without simulating. Begins the sweep in
 * the database if it is not there. @resume, @yes: as in OrrSweepOrder. */
OrrSweepReport *orr_sweep_submit_look(OrrLibrary *library, const OrrSweepBatch *batch,
                                      gboolean resume, gboolean yes, GError **error);

/* Submits the tasks that have points left in @report, and the job that merges. Sets batch->job and
 * batch->merge_job as far as Slurm took them. */
gboolean orr_sweep_submit(OrrSweepBatch *batch, const OrrSlurm *slurm, const OrrSweepReport *report,
                          GError **error);

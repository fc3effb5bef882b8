/*
 * sweep_slurm.h - a sweep on a Slurm cluster.
 *
 * The folder DB.slurm is next to the database DB, on a file system that all nodes see:
 *
 *   submit    begins the sweep in DB, writes batch, merge and sweep.ini, and submits two jobs: an
 *             array of tasks, and a job that starts when all tasks have ended, in whatever state
 *             (--dependency=afterany), and collects
 *   task K    simulates the points p with p % tasks == K into its own database task-K.db (a shard),
 *             and continues with the points that are missing there
 *   collect   merges the shards, and submits again the tasks that have points left, because they
 *             were killed or ran out of time
 *
 *   submitted -> tasks run -> collected -> complete: the shards are removed
 *        ^                       |
 *        +---- points are left --+     three submissions in a row that bring no point are an error
 *
 * Invariants
 *  1. A point has the same number and the same task in every submission, and its run the number
 *     that it would have locally: the merged database is the local one, row for row.
 *  2. Each database has one writer: a shard its task, DB the process that collects, one at a time
 *     (DB.slurm/lock). The shards of running tasks are not touched.
 *  3. Merging skips existing points, so a collection that died can be repeated.
 *  4. A task that a person cancelled is only submitted again by a person's `--collect`.
 */
#pragma once

#include "sim/sweep/slurm.h"
#include "sim/sweep/sweep.h"

/* The progress of a submitted sweep. */
typedef struct {
  gint64 sweep; /* the run of the sweep */
  char *file, *db, *folder;
  char **settings; /* the sweep's --set; NULL: none */
  char *job, *merge_job;
  gint64 submission; /* from 1 */
  guint64 n_points;
  guint64 by_status[ORR_N_POINT_STATUSES];
  guint64 n_done;
  GArray *refused; /* of OrrSweepExclusion: points that are not ok, by reason */
  guint n_tasks;   /* of the last submission */
  guint by_state[ORR_N_SLURM_STATES];
  GArray *failures; /* of OrrSweepExclusion: tasks that failed or were cancelled, by reason */
  gboolean is_whole;
} OrrSlurmStatus;

void orr_slurm_status_free(OrrSlurmStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSlurmStatus, orr_slurm_status_free)

/* Submits the sweep of @order (of its members: file, settings, db, timeout_s, resume, yes,
 * whole_steps). ORR_FAULT_RESOURCE without Slurm; then nothing has changed. */
gboolean orr_sweep_slurm_submit(OrrLibrary *library, const OrrSweepOrder *order, GError **error);

/* Runs task @task of the sweep that was submitted for @db; called in the process of the job.
 * @interrupted: as in OrrSweepOrder. */
gboolean orr_sweep_slurm_task(OrrLibrary *library, const char *db, gint64 task,
                              const volatile gint *interrupted, GError **error);

/* Merges the shards, submits again the points that are left and that no task simulates, and reports
 * the merged points. */
OrrSweepReport *orr_sweep_slurm_collect(OrrLibrary *library, const char *db, GError **error);

OrrSlurmStatus *orr_sweep_slurm_status(const char *db, GError **error);

/*
 * sweep_slurm.h - a sweep on a Slurm cluster.
 *
 * Beside the database DB lies the folder DB.slurm, on a file system that all nodes see:
 *
 *   submit    begins the sweep in DB, writes batch, merge and sweep.ini, and submits two jobs: an array of tasks, and
 *             one that waits for all of them, however they end (--dependency=afterany), and collects
 *   task K    runs the points p with p % tasks == K into task-K.db, a database of its own; goes on with what is there
 *   collect   merges what the tasks have, and submits again the tasks that have points left, be it that they were
 *             killed or ran out of time, or that a rung of the sampler made new points
 *
 *   submitted -> tasks run -> collected -> whole: the shards are removed
 *        ^                       |
 *        +---- points are left --+     three submissions in a row that bring no point are an error
 *
 * Invariants
 *  1. A point has one number and one task, whatever the round; its run has the number that it would have locally, so
 *     the merged database is the local one, row for row.
 *  2. Each database has one writer: a shard its task, DB whoever collects, one at a time (DB.slurm/lock). Shards of
 *     tasks that run are left alone.
 *  3. Merging takes what is not there yet: a collection that dies is made again.
 *  4. What somebody cancelled is not submitted again but by `--collect` of a person.
 */
#ifndef ORR_SWEEP_SLURM_H
#define ORR_SWEEP_SLURM_H

#include "sim/sweep/slurm.h"
#include "sim/sweep/sweep.h"

G_BEGIN_DECLS

/* How far it is. */
typedef struct {
  gint64 sweep; /* its run */
  char *file, *db, *folder;
  char *job, *merge_job;
  gint64 submission; /* from 1 */
  guint64 n_points;  /* later rungs counted in full */
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

/* Submits the sweep of @order (file, settings, db, timeout_s, resume, yes, whole_steps).
 * ORR_FAULT_RESOURCE where there is no Slurm: nothing was touched. */
gboolean orr_sweep_slurm_submit(OrrLibrary *library, const OrrSweepOrder *order, GError **error);

/* Task @task of the sweep that was submitted for @db: in the job's process. @interrupted: as of
 * an order. */
gboolean orr_sweep_slurm_task(OrrLibrary *library, const char *db, gint64 task,
                              const volatile gint *interrupted, GError **error);

/* Merges and, where points are left that nobody works at, submits again. The report is of what
 * is merged. */
OrrSweepReport *orr_sweep_slurm_collect(OrrLibrary *library, const char *db, GError **error);

OrrSlurmStatus *orr_sweep_slurm_status(const char *db, GError **error);

G_END_DECLS

#endif

/*
 * sweep_batch.h - the folder DB.slurm: what was submitted (sweep.ini), and how far each task says
 * it is (task-K.progress), in small text files that are replaced whole. See sweep_slurm.h.
 */
#ifndef ORR_SWEEP_BATCH_H
#define ORR_SWEEP_BATCH_H

#include "sim/sweep/sweep_slurm.h"

G_BEGIN_DECLS

/* What is known of a sweep that was submitted. */
typedef struct {
  char *folder;
  char *db, *file, *hash;
  char **settings;
  gint64 run, n_points, tasks, cpus, submission;
  gint64 n_done,
      n_barren; /* merged at the last submission; submissions in a row that brought no point */
  gint64 before[ORR_N_POINT_STATUSES]; /* in the database before the first submission */
  double timeout_s;                    /* of --timeout; 0: the document's */
  gboolean whole_steps, is_whole;
  char *job, *merge_job;
  gboolean *is_asked; /* of the last submission, by task */
} OrrSweepBatch;

OrrSweepBatch *orr_sweep_batch_new(const char *db);
/* RESOURCE where none was submitted */
OrrSweepBatch *orr_sweep_batch_load(const char *db, GError **error);
gboolean orr_sweep_batch_exists(const char *db);
gboolean orr_sweep_batch_save(const OrrSweepBatch *batch, GError **error);
/* sweep.ini as it is, to put back where the submission that replaces it is refused; NULL: there
 * is none. */
char *orr_sweep_batch_keep(const OrrSweepBatch *batch);
void orr_sweep_batch_restore(const OrrSweepBatch *batch, const char *kept);
void orr_sweep_batch_free(OrrSweepBatch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepBatch, orr_sweep_batch_free)

/* FOLDER/task-K.TAIL, and FOLDER/NAME; newly allocated. */
char *orr_sweep_batch_task_path(const OrrSweepBatch *batch, gint64 task, const char *tail);
char *orr_sweep_batch_path(const OrrSweepBatch *batch, const char *name);

/* A descriptor that holds the folder against other processes until it is closed; -1 with @error. */
int orr_sweep_batch_lock(const char *db, GError **error);

gboolean orr_sweep_batch_write_script(const OrrSweepBatch *batch, const OrrLibrary *library,
                                      const char *name, const char *arguments, GError **error);

/* A task says that it began; whether it did since the last submission. */
void orr_sweep_batch_note_begin(const OrrSweepBatch *batch, gint64 task);
gboolean orr_sweep_batch_has_begun(const OrrSweepBatch *batch, gint64 task);

/* How far a task is; and of all tasks. */
void orr_sweep_batch_note(const OrrSweepBatch *batch, gint64 task, const OrrSweepReport *report);
void orr_sweep_batch_add_notes(const OrrSweepBatch *batch, OrrSlurmStatus *status);
/* The last line a task printed, newly allocated; NULL where it printed nothing. */
char *orr_sweep_batch_last_words(const OrrSweepBatch *batch, gint64 task);
/* of OrrSweepExclusion */
void orr_sweep_batch_count(GArray *reasons, const char *reason, guint64 n);

/* Removes the tasks' databases; and what they said. */
void orr_sweep_batch_clear_shards(const OrrSweepBatch *batch);
void orr_sweep_batch_clear_notes(const OrrSweepBatch *batch);

G_END_DECLS

#endif

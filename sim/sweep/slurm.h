/*
 * slurm.h - what Orrery asks of Slurm, by its own programs: sbatch to submit, squeue to say how the
 * tasks of a job array are. No shell is between; squeue answers in columns that are asked for by
 * name.
 */
#ifndef ORR_SLURM_H
#define ORR_SLURM_H

#include <glib.h>

G_BEGIN_DECLS

/* Slurm's two dozen states by what they mean to who waits. */
typedef enum {
  ORR_SLURM_QUEUED,
  ORR_SLURM_RUNNING,
  ORR_SLURM_DONE,
  ORR_SLURM_CANCELLED, /* somebody's scancel */
  ORR_SLURM_FAILED,
  ORR_N_SLURM_STATES
} OrrSlurmState;

typedef struct {
  /* its index in the array; -1: all that are not named, which ended before they were begun */
  gint64 task;
  OrrSlurmState state;
  char *word; /* Slurm's own: "TIMEOUT" */
} OrrSlurmTask;

/* ORR_FAULT_RESOURCE where there is no Slurm here. */
gboolean orr_slurm_check(GError **error);

/* sbatch with @options and @script; the job's number, newly allocated. ORR_FAULT_RESOURCE with
 * what sbatch said. */
char *orr_slurm_submit(char *const *options, const char *script, GError **error);

/* The tasks of @job that Slurm still knows, those that ended within its MinJobAge too; of
 * OrrSlurmTask. */
GArray *orr_slurm_tasks(const char *job, GError **error);

/* Tasks @is_asked as sbatch --array takes them: "0-3,7"; newly allocated. */
char *orr_slurm_array(const gboolean *is_asked, guint n);

G_END_DECLS

#endif

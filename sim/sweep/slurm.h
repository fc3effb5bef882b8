/*
 * slurm.h - the interface to Slurm, through its programs: sbatch submits jobs, squeue lists the
 * states of their tasks. No shell is involved.
 */
#pragma once

#include "sim/base/ground.h"

/* Slurm has two dozen states; these are the ones that matter to a waiting process. */
typedef enum {
  ORR_SLURM_QUEUED,
  ORR_SLURM_RUNNING,
  ORR_SLURM_DONE,
  ORR_SLURM_CANCELLED, /* by scancel */
  ORR_SLURM_FAILED,
  ORR_N_SLURM_STATES
} OrrSlurmState;

typedef struct {
  /* its index in the array; -1: all tasks not listed, which ended before they began */
  gint64 task;
  OrrSlurmState state;
  char *word; /* Slurm's own: "TIMEOUT" */
} OrrSlurmTask;

/* ORR_FAULT_RESOURCE if sbatch or squeue is not installed. */
gboolean orr_slurm_check(GError **error);

/* Runs sbatch with @options and @script; returns the job's number, newly allocated.
 * ORR_FAULT_RESOURCE with the message of sbatch. */
char *orr_slurm_submit(char *const *options, const char *script, GError **error);

/* The tasks of @job (OrrSlurmTask) that Slurm still lists: tasks that have not ended, or ended less
 * than MinJobAge ago. */
GArray *orr_slurm_tasks(const char *job, GError **error);

/* The tasks i with is_in[i], in the format of sbatch --array: "0-3,7"; newly allocated. */
char *orr_slurm_array(const gboolean *is_in, guint n);

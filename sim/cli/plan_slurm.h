/*
 * plan_slurm.h - orrery plan on a Slurm cluster.
 *
 * A plan of training is a sweep, which goes to a job array (sim/sweep/sweep_slurm.h). The search of
 * plan serving depends on its own answers, round after round, so it is one job on the cores of one
 * node: the same command, which stores its layouts in the database. In both cases the same
 * question, asked again without Slurm, finds what is stored and prints the answer.
 */
#ifndef ORR_PLAN_SLURM_H
#define ORR_PLAN_SLURM_H

#include <glib.h>

G_BEGIN_DECLS

/* Whether @executor (--executor) is slurm. FALSE with @error: another word than local and slurm, or
 * slurm without a database. */
gboolean orr_plan_slurm_asked(const char *executor, const char *db, gboolean *ret_is,
                              GError **error);

/* Submits this process's own command line, without --executor, as one job of @cores cores; prints
 * what to do next. The script and the job's output are in DB.slurm. */
gboolean orr_plan_slurm_submit(const char *db, guint cores, GError **error);

G_END_DECLS

#endif

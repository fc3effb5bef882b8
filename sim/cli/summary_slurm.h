/*
 * summary_slurm.h - the progress of a sweep on Slurm, as text for people and as JSON for programs.
 */
#ifndef ORR_SUMMARY_SLURM_H
#define ORR_SUMMARY_SLURM_H

#include "sim/sweep/sweep_slurm.h"

G_BEGIN_DECLS

/* @db: the database of the sweep. */
void orr_summary_slurm_print(const OrrSlurmStatus *status, const char *db);
void orr_summary_slurm_json(const OrrSlurmStatus *status);

G_END_DECLS

#endif

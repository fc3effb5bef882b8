/*
 * summary_slurm.h - how far a sweep on Slurm is, for people and for programs.
 */
#ifndef ORR_SUMMARY_SLURM_H
#define ORR_SUMMARY_SLURM_H

#include "sim/sweep/sweep_slurm.h"

G_BEGIN_DECLS

void orr_summary_slurm_print(const OrrSlurmStatus *status, const char *db);
void orr_summary_slurm_json(const OrrSlurmStatus *status);

G_END_DECLS

#endif

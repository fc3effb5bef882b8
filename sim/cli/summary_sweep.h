/*
 * summary_sweep.h - the report of a sweep, as text for people and as JSON for programs; and the
 * progress of a sweep on Slurm (summary_slurm.c).
 */
#ifndef ORR_SUMMARY_SWEEP_H
#define ORR_SUMMARY_SWEEP_H

#include "sim/sweep/sweep_slurm.h"

G_BEGIN_DECLS

/* @file: the scenario as on the command line. @db: where the points are stored, or NULL. */
void orr_summary_sweep_print(const OrrSweepReport *report, const char *file, const char *db);
void orr_summary_sweep_json(const OrrSweepReport *report);

/* The progress line: "[####....] 120 of 400, 210/s, 2 s left, best 28.37". Newly allocated. */
char *orr_summary_sweep_line(const OrrSweepReport *report);

/* Appends `, "excluded": [{"reason": ..., "n": ...}]`, and `, "n_ok": 12` of every status. */
void orr_summary_sweep_reasons_json(GString *out, const char *name, const GArray *reasons);
void orr_summary_sweep_statuses_json(GString *out, const guint64 *by_status);

/* @db: the database of the sweep. */
void orr_summary_slurm_print(const OrrSlurmStatus *status, const char *db);
void orr_summary_slurm_json(const OrrSlurmStatus *status);

G_END_DECLS

#endif

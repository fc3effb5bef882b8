/*
 * summary_sweep.h - the report of a sweep, as text for people and as JSON for programs.
 */
#ifndef ORR_SUMMARY_SWEEP_H
#define ORR_SUMMARY_SWEEP_H

#include "sim/sweep/sweep.h"

G_BEGIN_DECLS

/* @file: the scenario as on the command line. @db: where the points are stored, or NULL. */
void orr_summary_sweep_print(const OrrSweepReport *report, const char *file, const char *db);
void orr_summary_sweep_json(const OrrSweepReport *report);

/* The progress line: "[####....] 120 of 400, 210/s, 2 s left, best 28.37". Newly allocated. */
char *orr_summary_sweep_line(const OrrSweepReport *report);

G_END_DECLS

#endif

/*
 * summary_sweep.h - a sweep's report for people and for programs.
 */
#ifndef ORR_SUMMARY_SWEEP_H
#define ORR_SUMMARY_SWEEP_H

#include "sim/sweep/sweep.h"

G_BEGIN_DECLS

void orr_summary_sweep_print(const OrrSweepReport *report, const char *file, const char *db);
void orr_summary_sweep_json(const OrrSweepReport *report);

/* The line of the progress bar, newly allocated: "[####....] 120 of 400, 210/s, 2 s left, best
 * 28.37". */
char *orr_summary_sweep_line(const OrrSweepReport *report);

G_END_DECLS

#endif

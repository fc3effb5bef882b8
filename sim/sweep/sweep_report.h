/*
 * sweep_report.h - what a sweep has found so far: counts, the best, the front.
 */
#ifndef ORR_SWEEP_REPORT_H
#define ORR_SWEEP_REPORT_H

#include "sim/sweep/sweep_private.h"

G_BEGIN_DECLS

OrrSweepReport *orr_sweep_report_new(const OrrSweepPlan *plan);

/* @is_last: of the last rung, whose points alone are ranked. */
void orr_sweep_report_add(OrrSweepReport *report, const OrrSweepPlan *plan,
                          const OrrSweepAnswer *answer, gboolean is_last);

/* Tells which combination @point is, where it is shown. */
void orr_sweep_report_settings(OrrSweepReport *report, const OrrSweepPlan *plan, guint64 point,
                               guint64 combination);

/* "  12 reason", a line each, the @most most frequent. Newly allocated. */
char *orr_sweep_report_reasons(const GArray *exclusions, guint most);

G_END_DECLS

#endif

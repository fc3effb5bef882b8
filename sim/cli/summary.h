/*
 * summary.h - the answer of a run in about ten lines for people.
 */
#ifndef ORR_SUMMARY_H
#define ORR_SUMMARY_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* @database: where it is stored, or NULL with @run_id 0. @file: what was asked to run. Newly
 * allocated; the last line is the command that shows more. */
char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome, const char *file,
                       const char *database, gint64 run_id);

G_END_DECLS

#endif

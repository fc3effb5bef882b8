/*
 * summary.h - the result of a run in about ten lines for people.
 */
#ifndef ORR_SUMMARY_H
#define ORR_SUMMARY_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* The summary of a run; newly allocated. @file: the scenario as on the command line, or NULL
 * if it was made of a launch line. @database:
 * where the run is stored, or NULL with @run_id 0. The last line is the command to run next. */
char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome, const char *file,
                       const char *database, gint64 run_id);

G_END_DECLS

#endif

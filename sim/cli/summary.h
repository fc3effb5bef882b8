/*
 * summary.h - the result of a run in about ten lines for people.
 */
#ifndef ORR_SUMMARY_H
#define ORR_SUMMARY_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* The summary of a run, without where it is stored, since it is printed first; newly allocated. */
char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome);

/* Where the run is stored, and the command to run next; newly allocated. @file: the scenario as on
 * the command line, or NULL if it was made of a launch line. @database: NULL with @run_id 0 where
 * nothing is stored. */
char *orr_summary_stored(const OrrOutcome *outcome, const char *file, const char *database,
                         gint64 run_id);

G_END_DECLS

#endif

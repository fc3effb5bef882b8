/*
 * summary_faults.h - what a run says of its faults.
 */
#ifndef ORR_SUMMARY_FAULTS_H
#define ORR_SUMMARY_FAULTS_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* A line each, of the first few, and what all of them cost; nothing where there are none. Lines
 * begin with @name, "faults" where that is NULL. */
void orr_summary_faults(GString *out, const OrrOutcome *outcome, const char *name);

/* ", "fault": [{...}, ...], "slowdown": 1.05": nothing where there are none. */
void orr_summary_faults_json(GString *out, const OrrOutcome *outcome);

G_END_DECLS

#endif

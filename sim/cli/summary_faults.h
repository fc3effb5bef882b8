/*
 * summary_faults.h - the faults of a run, and what they cost.
 */
#ifndef ORR_SUMMARY_FAULTS_H
#define ORR_SUMMARY_FAULTS_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* Appends one line for each of the first few faults, and one with the cost of all; nothing for a
 * run without faults. Lines begin with @name, or with "faults" when @name is NULL. */
void orr_summary_faults(GString *out, const OrrOutcome *outcome, const char *name);

/* Appends `, "fault": [{...}, ...], "slowdown": 1.05`, or nothing for a run without faults. */
void orr_summary_faults_json(GString *out, const OrrOutcome *outcome);

G_END_DECLS

#endif

/*
 * simulate_jobs.h - several jobs on one machine: each with its own answer, and how much the others
 * cost it.
 */
#ifndef ORR_SIMULATE_JOBS_H
#define ORR_SIMULATE_JOBS_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

typedef struct {
  OrrScenario scenario; /* of the job; borrows from the whole one */
  OrrOutcome *outcome;
  OrrJobRow row;
  char *lost; /* how it ended before its time; NULL: it did not */
} OrrJobOutcome;

/* Runs the jobs of @scenario together, then each alone (in a process of its own). Array of
 * OrrJobOutcome, in order of the jobs; @scenario must outlive it. */
GPtrArray *orr_simulate_jobs(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                             GError **error);

/* A run in the database for each job; rows of `job` tie them to the first one. @ret_run_id is
 * that of the first. */
gboolean orr_simulate_jobs_store(const GPtrArray *jobs, const char *file, OrrStore *store,
                                 gint64 *ret_run_id, GError **error);

G_END_DECLS

#endif

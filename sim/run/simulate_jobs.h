/*
 * simulate_jobs.h - several jobs on one machine: each with its own answer, and how much the others
 * slow it down.
 */
#ifndef ORR_SIMULATE_JOBS_H
#define ORR_SIMULATE_JOBS_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

typedef struct {
  OrrScenario scenario; /* of the job; borrows from the scenario that lists it */
  OrrOutcome *outcome;
  OrrJobRow row;
  char *lost; /* what stopped it early; NULL: nothing */
} OrrJobOutcome;

/* Runs each job of @scenario alone (in a process of its own), then all of them together. Array of
 * OrrJobOutcome, in the order of the jobs; @scenario must outlive it. */
GPtrArray *orr_simulate_jobs(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                             GError **error);

/* Stores each job as a run of its own; rows of `job` point to the run of the first job, whose id
 * *@ret_run_id gets. */
gboolean orr_simulate_jobs_store(const GPtrArray *jobs, const char *file, OrrStore *store,
                                 gint64 *ret_run_id, GError **error);

G_END_DECLS

#endif

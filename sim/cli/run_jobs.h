/*
 * run_jobs.h - `orrery run` for a scenario of several jobs.
 */
#ifndef ORR_RUN_JOBS_H
#define ORR_RUN_JOBS_H

#include "sim/run/simulate_jobs.h"

G_BEGIN_DECLS

typedef struct {
  const char *file;     /* the scenario's file or name, as on the command line */
  OrrStore *store;      /* NULL: nothing is stored */
  const char *database; /* its path */
  gboolean as_json, keep_spans;
  guint many_spans;  /* a job with more spans stores none; 0: no limit */
  const char *label; /* of every job's run; NULL: none */
  double level;      /* of error bands */
} OrrRunJobs;

/* Simulates, stores and prints the jobs; returns the exit status. */
int orr_run_jobs(OrrLibrary *library, const OrrScenario *scenario, const OrrRunJobs *how,
                 GError **error);

G_END_DECLS

#endif

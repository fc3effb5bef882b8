/*
 * run_jobs.h - the part of `orrery run` for a scenario of several jobs.
 */
#ifndef ORR_RUN_JOBS_H
#define ORR_RUN_JOBS_H

#include "sim/run/simulate_jobs.h"

G_BEGIN_DECLS

typedef struct {
  const char *file;     /* what was asked to run */
  OrrStore *store;      /* NULL: nothing is stored */
  const char *database; /* its path */
  gboolean as_json, keep_spans;
  guint many_spans; /* more of one job are not kept; 0: all are */
} OrrRunJobs;

/* Simulates, stores and prints; the exit status. */
int orr_run_jobs(OrrLibrary *library, const OrrScenario *scenario, const OrrRunJobs *how,
                 GError **error);

G_END_DECLS

#endif

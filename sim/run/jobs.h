/*
 * jobs.h - several workloads on one machine: the part of a scenario that lists them.
 *
 *   jobs:
 *     - {name: a, model: gpt3-175b, workload: {...}, gpus: 512, placement: packed}
 *     - {name: b, workload: {kind: collectives, ...}, gpus: 64, placement: spread, start: 2 s}
 */
#ifndef ORR_JOBS_H
#define ORR_JOBS_H

#include "topologies/job_placement.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct OrrScenario OrrScenario;

typedef struct {
  char *name;
  OrrModel model;
  gboolean has_model; /* filled by orr_jobs_check */
  OrrChoice workload; /* of orr_workload_registry */
  gint64 gpus;
  OrrChoice placement; /* of orr_job_placement_registry */
  double start_s;
} OrrJobSpec;

extern const OrrFieldTable orr_job_table;

/* The scenario of job @index of @scenario alone: its model, its workload and its GPUs. It
 * borrows everything. */
OrrScenario orr_jobs_scenario(const OrrScenario *scenario, guint index);

/* The GPUs of every job, in order of the jobs: owned arrays of spec->gpus numbers. NULL with
 * ORR_FAULT_DOCUMENT. */
GPtrArray *orr_jobs_place(const OrrScenario *scenario, GError **error);

/* Settles the models and checks each job against its part of the machine, names against each
 * other, and that all have room. @tree is the scenario's. */
void orr_jobs_check(OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags);

G_END_DECLS

#endif

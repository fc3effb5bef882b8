/*
 * jobs.h - several workloads on one machine: the section of a scenario that lists them.
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

extern const OrrFieldTable orr_job_spec_table;

/* Job @index of @scenario as a scenario of its own: its model, workload and number of GPUs. Borrows
 * everything. */
OrrScenario orr_jobs_scenario(const OrrScenario *scenario, guint index);

/* Places the jobs in the order of the list: for each an owned array of the machine's GPUs, by rank
 * of the job. NULL with ORR_FAULT_DOCUMENT where the free GPUs do not suffice. */
GPtrArray *orr_jobs_place(const OrrScenario *scenario, GError **error);

/* Whether job @index is placed on @node; TRUE for node -1, which stands for any. */
gboolean orr_jobs_uses_node(const OrrScenario *scenario, guint index, gint64 node);

/* Settles the models, and checks each job against the cluster, the names against each other, and
 * that all jobs can be placed. @tree is the scenario's. */
void orr_jobs_check(OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags);

G_END_DECLS

#endif

/*
 * scenario.h - a scenario document, read and checked: everything that one run needs.
 *
 * Documents: scenarios/NAME.yaml (`schema: scenario/1`). cluster, model and workload are names from
 * the library, inline maps, or maps with `base: NAME`. A checked scenario does not change.
 */
#pragma once

#include "sim/base/library.h"
#include "sim/base/uncertain.h"
#include "sim/run/faults/faults.h"
#include "topologies/job_placement.h"
#include "topologies/prices.h"
#include "workloads/campaign/campaign.h"
#include "workloads/workload.h"

/* jobs.c: several workloads on one machine: the section of a scenario that lists them.
 *
 *   jobs:
 *     - {name: a, model: gpt3-175b, workload: {...}, gpus: 512, placement: packed}
 *     - {name: b, workload: {kind: collectives, ...}, gpus: 64, placement: spread, start: 2 s}
 */

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

/* "auto", "simgrid", "ideal", "fair" */
typedef enum {
  ORR_REPLAY_AUTO,
  ORR_REPLAY_SIMGRID,
  ORR_REPLAY_IDEAL,
  ORR_REPLAY_FAIR
} OrrReplayEngine;

struct OrrScenario {
  char *name;
  char *question; /* what the scenario is for, one sentence; optional */
  OrrCluster cluster;
  OrrModel model;
  OrrChoice workload;   /* of orr_workload_registry; no entry where there are jobs */
  GPtrArray *jobs;      /* of OrrJobSpec; NULL or empty: one workload has the machine */
  GPtrArray *faults;    /* of OrrFaultSpec; NULL or empty: nothing goes wrong */
  OrrCampaign campaign; /* orr_campaign_given: whether the scenario has any */
  OrrPrices prices;     /* orr_prices_given: whether the scenario has any */
  int fidelity;         /* OrrFidelity */
  int engine;           /* OrrReplayEngine */
  int on_missing;       /* OrrOnMissing */
  gint64 seed;
  OrrNode *validation; /* the section of a validation set (validate.h); NULL elsewhere */
  OrrNode *sweep;      /* the section of a sweep (sweep.h); NULL elsewhere */
  /* Not of the document: */
  const OrrScenario *whole; /* for one job: the scenario that lists it; NULL elsewhere */
  char **folders;           /* where to search traces: the document's folder, then the library's */
  GPtrArray *uncertain;     /* of OrrUncertain *, the numbers with bounds; NULL: of one job */
};

extern const OrrFieldTable orr_scenario_table;

/* The unread tree of a scenario: @path is a file, or the name of a scenario in the library. The
 * document named by `base:` is merged under it. Caller owns it; NULL: see @diags. */
OrrNode *orr_scenario_tree(OrrLibrary *library, const char *path, OrrDiags *diags);

/* Reads @tree and checks it: the fields, then model, cluster and workload against each other, then
 * jobs and faults. All findings go to @diags; NULL when any is an error. Caller frees. */
OrrScenario *orr_scenario_read(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags);
/* Its two halves, for a sweep, which checks many points of one document: the fields with the checks
 * of model and cluster; and the workload against both, findings at @place. */
OrrScenario *orr_scenario_read_fields(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags);
void orr_scenario_check(const OrrScenario *scenario, OrrPlace place, OrrDiags *diags);

/* A document's error that is found while running begins with the path of a key
 * ("workload.slo.ttft: ..."), where items of a list count from 1 ("faults.1: ..."). Prefixes it
 * with file, line and column of the nearest key on that path that @tree has. Leaves other errors
 * alone; @error may be NULL. */
void orr_scenario_locate(const OrrNode *tree, GError *error);

void orr_scenario_free(OrrScenario *scenario);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrScenario, orr_scenario_free)

gboolean orr_scenario_has_jobs(const OrrScenario *scenario);
gboolean orr_scenario_has_faults(const OrrScenario *scenario);
OrrFaults orr_scenario_faults(const OrrScenario *scenario); /* borrows */

/* The scenario with every default filled in, as YAML text, and the SHA-256 of that text. Newly
 * allocated. */
char *orr_scenario_resolved(const OrrScenario *scenario);
char *orr_scenario_hash(const OrrScenario *scenario);

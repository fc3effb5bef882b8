/*
 * scenario.h - a scenario document, read and checked: what one run is made of.
 *
 * Documents: scenarios/NAME.yaml (`schema: scenario/1`). cluster, model and workload are names from
 * the library, inline maps, or maps with `base: NAME`.
 */
#ifndef ORR_SCENARIO_H
#define ORR_SCENARIO_H

#include "sim/base/library.h"
#include "sim/run/faults/faults.h"
#include "sim/run/jobs.h"

G_BEGIN_DECLS

typedef enum {
  ORR_REPLAY_AUTO,
  ORR_REPLAY_SIMGRID,
  ORR_REPLAY_IDEAL
} OrrReplayEngine; /* "auto", "simgrid", "ideal" */

struct OrrScenario {
  char *name;
  char *question; /* what it asks, one sentence; optional */
  OrrCluster cluster;
  OrrModel model;
  OrrChoice workload; /* of orr_workload_registry; no entry where there are jobs */
  GPtrArray *jobs;    /* of OrrJobSpec; NULL or empty: one workload has the machine */
  GPtrArray *faults;  /* of OrrFaultSpec; NULL or empty: nothing goes wrong */
  int fidelity;       /* OrrFidelity */
  int engine;         /* OrrReplayEngine */
  int on_missing;     /* OrrOnMissing */
  gint64 seed;
  OrrNode *validation; /* what a validation set adds (validate.h); NULL elsewhere */
  /* where this is one of the jobs of another scenario; not of the document */
  const OrrScenario *whole;
  OrrNode *sweep; /* what a sweep adds (sweep.h); NULL elsewhere */
  char **
      /* where its traces may lie: the document's own, then the library's; not of the document */
      folders;
};

extern const OrrFieldTable orr_scenario_table;

/* The unread tree of a scenario: @path is a file, or the name of a scenario in the library.
 * `base:` is laid under it. Caller owns it; NULL: see @diags. */
OrrNode *orr_scenario_tree(OrrLibrary *library, const char *path, OrrDiags *diags);

/* Reads and checks @tree whole: fields, then the model, the cluster and the workload against
 * each other. All findings go to @diags; NULL when any is an error. Caller frees. */
OrrScenario *orr_scenario_read(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags);
/* The two halves of it: the fields with what model and cluster say themselves, and the workload
 * against both. */
OrrScenario *orr_scenario_read_fields(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags);
void orr_scenario_check(const OrrScenario *scenario, OrrPlace place, OrrDiags *diags);

/* What a run finds wrong with the document begins with its path ("workload.slo.ttft: ..."): puts
 * the place of the nearest part that @tree has before it, as diagnostics have it. Other errors
 * are left alone; NULL is fine. */
void orr_scenario_locate(const OrrNode *tree, GError *error);

void orr_scenario_free(OrrScenario *scenario);
gboolean orr_scenario_has_jobs(const OrrScenario *scenario);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrScenario, orr_scenario_free)

/* The scenario with everything filled in, as YAML text, and that text's SHA-256. Newly
 * allocated. */
char *orr_scenario_resolved(const OrrScenario *scenario);
char *orr_scenario_hash(const OrrScenario *scenario);

G_END_DECLS

#endif

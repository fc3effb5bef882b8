/*
 * faults.h - what goes wrong in a scenario, and when.
 *
 *   faults:
 *     - {at: 10 s, until: 20 s, fault: {kind: link, name: leaf0-spine1}}        once; without until for good
 *     - {mtbf: 1 h, duration: 30 s, fault: {kind: slow-gpu, slower: 20 %}}      at a rate, each time another GPU
 *
 * At a rate, times between the end of one and the begin of the next are exponential, from a random
 * stream of the scenario's seed and the fault's place in the list: the same scenario has the same
 * faults.
 */
#ifndef ORR_FAULTS_H
#define ORR_FAULTS_H

#include "topologies/machine_fault.h"

G_BEGIN_DECLS

typedef struct OrrScenario OrrScenario;

typedef struct {
  OrrChoice fault; /* of orr_machine_fault_registry */
  double at_s, until_s, mtbf_s, duration_s, detection_s;
} OrrFaultSpec;

extern const OrrFieldTable orr_fault_spec_table;

/* One time that a fault strikes. */
typedef struct {
  guint spec;       /* its place in the scenario's list */
  const char *kind; /* the entry's name */
  char *what;       /* "leaf0-spine1 down" */
  double begin_s;
  double end_s; /* INFINITY: for good */
  double detection_s;
  GArray *harms; /* of OrrHarm */
} OrrOutage;

gboolean orr_scenario_has_faults(const OrrScenario *scenario);

/* whether any is: they are drawn for a time */
gboolean orr_faults_at_rates(const OrrScenario *scenario);

/* What single fields cannot say: times that fit each other, parts that the machine has. @tree is
 * the scenario's. */
void orr_faults_check(const OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags);

/* All that strike before @horizon_s, or are dated, by their begin: array of OrrOutage, owned.
 * NULL with ORR_FAULT_DOCUMENT. */
GPtrArray *orr_faults_draw(const OrrScenario *scenario, const OrrFabric *fabric, double horizon_s,
                           GError **error);

G_END_DECLS

#endif

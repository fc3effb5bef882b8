/*
 * simulate_faults.h - a workload on a machine on which things go wrong, and the functions that
 * several jobs with faults share with it.
 */
#ifndef ORR_SIMULATE_FAULTS_H
#define ORR_SIMULATE_FAULTS_H

#include "sim/run/faults/outages.h"
#include "sim/run/run_work.h"

G_BEGIN_DECLS

/* Faults at a rate are drawn for this many times the time that the run takes without faults. */
#define ORR_FAULT_HORIZON 10

/* Runs @scenario with its faults in @world and fills @outcome, all but its wall time.
 * ORR_FAULT_STUCK where the job loses a node, or waits for a link for ever; ORR_FAULT_DOCUMENT
 * where a fault begins after the end of the run. */
gboolean orr_simulate_faults_run(const OrrWorld *world, const OrrScenario *scenario,
                                 const OrrSimulation *simulation, OrrOutcome *outcome,
                                 GError **error);

/* Refuses a dated fault that begins after @end_s, and so has no effect. */
gboolean orr_simulate_faults_check_end(const OrrScenario *scenario, const GPtrArray *outages,
                                       double end_s, GError **error);

/* A job that outages struck. Its steps are on its own clock, which starts at @start_s. */
typedef struct {
  const GPtrArray *outages;
  const GArray *steps; /* of OrrStepRow */
  double start_s, end_s;
  double clean_s; /* how long the job takes alone and without faults */
} OrrStruckJob;

/* Appends to @rows an OrrFaultRow for each outage that began before the job's end. */
void orr_simulate_faults_rows(const OrrStruckJob *job, GArray *rows);

G_END_DECLS

#endif

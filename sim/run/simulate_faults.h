/*
 * simulate_faults.h - a workload on a machine on which things go wrong, and what jobs with faults
 * share with it.
 */
#ifndef ORR_SIMULATE_FAULTS_H
#define ORR_SIMULATE_FAULTS_H

#include "sim/run/faults/outages.h"
#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* Faults at a rate are drawn for this many times the time that the run takes without any. */
#define ORR_FAULT_HORIZON 10

/* @scenario with its faults in @world, into @outcome: all but the wall time. ORR_FAULT_STUCK
 * where the job loses a node, or waits for a link for ever; ORR_FAULT_DOCUMENT where a fault
 * begins after the end. */
gboolean orr_simulate_faults_run(const OrrWorld *world, const OrrScenario *scenario,
                                 const OrrSimulation *how, OrrOutcome *outcome, GError **error);

/* One fabric a detour, NULL where nothing is dead; owned. */
GPtrArray *orr_simulate_faults_detour_fabrics(const GArray *detours, const OrrFabric *fabric);
/* that they are not too many */
gboolean orr_simulate_faults_check_detours(const GArray *detours, GError **error);

gboolean orr_simulate_faults_check_end(const OrrScenario *scenario, const GPtrArray *outages,
                                       double end_s, GError **error);

/* What each outage that began before @end_s did to @steps (of OrrStepRow, on the job's clock,
 * which starts at @start_s); @clean_s: what the job takes without. Appends OrrFaultRow. */
void orr_simulate_faults_rows(const GPtrArray *outages, const GArray *steps, double start_s,
                              double end_s, double clean_s, GArray *rows);

G_END_DECLS

#endif

/*
 * part_runs.h - runs the parts of a workload that is made of others (workloads/parts.h), each in a
 * process of its own, because a process has one SimGrid engine.
 */
#ifndef ORR_PART_RUNS_H
#define ORR_PART_RUNS_H

#include "sim/run/scenario.h"
#include "sim/run/world.h"
#include "workloads/parts.h"

G_BEGIN_DECLS

typedef struct OrrPartRuns OrrPartRuns;

/* For the workload of @scenario in @machine; both outlive it. What the worlds of parts warn of is
 * added to @warnings (of char *), once. */
OrrPartRuns *orr_part_runs_new(const OrrRunWorld *machine, const OrrScenario *scenario,
                               GPtrArray *warnings);
const OrrParts *orr_part_runs_parts(const OrrPartRuns *runs);
void orr_part_runs_free(OrrPartRuns *runs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrPartRuns, orr_part_runs_free)

G_END_DECLS

#endif

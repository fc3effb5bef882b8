/*
 * simulate.h - the composition root: a scenario and a machine become an outcome.
 *
 *   scenario -> world (world.h) -> program (workloads/) -> replay (replay.h) -> rows (answer/)
 */
#ifndef ORR_SIMULATE_H
#define ORR_SIMULATE_H

#include "sim/run/run_work.h"
#include "sim/run/world.h"

G_BEGIN_DECLS

/* Runs @scenario on @world, which was made for a scenario with an equal cluster, seed and
 * on-missing. NULL without @error: before_simgrid stopped this process, or too_short is set. */
OrrOutcome *orr_simulate_in(const OrrRunWorld *world, const OrrScenario *scenario,
                            const OrrSimulation *simulation, GError **error);

/* Runs @scenario on a world of its own. A process can make only one simgrid engine (engine.h, rule
 * 5), so callers that run several scenarios fork. */
OrrOutcome *orr_simulate(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                         GError **error);

G_END_DECLS

#endif

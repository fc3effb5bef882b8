/*
 * simulate_private.h - what simulate.c and simulate_jobs.c share.
 */
#ifndef ORR_SIMULATE_PRIVATE_H
#define ORR_SIMULATE_PRIVATE_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

/* What @scenario replays @program on, beside live works whose transfers share links or do not;
 * NULL with @error. */
OrrEngine *orr_simulate_engine(const OrrScenario *scenario, const OrrProgram *program,
                               gboolean live_contends, GError **error);

/* Replays @work and fills @outcome's rows. @ret_end_s (may be NULL) is when the last op ended. */
gboolean orr_simulate_work(const OrrScenario *scenario, const OrrFabric *fabric, OrrWork *work,
                           const OrrSimulation *how, OrrOutcome *outcome, double *ret_end_s,
                           GError **error);

OrrOutcome *orr_simulate_outcome_new(void);
/* all but wall time */
void orr_simulate_fill_outcome(OrrOutcome *outcome, const OrrScenario *scenario,
                               const OrrReplayed *replayed);
void orr_simulate_fill_wall_time(OrrOutcome *outcome, gint64 begin_us);

G_END_DECLS

#endif

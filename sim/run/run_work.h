/*
 * run_work.h - one compiled workload, replayed and turned into an outcome.
 *
 * A brief run gives the result alone, sooner: it replays on our own sharing of links instead of
 * SimGrid's, and a step that was shortened (OrrWorld.shorten) is made up for (executor_leap.c).
 */
#ifndef ORR_RUN_WORK_H
#define ORR_RUN_WORK_H

#include "sim/run/answer/kinds.h"
#include "sim/run/engine_choice.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

/* Options of a run; all zero: a whole run in this process. */
typedef struct {
  gboolean keep_spans;
  gboolean brief;       /* the result alone; rows may be missing */
  gboolean is_shared;   /* switches' links are replayed, as others may use them (OrrWorld) */
  gboolean whole_steps; /* every step is replayed, also where steps repeat */
  /* Called before a SimGrid engine is made; a process can have one: a caller that runs many
   * scenarios forks here. FALSE stops this process: the run returns NULL without an error. NULL: go
   * on. */
  gboolean (*before_simgrid)(void *user);
  void *user;
  /* For a brief run, the attempt at a shortened step; 0: not shortened. Attempt n + 1 keeps more of
   * the step than attempt n. */
  guint shorten;
  /* Set where the shortened step leaves too little to repeat: the run then returns NULL without an
   * error, and the caller tries attempt + 1. */
  gboolean *too_short;
} OrrSimulation;

typedef struct {
  const OrrScenario *scenario;
  const OrrFabric *fabric;
  OrrWork *work;
  const OrrSimulation *simulation;
} OrrRunWork;

/* The engine that @scenario replays @program on. @live_contends: transfers of live works share
 * links with it. @ret_choice (may be NULL) says which it is. NULL with @error. */
OrrEngine *orr_run_work_engine(const OrrScenario *scenario, const OrrProgram *program,
                               gboolean live_contends, OrrEngineChoice *ret_choice, GError **error);

/* Loads that engine's code for @work, before a fork whose child makes the engine. */
gboolean orr_run_work_prepare(const OrrScenario *scenario, const OrrWork *work, GError **error);

/* Replays the work and fills @outcome, all but its wall time and fidelity. @ret_end_s (may be NULL)
 * is when the last op ended. */
gboolean orr_run_work(const OrrRunWork *run, OrrOutcome *outcome, double *ret_end_s,
                      GError **error);

G_END_DECLS

#endif

/*
 * simulate.h - the composition root: a scenario and a machine become an outcome.
 *
 *   scenario -> world (world.h) -> program (workloads/) -> replay (run_private.h) -> rows (answer/)
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/run/answer/kinds.h"
#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"
#include "sim/run/world.h"

/* engine_choice.c: which engine replays a program, and why.
 *
 * A scenario's `engine` names it, or leaves the choice to Orrery (auto):
 *   ideal    where no two transfers can share a link: exact there
 *   fair     for a brief run, and where SimGrid is predicted to take more than a minute
 *   simgrid  elsewhere
 * simgrid and fair give the same times up to rounding (engine.h), so the choice moves no result.
 */

/* Processor seconds on SimGrid from which `auto` takes fair. */
#define ORR_ENGINE_CHOICE_MOST_S 60.0

typedef struct {
  OrrEngineKind kind;
  const char *reason; /* static */
  double simgrid_s;   /* predicted for SimGrid; NAN: the choice did not depend on it */
} OrrEngineChoice;

/* @program is sealed. @live_contends: transfers of live works share links with it. @brief: see
 * OrrSimulation (simulate.h). */
OrrEngineChoice orr_engine_choice(const OrrScenario *scenario, const OrrProgram *program,
                                  gboolean live_contends, gboolean brief);

/* Sets the outcome's engine and adds its row of `replay`. @settings: orr_engine_settings. */
void orr_engine_choice_record(const OrrEngineChoice *choice, const char *settings,
                              OrrOutcome *outcome);

/* Where auto took fair instead of SimGrid: a sentence that says so, newly allocated. Else NULL. */
char *orr_engine_choice_text(const OrrOutcome *outcome);

/* replay.c: one compiled workload, replayed and turned into an outcome.
 *
 * A brief run gives the result alone, sooner: it replays on our own sharing of links instead of
 * SimGrid's, and a step that was shortened (OrrWorld.shorten) is made up for (executor_leap.c). */

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
  guint64 *looks; /* ORR_N_LEAP_LOOKS: a brief run adds its OrrReplay.looks; NULL: not wanted */
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

/* Runs @scenario on @world, which was made for a scenario with an equal cluster, seed and
 * on-missing. NULL without @error: before_simgrid stopped this process, or too_short is set. */
OrrOutcome *orr_simulate_in(const OrrRunWorld *world, const OrrScenario *scenario,
                            const OrrSimulation *simulation, GError **error);

/* Runs @scenario on a world of its own. A process can make only one simgrid engine (engine.h, rule
 * 5), so callers that run several scenarios fork. */
OrrOutcome *orr_simulate(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                         GError **error);

/* exchange.c: writes what a scenario's ranks do as files of other tools. */

/* Whether @path names such a file: NAME.cm, NAME.et, NAME.goal, NAME.txt. */
gboolean orr_exchange_is_asked(const char *path);

/* Replays @scenario, which must be a training step, once more, rank by rank, and writes the Chakra
 * traces NAME.0.et, NAME.1.et, ... and NAME.groups.json, the schedule NAME.goal, layers as text
 * NAME.txt, or the connection matrix NAME.cm with its NAME.flows.csv. */
gboolean orr_exchange_write(OrrLibrary *library, const OrrScenario *scenario, const char *path,
                            GError **error);

/* outcome_store.c: one run in the results database: the run itself, its parameters, all its
 * rows. */

/* @file: where the scenario was read from. On failure the store keeps nothing of the run. */
gboolean orr_outcome_store(const OrrOutcome *outcome, const OrrScenario *scenario, const char *file,
                           OrrStore *store, gint64 *ret_run_id, GError **error);

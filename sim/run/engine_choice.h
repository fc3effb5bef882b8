/*
 * engine_choice.h - which engine replays a program, and why.
 *
 * A scenario's `engine` names it, or leaves the choice to Orrery (auto):
 *   ideal    where no two transfers can share a link: exact there
 *   fair     for a brief run, and where SimGrid is predicted to take more than a minute
 *   simgrid  elsewhere
 * simgrid and fair give the same times up to rounding (engine.h), so the choice moves no result.
 */
#ifndef ORR_ENGINE_CHOICE_H
#define ORR_ENGINE_CHOICE_H

#include "sim/engine/engine.h"
#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

/* Processor seconds on SimGrid from which `auto` takes fair. */
#define ORR_ENGINE_CHOICE_MOST_S 60.0

typedef struct {
  OrrEngineKind kind;
  const char *reason; /* static */
  double simgrid_s;   /* predicted for SimGrid; NAN: the choice did not depend on it */
} OrrEngineChoice;

/* @program is sealed. @live_contends: transfers of live works share links with it. @brief: see
 * OrrSimulation (run_work.h). */
OrrEngineChoice orr_engine_choice(const OrrScenario *scenario, const OrrProgram *program,
                                  gboolean live_contends, gboolean brief);

/* Sets the outcome's engine and adds its row of `replay`. @settings: orr_engine_settings. */
void orr_engine_choice_record(const OrrEngineChoice *choice, const char *settings,
                              OrrOutcome *outcome);

/* Where auto took fair instead of SimGrid: a sentence that says so, newly allocated. Else NULL. */
char *orr_engine_choice_text(const OrrOutcome *outcome);

G_END_DECLS

#endif

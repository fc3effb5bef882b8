/*
 * engine_choice.c - the rule of `engine: auto`, in one place for single runs, jobs and faults.
 */
#include "sim/run/simulate.h"

#include "sim/engine/program_effort.h"

static const char *const engine_words[] = {
    [ORR_ENGINE_SIMGRID] = "simgrid", [ORR_ENGINE_IDEAL] = "ideal", [ORR_ENGINE_FAIR] = "fair"};

static OrrEngineChoice choose(OrrEngineKind kind, const char *reason, double simgrid_s) {
  return (OrrEngineChoice){kind, reason, simgrid_s};
}

static OrrEngineChoice choose_shared(const OrrProgram *program) {
  const double simgrid_s = orr_program_effort_simgrid_s(program);
  return simgrid_s > ORR_ENGINE_CHOICE_MOST_S
             ? choose(ORR_ENGINE_FAIR, "SimGrid would take too long", simgrid_s)
             : choose(ORR_ENGINE_SIMGRID, "transfers can share links", simgrid_s);
}

OrrEngineChoice orr_engine_choice(const OrrScenario *scenario, const OrrProgram *program,
                                  gboolean live_contends, gboolean brief) {
  static const char asked[] = "asked for";
  switch ((OrrReplayEngine)scenario->engine) {
  case ORR_REPLAY_SIMGRID:
    return choose(ORR_ENGINE_SIMGRID, asked, NAN);
  case ORR_REPLAY_IDEAL:
    return choose(ORR_ENGINE_IDEAL, asked, NAN);
  case ORR_REPLAY_FAIR:
    return choose(ORR_ENGINE_FAIR, asked, NAN);
  case ORR_REPLAY_AUTO:
    break;
  }
  if (!live_contends && orr_program_uncontended(program))
    return choose(ORR_ENGINE_IDEAL, "no two transfers can share a link", NAN);
  if (brief) return choose(ORR_ENGINE_FAIR, "many runs share a process", NAN);
  return choose_shared(program);
}

void orr_engine_choice_record(const OrrEngineChoice *choice, const char *settings,
                              OrrOutcome *outcome) {
  const OrrReplayRow row = {(char *)engine_words[choice->kind], (char *)choice->reason,
                            choice->simgrid_s};
  outcome->engine = g_strdup(settings);
  g_array_append_val(outcome->replays, row);
}

char *orr_engine_choice_text(const OrrOutcome *outcome) {
  if (outcome->replays->len == 0) return NULL;
  const OrrReplayRow *row = &g_array_index(outcome->replays, OrrReplayRow, 0);
  if (!(row->simgrid_s > ORR_ENGINE_CHOICE_MOST_S)) return NULL;
  g_autofree char *time = orr_quantity_format(row->simgrid_s, ORR_UNIT_SECONDS);
  return g_strdup_printf("%s, since SimGrid would need about %s of processor time; both give the "
                         "same times (--set engine=simgrid takes SimGrid)",
                         row->engine, time);
}

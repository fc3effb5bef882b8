/*
 * run_work.c - replays one work on the engine that fits (engine_choice.h), and has its kind make
 * the answer.
 */
#include "sim/run/run_work.h"

#include "sim/base/fault.h"
#include "sim/run/replay.h"
#include "sim/run/steady.h"

OrrEngine *orr_run_work_engine(const OrrScenario *scenario, const OrrProgram *program,
                               gboolean live_contends, OrrEngineChoice *ret_choice,
                               GError **error) {
  const OrrEngineChoice choice = orr_engine_choice(scenario, program, live_contends, FALSE);
  if (ret_choice) *ret_choice = choice;
  return orr_engine_new(choice.kind, error);
}

gboolean orr_run_work_prepare(const OrrScenario *scenario, const OrrWork *work, GError **error) {
  return orr_engine_prepare(orr_engine_choice(scenario, work->program, work->contends, FALSE).kind,
                            error);
}

/* NULL without @error: before_simgrid stopped this process. It forks, so the engine's code is
 * loaded before. */
static OrrEngine *choose_engine(const OrrRunWork *run, OrrOutcome *outcome, GError **error) {
  const OrrSimulation *simulation = run->simulation;
  const OrrEngineChoice choice =
      orr_engine_choice(run->scenario, run->work->program, run->work->contends, simulation->brief);
  if (choice.kind == ORR_ENGINE_SIMGRID) {
    if (!orr_engine_prepare(ORR_ENGINE_SIMGRID, error)) return NULL;
    if (simulation->before_simgrid && !simulation->before_simgrid(simulation->user)) return NULL;
  }
  OrrEngine *engine = orr_engine_new(choice.kind, error);
  if (engine) orr_engine_choice_record(&choice, orr_engine_settings(engine), outcome);
  return engine;
}

static gboolean replay(const OrrRunWork *run, OrrReplayed *replayed, OrrOutcome *outcome,
                       GError **error) {
  const OrrLivePart live = {.work = run->work};
  const gboolean is_live = orr_work_is_live(run->work);
  g_autoptr(OrrEngine) engine = choose_engine(run, outcome, error);
  if (!engine) return FALSE;
  const OrrReplaySetup setup = {.program = run->work->program,
                                .live = &live,
                                .n_live = is_live ? 1 : 0,
                                .engine = engine,
                                .sink = is_live ? NULL : orr_ledger_span,
                                .user = replayed->ledger,
                                .link_bytes = replayed->link_bytes};
  if (!orr_replay(&setup, &replayed->replay, error)) return FALSE;
  if (is_live)
    orr_work_times(run->work, &replayed->replay.end_s, NULL);
  else
    orr_ledger_close(replayed->ledger, replayed->replay.end_s);
  return TRUE;
}

/* --- Brief runs --- */

static void keep_span(const OrrSpan *span, void *spans) { g_array_append_vals(spans, span, 1); }

static gboolean replay_and_keep(const OrrRunWork *run, GArray *spans, OrrReplayed *replayed,
                                OrrOutcome *outcome, GError **error) {
  g_autoptr(OrrEngine) engine = choose_engine(run, outcome, error);
  if (!engine) return FALSE;
  if (run->simulation->shorten > 0)
    return orr_executor_run_briefly(run->work->program, engine, keep_span, spans, &replayed->replay,
                                    error);
  return orr_executor_run(run->work->program, engine, keep_span, spans, replayed->link_bytes,
                          &replayed->replay, error);
}

/* The replay shows the steady state once; the ledger counts it for all periods left out. */
static void account(const OrrWork *work, const GArray *spans, const OrrSteady *steady,
                    OrrReplayed *replayed) {
  enum { BEFORE, WITHIN, AFTER } stage = BEFORE;
  const double times = (double)work->n_left_out;
  for (guint i = 0; i < spans->len; i++) {
    const OrrSpan *span = &g_array_index(spans, OrrSpan, i);
    if (times > 0 && stage == BEFORE && span->end_s > steady->from_s) {
      orr_ledger_mark(replayed->ledger);
      stage = WITHIN;
    }
    if (stage == WITHIN && span->end_s > steady->from_s + steady->period_s) {
      orr_ledger_repeat(replayed->ledger, times, steady->period_s);
      stage = AFTER;
    }
    orr_ledger_span(span, replayed->ledger);
  }
  replayed->replay.end_s += times * steady->period_s;
  orr_ledger_close(replayed->ledger, replayed->replay.end_s);
}

static gboolean replay_briefly(const OrrRunWork *run, OrrReplayed *replayed, OrrOutcome *outcome,
                               GError **error) {
  const OrrWork *work = run->work;
  g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  OrrSteady steady = {0};
  if (!replay_and_keep(run, spans, replayed, outcome, error)) return FALSE;
  if (work->n_left_out > 0 && !orr_steady_find(work->program, spans, work->period, &steady)) {
    if (run->simulation->too_short)
      *run->simulation->too_short = TRUE;
    else
      g_set_error(error, ORR_FAULT, ORR_FAULT_INTERNAL, "the shortened step has no steady state");
    return FALSE;
  }
  account(work, spans, &steady, replayed);
  return TRUE;
}

gboolean orr_run_work(const OrrRunWork *run, OrrOutcome *outcome, double *ret_end_s,
                      GError **error) {
  const gboolean is_live = orr_work_is_live(run->work);
  g_autoptr(GArray) spans =
      run->simulation->keep_spans && !is_live ? g_array_new(FALSE, FALSE, sizeof(OrrSpan)) : NULL;
  g_autoptr(OrrLedger) ledger = is_live ? NULL : orr_ledger_new(run->work, spans);
  g_autofree double *link_bytes = g_new0(double, orr_program_n_links(run->work->program) + 1);
  OrrReplayed replayed = {.work = run->work,
                          .cluster = &run->scenario->cluster,
                          .fabric = run->fabric,
                          .ledger = ledger,
                          .spans = spans,
                          .link_bytes = link_bytes};
  const gboolean is_brief = run->simulation->brief && !is_live;
  if (!(is_brief ? replay_briefly : replay)(run, &replayed, outcome, error)) return FALSE;
  orr_kinds_answer(&replayed, outcome);
  if (ret_end_s) *ret_end_s = replayed.replay.end_s;
  return TRUE;
}

/*
 * replay.c - one clock for everything on a machine. Begins the program and the live works on the
 * engine, runs the engine until nothing is left to do, then finishes all. The executor adds the
 * program's links to the engine; live works are given the engine's numbers of the links that they
 * use. Below that: one work on the engine that fits (simulate.h), whose kind makes the answer.
 */
#include "sim/run/run_private.h"

/* The engine's links, by link of the live work's program. */
static OrrLink *links_of(const OrrExecutor *executor, const OrrLivePart *part) {
  const guint n = orr_program_n_links(part->work->program);
  OrrLink *links = g_new0(OrrLink, n + 1);
  for (guint32 i = 0; i < n; i++)
    links[i] = orr_executor_link(executor, part->links ? part->links[i] : i);
  return links;
}

static gboolean begin_live(const OrrReplaySetup *setup, const OrrExecutor *executor,
                           GPtrArray *links, GError **error) {
  for (guint i = 0; i < setup->n_live; i++) {
    const OrrLivePart *part = &setup->live[i];
    OrrLink *own = links_of(executor, part);
    g_ptr_array_add(links, own);
    const OrrLivePlace place = {setup->engine, own, part->start_s};
    if (!part->work->kind->begin(part->work, &place, error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_replay(const OrrReplaySetup *setup, OrrReplay *ret_replay, GError **error) {
  g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(OrrExecutor) executor =
      orr_executor_begin(setup->program, setup->engine, setup->sink, setup->user, error);
  if (!executor || !begin_live(setup, executor, links, error)) return FALSE;
  const gboolean has_run = orr_engine_run(setup->engine, error);
  if (!orr_executor_end(executor, has_run, setup->link_bytes, ret_replay, error)) return FALSE;
  for (guint i = 0; i < setup->n_live; i++)
    if (!setup->live[i].work->kind->finish(setup->live[i].work, error)) return FALSE;
  return TRUE;
}

/* --- one work --- */

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

/* --- Brief runs --- */

/* A step that leaves nothing out is replayed op by op, unless it was to be shortened. */
static gboolean replay_ops(const OrrRunWork *run, OrrEngine *engine, OrrLeap *leaps,
                           OrrReplayed *replayed, GError **error) {
  const OrrWork *work = run->work;
  const OrrLeftOut left_out = {work->n_left_out, work->period};
  if (run->simulation->shorten == 0)
    return orr_executor_run(work->program, engine, orr_ledger_span, replayed->ledger,
                            replayed->link_bytes, &replayed->replay, error);
  orr_ledger_set_leaps(replayed->ledger, leaps);
  return orr_executor_run_briefly(work->program, engine, work->n_left_out > 0 ? &left_out : NULL,
                                  orr_ledger_span, replayed->ledger, leaps, &replayed->replay,
                                  error);
}

static gboolean replay_briefly(const OrrRunWork *run, OrrEngine *engine, OrrLeap *leaps,
                               OrrReplayed *replayed, GError **error) {
  if (!replay_ops(run, engine, leaps, replayed, error)) return FALSE;
  for (guint i = 0; run->simulation->looks && i < ORR_N_LEAP_LOOKS; i++)
    run->simulation->looks[i] += replayed->replay.looks[i];
  if (replayed->replay.n_left_out == 0) return TRUE;
  if (run->simulation->too_short)
    *run->simulation->too_short = TRUE;
  else
    g_set_error(error, ORR_FAULT, ORR_FAULT_INTERNAL, "the shortened step does not repeat");
  return FALSE;
}

gboolean orr_run_work(const OrrRunWork *run, OrrOutcome *outcome, double *ret_end_s,
                      GError **error) {
  const OrrLivePart live = {.work = run->work};
  const gboolean is_live = orr_work_is_live(run->work);
  const gboolean is_brief = run->simulation->brief && !is_live;
  g_autoptr(GArray) spans =
      run->simulation->keep_spans && !is_live ? g_array_new(FALSE, FALSE, sizeof(OrrSpan)) : NULL;
  g_autofree OrrLeap *leaps =
      is_brief ? g_new0(OrrLeap, orr_program_n_lanes(run->work->program) + 1) : NULL;
  g_autoptr(OrrLedger) ledger = is_live ? NULL : orr_ledger_new(run->work, spans);
  g_autofree double *link_bytes = g_new0(double, orr_program_n_links(run->work->program) + 1);
  OrrReplayed replayed = {.work = run->work,
                          .cluster = &run->scenario->cluster,
                          .prices = &run->scenario->prices,
                          .fabric = run->fabric,
                          .ledger = ledger,
                          .spans = spans,
                          .link_bytes = link_bytes};
  g_autoptr(OrrEngine) engine = choose_engine(run, outcome, error);
  if (!engine) return FALSE;
  const OrrReplaySetup setup = {.program = run->work->program,
                                .live = &live,
                                .n_live = is_live ? 1 : 0,
                                .engine = engine,
                                .sink = is_live ? NULL : orr_ledger_span,
                                .user = ledger,
                                .link_bytes = link_bytes};
  if (!(is_brief ? replay_briefly(run, engine, leaps, &replayed, error)
                 : orr_replay(&setup, &replayed.replay, error)))
    return FALSE;
  g_clear_pointer(&engine, orr_engine_free);
  if (is_live)
    orr_work_times(run->work, &replayed.replay.end_s, NULL);
  else
    orr_ledger_close(ledger, replayed.replay.end_s);
  if (is_brief) orr_ledger_set_leaps(ledger, NULL);
  orr_kinds_answer(&replayed, outcome);
  if (ret_end_s) *ret_end_s = replayed.replay.end_s;
  return TRUE;
}

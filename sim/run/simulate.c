#include "sim/run/simulate.h"

#include <string.h>

#include "sim/base/fault.h"
#include "sim/run/replay.h"
#include "sim/run/simulate_faults.h"
#include "sim/run/simulate_private.h"
#include "sim/run/steady.h"

static gboolean is_ideal(const OrrScenario *scenario, const OrrProgram *program,
                         gboolean live_contends) {
  return scenario->engine == ORR_REPLAY_IDEAL ||
         (scenario->engine == ORR_REPLAY_AUTO && !live_contends &&
          orr_program_uncontended(program));
}

OrrEngine *orr_simulate_engine(const OrrScenario *scenario, const OrrProgram *program,
                               gboolean live_contends, GError **error) {
  return orr_engine_new(
      is_ideal(scenario, program, live_contends) ? ORR_ENGINE_IDEAL : ORR_ENGINE_SIMGRID, error);
}

/* Our own sharing gives SimGrid's numbers sooner, and needs no process of its own: runs of many
 * take it. NULL without @error: another process goes on with it. */
static OrrEngine *choose_engine(const OrrScenario *scenario, const OrrWork *work,
                                const OrrSimulation *how, GError **error) {
  if (is_ideal(scenario, work->program, work->contends))
    return orr_engine_new(ORR_ENGINE_IDEAL, error);
  if (how->brief && scenario->engine == ORR_REPLAY_AUTO)
    return orr_engine_new(ORR_ENGINE_FAIR, error);
  if (how->before_simgrid && !how->before_simgrid(how->user)) return NULL;
  return orr_engine_new(ORR_ENGINE_SIMGRID, error);
}

static gboolean replay(const OrrScenario *scenario, OrrWork *work, const OrrSimulation *how,
                       OrrReplayed *replayed, OrrOutcome *outcome, GError **error) {
  const OrrLivePart live = {.work = work};
  const guint n_live = orr_work_is_live(work) ? 1 : 0;
  g_autoptr(OrrEngine) engine = choose_engine(scenario, work, how, error);
  if (!engine) return FALSE;
  outcome->engine = g_strdup(orr_engine_settings(engine));
  if (!orr_replay(work->program, &live, n_live, engine, n_live ? NULL : orr_ledger_span,
                  replayed->ledger, replayed->link_bytes, &replayed->replay, error))
    return FALSE;
  if (n_live)
    orr_work_times(work, &replayed->replay.end_s, NULL);
  else
    orr_ledger_close(replayed->ledger, replayed->replay.end_s);
  return TRUE;
}

/* --- Brief --- */

static void keep_span(const OrrSpan *span, void *spans) { g_array_append_vals(spans, span, 1); }

static gboolean replay_and_keep(const OrrScenario *scenario, const OrrWork *work,
                                const OrrSimulation *how, GArray *spans, OrrReplayed *replayed,
                                OrrOutcome *outcome, GError **error) {
  g_autoptr(OrrEngine) engine = choose_engine(scenario, work, how, error);
  if (!engine) return FALSE;
  outcome->engine = g_strdup(orr_engine_settings(engine));
  if (how->shorten > 0)
    return orr_executor_run_briefly(work->program, engine, keep_span, spans, &replayed->replay,
                                    error);
  return orr_executor_run(work->program, engine, keep_span, spans, replayed->link_bytes,
                          &replayed->replay, error);
}

/* The ledger sees the steady state once and takes it for all that was left out. */
static void account(const OrrWork *work, const GArray *spans, const OrrSteady *steady,
                    OrrReplayed *replayed) {
  const double times = (double)work->n_left_out;
  guint stage = 0;
  for (guint i = 0; i < spans->len; i++) {
    const OrrSpan *span = &g_array_index(spans, OrrSpan, i);
    if (times > 0 && stage == 0 && span->end_s > steady->from_s) {
      orr_ledger_mark(replayed->ledger);
      stage = 1;
    }
    if (stage == 1 && span->end_s > steady->from_s + steady->period_s) {
      orr_ledger_repeat(replayed->ledger, times, steady->period_s);
      stage = 2;
    }
    orr_ledger_span(span, replayed->ledger);
  }
  replayed->replay.end_s += times * steady->period_s;
  orr_ledger_close(replayed->ledger, replayed->replay.end_s);
}

static gboolean replay_briefly(const OrrScenario *scenario, OrrWork *work, const OrrSimulation *how,
                               OrrReplayed *replayed, OrrOutcome *outcome, GError **error) {
  g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  OrrSteady steady = {0};
  if (!replay_and_keep(scenario, work, how, spans, replayed, outcome, error)) return FALSE;
  if (work->n_left_out > 0 && !orr_steady_find(work->program, spans, work->period, &steady)) {
    if (how->too_short)
      *how->too_short = TRUE;
    else
      g_set_error(error, ORR_FAULT, ORR_FAULT_INTERNAL, "the shortened step has no steady state");
    return FALSE;
  }
  account(work, spans, &steady, replayed);
  return TRUE;
}

/* Members that every kind's result has. */
static void *result_member(OrrOutcome *outcome, const char *name) {
  for (size_t i = 0; i < outcome->kind->result->n_fields; i++)
    if (g_str_equal(outcome->kind->result->fields[i].name, name))
      return (char *)&outcome->result + outcome->kind->result->fields[i].offset;
  g_return_val_if_reached(NULL);
}

static void fill_integer(OrrOutcome *outcome, const char *name, gint64 value) {
  *(gint64 *)result_member(outcome, name) = value;
}

void orr_simulate_fill_wall_time(OrrOutcome *outcome, gint64 begin_us) {
  outcome->wall_time_s = (double)(g_get_monotonic_time() - begin_us) * 1e-6;
  *(double *)result_member(outcome, "wall-time-s") = outcome->wall_time_s;
}

void orr_simulate_fill_outcome(OrrOutcome *outcome, const OrrScenario *scenario,
                               const OrrReplayed *replayed) {
  outcome->kind = orr_run_kind(replayed->work->kind);
  fill_integer(outcome, "n-gpus", replayed->work->n_gpus);
  fill_integer(outcome, "events", (gint64)replayed->replay.n_events);
  outcome->kind->rows(scenario, replayed, outcome);
}

gboolean orr_simulate_work(const OrrScenario *scenario, const OrrFabric *fabric, OrrWork *work,
                           const OrrSimulation *how, OrrOutcome *outcome, double *ret_end_s,
                           GError **error) {
  const gboolean is_live = orr_work_is_live(work);
  g_autoptr(GArray) spans =
      how->keep_spans && !is_live ? g_array_new(FALSE, FALSE, sizeof(OrrSpan)) : NULL;
  g_autoptr(OrrLedger) ledger = is_live ? NULL : orr_ledger_new(work, spans);
  g_autofree double *link_bytes = g_new0(double, orr_program_n_links(work->program) + 1);
  OrrReplayed replayed = {
      .work = work, .fabric = fabric, .ledger = ledger, .spans = spans, .link_bytes = link_bytes};
  const gboolean is_brief = how->brief && !is_live;
  if (!(is_brief ? replay_briefly : replay)(scenario, work, how, &replayed, outcome, error))
    return FALSE;
  orr_simulate_fill_outcome(outcome, scenario, &replayed);
  if (ret_end_s) *ret_end_s = replayed.replay.end_s;
  return TRUE;
}

OrrOutcome *orr_simulate_outcome_new(void) {
  OrrOutcome *outcome = g_new0(OrrOutcome, 1);
  outcome->nccl_tests = g_array_new(FALSE, TRUE, sizeof(OrrNcclTestRow));
  outcome->serving_requests = g_array_new(FALSE, TRUE, sizeof(OrrServingRequestRow));
  outcome->serving_steps = g_array_new(FALSE, TRUE, sizeof(OrrServingStepRow));
  outcome->serving_replicas = g_array_new(FALSE, TRUE, sizeof(OrrServingReplicaRow));
  outcome->serving_classes = g_array_new(FALSE, TRUE, sizeof(OrrServingClassRow));
  outcome->serving_turns = g_array_new(FALSE, TRUE, sizeof(OrrServingTurnRow));
  outcome->steps = g_array_new(FALSE, TRUE, sizeof(OrrStepRow));
  outcome->lanes = g_array_new(FALSE, TRUE, sizeof(OrrLaneRow));
  outcome->spans = g_array_new(FALSE, TRUE, sizeof(OrrSpanRow));
  outcome->times = g_array_new(FALSE, TRUE, sizeof(OrrTimeRow));
  outcome->operators = g_array_new(FALSE, TRUE, sizeof(OrrOperatorRow));
  outcome->collectives = g_array_new(FALSE, TRUE, sizeof(OrrCollectiveRow));
  outcome->links = g_array_new(FALSE, TRUE, sizeof(OrrLinkRow));
  outcome->names = g_string_chunk_new(1024);
  outcome->link_times = g_array_new(FALSE, TRUE, sizeof(OrrLinkTimeRow));
  outcome->memory_times = g_array_new(FALSE, TRUE, sizeof(OrrMemoryTimeRow));
  outcome->activations = g_array_new(FALSE, TRUE, sizeof(OrrActivationRow));
  outcome->memory = g_array_new(FALSE, TRUE, sizeof(OrrMemoryRow));
  outcome->faults = g_array_new(FALSE, TRUE, sizeof(OrrFaultRow));
  outcome->storage = g_array_new(FALSE, TRUE, sizeof(OrrStorageRow));
  outcome->warnings = g_ptr_array_new_with_free_func(g_free);
  return outcome;
}

OrrOutcome *orr_simulate_in(const OrrRunWorld *machine, const OrrScenario *scenario,
                            const OrrSimulation *how, GError **error) {
  const gint64 begin = g_get_monotonic_time();
  g_autoptr(OrrOutcome) outcome = orr_simulate_outcome_new();
  outcome->carried_from = orr_cost_carried_from(machine->cost);
  for (guint i = 0; i < machine->warnings->len; i++)
    g_ptr_array_add(outcome->warnings, g_strdup(machine->warnings->pdata[i]));
  const OrrWorld world = {.model = &scenario->model,
                          .cluster = &scenario->cluster,
                          .fabric = machine->fabric,
                          .cost = machine->cost,
                          .cost_of = orr_run_world_cost_of,
                          .machines = (OrrRunWorld *)machine, /* what it makes of others it keeps */
                          .fidelity = scenario->fidelity,
                          .on_missing = (OrrOnMissing)scenario->on_missing,
                          .seed = scenario->seed,
                          .folders = scenario->folders,
                          .shorten =
                              how->brief && !orr_scenario_has_faults(scenario) ? how->shorten : 0};
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  if (orr_scenario_has_faults(scenario)) {
    if (!orr_simulate_faults_run(&world, scenario, how, outcome, error)) return NULL;
  } else {
    g_autoptr(OrrWork) work = kind->compile(scenario->workload.params, &world, error);
    if (!work || !orr_simulate_work(scenario, machine->fabric, work, how, outcome, NULL, error))
      return NULL;
    outcome->fidelity = orr_fidelity_words[work->fidelity];
  }
  orr_simulate_fill_wall_time(outcome, begin);
  return g_steal_pointer(&outcome);
}

OrrOutcome *orr_simulate(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                         GError **error) {
  const gint64 begin = g_get_monotonic_time();
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, error);
  if (!world) return NULL;
  const OrrSimulation how = {.keep_spans = keep_spans};
  OrrOutcome *outcome = orr_simulate_in(world, scenario, &how, error);
  if (outcome) orr_simulate_fill_wall_time(outcome, begin);
  return outcome;
}

void orr_outcome_free(OrrOutcome *outcome) {
  if (!outcome) return;
  GArray *const arrays[] = {outcome->nccl_tests,      outcome->steps,
                            outcome->lanes,           outcome->spans,
                            outcome->times,           outcome->operators,
                            outcome->collectives,     outcome->links,
                            outcome->link_times,      outcome->memory,
                            outcome->memory_times,    outcome->serving_requests,
                            outcome->serving_steps,   outcome->serving_replicas,
                            outcome->serving_classes, outcome->serving_turns,
                            outcome->faults,          outcome->storage,
                            outcome->activations};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) g_array_unref(arrays[i]);
  g_string_chunk_free(outcome->names);
  g_ptr_array_unref(outcome->warnings);
  g_free(outcome->engine);
  if (outcome->own_job) g_free(outcome->own_job->gpus);
  g_free(outcome->own_job);
  g_free(outcome);
}

/*
 * executor_express.c - replays the rest of a routine as one event (a run), as long as nothing
 * interferes.
 *
 * A routine's ops follow one another on one stream. While its collectives' links carry no other
 * transfer, and no communication on its lane slows its work, each op takes its time alone, so the
 * end of the routine is known. Another transfer or communication breaks the run: the current op
 * continues by itself, and after it the rest can become a run again.
 *
 *   ops     |work|  collective  |work|  collective  |work|...        begins[i]: begin of op i
 *   run     +-----------------+- - - - - - - - - - - - - -+          one event, at the last end
 *   meets                     ^ a transfer starts on its links
 *   then    +--------1 span---+ op by op + run again ------+
 *
 * Invariants
 *  1. A link with a run on it carries no transfer and no other run; a transfer that starts on it
 *     breaks the run first.
 *  2. A lane with a run on it has no communication in flight on its other streams, where that would
 *     slow it.
 *
 * The result is exact: while the set of active transfers does not change, rates and factors are
 * constant, and the factors of a run are 1 except during its own collectives. The dates of a run
 * are the sums that a replay op by op makes, in the same order, so they are equal to the last bit:
 * pipelines that amplify rounding come out alike.
 */
#include "sim/engine/executor_private.h"

/* Work that a comm has slowed for less than this fraction of the time is not named after it (as in
 * executor_overlap.c). */
#define SAME_DATE 1e-12

/* A delay, and after it the bytes of a transfer that is alone on its links. */
typedef struct {
  double latency_s, transfer_s;
} Leg;

/* A routine, each op alone. */
struct OrrExpressRoutine {
  const OrrOp *ops;
  GArray *legs;        /* of Leg: of all ops' comms, one for each phase */
  guint32 *first_legs; /* by op, and the end */
  double beside;       /* how many times as long work takes during a comm */
  guint32 *links;      /* the engine's numbers, each once */
  guint n_links;
};

struct OrrExpressRun {
  OrrExecutor *executor;
  gboolean runs;
  gboolean
      occupies; /* holds its links and its lane; FALSE where it was broken on the date of its end */
  guint32 routine, first; /* the op with which the run began */
  double *dates; /* begin of each op from the first on, and the end; as long as the longest */
  guint32 n_dates;
  OrrEvent *end; /* the engine's call at the end, while it runs */
};

/* --- set-up --- */

static void add_links(const OrrExecutor *executor, guint32 comm, GArray *links, guint32 *seen,
                      guint32 mark) {
  guint n_phases, n_uses;
  const OrrPhase *phases = orr_program_phases(executor->program, comm, &n_phases);
  for (guint p = 0; p < n_phases; p++) {
    if (phases[p].path == ORR_NO_PATH || phases[p].bytes == 0) continue;
    const OrrLinkUse *uses = orr_use_rows_get(&executor->uses, phases[p].path, &n_uses);
    for (guint u = 0; u < n_uses; u++) {
      if (seen[uses[u].link] == mark) continue;
      seen[uses[u].link] = mark;
      g_array_append_val(links, uses[u].link);
    }
  }
}

static void add_legs(const OrrExecutor *executor, guint32 comm, GArray *legs) {
  guint n;
  const OrrPhase *phases = orr_program_phases(executor->program, comm, &n);
  for (guint i = 0; i < n; i++) {
    const gboolean moves = phases[i].path != ORR_NO_PATH && phases[i].bytes > 0;
    ORR_APPEND(legs, Leg,
               {phases[i].latency_s,
                moves ? phases[i].bytes / orr_executor_rate_alone(executor, phases[i].path) : 0});
  }
}

static double beside_of(const OrrExecutor *executor, guint32 routine) {
  const guint32 stream = orr_program_routine(executor->program, routine)->stream;
  return g_array_index(executor->program->lanes, OrrLane, executor->streams[stream].lane)
      .interference.compute_by_comm;
}

static void look_at_routine(const OrrExecutor *executor, guint32 routine, guint32 *seen) {
  OrrExpressRoutine *it = &executor->express.routines[routine];
  guint n;
  const OrrOp *ops = orr_program_routine_ops(executor->program, routine, &n);
  GArray *links = g_array_new(FALSE, FALSE, sizeof(guint32));
  *it = (OrrExpressRoutine){.ops = ops,
                            .legs = g_array_new(FALSE, FALSE, sizeof(Leg)),
                            .first_legs = g_new(guint32, n + 1),
                            .beside = beside_of(executor, routine)};
  for (guint i = 0; i < n; i++) {
    it->first_legs[i] = it->legs->len;
    if (ops[i].kind != ORR_OP_COMM && ops[i].kind != ORR_OP_BESIDE) continue;
    add_legs(executor, ops[i].target, it->legs);
    add_links(executor, ops[i].target, links, seen, routine + 1);
  }
  it->first_legs[n] = it->legs->len;
  it->n_links = links->len;
  it->links = (guint32 *)(void *)g_array_free(links, FALSE);
}

gboolean orr_express_is_possible(const OrrProgram *program) {
  return program->routines->len > 0 && program->faults->len == 0 && program->slowdowns->len == 0 &&
         program->losses->len == 0 && program->epochs->len == 0 && !orr_executor_drags(program);
}

void orr_express_init(OrrExecutor *executor) {
  const OrrProgram *program = executor->program;
  OrrExpress *express = &executor->express;
  const guint n_links = orr_program_n_kept_links(program);
  *express = (OrrExpress){.routines = g_new0(OrrExpressRoutine, program->routines->len + 1),
                          .runs = g_new0(OrrExpressRun, program->streams->len + 1),
                          .n_flows = g_new0(guint32, n_links + 1),
                          .on_link = g_new0(guint32, n_links + 1),
                          .on_lane = g_new0(guint32, program->lanes->len + 1)};
  g_autofree guint32 *seen = g_new0(guint32, n_links + 1);
  for (guint32 i = 0; i < program->routines->len; i++) look_at_routine(executor, i, seen);
}

void orr_express_clear(OrrExpress *express, const OrrProgram *program) {
  for (guint i = 0; express->routines && i < program->routines->len; i++) {
    g_array_unref(express->routines[i].legs);
    ORR_FREE(express->routines[i].first_legs, express->routines[i].links);
  }
  for (guint i = 0; express->runs && i < program->streams->len; i++) g_free(express->runs[i].dates);
  ORR_FREE(express->routines, express->runs, express->n_flows, express->on_link, express->on_lane);
}

/* --- beginning and ending --- */

static void occupy(OrrExecutor *executor, guint32 stream, guint32 mark) {
  OrrExpress *express = &executor->express;
  const OrrExpressRoutine *routine = &express->routines[express->runs[stream].routine];
  for (guint i = 0; i < routine->n_links; i++) express->on_link[routine->links[i]] = mark;
  express->on_lane[executor->streams[stream].lane] = mark;
  express->runs[stream].occupies = mark > 0;
}

/* Only once: another run can occupy them afterwards. */
static void leave(OrrExecutor *executor, guint32 stream) {
  if (executor->express.runs[stream].occupies) occupy(executor, stream, 0);
}

static gboolean is_free(const OrrExecutor *executor, guint32 lane,
                        const OrrExpressRoutine *routine) {
  const OrrExpress *express = &executor->express;
  const gboolean is_slowed =
      g_array_index(executor->program->lanes, OrrLane, lane).interference.compute_by_comm > 1;
  if (express->on_lane[lane] || (is_slowed && executor->overlaps.n_flights[lane] > 0)) return FALSE;
  for (guint i = 0; i < routine->n_links; i++)
    if (express->n_flows[routine->links[i]] > 0 || express->on_link[routine->links[i]])
      return FALSE;
  return TRUE;
}

/* The end of the op's comm, which begins at @at_s. */
static double flight_end(const OrrExpressRoutine *routine, guint32 op, double at_s) {
  for (guint32 i = routine->first_legs[op]; i < routine->first_legs[op + 1]; i++) {
    const Leg *leg = &g_array_index(routine->legs, Leg, i);
    at_s += leg->latency_s;
    at_s += leg->transfer_s;
  }
  return at_s;
}

/* How much of work of @duration_s that begins at @begin_s is left when the flight ends. */
static double left_after(const OrrExpressRoutine *routine, double duration_s, double begin_s,
                         double flight_end_s) {
  return MAX(duration_s - (flight_end_s - begin_s) / routine->beside, 0);
}

/* The end of work during a flight, as executor_overlap.c computes it. */
static double work_end(const OrrExpressRoutine *routine, double duration_s, double begin_s,
                       double flight_end_s) {
  if (begin_s >= flight_end_s || routine->beside == 1) return begin_s + duration_s;
  const double slowed_s = begin_s + duration_s * routine->beside;
  if (flight_end_s >= slowed_s) return slowed_s;
  return flight_end_s + left_after(routine, duration_s, begin_s, flight_end_s);
}

/* Sets the dates of the run's ops; its first one begins at @at_s. */
static void set_dates(OrrExpressRun *run, guint32 n_ops, double at_s) {
  const OrrExpressRoutine *routine = &run->executor->express.routines[run->routine];
  double flight_end_s = at_s;
  if (run->n_dates <= n_ops) {
    run->n_dates = n_ops + 1;
    run->dates = g_renew(double, run->dates, run->n_dates);
  }
  for (guint32 i = run->first; i < n_ops; i++) {
    const OrrOp *op = &routine->ops[i];
    run->dates[i] = at_s;
    if (op->kind == ORR_OP_WORK) at_s = work_end(routine, op->duration_s, at_s, flight_end_s);
    if (op->kind == ORR_OP_COMM) at_s = flight_end(routine, i, at_s);
    if (op->kind == ORR_OP_BESIDE) flight_end_s = flight_end(routine, i, at_s);
    if (op->kind == ORR_OP_MEET) at_s = MAX(at_s, flight_end_s);
  }
  run->dates[n_ops] = at_s;
}

/* The span of the run's ops before @end. */
static void hand_out(OrrExecutor *executor, guint32 stream, guint32 end) {
  const OrrExpressRun *run = &executor->express.runs[stream];
  if (end > run->first)
    orr_executor_add_run(executor, stream, run->routine, run->first, end - run->first,
                         run->dates[run->first], run->dates[end]);
}

static guint32 stream_of(const OrrExpressRun *run) {
  return (guint32)(run - run->executor->express.runs);
}

static void run_ends(void *user) {
  OrrExpressRun *run = user;
  OrrExecutor *executor = run->executor;
  const guint32 stream = stream_of(run);
  OrrStreamState *state = &executor->streams[stream];
  const double end_s = run->dates[state->n_ops];
  hand_out(executor, stream, state->n_ops);
  leave(executor, stream);
  run->runs = FALSE;
  run->end = NULL;
  state->next_op = state->n_ops;
  orr_executor_go_on(executor, stream, end_s);
}

guint32 orr_express_call_stream(OrrEngineCall call, const void *user) {
  return call == run_ends ? stream_of(user) : ORR_NOBODY;
}

void orr_express_postpone(OrrExecutor *executor, guint32 stream, double delay_s) {
  OrrExpressRun *run = executor->express.routines ? &executor->express.runs[stream] : NULL;
  const guint32 n_ops = executor->streams[stream].n_ops;
  for (guint32 i = run && run->runs ? run->first : n_ops + 1; i <= n_ops; i++)
    run->dates[i] += delay_s;
}

/* The BESIDE whose MEET has not been reached at @op; G_MAXUINT32: none. */
static guint32 beside_at(const OrrStreamState *state, guint32 op) {
  for (guint32 i = op + 1; i-- > 0;) {
    if (state->ops[i].kind == ORR_OP_BESIDE) return i;
    if (state->ops[i].kind == ORR_OP_COMM || (state->ops[i].kind == ORR_OP_MEET && i < op)) break;
  }
  return G_MAXUINT32;
}

gboolean orr_express_begin(OrrExecutor *executor, guint32 stream, guint32 routine) {
  OrrExpress *express = &executor->express;
  const OrrStreamState *state = &executor->streams[stream];
  OrrExpressRun *run = &express->runs[stream];
  const OrrExpressRoutine *it = &express->routines[routine];
  if (state->next_op + 2 > state->n_ops) return FALSE; /* the last op needs no run */
  if (beside_at(state, state->next_op) != G_MAXUINT32 &&
      state->ops[state->next_op].kind != ORR_OP_BESIDE)
    return FALSE;
  if (!is_free(executor, executor->streams[stream].lane, it)) return FALSE;
  *run = (OrrExpressRun){.executor = executor,
                         .runs = TRUE,
                         .routine = routine,
                         .first = state->next_op,
                         .dates = run->dates,
                         .n_dates = run->n_dates};
  occupy(executor, stream, stream + 1);
  set_dates(run, state->n_ops, state->now_s);
  run->end =
      orr_engine_at(executor->engine,
                    MAX(run->dates[state->n_ops], orr_engine_now(executor->engine)), run_ends, run);
  return TRUE;
}

/* --- breaking --- */

/* The op in progress now; n_ops: none. Dates that are the engine's now up to rounding are past, as
 * they are where each op has an event. */
static guint32 op_now(const OrrExpressRun *run, guint32 n_ops) {
  const double now_s = orr_engine_now(run->executor->engine);
  guint32 low = run->first, high = n_ops;
  while (low < high) {
    const guint32 middle = (low + high) / 2;
    const double end_s = run->dates[middle + 1];
    if (end_s > now_s && !orr_engine_same_date(now_s, end_s))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Brings the helper to its state at this time: in its comm, or past it. */
static void send_helper(OrrExecutor *executor, guint32 stream, guint32 beside, double end_s) {
  const OrrStreamState *state = &executor->streams[stream];
  const guint32 helper = orr_executor_call_helper(executor, stream);
  const double begin_s = executor->express.runs[stream].dates[beside];
  orr_executor_call_send_helper(executor, stream, beside, begin_s);
  if (end_s > orr_engine_now(executor->engine)) return orr_executor_join_since(executor, helper);
  orr_executor_add_span(executor, helper, &state->ops[beside], begin_s, end_s, G_MAXUINT32);
  executor->streams[helper].now_s = end_s;
  orr_executor_call_helped(executor, helper);
}

/* The op in progress during a comm that ends at @end_s. */
static void go_on_beside(OrrExecutor *executor, guint32 stream, guint32 op, double end_s,
                         guint32 label) {
  const OrrExpressRun *run = &executor->express.runs[stream];
  const OrrExpressRoutine *routine = &executor->express.routines[run->routine];
  const double begin_s = run->dates[op], duration_s = routine->ops[op].duration_s;
  OrrStreamState *state = &executor->streams[stream];
  state->now_s = begin_s;
  if (routine->ops[op].kind == ORR_OP_MEET)
    state->waiting = TRUE;
  else if (end_s > orr_engine_now(executor->engine) || end_s <= begin_s || routine->beside == 1)
    orr_overlaps_resume_work(executor, stream, duration_s, begin_s, ORR_NOBODY, G_MAXUINT32);
  else
    orr_overlaps_resume_work(executor, stream, left_after(routine, duration_s, begin_s, end_s),
                             end_s, orr_executor_call_helper(executor, stream), label);
}

/* Work from BESIDE to @op: completed ops get their spans; the op in progress continues. */
static void work_beside(OrrExecutor *executor, guint32 stream, guint32 beside, guint32 op) {
  const OrrExpressRun *run = &executor->express.runs[stream];
  const OrrExpressRoutine *routine = &executor->express.routines[run->routine];
  const OrrOp *ops = executor->streams[stream].ops;
  const double *dates = run->dates, end_s = flight_end(routine, beside, dates[beside]);
  const double same_s = SAME_DATE * orr_engine_now(executor->engine);
  send_helper(executor, stream, beside, end_s);
  for (guint32 i = beside + 1; i < op; i++) {
    const gboolean is_slowed = routine->beside > 1 && MIN(dates[i + 1], end_s) - dates[i] > same_s;
    orr_executor_add_span(executor, stream, &ops[i], dates[i], dates[i + 1],
                          is_slowed ? ops[beside].label : G_MAXUINT32);
  }
  go_on_beside(executor, stream, op, end_s, ops[beside].label);
}

static void break_within(OrrExecutor *executor, guint32 stream, guint32 op) {
  const OrrExpressRun *run = &executor->express.runs[stream];
  OrrStreamState *state = &executor->streams[stream];
  const guint32 beside = beside_at(state, op);
  state->next_op = op + 1;
  if (beside != G_MAXUINT32) return work_beside(executor, stream, beside, op);
  state->now_s = run->dates[op];
  if (state->ops[op].kind == ORR_OP_COMM)
    orr_executor_join_since(executor, stream);
  else
    orr_overlaps_resume_work(executor, stream, state->ops[op].duration_s, state->now_s, ORR_NOBODY,
                             G_MAXUINT32);
}

guint32 orr_express_op(OrrExecutor *executor, guint32 stream) {
  const OrrExpressRun *run = executor->express.runs ? &executor->express.runs[stream] : NULL;
  const OrrStreamState *state = &executor->streams[stream];
  if (!run || !run->runs || !run->occupies) return G_MAXUINT32;
  const guint32 op = op_now(run, state->n_ops);
  return op < state->n_ops && beside_at(state, op) == G_MAXUINT32 ? op : G_MAXUINT32;
}

void orr_express_split(OrrExecutor *executor, guint32 stream) {
  const guint32 op = orr_express_op(executor, stream);
  hand_out(executor, stream, op);
  executor->express.runs[stream].first = op;
}

static void break_run(OrrExecutor *executor, guint32 stream) {
  OrrExpressRun *run = &executor->express.runs[stream];
  const OrrStreamState *state = &executor->streams[stream];
  const guint32 op = op_now(run, state->n_ops);
  leave(executor, stream);
  if (op == state->n_ops) return; /* the run ends now; its event follows */
  const guint32 beside = beside_at(state, op);
  run->runs = FALSE;
  orr_engine_withdraw(executor->engine, g_steal_pointer(&run->end));
  hand_out(executor, stream, beside == G_MAXUINT32 ? op : beside);
  break_within(executor, stream, op);
}

void orr_express_meet_lane(OrrExecutor *executor, guint32 lane) {
  const OrrExpress *express = &executor->express;
  if (express->routines && express->on_lane[lane]) break_run(executor, express->on_lane[lane] - 1);
}

void orr_express_begin_flow(OrrExecutor *executor, const OrrLinkUse *uses, guint n_uses) {
  OrrExpress *express = &executor->express;
  if (!express->routines) return;
  for (guint i = 0; i < n_uses; i++)
    if (express->on_link[uses[i].link]) break_run(executor, express->on_link[uses[i].link] - 1);
  for (guint i = 0; i < n_uses; i++) express->n_flows[uses[i].link]++;
}

void orr_express_end_flow(OrrExecutor *executor, const OrrLinkUse *uses, guint n_uses) {
  OrrExpress *express = &executor->express;
  for (guint i = 0; express->routines && i < n_uses; i++) express->n_flows[uses[i].link]--;
}

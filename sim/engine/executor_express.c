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
 *  3. A run that is broken within rounding of an op's end is broken at that end.
 *
 * The result is exact: while the set of active transfers does not change, rates and factors are
 * constant, and the factors of a run are 1. Only rounding differs from a replay op by op.
 */
#include "sim/engine/executor_private.h"

/* Dates nearer than this fraction of the time count as equal (as in executor_overlap.c). */
#define SAME_DATE 1e-12

/* A routine, each op alone. */
struct OrrExpressRoutine {
  double *begins; /* begin of each op, and the end: orr_program_routine_begins */
  guint32 *links; /* the engine's numbers, each once */
  guint n_links;
};

struct OrrExpressRun {
  OrrExecutor *executor;
  gboolean runs;
  gboolean
      occupies; /* holds its links and its lane; FALSE where it was broken on the date of its end */
  guint32 routine, first; /* the op with which the run began */
  double begin_s;
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

static void look_at_routine(const OrrExecutor *executor, guint32 routine, guint32 *seen) {
  OrrExpressRoutine *it = &executor->express.routines[routine];
  guint n;
  const OrrOp *ops = orr_program_routine_ops(executor->program, routine, &n);
  GArray *links = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == ORR_OP_COMM || ops[i].kind == ORR_OP_BESIDE)
      add_links(executor, ops[i].target, links, seen, routine + 1);
  it->begins = orr_program_routine_begins(executor->program, routine);
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
    ORR_FREE(express->routines[i].begins, express->routines[i].links);
  }
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

static double seconds_between(const OrrExpressRoutine *routine, guint32 first, guint32 end) {
  return routine->begins[end] - routine->begins[first];
}

static void hand_out(OrrExecutor *executor, guint32 stream, guint32 end, double end_s) {
  const OrrExpressRun *run = &executor->express.runs[stream];
  if (end > run->first)
    orr_executor_add_run(executor, stream, run->routine, run->first, end - run->first, run->begin_s,
                         end_s);
}

static guint32 stream_of(const OrrExpressRun *run) {
  return (guint32)(run - run->executor->express.runs);
}

static void run_ends(void *user) {
  OrrExpressRun *run = user;
  OrrExecutor *executor = run->executor;
  const guint32 stream = stream_of(run);
  OrrStreamState *state = &executor->streams[stream];
  const double end_s = run->begin_s + seconds_between(&executor->express.routines[run->routine],
                                                      run->first, state->n_ops);
  hand_out(executor, stream, state->n_ops, end_s);
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
  if (executor->express.routines) executor->express.runs[stream].begin_s += delay_s;
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
  *run = (OrrExpressRun){executor, TRUE, FALSE, routine, state->next_op, state->now_s, NULL};
  occupy(executor, stream, stream + 1);
  const double end_s = run->begin_s + seconds_between(it, run->first, state->n_ops);
  run->end =
      orr_engine_at(executor->engine, MAX(end_s, orr_engine_now(executor->engine)), run_ends, run);
  return TRUE;
}

/* --- breaking --- */

/* The op in progress @at_s seconds into the routine; n_ops: none. */
static guint32 op_at(const OrrExpressRoutine *routine, guint32 n_ops, guint32 first, double at_s,
                     double same_s) {
  guint32 low = first, high = n_ops;
  while (low < high) {
    const guint32 middle = (low + high) / 2;
    if (routine->begins[middle + 1] > at_s + same_s)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The place at which a run is broken. */
typedef struct {
  OrrExecutor *executor;
  guint32 stream;
  const double *begins; /* of the routine's ops */
  double zero_s; /* date of the routine's begin, as if it had run from there without a break */
  double at_s;   /* now, relative to zero_s */
  double same_s;
} Break;

/* Brings the helper to its state at this time: in its comm, or past it. */
static void send_helper(const Break *it, guint32 beside, double flight_end) {
  OrrStreamState *state = &it->executor->streams[it->stream];
  const guint32 helper = orr_executor_call_helper(it->executor, it->stream);
  const double begin_s = it->zero_s + it->begins[beside];
  orr_executor_call_send_helper(it->executor, it->stream, beside, begin_s);
  if (flight_end > it->at_s + it->same_s)
    return orr_executor_join_within(it->executor, helper, flight_end - it->at_s);
  orr_executor_add_span(it->executor, helper, &state->ops[beside], begin_s, it->zero_s + flight_end,
                        G_MAXUINT32);
  it->executor->streams[helper].now_s = it->zero_s + flight_end;
  orr_executor_call_helped(it->executor, helper);
}

/* Work from BESIDE to @op: completed ops get their spans; the op in progress continues. */
static void work_beside(const Break *it, guint32 beside, guint32 op, double flight_end) {
  OrrExecutor *executor = it->executor;
  OrrStreamState *state = &executor->streams[it->stream];
  const guint32 lane = executor->streams[it->stream].lane, label = state->ops[beside].label;
  const double factor =
      g_array_index(executor->program->lanes, OrrLane, lane).interference.compute_by_comm;
  for (guint32 i = beside + 1; i <= op; i++) {
    const double begin = it->begins[i], end = it->begins[i + 1];
    const gboolean is_slowed =
        factor > 1 && MIN(i < op ? end : it->at_s, flight_end) - begin > it->same_s;
    if (i < op) {
      orr_executor_add_span(executor, it->stream, &state->ops[i], it->zero_s + begin,
                            it->zero_s + end, is_slowed ? label : G_MAXUINT32);
      continue;
    }
    state->now_s = it->zero_s + begin;
    const double slow_s = MAX(MIN(end, flight_end) - it->at_s, 0), left_s = end - it->at_s;
    if (state->ops[i].kind == ORR_OP_WORK)
      orr_overlaps_resume_work(executor, it->stream, left_s - slow_s + slow_s / factor,
                               is_slowed ? orr_executor_call_helper(executor, it->stream)
                                         : ORR_NOBODY,
                               is_slowed ? label : G_MAXUINT32);
    else
      state->waiting = TRUE; /* MEET */
  }
}

static void break_within(const Break *it, guint32 op) {
  OrrExecutor *executor = it->executor;
  OrrStreamState *state = &executor->streams[it->stream];
  const guint32 beside = beside_at(state, op);
  const double left_s = it->begins[op + 1] - it->at_s;
  state->next_op = op + 1;
  if (beside != G_MAXUINT32) {
    const double flight_end =
        it->begins[beside] + orr_program_comm_alone(executor->program, state->ops[beside].target);
    send_helper(it, beside, flight_end);
    work_beside(it, beside, op, flight_end);
    return;
  }
  state->now_s = it->zero_s + it->begins[op];
  if (state->ops[op].kind == ORR_OP_COMM)
    orr_executor_join_within(executor, it->stream, left_s);
  else
    orr_overlaps_resume_work(executor, it->stream, left_s, ORR_NOBODY, G_MAXUINT32);
}

static Break break_now(OrrExecutor *executor, guint32 stream) {
  const OrrExpressRun *run = &executor->express.runs[stream];
  const OrrExpressRoutine *routine = &executor->express.routines[run->routine];
  const double now_s = orr_engine_now(executor->engine),
               zero_s = run->begin_s - routine->begins[run->first];
  return (Break){
      executor,         stream, routine->begins, zero_s, MAX(now_s, run->begin_s) - zero_s,
      SAME_DATE * now_s};
}

guint32 orr_express_op(OrrExecutor *executor, guint32 stream) {
  const OrrExpressRun *run = executor->express.runs ? &executor->express.runs[stream] : NULL;
  const OrrStreamState *state = &executor->streams[stream];
  if (!run || !run->runs || !run->occupies) return G_MAXUINT32;
  const Break it = break_now(executor, stream);
  const guint32 op = op_at(&executor->express.routines[run->routine], state->n_ops, run->first,
                           it.at_s, it.same_s);
  return op < state->n_ops && beside_at(state, op) == G_MAXUINT32 ? op : G_MAXUINT32;
}

void orr_express_split(OrrExecutor *executor, guint32 stream) {
  const guint32 op = orr_express_op(executor, stream);
  OrrExpressRun *run = &executor->express.runs[stream];
  const double begin_s =
      run->begin_s + seconds_between(&executor->express.routines[run->routine], run->first, op);
  hand_out(executor, stream, op, begin_s);
  run->first = op;
  run->begin_s = begin_s;
}

static void break_run(OrrExecutor *executor, guint32 stream) {
  OrrExpressRun *run = &executor->express.runs[stream];
  const OrrStreamState *state = &executor->streams[stream];
  const OrrExpressRoutine *routine = &executor->express.routines[run->routine];
  const Break it = break_now(executor, stream);
  const double zero_s = it.zero_s;
  const guint32 op = op_at(routine, state->n_ops, run->first, it.at_s, it.same_s);
  leave(executor, stream);
  if (op == state->n_ops) return; /* the run ends now; its event follows */
  const guint32 beside = beside_at(state, op), end = beside == G_MAXUINT32 ? op : beside;
  run->runs = FALSE;
  orr_engine_withdraw(executor->engine, g_steal_pointer(&run->end));
  hand_out(executor, stream, end, zero_s + routine->begins[end]);
  break_within(&it, op);
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

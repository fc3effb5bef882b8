/*
 * executor_rewind.c - replays the periods that a program leaves out, one after another.
 *
 * A stream's ops are  A P P P P B: a beginning, a period as often as there is one, an end. With one
 * more P the stream would meet, wherever it stands among them, the ops of one period before its
 * next op. So when all streams of coupled lanes (which share communications and events) stand
 * there, each is taken back by its P, at the same date, with all that is under way on it:
 *
 *   stream   A P P|P P B        |  where it stands
 *            A P|P P P B        after it was taken back
 *   comm     joined at op q     becomes the comm of op q - |P|, which had ended
 *   event    waited for at q becomes the event of q - |P|, which did not happen yet
 *            recorded at r      happens again; one that streams ahead of the engine have recorded
 *                               and nobody has waited for becomes the event of r - |P|
 *
 * Tags (micro-batches) of later spans are raised by what was taken back.
 */
#include "sim/engine/executor_leap.h"

/* --- where streams repeat --- */

static gboolean comms_are_alike(const OrrProgram *program, guint32 a, guint32 b) {
  guint n_a, n_b;
  const OrrPhase *x = orr_program_phases(program, a, &n_a),
                 *y = orr_program_phases(program, b, &n_b);
  gboolean alike =
      n_a == n_b && orr_program_comm_members(program, a) == orr_program_comm_members(program, b);
  for (guint i = 0; i < n_a && alike; i++)
    alike = x[i].latency_s == y[i].latency_s && x[i].bytes == y[i].bytes && x[i].path == y[i].path;
  return alike;
}

static inline gboolean has_tag(const OrrOp *op) {
  return op->tag >= 0 && op->kind != ORR_OP_RECORD && op->kind != ORR_OP_WAIT;
}

/* A stream's ops, in which a period is looked for. */
typedef struct {
  const OrrProgram *program;
  guint32 stream;
  const OrrOp *ops;
  guint n;
  gint64 tags; /* of a period */
} Search;

/* Whether op @j of the stream is op @i again, one period later. */
static inline gboolean is_again(const Search *search, guint i, guint j) {
  const OrrOp *a = &search->ops[i], *b = &search->ops[j];
  if (a->kind != b->kind) return FALSE;
  if (a->kind == ORR_OP_RECORD || a->kind == ORR_OP_WAIT) return TRUE;
  if (a->label != b->label || a->duration_s != b->duration_s || !has_tag(a) ||
      b->tag - a->tag != search->tags)
    return FALSE;
  if (a->kind == ORR_OP_CALL) return a->target == b->target;
  return a->kind != ORR_OP_COMM ||
         comms_are_alike(search->program, orr_program_target(search->program, search->stream, i),
                         orr_program_target(search->program, search->stream, j));
}

/* Where the ops around @at repeat @n_ops later. */
static OrrRange range_around(const Search *search, guint at, guint n_ops) {
  guint first = at, end = at + n_ops + 1;
  while (first > 0 && is_again(search, first - 1, first - 1 + n_ops)) first--;
  while (end < search->n && is_again(search, end - n_ops, end)) end++;
  return (OrrRange){first, end, n_ops};
}

/* The tagged op nearest to the middle of the stream; n: no op has a tag. */
static guint middle_of(const Search *search) {
  guint at = search->n / 2;
  while (at < search->n && !has_tag(&search->ops[at])) at++;
  while (at > 0 && (at == search->n || !has_tag(&search->ops[at]))) at--;
  return at < search->n && has_tag(&search->ops[at]) ? at : search->n;
}

/* The first op of the middle micro-batch. The last one can have more ops than all others: those
 * that reduce gradients. */
static guint middle_tag(const Search *search) {
  gint32 most = 0;
  guint at = 0;
  for (guint i = 0; i < search->n; i++)
    if (has_tag(&search->ops[i])) most = MAX(most, search->ops[i].tag);
  while (!has_tag(&search->ops[at]) || search->ops[at].tag < most / 2) at++;
  return at;
}

/* The longest range around op @at. FALSE: it does not hold two periods. */
static gboolean find_around(const Search *search, guint at, OrrRange *ret_range) {
  *ret_range = (OrrRange){0};
  for (guint other = at + 1; other < search->n; other++) {
    if (!is_again(search, at, other)) continue;
    const OrrRange range = range_around(search, at, other - at);
    if (range.end - range.first > ret_range->end - ret_range->first) *ret_range = range;
  }
  return ret_range->end - ret_range->first >= 2 * ret_range->n_ops && ret_range->n_ops > 0;
}

/* Around the middle of the stream, where a schedule that fills and drains is steady; ops of other
 * chunks also look alike, but not for long. FALSE: the stream has micro-batches and does not
 * repeat. */
static gboolean find_range(const OrrProgram *program, guint32 stream, gint64 tags,
                           OrrRange *ret_range) {
  Search search = {.program = program, .stream = stream, .tags = tags};
  search.ops = orr_program_ops(program, stream, &search.n);
  const guint at = middle_of(&search);
  *ret_range = (OrrRange){0};
  if (at == search.n) return TRUE; /* no micro-batches */
  return find_around(&search, at, ret_range) ||
         find_around(&search, middle_tag(&search), ret_range);
}

/* --- coupled lanes --- */

static guint32 coupled_of(const OrrLeaper *leaper, guint32 lane) {
  guint32 *parent = leaper->coupled;
  while (parent[lane] != lane) lane = parent[lane] = parent[parent[lane]];
  return lane;
}

static void unite(OrrLeaper *leaper, guint32 *known, guint32 lane) {
  if (*known == ORR_NOBODY) *known = lane;
  const guint32 a = coupled_of(leaper, *known), b = coupled_of(leaper, lane);
  leaper->coupled[MAX(a, b)] = MIN(a, b);
}

static void note_ops(OrrExecutor *executor, guint32 stream, guint32 *comm_lane) {
  OrrLeaper *leaper = executor->leaper;
  const OrrRange *range = &leaper->ranges[stream];
  const guint32 lane = executor->streams[stream].lane;
  guint n;
  const OrrOp *ops = orr_program_ops(executor->program, stream, &n);
  for (guint32 i = 0; i < n; i++) {
    const guint32 target = orr_program_target(executor->program, stream, i);
    if (ops[i].kind == ORR_OP_RECORD) {
      leaper->event_stream[target] = stream;
      leaper->event_op[target] = i;
    }
    if (ops[i].kind == ORR_OP_RECORD || ops[i].kind == ORR_OP_WAIT)
      unite(leaper, &leaper->event_lane[target], lane);
    if (ops[i].kind == ORR_OP_COMM && i >= range->first && i < range->end)
      unite(leaper, &comm_lane[target], lane);
  }
}

gboolean orr_leaper_rewind_init(OrrExecutor *executor) {
  OrrLeaper *leaper = executor->leaper;
  const OrrProgram *program = executor->program;
  g_autofree guint32 *comm_lane = g_new(guint32, program->comms->len + 1);
  memset(comm_lane, 0xff, (program->comms->len + 1) * sizeof *comm_lane);
  leaper->ranges = g_new0(OrrRange, program->streams->len + 1);
  for (guint32 s = 0; s < program->streams->len; s++)
    if (!find_range(program, s, leaper->left_out.tags, &leaper->ranges[s])) return FALSE;
  for (guint32 s = 0; s < program->streams->len; s++) note_ops(executor, s, comm_lane);
  return TRUE;
}

/* --- whether coupled lanes can be taken back --- */

/* Where the stream stands among its own ops: its next one, or the one after its CALL. */
static guint32 place_of(const OrrExecutor *executor, guint32 stream) {
  const OrrStreamState *state = &executor->streams[stream];
  return state->call > 0 ? state->call : state->next_op;
}

/* The comm or event, one period before, of the op of its own in which the stream waits;
 * ORR_NOBODY: the stream does not go back, or is in no such op. */
static guint32 former_target(const OrrExecutor *executor, guint32 stream) {
  const OrrRange *range = &executor->leaper->ranges[stream];
  const OrrStreamState *state = &executor->streams[stream];
  if (range->n_ops == 0 || state->call > 0 || !state->waiting) return ORR_NOBODY;
  return orr_program_target(executor->program, stream, state->next_op - 1 - range->n_ops);
}

static gboolean is_in_range(const OrrExecutor *executor, guint32 stream) {
  const OrrRange *range = &executor->leaper->ranges[stream];
  const OrrStreamState *state = &executor->streams[stream];
  const guint32 place = place_of(executor, stream);
  if (range->n_ops == 0) return TRUE;
  if (state->call == 0 && state->next_op == state->n_ops && !state->waiting) return FALSE;
  return place > range->first + range->n_ops && place <= range->end;
}

/* Whether the event is recorded again after its stream was taken back, or was never recorded. */
static gboolean will_happen(const OrrExecutor *executor, guint32 event) {
  const OrrLeaper *leaper = executor->leaper;
  const guint32 stream = leaper->event_stream[event];
  return executor->events[event].at_s < 0 ||
         (leaper->ranges[stream].n_ops > 0 &&
          leaper->event_op[event] + leaper->ranges[stream].n_ops >= place_of(executor, stream));
}

/* Whether all that is under way on the stream has a place one period before. */
static gboolean has_former(const OrrExecutor *executor, guint32 stream) {
  const guint32 former = former_target(executor, stream);
  const OrrCommState *comm = orr_leaper_joined(executor, stream);
  if (former == ORR_NOBODY) return TRUE;
  if (!comm) return will_happen(executor, former);
  if (executor->comms[former]) return FALSE;
  for (guint32 s = comm->members.first; s != ORR_NOBODY; s = executor->streams[s].next)
    if (former_target(executor, s) != former) return FALSE;
  return TRUE;
}

static gboolean can_go_back(const OrrExecutor *executor, guint32 first) {
  for (guint32 s = 0; s < executor->program->streams->len; s++)
    if (coupled_of(executor->leaper, executor->streams[s].lane) == first &&
        (!is_in_range(executor, s) || !has_former(executor, s)))
      return FALSE;
  return TRUE;
}

/* --- taking it back --- */

static OrrEventState *event_at(const OrrExecutor *executor, guint32 stream, guint32 op) {
  return &executor->events[orr_program_target(executor->program, stream, op)];
}

static void move_events(OrrExecutor *executor, guint32 stream) {
  const OrrRange *range = &executor->leaper->ranges[stream];
  const guint32 place = place_of(executor, stream), n = range->n_ops;
  const double now_s = orr_engine_now(executor->engine);
  guint n_ops;
  const OrrOp *ops = orr_program_ops(executor->program, stream, &n_ops);
  guint32 from = place - n;
  for (guint32 i = from; n > 0 && i-- > range->first;) {
    if (ops[i].kind != ORR_OP_RECORD) continue;
    if (event_at(executor, stream, i + n)->at_s <= now_s)
      break; /* streams that wait now are later */
    from = i;
  }
  for (guint32 i = from; i < place - n; i++)
    if (ops[i].kind == ORR_OP_RECORD)
      event_at(executor, stream, i)->at_s = event_at(executor, stream, i + n)->at_s;
  for (guint32 i = place - n; i < place; i++)
    if (ops[i].kind == ORR_OP_RECORD) event_at(executor, stream, i)->at_s = -1;
}

static OrrEventState *awaited(const OrrExecutor *executor, guint32 stream, gboolean former) {
  const OrrStreamState *state = &executor->streams[stream];
  const guint32 then = former_target(executor, stream);
  if (!state->waiting || state->call > 0 || state->next_op == 0 ||
      orr_stream_op(state)->kind != ORR_OP_WAIT)
    return NULL;
  return &executor->events[former && then != ORR_NOBODY ? then : orr_stream_target(state)];
}

static void move_waiters(OrrExecutor *executor, const GArray *streams) {
  ORR_EACH_VALUE(const guint32, value, streams) {
    OrrEventState *event = awaited(executor, value, FALSE);
    if (event) event->waiters = (OrrStreamList){ORR_NOBODY, ORR_NOBODY};
  }
  ORR_EACH_VALUE(const guint32, stream, streams) {
    OrrEventState *event = awaited(executor, stream, TRUE);
    if (event) orr_stream_list_append(executor->streams, &event->waiters, stream);
  }
}

static void move_comm(OrrExecutor *executor, guint32 stream) {
  OrrCommState *comm = orr_leaper_joined(executor, stream);
  const guint32 former = former_target(executor, stream);
  if (!comm || former == ORR_NOBODY || comm->members.first != stream) return;
  executor->comms[comm->comm] = NULL;
  executor->comms[former] = comm;
  comm->comm = former;
  if (comm->phases) comm->phases = orr_program_phases(executor->program, former, &comm->n_phases);
}

static void take_back(OrrExecutor *executor, guint32 first) {
  OrrLeaper *leaper = executor->leaper;
  g_autoptr(GArray) streams = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint32 s = 0; s < executor->program->streams->len; s++)
    if (coupled_of(leaper, executor->streams[s].lane) == first) g_array_append_val(streams, s);
  ORR_EACH_VALUE(const guint32, value, streams) move_events(executor, value);
  move_waiters(executor, streams);
  ORR_EACH_VALUE(const guint32, number, streams) move_comm(executor, number);
  ORR_EACH_VALUE(const guint32, stream, streams) {
    OrrStreamState *state = &executor->streams[stream];
    *(state->call > 0 ? &state->call : &state->next_op) -= leaper->ranges[stream].n_ops;
  }
}

/* A call of the engine. */
typedef struct {
  OrrExecutor *executor;
  guint32 first;
} GoBack;

static void go_back(void *user) {
  const GoBack *call = user;
  OrrExecutor *executor = call->executor;
  OrrLeaper *leaper = executor->leaper;
  if (leaper->lanes[call->first].n_left == 0 || !can_go_back(executor, call->first)) return;
  take_back(executor, call->first);
  for (guint32 lane = 0; lane < executor->program->lanes->len; lane++) {
    if (coupled_of(leaper, lane) != call->first) continue;
    leaper->lanes[lane].n_rewound++;
    leaper->lanes[lane].n_left--;
  }
}

void orr_leaper_rewind(OrrExecutor *executor, guint32 lane) {
  OrrLeaper *leaper = executor->leaper;
  if (coupled_of(leaper, lane) != lane || leaper->lanes[lane].n_left == 0) return;
  GoBack *call = g_new(GoBack, 1);
  *call = (GoBack){executor, lane};
  g_ptr_array_add(leaper->calls, call);
  orr_engine_at(executor->engine, orr_engine_now(executor->engine), go_back, call);
}

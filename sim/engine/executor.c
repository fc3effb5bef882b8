/*
 * executor.c - replays a sealed program on an engine.
 *
 * Only transfers depend on other transfers, so only they need the engine. The end of a WORK op is
 * known when it begins, an event's time when it is recorded, a comm's start when its last member
 * arrives. So each stream has its own time and runs ahead of the engine, through any number of ops,
 * until it needs a date that is not known yet:
 *
 *          +--------- ready <-------- comm ended, event recorded
 *          v                             |
 *       running --COMM, WAIT not yet--> waiting          running --no op left--> done
 *
 *   WORK     now += duration                          RECORD   event.at = now
 *   WAIT     now = max(now, event.at)                 COMM     start = max of the members' now
 *
 * Invariants
 *  1. A stream is in one place: in the ready queue, in one list of waiters, or done. There is no
 *     recursion: unblocking a stream appends it to the queue, so a sequence of a million ops needs
 *     no stack.
 *  2. When the engine unblocks a stream, the stream's time is at least the engine's. So every later
 *     span ends at or after the engine's time, and earlier spans can be delivered.
 *  3. A delay (a phase without bytes) costs no engine event: it is added to the date of the next
 *     phase.
 *
 * Dates are sums and maxima in program order, so all engines compute the same numbers.
 */
#include "sim/engine/executor_private.h"

/* Lists of streams */

static guint32 take_first(OrrStreamState *streams, OrrStreamList *list) {
  guint32 stream = list->first;
  if (stream != ORR_NOBODY) list->first = streams[stream].next;
  return stream;
}

/* Spans */

static gint32 tag_of(const OrrExecutor *executor, guint32 stream, const OrrOp *op) {
  const OrrOp *call = orr_executor_call_op(executor, stream);
  return call ? call->tag : op->tag;
}

static void keep_span(OrrExecutor *executor, const OrrSpan *span) {
  OrrSpanBuffer *buffer = &executor->spans;
  if (buffer->n_kept == buffer->room) {
    buffer->room = MAX(256, 2 * buffer->room);
    buffer->kept = g_renew(OrrKeptSpan, buffer->kept, buffer->room);
  }
  OrrKeptSpan *kept = &buffer->kept[buffer->n_kept++];
  kept->span = *span;
  kept->index = buffer->n++;
  if (executor->leaper) orr_leaper_note_span(executor);
}

static void add_span(OrrExecutor *executor, guint32 stream, const OrrOp *op, guint32 comm,
                     double begin_s, double started_s, double end_s, guint32 beside) {
  if (orr_executor_is_lost(executor, stream, end_s)) return;
  executor->end_s = MAX(executor->end_s, end_s);
  if (executor->spans.sink == NULL) return;
  const OrrSpan span = {.stream = stream,
                        .label = op->label,
                        .tag = tag_of(executor, stream, op),
                        .comm = comm,
                        .begin_s = begin_s,
                        .started_s = started_s,
                        .end_s = end_s,
                        .beside = beside,
                        .alone_s = op->kind == ORR_OP_WORK ? op->duration_s : 0};
  keep_span(executor, &span);
}

void orr_executor_add_run(OrrExecutor *executor, guint32 stream, guint32 routine, guint32 first,
                          guint32 n_ops, double begin_s, double end_s) {
  const OrrOp *call = orr_executor_call_op(executor, stream);
  executor->end_s = MAX(executor->end_s, end_s);
  if (executor->spans.sink == NULL) return;
  const OrrSpan span = {stream, call->label, call->tag, G_MAXUINT32, begin_s, begin_s,
                        end_s,  G_MAXUINT32, routine,   first,       n_ops,   0};
  keep_span(executor, &span);
}

/* Comms */

static void comm_goes_on(void *user);
static void run_ready(OrrExecutor *executor);

static void start_transfer(void *user) {
  OrrCommState *comm = user;
  OrrExecutor *executor = comm->executor;
  guint n_uses;
  if (orr_executor_comm_is_lost(executor, comm, orr_engine_now(executor->engine))) return;
  const OrrPhase *phase = &comm->phases[comm->phase];
  const OrrLinkUse *uses = orr_use_rows_get(&executor->uses, phase->path, &n_uses);
  comm->phase++;
  executor->n_transfers++;
  orr_express_begin_flow(executor, uses, n_uses);
  comm->transfer =
      orr_engine_transfer(executor->engine, phase->bytes, uses, n_uses, comm_goes_on, comm);
  if (comm->drag > 1 && comm->transfer)
    orr_engine_drag(executor->engine, comm->transfer, comm->drag);
}

static OrrCommState *begin_comm(OrrExecutor *executor, guint32 index) {
  OrrCommState *comm = executor->spares;
  if (comm)
    executor->spares = comm->next_spare;
  else
    comm = g_new(OrrCommState, 1);
  *comm = (OrrCommState){
      .executor = executor, .comm = index, .members = {ORR_NOBODY, ORR_NOBODY}, .drag = 1};
  return executor->comms[index] = comm;
}

static void end_comm(OrrExecutor *executor, OrrCommState *comm, double end_s) {
  orr_repeats_note(executor, comm->comm, end_s);
  for (guint32 stream; (stream = take_first(executor->streams, &comm->members)) != ORR_NOBODY;) {
    OrrStreamState *state = &executor->streams[stream];
    if (executor->overlaps.works) orr_overlaps_end_flight(executor, stream);
    add_span(executor, stream, orr_stream_op(state), comm->comm, state->now_s, comm->started_s,
             end_s, G_MAXUINT32);
    state->now_s = end_s;
    state->waiting = FALSE;
    orr_stream_list_append(executor->streams, &executor->ready, stream);
  }
  executor->comms[comm->comm] = NULL; /* a routine's comm is joined again in its next call */
  comm->next_spare = executor->spares;
  executor->spares = comm;
}

static void comm_is_over(void *user) {
  OrrCommState *comm = user;
  OrrExecutor *executor = comm->executor;
  end_comm(executor, comm, comm->end_s);
  run_ready(executor);
}

/* From @at_s on, adds delays up to the next transfer or the end. Only a transfer needs the
 * engine. */
static void go_on_from(OrrExecutor *executor, OrrCommState *comm, double at_s) {
  for (; comm->phase < comm->n_phases; comm->phase++) {
    const OrrPhase *phase = &comm->phases[comm->phase];
    at_s += phase->latency_s;
    if (phase->path == ORR_NO_PATH || phase->bytes == 0) continue;
    if (at_s > orr_engine_now(executor->engine))
      orr_engine_at(executor->engine, at_s, start_transfer, comm);
    else
      start_transfer(comm);
    return;
  }
  if (executor->overlaps.works && at_s > orr_engine_now(executor->engine)) {
    comm->end_s = at_s;
    orr_engine_at(executor->engine, at_s, comm_is_over, comm);
    return;
  }
  end_comm(executor, comm, at_s);
}

/* Streams */

static void begin_flights(OrrExecutor *executor, OrrCommState *comm) {
  for (guint32 stream = comm->members.first; stream != ORR_NOBODY;
       stream = executor->streams[stream].next)
    orr_overlaps_begin_flight(executor, stream, orr_stream_op(&executor->streams[stream])->label);
  if (executor->overlaps.drags) orr_executor_drag_begin(executor, comm);
}

/* The comm's state, when all members have arrived; before, NULL. */
static OrrCommState *arrive(OrrExecutor *executor, guint32 stream, guint32 index) {
  OrrCommState *comm = executor->comms[index];
  if (!comm) comm = begin_comm(executor, index);
  executor->streams[stream].waiting = TRUE;
  orr_stream_list_append(executor->streams, &comm->members, stream);
  comm->started_s = MAX(comm->started_s, executor->streams[stream].now_s);
  if (++comm->n_arrived < orr_comm_of(executor->program, index)->n_members) return NULL;
  if (executor->overlaps.works) begin_flights(executor, comm);
  orr_executor_choose_phases(executor, comm);
  return comm;
}

static void join_comm(OrrExecutor *executor, guint32 stream, guint32 index) {
  OrrCommState *comm = arrive(executor, stream, index);
  if (comm) go_on_from(executor, comm, comm->started_s);
}

double orr_executor_rate_alone(const OrrExecutor *executor, guint32 path) {
  guint n;
  const OrrLinkUse *uses = orr_use_rows_get(&executor->program->kept, path, &n);
  double rate = G_MAXDOUBLE;
  for (guint i = 0; i < n; i++)
    rate = MIN(rate, orr_program_link_bandwidth(executor->program, uses[i].link) / uses[i].weight);
  return rate;
}

void orr_executor_join_since(OrrExecutor *executor, guint32 stream) {
  const guint32 index = orr_stream_op(&executor->streams[stream])->target;
  OrrCommState *comm = arrive(executor, stream, index); /* its only member */
  const double now_s = orr_engine_now(executor->engine);
  for (double at_s = comm->started_s;;) {
    guint32 next = comm->phase;
    double begin_s = at_s;
    for (; next < comm->n_phases; next++) {
      begin_s += comm->phases[next].latency_s;
      if (comm->phases[next].path != ORR_NO_PATH && comm->phases[next].bytes > 0) break;
    }
    if (next == comm->n_phases || begin_s > now_s) return go_on_from(executor, comm, at_s);
    const double rate = orr_executor_rate_alone(executor, comm->phases[next].path);
    at_s = begin_s + comm->phases[next].bytes / rate;
    comm->phase = next;
    if (at_s > now_s) {
      start_transfer(comm);
      return orr_engine_began(executor->engine, comm->transfer, begin_s, rate);
    }
    comm->phase++;
  }
}

static void record_event(OrrExecutor *executor, double at_s, OrrEventState *event) {
  event->at_s = at_s;
  for (guint32 stream; (stream = take_first(executor->streams, &event->waiters)) != ORR_NOBODY;) {
    executor->streams[stream].now_s = MAX(executor->streams[stream].now_s, at_s);
    executor->streams[stream].waiting = FALSE;
    orr_stream_list_append(executor->streams, &executor->ready, stream);
  }
}

static double work_end(const OrrExecutor *executor, guint32 stream, const OrrOp *op) {
  const double now_s = executor->streams[stream].now_s;
  if (executor->slowdowns.starts == NULL) return now_s + op->duration_s;
  return orr_slowdowns_work_end(&executor->slowdowns, executor->streams[stream].lane, now_s,
                                op->duration_s, orr_executor_fixed_share(executor, stream));
}

/* Replays a stream until it must wait or is done. */
static void run_ahead(OrrExecutor *executor, guint32 stream) {
  OrrStreamState *state = &executor->streams[stream];
  while (state->next_op < state->n_ops || orr_executor_call_end(executor, stream)) {
    if (state->next_op == state->n_ops) break;
    if (state->call > 0 && executor->express.routines &&
        orr_express_begin(executor, stream, orr_executor_call_op(executor, stream)->target))
      return;
    const OrrOp *op = &state->ops[state->next_op++];
    switch ((OrrOpKind)op->kind) {
    case ORR_OP_WORK: {
      if (executor->overlaps.works && op->duration_s > 0)
        return orr_overlaps_begin_work(executor, stream, op->duration_s);
      const double end_s = work_end(executor, stream, op);
      add_span(executor, stream, op, G_MAXUINT32, state->now_s, state->now_s, end_s, G_MAXUINT32);
      state->now_s = end_s;
      break;
    }
    case ORR_OP_COMM:
      join_comm(executor, stream, orr_stream_target(state));
      return;
    case ORR_OP_RECORD:
      record_event(executor, state->now_s, &executor->events[orr_stream_target(state)]);
      break;
    case ORR_OP_WAIT: {
      OrrEventState *event = &executor->events[orr_stream_target(state)];
      if (event->at_s < 0) {
        state->waiting = TRUE;
        orr_stream_list_append(executor->streams, &event->waiters, stream);
        return;
      }
      state->now_s = MAX(state->now_s, event->at_s);
      break;
    }
    case ORR_OP_CALL:
      orr_executor_call_begin(executor, stream, op->target);
      break;
    case ORR_OP_BESIDE:
      orr_executor_call_send_helper(executor, stream, state->next_op - 1, state->now_s);
      join_comm(executor, orr_executor_call_helper(executor, stream), op->target);
      break;
    case ORR_OP_MEET:
      if (!orr_executor_call_meet(executor, stream)) return;
      break;
    }
  }
  orr_executor_call_helped(executor, stream);
}

static void run_ready(OrrExecutor *executor) {
  for (guint32 stream; (stream = take_first(executor->streams, &executor->ready)) != ORR_NOBODY;)
    run_ahead(executor, stream);
  if (executor->spans.n_kept >= executor->spans.flush_at && !executor->leaper)
    orr_span_buffer_flush(&executor->spans, orr_engine_now(executor->engine));
}

void orr_executor_go_on(OrrExecutor *executor, guint32 stream, double now_s) {
  executor->streams[stream].now_s = now_s;
  orr_stream_list_append(executor->streams, &executor->ready, stream);
  run_ready(executor);
}

void orr_executor_add_span(OrrExecutor *executor, guint32 stream, const OrrOp *op, double begin_s,
                           double end_s, guint32 beside) {
  add_span(executor, stream, op, op->kind == ORR_OP_BESIDE ? op->target : G_MAXUINT32, begin_s,
           begin_s, end_s, beside);
}

void orr_executor_end_work(OrrExecutor *executor, guint32 stream, double begin_s, double end_s,
                           guint32 beside) {
  const OrrStreamState *state = &executor->streams[stream];
  add_span(executor, stream, orr_stream_op(state), G_MAXUINT32, begin_s, begin_s, end_s, beside);
  orr_executor_go_on(executor, stream, end_s);
}

static void note_end_of_flow(OrrExecutor *executor, const OrrCommState *comm) {
  guint n_uses;
  if (!executor->express.routines) return;
  const OrrLinkUse *uses =
      orr_use_rows_get(&executor->uses, comm->phases[comm->phase - 1].path, &n_uses);
  orr_express_end_flow(executor, uses, n_uses);
}

static void comm_goes_on(void *user) {
  OrrCommState *comm = user;
  OrrExecutor *executor = comm->executor;
  comm->transfer = NULL;
  executor->n_transferred++;
  note_end_of_flow(executor, comm);
  /* The engine treats dates that differ by rounding as equal, so its time can be slightly before
   * the start. */
  go_on_from(executor, comm, MAX(comm->started_s, orr_engine_now(executor->engine)));
  run_ready(executor);
}

guint32 orr_executor_comm_call_stream(OrrEngineCall call, const void *user) {
  const gboolean is_one = call == start_transfer || call == comm_is_over || call == comm_goes_on;
  return is_one ? ((const OrrCommState *)user)->members.first : ORR_NOBODY;
}

/* Set-up */

static gboolean add_links(OrrExecutor *executor, GError **error) {
  const OrrProgram *program = executor->program;
  executor->links = g_new0(OrrLink, orr_program_n_links(program) + 1);
  for (guint32 i = 0; i < orr_program_n_links(program); i++)
    if (orr_program_link_stands_for(program, i) > 0 &&
        !orr_engine_add_link(executor->engine, orr_program_link_name(program, i),
                             orr_program_link_bandwidth(program, i), &executor->links[i], error))
      return FALSE;
  orr_use_rows_init(&executor->uses);
  for (guint32 path = 0; path < orr_use_rows_n(&program->kept); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->kept, path, &n);
    for (guint i = 0; i < n; i++)
      ORR_APPEND(executor->uses.uses, OrrLinkUse, {executor->links[uses[i].link], uses[i].weight});
    orr_use_rows_end_row(&executor->uses);
  }
  return TRUE;
}

static void change_link(void *user) {
  const OrrLinkChange *change = user;
  if (change->bandwidth > 0)
    orr_engine_set_bandwidth(change->engine, change->link, change->bandwidth);
  orr_engine_set_up(change->engine, change->link, change->bandwidth > 0);
}

/* Skips faults of links that no transfer uses. */
static void schedule_faults(OrrExecutor *executor) {
  const OrrProgram *program = executor->program;
  OrrLinkChange *changes = executor->changes = g_new0(OrrLinkChange, program->faults->len + 1);
  ORR_EACH_AT(i, const OrrFault, fault, program->faults) {
    if (orr_program_link_stands_for(program, fault->link) == 0) continue;
    changes[i] = (OrrLinkChange){executor->engine, executor->links[fault->link],
                                 fault->factor * orr_program_link_bandwidth(program, fault->link)};
    orr_engine_at(executor->engine, fault->at_s, change_link, &changes[i]);
  }
}

static void set_up_states(OrrExecutor *executor) {
  const OrrProgram *program = executor->program;
  const OrrStreamList empty = {ORR_NOBODY, ORR_NOBODY};
  executor->ready = empty;
  executor->streams = g_new0(OrrStreamState, program->streams->len + 1);
  executor->comms = g_new0(OrrCommState *, program->comms->len + 1);
  executor->events = g_new(OrrEventState, program->n_events + 1);
  for (guint32 i = 0; i < program->n_events; i++) executor->events[i] = (OrrEventState){empty, -1};
  for (guint32 i = 0; i < program->streams->len; i++) {
    executor->streams[i].lane = orr_program_stream_lane(program, i);
    executor->streams[i].ops = orr_program_ops(program, i, &executor->streams[i].n_ops);
    executor->streams[i].targets = g_array_index(program->streams, OrrStream, i).targets;
    if (executor->streams[i].n_ops > 0)
      orr_stream_list_append(executor->streams, &executor->ready, i); /* a helper idles */
  }
}

static void free_comms(OrrExecutor *executor) {
  for (guint32 i = 0; executor->comms && i < executor->program->comms->len; i++)
    g_free(executor->comms[i]);
  for (OrrCommState *spare; (spare = executor->spares) != NULL; g_free(spare))
    executor->spares = spare->next_spare;
  g_free(executor->comms);
}

void orr_executor_free(OrrExecutor *executor) {
  if (!executor) return;
  free_comms(executor);
  ORR_FREE(executor->streams, executor->events, executor->links, executor->changes);
  orr_use_rows_clear(&executor->uses);
  orr_slowdowns_clear(&executor->slowdowns);
  orr_overlaps_clear(&executor->overlaps);
  orr_express_clear(&executor->express, executor->program);
  orr_repeats_clear(&executor->repeats);
  orr_leaper_free(executor->leaper);
  orr_executor_clear_changes(executor);
  ORR_FREE(executor->spans.kept, executor);
}

/* Options of a brief replay. */
typedef struct {
  const OrrLeftOut *left_out;
  OrrLeap *leaps;
} Brief;

static OrrExecutor *begin(const OrrProgram *program, OrrEngine *engine, const Brief *brief,
                          OrrSpanSink sink, void *user, GError **error) {
  if (!program->sealed) {
    g_set_error_literal(error, ORR_FAULT, ORR_FAULT_INTERNAL, "the program is not sealed");
    return NULL;
  }
  g_autoptr(OrrExecutor) executor = g_new0(OrrExecutor, 1);
  *executor = (OrrExecutor){.program = program, .engine = engine};
  executor->spans = (OrrSpanBuffer){.sink = sink, .user = user, .flush_at = ORR_SPAN_BUFFER};
  if (!add_links(executor, error)) return NULL;
  set_up_states(executor);
  orr_slowdowns_init(&executor->slowdowns, program);
  if (brief && orr_express_is_possible(program)) orr_express_init(executor);
  orr_overlaps_init(executor);
  orr_repeats_init(executor);
  schedule_faults(executor);
  orr_executor_plan_changes(executor);
  if (brief && brief->left_out) orr_leaper_init(executor, brief->left_out, brief->leaps);
  run_ready(executor);
  return g_steal_pointer(&executor);
}

OrrExecutor *orr_executor_begin(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                                void *user, GError **error) {
  return begin(program, engine, NULL, sink, user, error);
}

OrrLink orr_executor_link(const OrrExecutor *executor, guint32 link) {
  return executor->links[link];
}

static void report_links(const OrrExecutor *executor, double *link_bytes) {
  for (guint32 i = 0; i < orr_program_n_links(executor->program); i++) {
    gboolean kept = orr_program_link_stands_for(executor->program, i) > 0;
    link_bytes[i] = kept ? orr_engine_link_bytes(executor->engine, executor->links[i]) : 0;
  }
}

gboolean orr_executor_end(OrrExecutor *executor, gboolean has_run, double *link_bytes,
                          OrrReplay *ret_replay, GError **error) {
  const gboolean fine = has_run && orr_executor_check_done(executor, error);
  if (!has_run) orr_executor_explain_stuck(executor, error);
  if (executor->spans.sink != NULL) orr_span_buffer_flush(&executor->spans, G_MAXDOUBLE);
  if (!fine) return FALSE;
  if (link_bytes != NULL) report_links(executor, link_bytes);
  if (!orr_repeats_add(executor, link_bytes, error)) return FALSE;
  if (ret_replay != NULL)
    *ret_replay = (OrrReplay){executor->end_s, orr_engine_n_events(executor->engine),
                              executor->n_transfers, orr_leaper_n_left(executor)};
  if (ret_replay != NULL) orr_leaper_count_looks(executor, ret_replay->looks);
  return TRUE;
}

gboolean orr_executor_run(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                          void *user, double *link_bytes, OrrReplay *ret_replay, GError **error) {
  g_autoptr(OrrExecutor) executor = orr_executor_begin(program, engine, sink, user, error);
  if (!executor) return FALSE;
  return orr_executor_end(executor, orr_engine_run(engine, error), link_bytes, ret_replay, error);
}

gboolean orr_executor_run_briefly(const OrrProgram *program, OrrEngine *engine,
                                  const OrrLeftOut *left_out, OrrSpanSink sink, void *user,
                                  OrrLeap *leaps, OrrReplay *ret_replay, GError **error) {
  const Brief brief = {left_out, leaps};
  g_autoptr(OrrExecutor) executor = begin(program, engine, &brief, sink, user, error);
  if (!executor) return FALSE;
  if (orr_leaper_gives_up(executor)) { /* nothing can replace the steps that are left out */
    *ret_replay = (OrrReplay){.n_left_out = orr_leaper_n_left(executor)};
    orr_leaper_count_looks(executor, ret_replay->looks);
    return TRUE;
  }
  return orr_executor_end(executor, orr_engine_run(engine, error), NULL, ret_replay, error);
}

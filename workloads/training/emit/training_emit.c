/*
 * training_emit - pieces of a step as ops: a run of units, a hand-over between stages, a reduction.
 */
#include <string.h>

#include "sim/base/random.h"
#include "workloads/training/emit/training_emitter.h"

static const char *const stream_names[] = {
    "compute", "send-next",   "send-prev",   "recv-prev",   "recv-next",   "dp", "tp",
    "gather",  "send-next-2", "send-prev-2", "recv-prev-2", "recv-next-2", "ep", "storage",
    "data",    "to-host",     "from-host",   "host",        "loader"};
G_STATIC_ASSERT(G_N_ELEMENTS(stream_names) == ORR_N_STREAMS);

guint32 orr_emit_stream(OrrEmitter *e, const OrrLaneAt *lane, OrrTrainingStream stream) {
  guint32 *known = &e->streams[lane->lane][stream];
  if (*known != G_MAXUINT32) return *known;
  *known = orr_program_stream(e->program, lane->lane, stream_names[stream]);
  if (stream >= ORR_STREAM_TO_HOST) orr_program_quiet_stream(e->program, *known);
  return *known;
}

/* --- labels
 * ----------------------------------------------------------------------------------------------------- */

/* A label stands for one sum of kinds of time: equal names with other times are numbered. */
static guint32 work_label(OrrEmitter *e, const char *name, const double seconds[ORR_N_TIMES]) {
  GArray *known = e->work->work.label_seconds;
  for (guint k = 1;; k++) {
    g_autofree char *other = k > 1 ? g_strdup_printf("%s #%u", name, k) : NULL;
    const guint32 label = orr_program_label(e->program, other ? other : name, "compute");
    const gboolean is_new = label >= known->len / ORR_N_TIMES;
    if (is_new) g_array_set_size(known, (label + 1) * ORR_N_TIMES);
    double *parts = &g_array_index(known, double, label *ORR_N_TIMES);
    if (is_new) memcpy(parts, seconds, sizeof(double) * ORR_N_TIMES);
    if (memcmp(parts, seconds, sizeof(double) * ORR_N_TIMES) == 0) return label;
  }
}

void orr_emit_work(OrrEmitter *e, const OrrLaneAt *lane, const char *name,
                   const double seconds[ORR_N_TIMES], double late_s, gint32 tag) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  late_s += orr_packed_late(e->job, e->costs->packed, e->step, e->plan->fold.first[lane->class],
                            tag, seconds[ORR_TIME_ATTENTION]);
  orr_program_work(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), MAX(sum + late_s, 0),
                   work_label(e, name, seconds), tag);
}

guint32 orr_emit_comm_label(OrrEmitter *e, const char *name, OrrTimeKind kind) {
  return orr_program_label(e->program, name, orr_time_words[kind]);
}

/* --- runs
 * ------------------------------------------------------------------------------------------------------- */

static double segment_seconds(const OrrSegment *segment) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += segment->seconds[kind];
  return sum;
}

static OrrTimeKind time_of_group(int group) {
  static const OrrTimeKind times[ORR_N_GROUPS] = {
      [ORR_GROUP_TP] = ORR_TIME_TP_COMM,       [ORR_GROUP_CP] = ORR_TIME_CP_COMM,
      [ORR_GROUP_EP] = ORR_TIME_EP_COMM,       [ORR_GROUP_ETP] = ORR_TIME_TP_COMM,
      [ORR_GROUP_CP_INNER] = ORR_TIME_CP_COMM, [ORR_GROUP_CP_OUTER] = ORR_TIME_CP_COMM,
  };
  return times[group];
}

/* What a collective beside work costs: the work's slow-down while it runs, and what of it
 * outlasts the work. */
static double beside_cost(const OrrJob *job, const OrrSegment *work, double comm_s,
                          double *ret_slowdown_s) {
  const double alone_s = segment_seconds(work),
               slowed_s = orr_training_beside_seconds(job, alone_s, comm_s);
  *ret_slowdown_s = slowed_s - alone_s;
  return *ret_slowdown_s + MAX(comm_s - slowed_s, 0);
}

/* What noise adds to the segment; its GPUs meet where a collective ends it. */
static double segment_late(OrrEmitter *e, guint lane, const OrrSegment *segment) {
  orr_noise_work(e->noise, lane, segment_seconds(segment), segment->squares);
  return segment->comm < 0 ? 0 : orr_noise_meet(e->noise, lane);
}

/* What noise adds to runs that are one piece of work. */
static double runs_late(OrrEmitter *e, guint lane, const OrrRuns *runs, guint n) {
  double late_s = 0;
  for (guint i = 0; e->noise && i < n; i++)
    for (gint64 k = 0; k < runs[i].count; k++)
      for (guint s = 0; s < runs[i].run->segments->len; s++)
        late_s += segment_late(e, lane, &g_array_index(runs[i].run->segments, OrrSegment, s));
  return late_s + orr_noise_meet(e->noise, lane);
}

/* A segment with its collective where that is alone on its links, as seconds. */
static void add_segment(const OrrJob *job, const OrrTrainingPlan *plan, guint lane,
                        const OrrSegment *segment, double seconds[ORR_N_TIMES]) {
  for (int kind = 0; kind < ORR_N_TIMES; kind++) seconds[kind] += segment->seconds[kind];
  if (segment->comm < 0) return;
  const double comm_s = orr_training_group_wire(plan, lane, segment)->predicted_s;
  double slowdown_s = 0;
  seconds[time_of_group(segment->group)] +=
      segment->beside ? beside_cost(job, segment + 1, comm_s, &slowdown_s) : comm_s;
}

static void add_once(const OrrJob *job, const OrrTrainingPlan *plan, guint lane, const OrrRun *run,
                     double seconds[ORR_N_TIMES]) {
  for (guint i = 0; i < run->segments->len; i++)
    add_segment(job, plan, lane, &g_array_index(run->segments, OrrSegment, i), seconds);
}

/* Lanes of a team do the same in the same order: the k-th time is the same communication. */
static guint32 team_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrWire *wire) {
  const OrrFold *fold = &e->plan->fold;
  const guint team = fold->team_of[lane->class];
  GArray *comms = e->team_comms[lane->stage * fold->n_teams + team];
  const guint k = e->team_at[lane->lane]++;
  if (k == comms->len) {
    const guint32 comm =
        orr_program_comm(e->program, fold->team_size[team], wire->phases, wire->n_phases);
    g_array_append_val(comms, comm);
  }
  return g_array_index(comms, guint32, k);
}

/* What the host adds to @times runs in a row, each of @once on the GPU, collectives among it.
 * @backlog_s is the work that the GPU still has when the host has launched all of it: the host
 * works ahead, so that a run that it launches slowly costs nothing while the GPU is busy with what
 * came before. With g and h of a run, the GPU ends at
 *
 *   E = max(E + g, H), H = H + h        backlog = E - H = max(backlog + g - h, 0)
 */
static double host_gap(const OrrRun *run, gint64 times, const double once[ORR_N_TIMES],
                       double *backlog_s) {
  if (run->serial) return (double)times * run->host_s;
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += once[kind];
  const double left_s = *backlog_s + (double)times * (sum - run->host_s);
  *backlog_s = MAX(left_s, 0);
  return MAX(-left_s, 0);
}

void orr_training_add_run(const OrrJob *job, const OrrTrainingPlan *plan, guint lane,
                          const OrrRun *run, gint64 times, double *backlog_s,
                          double seconds[ORR_N_TIMES]) {
  double once[ORR_N_TIMES] = {0};
  add_once(job, plan, lane, run, once);
  for (int kind = 0; kind < ORR_N_TIMES; kind++) seconds[kind] += (double)times * once[kind];
  seconds[ORR_TIME_HOST] += host_gap(run, times, once, backlog_s);
}

static guint32 group_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                          guint32 *ret_label) {
  const OrrWire *wire = orr_training_group_wire(e->plan, lane->lane, segment);
  const char *name = orr_training_comm_name(segment->group, segment->comm);
  *ret_label = orr_emit_comm_label(e, name, time_of_group(segment->group));
  return orr_group_span(e->job, segment->group) == 1
             ? orr_program_comm(e->program, 1, wire->phases, wire->n_phases)
             : team_comm(e, lane, wire);
}

static void emit_group_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                            OrrTrainingStream stream, gint32 tag) {
  guint32 label;
  const guint32 comm = group_comm(e, lane, segment, &label);
  orr_program_join(e->program, orr_emit_stream(e, lane, stream), comm, label, tag);
}

static void emit_slowed_work(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                             const char *name, gint32 tag) {
  orr_noise_work(e->noise, lane->lane, segment_seconds(segment), segment->squares);
  orr_emit_work(e, lane, name, segment->seconds, orr_noise_meet(e->noise, lane->lane), tag);
}

/* The collective on its own stream; compute goes on beside it, slowed by the executor, and then
 * waits. */
static void emit_beside(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                        const char *name, gint32 tag) {
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  const guint32 beside = orr_emit_stream(e, lane, ORR_STREAM_TP);
  if (e->is_in_routine) {
    guint32 label;
    const guint32 comm = group_comm(e, lane, segment, &label);
    orr_program_beside(e->program, compute, comm, label, tag);
    emit_slowed_work(e, lane, &segment[1], name, tag);
    orr_program_meet(e->program, compute);
    return;
  }
  const guint32 ready = orr_program_event(e->program), done = orr_program_event(e->program);
  orr_program_record(e->program, compute, ready);
  orr_program_wait(e->program, beside, ready);
  emit_group_comm(e, lane, segment, ORR_STREAM_TP, tag);
  orr_program_record(e->program, beside, done);
  emit_slowed_work(e, lane, &segment[1], name, tag);
  orr_program_wait(e->program, compute, done);
}

/* Work that waits to be emitted in one piece. */
typedef struct {
  OrrEmitter *e;
  const OrrLaneAt *lane;
  const char *name;
  gint32 tag;
  guint n; /* pieces of this run so far */
  double seconds[ORR_N_TIMES];
  double late_s;
} Piece;

/* "forward.0/3". Once an operation: printf is slow where a library has added conversions to it,
 * as SimGrid's do. */
static char *numbered(const char *name, char mark, guint n) {
  char digits[16], *end = digits + sizeof digits - 1, *at = end;
  *end = '\0';
  do *--at = (char)('0' + n % 10);
  while (n /= 10);
  *--at = mark;
  return g_strconcat(name, at, NULL);
}

static void flush(Piece *piece) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += piece->seconds[kind];
  g_autofree char *name = numbered(piece->name, '/', piece->n++);
  piece->late_s += orr_noise_meet(piece->e->noise, piece->lane->lane);
  if (sum > 0)
    orr_emit_work(piece->e, piece->lane, name, piece->seconds, piece->late_s, piece->tag);
  memset(piece->seconds, 0, sizeof piece->seconds);
  piece->late_s = 0;
}

/* What is left for the host when the GPU is through with the run, its collectives alone on the
 * fabric. */
static void add_host(Piece *piece, const OrrRun *run) {
  double once[ORR_N_TIMES] = {0};
  add_once(piece->e->job, piece->e->plan, piece->lane->lane, run, once);
  piece->seconds[ORR_TIME_HOST] += host_gap(run, 1, once, &piece->e->backlog_s);
}

/* @next: the segment after this one, which may be emitted with it. */
static void emit_segment(Piece *piece, const OrrSegment *segment, guint *next) {
  OrrEmitter *e = piece->e;
  piece->late_s += segment_late(e, piece->lane->lane, segment);
  if (segment->comm < 0 || e->plan->alone[segment->group]) {
    add_segment(e->job, e->plan, piece->lane->lane, segment, piece->seconds);
    return;
  }
  for (int kind = 0; kind < ORR_N_TIMES; kind++) piece->seconds[kind] += segment->seconds[kind];
  flush(piece);
  if (!segment->beside) {
    emit_group_comm(e, piece->lane, segment, ORR_STREAM_COMPUTE, piece->tag);
    return;
  }
  (*next)++;
  g_autofree char *name = numbered(piece->name, '/', piece->n++);
  emit_beside(e, piece->lane, segment, name, piece->tag);
}

static void emit_segments(Piece *piece, const OrrRun *run) {
  for (guint i = 0; i < run->segments->len;) {
    const OrrSegment *segment = &g_array_index(run->segments, OrrSegment, i++);
    emit_segment(piece, segment, &i);
  }
  add_host(piece, run);
}

/* What a pass comes to: a call of a routine, or one piece of work. */
typedef struct {
  guint32 routine; /* G_MAXUINT32: work */
  guint32 label;
  double work_s;
} KnownPass;

static guint hash_key(gconstpointer data) {
  const OrrPassKey *key = data;
  return (guint)orr_random_hash3(orr_random_hash3(key->lane, key->kind, key->chunk), key->from,
                                 key->to);
}

static gboolean equal_keys(gconstpointer a, gconstpointer b) {
  return memcmp(a, b, sizeof(OrrPassKey)) == 0;
}

/* Equal passes are those in which nobody but the lane itself takes part, and which neither noise
 * nor documents tell apart. */
GHashTable *orr_emit_passes_new(const OrrEmitter *e) {
  if (e->noise || e->plan->by_turns || orr_packing_is_on(&e->job->params->packing)) return NULL;
  for (int group = 0; group < ORR_N_GROUPS; group++)
    if (!e->plan->alone[group] && orr_group_span(e->job, group) > 1) return NULL;
  return g_hash_table_new_full(hash_key, equal_keys, g_free, g_free);
}

gboolean orr_emit_again(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key, gint32 tag) {
  const KnownPass *known = e->passes ? g_hash_table_lookup(e->passes, key) : NULL;
  if (!known) return FALSE;
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  if (known->routine == G_MAXUINT32)
    orr_program_work(e->program, compute, known->work_s, known->label, tag);
  else
    orr_program_call(e->program, compute, known->routine, known->label, tag);
  return TRUE;
}

static void know(OrrEmitter *e, const OrrPassKey *key, KnownPass known) {
  g_hash_table_insert(e->passes, g_memdup2(key, sizeof *key), g_memdup2(&known, sizeof known));
}

static void emit_pieces(OrrEmitter *e, const OrrLaneAt *lane, const char *name, const OrrRuns *runs,
                        guint n, double extra_pp_s, gint32 tag) {
  const double seconds[ORR_N_TIMES] = {[ORR_TIME_PP_COMM] = extra_pp_s};
  if (extra_pp_s > 0) orr_emit_work(e, lane, "gather", seconds, 0, tag);
  for (guint i = 0; i < n; i++)
    for (gint64 k = 0; k < runs[i].count; k++) {
      g_autofree char *part = numbered(name, '.', i);
      Piece piece = {e, lane, part, tag, 0, {0}, 0};
      emit_segments(&piece, runs[i].run);
      flush(&piece);
    }
}

static KnownPass routine_of(OrrEmitter *e, const OrrLaneAt *lane, const char *name,
                            const OrrRuns *runs, guint n, double extra_pp_s) {
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  orr_program_begin_routine(e->program, compute, orr_emit_stream(e, lane, ORR_STREAM_TP));
  e->is_in_routine = TRUE;
  e->backlog_s = 0;
  emit_pieces(e, lane, name, runs, n, extra_pp_s, -1);
  e->is_in_routine = FALSE;
  const guint32 routine = orr_program_end_routine(e->program, compute);
  return (KnownPass){routine, orr_program_label(e->program, name, "call"), 0};
}

static KnownPass work_of(OrrEmitter *e, const char *name, const double seconds[ORR_N_TIMES]) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  return (KnownPass){G_MAXUINT32, work_label(e, name, seconds), sum};
}

void orr_emit_runs(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key, const char *name,
                   const OrrRuns *runs, guint n, double extra_pp_s, gint32 tag) {
  double seconds[ORR_N_TIMES] = {[ORR_TIME_PP_COMM] = extra_pp_s};
  e->backlog_s =
      0; /* equal passes cost the same: the host is ahead within one, not from pass to pass */
  for (guint i = 0; i < n && e->plan->all_alone; i++)
    orr_training_add_run(e->job, e->plan, lane->lane, runs[i].run, runs[i].count, &e->backlog_s,
                         seconds);
  if (e->passes) {
    know(e, key,
         e->plan->all_alone ? work_of(e, name, seconds)
                            : routine_of(e, lane, name, runs, n, extra_pp_s));
    orr_emit_again(e, lane, key, tag);
  } else if (e->plan->all_alone) {
    orr_emit_work(e, lane, name, seconds, runs_late(e, lane->lane, runs, n), tag);
  } else {
    emit_pieces(e, lane, name, runs, n, extra_pp_s, tag);
  }
}

/* --- by turns
 * --------------------------------------------------------------------------------------------------- */

/* Where a pass stands: at a segment of the k-th time of one of its runs. */
typedef struct {
  const OrrPassRuns *pass;
  guint run, segment;
  gint64 k;
  guint32 arrives; /* event that its next segment waits for; G_MAXUINT32: none */
} Turn;

static const OrrSegment *next_segment(Turn *turn) {
  while (turn->run < turn->pass->n) {
    const OrrRuns *runs = &turn->pass->runs[turn->run];
    if (turn->segment < runs->run->segments->len)
      return &g_array_index(runs->run->segments, OrrSegment, turn->segment++);
    turn->segment = 0;
    if (++turn->k < runs->count) continue;
    turn->k = 0;
    turn->run++;
  }
  return NULL;
}

/* An all-to-all on the stream of its own; the event is recorded at its end. */
static guint32 emit_sent(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                         gint32 tag) {
  const guint32 ep = orr_emit_stream(e, lane, ORR_STREAM_EP);
  const guint32 ready = orr_program_event(e->program), arrived = orr_program_event(e->program);
  orr_program_record(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), ready);
  orr_program_wait(e->program, ep, ready);
  emit_group_comm(e, lane, segment, ORR_STREAM_EP, tag);
  orr_program_record(e->program, ep, arrived);
  return arrived;
}

/* Up to and with the pass's next all-to-all between experts; FALSE at its end. */
static gboolean take_turn(OrrEmitter *e, const OrrLaneAt *lane, Turn *turn) {
  if (turn->arrives != G_MAXUINT32)
    orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), turn->arrives);
  turn->arrives = G_MAXUINT32;
  g_autofree char *name = g_strdup_printf("%s.%u/%u", turn->pass->name, turn->run, turn->segment);
  Piece piece = {e, lane, name, turn->pass->tag, 0, {0}, 0};
  for (const OrrSegment *segment; (segment = next_segment(turn));) {
    const gboolean between_experts = segment->comm >= 0 && segment->group == ORR_GROUP_EP;
    if (!between_experts) {
      emit_segment(&piece, segment, &turn->segment);
      continue;
    }
    piece.late_s += segment_late(e, lane->lane, segment);
    for (int kind = 0; kind < ORR_N_TIMES; kind++) piece.seconds[kind] += segment->seconds[kind];
    flush(&piece);
    turn->arrives = emit_sent(e, lane, segment, piece.tag);
    return TRUE;
  }
  flush(&piece);
  return FALSE;
}

void orr_emit_by_turns(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassRuns passes[2]) {
  Turn turns[2] = {{.pass = &passes[0], .arrives = G_MAXUINT32},
                   {.pass = &passes[1], .arrives = G_MAXUINT32}};
  const double seconds[ORR_N_TIMES] = {[ORR_TIME_PP_COMM] =
                                           passes[0].extra_pp_s + passes[1].extra_pp_s};
  if (seconds[ORR_TIME_PP_COMM] > 0) orr_emit_work(e, lane, "gather", seconds, 0, passes[0].tag);
  gboolean goes_on[2] = {TRUE, TRUE};
  while (goes_on[0] || goes_on[1])
    for (int i = 0; i < 2; i++)
      if (goes_on[i]) goes_on[i] = take_turn(e, lane, &turns[i]);
}

/* --- hand-overs
 * ------------------------------------------------------------------------------------------------- */

static gint64 stage_of(const OrrEmitter *e, gint64 chain, gint64 block) {
  return orr_pipeline_stage(e->job->schedule, &e->job->shape, (OrrPipelinePlace){chain, block});
}

gboolean orr_emit_crosses(const OrrEmitter *e, const OrrHandover *handover) {
  return stage_of(e, handover->chain, handover->boundary) !=
             stage_of(e, handover->chain, handover->boundary + 1) ||
         e->job->schedule->blocks == ORR_BLOCKS_LOOP;
}

/* Whether the model goes from stage to the stage before at this boundary: the second way through
 * the stages. */
static gboolean is_reversed(const OrrEmitter *e, const OrrHandover *handover) {
  if (e->job->schedule->blocks == ORR_BLOCKS_LOOP) return FALSE;
  return stage_of(e, handover->chain, handover->boundary) >
         stage_of(e, handover->chain, handover->boundary + 1);
}

static guint32 transfer_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrHandover *h) {
  const gsize way = ((gsize)lane->class * 2 + h->backward) * e->chains + h->chain;
  guint32 *slot =
      &e->transfers[(way * e->blocks + h->boundary) * e->job->shape.micro_batches + h->micro_batch];
  const gboolean reversed = is_reversed(e, h);
  const gint64 stage = stage_of(e, h->chain, h->boundary + (reversed ? 1 : 0));
  const gboolean back = h->backward != reversed;
  return orr_emit_once(e, slot, 2,
                       &e->plan->transfers[(lane->class * e->job->pp + stage) * 2 + back]);
}

static guint32 handover_label(OrrEmitter *e, const OrrHandover *handover) {
  guint32 *label = &e->handover_labels[handover->backward];
  if (*label == G_MAXUINT32)
    *label =
        orr_emit_comm_label(e, handover->backward ? "pp-backward" : "pp-forward", ORR_TIME_PP_COMM);
  return *label;
}

void orr_emit_receive(OrrEmitter *e, const OrrLaneAt *lane, const OrrHandover *handover) {
  static const OrrTrainingStream streams[2][2] = {{ORR_STREAM_RECV_PREV, ORR_STREAM_RECV_NEXT},
                                                  {ORR_STREAM_RECV_NEXT_2, ORR_STREAM_RECV_PREV_2}};
  const guint32 stream =
      orr_emit_stream(e, lane, streams[is_reversed(e, handover)][handover->backward]);
  const guint32 arrived = orr_program_event(e->program);
  orr_program_join(e->program, stream, transfer_comm(e, lane, handover),
                   handover_label(e, handover), handover->micro_batch);
  orr_program_record(e->program, stream, arrived);
  orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), arrived);
}

void orr_emit_send(OrrEmitter *e, const OrrLaneAt *lane, const OrrHandover *handover) {
  static const OrrTrainingStream streams[2][2] = {{ORR_STREAM_SEND_NEXT, ORR_STREAM_SEND_PREV},
                                                  {ORR_STREAM_SEND_PREV_2, ORR_STREAM_SEND_NEXT_2}};
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  const guint32 stream =
      orr_emit_stream(e, lane, streams[is_reversed(e, handover)][handover->backward]);
  const guint32 ready = orr_program_event(e->program);
  orr_program_record(e->program, compute, ready);
  orr_program_wait(e->program, stream, ready);
  orr_program_join(e->program, stream, transfer_comm(e, lane, handover),
                   handover_label(e, handover), handover->micro_batch);
  if (e->job->params->pipeline_comm.overlap_p2p) return;
  const guint32 sent = orr_program_event(e->program);
  orr_program_record(e->program, stream, sent);
  orr_program_wait(e->program, compute, sent);
}

guint32 orr_emit_once(OrrEmitter *e, guint32 *slot, guint members, const OrrWire *wire) {
  if (*slot == ORR_NO_COMM)
    *slot = orr_program_comm(e->program, members, wire->phases, wire->n_phases);
  return *slot;
}

/*
 * memory_time.c - walks each stage's compute stream: the compiled work says at which op each pass
 * ends (moment_ops), and the spans say when that op ran.
 *
 *   total = fixed + the most that the stage has held so far (the allocator returns nothing)
 *         + flat copies during the update
 */
#include "sim/run/answer/answer_private.h"

/* A compute stream's ops, and its spans in the same order: one per WORK and COMM. */
typedef struct {
  const OrrOp *ops;
  guint n_ops, at;
  GArray *spans; /* of const OrrSpan * */
  guint next;
} Walk;

/* The compute stream of the stage's first lane: the lane's first stream. */
static guint32 stream_of(const OrrTrainingWork *work, gint64 stage) {
  guint lane = 0;
  while (g_array_index(work->lane_stage, gint64, lane) != stage) lane++;
  guint32 stream = 0;
  while (orr_program_stream_lane(work->work.program, stream) != lane) stream++;
  return stream;
}

static void collect_spans(const OrrReplayed *replayed, Walk *walk_of_stream[]) {
  ORR_EACH(const OrrSpan, span, replayed->spans)
    if (walk_of_stream[span->stream]) g_array_append_val(walk_of_stream[span->stream]->spans, span);
}

/* Moves on to op @to and reports when the ops before it ran. FALSE: they take no time, or never
 * ran, because a GPU was lost. */
static gboolean advance(Walk *walk, guint to, double *ret_begin_s, double *ret_end_s) {
  gboolean any = FALSE;
  for (; walk->at < to && walk->at < walk->n_ops; walk->at++) {
    const guint8 kind = walk->ops[walk->at].kind;
    if (kind != ORR_OP_WORK && kind != ORR_OP_COMM) continue;
    if (walk->next >= walk->spans->len) return FALSE;
    const OrrSpan *span = g_array_index(walk->spans, const OrrSpan *, walk->next++);
    if (!any) *ret_begin_s = span->started_s;
    *ret_end_s = span->end_s;
    any = TRUE;
  }
  return any;
}

/* The fixed memory of a stage, and the most that it has held so far of the rest. */
typedef struct {
  double fixed, held, update;
} Level;

static Level level_of(const OrrStageMemory *memory) {
  const double dynamic =
      memory->activations + memory->working + memory->fragmentation + memory->moving_gradients;
  return (Level){.fixed = orr_stage_memory_total(memory) - dynamic - memory->flat_copies,
                 .update = memory->flat_copies};
}

static OrrMemoryTimeRow row_of(const OrrMemoryMoment *moment, const OrrStageMemory *peak,
                               Level *level) {
  const double tensors = moment->activations + moment->working,
               most = peak->activations + peak->working;
  /* Fragmentation per byte of tensors, with the gaps between buffers. */
  const double gaps = most > 0 ? peak->fragmentation / most : 0;
  const gboolean is_update = moment->activations == 0 && moment->chunk < 0;
  level->held = MAX(level->held, tensors * (1 + gaps) + moment->gradients);
  return (OrrMemoryTimeRow){
      .stage = moment->stage,
      .what = (char *)g_intern_string(moment->what),
      .chunk = moment->chunk,
      .micro_batch = moment->micro_batch,
      .fixed_bytes = level->fixed,
      .activations_bytes = moment->activations,
      .working_bytes = moment->working + moment->gradients + (is_update ? level->update : 0),
      .after_bytes = moment->after,
      .total_bytes = level->fixed + level->held + (is_update ? level->update : 0)};
}

/* A moment that ends after steps that were left out (orr_program_repeat) is one of the last
 * step. */
static void move_begin(OrrMemoryTimeRow *row, const OrrRepetition *repeated) {
  if (repeated->times > 0 && row->end_s > repeated->to_s && row->begin_s <= repeated->to_s)
    row->begin_s += repeated->times * (repeated->to_s - repeated->from_s);
}

static void add_rows(const OrrTrainingWork *work, Walk *walks, Level *levels,
                     const OrrRepetition *repeated, OrrOutcome *outcome) {
  for (guint i = 0; i < work->moment_ops->len; i++) {
    const OrrMemoryMoment *moment =
        &g_array_index(work->moments, OrrMemoryMoment, i % work->moments->len);
    const OrrStageMemory *peak = &g_array_index(work->memory, OrrStageMemory, moment->stage);
    OrrMemoryTimeRow row = row_of(moment, peak, &levels[moment->stage]);
    if (advance(&walks[moment->stage], g_array_index(work->moment_ops, guint, i), &row.begin_s,
                &row.end_s)) {
      move_begin(&row, repeated);
      g_array_append_val(outcome->memory_times, row);
    }
  }
}

void orr_memory_time_add(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrTrainingWork *work = (const OrrTrainingWork *)replayed->work;
  const OrrProgram *program = replayed->work->program;
  if (!replayed->spans || work->moments->len == 0 ||
      work->moment_ops->len % work->moments->len != 0)
    return;
  g_autofree Walk *walks = g_new0(Walk, work->pp);
  g_autofree Level *levels = g_new0(Level, work->pp);
  g_autofree Walk **walk_of_stream = g_new0(Walk *, orr_program_n_streams(program));
  for (gint64 stage = 0; stage < work->pp; stage++) {
    const guint32 stream = stream_of(work, stage);
    walks[stage].ops = orr_program_ops(program, stream, &walks[stage].n_ops);
    walks[stage].spans = g_array_new(FALSE, FALSE, sizeof(const OrrSpan *));
    walk_of_stream[stream] = &walks[stage];
    levels[stage] = level_of(&g_array_index(work->memory, OrrStageMemory, stage));
  }
  collect_spans(replayed, walk_of_stream);
  const OrrRepetition repeated = orr_ledger_repetition(replayed->ledger);
  add_rows(work, walks, levels, &repeated, outcome);
  for (gint64 stage = 0; stage < work->pp; stage++) g_array_unref(walks[stage].spans);
}

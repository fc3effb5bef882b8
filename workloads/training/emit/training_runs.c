/*
 * training_runs - emits the segments of a pass, and the collectives between them.
 *
 * A collective that is alone on its links (OrrLayerTraffic.alone) becomes part of the work before
 * it. Any other one is an operation: the pending work is emitted first.
 *
 *   alone       | work: segment + collective + segment |
 *   not alone   | work: segment | collective | work: segment |
 */
#include "workloads/training/emit/training_emitter.h"

#include "sim/base/random.h"
#include "workloads/training/comm/training_plan.h"

/* --- noise --- */

/* What noise adds to the segment. Its GPUs meet where a collective ends it. */
static double segment_late(OrrEmitter *e, guint lane, const OrrSegment *segment) {
  orr_noise_draws_work(e->noise, lane, orr_segment_seconds(segment), segment->squares);
  return segment->comm < 0 ? 0 : orr_noise_draws_meet(e->noise, lane);
}

/* --- images --- */

/* A pass whose encoder runs have the work of the images of its micro-batch. */
typedef struct {
  OrrPassRuns pass;
  OrrRuns *runs; /* NULL: @pass is the caller's, since images do not differ */
  OrrRun *own;   /* what @runs name */
} ImagedPass;

/* k times as many images take k times as long, kernel by kernel; collectives stay. */
static void scale_run(OrrRun *run, double images) {
  ORR_EACH(OrrSegment, segment, run->segments) {
    for (int kind = 0; kind < ORR_N_TIMES; kind++) segment->seconds[kind] *= images;
    segment->squares *= images * images;
  }
}

static void imaged_pass_init(ImagedPass *imaged, const OrrEmitter *e, const OrrLaneAt *lane,
                             const OrrPassRuns *pass) {
  const OrrPackedWork packed = {e->step, e->plan->fold.first[lane->class], pass->tag, 0};
  const double images = orr_packed_loads_images(e->costs->packed, e->job, &packed);
  *imaged = (ImagedPass){.pass = *pass};
  if (images == 1) return;
  imaged->runs = g_memdup2(pass->runs, pass->n * sizeof *pass->runs);
  imaged->own = g_new(OrrRun, pass->n);
  imaged->pass.runs = imaged->runs;
  for (guint i = 0; i < pass->n; i++) {
    imaged->own[i] = *pass->runs[i].run;
    imaged->own[i].segments = g_array_copy(imaged->own[i].segments);
    imaged->runs[i].run = &imaged->own[i];
    if (imaged->own[i].encodes) scale_run(&imaged->own[i], images);
  }
}

static void imaged_pass_clear(ImagedPass *imaged) {
  for (guint i = 0; imaged->own && i < imaged->pass.n; i++) g_array_unref(imaged->own[i].segments);
  ORR_FREE(imaged->runs, imaged->own);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ImagedPass, imaged_pass_clear)

/* Takes back what the documents' lengths will add to @count times the attention of @segment of an
 * encoder's run: images are not documents. */
static double encoder_late(const OrrEmitter *e, const OrrLaneAt *lane, const OrrRun *run,
                           const OrrSegment *segment, gint64 count, gint32 tag) {
  const OrrPackedWork packed = {e->step, e->plan->fold.first[lane->class], tag,
                                (double)count * segment->seconds[ORR_TIME_ATTENTION]};
  return run->encodes ? -orr_packed_loads_late_s(e->costs->packed, e->job, &packed) : 0;
}

/* The same for all segments of @pass. */
static double encoders_late(const OrrEmitter *e, const OrrLaneAt *lane, const OrrPassRuns *pass) {
  double late_s = 0;
  for (guint i = 0; i < pass->n; i++) {
    const OrrRuns *runs = &pass->runs[i];
    ORR_EACH(const OrrSegment, segment, runs->run->segments)
      late_s += encoder_late(e, lane, runs->run, segment, runs->count, pass->tag);
  }
  return late_s;
}

/* What noise adds to a pass that is one operation. */
static double pass_late(OrrEmitter *e, guint lane, const OrrPassRuns *pass) {
  double late_s = 0;
  for (guint i = 0; e->noise && i < pass->n; i++) {
    const GArray *segments = pass->runs[i].run->segments;
    for (gint64 k = 0; k < pass->runs[i].count; k++)
      for (guint s = 0; s < segments->len; s++)
        late_s += segment_late(e, lane, &g_array_index(segments, OrrSegment, s));
  }
  return late_s + orr_noise_draws_meet(e->noise, lane);
}

/* --- collectives inside layers --- */

/* The lanes of a group of replicas do the same in the same order: the k-th call of each is the same
 * communication. */
static guint32 shared_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrCommPlan *plan) {
  const OrrFold *fold = &e->plan->fold;
  const guint group = fold->group_of[lane->class];
  GArray *comms = e->group_comms[lane->stage * fold->n_groups + group];
  const guint k = e->group_at[lane->lane]++;
  if (k == comms->len) {
    const guint32 comm =
        orr_program_comm(e->program, fold->group_size[group], plan->phases, plan->n_phases);
    g_array_append_val(comms, comm);
  }
  return g_array_index(comms, guint32, k);
}

static guint32 group_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                          guint32 *ret_label) {
  const OrrCommPlan *plan = orr_layer_traffic_of(&e->plan->layers, lane->lane, segment);
  *ret_label =
      orr_emitter_comm_label(e, orr_layer_traffic_name(segment), orr_run_time_kind(segment->group));
  return orr_fold_meets_none(&e->plan->fold, orr_grouping_span(e->job, segment->group))
             ? orr_program_comm(e->program, 1, plan->phases, plan->n_phases)
             : shared_comm(e, lane, plan);
}

static void emit_group_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                            OrrTrainingStream stream, gint32 tag) {
  guint32 label;
  const guint32 comm = group_comm(e, lane, segment, &label);
  orr_program_join(e->program, orr_emitter_stream(e, lane, stream), comm, label, tag);
}

/* Work that the executor slows down while a collective overlaps it. */
static void emit_overlapped_work(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                                 const char *name, gint32 tag) {
  orr_noise_draws_work(e->noise, lane->lane, orr_segment_seconds(segment), segment->squares);
  orr_emitter_work(e, lane, name, segment->seconds, orr_noise_draws_meet(e->noise, lane->lane),
                   tag);
}

/* The collective of @segment on its own stream, while compute runs the next segment and then
 * waits. */
static void emit_overlapped(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                            const char *name, gint32 tag) {
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  const guint32 tp = orr_emitter_stream(e, lane, ORR_STREAM_TP);
  if (e->is_in_routine) {
    guint32 label;
    const guint32 comm = group_comm(e, lane, segment, &label);
    orr_program_beside(e->program, compute, comm, label, tag);
    emit_overlapped_work(e, lane, &segment[1], name, tag);
    orr_program_meet(e->program, compute);
    return;
  }
  const guint32 ready = orr_program_event(e->program), done = orr_program_event(e->program);
  orr_program_record(e->program, compute, ready);
  orr_program_wait(e->program, tp, ready);
  emit_group_comm(e, lane, segment, ORR_STREAM_TP, tag);
  orr_program_record(e->program, tp, done);
  emit_overlapped_work(e, lane, &segment[1], name, tag);
  orr_program_wait(e->program, compute, done);
}

/* --- segments --- */

/* Work that is not emitted yet: it grows until a collective or the end of its run. */
typedef struct {
  OrrEmitter *e;
  const OrrLaneAt *lane;
  const char *name;
  const OrrRun *run; /* of the next segment */
  gint32 tag;
  guint n; /* operations of this run so far */
  OrrRunTime time;
  double late_s;
} PendingWork;

/* "forward.0/3". Called for each operation: printf would be slow where a library has added
 * conversions to it, as SimGrid's do. */
static char *numbered(const char *name, char mark, guint n) {
  char digits[16], *end = digits + sizeof digits - 1, *at = end;
  *end = '\0';
  do *--at = (char)('0' + n % 10);
  while (n /= 10);
  *--at = mark;
  return g_strconcat(name, at, NULL);
}

static void flush(PendingWork *pending) {
  double sum = 0;
  double *seconds = pending->time.seconds;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  g_autofree char *name = numbered(pending->name, '/', pending->n++);
  pending->late_s += orr_noise_draws_meet(pending->e->noise, pending->lane->lane);
  if (sum > 0)
    orr_emitter_work(pending->e, pending->lane, name, seconds, pending->late_s, pending->tag);
  memset(seconds, 0, sizeof pending->time.seconds);
  pending->late_s = 0;
}

static void add_compute(PendingWork *pending, const OrrSegment *segment) {
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    pending->time.seconds[kind] += segment->seconds[kind];
}

/* @next: index of the segment after this one; an overlapped one is emitted with it. */
static void emit_segment(PendingWork *pending, const OrrSegment *segment, guint *next) {
  OrrEmitter *e = pending->e;
  const OrrLayerTraffic *layers = &e->plan->layers;
  pending->late_s += segment_late(e, pending->lane->lane, segment) +
                     encoder_late(e, pending->lane, pending->run, segment, 1, pending->tag);
  if (segment->comm < 0 || layers->alone[segment->group])
    return orr_run_time_add_segment(&pending->time, layers, pending->lane->lane, segment);
  add_compute(pending, segment);
  flush(pending);
  if (!segment->overlaps)
    return emit_group_comm(e, pending->lane, segment, ORR_STREAM_COMPUTE, pending->tag);
  (*next)++;
  pending->late_s += encoder_late(e, pending->lane, pending->run, &segment[1], 1, pending->tag);
  g_autofree char *name = numbered(pending->name, '/', pending->n++);
  emit_overlapped(e, pending->lane, segment, name, pending->tag);
}

static void emit_run(PendingWork *pending, const OrrRun *run) {
  pending->run = run;
  for (guint i = 0; i < run->segments->len;) {
    const OrrSegment *segment = &g_array_index(run->segments, OrrSegment, i++);
    emit_segment(pending, segment, &i);
  }
  orr_run_time_add_host(&pending->time, &pending->e->plan->layers, pending->lane->lane, run);
}

/* Of @most equal layers of a routine, emits those that the host also treats alike once, to follow
 * one another. How many these are: one, outside routines. */
static gint64 emit_layers(PendingWork *pending, const OrrRun *run, gint64 most) {
  OrrEmitter *e = pending->e;
  const OrrLayerTraffic *layers = &e->plan->layers;
  const guint lane = pending->lane->lane;
  const gboolean loops =
      e->is_in_routine && orr_run_time_is_steady(&pending->time, layers, lane, run);
  const guint32 compute = orr_emitter_stream(e, pending->lane, ORR_STREAM_COMPUTE);
  pending->n = 0;
  if (loops) orr_program_begin_loop(e->program, compute);
  emit_run(pending, run);
  flush(pending);
  if (!loops) return 1;
  orr_program_end_loop(e->program, compute, most);
  for (gint64 k = 1; k < most; k++) orr_run_time_add_host(&pending->time, layers, lane, run);
  memset(pending->time.seconds, 0, sizeof pending->time.seconds); /* in the loop already */
  return most;
}

static void emit_segments(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassRuns *pass,
                          gint32 tag) {
  const double seconds[ORR_N_TIMES] = {[ORR_TIME_PP_COMM] = pass->extra_pp_s};
  if (pass->extra_pp_s > 0) orr_emitter_work(e, lane, "gather", seconds, 0, tag);
  PendingWork pending = {.e = e, .lane = lane, .tag = tag};
  for (guint i = 0; i < pass->n; i++) {
    const gint64 count = pass->runs[i].count;
    g_autofree char *name = numbered(pass->name, '.', i);
    pending.name = name;
    for (gint64 k = 0; k < count;) k += emit_layers(&pending, pass->runs[i].run, count - k);
  }
}

/* --- passes --- */

/* How an emitted pass is repeated: by a call of a routine, or as one operation. */
typedef struct {
  guint32 routine; /* G_MAXUINT32: one operation */
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

/* Passes are equal where only the lane itself takes part in them, and neither noise nor documents
 * make them differ. Experts' groups span replicas; where these are alike, one lane stands for
 * all. */
gboolean orr_training_runs_are_repeated(const OrrJob *job, const OrrLayerTraffic *layers) {
  if (orr_training_noise_is_on(&job->params->noise) || layers->interleaves ||
      orr_training_packing_is_on(&job->params->packing))
    return FALSE;
  for (int group = 0; group < ORR_N_GROUPS; group++)
    if (!layers->alone[group] && !orr_fold_meets_none(layers->fold, orr_grouping_span(job, group)))
      return FALSE;
  return TRUE;
}

GHashTable *orr_training_runs_passes_new(const OrrEmitter *e) {
  return orr_training_runs_are_repeated(e->job, &e->plan->layers)
             ? g_hash_table_new_full(hash_key, equal_keys, g_free, g_free)
             : NULL;
}

gboolean orr_training_runs_repeat(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key,
                                  gint32 tag) {
  const KnownPass *known = e->passes ? g_hash_table_lookup(e->passes, key) : NULL;
  if (!known) return FALSE;
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  if (known->routine == G_MAXUINT32)
    orr_program_work(e->program, compute, known->work_s, known->label, tag);
  else
    orr_program_call(e->program, compute, known->routine, known->label, tag);
  return TRUE;
}

static KnownPass routine_of(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassRuns *pass) {
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  orr_program_begin_routine(e->program, compute, orr_emitter_stream(e, lane, ORR_STREAM_TP));
  e->is_in_routine = TRUE;
  emit_segments(e, lane, pass, -1);
  e->is_in_routine = FALSE;
  const guint32 routine = orr_program_end_routine(e->program, compute);
  return (KnownPass){routine, orr_program_label(e->program, pass->name, "call"), 0};
}

static KnownPass work_of(OrrEmitter *e, const char *name, const double seconds[ORR_N_TIMES]) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  return (KnownPass){G_MAXUINT32, orr_emitter_work_label(e, name, seconds), sum};
}

/* The host's backlog begins anew with each pass, so that equal passes cost the same: the host works
 * ahead within a pass, not from pass to pass. */
void orr_training_runs_emit(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key,
                            const OrrPassRuns *plain) {
  const OrrLayerTraffic *layers = &e->plan->layers;
  g_auto(ImagedPass) imaged = {0};
  imaged_pass_init(&imaged, e, lane, plain);
  const OrrPassRuns *pass = &imaged.pass;
  OrrRunTime time = {.seconds = {[ORR_TIME_PP_COMM] = pass->extra_pp_s}};
  for (guint i = 0; i < pass->n && layers->all_alone; i++)
    orr_run_time_add(&time, layers, lane->lane, pass->runs[i].run, pass->runs[i].count);
  if (e->passes) {
    const KnownPass known =
        layers->all_alone ? work_of(e, pass->name, time.seconds) : routine_of(e, lane, pass);
    g_hash_table_insert(e->passes, g_memdup2(key, sizeof *key), g_memdup2(&known, sizeof known));
    orr_training_runs_repeat(e, lane, key, pass->tag);
  } else if (layers->all_alone) {
    const double late_s = pass_late(e, lane->lane, pass) + encoders_late(e, lane, pass);
    orr_emitter_work(e, lane, pass->name, time.seconds, late_s, pass->tag);
  } else {
    emit_segments(e, lane, pass, pass->tag);
  }
}

/* --- interleaved passes --- */

/* A position in a pass: a segment of the k-th repetition of one of its runs. */
typedef struct {
  const OrrPassRuns *pass;
  guint run, segment;
  gint64 k;
  guint32 arrives; /* event that its next segment waits for; G_MAXUINT32: none */
} Cursor;

static const OrrSegment *next_segment(Cursor *cursor) {
  while (cursor->run < cursor->pass->n) {
    const OrrRuns *runs = &cursor->pass->runs[cursor->run];
    if (cursor->segment < runs->run->segments->len)
      return &g_array_index(runs->run->segments, OrrSegment, cursor->segment++);
    cursor->segment = 0;
    if (++cursor->k < runs->count) continue;
    cursor->k = 0;
    cursor->run++;
  }
  return NULL;
}

/* An all-to-all on a stream of its own; returns the event of its end. */
static guint32 emit_exchange(OrrEmitter *e, const OrrLaneAt *lane, const OrrSegment *segment,
                             gint32 tag) {
  const guint32 ep = orr_emitter_stream(e, lane, ORR_STREAM_EP);
  const guint32 ready = orr_program_event(e->program), arrived = orr_program_event(e->program);
  orr_program_record(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), ready);
  orr_program_wait(e->program, ep, ready);
  emit_group_comm(e, lane, segment, ORR_STREAM_EP, tag);
  orr_program_record(e->program, ep, arrived);
  return arrived;
}

/* Emits up to and including the pass's next all-to-all between experts; FALSE at its end. */
static gboolean advance(OrrEmitter *e, const OrrLaneAt *lane, Cursor *cursor) {
  if (cursor->arrives != G_MAXUINT32)
    orr_program_wait(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), cursor->arrives);
  cursor->arrives = G_MAXUINT32;
  g_autofree char *name =
      g_strdup_printf("%s.%u/%u", cursor->pass->name, cursor->run, cursor->segment);
  PendingWork pending = {.e = e, .lane = lane, .name = name, .tag = cursor->pass->tag};
  for (const OrrSegment *segment; (segment = next_segment(cursor));) {
    pending.run = cursor->pass->runs[cursor->run].run;
    const gboolean between_experts =
        segment->comm == ORR_COMM_ALL_TO_ALL && segment->group == ORR_GROUP_EP;
    if (!between_experts) {
      emit_segment(&pending, segment, &cursor->segment);
      continue;
    }
    pending.late_s += segment_late(e, lane->lane, segment) +
                      encoder_late(e, lane, pending.run, segment, 1, pending.tag);
    add_compute(&pending, segment);
    flush(&pending);
    cursor->arrives = emit_exchange(e, lane, segment, pending.tag);
    return TRUE;
  }
  flush(&pending);
  return FALSE;
}

void orr_training_runs_interleave(OrrEmitter *e, const OrrLaneAt *lane,
                                  const OrrPassRuns passes[2]) {
  g_auto(ImagedPass) down = {0}, up = {0};
  imaged_pass_init(&down, e, lane, &passes[0]);
  imaged_pass_init(&up, e, lane, &passes[1]);
  Cursor cursors[2] = {{.pass = &down.pass, .arrives = G_MAXUINT32},
                       {.pass = &up.pass, .arrives = G_MAXUINT32}};
  const double seconds[ORR_N_TIMES] = {[ORR_TIME_PP_COMM] =
                                           passes[0].extra_pp_s + passes[1].extra_pp_s};
  if (seconds[ORR_TIME_PP_COMM] > 0) orr_emitter_work(e, lane, "gather", seconds, 0, passes[0].tag);
  gboolean continues[2] = {TRUE, TRUE};
  while (continues[0] || continues[1])
    for (int i = 0; i < 2; i++)
      if (continues[i]) continues[i] = advance(e, lane, &cursors[i]);
}

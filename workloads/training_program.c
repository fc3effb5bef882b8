/*
 * training_program - schedule, runs and wires become streams of ops.
 *
 *   compute    wait(input) [work | work tp-collective work ...] record(output) ...   one lane
 *   recv-*     join(transfer) record(input)                    receives are posted ahead, in the schedule's order
 *   send-*     wait(output) join(transfer)                     compute waits for a send's end unless overlap-p2p
 *   dp         wait(bucket's gradients) join(reduction)
 *   tp         a tensor-parallel collective beside compute (only where the lane is not alone on its links)
 *
 * Block b of the model is chunk b / pp of stage b % pp. Forward transfers go from block b to b + 1, backward ones back.
 */
#include <string.h>

#include "workloads/training_private.h"

enum { COMPUTE, SEND_NEXT, SEND_PREV, RECV_PREV, RECV_NEXT, DP, TP, N_STREAMS };
static const char *const stream_names[] = {"compute", "send-next", "send-prev", "recv-prev", "recv-next", "dp", "tp"};

#define NONE G_MAXUINT32

typedef struct {
  const OrrJob *job;
  const OrrTrainingCosts *costs;
  const OrrTrainingPlan *plan;
  const double *optimizer_s;
  OrrTrainingWork *work;
  OrrProgram *program;
  gint64 blocks;
  guint32 (*streams)[N_STREAMS]; /* by lane */
  guint32 *transfers;            /* by ((class * 2 + direction) * blocks + boundary) * micro-batches + micro-batch */
  guint32 *reductions;           /* by stage * most + bucket: comms of this step */
  guint32 *gathers;              /* by stage */
  guint32 *embeddings;           /* by class */
  guint32 norm;
  guint most_buckets;
} Emitter;

typedef struct {
  guint lane, class;
  gint64 stage;
} Lane;

/* --- labels ----------------------------------------------------------------------------------------------------- */

static guint32 work_label(Emitter *e, const char *name, const double seconds[ORR_N_TIMES]) {
  const guint32 label = orr_program_label(e->program, name, "compute");
  GArray *known = e->work->work.label_seconds;
  if (label >= known->len / ORR_N_TIMES) g_array_set_size(known, (label + 1) * ORR_N_TIMES);
  memcpy(&g_array_index(known, double, label *ORR_N_TIMES), seconds, sizeof(double) * ORR_N_TIMES);
  return label;
}

static void emit_work(Emitter *e, const Lane *lane, const char *name, const double seconds[ORR_N_TIMES], gint32 tag) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  orr_program_work(e->program, e->streams[lane->lane][COMPUTE], sum, work_label(e, name, seconds), tag);
}

static guint32 comm_label(Emitter *e, const char *name, OrrTimeKind kind) {
  return orr_program_label(e->program, name, orr_time_words[kind]);
}

/* --- runs ------------------------------------------------------------------------------------------------------- */

static double segment_seconds(const OrrSegment *segment) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += segment->seconds[kind];
  return sum;
}

/* What a collective beside work costs: the work's slow-down while it runs, and what of it outlasts the work. */
static double beside_cost(const OrrJob *job, const OrrSegment *work, double comm_s, double *ret_slowdown_s) {
  const double alone_s = segment_seconds(work), slowed_s = orr_training_beside_seconds(job, alone_s, comm_s);
  *ret_slowdown_s = slowed_s - alone_s;
  return *ret_slowdown_s + MAX(comm_s - slowed_s, 0);
}

void orr_training_add_run(const OrrJob *job, const OrrTrainingPlan *plan, guint lane, const OrrRun *run, gint64 times,
                          double seconds[ORR_N_TIMES]) {
  for (guint i = 0; i < run->segments->len; i++) {
    const OrrSegment *segment = &g_array_index(run->segments, OrrSegment, i);
    for (int kind = 0; kind < ORR_N_TIMES; kind++) seconds[kind] += times * segment->seconds[kind];
    if (segment->comm < 0) continue;
    const double comm_s = orr_training_tp_wire(plan, lane, segment->comm, segment->comm_bytes)->predicted_s;
    double slowdown_s = 0;
    seconds[ORR_TIME_TP_COMM] +=
        times * (segment->beside ? beside_cost(job, segment + 1, comm_s, &slowdown_s) : comm_s);
  }
}

static void emit_tp_comm(Emitter *e, const Lane *lane, const OrrSegment *segment, guint stream, gint32 tag) {
  static const char *const names[] = {"tp-all-reduce", "tp-all-gather", "tp-reduce-scatter"};
  const OrrWire *wire = orr_training_tp_wire(e->plan, lane->lane, segment->comm, segment->comm_bytes);
  const guint32 comm = orr_program_comm(e->program, 1, wire->phases, wire->n_phases);
  orr_program_join(e->program, e->streams[lane->lane][stream], comm,
                   comm_label(e, names[segment->comm], ORR_TIME_TP_COMM), tag);
}

/* The collective on its own stream; compute goes on with @beside and then waits. */
static void emit_beside(Emitter *e, const Lane *lane, const OrrSegment *segment, const char *name, gint32 tag) {
  const guint32 *streams = e->streams[lane->lane];
  const guint32 ready = orr_program_event(e->program), done = orr_program_event(e->program);
  orr_program_record(e->program, streams[COMPUTE], ready);
  orr_program_wait(e->program, streams[TP], ready);
  emit_tp_comm(e, lane, segment, TP, tag);
  orr_program_record(e->program, streams[TP], done);
  double seconds[ORR_N_TIMES], slowdown_s = 0;
  memcpy(seconds, segment[1].seconds, sizeof seconds);
  const double comm_s = orr_training_tp_wire(e->plan, lane->lane, segment->comm, segment->comm_bytes)->predicted_s;
  beside_cost(e->job, segment + 1, comm_s, &slowdown_s);
  seconds[ORR_TIME_TP_COMM] += slowdown_s;
  emit_work(e, lane, name, seconds, tag);
  orr_program_wait(e->program, streams[COMPUTE], done);
}

static void emit_segments(Emitter *e, const Lane *lane, const OrrRun *run, const char *name, gint32 tag) {
  for (guint i = 0; i < run->segments->len; i++) {
    const OrrSegment *segment = &g_array_index(run->segments, OrrSegment, i);
    g_autofree char *piece = g_strdup_printf("%s/%u", name, i);
    if (segment_seconds(segment) > 0) emit_work(e, lane, piece, segment->seconds, tag);
    if (segment->comm < 0) continue;
    if (!segment->beside) {
      emit_tp_comm(e, lane, segment, COMPUTE, tag);
      continue;
    }
    i++; /* the segment beside it is emitted with it */
    g_autofree char *next = g_strdup_printf("%s/%u", name, i);
    emit_beside(e, lane, segment, next, tag);
  }
}

/* Parts of a block in order: @runs[i] times[i] over. One piece of work where that is exact. */
static void emit_runs(Emitter *e, const Lane *lane, const char *name, const OrrRun *const *runs, const gint64 *times,
                      guint n, double extra_pp_s, gint32 tag) {
  double seconds[ORR_N_TIMES] = {[ORR_TIME_PP_COMM] = extra_pp_s};
  if (e->plan->tp_alone) {
    for (guint i = 0; i < n; i++) orr_training_add_run(e->job, e->plan, lane->lane, runs[i], times[i], seconds);
    emit_work(e, lane, name, seconds, tag);
    return;
  }
  if (extra_pp_s > 0) emit_work(e, lane, "gather", seconds, tag);
  for (guint i = 0; i < n; i++) {
    g_autofree char *piece = g_strdup_printf("%s.%u", name, i);
    for (gint64 k = 0; k < times[i]; k++) emit_segments(e, lane, runs[i], piece, tag);
  }
}

/* --- transfers -------------------------------------------------------------------------------------------------- */

static guint32 transfer_comm(Emitter *e, const Lane *lane, gboolean backward, gint64 boundary, gint64 micro_batch) {
  const gsize at =
      ((gsize)(lane->class * 2 + backward) * e->blocks + boundary) * e->job->shape.micro_batches + micro_batch;
  if (e->transfers[at] == NONE) {
    const gint64 stage = boundary % e->job->pp;
    const OrrWire *wire = &e->plan->transfers[(lane->class * e->job->pp + stage) * 2 + backward];
    e->transfers[at] = orr_program_comm(e->program, 2, wire->phases, wire->n_phases);
  }
  return e->transfers[at];
}

static void emit_receive(Emitter *e, const Lane *lane, gboolean backward, gint64 boundary, gint32 micro_batch) {
  const guint32 *streams = e->streams[lane->lane];
  const guint32 stream = streams[backward ? RECV_NEXT : RECV_PREV];
  const guint32 arrived = orr_program_event(e->program);
  orr_program_join(e->program, stream, transfer_comm(e, lane, backward, boundary, micro_batch),
                   comm_label(e, backward ? "pp-backward" : "pp-forward", ORR_TIME_PP_COMM), micro_batch);
  orr_program_record(e->program, stream, arrived);
  orr_program_wait(e->program, streams[COMPUTE], arrived);
}

static void emit_send(Emitter *e, const Lane *lane, gboolean backward, gint64 boundary, gint32 micro_batch) {
  const guint32 *streams = e->streams[lane->lane];
  const guint32 stream = streams[backward ? SEND_PREV : SEND_NEXT];
  const guint32 ready = orr_program_event(e->program);
  orr_program_record(e->program, streams[COMPUTE], ready);
  orr_program_wait(e->program, stream, ready);
  orr_program_join(e->program, stream, transfer_comm(e, lane, backward, boundary, micro_batch),
                   comm_label(e, backward ? "pp-backward" : "pp-forward", ORR_TIME_PP_COMM), micro_batch);
  if (e->job->params->pipeline_comm.overlap_p2p) return;
  const guint32 sent = orr_program_event(e->program);
  orr_program_record(e->program, stream, sent);
  orr_program_wait(e->program, streams[COMPUTE], sent);
}

/* --- gradients -------------------------------------------------------------------------------------------------- */

static guint32 once(Emitter *e, guint32 *slot, guint members, const OrrWire *wire) {
  if (*slot == NONE) *slot = orr_program_comm(e->program, members, wire->phases, wire->n_phases);
  return *slot;
}

/* Bucket @b's gradients are complete on compute: reduce them on the dp stream. */
static void emit_reduction(Emitter *e, const Lane *lane, guint b) {
  const guint32 *streams = e->streams[lane->lane];
  const OrrBucket *bucket = &g_array_index(e->plan->buckets[lane->stage], OrrBucket, b);
  const guint32 ready = orr_program_event(e->program);
  orr_program_record(e->program, streams[COMPUTE], ready);
  orr_program_wait(e->program, streams[DP], ready);
  guint32 *slot = &e->reductions[lane->stage * e->most_buckets + b];
  orr_program_join(e->program, streams[DP], once(e, slot, e->plan->fold.n, bucket->wire),
                   comm_label(e, "dp-gradients", ORR_TIME_DP_COMM), -1);
}

/* --- steps ------------------------------------------------------------------------------------------------------ */

static void emit_forward(Emitter *e, const Lane *lane, const OrrPipelineStep *step, gint64 block) {
  const gboolean first = block == 0, last = block == e->blocks - 1;
  const OrrRun *runs[3];
  gint64 times[3];
  guint n = 0;
  if (first) runs[n] = &e->costs->embedding_forward, times[n++] = 1;
  runs[n] = &e->costs->layer_forward, times[n++] = e->job->chunk_layers;
  if (last) runs[n] = &e->costs->head_forward, times[n++] = 1;
  g_autofree char *name = g_strdup_printf("forward%s%s", first ? "+embedding" : "", last ? "+head" : "");
  emit_runs(e, lane, name, runs, times, n, first ? 0 : e->plan->gather_s, step->micro_batch);
}

/* The head where the block has one, its layers, the embedding where it has one. */
static gint64 block_units(const Emitter *e, gint64 block) {
  return e->job->chunk_layers + (block == 0) + (block == e->blocks - 1);
}

/* Units [from, to) of a block's backward: unit 0 is the head where the block has one, then
 * its layers, then the embedding. */
static void emit_units(Emitter *e, const Lane *lane, gint64 block, gint64 from, gint64 to, gint32 tag) {
  const gint64 head = block == e->blocks - 1, layers = e->job->chunk_layers, n_units = block_units(e, block);
  const gint64 n_layers = MIN(to, head + layers) - MAX(from, head);
  const gboolean with_head = head && from == 0, with_embedding = block == 0 && to == n_units;
  const OrrRun *runs[3];
  gint64 times[3];
  guint n = 0;
  if (with_head) runs[n] = &e->costs->head_backward, times[n++] = 1;
  if (n_layers > 0) runs[n] = &e->costs->layer_backward, times[n++] = n_layers;
  if (with_embedding) runs[n] = &e->costs->embedding_backward, times[n++] = 1;
  const gboolean receives = from == 0 && !head, whole = from == 0 && to == n_units;
  g_autofree char *name =
      whole ? g_strdup_printf("backward%s%s", with_head ? "+head" : "", with_embedding ? "+embedding" : "")
            : g_strdup_printf("backward units %d-%d of block %d", (int)from, (int)to, (int)block);
  emit_runs(e, lane, name, runs, times, n, receives ? e->plan->gather_s : 0, tag);
}

/* The last micro-batch's backward of a block, cut where gradient buckets end. @unit, @bucket: where the stage stands.
 */
static void emit_last_backward(Emitter *e, const Lane *lane, gint64 block, gint64 *unit, guint *bucket, gint32 tag) {
  const GArray *buckets = e->plan->buckets[lane->stage];
  const gint64 n = block_units(e, block);
  gint64 from = 0;
  while (from < n) {
    const gint64 left = g_array_index(buckets, OrrBucket, *bucket).units - *unit;
    const gint64 to = MIN(n, from + left);
    emit_units(e, lane, block, from, to, tag);
    *unit += to - from;
    from = to;
    if (*unit < g_array_index(buckets, OrrBucket, *bucket).units) continue;
    emit_reduction(e, lane, (*bucket)++);
    *unit = 0;
  }
}

static void emit_schedule(Emitter *e, const Lane *lane) {
  const OrrJob *job = e->job;
  const gboolean overlap = job->params->data_parallel.overlap && e->plan->buckets[lane->stage]->len > 0;
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  job->schedule->steps(&job->shape, lane->stage, steps);
  g_autofree gint64 *left = g_new(gint64, job->shape.chunks); /* backwards to go, by chunk */
  for (gint64 c = 0; c < job->shape.chunks; c++) left[c] = job->shape.micro_batches;
  gint64 unit = 0;
  guint bucket = 0;
  for (guint i = 0; i < steps->len; i++) {
    const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, i);
    const gint64 block = step->chunk * job->pp + lane->stage;
    const gboolean enters = step->backward ? block < e->blocks - 1 : block > 0;
    const gboolean leaves = step->backward ? block > 0 : block < e->blocks - 1;
    const gint64 boundary_in = step->backward ? block : block - 1, boundary_out = step->backward ? block - 1 : block;
    if (enters) emit_receive(e, lane, step->backward, boundary_in, step->micro_batch);
    if (!step->backward)
      emit_forward(e, lane, step, block);
    else if (--left[step->chunk] == 0 && overlap)
      emit_last_backward(e, lane, block, &unit, &bucket, step->micro_batch);
    else
      emit_units(e, lane, block, 0, block_units(e, block), step->micro_batch);
    if (leaves) emit_send(e, lane, step->backward, boundary_out, step->micro_batch);
  }
}

/* What follows the last backward: reductions to their end, embedding gradients, norm, optimizer, parameters. */
static void emit_update(Emitter *e, const Lane *lane) {
  const guint32 *streams = e->streams[lane->lane];
  const OrrTrainingPlan *plan = e->plan;
  const guint n_buckets = plan->buckets[lane->stage]->len;
  if (n_buckets > 0) {
    if (!e->job->params->data_parallel.overlap)
      for (guint b = 0; b < n_buckets; b++) emit_reduction(e, lane, b);
    const guint32 reduced = orr_program_event(e->program);
    orr_program_record(e->program, streams[DP], reduced);
    orr_program_wait(e->program, streams[COMPUTE], reduced);
  }
  const OrrWire *embedding = &plan->embedding[lane->class];
  if (embedding->n_phases > 0 && (lane->stage == 0 || lane->stage == e->job->pp - 1))
    orr_program_join(e->program, streams[COMPUTE], once(e, &e->embeddings[lane->class], 2, embedding),
                     comm_label(e, "embedding-gradients", ORR_TIME_DP_COMM), -1);
  const OrrPhase norm = {plan->norm.predicted_s, 0, ORR_NO_PATH};
  const OrrWire norm_wire = {(OrrPhase *)&norm, 1, norm.latency_s};
  orr_program_join(e->program, streams[COMPUTE], once(e, &e->norm, e->job->pp * plan->fold.n, &norm_wire),
                   comm_label(e, "gradient-norm", ORR_TIME_DP_COMM), -1);
  double seconds[ORR_N_TIMES] = {[ORR_TIME_OPTIMIZER] = e->optimizer_s[lane->stage]};
  g_autofree char *name = g_strdup_printf("optimizer stage %d", (int)lane->stage);
  emit_work(e, lane, name, seconds, -1);
  const OrrWire *parameters = &plan->parameters[lane->stage];
  if (parameters->n_phases > 0)
    orr_program_join(e->program, streams[COMPUTE], once(e, &e->gathers[lane->stage], plan->fold.n, parameters),
                     comm_label(e, "dp-parameters", ORR_TIME_DP_COMM), -1);
  orr_program_work(e->program, streams[COMPUTE], 0, orr_program_label(e->program, "step", "step"), -1);
}

/* --- lanes ------------------------------------------------------------------------------------------------------ */

static void add_lanes(Emitter *e) {
  const OrrFold *fold = &e->plan->fold;
  for (gint64 stage = 0; stage < e->job->pp; stage++)
    for (guint class = 0; class < fold->n; class ++) {
      const gint64 replica = fold->first[class];
      g_autofree char *name = fold->n == 1 ? g_strdup_printf("stage %d", (int)stage)
                                           : g_strdup_printf("stage %d, replica %d", (int)stage, (int)replica);
      const guint32 lane = orr_program_lane(e->program, name, e->job->tp * fold->size[class]);
      for (int s = 0; s < N_STREAMS; s++) e->streams[lane][s] = orr_program_stream(e->program, lane, stream_names[s]);
      g_array_append_val(e->work->lane_stage, stage);
      g_array_append_val(e->work->lane_replica, replica);
    }
}

/* A pass of a block: receive and send are 3 and 5 ops; a segment with its collective is 3 on average at most. */
double orr_training_n_ops(const OrrJob *job, const OrrTrainingCosts *costs, const OrrTrainingPlan *plan) {
  const double segments = costs->layer_forward.segments->len + costs->layer_backward.segments->len;
  const double handover = job->pp * job->shape.chunks > 1 ? 8 : 0;
  const double block = 2 * (handover + 1) + (plan->tp_alone ? 0 : 3 * segments * job->chunk_layers);
  double ops = 0;
  for (gint64 stage = 0; stage < job->pp; stage++)
    ops += block * job->shape.chunks * job->shape.micro_batches + 4.0 * plan->buckets[stage]->len + 8;
  return ops * plan->fold.n * job->params->steps;
}

static void forget(guint32 *slots, gsize n) {
  for (gsize i = 0; i < n; i++) slots[i] = NONE;
}

static void emit_step(Emitter *e) {
  const OrrFold *fold = &e->plan->fold;
  const gint64 pp = e->job->pp;
  forget(e->transfers, (gsize)fold->n * 2 * e->blocks * e->job->shape.micro_batches);
  forget(e->reductions, (gsize)pp * e->most_buckets);
  forget(e->gathers, pp);
  forget(e->embeddings, fold->n);
  e->norm = NONE;
  for (guint l = 0; l < pp * fold->n; l++) {
    const Lane lane = {l, l % fold->n, l / fold->n};
    emit_schedule(e, &lane);
    emit_update(e, &lane);
  }
}

void orr_training_emit(const OrrJob *job, const OrrTrainingCosts *costs, const OrrTrainingPlan *plan,
                       const double *optimizer_s, OrrTrainingWork *work) {
  const guint n = plan->fold.n;
  Emitter e = {.job = job,
               .costs = costs,
               .plan = plan,
               .optimizer_s = optimizer_s,
               .work = work,
               .program = work->work.program,
               .blocks = job->pp * job->shape.chunks};
  e.most_buckets = 1;
  for (gint64 stage = 0; stage < job->pp; stage++) e.most_buckets = MAX(e.most_buckets, plan->buckets[stage]->len);
  g_autofree gpointer streams = g_malloc_n(job->pp * n, sizeof *e.streams);
  g_autofree guint32 *transfers = g_new(guint32, (gsize)n * 2 * e.blocks * job->shape.micro_batches);
  g_autofree guint32 *reductions = g_new(guint32, (gsize)job->pp * e.most_buckets);
  g_autofree guint32 *gathers = g_new(guint32, job->pp);
  g_autofree guint32 *embeddings = g_new(guint32, n);
  e.streams = streams;
  e.transfers = transfers;
  e.reductions = reductions;
  e.gathers = gathers;
  e.embeddings = embeddings;
  add_lanes(&e);
  for (gint64 step = 0; step < job->params->steps; step++) emit_step(&e);
}

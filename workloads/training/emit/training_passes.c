/*
 * training_passes - emits a step of the schedule: a forward, a backward, half of one, or a forward
 * and a backward together.
 *
 * A pass is emitted whole, or cut where weights must be gathered, where activations are copied to
 * or from the host, and where a bucket of gradients is complete.
 *
 * A reference model (reference-forward) computes each micro-batch in a stage right before the model
 * does, and both models' activations travel together: with f, b the seconds of a forward and a
 * backward, p equal stages and m micro-batches take (m + p - 1) (2 f + b), as long as with all of
 * the reference's forwards first.
 */
#include "workloads/training/emit/training_program.h"

#include "workloads/training/emit/training_loader.h"
#include "workloads/training/emit/training_offload_emit.h"
#include "workloads/training/emit/training_emitter.h"
#include "workloads/training/emit/training_sharding_emit.h"

/* A micro-batch in a block of a lane. */
typedef struct {
  gint64 chunk, micro_batch;
  OrrPipelinePlace place;
  const GArray *layers; /* in forward order */
  gboolean is_frozen;   /* of the reference model */
} Pass;

static Pass pass_of(const OrrEmitter *e, const OrrLaneAt *lane, gint64 chunk, gint64 micro_batch) {
  const OrrJob *job = e->job;
  return (Pass){chunk, micro_batch,
                orr_pipeline_place(job->schedule, &job->shape, lane->stage, chunk),
                orr_job_layers(job, lane->stage, chunk), FALSE};
}

/* The runs of @pass's layers [from, to), counted in the order of the pass: the forward's, or
 * from the last layer back. */
static GArray *runs_of(const OrrEmitter *e, const Pass *pass, OrrRunKind kind, gint64 from,
                       gint64 to) {
  GArray *runs = g_array_new(FALSE, FALSE, sizeof(OrrRuns));
  for (gint64 i = from; i < to; i++) {
    const gint64 layer = kind == ORR_RUN_FORWARD ? i : pass->layers->len - 1 - i;
    const OrrRun *run = &e->costs->layers[g_array_index(pass->layers, guint, layer)].runs[kind];
    OrrRuns *last = runs->len > 0 ? &g_array_index(runs, OrrRuns, runs->len - 1) : NULL;
    if (last && last->run == run)
      last->count++;
    else
      g_array_append_vals(runs, &(OrrRuns){run, 1}, 1);
  }
  return runs;
}

static gboolean has_layer(const OrrEmitter *e, const Pass *pass, OrrLayerType type) {
  const guint end = type == ORR_LAYER_EMBEDDING ? 0 : pass->layers->len - 1;
  return pass->layers->len > 0 &&
         orr_job_spec(e->job, g_array_index(pass->layers, guint, end))->type == type;
}

static const char *const run_names[] = {"forward", "backward", "backward-input", "backward-weight"};

static char *name_of(const OrrEmitter *e, const Pass *pass, OrrRunKind kind, gint64 from,
                     gint64 to) {
  const char *run = pass->is_frozen ? "reference-forward" : run_names[kind];
  if (to - from < (gint64)pass->layers->len)
    return g_strdup_printf("%s units %d-%d of block %d", run, (int)from, (int)to,
                           (int)pass->place.block);
  const char *embedding = has_layer(e, pass, ORR_LAYER_EMBEDDING) ? "+embedding" : "";
  const char *head = has_layer(e, pass, ORR_LAYER_HEAD) ? "+head" : "";
  const gboolean forward = kind == ORR_RUN_FORWARD;
  return g_strconcat(run, forward ? embedding : head, forward ? head : embedding, NULL);
}

/* The transfer that @pass receives (@enters), or the one that it sends. */
static OrrStageSend send_of(const Pass *pass, gboolean backward, gboolean enters) {
  const gboolean after = backward == enters; /* the boundary after the block, not the one before */
  return (OrrStageSend){pass->place.direction, pass->place.block - !after, pass->micro_batch,
                        backward};
}

static gboolean exists(const OrrEmitter *e, const OrrStageSend *send) {
  return send->boundary >= 0 && send->boundary < e->blocks - 1 && orr_stage_send_crosses(e, send);
}

static void receive(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, gboolean backward) {
  const OrrStageSend in = send_of(pass, backward, TRUE);
  if (exists(e, &in)) orr_stage_send_receive(e, lane, &in);
}

static void send(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, gboolean backward) {
  const OrrStageSend out = send_of(pass, backward, FALSE);
  if (exists(e, &out)) orr_stage_send_send(e, lane, &out);
}

/* What the receivers of scatter-gather add before the pass. */
static double gather_s(const OrrEmitter *e, const Pass *pass, gboolean backward) {
  const OrrStageSend in = send_of(pass, backward, TRUE);
  return exists(e, &in) ? e->plan->stages.gather_s : 0;
}

static void emit_layers(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, OrrRunKind kind,
                        gint64 from, gint64 to) {
  const gboolean receives = from == 0 && kind != ORR_RUN_WEIGHT;
  const gint64 chunk = pass->chunk + (pass->is_frozen ? e->job->shape.chunks : 0);
  const OrrPassKey key = {lane->lane, kind, (guint32)chunk, (guint32)from, (guint32)to};
  if (orr_training_runs_repeat(e, lane, &key, pass->micro_batch)) return;
  g_autoptr(GArray) runs = runs_of(e, pass, kind, from, to);
  g_autofree char *name = name_of(e, pass, kind, from, to);
  const OrrPassRuns emitted = {name, (const OrrRuns *)(gpointer)runs->data, runs->len,
                               receives ? gather_s(e, pass, kind != ORR_RUN_FORWARD) : 0,
                               pass->micro_batch};
  orr_training_runs_emit(e, lane, &key, &emitted);
}

/* --- buckets of gradients --- */

/* Opens the bucket in which the gradients of the pass's chunk begin, where each pass reduces
 * them. */
static void begin_buckets(const OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass,
                          OrrLaneProgress *progress) {
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    const GArray *buckets = e->plan->sharding.buckets[set][lane->stage];
    gint64 before = 0;
    for (gint64 chunk = e->job->shape.chunks; --chunk > pass->chunk;)
      before += orr_job_layers(e->job, lane->stage, chunk)->len;
    progress->layers[set] = 0;
    for (progress->bucket[set] = 0; before > 0 && buckets->len > 0; progress->bucket[set]++)
      before -= g_array_index(buckets, OrrBucket, progress->bucket[set]).n_layers;
  }
}

/* @n more layers have had their backward: reduces the open buckets that are now full. */
static void count_layers(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                         gint64 n) {
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    const GArray *buckets = e->plan->sharding.buckets[set][lane->stage];
    if (buckets->len == 0) continue;
    progress->layers[set] += n;
    if (progress->layers[set] < g_array_index(buckets, OrrBucket, progress->bucket[set]).n_layers)
      continue;
    orr_owned_reduce(e, lane, progress, &(OrrOwned){set, lane->stage, 1}, progress->bucket[set]++);
    progress->layers[set] = 0;
  }
}

/* How many layers, at most @most, until the first of the open buckets is full. */
static gint64 layers_until_full(const OrrEmitter *e, const OrrLaneAt *lane,
                                const OrrLaneProgress *progress, gint64 most) {
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    const GArray *buckets = e->plan->sharding.buckets[set][lane->stage];
    if (buckets->len == 0) continue;
    most = MIN(most, g_array_index(buckets, OrrBucket, progress->bucket[set]).n_layers -
                         progress->layers[set]);
  }
  return most;
}

/* Whether gradients are reduced during this pass. */
static gboolean reduces(const OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass,
                        OrrRunKind kind, OrrLaneProgress *progress) {
  const OrrShardingPlan *sharding = &e->job->sharding;
  if (kind != ORR_RUN_BACKWARD && kind != ORR_RUN_WEIGHT) return FALSE;
  const gboolean last = --progress->left[pass->chunk] == 0;
  if (!orr_sharding_traffic_reduces(&e->plan->sharding, lane->stage)) return FALSE;
  if (sharding->reduces_each_pass) begin_buckets(e, lane, pass, progress);
  progress->adds =
      sharding->reduces_each_pass && progress->left[pass->chunk] + 1 < orr_job_passes(e->job);
  return sharding->reduces_each_pass || (last && sharding->overlap);
}

/* Whether the pass gathers its weights. */
static gboolean gathers(const OrrEmitter *e, const Pass *pass, OrrRunKind kind,
                        OrrLaneProgress *progress) {
  const OrrShardingPlan *sharding = &e->job->sharding;
  if (!orr_job_gathers(e->job)) return FALSE;
  if (!sharding->weights) {
    const gboolean first = kind == ORR_RUN_FORWARD && progress->first[pass->chunk];
    if (first) progress->first[pass->chunk] = FALSE;
    return first;
  }
  return kind == ORR_RUN_FORWARD || (sharding->gathers_again && kind != ORR_RUN_WEIGHT);
}

/* --- passes --- */

static void emit_pass(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, OrrRunKind kind,
                      OrrLaneProgress *progress) {
  const gboolean is_reducing = reduces(e, lane, pass, kind, progress),
                 is_gathering = gathers(e, pass, kind, progress);
  const gboolean is_offloading = e->job->params->offload.activations > 0,
                 forward = kind == ORR_RUN_FORWARD;
  const gint64 n = pass->layers->len;
  for (gint64 from = 0, to = n; from < n; from = to) {
    const gint64 layer = forward ? from : n - 1 - from;
    const OrrStash stash = {pass->layers, pass->chunk, pass->micro_batch, layer, forward};
    to = n;
    if (is_reducing) to = from + layers_until_full(e, lane, progress, n - from);
    if (is_gathering) {
      to = from + 1;
      orr_training_sharding_emit_gather(e, lane, progress,
                                        g_array_index(pass->layers, guint, layer), !forward);
    }
    if (is_offloading) {
      to = from + 1;
      orr_stash_before(e, lane, progress, &stash);
    }
    emit_layers(e, lane, pass, kind, from, to);
    if (is_offloading) orr_stash_after(e, lane, progress, &stash);
    if (is_gathering) orr_training_sharding_emit_computed(e, lane, progress);
    if (is_reducing) count_layers(e, lane, progress, to - from);
  }
}

/* The reference model computes what the forward of @pass is about to. Its weights never change, so
 * only sharded ones are gathered, and nothing of it is kept for a backward. */
static void emit_reference(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass,
                           OrrLaneProgress *progress) {
  const gboolean is_gathering = orr_job_gathers(e->job) && e->job->sharding.weights;
  const gint64 n = pass->layers->len;
  Pass frozen = *pass;
  frozen.is_frozen = TRUE;
  for (gint64 from = 0, to = n; e->job->params->reference && from < n; from = to) {
    to = is_gathering ? from + 1 : n;
    if (is_gathering)
      orr_training_sharding_emit_gather(e, lane, progress, g_array_index(pass->layers, guint, from),
                                        FALSE);
    emit_layers(e, lane, &frozen, ORR_RUN_FORWARD, from, to);
    if (is_gathering) orr_training_sharding_emit_computed(e, lane, progress);
  }
}

/* Which run a step is, other than BOTH. */
static OrrRunKind run_of(const OrrPipelineStep *step) {
  static const OrrRunKind kinds[] = {
      [ORR_STEP_FORWARD] = ORR_RUN_FORWARD,
      [ORR_STEP_BACKWARD] = ORR_RUN_BACKWARD,
      [ORR_STEP_BACKWARD_INPUT] = ORR_RUN_INPUT,
      [ORR_STEP_BACKWARD_WEIGHT] = ORR_RUN_WEIGHT,
  };
  return kinds[step->kind];
}

static void emit_plain(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, OrrRunKind kind,
                       OrrLaneProgress *progress) {
  const gboolean backward = kind != ORR_RUN_FORWARD, meets = kind != ORR_RUN_WEIGHT;
  if (!backward && pass->place.block == 0) orr_training_loader_take(e, lane, pass->micro_batch);
  if (meets) receive(e, lane, pass, backward);
  if (!backward) emit_reference(e, lane, pass, progress);
  emit_pass(e, lane, pass, kind, progress);
  if (meets) send(e, lane, pass, backward);
}

/* While experts' tokens of one pass are under way, the other computes. */
static void emit_interleaved(OrrEmitter *e, const OrrLaneAt *lane, const Pass *forward,
                             const Pass *backward) {
  g_autoptr(GArray) down = runs_of(e, forward, ORR_RUN_FORWARD, 0, forward->layers->len);
  g_autoptr(GArray) up = runs_of(e, backward, ORR_RUN_BACKWARD, 0, backward->layers->len);
  g_autofree char *forward_name = name_of(e, forward, ORR_RUN_FORWARD, 0, forward->layers->len);
  g_autofree char *backward_name = name_of(e, backward, ORR_RUN_BACKWARD, 0, backward->layers->len);
  const OrrPassRuns passes[2] = {
      {forward_name, (const OrrRuns *)(gpointer)down->data, down->len, gather_s(e, forward, FALSE),
       forward->micro_batch},
      {backward_name, (const OrrRuns *)(gpointer)up->data, up->len, gather_s(e, backward, TRUE),
       backward->micro_batch},
  };
  orr_training_runs_interleave(e, lane, passes);
}

/* Whether the backward reduces gradients, layer by layer: then it is emitted on its own. */
static gboolean will_reduce(const OrrEmitter *e, const OrrLaneAt *lane, const Pass *backward,
                            const OrrLaneProgress *progress) {
  const OrrShardingPlan *sharding = &e->job->sharding;
  if (!orr_sharding_traffic_reduces(&e->plan->sharding, lane->stage)) return FALSE;
  return sharding->reduces_each_pass || (sharding->overlap && progress->left[backward->chunk] == 1);
}

static void emit_both(OrrEmitter *e, const OrrLaneAt *lane, const Pass *forward,
                      const Pass *backward, OrrLaneProgress *progress) {
  if (forward->place.block == 0) orr_training_loader_take(e, lane, forward->micro_batch);
  receive(e, lane, forward, FALSE);
  receive(e, lane, backward, TRUE);
  emit_reference(e, lane, forward, progress);
  if (e->plan->layers.interleaves && !will_reduce(e, lane, backward, progress)) {
    progress->left[backward->chunk]--;
    emit_interleaved(e, lane, forward, backward);
  } else {
    emit_pass(e, lane, forward, ORR_RUN_FORWARD, progress);
    emit_pass(e, lane, backward, ORR_RUN_BACKWARD, progress);
  }
  send(e, lane, forward, FALSE);
  send(e, lane, backward, TRUE);
}

void orr_training_passes_emit(OrrEmitter *e, const OrrLaneAt *lane, const OrrPipelineStep *step,
                              OrrLaneProgress *progress) {
  const Pass pass = pass_of(e, lane, step->chunk, step->micro_batch);
  if (step->kind != ORR_STEP_BOTH) return emit_plain(e, lane, &pass, run_of(step), progress);
  const Pass back = pass_of(e, lane, step->back_chunk, step->back_micro_batch);
  emit_both(e, lane, &pass, &back, progress);
}

/* --- slots --- */

/* Appends what @lane's stage sends after @step, where another stage receives it. */
static void append_send(const OrrEmitter *e, const OrrLaneAt *lane, const OrrPipelineStep *step,
                        gint64 target, GArray *sends) {
  if (!step || step->kind == ORR_STEP_BACKWARD_WEIGHT) return;
  const Pass pass = pass_of(e, lane, step->chunk, step->micro_batch);
  const OrrStageSend out = send_of(&pass, step->kind != ORR_STEP_FORWARD, FALSE);
  if (!exists(e, &out)) return;
  if (target < 0 || orr_stage_send_target(e, &out) == target) g_array_append_val(sends, out);
}

void orr_training_passes_emit_slot(OrrEmitter *e, const OrrLaneAt *lane, const OrrSlots *slots,
                                   guint slot, OrrLaneProgress *progress) {
  const OrrPipelineStep *step = orr_slots_at(slots, lane->stage, slot);
  g_autoptr(GArray) sends = g_array_new(FALSE, FALSE, sizeof(OrrStageSend));
  g_autoptr(GArray) receives = g_array_new(FALSE, FALSE, sizeof(OrrStageSend));
  if (step) {
    const Pass pass = pass_of(e, lane, step->chunk, step->micro_batch);
    if (step->kind == ORR_STEP_FORWARD && pass.place.block == 0)
      orr_training_loader_take(e, lane, pass.micro_batch);
    if (step->kind == ORR_STEP_FORWARD) emit_reference(e, lane, &pass, progress);
    emit_pass(e, lane, &pass, run_of(step), progress);
  }
  append_send(e, lane, step, -1, sends);
  for (gint64 stage = 0; stage < e->job->pp; stage++) {
    const OrrLaneAt other = {lane->lane, lane->class, stage};
    if (stage != lane->stage)
      append_send(e, &other, orr_slots_at(slots, stage, slot), lane->stage, receives);
  }
  orr_stage_send_exchange(e, lane, sends, receives);
}

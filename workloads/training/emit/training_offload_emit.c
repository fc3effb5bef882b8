/*
 * training_offload_emit - copies to and from the hosts' memory, and the hosts' update
 * (job/training_offload.c has the model).
 *
 *   to-host    wait(layer has computed) join(copy) record(sent)
 *              compute waits for the copy of two layers before
 *   from-host  wait(sent) wait(backward of two layers before) join(copy) record(back)
 *              wait(layer k - 1 - ahead has computed) join(copy of layer k's weights)
 *              the layer's gather waits for the copy
 *   host       wait(norm) join(Adam of layer k) record(updated k) ...
 *
 * The streams are quiet: copy engines and the hosts' cores do not slow kernels down.
 */
#include "workloads/training/emit/training_offload_emit.h"

#include "workloads/training/memory/training_memory.h"

/* A copy, or the host's Adam, of @bytes per GPU of the lane. */
typedef struct {
  OrrTrainingStream stream;
  guint32 path;
  const char *name;
  OrrTimeKind kind;
} Transfer;

static void emit_transfer(OrrEmitter *e, const OrrLaneAt *lane, const Transfer *transfer,
                          double bytes, gint32 tag) {
  const double latency_s = e->job->world->cluster->node.host_link_latency_s;
  const OrrPhase phase = {transfer->kind == ORR_TIME_OFFLOAD ? latency_s : 0, bytes,
                          transfer->path};
  if (bytes <= 0) return;
  orr_program_join(e->program, orr_emitter_stream(e, lane, transfer->stream),
                   orr_program_comm(e->program, 1, &phase, 1),
                   orr_emitter_comm_label(e, transfer->name, transfer->kind), tag);
}

static void copy_out(OrrEmitter *e, const OrrLaneAt *lane, double bytes, const char *name,
                     gint32 tag) {
  const Transfer transfer = {ORR_STREAM_TO_HOST, e->plan->offload[lane->lane].to_host, name,
                             ORR_TIME_OFFLOAD};
  emit_transfer(e, lane, &transfer, bytes, tag);
}

static void copy_back(OrrEmitter *e, const OrrLaneAt *lane, double bytes, const char *name,
                      gint32 tag) {
  const Transfer transfer = {ORR_STREAM_FROM_HOST, e->plan->offload[lane->lane].from_host, name,
                             ORR_TIME_OFFLOAD};
  emit_transfer(e, lane, &transfer, bytes, tag);
}

/* --- weights --- */

void orr_training_offload_emit_weights(OrrEmitter *e, const OrrLaneAt *lane,
                                       const OrrLaneProgress *progress, guint spec) {
  const OrrJob *job = e->job;
  const OrrWeights weights = orr_job_layer_weights(job, lane->stage, spec);
  const double bytes = orr_training_offload_weight_bytes(job, weights);
  const gint64 behind = (gint64)progress->computed->len - 1 - job->sharding.ahead;
  if (bytes == 0) return;
  const guint32 up = orr_emitter_stream(e, lane, ORR_STREAM_FROM_HOST);
  if (behind >= 0)
    orr_program_wait(e->program, up, g_array_index(progress->computed, guint32, behind));
  copy_back(e, lane, bytes, "offload-weights", -1);
  orr_emitter_wait_for(e, up, orr_emitter_stream(e, lane, ORR_STREAM_GATHER));
}

/* --- gradients and the optimizer --- */

static gboolean has_optimizer(const OrrEmitter *e) { return e->job->params->offload.optimizer > 0; }

void orr_training_offload_emit_gradients(OrrEmitter *e, const OrrLaneAt *lane,
                                         const OrrLaneProgress *progress, OrrWeightSet set,
                                         double bucket_bytes) {
  if (!has_optimizer(e)) return;
  const gint64 ranks = e->job->sharding.optimizer ? orr_job_shard_ranks(e->job, set) : 1;
  const double bytes = bucket_bytes * e->job->params->offload.optimizer / (double)ranks;
  const guint32 out = orr_emitter_stream(e, lane, ORR_STREAM_TO_HOST);
  orr_emitter_wait_for(e, orr_emitter_stream(e, lane, ORR_STREAM_DP), out);
  if (progress->adds) {
    const guint32 back = orr_emitter_stream(e, lane, ORR_STREAM_FROM_HOST);
    orr_emitter_wait_for(e, out, back);
    copy_back(e, lane, bytes, "offload-gradients-back", -1);
    orr_emitter_wait_for(e, back, out);
  }
  copy_out(e, lane, bytes, "offload-gradients", -1);
  if (!e->job->params->offload.overlap)
    orr_emitter_wait_for(e, out, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE));
}

void orr_training_offload_emit_wait_gradients(OrrEmitter *e, const OrrLaneAt *lane) {
  if (has_optimizer(e))
    orr_emitter_wait_for(e, orr_emitter_stream(e, lane, ORR_STREAM_TO_HOST),
                         orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE));
}

/* Adam of @parameters, and their copy back during the next layer's Adam; offloaded parameters stay
 * on the host. */
static void update(OrrEmitter *e, const OrrLaneAt *lane, double parameters) {
  const guint32 host = orr_emitter_stream(e, lane, ORR_STREAM_HOST);
  const Transfer adam = {ORR_STREAM_HOST, e->plan->offload[lane->lane].memory, "host-optimizer",
                         ORR_TIME_OPTIMIZER};
  if (parameters == 0) return;
  emit_transfer(e, lane, &adam, parameters * orr_training_offload_adam_bytes(e->job), -1);
  orr_emitter_wait_for(e, host, orr_emitter_stream(e, lane, ORR_STREAM_FROM_HOST));
  if (e->job->params->offload.parameters) return;
  copy_back(e, lane, parameters * orr_dtype_bytes(e->job->shard.dtype), "offload-parameters", -1);
}

void orr_training_offload_emit_update(OrrEmitter *e, const OrrLaneAt *lane) {
  const OrrJob *job = e->job;
  if (!has_optimizer(e)) return;
  orr_emitter_wait_for(e, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE),
                       orr_emitter_stream(e, lane, ORR_STREAM_HOST));
  if (!job->params->offload.overlap)
    return update(e, lane,
                  orr_training_offload_optimized(job, orr_job_stage_weights(job, lane->stage)));
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *layers = orr_job_layers(job, lane->stage, chunk);
    for (guint i = 0; i < layers->len; i++) {
      const OrrWeights weights =
          orr_job_layer_weights(job, lane->stage, g_array_index(layers, guint, i));
      update(e, lane, orr_training_offload_optimized(job, weights));
    }
  }
}

void orr_training_offload_emit_wait_update(OrrEmitter *e, const OrrLaneAt *lane) {
  if (has_optimizer(e))
    orr_emitter_wait_for(e, orr_emitter_stream(e, lane, ORR_STREAM_FROM_HOST),
                         orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE));
}

/* --- activations --- */

/* Names one layer of one pass under way. */
static gint64 key_of(const OrrEmitter *e, const OrrStash *stash) {
  const gint64 layers = 1 + stash->layers->len;
  return (stash->micro_batch * e->job->shape.chunks + stash->chunk) * layers + stash->layer;
}

static double stash_bytes(const OrrEmitter *e, const OrrStash *stash) {
  return orr_training_offload_takes(e->job, stash->layers, stash->layer)
             ? orr_training_kept_bytes(e->job, stash->layers, stash->layer)
             : 0;
}

void orr_stash_before(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                      const OrrStash *stash) {
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  const double bytes = stash_bytes(e, stash);
  if (bytes == 0) return;
  if (stash->forward) {
    if (progress->n_sent >= ORR_STASH_BUFFERS)
      orr_program_wait(e->program, compute, progress->sent[progress->n_sent % ORR_STASH_BUFFERS]);
    return;
  }
  const guint32 back = orr_emitter_stream(e, lane, ORR_STREAM_FROM_HOST);
  const gint64 key = key_of(e, stash);
  orr_program_wait(e->program, back,
                   GPOINTER_TO_UINT(g_hash_table_lookup(progress->stashed, &key)));
  if (progress->n_used >= ORR_STASH_BUFFERS)
    orr_program_wait(e->program, back, progress->used[progress->n_used % ORR_STASH_BUFFERS]);
  copy_back(e, lane, bytes, "offload-activations-back", (gint32)stash->micro_batch);
  orr_emitter_wait_for(e, back, compute);
}

void orr_stash_after(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                     const OrrStash *stash) {
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  const double bytes = stash_bytes(e, stash);
  if (bytes == 0) return;
  if (!stash->forward) {
    progress->used[progress->n_used++ % ORR_STASH_BUFFERS] = orr_emitter_record(e, compute);
    return;
  }
  const guint32 out = orr_emitter_stream(e, lane, ORR_STREAM_TO_HOST);
  orr_emitter_wait_for(e, compute, out);
  copy_out(e, lane, bytes, "offload-activations", (gint32)stash->micro_batch);
  const guint32 sent = orr_emitter_record(e, out);
  const gint64 key = key_of(e, stash);
  progress->sent[progress->n_sent++ % ORR_STASH_BUFFERS] = sent;
  g_hash_table_insert(progress->stashed, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(sent));
}

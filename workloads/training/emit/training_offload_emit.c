/*
 * training_offload_emit - copies to and from the hosts' memory, and what the hosts compute, as ops
 * (training_offload.c).
 *
 *   to-host    wait(unit has computed) join(copy) record(gone)     compute waits for the copy of two units before
 *   from-host  wait(gone) wait(backward of two units before) join(copy) record(back)
 *              wait(unit k - 1 - ahead has computed) join(copy of unit k's weights)        its gather waits for the copy
 *   host       wait(norm) join(Adam of unit k) record(updated k) ...
 *
 * The streams are quiet: copy engines and cores slow no kernel.
 */
#include "workloads/training/emit/training_emitter.h"

static guint32 record(OrrEmitter *e, guint32 stream) {
  const guint32 event = orr_program_event(e->program);
  orr_program_record(e->program, stream, event);
  return event;
}

static void wait_for(OrrEmitter *e, guint32 from, guint32 to) {
  orr_program_wait(e->program, to, record(e, from));
}

/* @bytes of each GPU of the lane. */
static void join(OrrEmitter *e, guint32 stream, guint32 path, double bytes, const char *name,
                 OrrTimeKind kind, gint32 tag) {
  const double latency_s = e->job->world->cluster->node.host_link_latency_s;
  const OrrPhase phase = {kind == ORR_TIME_OFFLOAD ? latency_s : 0, bytes, path};
  if (bytes <= 0) return;
  orr_program_join(e->program, stream, orr_program_comm(e->program, 1, &phase, 1),
                   orr_emit_comm_label(e, name, kind), tag);
}

static void copy_out(OrrEmitter *e, const OrrLaneAt *lane, double bytes, const char *name,
                     gint32 tag) {
  join(e, orr_emit_stream(e, lane, ORR_STREAM_TO_HOST), e->plan->offload[lane->lane].out, bytes,
       name, ORR_TIME_OFFLOAD, tag);
}

static void copy_back(OrrEmitter *e, const OrrLaneAt *lane, double bytes, const char *name,
                      gint32 tag) {
  join(e, orr_emit_stream(e, lane, ORR_STREAM_FROM_HOST), e->plan->offload[lane->lane].back, bytes,
       name, ORR_TIME_OFFLOAD, tag);
}

/* --- weights --- */

void orr_emit_weights_up(OrrEmitter *e, const OrrLaneAt *lane, const OrrEmitShards *shards,
                         guint part) {
  const OrrJob *job = e->job;
  const double bytes = orr_offload_weight_bytes(job, orr_job_part_weights(job, lane->stage, part));
  const gint64 behind = (gint64)shards->computed->len - 1 - job->sharding.ahead;
  if (bytes == 0) return;
  const guint32 up = orr_emit_stream(e, lane, ORR_STREAM_FROM_HOST);
  if (behind >= 0)
    orr_program_wait(e->program, up, g_array_index(shards->computed, guint32, behind));
  copy_back(e, lane, bytes, "offload-weights", -1);
  wait_for(e, up, orr_emit_stream(e, lane, ORR_STREAM_GATHER));
}

/* --- gradients and the optimizer --- */

static gboolean has_optimizer(const OrrEmitter *e) { return e->job->params->offload.optimizer > 0; }

void orr_emit_gradients_out(OrrEmitter *e, const OrrLaneAt *lane, const OrrEmitShards *shards,
                            OrrShare share, double bucket_bytes) {
  if (!has_optimizer(e)) return;
  const gint64 ranks = e->job->sharding.optimizer ? orr_share_ranks(e->job, share) : 1;
  const double bytes = bucket_bytes * e->job->params->offload.optimizer / (double)ranks;
  const guint32 out = orr_emit_stream(e, lane, ORR_STREAM_TO_HOST);
  wait_for(e, orr_emit_stream(e, lane, ORR_STREAM_DP), out);
  if (shards->adds) {
    const guint32 back = orr_emit_stream(e, lane, ORR_STREAM_FROM_HOST);
    wait_for(e, out, back);
    copy_back(e, lane, bytes, "offload-gradients-back", -1);
    wait_for(e, back, out);
  }
  copy_out(e, lane, bytes, "offload-gradients", -1);
  if (!e->job->params->offload.overlap)
    wait_for(e, out, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE));
}

void orr_emit_gradients_there(OrrEmitter *e, const OrrLaneAt *lane) {
  if (has_optimizer(e))
    wait_for(e, orr_emit_stream(e, lane, ORR_STREAM_TO_HOST),
             orr_emit_stream(e, lane, ORR_STREAM_COMPUTE));
}

/* Adam of @parameters, and their way back beside the next one's. */
static void update(OrrEmitter *e, const OrrLaneAt *lane, double parameters) {
  const guint32 host = orr_emit_stream(e, lane, ORR_STREAM_HOST);
  if (parameters == 0) return;
  join(e, host, e->plan->offload[lane->lane].memory, parameters * orr_offload_adam_bytes(e->job),
       "host-optimizer", ORR_TIME_OPTIMIZER, -1);
  wait_for(e, host, orr_emit_stream(e, lane, ORR_STREAM_FROM_HOST));
  if (e->job->params->offload.parameters) return; /* there they stay */
  copy_back(e, lane, parameters * orr_dtype_bytes(e->job->shard.dtype), "offload-parameters", -1);
}

void orr_emit_host_update(OrrEmitter *e, const OrrLaneAt *lane) {
  const OrrJob *job = e->job;
  if (!has_optimizer(e)) return;
  wait_for(e, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE),
           orr_emit_stream(e, lane, ORR_STREAM_HOST));
  if (!job->params->offload.overlap) {
    update(e, lane, orr_offload_optimized(job, orr_job_stage_weights(job, lane->stage)));
    return;
  }
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *units = orr_job_units(job, lane->stage, chunk);
    for (guint u = 0; u < units->len; u++)
      update(e, lane,
             orr_offload_optimized(
                 job, orr_job_part_weights(job, lane->stage, g_array_index(units, guint, u))));
  }
}

void orr_emit_host_updated(OrrEmitter *e, const OrrLaneAt *lane) {
  if (has_optimizer(e))
    wait_for(e, orr_emit_stream(e, lane, ORR_STREAM_FROM_HOST),
             orr_emit_stream(e, lane, ORR_STREAM_COMPUTE));
}

/* --- activations --- */

/* A unit of a pass under way. */
static gint64 key_of(const OrrEmitter *e, const OrrStash *stash) {
  const gint64 units = 1 + stash->units->len;
  return (stash->micro_batch * e->job->shape.chunks + stash->chunk) * units + stash->unit;
}

static double stash_bytes(const OrrEmitter *e, const OrrStash *stash) {
  return orr_offload_takes(e->job, stash->units, stash->unit)
             ? orr_training_kept_bytes(e->job, stash->units, stash->unit)
             : 0;
}

void orr_emit_stash_room(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards,
                         const OrrStash *stash) {
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  const double bytes = stash_bytes(e, stash);
  if (bytes == 0) return;
  if (stash->forward) {
    if (shards->n_gone >= ORR_STASH_BUFFERS)
      orr_program_wait(e->program, compute, shards->gone[shards->n_gone % ORR_STASH_BUFFERS]);
    return;
  }
  const guint32 back = orr_emit_stream(e, lane, ORR_STREAM_FROM_HOST);
  const gint64 key = key_of(e, stash);
  orr_program_wait(e->program, back, GPOINTER_TO_UINT(g_hash_table_lookup(shards->stashed, &key)));
  if (shards->n_used >= ORR_STASH_BUFFERS)
    orr_program_wait(e->program, back, shards->used[shards->n_used % ORR_STASH_BUFFERS]);
  copy_back(e, lane, bytes, "offload-activations-back", (gint32)stash->micro_batch);
  wait_for(e, back, compute);
}

void orr_emit_stashed(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards,
                      const OrrStash *stash) {
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  const double bytes = stash_bytes(e, stash);
  if (bytes == 0) return;
  if (!stash->forward) {
    shards->used[shards->n_used++ % ORR_STASH_BUFFERS] = record(e, compute);
    return;
  }
  const guint32 out = orr_emit_stream(e, lane, ORR_STREAM_TO_HOST);
  wait_for(e, compute, out);
  copy_out(e, lane, bytes, "offload-activations", (gint32)stash->micro_batch);
  const guint32 gone = record(e, out);
  const gint64 key = key_of(e, stash);
  shards->gone[shards->n_gone++ % ORR_STASH_BUFFERS] = gone;
  g_hash_table_insert(shards->stashed, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(gone));
}

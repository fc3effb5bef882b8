/*
 * training_loader - data that the host prepares: workers tokenise, collate and copy sequences ahead
 * of their use.
 *
 *   loader    wait(micro-batch k - depth is taken) | micro-batch k | record(ready k) ...
 *             each takes sample-time * micro / workers
 *   compute   wait(ready k) forward k ...
 *
 * As in PyTorch's DataLoader (num_workers, prefetch_factor: torch/utils/data/dataloader.py), depth
 * = workers * prefetch micro-batches are ready or under way; when compute takes one, a worker
 * begins the next. The workers are one stream at their joint rate. The buffer is full when training
 * begins, and the last step ends when it is full again: the initial buffer hides nothing, so any
 * number of steps gives the time of one step among many. Each replica has a loader on the stages
 * that a micro-batch enters. Of its tensor-parallel ranks one reads and broadcasts; the broadcast's
 * time is not counted. A loader that is slower than a step decides the step's time, m micro
 * sample-time / workers; the time that compute waits for it is host time.
 *
 *   loader: {sample-time: 40 ms, workers: 4}
 */
#include "workloads/training/emit/training_loader.h"

const OrrFieldTable orr_training_loader_table = ORR_FIELDS(
    "loader", "Data that the hosts prepare during training.", OrrLoader,
    ORR_FIELD_REAL(OrrLoader, "sample-time", sample_s, ORR_UNIT_SECONDS, "0 s",
                   "Time in which one worker prepares one sequence; 0: data is always ready.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrLoader, "workers", workers, "2",
                  "Workers per replica (DataLoader's num_workers).", .min = 1, .max = 1e4),
    ORR_FIELD_INT(OrrLoader, "prefetch", prefetch, "2",
                  "Micro-batches that each worker prepares ahead (DataLoader's prefetch_factor).",
                  .min = 1, .max = 1e4));

gboolean orr_training_loader_is_on(const OrrLoader *loader) { return loader->sample_s > 0; }

static void prepare(OrrEmitter *e, const OrrLaneAt *lane, gint32 micro_batch) {
  const OrrLoader *loader = &e->job->params->loader;
  const double seconds =
      loader->sample_s * (double)e->job->shard.micro_batch / (double)loader->workers;
  const OrrPhase phase = {seconds, 0, ORR_NO_PATH};
  orr_program_join(e->program, orr_emitter_stream(e, lane, ORR_STREAM_LOADER),
                   orr_program_comm(e->program, 1, &phase, 1),
                   orr_emitter_comm_label(e, "data-prepare", ORR_TIME_HOST), micro_batch);
}

/* Compute takes the lane's @taken-th micro-batch of the job, and the loader begins its
 * replacement. */
static void take(OrrEmitter *e, const OrrLaneAt *lane, GArray *ready, gint64 taken,
                 gint32 micro_batch) {
  const OrrLoader *loader = &e->job->params->loader;
  const gint64 depth = loader->workers * loader->prefetch;
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  if (taken >= depth)
    orr_program_wait(e->program, compute, g_array_index(ready, guint32, taken - depth));
  const guint32 stream = orr_emitter_stream(e, lane, ORR_STREAM_LOADER);
  const guint32 taken_event = orr_program_event(e->program),
                ready_event = orr_program_event(e->program);
  orr_program_record(e->program, compute, taken_event);
  orr_program_wait(e->program, stream, taken_event);
  prepare(e, lane, micro_batch);
  orr_program_record(e->program, stream, ready_event);
  g_array_append_val(ready, ready_event);
}

void orr_training_loader_take(OrrEmitter *e, const OrrLaneAt *lane, gint32 micro_batch) {
  if (!orr_training_loader_is_on(&e->job->params->loader)) return;
  GArray *ready = e->ready[lane->lane];
  take(e, lane, ready, e->taken[lane->lane]++, micro_batch);
}

void orr_training_loader_refill(OrrEmitter *e, const OrrLaneAt *lane) {
  const GArray *ready = e->ready[lane->lane];
  if (e->step + 1 < e->job->params->steps || ready->len == 0) return;
  orr_program_wait(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE),
                   g_array_index(ready, guint32, ready->len - 1));
}

/*
 * training_loader - data that the host prepares: sequences tokenised, collated, copied, by workers
 * ahead of their use.
 *
 *   loader    wait(k - depth is taken) | micro-batch k | record(ready k) ...      sample-time * micro / workers each
 *   compute   wait(ready k) forward k ...
 *
 * As PyTorch's DataLoader has it (num_workers, prefetch_factor: torch/utils/data/dataloader.py):
 * depth = workers * prefetch micro-batches are ready or under way; when one is taken, a worker
 * begins the next. Workers are one stream at their joint rate. The buffer is full when training
 * begins, and the last step ends when it is full again, so that what lay ready hides nothing: any
 * number of steps says what one of many takes. Each replica has a loader on the stages that a
 * micro-batch enters (of its tensor-parallel ranks one reads and broadcasts, whose time is not
 * counted). A loader that is slower than a step decides how long the step takes, m micro
 * sample-time / workers; what compute waits for is host time.
 *
 *   loader: {sample-time: 40 ms, workers: 4}
 */
#include "workloads/training/emit/training_emitter.h"

static const OrrField loader_fields[] = {
    {.name = "sample-time",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrLoader, sample_s),
     .sentence = "What one worker takes to prepare one sequence; 0: data is always there.",
     .fallback = "0 s",
     .flags = ORR_FIELD_UNSIGNED,
     .unit = ORR_UNIT_SECONDS},
    {.name = "workers",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrLoader, workers),
     .sentence = "Workers of each replica (DataLoader's num_workers).",
     .fallback = "2",
     .min = 1,
     .max = 1e4},
    {.name = "prefetch",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrLoader, prefetch),
     .sentence = "Micro-batches that each of them prepares ahead (prefetch_factor).",
     .fallback = "2",
     .min = 1,
     .max = 1e4},
};
const OrrFieldTable orr_loader_table =
    ORR_FIELD_TABLE("loader", "Data that hosts prepare beside training.", OrrLoader, loader_fields);

gboolean orr_loader_is_on(const OrrLoader *loader) { return loader->sample_s > 0; }

static void prepare(OrrEmitter *e, const OrrLaneAt *lane, gint32 micro_batch) {
  const OrrLoader *loader = &e->job->params->loader;
  const double seconds =
      loader->sample_s * (double)e->job->shard.micro_batch / (double)loader->workers;
  const OrrPhase phase = {seconds, 0, ORR_NO_PATH};
  orr_program_join(e->program, orr_emit_stream(e, lane, ORR_STREAM_LOADER),
                   orr_program_comm(e->program, 1, &phase, 1),
                   orr_emit_comm_label(e, "data-prepare", ORR_TIME_HOST), micro_batch);
}

/* The @taken-th micro-batch of the job on that lane is taken; the one that takes its place is
 * begun. */
static void take(OrrEmitter *e, const OrrLaneAt *lane, GArray *ready, gint64 taken,
                 gint32 micro_batch) {
  const OrrLoader *loader = &e->job->params->loader;
  const gint64 depth = loader->workers * loader->prefetch;
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  if (taken >= depth)
    orr_program_wait(e->program, compute, g_array_index(ready, guint32, taken - depth));
  const guint32 stream = orr_emit_stream(e, lane, ORR_STREAM_LOADER);
  const guint32 gone = orr_program_event(e->program), there = orr_program_event(e->program);
  orr_program_record(e->program, compute, gone);
  orr_program_wait(e->program, stream, gone);
  prepare(e, lane, micro_batch);
  orr_program_record(e->program, stream, there);
  g_array_append_val(ready, there);
}

void orr_emit_loaded(OrrEmitter *e, const OrrLaneAt *lane, gint32 micro_batch) {
  if (!orr_loader_is_on(&e->job->params->loader)) return;
  GArray *ready = e->ready[lane->lane];
  take(e, lane, ready, e->taken[lane->lane]++, micro_batch);
}

void orr_emit_refilled(OrrEmitter *e, const OrrLaneAt *lane, gint64 step) {
  const GArray *ready = e->ready[lane->lane];
  if (step + 1 < e->job->params->steps || ready->len == 0) return;
  orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE),
                   g_array_index(ready, guint32, ready->len - 1));
}

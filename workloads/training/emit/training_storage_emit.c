/*
 * training_storage_emit - emits what comm/training_storage.c has planned.
 *
 *   storage   wait(snapshot) join(write)             async checkpoints
 *   data      wait(compute) join(data of step + 1)   a step's data is read during the step before
 */
#include "workloads/training/emit/training_program.h"

static void join(OrrEmitter *e, guint32 stream, const OrrCommPlan *plan, OrrStorageUse use,
                 gint32 tag) {
  if (plan->n_phases == 0) return;
  const guint32 comm = orr_program_comm(e->program, 1, plan->phases, plan->n_phases);
  orr_program_join(e->program, stream, comm,
                   orr_emitter_comm_label(e, orr_storage_use_name(use), ORR_TIME_STORAGE), tag);
}

/* A barrier: no lane continues before all lanes have come. */
static void meet(OrrEmitter *e, guint32 stream, guint32 *slot, const char *name) {
  const guint n_lanes = (guint)(e->job->pp * e->plan->fold.n);
  if (*slot == ORR_NO_COMM) *slot = orr_program_comm(e->program, n_lanes, NULL, 0);
  orr_program_join(e->program, stream, *slot, orr_emitter_comm_label(e, name, ORR_TIME_STORAGE),
                   -1);
}

/* Weights are gathered after the load, not during it: the first step is one of many. */
void orr_training_storage_emit_load(OrrEmitter *e, const OrrLaneAt *lane) {
  if (!e->plan->storage || !e->job->params->checkpoint.load) return;
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  join(e, compute, &e->plan->storage[lane->lane].load, ORR_STORAGE_USE_LOAD, -1);
  meet(e, compute, &e->loaded, ORR_LOAD_BARRIER);
  if (orr_job_gathers(e->job))
    orr_emitter_wait_for(e, compute, orr_emitter_stream(e, lane, ORR_STREAM_GATHER));
}

/* A step's data is requested when the step before it begins: the first step's was read before the
 * run, and what the last step requests is read to its end, so that each step is one of many. */
void orr_training_storage_emit_data(OrrEmitter *e, const OrrLaneAt *lane) {
  if (!e->plan->storage || e->plan->storage[lane->lane].data.n_phases == 0) return;
  const OrrCommPlan *plan = &e->plan->storage[lane->lane].data;
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE),
                data = orr_emitter_stream(e, lane, ORR_STREAM_DATA);
  if (e->step > 0) orr_emitter_wait_for(e, data, compute);
  orr_emitter_wait_for(e, compute, data);
  join(e, data, plan, ORR_STORAGE_USE_DATA, (gint32)e->step + 1);
}

void orr_training_storage_emit_last_data(OrrEmitter *e, const OrrLaneAt *lane) {
  if (!e->plan->storage || e->plan->storage[lane->lane].data.n_phases == 0) return;
  if (e->step + 1 == e->job->params->steps)
    orr_emitter_wait_for(e, orr_emitter_stream(e, lane, ORR_STREAM_DATA),
                         orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE));
}

void orr_training_storage_emit_checkpoint(OrrEmitter *e, const OrrLaneAt *lane) {
  const OrrCheckpoint *checkpoint = &e->job->params->checkpoint;
  if (!e->plan->storage || checkpoint->every == 0 || (e->step + 1) % checkpoint->every != 0) return;
  const OrrStorageTraffic *plans = &e->plan->storage[lane->lane];
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  if (checkpoint->mode == ORR_CHECKPOINT_SYNC) {
    join(e, compute, &plans->write, ORR_STORAGE_USE_WRITE, (gint32)e->step);
    meet(e, compute, &e->checkpoint, "checkpoint-barrier");
    return;
  }
  const guint32 storage = orr_emitter_stream(e, lane, ORR_STREAM_STORAGE);
  orr_emitter_wait_for(e, storage, compute); /* the write before it */
  join(e, compute, &plans->snapshot, ORR_STORAGE_USE_SNAPSHOT, (gint32)e->step);
  orr_emitter_wait_for(e, compute, storage);
  join(e, storage, &plans->write, ORR_STORAGE_USE_WRITE, (gint32)e->step);
}

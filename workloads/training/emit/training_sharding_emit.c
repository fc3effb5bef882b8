/*
 * training_sharding_emit - emits gathers of weights and reductions of gradients
 * (comm/training_sharding.c has planned them).
 *
 *   gather   wait(layer k - 1 - ahead has computed) join(all-gather of layer k) record(gathered)
 *   compute  wait(gathered) layer k  record(computed)
 *   dp       wait(bucket's gradients) join(reduction) [join(all-reduce over copies)]
 *
 * Layers are counted through the step as the lane computes them, forward and back, so that gathers
 * also run ahead from one pass to the next. A distributed optimizer (gather_beside_forward) gathers
 * the weights that the step before has updated: those gathers begin with the step, and run as far
 * ahead as they can.
 */
#include "workloads/training/emit/training_sharding_emit.h"

#include "workloads/training/emit/training_offload_emit.h"

typedef struct {
  const char *gradients, *weights, *parameters;
} Labels;
static const Labels labels[] = {
    [ORR_WEIGHTS_DENSE] = {"dp-gradients", "dp-weights", "dp-parameters"},
    [ORR_WEIGHTS_EXPERTS] = {"expert-gradients", "expert-weights", "expert-parameters"},
};

/* The @index-th communication that lanes of the stage make in this step. */
static guint32 comm_at(OrrEmitter *e, GArray *made, guint index, guint n_stages,
                       const OrrCommPlan *plan) {
  const guint32 none = ORR_NO_COMM;
  while (made->len <= index) g_array_append_val(made, none);
  return orr_emitter_once(e, &g_array_index(made, guint32, index), n_stages * e->plan->fold.n,
                          plan);
}

/* Gathers one set's weights of the layer, on the gather stream. FALSE: they need no gather. */
static gboolean join_gather(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                            OrrWeightSet set, const OrrCommPlan *plan) {
  if (plan->n_phases == 0) return FALSE;
  const guint32 gather = orr_emitter_stream(e, lane, ORR_STREAM_GATHER);
  const gint64 behind = (gint64)progress->computed->len - 1 - e->job->sharding.ahead;
  if (e->job->sharding.weights && behind >= 0)
    orr_program_wait(e->program, gather, g_array_index(progress->computed, guint32, behind));
  const guint32 comm =
      comm_at(e, e->gathered[set][lane->stage], progress->n_gathers[set]++, 1, plan);
  orr_program_join(e->program, gather, comm,
                   orr_emitter_comm_label(e, labels[set].weights, ORR_TIME_DP_COMM), -1);
  return TRUE;
}

static const OrrCommPlan *gather_plan(const OrrEmitter *e, const OrrLaneAt *lane, OrrWeightSet set,
                                      guint spec, gboolean backward) {
  const OrrShardingTraffic *sharding = &e->plan->sharding;
  if (backward && sharding->weights_again && set == ORR_WEIGHTS_DENSE)
    return &sharding->weights_again[spec];
  return &sharding->weights[set][lane->stage * e->job->layout.specs->len + spec];
}

/* The lists that the host goes through before this layer computes hold the next layer's tensors:
 * the layer's own were launched by the layer before. In a step of equal layers both are as long. */
static void emit_gather_lists(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                              guint spec, gboolean backward) {
  if (!e->plan->sharding.lists) return;
  const OrrListWork *work = &e->plan->sharding.lists[spec];
  const guint32 launched = orr_program_event(e->program),
                compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  orr_emitter_work(e, lane, "weights' lists", backward ? work->again : work->gather, 0, -1);
  orr_program_record(e->program, compute, launched);
  g_array_append_val(progress->launched, launched);
  const gint64 at = MAX((gint64)progress->launched->len - 1 - e->job->sharding.ahead, 0);
  orr_program_wait(e->program, orr_emitter_stream(e, lane, ORR_STREAM_GATHER),
                   g_array_index(progress->launched, guint32, at));
}

void orr_training_sharding_emit_gather(OrrEmitter *e, const OrrLaneAt *lane,
                                       OrrLaneProgress *progress, guint spec, gboolean backward) {
  gboolean any = FALSE;
  orr_training_offload_emit_weights(e, lane, progress, spec);
  emit_gather_lists(e, lane, progress, spec, backward);
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++)
    any = join_gather(e, lane, progress, set, gather_plan(e, lane, set, spec, backward)) || any;
  if (!any) return;
  const guint32 gathered = orr_program_event(e->program);
  orr_program_record(e->program, orr_emitter_stream(e, lane, ORR_STREAM_GATHER), gathered);
  orr_program_wait(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), gathered);
}

void orr_training_sharding_emit_updated(OrrEmitter *e, const OrrLaneAt *lane) {
  if (e->streams[lane->lane][ORR_STREAM_GATHER] == G_MAXUINT32) return; /* none */
  orr_emitter_wait_for(e, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE),
                       orr_emitter_stream(e, lane, ORR_STREAM_GATHER));
}

void orr_training_sharding_emit_computed(OrrEmitter *e, const OrrLaneAt *lane,
                                         OrrLaneProgress *progress) {
  const guint32 computed = orr_program_event(e->program);
  orr_program_record(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), computed);
  g_array_append_val(progress->computed, computed);
}

void orr_owned_reduce(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                      const OrrOwned *owned, guint b) {
  const OrrWeightSet set = owned->set;
  const guint32 dp = orr_emitter_stream(e, lane, ORR_STREAM_DP),
                compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  const OrrShardingTraffic *sharding = &e->plan->sharding;
  const OrrBucket *bucket = &g_array_index(sharding->buckets[set][owned->owner], OrrBucket, b);
  const OrrCommPlan *const plans[] = {bucket->reduction, bucket->copies};
  if (sharding->lists)
    orr_emitter_work(e, lane, "gradients' lists", sharding->lists[bucket->spec].scatter, 0, -1);
  orr_emitter_wait_for(e, compute, dp);
  for (guint i = 0; i < G_N_ELEMENTS(plans) && plans[i]; i++) {
    const guint index =
        e->job->sharding.reduces_each_pass ? progress->n_reductions[set]++ : 2 * b + i;
    const guint32 comm =
        comm_at(e, e->reduced[set][owned->owner], index, owned->n_stages, plans[i]);
    orr_program_join(e->program, dp, comm,
                     orr_emitter_comm_label(e, labels[set].gradients, ORR_TIME_DP_COMM), -1);
  }
  orr_training_offload_emit_gradients(e, lane, progress, set, bucket->bytes);
  if (!e->job->sharding.overlap) orr_emitter_wait_for(e, dp, compute);
}

void orr_owned_gather(OrrEmitter *e, const OrrLaneAt *lane, const OrrOwned *owned) {
  const OrrCommPlan *plan = &e->plan->sharding.parameters[owned->set][owned->owner];
  if (plan->n_phases == 0) return;
  const guint32 comm = orr_emitter_once(e, &e->gathers[owned->set][owned->owner],
                                        owned->n_stages * e->plan->fold.n, plan);
  orr_program_join(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), comm,
                   orr_emitter_comm_label(e, labels[owned->set].parameters, ORR_TIME_DP_COMM), -1);
}

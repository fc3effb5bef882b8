/*
 * training_memory - bytes a GPU of each stage holds at the step's peak.
 *
 *   weights      parameters * 2 (fp16, bf16), narrow copies beside, NF4 where they are frozen (models/precision.h)
 *   gradients    trained parameters * 2 or 4, as data-parallel.gradients says
 *   optimizer    parameters * 12: fp32 master weights and Adam's two moments; / dp with a distributed optimizer
 *                (2 + 2 + 12 is ZeRO's (2 + 2 + K) with K = 12; Rajbhandari et al. 2020, section 3)
 *   activations  what the schedule keeps alive on the stage at once, plus, under full recomputation, one layer's
 *                working set while it is replayed; the embedding's and the head's extras (Korthikanti et al. 2022,
 *                section 4)
 */
#include "workloads/training_private.h"

/* Layers that are recomputed whole, together, from one input. */
static gint64 layers_together(const OrrJob *job) {
  const gboolean uniform = job->params->recompute_method == ORR_RECOMPUTE_UNIFORM;
  return uniform ? MAX(1, job->params->recompute_layers) : 1;
}

/* By one unit of a pass; of a head nothing: that ends before the next pass begins. */
double orr_training_kept_bytes(const OrrJob *job, const GArray *units, gint64 unit) {
  const OrrModel *model = job->world->model;
  const OrrPart *part = orr_job_part(job, g_array_index(units, guint, unit));
  gint64 whole = 0; /* of those recomputed whole one in a group keeps the input of all */
  for (gint64 i = 0; i < unit; i++)
    whole += (orr_job_part(job, g_array_index(units, guint, i))->modules & ORR_MODULE_LAYER) != 0;
  switch (part->unit) {
  case ORR_UNIT_EMBEDDING:
    return orr_transformer_embedding_activation_bytes(model, &job->shard);
  case ORR_UNIT_LAYER:
    if ((part->modules & ORR_MODULE_LAYER) && whole % layers_together(job) != 0) return 0;
    return orr_transformer_layer_activation_bytes(model, part->kind, &job->shard, part->modules);
  case ORR_UNIT_MTP:
    return orr_transformer_mtp_activation_bytes(model, &job->shard, part->modules);
  case ORR_UNIT_HEAD:
    return 0;
  }
  g_return_val_if_reached(0);
}

/* Kept by one pass of a block: in the host's memory, or in the GPU's. */
static double block_bytes(const OrrJob *job, const GArray *units, gboolean in_host) {
  double bytes = 0;
  for (guint i = 0; i < units->len; i++)
    if (orr_offload_takes(job, units, i) == in_host) bytes += orr_training_kept_bytes(job, units, i);
  return bytes;
}

/* The most of what a stage's passes keep at once. */
static double kept_bytes(const OrrJob *job, gint64 stage, gboolean in_host) {
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  g_autofree double *each = g_new(double, job->shape.chunks);
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++)
    each[chunk] = block_bytes(job, orr_job_units(job, stage, chunk), in_host);
  job->schedule->steps(&job->shape, stage, steps);
  double alive = 0, peak = 0;
  for (guint i = 0; i < steps->len; i++) {
    const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, i);
    if (orr_step_begins(step)) alive += each[step->chunk];
    peak = MAX(peak, alive);
    if (orr_step_ends(step)) alive -= each[step->kind == ORR_STEP_BOTH ? step->back_chunk : step->chunk];
  }
  return peak;
}

/* Buffers of what is on its way to the host and back: as large as the largest unit that goes there. */
static double buffers_bytes(const OrrJob *job, gint64 stage, double in_host) {
  double largest = 0;
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *units = orr_job_units(job, stage, chunk);
    for (guint i = 0; i < units->len; i++)
      if (orr_offload_takes(job, units, i)) largest = MAX(largest, orr_training_kept_bytes(job, units, i));
  }
  return MIN(2 * ORR_STASH_BUFFERS * largest, in_host);
}

/* While layers that are recomputed whole are replayed: as many as belong together of the largest of the stage. */
static double replayed_bytes(const OrrJob *job, gint64 stage) {
  double most = 0;
  for (guint i = 0; i < job->layout.parts->len; i++) {
    const OrrPart *part = orr_job_part(job, i);
    if (part->unit == ORR_UNIT_LAYER && (part->modules & ORR_MODULE_LAYER) && orr_job_count(job, stage, i) > 0)
      most = MAX(most, orr_transformer_layer_activation_bytes(job->world->model, part->kind, &job->shard, 0));
  }
  return most * layers_together(job);
}

static double stage_activations(const OrrJob *job, gint64 stage) {
  double bytes = kept_bytes(job, stage, FALSE) + replayed_bytes(job, stage);
  if (job->params->offload.activations > 0) bytes += buffers_bytes(job, stage, kept_bytes(job, stage, TRUE));
  if (orr_job_holds(job, stage, ORR_UNIT_HEAD))
    bytes += orr_transformer_head_activation_bytes(job->world->model, &job->shard);
  return bytes;
}

/* Of @weights, what is whole only for a while. */
static double shared_out(const OrrJob *job, OrrWeights weights) {
  return weights.dense + weights.frozen + (orr_share_ranks(job, ORR_SHARE_EXPERTS) > 1 ? weights.experts : 0);
}

/* Weights made whole for a while: those of the largest unit and of the units ahead of it; all of the stage's, where
 * they stay from forward to backward. */
static double gathered_bytes(const OrrJob *job, gint64 stage) {
  double largest = 0, all = 0;
  for (guint part = 0; part < job->layout.parts->len; part++) {
    const double each = shared_out(job, orr_job_part_weights(job, stage, part));
    const gint64 count = orr_job_count(job, stage, part);
    largest = count > 0 ? MAX(largest, each) : largest;
    all += (double)count * each;
  }
  const OrrShardingShape shape = {.weight_bytes = orr_dtype_bytes(job->shard.dtype),
                                  .gradient_bytes = job->gradient_bytes_each};
  const double some = orr_sharding_gathered_bytes(&job->sharding, &shape, largest);
  return job->sharding.weights && !job->sharding.gathers_again ? MAX(some, all * shape.weight_bytes) : some;
}

void orr_training_memory(const OrrJob *job, GArray *memory) {
  const OrrShardingPlan *sharding = &job->sharding;
  const double experts_share = 1.0 / (double)orr_share_ranks(job, ORR_SHARE_EXPERTS);
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const OrrWeights weights = orr_job_stage_weights(job, stage);
    const double in_host = orr_offload_optimized(job, weights), optimized = orr_job_optimized(job, weights) - in_host;
    OrrWeights held = weights;
    held.dense *= orr_sharding_weights_share(sharding);
    held.frozen *= orr_sharding_weights_share(sharding);
    held.experts *= sharding->weights ? experts_share : 1;
    const double reduced = weights.dense * orr_sharding_gradients_share(sharding) +
                           weights.experts * (sharding->gradients ? experts_share : 1) -
                           (sharding->gradients ? in_host : 0);
    OrrStageMemory row = {
        .stage = stage,
        .weights = orr_transformer_weight_bytes(&job->shard, held) + gathered_bytes(job, stage),
        .gradients = reduced * job->gradient_bytes_each,
        .optimizer = optimized * 12,
        .activations = stage_activations(job, stage),
        .host = in_host * (12 + job->gradient_bytes_each),
    };
    if (job->params->offload.activations > 0) row.host += kept_bytes(job, stage, TRUE);
    orr_training_overhead(job, optimized, row.gradients, &row);
    g_array_append_val(memory, row);
  }
}

double orr_training_peak_memory(const void *params, const OrrWorld *world) {
  g_autoptr(GArray) memory = g_array_new(FALSE, FALSE, sizeof(OrrStageMemory));
  OrrJob job;
  double peak = 0;
  if (!orr_job_init(&job, params, world, NULL)) return 0; /* compiling it says why */
  orr_training_memory(&job, memory);
  for (guint i = 0; i < memory->len; i++)
    peak = MAX(peak, orr_stage_memory_total(&g_array_index(memory, OrrStageMemory, i)));
  return peak;
}

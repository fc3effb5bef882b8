/*
 * training_memory - bytes a GPU of each stage holds, moment by moment, and at the step's peak.
 *
 *   weights      parameters * 2 (fp16, bf16), narrow copies beside; frozen ones as narrow copies alone, or in NF4
 *                (models/precision.h)
 *   gradients    trained parameters * 2 or 4, as data-parallel.gradients says; FSDP's under a pipeline come with a chunk's
 *                first backward and go with its last, the others stay
 *   optimizer    parameters * 12: fp32 master weights and Adam's two moments, 8 where weights are fp32 themselves, 4 less
 *                with moments in bf16; what
 *                of all three a rank holds is its sharding's (2 + 2 + 12 is ZeRO's (2 + 2 + K) with K = 12; Rajbhandari
 *                et al. 2020, section 3)
 *   activations  what the schedule keeps from forward to backward (Korthikanti et al. 2022, section 4)
 *   working      beside them while a backward runs: what it replays of one layer, less what was kept of it, and the
 *                gradients of activations; of the loss, those of the logits. Units come one after another: the largest
 *   buffers      tensors on their way between stages (training_handover.c) and to the host
 *
 *     bytes  |        F2__ B0                 a moment is a pass of the schedule: activations rise as a forward begins
 *            |    F1__|   ^  |__ F3           and fall as a backward (or its half by weight) ends; working is there
 *            | F0_|                B1         while it runs
 *            |____________________________ weights, gradients, optimizer, libraries
 *
 * Invariant: a stage's peak is its largest moment. PyTorch's allocator does not give back what it
 * has held, nor fill it without gaps: fragmentation is that share of it, and flat copies come on
 * top (training_overhead.c).
 */
#include "workloads/training/training_private.h"

/* Layers that are recomputed whole, together, from one input. */
static gint64 layers_together(const OrrJob *job) {
  const gboolean uniform = job->params->recompute_method == ORR_RECOMPUTE_UNIFORM;
  return uniform ? MAX(1, job->params->recompute_layers) : 1;
}

/* --- passes
 * ----------------------------------------------------------------------------------------------------- */

/* By one unit of a pass. */
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
    return orr_transformer_head_activation_bytes(model, &job->shard);
  }
  g_return_val_if_reached(0);
}

/* Kept by one pass of a block: in the host's memory, or in the GPU's. */
static double block_bytes(const OrrJob *job, const GArray *units, gboolean in_host) {
  double bytes = 0;
  for (guint i = 0; i < units->len; i++)
    if (orr_offload_takes(job, units, i) == in_host)
      bytes += orr_training_kept_bytes(job, units, i);
  return bytes;
}

/* A layer's, while its backward runs. */
static double layer_working_bytes(const OrrJob *job, const OrrPart *part) {
  const OrrModel *model = job->world->model;
  const double all = orr_transformer_layer_activation_bytes(model, part->kind, &job->shard, 0);
  const double kept =
      orr_transformer_layer_activation_bytes(model, part->kind, &job->shard, part->modules);
  const double together = (part->modules & ORR_MODULE_LAYER) ? (double)layers_together(job) : 1;
  return MAX(0, together * all - kept) +
         orr_transformer_layer_gradient_bytes(model, part->kind, &job->shard);
}

/* While a block's backward runs: of the unit that takes most. */
static double working_bytes(const OrrJob *job, const GArray *units) {
  const OrrModel *model = job->world->model;
  double most = 0;
  for (guint i = 0; i < units->len; i++) {
    const OrrPart *part = orr_job_part(job, g_array_index(units, guint, i));
    if (part->unit == ORR_UNIT_LAYER) most = MAX(most, layer_working_bytes(job, part));
    if (part->unit == ORR_UNIT_HEAD || part->unit == ORR_UNIT_MTP)
      most = MAX(most, orr_transformer_head_gradient_bytes(model, &job->shard));
  }
  return most;
}

/* While a block's forward runs that keeps nothing: what its largest product reads and writes, or
 * the logits. */
static double forward_bytes(const OrrJob *job, const GArray *units) {
  const OrrModel *model = job->world->model;
  double most = 0;
  for (guint i = 0; i < units->len; i++) {
    const OrrPart *part = orr_job_part(job, g_array_index(units, guint, i));
    if (part->unit == ORR_UNIT_LAYER)
      most = MAX(most, orr_transformer_layer_gradient_bytes(model, part->kind, &job->shard));
    if (part->unit == ORR_UNIT_HEAD || part->unit == ORR_UNIT_MTP)
      most = MAX(most, orr_transformer_head_activation_bytes(model, &job->shard));
  }
  return most;
}

static const char *const step_names[] = {
    [ORR_STEP_FORWARD] = "forward",
    [ORR_STEP_BACKWARD] = "backward",
    [ORR_STEP_BACKWARD_INPUT] = "backward-input",
    [ORR_STEP_BACKWARD_WEIGHT] = "backward-weight",
    [ORR_STEP_BOTH] = "forward-backward",
};

/* What a stage's passes keep: of each chunk, and while its backward runs. */
typedef struct {
  double *kept, *working;
} Chunks;

/* FSDP's gradients of a chunk are whole from its first backward until its last one has reduced
 * them (FSDPParam's unsharded_accumulated_grad), where each pass does not reduce its own. */
static gboolean gradients_come_and_go(const OrrJob *job) {
  const OrrShardingPlan *sharding = &job->sharding;
  return sharding->copies_gradients && !sharding->gradients && sharding->ranks > 1 &&
         !job->params->evaluation;
}

static double chunk_gradient_bytes(const OrrJob *job, gint64 stage, gint64 chunk) {
  const GArray *units = orr_job_units(job, stage, chunk);
  double parameters = 0;
  for (guint i = 0; i < units->len && gradients_come_and_go(job); i++) {
    const OrrWeights weights = orr_job_part_weights(job, stage, g_array_index(units, guint, i));
    parameters += weights.dense + weights.experts;
  }
  return parameters * job->gradient_bytes_each;
}

/* Fills the moments' gradients, of those from @from on. */
static void add_gradients(const OrrJob *job, gint64 stage, GArray *moments, guint from) {
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const double bytes = chunk_gradient_bytes(job, stage, chunk);
    guint first = moments->len, last = 0;
    for (guint i = from; i < moments->len; i++) {
      const OrrMemoryMoment *moment = &g_array_index(moments, OrrMemoryMoment, i);
      if (moment->back_chunk != chunk) continue;
      first = MIN(first, i);
      last = i;
    }
    for (guint i = first; i <= last && i < moments->len; i++)
      g_array_index(moments, OrrMemoryMoment, i).gradients += bytes;
  }
}

static gboolean comes_from_outside(const OrrJob *job, gint64 stage, gint64 chunk) {
  return orr_pipeline_place(job->schedule, &job->shape, stage, chunk).block > 0;
}

/* Returns the most that is alive at once; @moments: NULL, or where to. */
static double run_schedule(const OrrJob *job, gint64 stage, const Chunks *chunks, GArray *moments) {
  const gboolean keeps = !job->params->evaluation;
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  orr_job_steps(job, stage, steps);
  double alive = 0, peak = 0;
  gint64 received = 0;
  for (guint i = 0; i < steps->len; i++) {
    const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, i);
    const gint64 back = step->kind == ORR_STEP_BOTH ? step->back_chunk : step->chunk;
    const gboolean works =
        !keeps || (step->kind != ORR_STEP_FORWARD && step->kind != ORR_STEP_BACKWARD_WEIGHT);
    if (orr_step_begins(step)) alive += chunks->kept[step->chunk];
    if (orr_step_begins(step)) received += comes_from_outside(job, stage, step->chunk);
    OrrMemoryMoment moment = {.stage = stage,
                              .received = keeps ? received : 0,
                              .what = step_names[step->kind],
                              .chunk = step->chunk,
                              .back_chunk = step->kind == ORR_STEP_FORWARD ? -1 : back,
                              .micro_batch = step->micro_batch,
                              .activations = alive};
    if (works) moment.working = chunks->working[back];
    peak = MAX(peak, alive);
    if (orr_step_ends(step)) alive -= chunks->kept[back];
    if (orr_step_ends(step)) received -= comes_from_outside(job, stage, back);
    moment.after = alive;
    if (moments) g_array_append_val(moments, moment);
  }
  return peak;
}

static void add_moments(const OrrJob *job, gint64 stage, GArray *moments) {
  g_autofree double *kept = g_new(double, job->shape.chunks);
  g_autofree double *working = g_new(double, job->shape.chunks);
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *units = orr_job_units(job, stage, chunk);
    kept[chunk] = job->params->evaluation ? 0 : block_bytes(job, units, FALSE);
    working[chunk] =
        job->params->evaluation ? forward_bytes(job, units) : working_bytes(job, units);
  }
  const guint from = moments->len;
  run_schedule(job, stage, &(Chunks){kept, working}, moments);
  add_gradients(job, stage, moments, from);
  const OrrMemoryMoment update = {
      .stage = stage, .what = "update", .chunk = -1, .back_chunk = -1, .micro_batch = -1};
  g_array_append_val(moments, update);
}

/* The most that a stage's passes keep in the host's memory at once. */
static double host_bytes(const OrrJob *job, gint64 stage) {
  if (job->params->offload.activations == 0) return 0;
  g_autofree double *kept = g_new(double, job->shape.chunks);
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++)
    kept[chunk] = block_bytes(job, orr_job_units(job, stage, chunk), TRUE);
  return run_schedule(job, stage, &(Chunks){kept, kept}, NULL);
}

/* What is on its way to the host and back: as large as the largest unit that goes there. */
static double stash_buffers(const OrrJob *job, gint64 stage, double in_host) {
  double largest = 0;
  for (gint64 chunk = 0; chunk < job->shape.chunks && in_host > 0; chunk++) {
    const GArray *units = orr_job_units(job, stage, chunk);
    for (guint i = 0; i < units->len; i++)
      if (orr_offload_takes(job, units, i))
        largest = MAX(largest, orr_training_kept_bytes(job, units, i));
  }
  return MIN(2 * ORR_STASH_BUFFERS * largest, in_host);
}

/* --- what does not change
 * --------------------------------------------------------------------------------------- */

/* Of @weights, what is whole only for a while. */
static double shared_out(const OrrJob *job, OrrWeights weights) {
  return weights.dense + weights.frozen +
         (orr_share_ranks(job, ORR_SHARE_EXPERTS) > 1 ? weights.experts : 0);
}

static double gather_bytes(const OrrJob *job, OrrWeights weights) {
  const gboolean experts = orr_share_ranks(job, ORR_SHARE_EXPERTS) > 1;
  return orr_job_gather_bytes(job, weights, ORR_SHARE_DENSE) +
         (experts ? orr_job_gather_bytes(job, weights, ORR_SHARE_EXPERTS) : 0);
}

/* Weights made whole for a while: those of the largest unit and of the units ahead of it; all of
 * the stage's, where they stay from forward to backward. The unit that computes has narrow
 * copies, unless it came so. */
static double gathered_bytes(const OrrJob *job, gint64 stage) {
  const OrrShardingPlan *sharding = &job->sharding;
  const gboolean casts =
      orr_precision_casts(job->shard.recipe) && sharding->weights && !sharding->gathers_narrow;
  const gboolean stay = sharding->weights && !sharding->gathers_again && sharding->ranks > 1;
  double largest = 0, parameters = 0, trained = 0, all = 0, copies = 0;
  for (guint part = 0; part < job->layout.parts->len; part++) {
    const OrrWeights weights = orr_job_part_weights(job, stage, part);
    const double each = gather_bytes(job, weights);
    const gint64 count = orr_job_count(job, stage, part);
    all += (double)count * each;
    if (count == 0) continue;
    if (casts) copies = MAX(copies, weights.linear * job->shard.recipe->weight_copy_bytes);
    if (each <= largest) continue;
    largest = each;
    parameters = shared_out(job, weights);
    trained = (parameters - weights.frozen) / parameters;
  }
  if (parameters <= 0) return 0;
  const OrrShardingShape shape = {.weight_bytes = stay ? 0 : largest / parameters,
                                  .gradient_bytes = trained * job->gradient_bytes_each,
                                  .autograd_bytes = trained * orr_dtype_bytes(job->shard.dtype)};
  const double some = orr_sharding_gathered_bytes(sharding, &shape, parameters) + (stay ? all : 0);
  return some > 0 ? some + copies : 0;
}

/* Megatron's fp8-param-gather: weights of linear layers that have no copy in the storage format. */
static gboolean holds_narrow_alone(const OrrJob *job) {
  return job->sharding.gathers_narrow && !job->sharding.weights &&
         orr_precision_casts(job->shard.recipe);
}

/* The rank's own share. Where the framework casts an fp32 share as it gathers, only frozen
 * weights have another; narrow copies are of what is whole. */
static double held_bytes(const OrrJob *job, OrrWeights weights) {
  const OrrShardingPlan *sharding = &job->sharding;
  const gboolean alone = sharding->master_alone && orr_dtype_bytes(job->shard.dtype) < 4;
  const double share = orr_sharding_weights_share(sharding);
  OrrWeights held = weights;
  held.dense *= alone ? 0 : share;
  held.frozen *= share;
  if (sharding->weights)
    held.experts *= alone ? 0 : 1.0 / (double)orr_share_ranks(job, ORR_SHARE_EXPERTS);
  if (sharding->weights && sharding->ranks > 1)
    held.linear *= job->shard.lora.quantised ? share : 0;
  if (holds_narrow_alone(job))
    return orr_transformer_weight_bytes(&job->shard, held) -
           held.linear * orr_dtype_bytes(job->shard.dtype);
  return orr_transformer_weight_bytes(&job->shard, held);
}

/* Master weights in fp32 and two moments of each parameter; fp32 weights are their own master. */
static double optimizer_bytes(const OrrJob *job, double parameters) {
  const gboolean own = orr_dtype_bytes(job->shard.dtype) == 4 && !job->sharding.master_alone;
  return parameters * ((own ? 0 : 4) + 2 * orr_training_moment_bytes(job->params));
}

static double moment_bytes(const OrrMemoryMoment *moment) {
  return moment->activations + moment->working + moment->gradients;
}

/* The largest of the stage's moments. */
static guint fill_peak(const GArray *moments, guint from, OrrStageMemory *row) {
  guint peak = from;
  double most = 0;
  for (guint i = from; i < moments->len; i++) {
    const OrrMemoryMoment *moment = &g_array_index(moments, OrrMemoryMoment, i);
    if (moment_bytes(moment) <= most) continue;
    most = moment_bytes(moment);
    row->activations = moment->activations;
    row->working = moment->working;
    row->moving_gradients = moment->gradients;
    peak = i;
  }
  row->gradients += row->moving_gradients;
  return peak;
}

/* Of the parameters @weights that a rank reduces: whole ones, and the shares that they become. */
static double reduced_parameters(const OrrJob *job, OrrWeights weights, double in_host) {
  const OrrShardingPlan *sharding = &job->sharding;
  const double experts_share = 1.0 / (double)orr_share_ranks(job, ORR_SHARE_EXPERTS);
  const double dense_share = orr_sharding_weights_share(sharding);
  double reduced = weights.dense * orr_sharding_gradients_share(sharding) +
                   weights.experts * (sharding->gradients ? experts_share : 1) -
                   (sharding->gradients ? in_host : 0);
  if (gradients_come_and_go(job)) reduced = 0; /* they are the moments' */
  if (sharding->copies_gradients && !sharding->gradients && sharding->ranks > 1)
    reduced += weights.dense * dense_share + weights.experts * experts_share;
  return reduced;
}

/* @ret_peak: which moment from @from on. */
static OrrStageMemory stage_memory(const OrrJob *job, gint64 stage, const GArray *moments,
                                   guint from, guint *ret_peak) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  const double in_host = orr_offload_optimized(job, weights);
  const double optimized = orr_job_optimized(job, weights) - in_host,
               held = held_bytes(job, weights);
  const double held_there = job->params->offload.parameters ? held : 0;
  const double stashed = host_bytes(job, stage);
  OrrStageMemory row = {
      .stage = stage,
      .weights = held - held_there + gathered_bytes(job, stage),
      .gradients = reduced_parameters(job, weights, in_host) * job->gradient_bytes_each,
      .optimizer = optimizer_bytes(job, optimized),
      .host =
          held_there + optimizer_bytes(job, in_host) + in_host * job->gradient_bytes_each + stashed,
  };
  if (job->params->evaluation) row.gradients = row.optimizer = 0;
  const guint peak = fill_peak(moments, from, &row);
  const gint64 received = g_array_index(moments, OrrMemoryMoment, peak).received;
  const OrrHandoverBytes handover = orr_training_handover_bytes(job, stage, received);
  const double passing = handover.passing + stash_buffers(job, stage, stashed);
  row.buffers = passing + handover.standing;
  orr_training_overhead(job, optimized, row.gradients, &row);
  row.flat_copies += handover.merged;
  row.fragmentation =
      orr_training_fragmentation(job->params, row.activations + row.working + passing);
  *ret_peak = peak - from;
  return row;
}

void orr_training_memory(const OrrJob *job, GArray *memory, GArray *moments, GArray *activations) {
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const guint from = moments->len;
    add_moments(job, stage, moments);
    guint peak = 0;
    const OrrStageMemory row = stage_memory(job, stage, moments, from, &peak);
    if (activations) orr_training_activations(job, stage, peak, activations);
    g_array_append_val(memory, row);
  }
}

gboolean orr_training_footprint(const void *params, const OrrWorld *world,
                                OrrFootprint *ret_footprint) {
  g_autoptr(GArray) memory = g_array_new(FALSE, FALSE, sizeof(OrrStageMemory));
  g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(OrrMemoryMoment));
  OrrFootprint footprint = {0};
  OrrJob job;
  const gboolean is_job = orr_job_init(&job, params, world, NULL);
  if (is_job) {
    orr_training_memory(&job, memory, moments, NULL);
    footprint.host_bytes = orr_training_host_peak(&job, memory);
  }
  for (guint i = 0; i < memory->len; i++)
    footprint.gpu_bytes =
        MAX(footprint.gpu_bytes, orr_stage_memory_total(&g_array_index(memory, OrrStageMemory, i)));
  orr_job_clear(&job);
  if (is_job) *ret_footprint = footprint;
  return is_job;
}

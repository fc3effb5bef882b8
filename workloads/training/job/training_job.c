/*
 * training_job - fills in a job's defaults, and answers where its ranks run and what they hold.
 */
#include "workloads/training/job/training_job.h"

gint64 orr_job_replicas(const OrrTraining *params, gint64 n_gpus) {
  const OrrParallel *p = &params->parallel;
  const gint64 model_gpus = p->tp * p->cp * p->pp;
  return p->dp ? p->dp : MAX(n_gpus / model_gpus, 1);
}

static gint64 expert_tp(const OrrTraining *params, const OrrModel *model) {
  if (params->parallel.etp > 0) return params->parallel.etp;
  return model->moe.experts > 0 ? params->parallel.tp : 1;
}

OrrShard orr_job_shard(const OrrTraining *params, const OrrModel *model) {
  const OrrPrecisionRecipe *recipe = orr_precision_recipe(params->precision);
  return (OrrShard){
      .micro_batch = params->batch.micro,
      .sequence = params->sequence ? params->sequence : model->context,
      .tp = params->parallel.tp,
      .cp = params->parallel.cp,
      .cp_inner = params->parallel.cp > 1 && params->parallel.context == ORR_CONTEXT_HIERARCHICAL
                      ? params->parallel.context_inner
                      : 1,
      .ep = params->parallel.ep,
      .etp = expert_tp(params, model),
      .context = params->parallel.context,
      .sequence_parallel = params->parallel.sequence_parallel && params->parallel.tp > 1,
      .keeps_gathered = params->parallel.keep_gathered && params->parallel.sequence_parallel &&
                        params->parallel.tp > 1,
      .loss = params->loss,
      .forward_only = params->evaluation,
      .uncompiled = !params->compile,
      .layers = params->layers,
      .attention = params->attention,
      .dropout = params->dropout,
      .fp8_activation_input = params->fp8_activation_input,
      .kernels = params->kernels,
      .dtype = recipe->storage,
      .recipe = recipe,
      .lora = orr_lora_settle(&params->lora),
      .frozen_encoder = params->frozen_encoder,
      .capacity = params->experts.pads ? params->experts.capacity : 0,
      .imbalance = params->experts.imbalance,
      .shared_expert_overlap = params->experts.shared_expert_overlap,
      .bias_apart = params->experts.bias == ORR_GLUE_APART,
      .rope_apart = params->rope == ORR_GLUE_APART,
      .router_fp32 = params->experts.router_fp32,
      .map_gathered =
          params->experts.gathers_map && params->experts.dispatch == ORR_DISPATCH_DEEPEP,
      .sends_tokens = params->experts.dispatch == ORR_DISPATCH_DEEPEP,
      .clamp_apart = params->experts.clamp == ORR_GLUE_APART,
      .padding_apart = params->experts.padding == ORR_GLUE_APART && !params->experts.pads,
  };
}

/* A node's GPUs hold whole tensor-parallel groups: the rest of its ranks are data-parallel. */
OrrShardingShape orr_job_sharding_shape(const OrrTraining *params, const OrrCluster *cluster,
                                        gint64 dp) {
  const OrrParallel *p = &params->parallel;
  const double weight_bytes = orr_dtype_bytes(orr_precision_recipe(params->precision)->storage);
  const gint64 models = orr_pipeline_n_directions((const OrrPipelineKind *)params->pipeline.entry);
  return (OrrShardingShape){
      .ranks = models * p->cp * dp,
      .ranks_a_node = CLAMP(cluster->node.gpus / p->tp, 1, p->cp * dp),
      .stages = p->pp,
      .models = models,
      .micro_batches = params->batch.global_size / (params->batch.micro * dp),
      .weight_bytes = weight_bytes,
      .gradient_bytes = params->data_parallel.gradients == 0 ? 4 : weight_bytes,
      .overlap = params->data_parallel.overlap && models == 1,
      .bucket_bytes = params->data_parallel.bucket_bytes,
  };
}

/* How many times the mean load the fullest of @ep ranks of experts has; of one rank, what the
 * capacity leaves of all. */
static double fullest_of(const OrrTraining *params, const OrrWorld *world, gint64 ep) {
  const OrrMoe *moe = &world->model->moe;
  const OrrExpertSpread spread = {
      .experts = moe->experts, .topk = moe->topk, .ep = ep, .capacity = params->experts.capacity};
  return orr_expert_load_fullest(&params->experts.load, &spread, world->seed);
}

gboolean orr_job_init(OrrJob *job, const OrrTraining *params, const OrrWorld *world,
                      GError **error) {
  const OrrParallel *p = &params->parallel;
  *job = (OrrJob){
      .params = params,
      .world = world,
      .shard = orr_job_shard(params, world->model),
      .schedule = (const OrrPipelineKind *)params->pipeline.entry,
      .tp = p->tp,
      .cp = p->cp,
      .pp = p->pp,
      .dp = orr_job_replicas(params, orr_cluster_n_gpus(world->cluster)),
      .ep = p->ep,
      .etp = expert_tp(params, world->model),
  };
  job->shape = orr_pipeline_shape(&params->pipeline, job->pp,
                                  params->batch.global_size / (params->batch.micro * job->dp));
  job->gradient_bytes_each =
      params->data_parallel.gradients == 0 ? 4 : orr_dtype_bytes(job->shard.dtype);
  const OrrShardingKind *sharding = (const OrrShardingKind *)params->optimizer.sharding.entry;
  const OrrShardingShape shape = orr_job_sharding_shape(params, world->cluster, job->dp);
  sharding->plan(params->optimizer.sharding.params, &shape, &job->sharding);
  if (!params->data_parallel.overlap) /* overrules the sharding's own overlap */
    job->sharding.overlap = FALSE;
  job->shard.fullest = job->shard.capacity > 0 ? 1 : fullest_of(params, world, p->ep);
  job->kept = fullest_of(params, world, 1);
  /* Sharded gradients are not added up: each is new. */
  job->shard.main_grad_bytes = job->sharding.gradients ? 0 : job->gradient_bytes_each;
  job->wide = job->shard;
  job->wide.recipe = orr_precision_plain(job->shard.dtype);
  const gint64 sizes[ORR_N_AXES] = {[ORR_AXIS_TP] = job->tp,
                                    [ORR_AXIS_CP] = job->cp,
                                    [ORR_AXIS_DP] = job->dp,
                                    [ORR_AXIS_PP] = job->pp};
  if (!orr_placement_init(&job->placement, p->order, sizes, error) ||
      !orr_layout_init(&job->layout, params, world->model, &job->shape, orr_job_n_blocks(job),
                       error))
    return FALSE;
  const guint n = job->layout.specs->len * ORR_N_LAYER_BYTES;
  job->layer_bytes = g_new(double, n);
  for (guint i = 0; i < n; i++) job->layer_bytes[i] = -1;
  return TRUE;
}

void orr_job_clear(OrrJob *job) {
  orr_layout_clear(&job->layout);
  g_clear_pointer(&job->layer_bytes, g_free);
}

gint64 orr_job_gpu(const OrrJob *job, gint64 stage, gint64 rank) {
  const gint64 at[ORR_N_AXES] = {[ORR_AXIS_TP] = rank % job->tp,
                                 [ORR_AXIS_CP] = rank / job->tp % job->cp,
                                 [ORR_AXIS_DP] = rank / job->tp / job->cp,
                                 [ORR_AXIS_PP] = stage};
  return orr_placement_gpu(&job->placement, at);
}

guint orr_job_holders(const OrrJob *job, gint64 block, gint64 ret_stages[2]) {
  const gint64 directions = orr_pipeline_n_directions(job->schedule);
  for (gint64 direction = 0; direction < directions; direction++)
    ret_stages[direction] =
        orr_pipeline_stage(job->schedule, &job->shape, (OrrPipelinePlace){direction, block});
  return directions;
}

/* One copy of all parameters lies on sharding.ranks consecutive ranks per tensor-parallel rank. */
gint64 orr_job_shard_ranks(const OrrJob *job, OrrWeightSet set) {
  if (job->sharding.ranks == 1 || set == ORR_WEIGHTS_DENSE) return job->sharding.ranks;
  return job->sharding.ranks * job->tp / (job->etp * job->ep);
}

gint64 orr_job_n_blocks(const OrrJob *job) {
  return orr_pipeline_n_blocks(job->schedule, &job->shape);
}

const GArray *orr_job_layers(const OrrJob *job, gint64 stage, gint64 chunk) {
  return job->layout.blocks[orr_pipeline_place(job->schedule, &job->shape, stage, chunk).block];
}

const OrrLayerSpec *orr_job_spec(const OrrJob *job, guint spec) {
  return &g_array_index(job->layout.specs, OrrLayerSpec, spec);
}

const OrrShard *orr_job_layer_shard(const OrrJob *job, const OrrLayerSpec *spec) {
  return spec->wide ? &job->wide : &job->shard;
}

gint64 orr_job_n_layers(const OrrJob *job, gint64 stage, guint spec) {
  gint64 n = 0;
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *layers = orr_job_layers(job, stage, chunk);
    ORR_EACH_VALUE(const guint, value, layers) n += value == spec;
  }
  return n;
}

void orr_job_steps(const OrrJob *job, gint64 stage, GArray *steps) {
  const guint from = steps->len;
  guint to = from;
  job->schedule->steps(&job->shape, stage, steps);
  if (!job->params->evaluation) return;
  for (guint i = from; i < steps->len; i++) {
    OrrPipelineStep step = g_array_index(steps, OrrPipelineStep, i);
    if (!orr_step_begins(&step)) continue;
    step.kind = ORR_STEP_FORWARD;
    g_array_index(steps, OrrPipelineStep, to++) = step;
  }
  g_array_set_size(steps, to);
}

gint64 orr_job_passes(const OrrJob *job) {
  return job->shape.micro_batches / orr_pipeline_n_directions(job->schedule);
}

gint64 orr_job_forwards(const OrrJob *job) { return job->params->reference ? 2 : 1; }

gboolean orr_job_gathers(const OrrJob *job) {
  return job->sharding.ranks > 1 &&
         (job->sharding.weights ||
          (job->sharding.gather_beside_forward && !job->params->evaluation));
}

gboolean orr_job_uses_storage(const OrrTraining *params) {
  return params->checkpoint.every > 0 || params->checkpoint.load || params->data_bytes > 0;
}

gboolean orr_job_holds(const OrrJob *job, gint64 stage, OrrLayerType type) {
  for (guint spec = 0; spec < job->layout.specs->len; spec++)
    if (orr_job_spec(job, spec)->type == type && orr_job_n_layers(job, stage, spec) > 0)
      return TRUE;
  return FALSE;
}

static OrrWeights weights_of(const OrrJob *job, gint64 stage, const OrrLayerSpec *p) {
  const OrrModel *model = job->world->model;
  switch (p->type) {
  case ORR_LAYER_EMBEDDING:
    return orr_transformer_embedding_weights(model, &job->shard);
  case ORR_LAYER_TRANSFORMER:
    return orr_transformer_layer_weights(model, p->kind, &job->shard);
  case ORR_LAYER_MTP_HEAD: /* the head's own */
    return (OrrWeights){0};
  case ORR_LAYER_MTP:
  case ORR_LAYER_MTP_BODY:
    return orr_transformer_mtp_weights(model, &job->shard);
  case ORR_LAYER_HEAD: {
    const gboolean tied = model->tied_embeddings && orr_job_holds(job, stage, ORR_LAYER_EMBEDDING);
    return orr_transformer_head_weights(model, &job->shard, tied);
  }
  }
  g_return_val_if_reached(((OrrWeights){0}));
}

/* Wide layers have no narrow copies: none of their weights counts as a linear layer's. */
OrrWeights orr_job_layer_weights(const OrrJob *job, gint64 stage, guint spec) {
  const OrrLayerSpec *p = orr_job_spec(job, spec);
  OrrWeights weights = weights_of(job, stage, p);
  if (p->wide && job->shard.lora.rank == 0) weights.linear = 0;
  return weights;
}

OrrWeights orr_job_stage_weights(const OrrJob *job, gint64 stage) {
  OrrWeights sum = {0};
  for (guint spec = 0; spec < job->layout.specs->len; spec++) {
    const OrrWeights each = orr_job_layer_weights(job, stage, spec);
    const gint64 count = orr_job_n_layers(job, stage, spec);
    sum.dense += count * each.dense;
    sum.experts += count * each.experts;
    sum.frozen += count * each.frozen;
    sum.linear += count * each.linear;
    sum.copied += count * each.copied;
  }
  return sum;
}

double orr_weight_set_parameters(OrrWeights weights, OrrWeightSet set) {
  return set == ORR_WEIGHTS_EXPERTS ? weights.experts : weights.dense;
}

double orr_job_optimized(const OrrJob *job, OrrWeights weights) {
  double sum = 0;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++)
    sum += orr_weight_set_parameters(weights, set) /
           (double)(job->sharding.optimizer ? orr_job_shard_ranks(job, set) : 1);
  return sum;
}

/* Frozen weights do not change, so they are gathered only where each rank holds just a shard of
 * them. */
double orr_job_gather_bytes(const OrrJob *job, OrrWeights weights, OrrWeightSet set) {
  const double element_bytes = orr_dtype_bytes(job->shard.dtype);
  const double frozen = set == ORR_WEIGHTS_DENSE && job->sharding.weights ? weights.frozen : 0;
  const double all = orr_weight_set_parameters(weights, set) + frozen;
  if (!job->sharding.gathers_narrow || !orr_precision_casts(job->shard.recipe))
    return all * element_bytes;
  /* Experts' weights are linear layers, but for a bias. */
  const double others = set == ORR_WEIGHTS_DENSE ? weights.experts : 0;
  const double linear = CLAMP(weights.linear - others, 0, all);
  return (all - linear) * element_bytes + linear * job->shard.recipe->gather_bytes;
}

double orr_job_master_bytes(const OrrJob *job) {
  return job->params->optimizer.master == 1 ? 0 : 4;
}

double orr_job_moment_bytes(const OrrJob *job) {
  return job->params->optimizer.moments == 1 ? 2 : 4;
}

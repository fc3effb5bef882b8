/*
 * training_job - a training job with its defaults filled in, and where its ranks and units are.
 */
#include "workloads/training/training_private.h"

gint64 orr_training_replicas(const OrrTraining *params, gint64 n_gpus) {
  const OrrParallel *p = &params->parallel;
  const gint64 model_gpus = p->tp * p->cp * p->pp;
  return p->dp ? p->dp : MAX(n_gpus / model_gpus, 1);
}

static gint64 expert_tp(const OrrTraining *params, const OrrModel *model) {
  if (params->parallel.etp > 0) return params->parallel.etp;
  return model->moe.experts > 0 ? params->parallel.tp : 1;
}

OrrShard orr_training_shard(const OrrTraining *params, const OrrModel *model) {
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
      .attention = params->attention,
      .dropout = params->dropout,
      .fp8_activation_input = params->fp8_activation_input,
      .kernels = params->kernels,
      .dtype = recipe->storage,
      .recipe = recipe,
      .lora = orr_lora_settle(&params->lora, (OrrPlace){0}, NULL),
      .capacity = params->experts.pads ? params->experts.capacity : 0,
      .imbalance = params->experts.imbalance,
      .shared_expert_overlap = params->experts.shared_expert_overlap,
  };
}

/* Ranks of the data-parallel group that share a node: the others of the node are its
 * tensor-parallel ones. */
static OrrShardingShape sharding_shape(const OrrTraining *params, const OrrCluster *cluster,
                                       gint64 dp) {
  const OrrParallel *p = &params->parallel;
  const double weight_bytes = orr_dtype_bytes(orr_precision_recipe(params->precision)->storage);
  const gint64 models = orr_pipeline_n_chains((const OrrPipelineKind *)params->pipeline.entry);
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

static gboolean orders_ep_after_dp(const OrrTraining *params) {
  const gint64 ones[ORR_N_AXES] = {1, 1, 1, 1};
  OrrPlacement placement;
  return orr_placement_init(&placement, params->parallel.order, ones, NULL) &&
         placement.ep_after_dp;
}

/* A copy of the model on few ranks must hold all experts, and their groups must not reach over
 * copies. */
static char *refuse_experts(const OrrTraining *params, const OrrModel *model,
                            const OrrShardingKind *kind, const OrrShardingPlan *plan,
                            const OrrShardingShape *shape) {
  const gint64 etp = expert_tp(params, model), ep = params->parallel.ep,
               copy = plan->ranks * params->parallel.tp;
  if (kind->refuses_expert_parallel && ep > 1)
    return g_strdup_printf(
        "optimizer.sharding %s does not work with expert parallelism (ep is %" G_GINT64_FORMAT
        "): %s",
        kind->entry.name, ep, kind->refuses_expert_parallel);
  if (plan->ranks == 1 || plan->ranks == shape->ranks) return NULL;
  if (orders_ep_after_dp(params))
    return g_strdup_printf(
        "optimizer.sharding %s keeps a copy on %" G_GINT64_FORMAT
        " ranks in a row, and parallel.order (%s) has ep after dp: experts would reach over copies",
        kind->entry.name, copy, params->parallel.order);
  if (copy % (etp * ep) == 0) return NULL;
  return g_strdup_printf(
      "optimizer.sharding %s: the %" G_GINT64_FORMAT " * %" G_GINT64_FORMAT
      " ranks of one copy (group * tp) cannot be divided by etp * ep (%" G_GINT64_FORMAT
      " * %" G_GINT64_FORMAT "): experts would reach over copies",
      kind->entry.name, plan->ranks, params->parallel.tp, etp, ep);
}

char *orr_training_refuse_sharding(const OrrTraining *params, const OrrModel *model,
                                   const OrrCluster *cluster) {
  const OrrShardingKind *kind = (const OrrShardingKind *)params->optimizer.sharding.entry;
  if (!kind || !params->pipeline.entry) return NULL; /* said elsewhere */
  const gint64 dp = orr_training_replicas(params, orr_cluster_n_gpus(cluster));
  const OrrShardingShape shape = sharding_shape(params, cluster, dp);
  char *refusal = kind->refuse ? kind->refuse(params->optimizer.sharding.params, &shape) : NULL;
  if (refusal) return refusal;
  OrrShardingPlan plan;
  kind->plan(params->optimizer.sharding.params, &shape, &plan);
  refusal = orr_training_refuse_offloaded_parameters(params, &plan);
  if (refusal) return refusal;
  char *experts =
      model->moe.experts > 0 ? refuse_experts(params, model, kind, &plan, &shape) : NULL;
  if (experts) return experts;
  if (shape.models == 1) return NULL;
  if (!plan.weights && !plan.gradients && !plan.overlap && !plan.gather_beside_forward) return NULL;
  return g_strdup_printf("optimizer.sharding %s does not work with %s, which holds the model twice "
                         "and reduces after the "
                         "step; use none, zero-1 or distributed-optimizer without overlaps",
                         kind->entry.name, params->pipeline.entry->name);
}

/* Padded to a capacity, all experts have as many. */
static double fullest_of(const OrrTraining *params, const OrrWorld *world) {
  const OrrMoe *moe = &world->model->moe;
  const OrrExpertDispatch *experts = &params->experts;
  if (experts->capacity > 0 && experts->pads) return 1;
  const OrrExpertSpread spread = {moe->experts, moe->topk, params->parallel.ep, experts->capacity};
  return orr_expert_load_fullest(&experts->load, &spread, world->seed);
}

gboolean orr_job_init(OrrJob *job, const OrrTraining *params, const OrrWorld *world,
                      GError **error) {
  const OrrParallel *p = &params->parallel;
  *job = (OrrJob){
      .params = params,
      .world = world,
      .shard = orr_training_shard(params, world->model),
      .schedule = (const OrrPipelineKind *)params->pipeline.entry,
      .tp = p->tp,
      .cp = p->cp,
      .pp = p->pp,
      .dp = orr_training_replicas(params, orr_cluster_n_gpus(world->cluster)),
      .ep = p->ep,
      .etp = expert_tp(params, world->model),
  };
  job->shape = orr_pipeline_shape(&params->pipeline, job->pp,
                                  params->batch.global_size / (params->batch.micro * job->dp));
  job->gradient_bytes_each =
      params->data_parallel.gradients == 0 ? 4 : orr_dtype_bytes(job->shard.dtype);
  const OrrShardingKind *sharding = (const OrrShardingKind *)params->optimizer.sharding.entry;
  const OrrShardingShape shape = sharding_shape(params, world->cluster, job->dp);
  sharding->plan(params->optimizer.sharding.params, &shape, &job->sharding);
  if (!params->data_parallel.overlap)
    job->sharding.overlap = FALSE; /* also where the sharding has a word for it */
  job->shard.fullest = fullest_of(params, world);
  job->shard.main_grad_bytes =
      job->sharding.gradients ? 0 : job->gradient_bytes_each; /* shared out: each is new */
  const gint64 sizes[ORR_N_AXES] = {[ORR_AXIS_TP] = job->tp,
                                    [ORR_AXIS_CP] = job->cp,
                                    [ORR_AXIS_DP] = job->dp,
                                    [ORR_AXIS_PP] = job->pp};
  return orr_placement_init(&job->placement, p->order, sizes, error) &&
         orr_layout_init(&job->layout, params, world->model, &job->shape, orr_job_n_blocks(job),
                         error);
}

void orr_job_clear(OrrJob *job) { orr_layout_clear(&job->layout); }

gint64 orr_job_gpu(const OrrJob *job, gint64 stage, gint64 rank) {
  const gint64 at[ORR_N_AXES] = {[ORR_AXIS_TP] = rank % job->tp,
                                 [ORR_AXIS_CP] = rank / job->tp % job->cp,
                                 [ORR_AXIS_DP] = rank / job->tp / job->cp,
                                 [ORR_AXIS_PP] = stage};
  return orr_placement_gpu(&job->placement, at);
}

gint64 orr_job_n_blocks(const OrrJob *job) {
  return orr_pipeline_n_blocks(job->schedule, &job->shape);
}

const GArray *orr_job_units(const OrrJob *job, gint64 stage, gint64 chunk) {
  return job->layout.blocks[orr_pipeline_place(job->schedule, &job->shape, stage, chunk).block];
}

const OrrPart *orr_job_part(const OrrJob *job, guint part) {
  return &g_array_index(job->layout.parts, OrrPart, part);
}

gint64 orr_job_count(const OrrJob *job, gint64 stage, guint part) {
  gint64 count = 0;
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *units = orr_job_units(job, stage, chunk);
    for (guint i = 0; i < units->len; i++) count += g_array_index(units, guint, i) == part;
  }
  return count;
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
  return job->shape.micro_batches / orr_pipeline_n_chains(job->schedule);
}

gboolean orr_job_gathers(const OrrJob *job) {
  return job->sharding.ranks > 1 &&
         (job->sharding.weights ||
          (job->sharding.gather_beside_forward && !job->params->evaluation));
}

gboolean orr_job_holds(const OrrJob *job, gint64 stage, OrrUnitKind unit) {
  for (guint part = 0; part < job->layout.parts->len; part++)
    if (orr_job_part(job, part)->unit == unit && orr_job_count(job, stage, part) > 0) return TRUE;
  return FALSE;
}

OrrWeights orr_job_part_weights(const OrrJob *job, gint64 stage, guint part) {
  const OrrModel *model = job->world->model;
  const OrrPart *p = orr_job_part(job, part);
  switch (p->unit) {
  case ORR_UNIT_EMBEDDING:
    return orr_transformer_embedding_weights(model, &job->shard);
  case ORR_UNIT_LAYER:
    return orr_transformer_layer_weights(model, p->kind, &job->shard);
  case ORR_UNIT_MTP:
    return orr_transformer_mtp_weights(model, &job->shard);
  case ORR_UNIT_HEAD: {
    const gboolean shares = model->tied_embeddings && orr_job_holds(job, stage, ORR_UNIT_EMBEDDING);
    return orr_transformer_head_weights(model, &job->shard, shares);
  }
  }
  g_return_val_if_reached(((OrrWeights){0}));
}

OrrWeights orr_job_stage_weights(const OrrJob *job, gint64 stage) {
  OrrWeights sum = {0};
  for (guint part = 0; part < job->layout.parts->len; part++) {
    const OrrWeights each = orr_job_part_weights(job, stage, part);
    const gint64 count = orr_job_count(job, stage, part);
    sum.dense += count * each.dense;
    sum.experts += count * each.experts;
    sum.frozen += count * each.frozen;
    sum.linear += count * each.linear;
  }
  return sum;
}

double orr_share_of(OrrWeights weights, OrrShare share) {
  return share == ORR_SHARE_EXPERTS ? weights.experts : weights.dense;
}

double orr_job_optimized(const OrrJob *job, OrrWeights weights) {
  double sum = 0;
  for (int share = 0; share < ORR_N_SHARES; share++)
    sum += orr_share_of(weights, share) /
           (double)(job->sharding.optimizer ? orr_share_ranks(job, share) : 1);
  return sum;
}

double orr_job_gather_bytes(const OrrJob *job, OrrWeights weights, OrrShare share) {
  const double element_bytes = orr_dtype_bytes(job->shard.dtype);
  /* What is not trained does not change: it is gathered where each rank holds only a share of
   * it, and nowhere else. */
  const double frozen = share == ORR_SHARE_DENSE && job->sharding.weights ? weights.frozen : 0;
  const double all = orr_share_of(weights, share) + frozen;
  if (!job->sharding.gathers_narrow || !orr_precision_casts(job->shard.recipe))
    return all * element_bytes;
  const double others =
      share == ORR_SHARE_DENSE ? weights.experts : 0; /* all but a bias of them in linear layers */
  const double linear = CLAMP(weights.linear - others, 0, all);
  return (all - linear) * element_bytes + linear * job->shard.recipe->gather_bytes;
}

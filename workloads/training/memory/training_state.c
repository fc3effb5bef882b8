/*
 * training_state - weights, gradients and optimizer state of a rank, in bytes.
 *
 *   weights      parameters * 2 (fp16, bf16), and narrow copies; frozen ones only as narrow copies,
 *                or in NF4 (models/precision.c)
 *   gradients    trained parameters * 2 or 4, according to data-parallel.gradients
 *   optimizer    parameters * 12: fp32 master weights and Adam's two moments; 8 where weights are
 *                fp32 themselves or their own masters; 4 less with moments in bf16
 *
 * job->sharding decides which fraction of the three a rank holds (2 + 2 + 12 is ZeRO's (2 + 2 + K)
 * with K = 12; Rajbhandari et al. 2020, section 3). Sharded weights are gathered for use: the
 * largest layer's and the weights of the layers ahead of it are whole for a while, or all of a
 * stage's, where they stay from forward to backward.
 */
#include "workloads/training/memory/training_memory.h"

/* Parameters of @weights that are whole only for a while. */
static double sharded_parameters(const OrrJob *job, OrrWeights weights) {
  return weights.dense + weights.frozen +
         (orr_job_shard_ranks(job, ORR_WEIGHTS_EXPERTS) > 1 ? weights.experts : 0);
}

static double gather_bytes(const OrrJob *job, OrrWeights weights) {
  const gboolean experts = orr_job_shard_ranks(job, ORR_WEIGHTS_EXPERTS) > 1;
  return orr_job_gather_bytes(job, weights, ORR_WEIGHTS_DENSE) +
         (experts ? orr_job_gather_bytes(job, weights, ORR_WEIGHTS_EXPERTS) : 0);
}

/* The layer that computes has narrow copies, unless it is gathered in the narrow format. */
double orr_training_state_gathered(const OrrJob *job, gint64 stage) {
  const OrrShardingPlan *sharding = &job->sharding;
  const gboolean casts =
      orr_precision_casts(job->shard.recipe) && sharding->weights && !sharding->gathers_narrow;
  const gboolean stay = sharding->weights && !sharding->gathers_again && sharding->ranks > 1;
  double largest = 0, parameters = 0, trained = 0, all = 0, copies = 0;
  for (guint spec = 0; spec < job->layout.specs->len; spec++) {
    const OrrWeights weights = orr_job_layer_weights(job, stage, spec);
    const double each = gather_bytes(job, weights);
    const gint64 count = orr_job_n_layers(job, stage, spec);
    all += (double)count * each;
    if (count == 0) continue;
    if (casts) copies = MAX(copies, weights.linear * job->shard.recipe->weight_copy_bytes);
    if (each <= largest) continue;
    largest = each;
    parameters = sharded_parameters(job, weights);
    trained = (parameters - weights.frozen) / parameters;
  }
  if (parameters <= 0) return 0;
  if (job->params->evaluation) trained = 0; /* no gradient is gathered or reduced */
  const OrrShardingShape shape = {.weight_bytes = stay ? 0 : largest / parameters,
                                  .gradient_bytes = trained * job->gradient_bytes_each,
                                  .autograd_bytes = trained * orr_dtype_bytes(job->shard.dtype)};
  const double some = orr_sharding_gathered_bytes(sharding, &shape, parameters) + (stay ? all : 0);
  return some > 0 ? some + copies : 0;
}

/* Megatron's fp8-param-gather: linear layers' weights without a copy in the storage format. */
static gboolean holds_narrow_alone(const OrrJob *job) {
  return job->sharding.gathers_narrow && !job->sharding.weights &&
         orr_precision_casts(job->shard.recipe);
}

/* Where the framework casts an fp32 shard as it gathers, only frozen weights have a shard in the
 * storage format: the others' are of the optimizer, or of an evaluation. Narrow copies are made of
 * whole weights only. */
double orr_training_state_weights(const OrrJob *job, OrrWeights weights) {
  const OrrShardingPlan *sharding = &job->sharding;
  const gboolean alone = sharding->master_alone && orr_job_master_bytes(job) > 0 &&
                         orr_dtype_bytes(job->shard.dtype) < 4;
  const double fraction = orr_sharding_weights_fraction(sharding);
  const double experts = 1.0 / (double)orr_job_shard_ranks(job, ORR_WEIGHTS_EXPERTS);
  /* fp32 shards count as the optimizer's, and an evaluation has none */
  const double shards = alone && job->params->evaluation
                            ? 4 * (weights.dense * fraction + weights.experts * experts)
                            : 0;
  OrrWeights held = weights;
  held.dense *= alone ? 0 : fraction;
  held.frozen *= fraction;
  if (sharding->weights) held.experts *= alone ? 0 : experts;
  if (sharding->weights && sharding->ranks > 1)
    held.linear *= job->shard.lora.quantised ? fraction : 0;
  if (holds_narrow_alone(job))
    return shards + orr_transformer_weight_bytes(&job->shard, held) -
           held.linear * orr_dtype_bytes(job->shard.dtype);
  return shards + orr_transformer_weight_bytes(&job->shard, held);
}

/* A frozen copy has neither masters nor narrow copies, and is sharded as the model is. An adapted
 * model without its adapters is its own reference. */
double orr_training_state_reference(const OrrJob *job, OrrWeights weights) {
  const OrrShardingPlan *sharding = &job->sharding;
  const double experts = (double)orr_job_shard_ranks(job, ORR_WEIGHTS_EXPERTS);
  if (!job->params->reference || job->shard.lora.rank > 0) return 0;
  return ((weights.dense + weights.frozen) * orr_sharding_weights_fraction(sharding) +
          weights.experts / (sharding->weights ? experts : 1)) *
         orr_dtype_bytes(job->shard.dtype);
}

/* Master weights in fp32 and two moments of each parameter; fp32 weights are their own master. */
double orr_training_state_optimizer(const OrrJob *job, double parameters) {
  const gboolean own = orr_dtype_bytes(job->shard.dtype) == 4;
  return parameters * ((own ? 0 : orr_job_master_bytes(job)) + 2 * orr_job_moment_bytes(job));
}

/* Whole gradients, and the shards that they become. */
double orr_training_state_reduced(const OrrJob *job, OrrWeights weights, double in_host) {
  const OrrShardingPlan *sharding = &job->sharding;
  const double experts_fraction = 1.0 / (double)orr_job_shard_ranks(job, ORR_WEIGHTS_EXPERTS);
  const double dense_fraction = orr_sharding_weights_fraction(sharding);
  double reduced = weights.dense * orr_sharding_gradients_fraction(sharding) +
                   weights.experts * (sharding->gradients ? experts_fraction : 1) -
                   (sharding->gradients ? in_host : 0);
  if (orr_training_moments_have_gradients(job)) reduced = 0; /* the moments list them */
  if (sharding->copies_gradients && !sharding->gradients && sharding->ranks > 1)
    reduced += weights.dense * dense_fraction + weights.experts * experts_fraction;
  return reduced;
}

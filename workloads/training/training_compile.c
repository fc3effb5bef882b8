/*
 * training_compile - a training job from its document to a sealed program, with the rows that
 * describe it.
 *
 *   job -> costs -> plan -> (too large?) -> operations         and memory, which needs only the job
 */
#include "workloads/training/comm/training_plan.h"
#include "workloads/training/emit/training_program.h"
#include "workloads/training/emit/training_emitter.h"
#include "workloads/training/memory/training_memory.h"
#include "workloads/training/training.h"
#include "workloads/training/training_compile.h"

/* How the names of adapters' products begin. */
#define ADAPTER "lora-"

static OrrTrainingWork *work_new(const OrrJob *job) {
  OrrTrainingWork *work = g_new0(OrrTrainingWork, 1);
  work->work.kind = &orr_training_kind;
  work->work.program = orr_program_new();
  work->work.label_seconds = g_array_new(FALSE, TRUE, sizeof(double));
  work->work.n_gpus = orr_job_replica_ranks(job) * job->pp * job->dp;
  work->work.lane_of_gpu = orr_work_lanes_new(orr_fabric_n_gpus(job->world->fabric));
  work->placement = job->placement;
  work->shape = job->shape;
  work->tp = job->tp;
  work->cp = job->cp;
  work->pp = job->pp;
  work->dp = job->dp;
  work->sequence = job->shard.sequence;
  work->global_batch = job->params->batch.global_size;
  work->run_tokens = job->params->run_tokens;
  work->memory = g_array_new(FALSE, TRUE, sizeof(OrrStageMemory));
  work->activations = g_array_new(FALSE, TRUE, sizeof(OrrActivationRow));
  work->moments = g_array_new(FALSE, TRUE, sizeof(OrrMemoryMoment));
  work->moment_ops = g_array_new(FALSE, FALSE, sizeof(guint));
  work->lane_stage = g_array_new(FALSE, FALSE, sizeof(gint64));
  work->lane_replica = g_array_new(FALSE, FALSE, sizeof(gint64));
  return work;
}

/* FLOPs of products and attention whose names begin with @prefix. */
static double flops_of(const GArray *operators, const char *prefix) {
  double flops = 0;
  ORR_EACH(const OrrOperator, op, operators)
    if (op->kind != ORR_OPERATOR_MEMORY && g_str_has_prefix(op->name, prefix)) flops += op->flops;
  return flops;
}

/* What runs again of a layer, of one micro-batch on one rank; the attention core, which counts as
 * in the model's FLOPs, is left out. */
static double operators_again_flops(const OrrJob *job, const OrrLayerSpec *spec) {
  g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(job->world->model, spec->kind, orr_job_layer_shard(job, spec),
                                  spec->modules & ~(guint)ORR_MODULE_CORE_ATTN, again);
  return flops_of(again, (spec->modules & ORR_MODULE_LAYER) ? ADAPTER : "");
}

/* What adapters compute of a layer, of one micro-batch on one rank: the model's FLOPs leave it
 * out. */
static double adapter_flops(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrShard *shard = orr_job_layer_shard(job, spec);
  g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(job->world->model, spec->kind, shard, own);
  if (!job->params->evaluation)
    orr_transformer_layer_backward(job->world->model, spec->kind, shard, own);
  return flops_of(own, ADAPTER);
}

/* Of the pairs that the router chooses, the multiple that experts multiply: all that are kept, and
 * what pads them to a capacity. */
static double multiplied(const OrrJob *job) {
  return job->shard.capacity > 0 ? job->shard.capacity : job->kept;
}

/* What runs again in a step of a layer's attention core or of the whole layer, over all ranks.
 * @pairs: the fraction of the core's pairs that lie within documents. */
static double layer_again_flops(const OrrJob *job, const OrrLayerSpec *spec, double pairs) {
  const OrrModel *model = job->world->model;
  const double batch = job->params->batch.global_size, sequence = job->shard.sequence;
  const double core = orr_model_core_flops(model, spec->kind, batch, sequence);
  if (job->shard.frozen_encoder && spec->kind == (guint)orr_model_encoder_kind(model)) return 0;
  if (spec->modules & ORR_MODULE_LAYER)
    return orr_model_layer_flops(model, spec->kind, batch, sequence) - core * (1 - pairs) -
           orr_model_layer_routed_flops(model, spec->kind, batch, sequence) * (1 - multiplied(job));
  return (spec->modules & ORR_MODULE_CORE_ATTN) ? core * pairs : 0;
}

/* What layers of @spec compute in a step beyond the model's own FLOPs, over all ranks. */
static double spec_further_flops(const OrrJob *job, const OrrLayerSpec *spec, double pairs) {
  const double ranks =
      (double)(job->tp * job->cp) * job->params->batch.global_size / job->params->batch.micro;
  double flops = job->shard.lora.rank > 0 ? ranks * adapter_flops(job, spec) : 0;
  if (!job->params->evaluation && spec->modules)
    flops += ranks * operators_again_flops(job, spec) + layer_again_flops(job, spec, pairs);
  return flops;
}

static double further_flops(const OrrJob *job, double pairs) {
  g_autofree double *layers = g_new0(double, job->layout.specs->len);
  double flops = 0;
  for (gint64 b = 0; b < orr_job_n_blocks(job); b++)
    for (guint i = 0; i < job->layout.blocks[b]->len; i++)
      layers[g_array_index(job->layout.blocks[b], guint, i)]++;
  ORR_EACH_AT(i, const OrrLayerSpec, spec, job->layout.specs)
    if (spec->type == ORR_LAYER_TRANSFORMER && layers[i] > 0)
      flops += layers[i] * spec_further_flops(job, spec, pairs);
  return flops;
}

/* Half of the pairs of full attention in @passes and where it runs again; unfused attention
 * computes them. */
static double masked_flops(const OrrJob *job, int passes, double pairs) {
  const double batch = job->params->batch.global_size, sequence = job->shard.sequence;
  const OrrModel *model = job->world->model;
  double flops = 0;
  if (job->shard.attention == ORR_ATTENTION_UNFUSED) return 0;
  for (gint64 b = 0; b < orr_job_n_blocks(job); b++)
    for (guint i = 0; i < job->layout.blocks[b]->len; i++) {
      const OrrLayerSpec *spec = orr_job_spec(job, g_array_index(job->layout.blocks[b], guint, i));
      if (spec->type != ORR_LAYER_TRANSFORMER) continue;
      const gboolean again =
          !job->params->evaluation && (spec->modules & (ORR_MODULE_LAYER | ORR_MODULE_CORE_ATTN));
      if (orr_model_kind(model, spec->kind).mixer == ORR_MIXER_ATTENTION)
        flops += (passes + again) * orr_model_core_flops(model, spec->kind, batch, sequence) / 2;
    }
  return flops * pairs;
}

static void note_flops(OrrTrainingWork *work, const OrrJob *job, const OrrPackedLoads *packed) {
  const OrrModel *model = job->world->model;
  const double batch = job->params->batch.global_size, sequence = job->shard.sequence;
  const double pairs = packed ? packed->pairs : 1; /* of the attention core, in all of its passes */
  const double matrix = orr_model_matrix_flops(model, batch, sequence);
  work->model_flops = orr_model_flops(model, batch, sequence);
  work->model_flops -= (work->model_flops - 3 * matrix) * (1 - pairs);
  const double forward = work->model_flops / 3;
  if (job->params->evaluation) {
    work->model_flops = forward;
  } else {
    if (job->shard.lora.rank > 0) work->model_flops -= matrix; /* of frozen weights by weight */
    if (job->shard.frozen_encoder) {                           /* of three passes, one */
      const guint kind = (guint)orr_model_encoder_kind(model);
      work->model_flops -= 2 * (double)orr_model_kind_layers(model, kind) *
                           orr_model_layer_flops(model, kind, batch, sequence);
    }
  }
  if (packed) work->padding = packed->padding;
  if (packed) work->left_out = packed->left_out;
  if (job->params->reference) work->model_flops += forward;
  const int passes = (job->params->evaluation    ? 1
                      : job->shard.lora.rank > 0 ? 2
                                                 : 3) +
                     (job->params->reference ? 1 : 0);
  const double routed = passes * orr_model_routed_flops(model, batch, sequence);
  work->model_flops -= routed * (1 - job->kept);
  work->dropped = model->moe.experts > 0 ? 1 - job->kept : 0;
  const OrrProducts *products = &job->params->products;
  if (products->release && products->rate == 1 &&
      !orr_cost_has_release(job->world->cost, products->release))
    work->unknown_release = g_intern_string(products->release);
  work->hardware_flops =
      work->model_flops + routed * (multiplied(job) - job->kept) + further_flops(job, pairs);
  const int core_passes = (job->params->evaluation ? 1 : 3) + (job->params->reference ? 1 : 0);
  work->masked_flops = masked_flops(job, core_passes, pairs);
  work->peak_flops =
      orr_device_peak_flops(&job->world->cluster->device, job->shard.recipe->forward);
}

/* The first transformer layer of the first stage. */
static double layer_seconds(const OrrJob *job, const OrrTrainingCosts *costs,
                            const OrrTrainingPlan *plan, OrrRunKind run) {
  double sum = 0;
  OrrRunTime time = {0};
  const GArray *layers = orr_job_layers(job, 0, 0);
  for (guint i = 0; i < layers->len && i < 2; i++) {
    const guint spec = g_array_index(layers, guint, i);
    if (orr_job_spec(job, spec)->type != ORR_LAYER_TRANSFORMER) continue;
    orr_run_time_add(&time, &plan->layers, 0, &costs->layers[spec].runs[run], 1);
    break;
  }
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += time.seconds[kind];
  return sum;
}

static OrrJob shortened(const OrrJob *job, OrrTrainingWork *work) {
  OrrJob shorter = *job;
  shorter.shape.micro_batches = orr_training_limit_micro_batches(job);
  const gint64 left_out = job->shape.micro_batches - shorter.shape.micro_batches;
  work->work.period = left_out > 0 ? job->schedule->period(&job->shape) : 0;
  work->work.n_left_out = left_out > 0 ? left_out / work->work.period : 0;
  return shorter;
}

/* Noise and packed documents make all replicas different: none can represent another. */
static gboolean settle_fidelity(const OrrJob *job, OrrFidelity *ret_fidelity, GError **error) {
  *ret_fidelity = job->world->fidelity;
  const gboolean packs = orr_training_packing_is_on(&job->params->packing);
  if ((!packs && !orr_training_noise_is_on(&job->params->noise)) || job->dp == 1) return TRUE;
  if (packs && job->world->fidelity == ORR_FIDELITY_FOLDED) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "workload.packing gives each of the %ld replicas different documents, so they "
                "cannot be folded: set fidelity auto or full",
                job->dp);
    return FALSE;
  }
  if (job->world->fidelity == ORR_FIDELITY_FOLDED)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "workload.noise (rank %g, kernel %g) makes every one of the %ld replicas "
                         "different, so they cannot be folded: set fidelity auto or full",
                         job->params->noise.rank, job->params->noise.kernel, job->dp);
  *ret_fidelity = ORR_FIDELITY_FULL;
  return TRUE;
}

static void note_storage(OrrTrainingWork *work, const OrrJob *job) {
  const OrrCheckpoint *checkpoint = &job->params->checkpoint;
  const gboolean is_used[] = {checkpoint->every > 0,
                              checkpoint->every > 0 && checkpoint->mode == ORR_CHECKPOINT_ASYNC,
                              checkpoint->load, job->params->data_bytes > 0};
  for (int use = 0; use < ORR_N_STORAGE_USES; use++)
    work->storage_bytes[use] = is_used[use] ? orr_training_storage_bytes(job, use) : 0;
  work->checkpoint_bytes = orr_training_storage_bytes(job, ORR_STORAGE_USE_WRITE);
  const gint64 steps = job->params->steps,
               n = checkpoint->every > 0 ? steps / checkpoint->every : 0;
  const gint64 counts[] = {n, n, 1, steps};
  memcpy(work->storage_counts, counts, sizeof counts);
}

static gboolean compile(const OrrJob *job, OrrTrainingCosts *costs, OrrTrainingWork *work,
                        GError **error) {
  OrrTrainingPlan plan;
  OrrTraining params = *job->params;
  const gint64 left_out = orr_training_steps_left_out(job);
  OrrJob replayed = shortened(job, work); /* owns nothing itself */
  params.steps -= left_out;
  replayed.params = &params;
  g_autofree double *optimizer_s = g_new(double, job->pp);
  for (gint64 stage = 0; stage < job->pp; stage++)
    optimizer_s[stage] = orr_training_costs_optimizer_s(costs, job, stage);
  OrrFidelity fidelity;
  if (!settle_fidelity(job, &fidelity, error)) return FALSE;
  const gboolean planned =
      orr_training_plan_init(&plan, job, costs, fidelity, work->work.program, error) &&
      orr_training_limit_check(job, costs, &plan, error);
  if (planned) {
    orr_training_program_emit(&(OrrEmission){&replayed, costs, &plan, optimizer_s, work, left_out});
    work->work.fidelity =
        plan.fold.n < (guint)job->dp || job->world->fidelity == ORR_FIDELITY_FOLDED
            ? ORR_FIDELITY_FOLDED
            : ORR_FIDELITY_FULL;
    work->layer_forward_s = layer_seconds(job, costs, &plan, ORR_RUN_FORWARD);
    work->layer_backward_s = layer_seconds(job, costs, &plan, ORR_RUN_BACKWARD);
    work->work.links = g_array_ref(plan.traffic.links);
    note_storage(work, job);
    orr_traffic_count(&plan.traffic, plan.fold.n);
    work->collectives = g_array_ref(plan.traffic.collectives);
    work->row_of_path = g_array_ref(plan.traffic.row_of_path);
    work->work.calls = g_steal_pointer(&plan.traffic.calls);
  }
  orr_training_plan_clear(&plan);
  return planned && orr_program_seal(work->work.program, error);
}

/* FALSE, listing everything that the profile lacks, each once. */
static gboolean check_missing(const OrrJob *job, const GArray *operators, GError **error) {
  g_autoptr(GPtrArray) missing = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; job->world->on_missing == ORR_ON_MISSING_ERROR && i < operators->len; i++) {
    char *what =
        orr_cost_missing(job->world->cost, &g_array_index(operators, OrrCostedOperator, i).op);
    if (what && !g_ptr_array_find_with_equal_func(missing, what, g_str_equal, NULL))
      g_ptr_array_add(missing, what);
    else
      g_free(what);
  }
  if (missing->len == 0) return TRUE;
  g_ptr_array_add(missing, NULL);
  g_autofree char *all = g_strjoinv(", ", (char **)missing->pdata);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "the device's profile holds no %s (on-missing: error)", all);
}

/* @is_whole: with its moments, and what operators keep. */
static void note_memory(OrrTrainingWork *work, const OrrJob *job, gboolean is_whole) {
  orr_training_memory(job, &(OrrMemoryRows){work->memory, is_whole ? work->moments : NULL,
                                            is_whole ? work->activations : NULL});
  work->host_peak_bytes = orr_training_memory_host_peak(job, work->memory);
}

static OrrWork *compile_job(const OrrJob *job, GError **error) {
  OrrTrainingCosts costs;
  orr_training_costs_init(&costs, job);
  g_autoptr(OrrWork) work = (OrrWork *)work_new(job);
  OrrTrainingWork *training = (OrrTrainingWork *)work;
  const gboolean compiled =
      check_missing(job, costs.operators, error) && compile(job, &costs, training, error);
  training->operators = g_array_ref(costs.operators);
  training->costs_outside = costs.outside;
  work->power = orr_training_power(&costs, job);
  training->host_s = orr_training_host_s(&costs, job);
  note_flops(training, job, costs.packed);
  if (compiled) note_memory(training, job, TRUE);
  orr_training_costs_clear(&costs);
  return compiled ? g_steal_pointer(&work) : NULL;
}

OrrWork *orr_training_compile(const void *params, const OrrWorld *world, GError **error) {
  OrrJob job;
  OrrWork *work = orr_job_init(&job, params, world, error) ? compile_job(&job, error) : NULL;
  orr_job_clear(&job);
  return work;
}

OrrWork *orr_training_compile_outline(const void *params, const OrrWorld *world,
                                      double *ret_least_s, GError **error) {
  OrrJob job;
  OrrTrainingWork *work = NULL;
  if (orr_job_init(&job, params, world, error)) {
    OrrTrainingCosts costs;
    orr_training_costs_init(&costs, &job);
    work = work_new(&job);
    note_flops(work, &job, costs.packed);
    note_memory(work, &job, FALSE);
    *ret_least_s = orr_training_bound_s(&job, &costs);
    orr_training_costs_clear(&costs);
  }
  orr_job_clear(&job);
  return (OrrWork *)work;
}

/*
 * training_compile - a training job from its document to a sealed program, with the rows that
 * describe it.
 *
 *   job -> costs -> plan -> (too large?) -> operations         and memory, which needs only the job
 */
#include "sim/base/fault.h"
#include "workloads/training/comm/training_plan.h"
#include "workloads/training/emit/training_program.h"
#include "workloads/training/emit/training_emitter.h"
#include "workloads/training/memory/training_memory.h"
#include "workloads/training/training.h"
#include "workloads/training/training_compile.h"

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

/* Products that run again when operators are recomputed one by one, over all ranks of a step: no
 * closed form counts them. */
static double operators_again_flops(const OrrJob *job) {
  const double ranks =
      (double)(job->tp * job->cp) * job->params->batch.global_size / job->params->batch.micro;
  double flops = 0;
  for (gint64 b = 0; b < orr_job_n_blocks(job); b++)
    for (guint i = 0; i < job->layout.blocks[b]->len; i++) {
      const OrrLayerSpec *spec = orr_job_spec(job, g_array_index(job->layout.blocks[b], guint, i));
      if (spec->type != ORR_LAYER_TRANSFORMER) continue;
      g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
      orr_transformer_layer_recompute(job->world->model, spec->kind, orr_job_layer_shard(job, spec),
                                      spec->modules, again);
      for (guint o = 0; o < again->len; o++) flops += g_array_index(again, OrrOperator, o).flops;
    }
  return flops * ranks;
}

static void note_flops(OrrTrainingWork *work, const OrrJob *job, const OrrPackedLoads *packed) {
  const OrrModel *model = job->world->model;
  const double batch = job->params->batch.global_size, sequence = job->shard.sequence;
  work->model_flops = orr_model_flops(model, batch, sequence);
  work->hardware_flops = orr_model_hardware_flops(model, batch, sequence, job->params->recompute);
  if (job->params->recompute == ORR_RECOMPUTE_OPERATORS)
    work->hardware_flops += operators_again_flops(job);
  if (job->shard.lora.rank > 0) { /* frozen weights have no products by weight */
    work->model_flops -= orr_model_matrix_flops(model, batch, sequence);
    work->hardware_flops -= orr_model_matrix_flops(model, batch, sequence);
  }
  if (job->shard.frozen_encoder) { /* of three passes, one */
    const guint kind = (guint)orr_model_encoder_kind(model);
    const double forward = (double)orr_model_kind_layers(model, kind) *
                           orr_model_layer_flops(model, kind, batch, sequence);
    work->model_flops -= 2 * forward;
    work->hardware_flops -=
        (job->params->recompute == ORR_RECOMPUTE_FULL ? 3 : 2) * forward; /* nor replayed */
  }
  if (packed) { /* the attention core has fewer pairs, in all of its passes */
    const double matrix = 3 * orr_model_matrix_flops(model, batch, sequence);
    const double core = orr_model_flops(model, batch, sequence) - matrix;
    work->model_flops -= core * (1 - packed->pairs);
    work->hardware_flops -= core * (1 - packed->pairs);
    work->padding = packed->padding;
  }
  if (job->params->evaluation) /* a forward, a third of a step */
    work->model_flops = work->hardware_flops =
        orr_model_flops(model, batch, sequence) / 3 -
        (packed ? (1 - packed->pairs) : 0) * (orr_model_flops(model, batch, sequence) / 3 -
                                              orr_model_matrix_flops(model, batch, sequence));
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
    g_set_error(
        error, ORR_FAULT, ORR_FAULT_DOCUMENT,
        "workload.packing gives each of the %" G_GINT64_FORMAT
        " replicas different documents, so they cannot be folded: set fidelity auto or full",
        job->dp);
    return FALSE;
  }
  if (job->world->fidelity == ORR_FIDELITY_FOLDED)
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "workload.noise (rank %g, kernel %g) makes every one of the %" G_GINT64_FORMAT
        " replicas different, so they cannot be folded: set fidelity auto or full",
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
    work->collectives = g_array_ref(plan.traffic.collectives);
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

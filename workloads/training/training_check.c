/*
 * training_check - checks what single fields cannot: sizes against each other, against the model,
 * and against the machine. Each finding names the broken rule and the values.
 */
#include "workloads/training/training_compile.h"

#include "sim/base/idle.h"
#include "workloads/training/cost/training_packing.h"
#include "workloads/training/emit/training_noise.h"
#include "workloads/training/job/training_job.h"
#include "workloads/training/training.h"

typedef struct {
  const OrrTraining *params;
  const OrrModel *model;
  const OrrCluster *cluster;
  OrrPlace place;
  OrrDiags *diags;
} Check;

/* The place of the section at @path, for a finding. */
static OrrPlace at(const Check *check, const char *path) {
  return orr_node_place_in(check->place, path);
}

/* Expert groups divide a stage's ranks anew: each lies inside one replica, or covers whole
 * replicas. */
static void check_axes(const Check *check) {
  const OrrParallel *p = &check->params->parallel;
  const gint64 etp = orr_job_shard(check->params, check->model).etp, block = etp * p->ep,
               replica = p->tp * p->cp;
  const gint64 all = replica * orr_job_replicas(check->params, orr_cluster_n_gpus(check->cluster));
  if (p->ep == 1 && etp == 1) return;
  if (all % block != 0)
    orr_diags_error(check->diags, at(check, "parallel"),
                    "etp * ep (%ld * %ld) must divide the tp * cp * dp = %ld GPUs of a stage", etp,
                    p->ep, all);
  else if (block % replica != 0 && replica % block != 0)
    orr_diags_error(check->diags, at(check, "parallel"),
                    "etp * ep (%ld * %ld) must divide tp * cp (%ld * %ld) or be a multiple of it",
                    etp, p->ep, p->tp, p->cp);
}

/* Loads that the model's experts cannot have, and fields that exclude each other. */
static void check_load(const Check *check) {
  const OrrExpertDispatch *experts = &check->params->experts;
  const OrrExpertLoadKind *kind = (const OrrExpertLoadKind *)experts->load.entry;
  if (!kind || check->model->moe.experts == 0) return;
  g_autofree char *refusal =
      kind->refuse ? kind->refuse(experts->load.params, check->model->moe.experts) : NULL;
  if (refusal) orr_diags_error(check->diags, at(check, "experts"), "%s", refusal);
  if (experts->pads && !(experts->capacity > 0))
    orr_diags_error(check->diags, at(check, "experts"),
                    "experts.pad-to-capacity needs a capacity to pad to: set experts.capacity");
  if (experts->imbalance > 0 && experts->capacity > 0)
    orr_diags_error(check->diags, at(check, "experts"),
                    "experts.capacity (%g) limits the tokens of experts.load, but "
                    "experts.imbalance (%g) replaces that field: give experts.load instead, as "
                    "{kind: zipf, exponent: 0.5}",
                    experts->capacity, experts->imbalance);
  if (experts->imbalance > 0 && !kind->is_even)
    orr_diags_error(
        check->diags, at(check, "experts"),
        "experts.imbalance (%g) and experts.load (%s) both set how tokens spread: give only one",
        experts->imbalance, kind->entry.name);
}

static gboolean is_named(const OrrChoice *choice, const char *name) {
  return choice->entry && g_str_equal(choice->entry->name, name);
}

/* Settings that nothing here reads: the answer does not move with them. */
static void check_idle(const Check *check) {
  const OrrTraining *params = check->params;
  const OrrExpertDispatch *experts = &params->experts;
  const OrrModel *model = check->model;
  const gboolean routed = model->moe.experts > 0, deepep = experts->dispatch == ORR_DISPATCH_DEEPEP,
                 full = params->recompute == ORR_RECOMPUTE_FULL,
                 packed = orr_training_packing_is_on(&params->packing),
                 in_turn = experts->choice == ORR_CHOICE_IN_TURN,
                 eager = params->layers == ORR_LAYERS_TORCH && !params->compile;
  g_autofree char *dense = g_strdup_printf("model %s has no experts", model->name);
  g_autofree char *unshared = g_strdup_printf("model %s has no shared experts", model->name);
  const OrrIdleKey keys[] = {
      {"experts", !routed, dense},
      {"experts.nodes", routed && !deepep, "only dispatch: deepep sends one copy for each node"},
      {"experts.nodes", routed && deepep && in_turn, "choice: in-turn decides the nodes"},
      {"experts.choice", routed && !deepep, "only dispatch: deepep sends one copy for each rank"},
      {"experts.gather-map", routed && !deepep, "only dispatch: deepep gathers it"},
      {"experts.shared-expert-overlap", routed && model->moe.shared_ffn == 0, unshared},
      {"recompute-modules", params->recompute != ORR_RECOMPUTE_SELECTIVE,
       "recompute is not selective"},
      {"recompute-method", !full, "recompute is not full"},
      {"recompute-layers", !full, "recompute is not full"},
      {"lora.dropout", !eager, "only layers: torch with compile: false run it by itself"},
      {"lora.fp32", !eager, "only layers: torch with compile: false cast for it"},
      {"lora.targets", params->lora.rank == 0, "lora.rank is 0: all weights are trained"},
      {"loader.workers", params->loader.sample_s <= 0, "loader.sample-time is 0"},
      {"loader.prefetch", params->loader.sample_s <= 0, "loader.sample-time is 0"},
      {"packing.cut", !packed, "packing.documents is absent: a sequence is one document"},
      {"packing.balance", !packed, "packing.documents is absent: a sequence is one document"},
      {"checkpoint.mode", params->checkpoint.every == 0, "checkpoint.every is 0: none is written"},
      {"checkpoint.sharded", params->checkpoint.every == 0,
       "checkpoint.every is 0: none is written"},
      {"data-parallel.bucket", !is_named(&params->optimizer.sharding, "none"),
       "only sharding none has these buckets"},
      {"noise.distribution", !orr_training_noise_is_on(&params->noise),
       "noise.rank and noise.kernel are 0"},
      {"offload.overlap",
       params->offload.optimizer <= 0 && !params->offload.parameters &&
           !params->offload.activations,
       "nothing is offloaded"},
      {"nccl.mscclpp", g_strcmp0(check->cluster->device.platform, "rocm") != 0,
       "only RCCL runs MSCCL++'s kernels"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), check->place, check->diags);
}

/* The same of how the model is split, and of what this model or machine lacks. */
static void check_idle_here(const Check *check) {
  const OrrTraining *params = check->params;
  const OrrParallel *p = &params->parallel;
  const OrrModel *model = check->model;
  const gint64 nodes = check->cluster->nodes;
  const gboolean narrow = orr_precision_casts(orr_precision_recipe(params->precision));
  const gboolean beyond =
      nodes > 0 && params->experts.dispatch == ORR_DISPATCH_DEEPEP && params->experts.nodes > nodes;
  g_autofree char *unrotated = g_strdup_printf("model %s has no rotary embeddings", model->name);
  g_autofree char *single =
      g_strdup_printf("model %s has no layers of multi-token prediction", model->name);
  g_autofree char *fewer =
      g_strdup_printf("the cluster has %ld node%s", nodes, nodes == 1 ? "" : "s");
  const OrrIdleKey keys[] = {
      {"parallel.context", p->cp == 1, "parallel.cp is 1"},
      {"parallel.sequence-parallel", p->tp == 1 && p->sequence_parallel, "parallel.tp is 1"},
      {"parallel.tp-comm-overlap", p->tp == 1 && !is_named(&p->tp_comm_overlap, "none"),
       "parallel.tp is 1"},
      {"parallel.keep-gathered", p->tp == 1 && p->keep_gathered, "parallel.tp is 1"},
      {"pipeline-comm.lock-step", p->pp == 1 && params->pipeline_comm.lock_step,
       "parallel.pp is 1"},
      {"rope", params->rope == ORR_GLUE_APART && model->position != ORR_POSITION_ROPE, unrotated},
      {"wide-layers.mtp", params->wide.mtp && narrow && model->mtp_layers == 0, single},
      {"experts.nodes", beyond, fewer},
      {"memory.exchange", p->ep == 1, "parallel.ep is 1"},
      {"memory.fragmentation", params->memory.allocator == ORR_ALLOCATOR_EXPANDABLE,
       "memory.allocator is expandable, which has no gaps"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), check->place, check->diags);
}

static void check_context(const Check *check) {
  const OrrParallel *p = &check->params->parallel;
  if (p->context_inner > 1 && p->context != ORR_CONTEXT_HIERARCHICAL)
    orr_diags_error(check->diags, at(check, "parallel.context-inner"),
                    "parallel.context-inner (%ld) needs context: hierarchical, but context is %s",
                    p->context_inner, orr_context_words[p->context]);
}

static gboolean has_feed(const OrrModel *model, OrrFeed feed) {
  gboolean any = FALSE;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    any = any || orr_model_kind(model, kind).feed == feed;
  return any;
}

/* Warns of modules to recompute that no layer of the model has. */
static void warn_absent_modules(const Check *check, guint modules) {
  const OrrModel *model = check->model;
  const guint dense = ORR_MODULE_MLP | ORR_MODULE_FC1, routed = ORR_MODULE_MOE | ORR_MODULE_MOE_ACT;
  const guint absent = (model->mla.kv_rank > 0 ? 0 : (guint)ORR_MODULE_MLA_UP_PROJ) |
                       (has_feed(model, ORR_FEED_DENSE) ? 0 : dense) |
                       (has_feed(model, ORR_FEED_MOE) ? 0 : routed) |
                       (model->moe.shared_ffn > 0 ? 0 : (guint)ORR_MODULE_SHARED_EXPERTS);
  for (guint bit = 0; orr_module_words[bit]; bit++)
    if (modules & absent & (1u << bit))
      orr_diags_warning(check->diags, at(check, "recompute-modules"),
                        "recompute-modules: %s has no effect: no layer of model %s has it",
                        orr_module_words[bit], model->name);
}

static void check_modules(const Check *check) {
  g_autoptr(GError) error = NULL;
  guint modules = 0;
  if (!orr_layout_modules(check->params, &modules, &error))
    orr_diags_error(check->diags, at(check, "recompute-modules"), "%s", error->message);
  else if (check->params->recompute == ORR_RECOMPUTE_SELECTIVE)
    warn_absent_modules(check, modules);
}

/* Folding compares every route of every replica: at this size it takes seconds and some GB. */
#define MOST_GPUS 1048576

static void check_gpus(const Check *check) {
  const OrrParallel *p = &check->params->parallel;
  const gint64 n_gpus = orr_cluster_n_gpus(check->cluster);
  const gint64 dp = orr_job_replicas(check->params, n_gpus);
  const gint64 all = p->tp * p->cp * p->pp * dp;
  g_autofree char *cp = p->cp > 1 ? g_strdup_printf("%ld * ", p->cp) : g_strdup("");
  if (all != n_gpus)
    orr_diags_error(check->diags, at(check, "parallel"),
                    "tp * %spp * dp = %ld * %s%ld * %ld = %ld GPUs, but the cluster has %ld in "
                    "use: change parallel, cluster.nodes or cluster.gpus",
                    p->cp > 1 ? "cp * " : "", p->tp, cp, p->pp, dp, all, n_gpus);
  else if (n_gpus > MOST_GPUS)
    orr_diags_error(check->diags, at(check, "parallel"),
                    "the job has %ld GPUs, and the limit is %d", n_gpus, MOST_GPUS);
}

static void check_split(const Check *check, const OrrPipelineKind *schedule,
                        const OrrPipelineShape *shape) {
  const gint64 n_blocks = orr_pipeline_n_blocks(schedule, shape);
  if (n_blocks > MOST_GPUS) return; /* more than GPUs: reported elsewhere */
  g_autoptr(GError) error = NULL;
  OrrPlace place = at(check, "pipeline-split");
  if (place.node == check->place.node) place = at(check, "parallel"); /* no such section */
  g_autofree gint64 *layers = g_new0(gint64, n_blocks);
  gint64 mtp = 0;
  if (!orr_layout_cut(check->params, check->model, shape, n_blocks, layers, &mtp, &error))
    orr_diags_error(check->diags, place, "%s", error->message);
  g_autofree char *refusal =
      error ? NULL : orr_training_refusals_offloaded_layers(check->params, layers, n_blocks);
  if (refusal) orr_diags_error(check->diags, place, "%s", refusal);
  g_autofree char *recompute =
      error ? NULL : orr_training_refusals_recomputed_layers(check->params, layers, n_blocks);
  if (recompute) orr_diags_error(check->diags, at(check, "recompute-layers"), "%s", recompute);
}

static void check_schedule(const Check *check) {
  const OrrTraining *params = check->params;
  const OrrParallel *p = &params->parallel;
  const OrrPipelineKind *schedule = (const OrrPipelineKind *)params->pipeline.entry;
  if (!schedule) return;
  const gint64 dp = orr_job_replicas(params, orr_cluster_n_gpus(check->cluster));
  OrrPipelineShape shape = orr_pipeline_shape(&params->pipeline, p->pp, 0);
  check_split(check, schedule, &shape);
  if (shape.chunks > 1 && shape.stages == 1)
    orr_diags_error(check->diags, at(check, "pipeline"),
                    "pipeline.chunks is %ld but pp is 1: chunks need a pipeline", shape.chunks);
  const gint64 per_round = params->batch.micro * dp;
  if (params->batch.global_size % per_round != 0)
    return orr_diags_error(check->diags, at(check, "batch"),
                           "batch.global (%ld) cannot be divided by batch.micro * dp (%ld * %ld)",
                           params->batch.global_size, params->batch.micro, dp);
  shape.micro_batches = params->batch.global_size / per_round;
  g_autofree char *refusal = schedule->refuse(&shape);
  g_autofree char *offload =
      refusal ? NULL : orr_training_refusals_offload(params, check->cluster, &shape);
  if (refusal) orr_diags_error(check->diags, at(check, "pipeline"), "%s", refusal);
  if (offload) orr_diags_error(check->diags, at(check, "offload"), "%s", offload);
}

static void check_sharding(const Check *check) {
  g_autofree char *refusal =
      orr_training_refusals_sharding(check->params, check->model, check->cluster);
  if (refusal) orr_diags_error(check->diags, at(check, "optimizer"), "%s", refusal);
}

static void check_overlap(const Check *check) {
  g_autofree char *refusal = orr_training_refusals_overlap(check->params, check->cluster);
  if (refusal) orr_diags_error(check->diags, at(check, "parallel.tp-comm-overlap"), "%s", refusal);
}

static void check_order(const Check *check) {
  g_autoptr(GError) error = NULL;
  OrrPlacement placement;
  const gint64 ones[ORR_N_AXES] = {1, 1, 1, 1};
  if (!orr_placement_init(&placement, check->params->parallel.order, ones, &error))
    orr_diags_error(check->diags, at(check, "parallel.order"), "parallel.order: %s",
                    error->message);
}

static void check_collectives(const Check *check) {
  const char *name = check->params->collectives;
  if (g_str_equal(name, "auto") || orr_registry_find(&orr_collective_registry, name)) return;
  g_autofree const char **names = orr_registry_names(&orr_collective_registry);
  g_autofree char *known = g_strjoinv(", ", (char **)names);
  const char *nearest = orr_diag_nearest_word(name, names);
  orr_diags_error(check->diags, at(check, "collectives"),
                  "collectives: unknown algorithm '%s'%s%s%s (allowed: auto, %s)", name,
                  nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                  known);
}

/* The device must support the storage format and the formats of linear layers' products. */
static void check_precision(const Check *check) {
  const OrrDevice *device = &check->cluster->device;
  const OrrPrecisionRecipe *recipe = orr_precision_recipe(check->params->precision);
  const OrrDtype products[] = {recipe->storage, recipe->forward, recipe->dgrad, recipe->wgrad};
  for (guint i = 0; i < G_N_ELEMENTS(products); i++) {
    if (orr_device_peak_flops(device, products[i]) > 0) continue;
    orr_diags_error(check->diags, at(check, "precision"),
                    "precision is %s, but device %s gives no peak rate for %s",
                    orr_precision_words[check->params->precision], device->name,
                    orr_dtype_names[products[i]]);
    return;
  }
  if (recipe->block_scaled && !(orr_device_peak_flops(device, ORR_FP4) > 0))
    orr_diags_error(check->diags, at(check, "precision"),
                    "precision is %s, but device %s has no block-scaled tensor cores (which "
                    "multiply fp4, from Blackwell on): use fp8-blockwise, fp8-current or "
                    "fp8-delayed",
                    orr_precision_words[check->params->precision], device->name);
}

/* Layers that keep the storage format. */
static void check_wide(const Check *check) {
  const OrrWideLayers *wide = &check->params->wide;
  const gint64 layers = check->model->layers;
  if (wide->first + wide->last > layers)
    orr_diags_error(check->diags, at(check, "wide-layers"),
                    "wide-layers: first (%ld) and last (%ld) are more than the model's %ld layers",
                    wide->first, wide->last, layers);
  else if ((wide->first || wide->last || wide->mtp) &&
           !orr_precision_casts(orr_precision_recipe(check->params->precision)))
    orr_diags_warning(check->diags, at(check, "wide-layers"),
                      "wide-layers changes nothing: under %s all layers are",
                      orr_precision_words[check->params->precision]);
}

static void check_storage(const Check *check) {
  if (!orr_job_uses_storage(check->params) || check->cluster->storage.servers > 0) return;
  orr_diags_error(
      check->diags, at(check, "checkpoint"),
      "checkpoints and data need a file system, and the cluster has none: set cluster.storage");
}

static void check_evaluation(const Check *check) {
  const OrrTraining *params = check->params;
  if (!params->evaluation) return;
  if (params->offload.optimizer > 0 || params->offload.activations > 0)
    orr_diags_error(
        check->diags, at(check, "evaluation"),
        "evaluation keeps neither an optimizer nor activations: leave out offload (optimizer %g, "
        "activations %ld)",
        params->offload.optimizer, params->offload.activations);
  if (params->reference)
    orr_diags_error(check->diags, at(check, "evaluation"),
                    "evaluation has no step that a reference model goes before: leave out "
                    "reference-forward");
  if (params->checkpoint.every > 0)
    orr_diags_error(check->diags, at(check, "evaluation"),
                    "evaluation changes nothing: leave out checkpoint.every (%ld)",
                    params->checkpoint.every);
}

void orr_training_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                        OrrPlace place, OrrDiags *diags) {
  const Check check = {params, model, cluster, place, diags};
  check_order(&check);
  check_precision(&check);
  check_wide(&check);
  orr_lora_check(&check.params->lora, model->hidden, at(&check, "lora"), diags);
  if (check.params->frozen_encoder && model->encoder.layers == 0)
    orr_diags_error(diags, at(&check, "frozen-encoder"), "frozen-encoder: model %s has no encoder",
                    model->name);
  check_axes(&check);
  check_load(&check);
  check_idle(&check);
  check_idle_here(&check);
  check_context(&check);
  check_modules(&check);
  check_gpus(&check);
  const OrrShard shard = orr_job_shard(params, model);
  orr_transformer_check(model, &shard, at(&check, "parallel"), diags);
  check_schedule(&check);
  check_sharding(&check);
  check_overlap(&check);
  check_collectives(&check);
  check_storage(&check);
  orr_training_packing_check(params, model, at(&check, "packing"), diags);
  check_evaluation(&check);
}

void orr_training_check_interval(const OrrChoice *workload, OrrPlace place, OrrDiags *diags) {
  if (workload->entry != &orr_training_kind.entry) return;
  const OrrTraining *params = workload->params;
  if (params->checkpoint.every > params->steps)
    orr_diags_error(diags, orr_node_place_in(place, "checkpoint"),
                    "checkpoint.every is %ld and workload.steps %ld: no step writes a checkpoint; "
                    "set workload.steps to %ld or a multiple",
                    params->checkpoint.every, params->steps, params->checkpoint.every);
}

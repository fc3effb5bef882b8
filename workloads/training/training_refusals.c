/*
 * training_refusals - rules across sections: sharding with experts and schedules, overlapped
 * tensor parallelism inside scale-up domains, offloading with hosts and schedules.
 *
 * Each rule is a framework's, or the limit of what is modelled; its sentence says which.
 */
#include "workloads/training/training_compile.h"

#include "workloads/training/job/training_job.h"
#include "workloads/training/job/training_offload.h"

/* --- sharding --- */

static gboolean orders_ep_after_dp(const OrrTraining *params) {
  const gint64 ones[ORR_N_AXES] = {1, 1, 1, 1};
  OrrPlacement placement;
  return orr_placement_init(&placement, params->parallel.order, ones, NULL) &&
         placement.ep_after_dp;
}

/* One copy of the model, on plan->ranks * tp ranks, must hold all experts, and no expert group may
 * span two copies. */
static char *refuse_experts(const OrrTraining *params, const OrrModel *model,
                            const OrrShardingKind *kind, const OrrShardingPlan *plan,
                            const OrrShardingShape *shape) {
  const gint64 etp = orr_job_shard(params, model).etp, ep = params->parallel.ep,
               copy = plan->ranks * params->parallel.tp;
  if (kind->refuses_expert_parallel && ep > 1)
    return g_strdup_printf(
        "optimizer.sharding %s does not work with expert parallelism (ep is %ld): %s",
        kind->entry.name, ep, kind->refuses_expert_parallel);
  if (plan->ranks == 1 || plan->ranks == shape->ranks) return NULL;
  if (orders_ep_after_dp(params))
    return g_strdup_printf(
        "optimizer.sharding %s keeps each copy of the model on %ld consecutive ranks, but "
        "parallel.order (%s) has ep after dp: expert groups would span "
        "copies",
        kind->entry.name, copy, params->parallel.order);
  if (copy % (etp * ep) == 0) return NULL;
  return g_strdup_printf(
      "optimizer.sharding %s: the %ld * %ld ranks of one copy (group * tp) cannot be divided by "
      "etp * ep (%ld * %ld): expert groups would span copies",
      kind->entry.name, plan->ranks, params->parallel.tp, etp, ep);
}

static char *refuse_offloaded_masters(const OrrTraining *params) {
  if (params->offload.optimizer <= 0 || params->optimizer.master == 0) return NULL;
  return g_strdup("offload.optimizer keeps master weights in fp32 on the host, but "
                  "optimizer.master is weights: set it to fp32");
}

static char *refuse_offloaded_alone(const OrrTraining *params, const OrrShardingPlan *sharding) {
  if (!sharding->master_alone || params->offload.optimizer <= 0 || params->offload.parameters)
    return NULL;
  return g_strdup_printf(
      "offload.optimizer (%g) without offload.parameters does not exist with optimizer.sharding "
      "%s: the fp32 shard that the optimizer updates is the rank's only shard of the weights, and "
      "CPUOffloadPolicy moves both at once: set offload.parameters: true and offload.optimizer: 1",
      params->offload.optimizer, params->optimizer.sharding.entry->name);
}

static char *refuse_offloaded_parameters(const OrrTraining *params,
                                         const OrrShardingPlan *sharding) {
  const char *name = params->optimizer.sharding.entry->name;
  if (!params->offload.parameters) return NULL;
  if (params->offload.optimizer < 1 && !params->evaluation)
    return g_strdup_printf(
        "offload.parameters needs offload.optimizer: 1, but it is %g: DeepSpeed offloads "
        "parameters only with the optimizer, and FSDP both at once",
        params->offload.optimizer);
  if (!sharding->weights)
    return g_strdup_printf(
        "offload.parameters needs sharded weights, but with optimizer.sharding %s each rank holds "
        "all: use zero-3, fsdp or hsdp",
        name);
  if (sharding->by_tensor)
    return g_strdup_printf(
        "offload.parameters is not modelled with by-tensor of optimizer.sharding %s", name);
  if (sharding->ranks > 1) return NULL;
  return g_strdup_printf("offload.parameters is modelled only where weights are sharded over two "
                         "ranks or more, but optimizer.sharding %s has one (dp * cp is 1)",
                         name);
}

/* A schedule that holds the model twice reduces after the step: nothing may run during it. */
static char *refuse_second_model(const OrrTraining *params, const OrrShardingShape *shape,
                                 const OrrShardingPlan *plan) {
  if (shape->models == 1) return NULL;
  if (!plan->weights && !plan->gradients && !plan->overlap && !plan->gather_beside_forward)
    return NULL;
  return g_strdup_printf("optimizer.sharding %s does not work with %s, which holds the model twice "
                         "and reduces after the "
                         "step; use none, zero-1 or distributed-optimizer without overlaps",
                         params->optimizer.sharding.entry->name, params->pipeline.entry->name);
}

char *orr_training_refusals_sharding(const OrrTraining *params, const OrrModel *model,
                                     const OrrCluster *cluster) {
  const OrrShardingKind *kind = (const OrrShardingKind *)params->optimizer.sharding.entry;
  if (!kind || !params->pipeline.entry) return NULL; /* reported at their own fields */
  const gint64 dp = orr_job_replicas(params, orr_cluster_n_gpus(cluster));
  const OrrShardingShape shape = orr_job_sharding_shape(params, cluster, dp);
  char *refusal = kind->refuse ? kind->refuse(params->optimizer.sharding.params, &shape) : NULL;
  if (refusal) return refusal;
  OrrShardingPlan plan;
  kind->plan(params->optimizer.sharding.params, &shape, &plan);
  refusal = refuse_offloaded_masters(params);
  if (!refusal) refusal = refuse_offloaded_alone(params, &plan);
  if (!refusal) refusal = refuse_offloaded_parameters(params, &plan);
  if (!refusal && model->moe.experts > 0)
    refusal = refuse_experts(params, model, kind, &plan, &shape);
  return refusal ? refusal : refuse_second_model(params, &shape, &plan);
}

/* --- overlapped tensor parallelism --- */

/* Whether the first tensor-parallel group has ranks that NVLink does not connect. */
static gboolean leaves_domain(const OrrTraining *params, const OrrCluster *cluster) {
  const OrrParallel *p = &params->parallel;
  const gint64 dp = orr_job_replicas(params, orr_cluster_n_gpus(cluster));
  const gint64 sizes[ORR_N_AXES] = {
      [ORR_AXIS_TP] = p->tp, [ORR_AXIS_CP] = p->cp, [ORR_AXIS_DP] = dp, [ORR_AXIS_PP] = p->pp};
  g_autofree gint64 *gpus = g_new(gint64, p->tp);
  OrrPlacement placement;
  if (!orr_placement_init(&placement, p->order, sizes, NULL)) return FALSE; /* reported there */
  const gint64 first[ORR_N_AXES] = {0};
  orr_placement_group(&placement, ORR_AXIS_TP, first, gpus);
  for (gint64 i = 1; i < p->tp; i++)
    if (gpus[i] / cluster->node.scale_up_domain != gpus[0] / cluster->node.scale_up_domain)
      return TRUE;
  return FALSE;
}

char *orr_training_refusals_overlap(const OrrTraining *params, const OrrCluster *cluster) {
  const OrrTpOverlapKind *kind = (const OrrTpOverlapKind *)params->parallel.tp_comm_overlap.entry;
  const OrrParallel *p = &params->parallel;
  if (!kind || (!kind->gather && !kind->scatter) || p->tp == 1) return NULL;
  if (!p->sequence_parallel)
    return g_strdup_printf("parallel.tp-comm-overlap %s (tp is %ld) needs sequence-parallel: true: "
                           "it splits gathers and scatters, not "
                           "all-reduces",
                           kind->entry.name, p->tp);
  if (leaves_domain(params, cluster))
    return g_strdup_printf("parallel.tp-comm-overlap %s writes to peers over NVLink: tp (%ld, "
                           "order %s) must stay inside a scale-up domain of %ld GPUs",
                           kind->entry.name, p->tp, p->order, cluster->node.scale_up_domain);
  return NULL;
}

/* --- offloading --- */

/* Offloaded activations return for one backward. One that is split in two would need them twice. */
static gboolean splits_backwards(const OrrPipelineKind *schedule, const OrrPipelineShape *shape) {
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  schedule->steps(shape, 0, steps);
  ORR_EACH(const OrrPipelineStep, step, steps) {
    const int kind = step->kind;
    if (kind != ORR_STEP_FORWARD && kind != ORR_STEP_BACKWARD) return TRUE;
  }
  return FALSE;
}

char *orr_training_refusals_offload(const OrrTraining *params, const OrrCluster *cluster,
                                    const OrrPipelineShape *shape) {
  const OrrOffload *offload = &params->offload;
  const OrrPipelineKind *schedule = (const OrrPipelineKind *)params->pipeline.entry;
  if (!orr_training_offload_is_on(params)) return NULL;
  if (!(cluster->node.host.memory_bytes > 0))
    return g_strdup_printf("offload (optimizer %g, activations %ld) needs host memory, and cluster "
                           "%s does not say that its nodes have "
                           "any: set cluster.node.host.memory and memory-bandwidth",
                           offload->optimizer, offload->activations, cluster->name);
  if (offload->optimizer > 0 && orr_pipeline_n_directions(schedule) > 1)
    return g_strdup_printf("offload.optimizer does not work with %s, which holds the model twice: "
                           "use another schedule",
                           schedule->entry.name);
  if (offload->activations > 0 && splits_backwards(schedule, shape))
    return g_strdup_printf("offload.activations does not work with %s, which splits backwards in "
                           "two: activations that return for one half would have to stay for the "
                           "other; use 1f1b, interleaved-1f1b or gpipe",
                           schedule->entry.name);
  return NULL;
}

static gint64 largest(const gint64 *layers, gint64 n_blocks) {
  gint64 most = 0;
  for (gint64 b = 0; b < n_blocks; b++) most = MAX(most, layers[b]);
  return most;
}

char *orr_training_refusals_offloaded_layers(const OrrTraining *params, const gint64 *layers,
                                             gint64 n_blocks) {
  const gint64 most = largest(layers, n_blocks);
  if (params->offload.activations <= most) return NULL;
  return g_strdup_printf(
      "offload.activations is %ld layers of each chunk, and the largest chunk has %ld",
      params->offload.activations, most);
}

char *orr_training_refusals_recomputed_layers(const OrrTraining *params, const gint64 *layers,
                                              gint64 n_blocks) {
  const gint64 most = largest(layers, n_blocks);
  if (params->recompute != ORR_RECOMPUTE_FULL ||
      params->recompute_method != ORR_RECOMPUTE_UNIFORM || params->recompute_layers <= most)
    return NULL;
  return g_strdup_printf("recompute-layers is %ld layers from one input (recompute-method "
                         "uniform), and the largest chunk "
                         "has %ld",
                         params->recompute_layers, most);
}

/*
 * serving_compile.c - a checked scenario as the work of a fleet: its groups, their replicas and
 * GPUs, and the arrays that a run fills.
 */
#include "workloads/serving/fleet/fleet.h"

#include "workloads/serving/fleet/fleet_private.h"
#include "workloads/serving/tasks/task_run.h"
#include "workloads/serving/transfers/serving_paths.h"

static void add_group(OrrServingWork *work, const OrrServing *params, guint g, gint64 first_gpu) {
  const OrrWorld *world = work->world;
  const OrrServing own = orr_serving_groups_params(params, g, world->cluster);
  const OrrCluster cluster = orr_serving_groups_cluster(params, g, world->cluster);
  const OrrModel model = orr_serving_groups_model(params, g, world->model);
  const OrrServingMemory memory = orr_serving_memory_of(&own, &model, &cluster);
  const OrrServedGroup group = {.params = own,
                                .cluster = cluster,
                                .model = model,
                                .first = work->params.replicas,
                                .first_gpu = first_gpu,
                                .gpus = orr_serving_parallel_gpus(&own.parallel),
                                .feed_bytes = orr_feed_pool_bytes(&own, &model),
                                .n_blocks = memory.blocks,
                                .weight_bytes = memory.weights,
                                .kv_bytes_per_token = memory.kv_per_token,
                                .activation_bytes = memory.activations,
                                .state_bytes = memory.state + memory.ring,
                                .adapter_bytes = memory.adapter,
                                .kv_layout = memory.layout};
  g_array_append_val(work->groups, group);
  work->params.replicas += own.replicas;
  if (!orr_serving_groups_shares(params, g)) work->work.n_gpus += own.replicas * group.gpus;
  work->window.places += own.replicas * own.parallel.dp_attention * own.engine.max_num_seqs;
  work->longest = MIN(work->longest, MIN(memory.room, orr_serving_memory_longest(&own, &model)));
  work->replicas = g_renew(OrrServedReplica, work->replicas, work->params.replicas);
  for (gint64 i = group.first; i < work->params.replicas; i++)
    work->replicas[i] = (OrrServedReplica){.group = g};
}

static OrrServingWork *work_new(const OrrServing *params, const OrrWorld *world) {
  OrrServingWork *work = g_new0(OrrServingWork, 1);
  work->work = (OrrWork){.kind = &orr_serving_kind,
                         .fidelity = world->fidelity == ORR_FIDELITY_FULL ? ORR_FIDELITY_FULL
                                                                          : ORR_FIDELITY_FOLDED};
  work->params = *params;
  work->params.replicas = 0;
  work->own_world = *world;
  work->world = &work->own_world;
  work->longest = orr_serving_memory_longest(params, world->model);
  work->requests = g_array_new(FALSE, FALSE, sizeof(OrrServedRequest));
  work->unserved = g_array_new(FALSE, FALSE, sizeof(OrrUnserved));
  work->steps = g_array_new(FALSE, FALSE, sizeof(OrrServingStepRow));
  work->gaps = g_array_new(FALSE, FALSE, sizeof(OrrTokenGap));
  work->turns = g_array_new(FALSE, FALSE, sizeof(OrrServingTurnRow));
  work->tasks = g_array_new(FALSE, FALSE, sizeof(OrrServingTaskRow));
  work->task_steps = g_array_new(FALSE, FALSE, sizeof(OrrServingTaskStepRow));
  work->task_pools = g_array_new(FALSE, FALSE, sizeof(OrrServingTaskPoolRow));
  if (params->metrics.step_rows > 0) work->power = orr_power_time_new();
  work->groups = g_array_new(FALSE, FALSE, sizeof(OrrServedGroup));
  g_autofree gint64 *first = g_new(gint64, orr_serving_n_groups(params));
  orr_serving_groups_place(params, world->cluster, first);
  for (guint g = 0; g < orr_serving_n_groups(params); g++) add_group(work, params, g, first[g]);
  work->first_encoder = work->work.n_gpus;
  work->first_task_gpu = work->first_encoder + params->encoders.replicas;
  work->work.n_gpus = work->first_task_gpu + orr_tasks_gpus(&params->tasks, G_MAXUINT);
  return work;
}

OrrWork *orr_serving_compile(const void *data, const OrrWorld *world, GError **error) {
  OrrServingWork *work = work_new(data, world);
  if (orr_serving_paths_plan(work, error)) return &work->work;
  orr_work_free(&work->work);
  return NULL;
}

void orr_serving_compile_free(OrrWork *base) {
  OrrServingWork *work = (OrrServingWork *)base;
  orr_fleet_free(work->fleet);
  orr_serving_paths_free(work->paths);
  g_array_unref(work->requests);
  g_array_unref(work->unserved);
  g_array_unref(work->steps);
  g_array_unref(work->gaps);
  g_array_unref(work->turns);
  g_array_unref(work->tasks);
  g_array_unref(work->task_steps);
  g_array_unref(work->task_pools);
  g_free(work->power);
  g_array_unref(work->groups);
  ORR_FREE(work->replicas, work->missing, work->left_out, work);
}

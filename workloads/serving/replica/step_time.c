/*
 * step_time.c - how long a step of a replica takes: on its GPUs, on its host, and moving what the
 * batch needs before it begins. For tiers below host memory it waits: stations/cache_tiers.c.
 *
 *   host = (step + sequence * sequences) / speed of the node's CPU
 *          + time slice * (threads of all servers of the node per core - 1)
 *   GPUs = kernels + sampling * sequences, where requests sample from the likeliest tokens
 *   step = GPUs + host, with asynchronous scheduling max(GPUs + exposed * host, host)
 *   move = bytes of swapped requests, of blocks in host memory and of adapters / host link
 *          + 2 * copied bytes / memory bandwidth       (copy-on-write)
 */
#include "workloads/serving/cost/serving_joules.h"
#include "workloads/serving/replica/serving_run.h"

static const OrrServedGroup *alike_of(const OrrServingRun *run, guint group) {
  return &g_array_index(run->work->groups, OrrServedGroup, group);
}

static const OrrServingHost *host_of(const OrrServingRun *run, guint group) {
  return &alike_of(run, group)->params.engine.host;
}

OrrStepTime orr_serving_run_model_time(const OrrServingRun *run, guint group,
                                       const OrrStepShape *shape) {
  return run->pools[group] ? orr_serving_pools_step(run->pools[group], shape)
                           : orr_serving_cost_step(run->costs[group], shape);
}

OrrStepTime orr_serving_run_step_time(const OrrServingRun *run, guint group, OrrServingCost *price,
                                      const OrrStepShape *shape) {
  OrrStepTime time =
      price ? orr_serving_cost_step(price, shape) : orr_serving_run_model_time(run, group, shape);
  const OrrStepTime draft = orr_drafter_step(run->drafters[group], shape);
  time.gpu_s += draft.gpu_s;
  time.stage_s += draft.stage_s;
  time.comm_s += draft.comm_s;
  time.attention_s += draft.attention_s;
  orr_joules_add(&time.joules, draft.joules, 1);
  orr_serving_joules_sample(
      run->worlds[group].cost,
      orr_serving_sampling_s(&alike_of(run, group)->params) * shape->sequences, &time);
  return time;
}

/* Where steps are graphs, all ranks pad to the fullest one's size (vLLM,
 * coordinate_batch_across_dp). */
void orr_serving_run_sum_experts(const OrrServingRun *run, guint group, OrrCore *cores,
                                 guint n_cores) {
  const OrrStepShape *fullest = &cores[0].shape;
  double sum = 0;
  for (guint i = 0; i < n_cores; i++) {
    sum += cores[i].shape.tokens;
    if (cores[i].shape.tokens > fullest->tokens) fullest = &cores[i].shape;
  }
  if (orr_serving_cost_pads(run->costs[group], fullest))
    sum = (double)n_cores * (double)orr_serving_cost_padded(run->costs[group], fullest);
  for (guint i = 0; i < n_cores; i++) cores[i].shape.group_tokens = sum;
}

double orr_serving_run_cpu_speed(const OrrServingRun *run, guint group) {
  return alike_of(run, group)->cluster.node.host.cpu_speed;
}

double orr_serving_run_host_seconds(const OrrServingRun *run, guint group, guint sequences) {
  const OrrServingHost *host = host_of(run, group);
  const double each_s =
      host->sequence_s * sequences + orr_drafter_host_s(run->drafters[group], sequences);
  return host->step_s / orr_host_launch_speed(&alike_of(run, group)->cluster.node.host) +
         each_s / orr_serving_run_cpu_speed(run, group) +
         orr_serving_neighbours_s(host, &alike_of(run, group)->cluster);
}

double orr_serving_run_step_seconds(const OrrServingRun *run, guint group, double gpu_s,
                                    double host_s) {
  const OrrServingHost *host = host_of(run, group);
  return host->async ? fmax(gpu_s + host->exposed * host_s, host_s) : gpu_s + host_s;
}

gint64 orr_serving_run_tier_blocks(const OrrServingRun *run, guint group, double bytes) {
  const OrrServedGroup *alike = alike_of(run, group);
  const OrrServingParallel *parallel = &alike->params.parallel;
  const double block = alike->kv_bytes_per_token * (double)alike->params.engine.block_size;
  return block > 0 ? (gint64)floor(bytes / (block * (double)(parallel->tp * parallel->pp))) : 0;
}

double orr_serving_run_sleep_seconds(const OrrServingRun *run, guint group) {
  const OrrServedGroup *alike = alike_of(run, group);
  const double bytes = fmax(alike->weight_bytes, alike->feed_bytes);
  return bytes / orr_cluster_host_copy_bytes_per_s(&alike->cluster);
}

double orr_serving_run_wake_seconds(const OrrServingRun *run, guint group) {
  return alike_of(run, group)->params.start.wake_s + orr_serving_run_sleep_seconds(run, group);
}

double orr_serving_run_move_seconds(const OrrServingRun *run, guint group, const OrrCore *core) {
  const OrrServedGroup *alike = alike_of(run, group);
  const double link = orr_cluster_host_copy_bytes_per_s(&alike->cluster);
  const gint64 tokens = core->swapped_tokens + core->loaded_tokens[ORR_TIER_HOST];
  const double sum_s = tokens > 0 ? (double)tokens * alike->kv_bytes_per_token / link : 0;
  return sum_s + core->host_link_bytes / link;
}

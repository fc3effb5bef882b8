/*
 * tally.c - what a step of a replica takes, and what replicas write down for the fleet:
 * sampled steps and gaps between tokens; and whether the books add up.
 */
#include <math.h>

#include "sim/base/fault.h"
#include "workloads/serving/replica/replica_private.h"

/* Every stride-th step is kept; where there are twice too many, every other one is left: rows
 * stay evenly spaced. */
void orr_fleet_note_step(OrrFleet *fleet, const OrrServedStep *row) {
  const gint64 wanted = fleet->work->params.metrics.step_rows;
  GArray *steps = fleet->work->steps;
  if (wanted == 0 || fleet->seen_steps++ % fleet->step_stride != 0) return;
  OrrServedStep own = *row;
  own.begin_s -= fleet->start_s;
  own.end_s -= fleet->start_s;
  g_array_append_val(steps, own);
  if ((gint64)steps->len < 2 * wanted) return;
  for (guint i = 0; 2 * i < steps->len; i++)
    g_array_index(steps, OrrServedStep, i) = g_array_index(steps, OrrServedStep, 2 * i);
  g_array_set_size(steps, (steps->len + 1) / 2);
  fleet->step_stride *= 2;
}

guint orr_fleet_counts(const OrrFleet *fleet, const OrrRequest *request) {
  return request->arrival_s - fleet->start_s >= fleet->work->params.metrics.warmup_s;
}

double orr_serving_littles_law_error(const OrrServingWork *work) {
  double sum_s = work->failed_s;
  for (guint i = 0; i < work->requests->len; i++) {
    const OrrServedRequest *request = &g_array_index(work->requests, OrrServedRequest, i);
    sum_s += request->end_s - request->arrival_s;
  }
  return sum_s > 0 ? fabs(work->area_request_s / sum_s - 1) : 0;
}

gboolean orr_fleet_check_law(const OrrFleet *fleet, GError **error) {
  const double off = orr_serving_littles_law_error(fleet->work);
  if (off <= 1e-9) return TRUE;
  g_set_error(
      error, ORR_FAULT, ORR_FAULT_INTERNAL,
      "the requests' times do not add up to their number over time (Little's law): %.3g off", off);
  return FALSE;
}

void orr_fleet_note_gaps(OrrFleet *fleet, double gap_s, guint n) {
  if (n == 0) return;
  GArray *gaps = fleet->work->gaps;
  OrrTokenGap *last = gaps->len > 0 ? &g_array_index(gaps, OrrTokenGap, gaps->len - 1) : NULL;
  if (last && last->gap_s == (float)gap_s) {
    last->n += n;
    return;
  }
  const OrrTokenGap row = {(float)gap_s, n};
  g_array_append_val(gaps, row);
}

OrrStepTime orr_fleet_step_time(const OrrFleet *fleet, guint group, const OrrStepShape *shape) {
  OrrStepTime time = orr_serving_cost_step(fleet->costs[group], shape);
  const OrrStepTime draft = orr_drafter_step(fleet->drafters[group], shape);
  time.gpu_s += draft.gpu_s;
  time.stage_s += draft.stage_s;
  time.comm_s += draft.comm_s;
  time.attention_s += draft.attention_s;
  return time;
}

/* Where steps are graphs, all ranks pad to the fullest one's size (vLLM,
 * coordinate_batch_across_dp). */
void orr_fleet_share_experts(const OrrFleet *fleet, guint group, OrrCore *cores, guint n_cores) {
  double sum = 0, most = 0;
  for (guint i = 0; i < n_cores; i++) {
    sum += cores[i].shape.tokens;
    most = fmax(most, cores[i].shape.tokens);
  }
  const OrrEngineParams *engine = &fleet->work->params.engine;
  if (engine->graph_padding && most <= (double)engine->graph_largest)
    sum = (double)n_cores * (double)orr_serving_cost_padded(fleet->costs[group], (gint64)most);
  for (guint i = 0; i < n_cores; i++) cores[i].shape.group_tokens = sum;
}

double orr_fleet_host_seconds(const OrrFleet *fleet, guint group, guint sequences) {
  const OrrServingHost *host = &fleet->work->params.engine.host;
  return host->step_s + host->sequence_s * sequences +
         orr_drafter_host_s(fleet->drafters[group], sequences);
}

static const OrrServedGroup *alike_of(const OrrFleet *fleet, guint group) {
  return &g_array_index(fleet->work->groups, OrrServedGroup, group);
}

gint64 orr_fleet_tier_blocks(const OrrFleet *fleet, guint group, double bytes) {
  const OrrServedGroup *alike = alike_of(fleet, group);
  const OrrServingParallel *parallel = &alike->params.parallel;
  const double block = alike->kv_bytes_per_token * (double)alike->params.engine.block_size;
  return block > 0 ? (gint64)floor(bytes / (block * (double)(parallel->tp * parallel->pp))) : 0;
}

/* Of one rank's bytes; the ranks of a core read beside each other, and share what is not each
 * one's own. */
static double load_seconds(const OrrServedGroup *alike, OrrTier tier, double rank_bytes,
                           double host_link_bytes_per_s) {
  const OrrServing *params = &alike->params;
  const OrrCacheTiers *tiers = &params->engine.tiers;
  switch (tier) {
  case ORR_TIER_HOST:
    return rank_bytes / host_link_bytes_per_s;
  case ORR_TIER_SSD:
    return tiers->ssd_latency_s + rank_bytes * (double)(params->parallel.tp * params->parallel.pp) /
                                      tiers->ssd_bytes_per_s;
  default:
    return tiers->remote_latency_s + rank_bytes / tiers->remote_bytes_per_s;
  }
}

double orr_fleet_swap_seconds(const OrrFleet *fleet, guint group, const OrrCore *core) {
  const OrrServedGroup *alike = alike_of(fleet, group);
  const OrrCluster *cluster = &alike->cluster;
  const double link = cluster->node.host_link_bytes_per_s > 0
                          ? cluster->node.host_link_bytes_per_s
                          : cluster->device.host_link_bytes_per_s;
  double sum_s = core->swapped_tokens > 0
                     ? (double)core->swapped_tokens * alike->kv_bytes_per_token / link
                     : 0;
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    if (core->loaded_tokens[tier] > 0 &&
        !(tier == ORR_TIER_REMOTE && alike->params.engine.tiers.remote_bytes_per_s <= 0))
      sum_s += load_seconds(alike, (OrrTier)tier,
                            (double)core->loaded_tokens[tier] * alike->kv_bytes_per_token, link);
  /* copy-on-write reads and writes a block of HBM (vLLM, csrc/cache_kernels.cu, copy_blocks) */
  sum_s += 2 * (double)(core->copied_blocks * alike->params.engine.block_size) *
           alike->kv_bytes_per_token / cluster->device.memory_bytes_per_s;
  return sum_s + (double)core->loaded_adapters * alike->adapter_bytes / link;
}

/* --- of a replica --- */

void orr_replica_note_step(OrrReplica *replica, double begin_s, double end_s,
                           const OrrStepShape *shape) {
  OrrFleet *fleet = replica->fleet;
  const gint64 waiting = orr_replica_n_waiting(replica);
  guint running = 0;
  for (guint i = 0; i < replica->n_cores; i++) running += replica->cores[i].running->len;
  replica->books->steps++;
  replica->books->used_block_s += (double)replica->used_blocks * (end_s - begin_s);
  replica->books->running_s += (double)running * (end_s - begin_s);
  replica->books->peak_blocks = fmax(replica->books->peak_blocks, (double)replica->used_blocks);
  replica->books->most_running = MAX(replica->books->most_running, (gint64)running);
  const OrrServedStep row = {.replica = replica->index,
                             .begin_s = begin_s,
                             .end_s = end_s,
                             .tokens = (gint32)shape->tokens,
                             .chunk = (gint32)shape->chunk,
                             .decodes = (gint32)shape->decodes,
                             .running = (gint32)running,
                             .waiting = (gint32)waiting,
                             .used_blocks = replica->used_blocks};
  orr_fleet_note_step(fleet, &row);
}

void orr_replica_close_core(OrrReplica *replica, OrrCore *core) {
  replica->books->preemptions += core->preemptions;
  replica->books->hit_tokens += core->hit_tokens;
  replica->books->looked_up_tokens += core->looked_up_tokens;
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    replica->books->tier_tokens[tier] += core->tier_tokens[tier];
  replica->books->adapter_loads += core->adapter_loads;
  replica->books->checks += core->checks;
  replica->books->drafted += core->drafted;
  replica->books->accepted += core->accepted;
  replica->books->evicted_blocks += orr_kv_n_evicted(core->kv);
}

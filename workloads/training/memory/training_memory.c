/*
 * training_memory - puts together what a GPU of each stage holds.
 *
 *   weights, gradients, optimizer    training_state.c
 *   activations, working             training_moments.c: the moment with most
 *   buffers                          tensors sent between stages (training_handover.c), and
 *                                    activations copied to the host
 *   communicators, context, ...      training_overhead.c
 *
 * Invariant: a stage's peak is its largest moment. PyTorch's allocator neither returns what it has
 * held nor fills it without gaps: fragmentation is a fraction of it, and flat copies come on top
 * (training_overhead.c).
 */
#include "workloads/training/memory/training_memory.h"

#include "workloads/training/job/training_offload.h"

/* Buffers for activations being copied to the host and back, each as large as the largest. */
static double stash_buffers(const OrrJob *job, gint64 stage, double in_host) {
  double largest = 0;
  for (gint64 chunk = 0; chunk < job->shape.chunks && in_host > 0; chunk++) {
    const GArray *layers = orr_job_layers(job, stage, chunk);
    for (guint i = 0; i < layers->len; i++)
      if (orr_training_offload_takes(job, layers, i))
        largest = MAX(largest, orr_training_kept_bytes(job, layers, i));
  }
  return MIN(2 * ORR_STASH_BUFFERS * largest, in_host);
}

static double moment_bytes(const OrrMemoryMoment *moment) {
  return moment->activations + moment->working + moment->gradients;
}

/* Fills in the stage's largest moment, and returns its index. */
static guint fill_peak(const GArray *moments, guint from, OrrStageMemory *row) {
  guint peak = from;
  double most = 0;
  for (guint i = from; i < moments->len; i++) {
    const OrrMemoryMoment *moment = &g_array_index(moments, OrrMemoryMoment, i);
    if (moment_bytes(moment) <= most) continue;
    most = moment_bytes(moment);
    row->activations = moment->activations;
    row->working = moment->working;
    row->moving_gradients = moment->gradients;
    peak = i;
  }
  row->gradients += row->moving_gradients;
  return peak;
}

/* @ret_peak: which moment, from @from on. */
static OrrStageMemory stage_memory(const OrrJob *job, gint64 stage, const GArray *moments,
                                   guint from, guint *ret_peak) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  const double in_host = orr_training_offload_optimized(job, weights);
  const double optimized = orr_job_optimized(job, weights) - in_host,
               held = orr_training_state_weights(job, weights) +
                      orr_training_state_reference(job, weights);
  const double held_in_host = job->params->offload.parameters ? held : 0;
  const double stashed = orr_training_moments_host_bytes(job, stage);
  OrrStageMemory row = {
      .stage = stage,
      .weights = held - held_in_host + orr_training_state_gathered(job, stage),
      .gradients = orr_training_state_reduced(job, weights, in_host) * job->gradient_bytes_each,
      .optimizer = orr_training_state_optimizer(job, optimized),
      .host = held_in_host + orr_training_state_optimizer(job, in_host) +
              in_host * job->gradient_bytes_each + stashed,
  };
  if (job->params->evaluation) row.gradients = row.optimizer = 0;
  const guint peak = fill_peak(moments, from, &row);
  const gint64 received = g_array_index(moments, OrrMemoryMoment, peak).received;
  const OrrHandoverBytes handover = orr_handover_bytes_of(job, stage, received);
  const double passing = handover.passing + stash_buffers(job, stage, stashed);
  row.buffers = passing + handover.standing;
  orr_training_overhead_fill(job, optimized, row.gradients, &row);
  row.flat_copies += handover.merged;
  row.fragmentation =
      orr_training_overhead_gaps(job->params, row.activations + row.working + passing);
  *ret_peak = peak - from;
  return row;
}

void orr_training_memory(const OrrJob *job, const OrrMemoryRows *rows) {
  g_autoptr(GArray) moments = rows->moments ? g_array_ref(rows->moments)
                                            : g_array_new(FALSE, FALSE, sizeof(OrrMemoryMoment));
  for (gint64 stage = 0; stage < job->pp; stage++) {
    if (!rows->moments) g_array_set_size(moments, 0); /* one stage's are enough */
    const guint from = moments->len;
    orr_training_moments_append(job, stage, moments);
    guint peak = 0;
    const OrrStageMemory row = stage_memory(job, stage, moments, from, &peak);
    if (rows->activations) orr_training_activations(job, stage, peak, rows->activations);
    g_array_append_val(rows->stages, row);
  }
}

/* Adds up the GPUs of each node, whichever stages they run. */
double orr_training_memory_host_peak(const OrrJob *job, const GArray *stages) {
  const gint64 ranks = orr_job_replica_ranks(job) * job->dp;
  const OrrFabric *fabric = job->world->fabric;
  double peak = 0;
  if (!orr_training_offload_is_on(job->params)) return 0;
  g_autofree double *nodes = g_new0(double, orr_cluster_n_nodes(job->world->cluster));
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (gint64 rank = 0; rank < ranks; rank++) {
      double *node = &nodes[orr_fabric_node(fabric, orr_job_gpu(job, stage, rank))];
      *node += g_array_index(stages, OrrStageMemory, stage).host;
      peak = MAX(peak, *node);
    }
  return peak;
}

gboolean orr_training_memory_footprint(const void *params, const OrrWorld *world,
                                       OrrFootprint *ret_footprint) {
  g_autoptr(GArray) stages = g_array_new(FALSE, FALSE, sizeof(OrrStageMemory));
  OrrFootprint footprint = {0};
  OrrJob job;
  const gboolean is_job = orr_job_init(&job, params, world, NULL);
  if (is_job) {
    orr_training_memory(&job, &(OrrMemoryRows){stages, NULL, NULL});
    footprint.host_bytes = orr_training_memory_host_peak(&job, stages);
  }
  ORR_EACH(OrrStageMemory, memory, stages)
    footprint.gpu_bytes = MAX(footprint.gpu_bytes, orr_stage_memory_total(memory));
  orr_job_clear(&job);
  if (is_job) *ret_footprint = footprint;
  return is_job;
}

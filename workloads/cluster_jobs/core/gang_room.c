/*
 * gang_room.c - what fits: the limits of queues first, then CPUs and memory of the cluster, then
 * the nodes of one kind after the other.
 */
#include "workloads/cluster_jobs/core/gang_state.h"

static gboolean place(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job) {
  const OrrGangPlacement *placement = sim->rules->placement;
  OrrGangBins seen = *bins;
  seen.map = sim->rules->map;
  seen.popular = sim->popular;
  return placement->place(&seen, job, sim->rules->placement_params, sim->shares);
}

static gboolean fits_kind(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job,
                          guint kind) {
  const guint first = sim->first_bins[kind];
  OrrGangBins view = {.n = sim->kinds[kind].n_nodes,
                      .size = sim->kinds[kind].gpus_per_node,
                      .n_free = bins->n_free,
                      .free = bins->free + first};
  if (sim->n_kinds > 1) view.n_free = orr_gang_bins_free(&view, 0, view.n);
  if (job->gpus > view.n_free || !place(sim, &view, job)) return FALSE;
  ORR_EACH(OrrGangShare, share, sim->shares) share->bin += first;
  return TRUE;
}

gboolean orr_gang_room_on_nodes(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job) {
  if (job->gpus > bins->n_free) return FALSE;
  if (sim->n_kinds == 1) {
    if (sim->rules->placement->by_room && !orr_gang_bins_has_room(bins, job->gpus)) return FALSE;
    return place(sim, bins, job);
  }
  guint kinds[ORR_GANG_KINDS];
  const guint n = orr_gang_kinds_of(sim, job, kinds);
  for (guint i = 0; i < n; i++)
    if (fits_kind(sim, bins, job, kinds[i])) return TRUE;
  return FALSE;
}

/* --- Queues --- */

gboolean orr_gang_room_has_resources(const OrrGangQueues *tree, const OrrGangJob *job) {
  const OrrGangQueue *root = &tree->all[0];
  const double *capacity = tree->capacity;
  if (capacity[ORR_GANG_CPUS] > 0 &&
      root->resources[ORR_GANG_CPUS] + job->cpus > capacity[ORR_GANG_CPUS])
    return FALSE;
  return !(capacity[ORR_GANG_MEMORY] > 0 &&
           root->resources[ORR_GANG_MEMORY] + job->memory_bytes > capacity[ORR_GANG_MEMORY]);
}

/* A suspended gang goes on where it was. */
static gboolean fits_again(OrrGangSim *sim, const OrrGangRoom *room, const OrrGangJob *job) {
  ORR_EACH(const OrrGangShare, share, job->shares)
    if (room->bins->free[share->bin] < share->gpus) return FALSE;
  g_array_set_size(sim->shares, 0);
  g_array_append_vals(sim->shares, job->shares->data, job->shares->len);
  return orr_gang_queues_admit(room->tree, job->queue_index, job->kind, job->gpus, TRUE);
}

gboolean orr_gang_room_fits(OrrGangSim *sim, const OrrGangRoom *room, const OrrGangJob *job,
                            gboolean borrows) {
  guint kinds[ORR_GANG_KINDS];
  if (!sim->tree.all) return orr_gang_room_on_nodes(sim, room->bins, job);
  if (!orr_gang_room_has_resources(room->tree, job)) return FALSE;
  if (job->is_suspended) return fits_again(sim, room, job);
  const guint n = orr_gang_kinds_of(sim, job, kinds);
  for (guint i = 0; i < n; i++)
    if (orr_gang_queues_admit(room->tree, job->queue_index, kinds[i], job->gpus, borrows) &&
        fits_kind(sim, room->bins, job, kinds[i]))
      return TRUE;
  return FALSE;
}

gboolean orr_gang_room_fits_now(OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangRoom now = {&sim->tree, &sim->bins};
  return orr_gang_room_fits(sim, &now, job, TRUE);
}

/*
 * gang_pace.c - paces of running jobs, from their places and their neighbours (gang_speed.h).
 */
#include "workloads/cluster_jobs/core/gang_state.h"

/* Calls for each leaf that @job is in, once. */
typedef void (*OnLeaf)(OrrGangSpeed *speed, const OrrGangJob *job, guint leaf, void *user);
static void each_leaf(OrrGangSpeed *speed, const OrrGangJob *job, OnLeaf call, void *user) {
  const guint *leaf_of = speed->map->part_of[ORR_GANG_LEAF];
  for (guint i = 0; i < job->shares->len; i++) {
    const guint leaf = leaf_of[g_array_index(job->shares, OrrGangShare, i).bin];
    gboolean is_known = FALSE;
    for (guint k = 0; k < i && !is_known; k++)
      is_known = leaf_of[g_array_index(job->shares, OrrGangShare, k).bin] == leaf;
    if (!is_known) call(speed, job, leaf, user);
  }
}

static void add_load(OrrGangSpeed *speed, const OrrGangJob *job, guint leaf, void *user) {
  speed->loads[leaf] += job->pace->uplink;
  speed->crossing[leaf]++;
}

/* The bandwidth that the others of a leaf leave, at least an equal part. */
static void take_free(OrrGangSpeed *speed, const OrrGangJob *job, guint leaf, void *user) {
  double *free = user;
  const double others = speed->loads[leaf] - job->pace->uplink;
  *free = fmin(*free, fmax(1 - others, 1.0 / speed->crossing[leaf]));
}

static void load_leaves(OrrGangSim *sim) {
  OrrGangSpeed *speed = sim->rules->speed;
  const guint n = speed->map->n_parts[ORR_GANG_LEAF];
  memset(speed->loads, 0, sizeof *speed->loads * n);
  memset(speed->crossing, 0, sizeof *speed->crossing * n);
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) {
    if (!job->pace) job->pace = orr_gang_speed_pace(speed, job);
    if (job->pace->uplink > 0) each_leaf(speed, job, add_load, NULL);
  }
}

/* From now on its place makes its work take @slow times as long; its end moves. */
static void change_pace(OrrGangSim *sim, OrrGangJob *job, double slow) {
  const gint64 left_us = orr_gang_job_left_us(job, sim->now_us);
  orr_gang_sim_book(sim, job);
  job->slow = slow;
  job->end_us = sim->now_us + llround((double)left_us * slow / job->rate);
}

void orr_gang_pace(OrrGangSim *sim) {
  OrrGangSpeed *speed = sim->rules->speed;
  gboolean has_changed = FALSE;
  load_leaves(sim);
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) {
    double free = 1;
    if (job->pace->uplink > 0) each_leaf(speed, job, take_free, &free);
    const double slow = orr_gang_speed_slow(job->pace, free);
    if (slow == job->slow) continue;
    change_pace(sim, job, slow);
    has_changed = TRUE;
  }
  if (has_changed) orr_gang_sim_sort_running(sim);
}

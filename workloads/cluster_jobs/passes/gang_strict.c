/*
 * gang_strict.c - the pass of one queue: starts what fits, in order. A job that does not fit ends
 * the pass (blocked: wait), or is passed over (skip).
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

static void run(OrrGangSim *sim) {
  const gboolean skips = sim->rules->blocked == ORR_BLOCKED_SKIP;
  const guint most = sim->rules->depth > 0 ? sim->rules->depth : G_MAXUINT;
  guint kept = 0, i = 0;
  for (; i < sim->waiting->len && sim->bins.n_free > 0 && i < most; i++) {
    OrrGangJob *job = sim->waiting->pdata[i];
    if (orr_gang_room_fits_now(sim, job))
      orr_gang_sim_start(sim, job);
    else if (skips)
      sim->waiting->pdata[kept++] = job;
    else
      break;
  }
  if (i > kept) g_ptr_array_remove_range(sim->waiting, kept, i - kept);
}

const OrrGangPass orr_gang_strict = {.key = "policy.blocked", .applies = ORR_WITH_ANY, .run = run};

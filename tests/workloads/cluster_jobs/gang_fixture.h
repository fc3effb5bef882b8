/*
 * gang_fixture.h - jobs, rules and sets of failures that the tests of clusters of jobs share.
 */
#pragma once

#include <math.h>

#include "workloads/cluster_jobs/cluster_jobs.h"

enum { N_NODES = 8, N_GPUS = 4 };

static inline OrrGangJob *job_at(const GArray *jobs, guint i) {
  return &g_array_index(jobs, OrrGangJob, i);
}

static inline void jobs_free(GArray *jobs) {
  for (guint i = 0; i < jobs->len; i++) g_clear_pointer(&job_at(jobs, i)->shares, g_array_unref);
  g_array_unref(jobs);
}

static inline OrrGangJob job_of(gint64 number, double submit_s, double work_s, gint64 gpus) {
  return (OrrGangJob){.id = "",
                      .user = "",
                      .queue = "",
                      .model = "",
                      .number = number,
                      .submit_us = llround(submit_s * ORR_GANG_US_PER_S),
                      .work_us = llround(work_s * ORR_GANG_US_PER_S),
                      .restart_us = -1,
                      .checkpoint_us = -1,
                      .gpus = gpus};
}

static inline const void *find(const OrrRegistry *registry, const char *name) {
  return orr_registry_find(registry, name);
}

static inline OrrGangRules rules_of(const char *placement, guint n_nodes) {
  return (OrrGangRules){.order = find(&orr_gang_order_registry, "fifo"),
                        .placement = find(&orr_gang_placement_registry, placement),
                        .blocked = ORR_BLOCKED_SKIP,
                        .n_nodes = n_nodes,
                        .gpus_per_node = N_GPUS};
}

/* One process; free it with set_free. */
static inline OrrFailures *set_new(OrrFailureProcess process, OrrFailureLemons lemons) {
  OrrFailures *set = g_new0(OrrFailures, 1);
  process.component = (char *)"part";
  set->processes = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(set->processes, g_memdup2(&process, sizeof process));
  set->lemons = lemons;
  return set;
}

static inline void set_free(OrrFailures *set) {
  g_ptr_array_unref(set->processes);
  g_free(set);
}

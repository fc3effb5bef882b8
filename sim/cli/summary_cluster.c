/*
 * summary_cluster.c - the lines of a cluster of jobs.
 */
#include "sim/cli/summary_cluster.h"

#include <math.h>
#include <string.h>

#include "sim/cli/show.h"
#include "sim/cli/summary_cluster_more.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

/* "1,234 s" or "20.6 h": hours from two on. Newly allocated. */
static char *time_text(double time_s) {
  return time_s >= 7200 ? g_strdup_printf("%.1f h", time_s / 3600)
                        : g_strdup_printf("%.0f s", time_s);
}

static void add_times(GString *out, const char *label, const OrrLatencies *times) {
  g_autofree char *mean = isnan(times->mean) ? g_strdup("not stated") : time_text(times->mean),
                  *p50 = time_text(times->p50), *p95 = time_text(times->p95),
                  *p99 = time_text(times->p99);
  g_string_append_printf(out, "  %-12s  mean %s, p50 %s, p95 %s, p99 %s\n", label, mean, p50, p95,
                         p99);
}

static void add_policy(GString *out, const OrrScenario *scenario) {
  const OrrClusterPolicy *policy = &((const OrrClusterJobs *)scenario->workload.params)->policy;
  if (policy->rounds.length_s > 0) {
    g_string_append_printf(out, "  %-12s  rounds of %g min, %s\n", "policy",
                           policy->rounds.length_s / 60, policy->rounds.allotment.entry->name);
    return;
  }
  g_string_append_printf(out, "  %-12s  %s, %s, %s", "policy", policy->order.entry->name,
                         policy->placement.entry->name,
                         policy->blocked == ORR_BLOCKED_SKIP ? "skips what does not fit"
                                                             : "strict");
  if (policy->backfill != ORR_BACKFILL_NONE)
    g_string_append_printf(out, ", %s backfill", orr_backfill_words[policy->backfill]);
  const guint n_queues = policy->queues->len;
  if (n_queues > 0) g_string_append_printf(out, ", %u queue%s", n_queues, n_queues == 1 ? "" : "s");
  g_string_append_c(out, '\n');
}

static void add_sizes(GString *out, const OrrOutcome *outcome) {
  g_string_append_printf(out, "  %-12s  %8s %8s %11s %11s %11s %11s\n", "by gang", "GPUs", "jobs",
                         "GPU-hours", "wait mean", "wait p95", "wait p99");
  for (guint i = 0; i < outcome->cluster_sizes->len; i++) {
    const OrrClusterSizeRow *row = &g_array_index(outcome->cluster_sizes, OrrClusterSizeRow, i);
    if (strcmp(row->grouping, "gpus") != 0) continue;
    g_autofree char *mean = time_text(row->wait.mean), *p95 = time_text(row->wait.p95),
                    *p99 = time_text(row->wait.p99);
    g_string_append_printf(out, "  %-12s  %8s %8" G_GINT64_FORMAT " %11.0f %11s %11s %11s\n", "",
                           row->name, row->n_jobs, row->gpu_hours, mean, p95, p99);
  }
}

void orr_summary_cluster(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrClusterResult *r = &outcome->result.cluster;
  g_autofree char *gpus = orr_show_gpus(r->n_gpus), *jobs = orr_show_count(r->n_jobs),
                  *makespan = time_text(r->makespan_s);
  g_string_append_printf(out, "  %-12s  %s (%s) of %s\n", "machine", gpus,
                         scenario->cluster.device.name, scenario->cluster.name);
  add_policy(out, scenario);
  g_string_append_printf(out, "  %-12s  %s in %s", "jobs", jobs, makespan);
  if (!isnan(r->offered_load)) g_string_append_printf(out, ", offered load %.2f", r->offered_load);
  g_string_append_c(out, '\n');
  add_times(out, "completion", &r->jct);
  add_times(out, "wait", &r->wait);
  add_sizes(out, outcome);
  g_string_append_printf(
      out,
      "  %-12s  %.1f %% held by jobs, %.1f %% idle while jobs wait; %" G_GINT64_FORMAT
      " preemptions",
      "GPUs", 100 * r->utilization, 100 * r->idle_while_waiting, r->preemptions);
  if (r->overhead_gpu_hours > 0)
    g_string_append_printf(out, " cost %.0f GPU-hours", r->overhead_gpu_hours);
  g_string_append_c(out, '\n');
  orr_summary_cluster_more(out, scenario, r);
}

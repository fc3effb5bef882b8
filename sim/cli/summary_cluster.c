/*
 * summary_cluster.c - the lines of a cluster of jobs.
 */
#include "sim/bands/band.h"
#include "sim/cli/summary.h"

#include "workloads/cluster_jobs/cluster_jobs.h"

/* "1,234 s" or "20.6 h": hours from two on. */
static const char *time_text(OrrPage *page, double time_s) {
  if (isnan(time_s)) return "-";
  return time_s >= 7200 ? orr_page_text(page, "%.1f h", time_s / 3600)
                        : orr_page_text(page, "%.0f s", time_s);
}

static void add_times(OrrPage *page, const char *label, const OrrLatencies *times) {
  orr_page_line(page, label, "mean %s, p50 %s, p95 %s, p99 %s",
                isnan(times->mean) ? "not stated" : time_text(page, times->mean),
                time_text(page, times->p50), time_text(page, times->p95),
                time_text(page, times->p99));
}

static void add_policy(OrrPage *page, const OrrClusterPolicy *policy) {
  if (policy->rounds.length_s > 0)
    return orr_page_line(page, "policy", "rounds of %g min, %s", policy->rounds.length_s / 60,
                         policy->rounds.allotment.entry->name);
  orr_page_line(page, "policy", "%s, %s, %s", policy->order.entry->name,
                policy->placement.entry->name,
                policy->blocked == ORR_BLOCKED_SKIP ? "skips what does not fit" : "strict");
  if (policy->backfill != ORR_BACKFILL_NONE)
    orr_page_item(page, "%s backfill", orr_backfill_words[policy->backfill]);
  if (policy->queues->len > 0)
    orr_page_item(page, "%s", orr_page_things(page, policy->queues->len, "queue"));
}

/* How far off waits may be, or why nothing says so. */
static void add_bands(OrrPage *page, const OrrOutcome *outcome) {
  static const char *const lines[][2] = {
      {"wait_mean_s", "wait mean"}, {"jct_mean_s", "completion mean"}, {"makespan_s", "makespan"}};
  const char *label = "bands";
  const OrrBandRow *last = orr_bands_row(outcome, "makespan_s");
  if (last && isnan(last->low)) return orr_page_line(page, label, "none: %s", last->reason);
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
    const OrrBandRow *row = orr_bands_row(outcome, lines[i][0]);
    if (!row) continue;
    orr_page_line(page, label, "%-15s  %s to %s", lines[i][1], time_text(page, row->low),
                  time_text(page, row->high));
    label = "";
  }
  if (last) orr_page_more(page, "; %s: %s", last->quality, last->reason);
}

static void add_sizes(OrrPage *page, const OrrOutcome *outcome) {
  orr_page_line(page, "by gang", "%8s %8s %11s %11s %11s %11s", "GPUs", "jobs", "GPU-hours",
                "wait mean", "wait p95", "wait p99");
  ORR_EACH(const OrrClusterSizeRow, row, outcome->cluster_sizes) {
    if (strcmp(row->grouping, "gpus") != 0) continue;
    orr_page_line(page, "", "%8s %8ld %11.0f %11s %11s %11s", row->name, row->n_jobs,
                  row->gpu_hours, time_text(page, row->wait.mean), time_text(page, row->wait.p95),
                  time_text(page, row->wait.p99));
  }
}

/* GPU-hours of the row @what of the view hours. */
static double hours_of(const OrrOutcome *outcome, const char *what) {
  ORR_EACH(const OrrClusterHoursRow, row, outcome->cluster_hours)
    if (strcmp(row->what, what) == 0) return row->gpu_hours;
  return 0;
}

/* "cost 0.711 GPU-hours", "cost 1,339 GPU-hours", after @words. */
static void add_hours(OrrPage *page, const char *words, double hours) {
  if (hours < 100)
    orr_page_more(page, "%s %.3g GPU-hours", words, hours);
  else
    orr_page_more(page, "%s %s GPU-hours", words, orr_page_count(page, hours));
}

/* Of the overheads, preemptions cost restarts and work that is done again. */
static void add_use(OrrPage *page, const OrrOutcome *outcome, const OrrClusterResult *r) {
  orr_page_line(page, "GPUs", "%.1f %% held by jobs, %.1f %% idle while jobs wait; %s",
                100 * r->utilization, 100 * r->idle_while_waiting,
                orr_page_things(page, r->preemptions, "preemption"));
  const double preempted = r->preemptions > 0 ? hours_of(outcome, "preempted") : 0;
  if (r->preemptions > 0) add_hours(page, " cost", preempted);
  if (r->overhead_gpu_hours > preempted * (1 + 1e-9))
    add_hours(page, ", all overheads", r->overhead_gpu_hours);
}

static void add_places(OrrPage *page, const OrrClusterResult *r) {
  orr_page_line(page, "places", "gangs hold their GPUs %.3f times as long as at the given speed",
                r->placement_slowdown);
  orr_page_line(page, "fragments",
                "the largest gang that would start: %.0f GPUs in the mean; %.1f %% of the free "
                "GPUs are beyond it",
                r->largest_gang, 100 * r->fragmentation);
}

/* "1,234", or "0.00134" of little, so that a small run does not cost 0. */
static const char *amount(OrrPage *page, double value) {
  return fabs(value) < 10 ? orr_page_text(page, "%.3g", value) : orr_page_count(page, value);
}

static void add_power(OrrPage *page, const OrrClusterResult *r) {
  if (isnan(r->gpu_power_mean_w)) return;
  orr_page_line(page, "power", "GPUs %s kW", amount(page, r->gpu_power_mean_w / 1000));
  if (!isnan(r->machine.all_w))
    orr_page_item(page, "machine %s kW, %s MWh%s", amount(page, r->machine.all_w / 1000),
                  amount(page, r->energy_kwh / 1000),
                  orr_page_keep(page, orr_cluster_power_left_out(&r->machine)));
}

/* The line "cost" begins with its first part. */
static void add_part(OrrPage *page, gboolean *is_begun, const char *currency, const char *text) {
  if (*is_begun)
    orr_page_item(page, "%s", text);
  else
    orr_page_line(page, "cost", "%s %s", currency, text);
  *is_begun = TRUE;
}

static void add_money(OrrPage *page, const char *currency, const OrrClusterResult *r) {
  gboolean is_begun = FALSE;
  if (!isnan(r->cost_hardware))
    add_part(page, &is_begun, currency,
             orr_page_text(page, "%s for the machine", amount(page, r->cost_hardware)));
  if (!isnan(r->cost_energy))
    add_part(page, &is_begun, currency,
             orr_page_text(page, "%s for energy", amount(page, r->cost_energy)));
  if (!isnan(r->cost_per_useful_gpu_hour))
    add_part(page, &is_begun, currency,
             orr_page_text(page, "%.3g per useful GPU-hour", r->cost_per_useful_gpu_hour));
  if (!isnan(r->carbon_kg))
    orr_page_line(page, "carbon", "%s kg of CO2", amount(page, r->carbon_kg));
}

static void add_asked(OrrPage *page, const OrrClusterAsk *ask, const OrrClusterResult *r) {
  if (isnan(r->asked_start_s))
    orr_page_line(page, "asked", "the job asks for more GPUs than the cluster has");
  else
    orr_page_line(page, "asked", "%ld GPUs submitted at %s start at %s, after %s", ask->gpus,
                  time_text(page, ask->at_s), time_text(page, r->asked_start_s),
                  time_text(page, r->asked_wait_s));
}

static void add_machine(OrrPage *page, const OrrScenario *scenario, const OrrClusterResult *r) {
  const GPtrArray *kinds = ((const OrrClusterJobs *)scenario->workload.params)->kinds;
  if (kinds->len == 0)
    orr_summary_machine(page, scenario, r->n_gpus);
  else
    orr_page_line(page, "machine", "%s", orr_page_things(page, r->n_gpus, "GPU"));
  ORR_EACH_POINTER(const OrrClusterKind, kind, kinds) {
    const gint64 each = kind->gpus > 0 ? kind->gpus : scenario->cluster.node.gpus;
    orr_page_item(page, "%ld %s", kind->nodes * each, kind->name);
  }
}

void orr_summary_cluster(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrClusterResult *r = &outcome->result.cluster;
  const OrrClusterJobs *params = scenario->workload.params;
  const OrrGangSpeedKind *speed = (const OrrGangSpeedKind *)(gconstpointer)params->speed.entry;
  const GPtrArray *processes = params->failures.set.processes;
  add_machine(page, scenario, r);
  add_policy(page, &params->policy);
  orr_page_line(page, "jobs", "%s in %s", orr_page_count(page, (double)r->n_jobs),
                time_text(page, r->makespan_s));
  if (!isnan(r->offered_load)) orr_page_item(page, "offered load %.2f", r->offered_load);
  add_times(page, "completion", &r->jct);
  add_times(page, "wait", &r->wait);
  if (r->overhead_gpu_hours > 0) orr_page_item(page, "with checkpoints, restarts and lost work");
  add_bands(page, outcome);
  add_sizes(page, outcome);
  add_use(page, outcome, r);
  if (!speed->is_given) add_places(page, r);
  if (processes && processes->len > 0)
    orr_page_line(page, "failures",
                  "%ld struck, %ld times a job stopped; %.0f GPU-hours lost, ETTR %.3f", r->strikes,
                  r->failures, r->failed_gpu_hours, r->ettr);
  add_power(page, r);
  add_money(page, scenario->prices.currency, r);
  if (params->ask.gpus > 0) add_asked(page, &params->ask, r);
}

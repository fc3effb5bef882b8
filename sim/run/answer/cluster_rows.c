/*
 * cluster_rows.c - a finished cluster of jobs as rows. The wait of a job is its completion time
 * less its run time, so that the time for which a preempted job stood still counts.
 */
#include "sim/run/answer/answer_private.h"

static double seconds(gint64 us) { return (double)us / ORR_GANG_US_PER_S; }

static double gpu_hours(const OrrGangJob *job) {
  return job->run_gpu_us / ORR_GANG_US_PER_S / 3600;
}

/* The time for which it stood still, and overheads. */
static double wait_s(const OrrGangJob *job) {
  return seconds(job->end_us - job->submit_us - job->run_us - job->slowed_us);
}

/* --- Jobs --- */

static void add_jobs(const OrrClusterWork *work, OrrOutcome *outcome) {
  ORR_EACH(const OrrGangJob, job, work->trace->jobs)
    ORR_APPEND(outcome->cluster_jobs, OrrClusterJobRow,
               {
                   .job = g_string_chunk_insert_const(outcome->names, job->id),
                   .user = g_string_chunk_insert_const(outcome->names, job->user),
                   .queue = g_string_chunk_insert_const(outcome->names, job->queue),
                   .gpus = job->asked_gpus,
                   .submit_s = seconds(job->submit_us),
                   .start_s = seconds(job->first_start_us),
                   .end_s = seconds(job->end_us),
                   .wait_s = wait_s(job),
                   .run_s = seconds(job->run_us),
                   .overhead_s = seconds(job->overhead_us),
                   .promised_s = job->promised_us >= 0 ? seconds(job->promised_us) : NAN,
                   .preemptions = job->preemptions,
                   .failures = job->failures,
                   .failed_s = seconds(job->failed_us),
                   .checkpoint_s = seconds(job->saved_us),
                   .slowed_s = seconds(job->slowed_us),
                   .placement_slowdown = orr_cluster_answers_slowdown(job),
                   .rho = orr_cluster_answers_rho(work, job),
                   .energy_kwh = orr_cluster_answers_kwh(work, job),
                   .nodes = job->n_nodes,
               });
}

/* --- Groups --- */

typedef struct {
  guint n;
  double gpu_hours;
  GArray *jct, *wait; /* of double */
} Group;

static Group *group_new(void) {
  Group *group = g_new0(Group, 1);
  group->jct = g_array_new(FALSE, FALSE, sizeof(double));
  group->wait = g_array_new(FALSE, FALSE, sizeof(double));
  return group;
}

static void group_free(gpointer data) {
  Group *group = data;
  g_array_unref(group->jct);
  g_array_unref(group->wait);
  g_free(group);
}

static void group_add(Group *group, const OrrGangJob *job) {
  const double jct_s = seconds(job->end_us - job->submit_us);
  const double waited_s = wait_s(job);
  group->n++;
  group->gpu_hours += gpu_hours(job);
  g_array_append_val(group->jct, jct_s);
  g_array_append_val(group->wait, waited_s);
}

typedef char *(*NameOf)(const OrrGangJob *job);
static char *size_of(const OrrGangJob *job) { return g_strdup_printf("%ld", job->asked_gpus); }
static char *queue_of(const OrrGangJob *job) { return g_strdup(*job->queue ? job->queue : "none"); }

/* Sizes by number, queues by name. */
static int compare_names(gconstpointer a, gconstpointer b) {
  const double x = g_ascii_strtod(a, NULL), y = g_ascii_strtod(b, NULL);
  return x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

static void add_groups(const OrrClusterWork *work, const char *grouping, NameOf name_of,
                       OrrOutcome *outcome) {
  g_autoptr(GHashTable) groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, group_free);
  for (guint i = work->first; i < work->end; i++) {
    const OrrGangJob *job = &g_array_index(work->trace->jobs, OrrGangJob, i);
    char *name = name_of(job);
    Group *group = g_hash_table_lookup(groups, name);
    if (!group) g_hash_table_insert(groups, g_strdup(name), group = group_new());
    g_free(name);
    group_add(group, job);
  }
  g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(groups), compare_names);
  for (const GList *name = names; name; name = name->next) {
    const Group *group = g_hash_table_lookup(groups, name->data);
    ORR_APPEND(outcome->cluster_sizes, OrrClusterSizeRow,
               {
                   .grouping = (char *)grouping,
                   .name = g_string_chunk_insert_const(outcome->names, name->data),
                   .n_jobs = group->n,
                   .gpu_hours = group->gpu_hours,
                   .jct = orr_latencies_of(group->jct),
                   .wait = orr_latencies_of(group->wait),
               });
  }
}

/* --- The result --- */

/* Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2), of the slow-downs of jobs that have work. */
static double jain(const OrrClusterWork *work) {
  double sum = 0, squares = 0;
  guint n = 0;
  for (guint i = work->first; i < work->end; i++) {
    const OrrGangJob *job = &g_array_index(work->trace->jobs, OrrGangJob, i);
    if (job->run_us <= 0) continue;
    const double slow =
        (double)(job->end_us - job->submit_us) / orr_cluster_answers_own_us(work, job);
    sum += slow;
    squares += slow * slow;
    n++;
  }
  return n > 0 ? sum * sum / (n * squares) : NAN;
}

static void fill_shares(const OrrClusterWork *work, OrrClusterResult *r) {
  const GArray *jobs = work->trace->jobs;
  const double gpus = (double)work->work.n_gpus;
  const double span_us = (double)(work->totals.end_us - work->totals.begin_us);
  r->makespan_s = span_us / ORR_GANG_US_PER_S;
  r->utilization = span_us > 0 ? work->totals.used / (gpus * span_us) : 0;
  r->idle_while_waiting = span_us > 0 ? work->totals.free_waiting / (gpus * span_us) : 0;
  r->gpu_hours = work->totals.used / ORR_GANG_US_PER_S / 3600;
  r->overhead_gpu_hours = work->totals.overhead / ORR_GANG_US_PER_S / 3600;
  ORR_EACH(const OrrGangJob, job, jobs) r->n_timed_out += job->is_timed_out;
}

/* Of the jobs that count, while they are submitted. */
static double offered_load(const OrrClusterWork *work) {
  const OrrGangJob *jobs = (const OrrGangJob *)(const void *)work->trace->jobs->data;
  double sum_us = 0;
  for (guint i = work->first; i < work->end; i++)
    sum_us += (double)jobs[i].asked_gpus * orr_cluster_answers_asked_us(work, &jobs[i]);
  const double arrivals_us =
      work->end > work->first
          ? (double)(jobs[work->end - 1].submit_us - jobs[work->first].submit_us)
          : 0;
  return arrivals_us > 0 ? sum_us / ((double)work->work.n_gpus * arrivals_us) : NAN;
}

/* Means over jobs that ask for more than the cluster has grow with their number. */
static void refuse_means(const OrrClusterWork *work, OrrClusterResult *r) {
  r->offered_load = offered_load(work);
  if (r->offered_load > 1 && !work->overloaded) r->jct.mean = r->wait.mean = NAN;
}

static void fill_result(const OrrClusterWork *work, OrrClusterResult *r) {
  const GArray *jobs = work->trace->jobs;
  Group *all = group_new();
  for (guint i = work->first; i < work->end; i++)
    group_add(all, &g_array_index(jobs, OrrGangJob, i));
  r->jct = orr_latencies_of(all->jct);
  r->wait = orr_latencies_of(all->wait);
  group_free(all);
  r->n_jobs = jobs->len;
  r->n_left_out = work->n_too_large + work->n_waiting;
  r->preemptions = (gint64)work->totals.preemptions;
  r->most_waiting = work->totals.most_waiting;
  r->events = (gint64)work->totals.events;
  r->n_counted = (gint64)work->end - work->first;
  r->slowdown_jain = jain(work);
  fill_shares(work, r);
  refuse_means(work, r);
}

G_GNUC_PRINTF(2, 3)
static void warn(OrrOutcome *outcome, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_ptr_array_add(outcome->warnings, g_strdup_vprintf(format, args));
  va_end(args);
}

static guint count_cancelled(const GArray *jobs) {
  guint n = 0;
  ORR_EACH(const OrrGangJob, job, jobs) n += job->is_cancelled;
  return n;
}

static void add_warnings(const OrrClusterWork *work, OrrOutcome *outcome) {
  const OrrClusterResult *r = &outcome->result.cluster;
  for (guint i = 0; i < work->trace->assumed->len; i++)
    warn(outcome, "the trace has %s", (char *)work->trace->assumed->pdata[i]);
  for (guint i = 0; i < work->unused->len; i++)
    warn(outcome, "%s", (const char *)work->unused->pdata[i]);
  if (work->n_too_large > 0)
    warn(outcome, "%u jobs ask for more %s than the cluster%s has%s: left out", work->n_too_large,
         work->rules.cpus > 0 || work->rules.memory_bytes > 0 ? "GPUs, CPUs or memory" : "GPUs",
         work->rules.queues->len > 0 || work->rules.placement->entry.params
             ? ", their queue or one domain"
             : "",
         work->rules.placement->refuse ? ", or for a slice that is not a box of its cubes" : "");
  if (work->trace->n_without_gpus > 0)
    warn(outcome, "%u jobs use no GPU or have no run time: left out", work->trace->n_without_gpus);
  if (work->n_waiting > 0)
    warn(outcome, "left out with jobs that they wait for: %u jobs", work->n_waiting);
  if (r->n_timed_out > 0)
    warn(outcome,
         "a time limit stopped %ld of %ld jobs before their work was done: their times end there, "
         "and their %.3g GPU-hours are not "
         "useful",
         r->n_timed_out, r->n_jobs, work->totals.timed_out / ORR_GANG_US_PER_S / 3600);
  const guint n_cancelled = count_cancelled(work->trace->jobs);
  if (n_cancelled > 0)
    warn(outcome, "%u jobs were cancelled by a preemption: their times end there", n_cancelled);
  if (r->offered_load > 1)
    warn(outcome,
         "jobs ask for %.2f times the cluster's GPU time while they are submitted, so waits grow "
         "with the length of the trace%s",
         r->offered_load,
         isnan(r->jct.mean)
             ? "; means are not stated (workload.window.overloaded: true states them)"
             : "");
}

void orr_cluster_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrClusterWork *work = (const OrrClusterWork *)replayed->work;
  fill_result(work, &outcome->result.cluster);
  add_jobs(work, outcome);
  add_groups(work, "gpus", size_of, outcome);
  add_groups(work, "queue", queue_of, outcome);
  orr_cluster_answers(replayed, outcome);
  add_warnings(work, outcome);
}

char *orr_cluster_rows_explain(const OrrOutcome *outcome) {
  const OrrClusterResult *r = &outcome->result.cluster;
  const double part = r->jct.mean > 0 ? r->wait.mean / r->jct.mean : 0;
  return g_strdup_printf("waits are %.0f %% of completion times, %.1f %% of GPUs idle while jobs "
                         "wait",
                         100 * part, 100 * r->idle_while_waiting);
}

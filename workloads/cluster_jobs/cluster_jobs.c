/*
 * cluster_jobs.c - the document of a cluster of jobs, and its entry.
 */
#include "workloads/cluster_jobs/cluster_jobs.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"

static const OrrField preemption_fields[] = {
    ORR_FIELD_REAL(OrrClusterPreemption, "checkpoint", checkpoint_s, ORR_UNIT_SECONDS, "0 s",
                   "Work from one checkpoint to the next, of jobs whose trace has no "
                   "checkpoint_s: a preempted job loses what it worked since the last; 0 s: "
                   "nothing is lost.",
                   .flags = ORR_FIELD_UNSIGNED, .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_REAL(OrrClusterPreemption, "restart", restart_s, ORR_UNIT_SECONDS, "0 s",
                   "Time that a preempted job takes to run again, of jobs whose trace has no "
                   "restart_s.",
                   .flags = ORR_FIELD_UNSIGNED, .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_WORD(OrrClusterPreemption, "charge", charge, orr_charge_words, "preempted",
                   "Who pays: preempted jobs; or, at every event, all running ones their restart, "
                   "as simulators do that start every job again."),
};
static const OrrFieldTable preemption_table =
    ORR_FIELD_TABLE("cluster-preemption", "What it costs a job to be stopped for another.",
                    OrrClusterPreemption, preemption_fields);

static const OrrField policy_fields[] = {
    ORR_FIELD_CHOICE(OrrClusterPolicy, "order", order, &orr_gang_order_registry, "fifo",
                     "The order in which waiting jobs are tried."),
    ORR_FIELD_CHOICE(OrrClusterPolicy, "placement", placement, &orr_gang_placement_registry,
                     "first-fit", "The choice of nodes for a gang."),
    ORR_FIELD_WORD(OrrClusterPolicy, "blocked", blocked, orr_blocked_words, "wait",
                   "A job that does not fit: the jobs after it wait, too (strict order), or are "
                   "tried (skip)."),
    ORR_FIELD_WORD(OrrClusterPolicy, "backfill", backfill, orr_backfill_words, "none",
                   "Jobs that may start before the first waiting one: none; easy: those that do "
                   "not delay its promised start; conservative: those that delay no promise, which "
                   "every job has."),
    ORR_FIELD_SECTION(OrrClusterPolicy, "preemption", preemption, &preemption_table, "{}",
                      "What it costs a job to be stopped for another."),
};
static const OrrFieldTable policy_table =
    ORR_FIELD_TABLE("cluster-policy", "How a cluster decides which job starts, and where.",
                    OrrClusterPolicy, policy_fields);

static const OrrField fields[] = {
    ORR_WORKLOAD_STACK_FIELD(OrrClusterJobs),
    ORR_FIELD_TEXT(OrrClusterJobs, "jobs", jobs, NULL,
                   "The trace: a CSV with submit_s, duration_s, gpus; Slurm's sacct -P; the traces "
                   "of Helios, Acme and Philly; or the Standard Workload Format (NAME.swf). A path "
                   "from the document's folder, from one of the "
                   "library's, or from the working directory."),
    ORR_FIELD_TEXT(OrrClusterJobs, "queue", queue, "all",
                   "Only the jobs of this queue of the trace, as if they had the cluster alone."),
    ORR_FIELD_SECTION(OrrClusterJobs, "policy", policy, &policy_table, "{}",
                      "The scheduler's policy."),
};
const OrrFieldTable orr_cluster_jobs_table = ORR_FIELD_TABLE(
    "cluster-jobs", "The jobs of a trace on a cluster, under a policy.", OrrClusterJobs, fields);

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrClusterPolicy *policy = &((const OrrClusterJobs *)data)->policy;
  const OrrGangOrder *order = (const OrrGangOrder *)(gconstpointer)policy->order.entry;
  (void)model;
  if (policy->backfill != ORR_BACKFILL_NONE && order->preempts)
    orr_diags_error(diags, place,
                    "policy.order %s preempts, so there is no promise that backfill could keep: "
                    "want backfill none, or an order that does not preempt (fifo, sjf)",
                    order->entry.name);
  if (policy->backfill != ORR_BACKFILL_NONE && policy->blocked == ORR_BLOCKED_SKIP)
    orr_diags_error(diags, place,
                    "policy.blocked skip passes over the jobs that backfill protects: want one of "
                    "both");
  if (orr_cluster_n_gpus(cluster) % cluster->node.gpus != 0)
    orr_diags_error(diags, place,
                    "a cluster of jobs has whole nodes: want gpus of nodes x %" G_GINT64_FORMAT,
                    cluster->node.gpus);
}

/* --- Compilation --- */

static char *find(const char *path, char *const *folders, GError **error) {
  for (; folders && *folders && !g_path_is_absolute(path); folders++) {
    g_autofree char *below =
        strcmp(*folders, ".") == 0 ? g_strdup(path) : g_build_filename(*folders, path, NULL);
    if (g_file_test(below, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&below);
  }
  if (g_file_test(path, G_FILE_TEST_EXISTS)) return g_strdup(path);
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "workload.jobs: there is no file %s", path);
  return NULL;
}

/* Takes out the jobs that no empty cluster could start. */
static void drop_too_large(OrrClusterWork *work) {
  GArray *jobs = work->trace->jobs;
  guint kept = 0;
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob job = g_array_index(jobs, OrrGangJob, i);
    if (job.gpus <= work->rules.n_nodes * work->rules.gpus_per_node)
      g_array_index(jobs, OrrGangJob, kept++) = job;
  }
  work->n_too_large = jobs->len - kept;
  g_array_set_size(jobs, kept);
}

static void work_free(OrrWork *data) {
  OrrClusterWork *work = (OrrClusterWork *)data;
  orr_job_trace_free(work->trace);
  g_free(work);
}

static OrrGangRules rules_of(const OrrClusterPolicy *policy, const OrrCluster *cluster) {
  return (OrrGangRules){
      .order = (const OrrGangOrder *)(gconstpointer)policy->order.entry,
      .order_params = policy->order.params,
      .placement = (const OrrGangPlacement *)(gconstpointer)policy->placement.entry,
      .blocked = (OrrBlocked)policy->blocked,
      .backfill = (OrrBackfill)policy->backfill,
      .charge = (OrrCharge)policy->preemption.charge,
      .restart_us = llround(policy->preemption.restart_s * ORR_GANG_US_PER_S),
      .checkpoint_us = llround(policy->preemption.checkpoint_s * ORR_GANG_US_PER_S),
      .n_nodes = (guint)(orr_cluster_n_gpus(cluster) / cluster->node.gpus),
      .gpus_per_node = cluster->node.gpus};
}

/* A file that cannot be read, too, is the document's error: it names the file. */
static OrrJobTrace *read_trace(const OrrClusterJobs *params, const char *path, GError **error) {
  const gboolean is_all = strcmp(params->queue, "all") == 0;
  GError *own = NULL;
  OrrJobTrace *trace = orr_job_trace_read(path, NULL, is_all ? NULL : params->queue, &own);
  if (g_error_matches(own, ORR_FAULT, ORR_FAULT_RESOURCE)) {
    own->code = ORR_FAULT_DOCUMENT;
    g_prefix_error(&own, "workload.jobs: ");
  }
  if (own) g_propagate_error(error, own);
  return trace;
}

static OrrWork *compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrClusterJobs *params = data;
  g_autofree char *path = find(params->jobs, world->folders, error);
  if (!path) return NULL;
  OrrJobTrace *trace = read_trace(params, path, error);
  if (!trace) return NULL;
  OrrClusterWork *work = g_new0(OrrClusterWork, 1);
  work->work.kind = &orr_cluster_jobs_kind;
  work->work.program = orr_program_new();
  work->work.fidelity = ORR_FIDELITY_FULL;
  work->work.n_gpus = orr_cluster_n_gpus(world->cluster);
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  work->rules = rules_of(&params->policy, world->cluster);
  work->trace = trace;
  drop_too_large(work);
  if (orr_program_seal(work->work.program, error)) return &work->work;
  orr_work_free(&work->work);
  return NULL;
}

/* --- Run --- */

static gboolean begin(OrrWork *data, const OrrLivePlace *place, GError **error) {
  OrrClusterWork *work = (OrrClusterWork *)data;
  (void)place;
  (void)error;
  orr_gang_sim_run(&work->rules, work->trace->jobs, &work->totals);
  return TRUE;
}

static gboolean finish(OrrWork *data, GError **error) {
  (void)data;
  (void)error;
  return TRUE;
}

static void times(const OrrWork *data, double *ret_end_s, double *ret_answer_s) {
  const OrrClusterWork *work = (const OrrClusterWork *)data;
  double sum_s = 0;
  for (guint i = 0; i < work->trace->jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(work->trace->jobs, OrrGangJob, i);
    sum_s += (double)(job->end_us - job->submit_us) / ORR_GANG_US_PER_S;
  }
  *ret_end_s = (double)work->totals.end_us / ORR_GANG_US_PER_S;
  *ret_answer_s = work->trace->jobs->len > 0 ? sum_s / work->trace->jobs->len : 0;
}

const OrrWorkloadKind orr_cluster_jobs_kind = {
    .entry = {"cluster",
              "Many jobs on one cluster, for weeks: a trace of gangs under a scheduler's policy.",
              &orr_cluster_jobs_table},
    .without_model = TRUE,
    .is_alone = TRUE,
    .check = check,
    .compile = compile,
    .work_free = work_free,
    .begin = begin,
    .finish = finish,
    .times = times,
};

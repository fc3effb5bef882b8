/*
 * cluster_unused.c - keys that change nothing, because the trace lacks their column or the document
 * their partner: each is a line of the answer. Keys that contradict each other are refused
 * (cluster_refuse.c).
 */
#include "workloads/cluster_jobs/cluster_jobs.h"
#include "workloads/cluster_jobs/preempt/gang_preempt.h"

/* Columns that the jobs of a trace have. */
typedef struct {
  gboolean priorities, sizes, cpus, memory;
} Columns;

static Columns columns_of(const GArray *jobs) {
  Columns has = {FALSE, FALSE, FALSE, FALSE};
  const OrrGangJob *first = (const OrrGangJob *)(const void *)jobs->data;
  ORR_EACH(const OrrGangJob, job, jobs) {
    has.priorities |= job->priority != first->priority;
    has.sizes |= (job->min_gpus > 0 && job->min_gpus < job->gpus) || job->max_gpus > job->gpus;
    has.cpus |= job->cpus > 0;
    has.memory |= job->memory_bytes > 0;
  }
  return has;
}

static gboolean is_default(const OrrFieldTable *table, const void *params) {
  g_autofree void *defaults = g_malloc0(table->size);
  orr_field_defaults(table, defaults);
  g_autoptr(OrrNode) ours = orr_field_dump(table, params);
  g_autoptr(OrrNode) theirs = orr_field_dump(table, defaults);
  orr_field_clear(table, defaults);
  return orr_node_equal(ours, theirs);
}

static double usual_repair_s(void) {
  OrrClusterFailures usual = {0};
  orr_field_defaults(&orr_cluster_failures_table, &usual);
  const double repair_s = usual.repair_s;
  orr_field_clear(&orr_cluster_failures_table, &usual);
  return repair_s;
}

/* Whether a job can be stopped, resized or slowed by what policy.preemption says. */
static gboolean uses_preemption(const OrrGangRules *rules, gboolean fails) {
  return fails || rules->order->preempts || orr_gang_victims_any(rules) || rules->consolidate > 0 ||
         rules->elastic != ORR_ELASTIC_NONE || rules->rounds.length_us > 0 ||
         (rules->checkpoint_us > 0 && rules->checkpoint_cost_us > 0);
}

void orr_cluster_unused(const OrrClusterJobs *params, OrrClusterWork *work) {
  const OrrClusterPolicy *policy = &params->policy;
  const OrrGangRules *rules = &work->rules;
  const Columns has = columns_of(work->trace->jobs);
  const gboolean has_queues = policy->queues->len > 0;
  const gboolean fails = orr_cluster_refuse_has_failures(params);
  const struct {
    gboolean is_unused;
    const char *text;
  } keys[] = {
      {rules->order->by_priority && !has.priorities,
       "policy.order goes by priority and all jobs have the same: they run as with fifo"},
      {rules->take != ORR_TAKE_NEVER && !has.priorities,
       "policy.preemption.take goes by priority and all jobs have the same: none is preempted"},
      {!uses_preemption(rules, fails) &&
           !is_default(&orr_cluster_preemption_table, &policy->preemption),
       "policy.preemption changes nothing: the order does not preempt, take and reclaim are never, "
       "and nothing fails"},
      {rules->elastic != ORR_ELASTIC_NONE && !has.sizes,
       "policy.elastic: no job has min_gpus or max_gpus, so gangs keep their size"},
      {rules->between != ORR_BETWEEN_ORDER && !has_queues,
       "policy.between changes nothing: policy.queues is empty"},
      {policy->reclaim > 0 && !has_queues,
       "policy.reclaim changes nothing: policy.queues is empty"},
      {rules->backfill != ORR_BACKFILL_WINDOW &&
           !is_default(&orr_cluster_plan_window_table, &policy->window),
       "policy.window changes nothing: policy.backfill is not window"},
      {rules->cpus > 0 && !has.cpus, "node-cpus changes nothing: no job has cpus"},
      {rules->memory_bytes > 0 && !has.memory, "node-memory changes nothing: no job has memory_gb"},
      {params->failures.on_failure != 0 && !fails,
       "failures.on-failure changes nothing: failures.set has no processes"},
      {params->failures.repair_s != usual_repair_s() && !fails,
       "failures.repair changes nothing: failures.set has no processes"},
      {params->failures.detection_s > 0 && !fails,
       "failures.detection changes nothing: failures.set has no processes"},
      {policy->scaling != 1 && rules->elastic == ORR_ELASTIC_NONE &&
           params->failures.on_failure != ORR_GANG_FAIL_SHRINK && rules->mode != ORR_PREEMPT_SHRINK,
       "policy.scaling changes nothing: gangs keep their size without policy.elastic"},
      {policy->kind_choice != 0 && work->kinds->len < 2,
       "policy.kind-choice changes nothing: all GPUs are of one kind"},
      {strcmp(params->jobs, "generate") != 0 &&
           !is_default(&orr_job_generate_table, &params->generate),
       "generate changes nothing: jobs is a trace"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (keys[i].is_unused) g_ptr_array_add(work->unused, (char *)keys[i].text);
}

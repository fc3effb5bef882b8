/*
 * cluster_policy.c - the document of a scheduler's policy: inline in a workload, or by name from
 * policies/.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"
#include "workloads/cluster_jobs/cluster_jobs.h"
#include "workloads/cluster_jobs/preempt/gang_preempt.h"

const OrrFieldTable orr_cluster_preemption_table = ORR_FIELDS(
    "cluster-preemption", "Which jobs are stopped for another one, and at what cost.",
    OrrClusterPreemption,
    ORR_UNSIGNED_REAL(
        OrrClusterPreemption, "checkpoint", checkpoint_s, ORR_UNIT_SECONDS, "0 s",
        "Work from one checkpoint to the next, of jobs whose trace has no checkpoint_s: "
        "a preempted job loses what it worked since the last; 0 s: nothing is lost.",
        .min = 0, .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(
        OrrClusterPreemption, "checkpoint-cost", checkpoint_cost_s, ORR_UNIT_SECONDS, "0 s",
        "Time that each checkpoint takes, in which the job does not work, of jobs whose "
        "trace has no checkpoint_cost_s.",
        .min = 0, .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(OrrClusterPreemption, "restart", restart_s, ORR_UNIT_SECONDS, "0 s",
                      "Time that a preempted job takes to run again, of jobs whose trace has no "
                      "restart_s.",
                      .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_WORD(OrrClusterPreemption, "charge", charge, orr_charge_words, "preempted",
                   "Who pays: preempted jobs; or, at every event, all running ones their restart, "
                   "as simulators do that start every job again."),
    ORR_FIELD_WORD(OrrClusterPreemption, "take", take, orr_take_words, "never",
                   "GPUs that a waiting job may take within its queue, with an order that does not "
                   "preempt by itself: none, or the GPUs of running jobs of lower priority."),
    ORR_FIELD_WORD(OrrClusterPreemption, "mode", mode, orr_preempt_mode_words, "requeue",
                   "What happens to a preempted job: it waits and goes on from its last "
                   "checkpoint; is cancelled; is suspended, and goes on where it was; or, if it is "
                   "elastic, goes on with its fewest GPUs."),
    ORR_FIELD_TEXTS(OrrClusterPreemption, "victims", victims,
                    "[borrowing, lowest-priority, newest]",
                    "Which running jobs are preempted first, by the first criterion in which they "
                    "differ: borrowing (its queue is above its quota), lowest-priority, newest, "
                    "least-lost (GPU time since a checkpoint), fewest-gpus, most-gpus."),
    ORR_UNSIGNED_REAL(OrrClusterPreemption, "min-run", min_run_s, ORR_UNIT_SECONDS, "0 s",
                      "Time from its start in which no job is preempted; a queue may state more.",
                      .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_INT(OrrClusterPreemption, "consolidate", consolidate, "0",
                  "Most pods, one for each node of a gang, that move to other nodes so that a "
                  "waiting job fits into GPUs that are free but scattered; each moved job pays its "
                  "restart (KAI: 16); 0: none moves.",
                  .min = 0, .max = 1e6));

const OrrFieldTable orr_cluster_plan_window_table = ORR_FIELDS(
    "cluster-plan-window", "Backfill by window.", OrrClusterPlanWindow,
    ORR_POSITIVE_REAL(OrrClusterPlanWindow, "ahead", ahead_s, ORR_UNIT_SECONDS, "1 d",
                      "Starts later than this are not planned (Slurm's bf_window, 1,440 min).",
                      .min = 1e-6, .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(OrrClusterPlanWindow, "resolution", resolution_s, ORR_UNIT_SECONDS, "60 s",
                      "Ends are rounded up to it (bf_resolution, 60 s); 0 s: exact.", .min = 0,
                      .max = 1e6),
    ORR_UNSIGNED_REAL(OrrClusterPlanWindow, "interval", interval_s, ORR_UNIT_SECONDS, "30 s",
                      "Time from plan to plan (bf_interval, 30 s); 0 s: at every event.", .min = 0,
                      .max = 1e6),
    ORR_FIELD_INT(OrrClusterPlanWindow, "depth", depth, "500",
                  "Jobs that are planned (bf_max_job_test, 500); 0: all.", .min = 0, .max = 1e9));

static const OrrFieldTable rounds_table = ORR_FIELDS(
    "cluster-rounds", "Scheduling in rounds over kinds of GPUs.", OrrClusterRounds,
    ORR_UNSIGNED_REAL(OrrClusterRounds, "length", length_s, ORR_UNIT_SECONDS, "0 s",
                      "Length of a round (6 min in Gavel, 2 min in Shockwave); 0 s: no rounds.",
                      .min = 0, .max = 1e6),
    ORR_FIELD_CHOICE(OrrClusterRounds, "allotment", allotment, &orr_gang_allotment_registry,
                     "max-min", "Which fraction of time each job should have each kind of GPU."),
    ORR_UNSIGNED_REAL(OrrClusterRounds, "reset", reset_s, ORR_UNIT_SECONDS, "1000 s",
                      "Least time from one computation of these fractions to the next (1,920 s in "
                      "Gavel's simulator, 1,000 s in Shockwave's).",
                      .min = 0, .max = 1e9),
    ORR_UNSIGNED_REAL(
        OrrClusterRounds, "start", start_s, ORR_UNIT_SECONDS, "0 s",
        "Time that a job takes to start in a round after one in which it did not run, "
        "its first, too, besides preemption.restart (Shockwave: 20 s simulated, 10.9 s "
        "the mean of 100 measured).",
        .min = 0, .max = 1e6));

static const char *const kind_choice_words[] = {"first", "fastest", NULL};

static const char *const reclaim_words[] = {"never",           "lower-priority", "over-quota",
                                            "over-fair-share", "fair-sharing",   NULL};

const OrrFieldTable orr_cluster_policy_table = ORR_FIELDS(
    "cluster-policy", "How a cluster decides which job starts, and where.", OrrClusterPolicy,
    ORR_COLUMN_TEXT(OrrClusterPolicy, "name", name, "The policy's name in the library."),
    ORR_COLUMN_TEXT(OrrClusterPolicy, "source", source, "Where its settings are from."),
    ORR_FIELD_CHOICE(OrrClusterPolicy, "order", order, &orr_gang_order_registry, "fifo",
                     "The order in which waiting jobs are tried."),
    ORR_FIELD_CHOICE(OrrClusterPolicy, "placement", placement, &orr_gang_placement_registry,
                     "first-fit", "The choice of nodes for a gang."),
    ORR_FIELD_WORD(OrrClusterPolicy, "blocked", blocked, orr_blocked_words, "wait",
                   "A job that does not fit: the jobs after it wait, too (strict order), or are "
                   "tried (skip). With queues: the jobs after it in its queue."),
    ORR_FIELD_WORD(
        OrrClusterPolicy, "backfill", backfill, orr_backfill_words, "none",
        "Jobs that may start before the first waiting one: none; easy: those that do "
        "not delay its promised start; conservative: those that delay no promise, which "
        "every job has; window: as Slurm does, by a plan that is made anew every interval."),
    ORR_FIELD_SECTION(OrrClusterPolicy, "window", window, &orr_cluster_plan_window_table, "{}",
                      "What backfill by window looks at."),
    ORR_FIELD_SECTION(OrrClusterPolicy, "preemption", preemption, &orr_cluster_preemption_table,
                      "{}", "Which jobs are stopped for another one, and at what cost."),
    ORR_FIELD_SECTIONS(OrrClusterPolicy, "queues", queues, &orr_gang_queue_table, "[]",
                       "Queues with quotas, as a tree; empty: one queue, the cluster."),
    ORR_FIELD_WORD(
        OrrClusterPolicy, "between", between, orr_between_words, "order",
        "Which queue's turn it is: the queue of the first job in the order; the "
        "queue with the least of its fair share; or the one with the least dominant share."),
    ORR_FIELD_WORD(OrrClusterPolicy, "reclaim", reclaim, reclaim_words, "never",
                   "What queues without a rule of their own may take from others."),
    ORR_FIELD_WORD(
        OrrClusterPolicy, "elastic", elastic, orr_elastic_words, "none",
        "Gangs with min_gpus and max_gpus are resized at every event: each gets its minimum, and "
        "the other GPUs are shared equally, or go where they speed up most."),
    ORR_POSITIVE_REAL(OrrClusterPolicy, "scaling", scaling, ORR_UNIT_NONE, "1",
                      "A gang of g GPUs that asked for a works at (g / a) to this power, where no "
                      "table of throughputs says it.",
                      .min = 0.01, .max = 2),
    ORR_UNSIGNED_REAL(
        OrrClusterPolicy, "limit", limit_s, ORR_UNIT_SECONDS, "0 s",
        "Run time at which any job is stopped, whatever limit it has; 0 s: none. On kinds "
        "of GPUs, where no rounds are: the run time at the trace's speed.",
        .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_WORD(OrrClusterPolicy, "kind-choice", kind_choice, kind_choice_words, "first",
                   "The kind of GPU for a job: the first of workload.kinds on which it fits, or "
                   "the fastest."),
    ORR_FIELD_SECTION(
        OrrClusterPolicy, "rounds", rounds, &rounds_table, "{}",
        "Rounds in which all GPUs are assigned again, as Gavel does. GPUs are counted; "
        "order, placement, queues and backfill are refused with them."),
    ORR_UNSIGNED_REAL(OrrClusterPolicy, "period", period_s, ORR_UNIT_SECONDS, "0 s",
                      "Time from one pass over the queue to the next, if something has happened; "
                      "0 s: a pass at every event.",
                      .min = 0, .max = 1e6),
    ORR_FIELD_INT(OrrClusterPolicy, "depth", depth, "0", "Most jobs that a pass tries; 0: all.",
                  .min = 0, .max = 1e9));

static gint64 us_of(double seconds) { return llround(seconds * ORR_GANG_US_PER_S); }

static void add_preemption(OrrGangRules *rules, const OrrClusterPreemption *preemption) {
  rules->charge = (OrrCharge)preemption->charge;
  rules->restart_us = us_of(preemption->restart_s);
  rules->checkpoint_us = us_of(preemption->checkpoint_s);
  rules->checkpoint_cost_us = us_of(preemption->checkpoint_cost_s);
  rules->take = (OrrTake)preemption->take;
  rules->mode = (OrrPreemptMode)preemption->mode;
  rules->min_run_us = us_of(preemption->min_run_s);
  rules->consolidate = (guint)preemption->consolidate;
  for (guint i = 0; preemption->victims[i] && i < ORR_GANG_VICTIMS; i++)
    for (int word = 0; orr_victim_words[word]; word++)
      if (strcmp(preemption->victims[i], orr_victim_words[word]) == 0)
        rules->victims[rules->n_victims++] = word;
}

OrrGangRules orr_cluster_policy_rules(const OrrClusterPolicy *policy) {
  OrrGangRules rules = {
      .order = (const OrrGangOrder *)(gconstpointer)policy->order.entry,
      .order_params = policy->order.params,
      .placement = (const OrrGangPlacement *)(gconstpointer)policy->placement.entry,
      .placement_params = policy->placement.params,
      .blocked = (OrrBlocked)policy->blocked,
      .backfill = (OrrBackfill)policy->backfill,
      .by_speed = policy->kind_choice == 1,
      .queues = policy->queues,
      .between = (OrrBetween)policy->between,
      .period_us = us_of(policy->period_s),
      .depth = (guint)policy->depth,
      .limit_us = us_of(policy->limit_s),
      .elastic = (OrrElastic)policy->elastic,
      .scaling = policy->scaling,
      .reclaim = (OrrReclaim)(policy->reclaim + 1),
      .window = {us_of(policy->window.ahead_s), us_of(policy->window.resolution_s),
                 us_of(policy->window.interval_s), (guint)policy->window.depth},
      .rounds = {(const OrrGangAllotment *)(gconstpointer)policy->rounds.allotment.entry,
                 us_of(policy->rounds.length_s), us_of(policy->rounds.reset_s),
                 us_of(policy->rounds.start_s), 0}};
  add_preemption(&rules, &policy->preemption);
  return rules;
}

static void check_words(const OrrClusterPolicy *policy, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; policy->preemption.victims[i]; i++)
    if (!g_strv_contains(orr_victim_words, policy->preemption.victims[i]))
      orr_diags_error(diags, place,
                      "policy.preemption.victims: found '%s', want borrowing, lowest-priority, "
                      "newest, least-lost, fewest-gpus or most-gpus",
                      policy->preemption.victims[i]);
  if (g_strv_length(policy->preemption.victims) > ORR_GANG_VICTIMS)
    orr_diags_error(diags, place, "policy.preemption.victims: want at most %d", ORR_GANG_VICTIMS);
}

void orr_cluster_policy_check(const OrrClusterPolicy *policy, guint more, const char *const *kinds,
                              OrrPlace place, OrrDiags *diags) {
  const OrrGangRules rules = orr_cluster_policy_rules(policy);
  orr_cluster_refuse(policy, more, place, diags);
  if (policy->preemption.consolidate > 0 && policy->queues->len == 0 &&
      !orr_gang_victims_any(&rules))
    orr_diags_error(diags, place,
                    "policy.preemption.consolidate moves jobs as a preemption does: want queues or "
                    "preemption.take with it");
  check_words(policy, place, diags);
  orr_gang_queues_check(policy->queues, kinds, place, diags);
}

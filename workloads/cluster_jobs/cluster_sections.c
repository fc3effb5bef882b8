/*
 * cluster_sections.c - tables of these sections.
 */
#include "workloads/cluster_jobs/cluster_jobs.h"

const OrrFieldTable orr_cluster_failures_table = ORR_FIELDS(
    "cluster-failures", "What fails under the jobs.", OrrClusterFailures,
    ORR_OPTIONAL_SECTION(OrrClusterFailures, "set", set, &orr_failures_table,
                         "Failures, and how often they occur; absent: nothing fails.",
                         .document = "failures"),
    ORR_UNSIGNED_REAL(OrrClusterFailures, "repair", repair_s, ORR_UNIT_SECONDS, "86400 s",
                      "Mean time until a node is back, where the set does not say.", .min = 0,
                      .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(
        OrrClusterFailures, "detection", detection_s, ORR_UNIT_SECONDS, "0 s",
        "Time from a failure until it is noticed, in which a job's GPUs do nothing, of "
        "jobs whose trace has no detection_s.",
        .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_WORD(OrrClusterFailures, "on-failure", on_failure, orr_gang_on_failure_words,
                   "requeue",
                   "A job that loses a node: it goes back to the queue; or keeps the others where "
                   "a free node can take the place; or goes on with those, if they are at least "
                   "its min_gpus. It restarts from its last checkpoint (policy.preemption)."),
    ORR_FIELD_INT(OrrClusterFailures, "seed", seed, "0",
                  "Seed of the failures, added to the scenario's.", .min = 0, .max = 1e9));

const OrrFieldTable orr_cluster_window_table = ORR_FIELDS(
    "cluster-window", "The jobs that statistics count.", OrrClusterWindow,
    ORR_FIELD_REAL(OrrClusterWindow, "warm-up", warm_up, ORR_UNIT_FRACTION, "0",
                   "Jobs that statistics leave out at the beginning, as a fraction of all.",
                   .min = 0, .max = 0.99),
    ORR_FIELD_REAL(OrrClusterWindow, "cool-down", cool_down, ORR_UNIT_FRACTION, "0",
                   "Likewise at the end.", .min = 0, .max = 0.99),
    ORR_FIELD_BOOL(OrrClusterWindow, "overloaded", overloaded, "false",
                   "State means of completion and wait even where the jobs that count ask for more "
                   "than the cluster has: they then grow with the trace's length."));

const OrrFieldTable orr_cluster_ask_table = ORR_FIELDS(
    "cluster-ask", "A job in addition to the trace's; its start is reported.", OrrClusterAsk,
    ORR_FIELD_INT(OrrClusterAsk, "gpus", gpus, "0", "Its gang; 0: no job is asked about.", .min = 0,
                  .max = 1e7),
    ORR_UNSIGNED_REAL(OrrClusterAsk, "work", work_s, ORR_UNIT_SECONDS, "3600 s", "Its run time.",
                      .min = 0, .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(OrrClusterAsk, "at", at_s, ORR_UNIT_SECONDS, "0 s",
                      "Its submission, on the trace's clock.", .min = 0, .max = ORR_GANG_MOST_S),
    ORR_UNSIGNED_REAL(OrrClusterAsk, "limit", limit_s, ORR_UNIT_SECONDS, "0 s",
                      "Its time limit; 0 s: none.", .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_REAL(OrrClusterAsk, "priority", priority, ORR_UNIT_NONE, "0", "Its priority.",
                   .min = -1e9, .max = 1e9),
    ORR_FIELD_TEXT(OrrClusterAsk, "queue", queue, "", "Its queue."),
    ORR_FIELD_TEXT(OrrClusterAsk, "user", user, "", "Its user."),
    ORR_FIELD_TEXT(OrrClusterAsk, "model", model, "", "Its model."));

static const char *kept(OrrJobTrace *trace, const char *text) {
  return g_string_chunk_insert_const(trace->texts, text ? text : "");
}

void orr_cluster_sections_ask(const OrrClusterAsk *ask, OrrJobTrace *trace) {
  if (ask->gpus == 0) return;
  const OrrGangJob job = {.id = kept(trace, ORR_CLUSTER_ASKED),
                          .user = kept(trace, ask->user),
                          .queue = kept(trace, ask->queue),
                          .model = kept(trace, ask->model),
                          .number = G_MAXINT64,
                          .submit_us = llround(ask->at_s * ORR_GANG_US_PER_S),
                          .work_us = llround(ask->work_s * ORR_GANG_US_PER_S),
                          .limit_us = llround(ask->limit_s * ORR_GANG_US_PER_S),
                          .restart_us = -1,
                          .checkpoint_us = -1,
                          .checkpoint_cost_us = -1,
                          .detection_us = -1,
                          .priority = ask->priority,
                          .gpus = ask->gpus};
  guint at = 0;
  while (at < trace->jobs->len &&
         g_array_index(trace->jobs, OrrGangJob, at).submit_us <= job.submit_us)
    at++;
  g_array_insert_val(trace->jobs, at, job);
}

void orr_cluster_sections_window(const OrrClusterWindow *window, guint n_jobs, guint *ret_first,
                                 guint *ret_end) {
  const guint first = (guint)floor(window->warm_up * n_jobs);
  const guint last = (guint)floor(window->cool_down * n_jobs);
  *ret_first = MIN(first, n_jobs);
  *ret_end = MAX(*ret_first, n_jobs - MIN(last, n_jobs));
}

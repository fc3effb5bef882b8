/*
 * gang_failures.h - what fails under the jobs of a cluster, and when.
 *
 * A document of kind `failures` (workloads/campaign/failures.h) lists processes. Processes of GPUs,
 * nodes, switches and racks strike parts of the machine, busy or not: each is one Poisson process
 * over all its components (campaign_sim.h), drawn at the highest rate that any of them may have
 * and thinned to the rate that the struck one has:
 *
 *   lemons    a node is struck in proportion to its weight: 1, or `multiple`
 *   young     where no job on the part is young, one strike in `infant-multiple` counts
 *   sizes     a node with fewer GPUs than others counts in proportion, where GPUs fail
 *   repair    nodes in repair are not struck
 *
 * Processes of a job are drawn for each attempt when it starts: rate r, and infant-multiple r in
 * its first `infant-for`.
 *
 * A strike stops every job that has a GPU there. Nodes go out of service for the repair time,
 * except where the process is transient.
 */
#pragma once

#include "workloads/campaign/campaign_sim.h"
#include "workloads/campaign/failures.h"
#include "workloads/cluster_jobs/gang_job.h"

typedef enum {
  ORR_GANG_FAIL_REQUEUE,
  ORR_GANG_FAIL_REPLACE,
  ORR_GANG_FAIL_SHRINK
} OrrGangOnFailure;
extern const char *const orr_gang_on_failure_words[]; /* "requeue", "replace-node", "shrink" */

typedef struct {
  const OrrFailures *set;
  double repair_s; /* of processes that state none */
  gint64 detection_us;
  OrrGangOnFailure on_failure;
  guint64 seed;
  const gint64 *sizes; /* GPUs by node; NULL: all have as many */
} OrrGangFailureRules;

typedef struct {
  gint64 at_us;
  guint32 first, n; /* nodes */
  gint64 back_us;   /* when they return; -1: they stay in service */
  guint process;
} OrrGangStrike;

typedef struct OrrGangFailures OrrGangFailures;

/* @gpus_per_node: of the largest nodes. */
OrrGangFailures *orr_gang_failures_new(const OrrGangFailureRules *rules, guint n_nodes,
                                       gint64 gpus_per_node);
void orr_gang_failures_free(OrrGangFailures *failures);
const OrrGangFailureRules *orr_gang_failures_rules(const OrrGangFailures *failures);

/* The next strike or return of a node; G_MAXINT64: none. */
gint64 orr_gang_failures_next_us(const OrrGangFailures *failures);
/* The next strike at or before @now_us, which may not count; FALSE: none. */
gboolean orr_gang_failures_strike(OrrGangFailures *failures, gint64 now_us,
                                  OrrGangStrike *ret_strike);
/* Whether it counts where the youngest job there has run for @age_us (G_MAXINT64: none runs). */
gboolean orr_gang_failures_counts(OrrGangFailures *failures, const OrrGangStrike *strike,
                                  gint64 age_us);
/* Takes the nodes of @strike out; appends to @ret_out (of guint) those that were in service. */
void orr_gang_failures_take(OrrGangFailures *failures, const OrrGangStrike *strike,
                            GArray *ret_out);
/* Appends the nodes whose repair has ended by @now_us, and puts them in service. */
void orr_gang_failures_return(OrrGangFailures *failures, gint64 now_us, GArray *ret_back);
gboolean orr_gang_failures_is_out(const OrrGangFailures *failures, guint node);
/* When @node, which is out, returns. */
gint64 orr_gang_failures_back_us(const OrrGangFailures *failures, guint node);
/* When the attempt of @job that starts at @now_us fails by itself; G_MAXINT64: never. */
gint64 orr_gang_failures_of_job_us(const OrrGangFailures *failures, const OrrGangJob *job,
                                   gint64 now_us);

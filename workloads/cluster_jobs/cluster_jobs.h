/*
 * cluster_jobs.h - the workload `cluster`: the jobs of a trace on the GPUs of a cluster, for weeks,
 * under a scheduler's policy.
 *
 *   workload:
 *     kind: cluster
 *     jobs: trace.csv
 *     policy: {order: fifo, backfill: easy, placement: first-fit}
 *
 * Orders that preempt take a job's GPUs; `policy.preemption` says what that costs.
 *
 * It is an event simulation of its own (gang_sim.h): a job runs for the time that its trace states,
 * wherever its gang sits. Nothing is replayed on links.
 */
#ifndef ORR_CLUSTER_JOBS_H
#define ORR_CLUSTER_JOBS_H

#include "workloads/cluster_jobs/gang_sim.h"
#include "workloads/cluster_jobs/job_trace.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

/* What a preemption costs a job whose trace does not say. */
typedef struct {
  double checkpoint_s; /* work from one checkpoint to the next; 0: nothing is lost */
  double restart_s;
  int charge; /* OrrCharge */
} OrrClusterPreemption;

typedef struct {
  OrrChoice order;     /* OrrGangOrder */
  OrrChoice placement; /* OrrGangPlacement */
  int blocked;         /* OrrBlocked */
  int backfill;        /* OrrBackfill */
  OrrClusterPreemption preemption;
} OrrClusterPolicy;

typedef struct {
  char *stack; /* "none": this kind has no software */
  char *jobs;
  char *queue; /* only its jobs; "all" */
  OrrClusterPolicy policy;
} OrrClusterJobs;

typedef struct {
  OrrWork work; /* first */
  OrrGangRules rules;
  OrrJobTrace *trace;
  guint n_too_large; /* jobs left out: they ask for more GPUs than the cluster has */
  OrrGangTotals totals;
} OrrClusterWork;

extern const OrrFieldTable orr_cluster_jobs_table;
extern const OrrWorkloadKind orr_cluster_jobs_kind;

G_END_DECLS

#endif

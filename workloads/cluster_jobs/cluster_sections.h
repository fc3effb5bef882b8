/*
 * cluster_sections.h - sections of the document of a cluster of jobs: what fails, which jobs count
 * in statistics, and a job that is asked about.
 */
#ifndef ORR_CLUSTER_SECTIONS_H
#define ORR_CLUSTER_SECTIONS_H

#include "workloads/cluster_jobs/gang_failures.h"
#include "workloads/cluster_jobs/job_trace.h"

G_BEGIN_DECLS

typedef struct {
  OrrFailures set; /* no processes: nothing fails */
  double repair_s, detection_s;
  int on_failure; /* OrrGangOnFailure */
  gint64 seed;
} OrrClusterFailures;

/* Jobs at both ends of the trace see a cluster that fills or empties. */
typedef struct {
  double warm_up, cool_down; /* fractions of the jobs, by submission */
  gboolean overloaded;       /* means are stated even where more is offered than fits */
} OrrClusterWindow;

typedef struct {
  gint64 gpus; /* 0: nothing is asked */
  double work_s, at_s, limit_s;
  double priority;
  char *queue, *user, *model;
} OrrClusterAsk;

extern const OrrFieldTable orr_cluster_failures_table, orr_cluster_window_table,
    orr_cluster_ask_table;

/* The id of the job that is asked about. */
#define ORR_CLUSTER_ASKED "asked"

/* Puts the job of @ask into @trace, in its place. */
void orr_cluster_sections_ask(const OrrClusterAsk *ask, OrrJobTrace *trace);
/* The jobs that statistics count: from the first index on, before the last. */
void orr_cluster_sections_window(const OrrClusterWindow *window, guint n_jobs, guint *ret_first,
                                 guint *ret_end);

G_END_DECLS

#endif

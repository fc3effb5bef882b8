/*
 * job_generate.h - jobs that no trace has: arrivals, gangs and run times drawn from distributions.
 *
 *   workload: {jobs: generate, generate: {n: 10000, load: 0.8, gpus: [1, 8], weights: [70, 30]}}
 */
#ifndef ORR_JOB_GENERATE_H
#define ORR_JOB_GENERATE_H

#include "sim/base/field.h"
#include "workloads/cluster_jobs/job_trace.h"

G_BEGIN_DECLS

typedef enum { ORR_ARRIVALS_POISSON, ORR_ARRIVALS_EVEN, ORR_ARRIVALS_AT_ONCE } OrrJobArrivals;
typedef enum {
  ORR_DURATIONS_EXPONENTIAL,
  ORR_DURATIONS_LOGNORMAL,
  ORR_DURATIONS_CONSTANT
} OrrJobDurations;

typedef struct {
  gint64 n;
  double load;             /* of the cluster's GPUs */
  int arrivals, durations; /* OrrJobArrivals, OrrJobDurations */
  double mean_s, sigma;    /* of run times; sigma of their logarithm */
  GArray *gpus, *weights;  /* of double */
  char **queues;
} OrrJobGenerate;

extern const OrrFieldTable orr_job_generate_table;

void orr_job_generate_check(const OrrJobGenerate *generate, OrrPlace place, OrrDiags *diags);
/* The same @seed gives the same jobs. @n_gpus: of the cluster. */
OrrJobTrace *orr_job_generate(const OrrJobGenerate *generate, gint64 n_gpus, guint64 seed);

G_END_DECLS

#endif

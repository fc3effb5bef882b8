/*
 * job_generate.h - jobs that no trace has: arrivals, gangs and run times drawn from distributions.
 *
 *   workload: {jobs: generate, generate: {n: 10000, load: 0.8, gpus: [1, 8], weights: [70, 30]}}
 */
#ifndef ORR_JOB_GENERATE_H
#define ORR_JOB_GENERATE_H

#include "sim/base/field.h"
#include "workloads/cluster_jobs/gang_throughputs.h"
#include "workloads/cluster_jobs/job_trace.h"

G_BEGIN_DECLS

typedef enum { ORR_ARRIVALS_POISSON, ORR_ARRIVALS_EVEN, ORR_ARRIVALS_AT_ONCE } OrrJobArrivals;
typedef enum {
  ORR_DURATIONS_EXPONENTIAL,
  ORR_DURATIONS_LOGNORMAL,
  ORR_DURATIONS_CONSTANT,
  ORR_DURATIONS_PHILLY /* as Gavel draws them, after Philly's */
} OrrJobDurations;

typedef enum { ORR_JOB_MODELS_NONE, ORR_JOB_MODELS_THROUGHPUTS } OrrJobModels;
typedef enum { ORR_JOB_NUMBERS_STREAMS, ORR_JOB_NUMBERS_PYTHON } OrrJobNumbers;

typedef struct {
  gint64 n;
  double load;             /* of the cluster's GPUs */
  double gap_s;            /* mean time between submissions; 0: by the load */
  int models, numbers;     /* OrrJobModels, OrrJobNumbers */
  int arrivals, durations; /* OrrJobArrivals, OrrJobDurations */
  double mean_s, sigma;    /* of run times; sigma of their logarithm */
  GArray *gpus, *weights;  /* of double */
  char **queues;
} OrrJobGenerate;

extern const OrrFieldTable orr_job_generate_table;

void orr_job_generate_check(const OrrJobGenerate *generate, OrrPlace place, OrrDiags *diags);
/* What jobs are drawn for. */
typedef struct {
  gint64 n_gpus;                    /* of the cluster */
  guint64 seed;                     /* the same gives the same jobs */
  const OrrGangThroughputs *speeds; /* NULL: no table */
  const char *kind;                 /* of GPU, on which run times are drawn */
} OrrJobGround;

/* NULL where the table has no model for a gang. */
OrrJobTrace *orr_job_generate(const OrrJobGenerate *generate, const OrrJobGround *ground,
                              GError **error);

G_END_DECLS

#endif

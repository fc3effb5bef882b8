/*
 * failures.h - what fails, how often, and how it shows.
 *
 * Documents: workloads/campaign/failures/NAME.yaml (`schema: failures/1`), or a map in a scenario's
 * campaign. A rate belongs to one component: each GPU where the scope is gpu, each group of `nodes`
 * nodes where it is switch or rack, the whole job where it is job.
 */
#pragma once

#include "sim/base/field.h"

typedef enum { ORR_FAILURE_EXPONENTIAL, ORR_FAILURE_WEIBULL, ORR_FAILURE_LOGNORMAL } OrrFailureLife;

typedef enum {
  ORR_FAILURE_SCOPE_GPU,
  ORR_FAILURE_SCOPE_NODE,
  ORR_FAILURE_SCOPE_SWITCH,
  ORR_FAILURE_SCOPE_RACK,
  ORR_FAILURE_SCOPE_JOB
} OrrFailureScope;

typedef enum {
  ORR_FAILURE_REPAIR_FIXED,
  ORR_FAILURE_REPAIR_EXPONENTIAL,
  ORR_FAILURE_REPAIR_LOGNORMAL
} OrrFailureRepair;

typedef struct {
  char *component;
  int life;             /* OrrFailureLife */
  double rate_per_hour; /* exponential: of one component */
  double scale_s, shape;
  double infant, infant_s; /* the rate's multiple in the first seconds of an attempt */
  int scope;               /* OrrFailureScope */
  gint64 nodes;            /* switch, rack: that share one */
  char *symptom;
  gboolean transient; /* no node goes out of service */
  double repair_s;    /* mean; 0: the campaign's */
  int repair;         /* OrrFailureRepair */
  double repair_sigma;
} OrrFailureProcess;

/* Nodes that fail more often than the others: rates of processes that take nodes out of service one
 * at a time hold for the others. */
typedef struct {
  double fraction, multiple;
} OrrFailureLemons;

typedef struct {
  char *name, *source;
  GPtrArray *processes; /* of OrrFailureProcess */
  OrrFailureLemons lemons;
} OrrFailures;

/* The job goes on, and what it computes is worthless. */
gboolean orr_failures_is_silent(const OrrFailureProcess *p);
/* Its nodes go out of service until they are repaired. */
gboolean orr_failures_takes_nodes(const OrrFailureProcess *p);

extern const OrrFieldTable orr_failures_table;

/* Checks what single fields cannot: that each life has its numbers. Findings at @place. */
void orr_failures_check(const OrrFailures *failures, OrrPlace place, OrrDiags *diags);

/*
 * cluster_answers.h - what a cluster of jobs says beyond times: fairness, where its GPU-hours went,
 * its course over time, places, watts and money.
 */
#ifndef ORR_CLUSTER_ANSWERS_H
#define ORR_CLUSTER_ANSWERS_H

#include "sim/run/answer/replayed.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

G_BEGIN_DECLS

/* The time that @job had its GPUs over that at its given speed; NAN: it had none. */
double orr_cluster_answers_slowdown(const OrrGangJob *job);
/* Finish-time fairness (Mahajan et al., Themis, NSDI 2020; with the contention of its whole life as
 * Zheng et al., Shockwave, NSDI 2023, have it):
 *
 *   rho = completion time / (run time x max(1, mean GPUs that live jobs ask for / GPUs))
 *
 * NAN: it has no work. */
double orr_cluster_answers_rho(const OrrGangJob *job, double n_gpus);
/* Energy of the GPUs of @job; NAN: not known. */
double orr_cluster_answers_kwh(const OrrClusterWork *work, const OrrGangJob *job);

/* Fills the rest of the result, and the tables of rows_cluster_more.inc. */
void orr_cluster_answers(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif

/*
 * gang_sim_private.h - the state of a simulation, shared by the event loop and the passes over the
 * queue.
 */
#ifndef ORR_GANG_SIM_PRIVATE_H
#define ORR_GANG_SIM_PRIVATE_H

#include "workloads/cluster_jobs/gang_sim.h"

G_BEGIN_DECLS

typedef struct OrrGangPlan OrrGangPlan; /* gang_plan.c */

typedef struct {
  const OrrGangRules *rules;
  OrrGangBins bins;
  gint64 now_us, span_us;   /* span: since the event before */
  GPtrArray *waiting;       /* of OrrGangJob, in the order of the policy */
  GPtrArray *running;       /* of OrrGangJob, by end, then FIFO */
  GPtrArray *merged;        /* scratch of a repack */
  GArray *shares;           /* scratch */
  OrrGangBins later;        /* scratch of EASY */
  OrrGangAccounts accounts; /* all NULL: the order does not go by usage */
  double most_priority;
  OrrGangPlan *plan; /* conservative backfill; NULL: other */
  OrrGangTotals totals;
} OrrGangSim;

/* < 0: @a comes first. */
int orr_gang_sim_compare(const OrrGangSim *sim, const OrrGangJob *a, const OrrGangJob *b);
gboolean orr_gang_sim_fits(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job);
/* Starts @job at sim->shares, which orr_gang_sim_fits has set. It is no longer in the queue. */
void orr_gang_sim_start(OrrGangSim *sim, OrrGangJob *job);
void orr_gang_sim_add_running(OrrGangSim *sim, OrrGangJob *job);

/* The passes. Easy is called with the index of the first waiting job, which does not fit. */
void orr_gang_easy_pass(OrrGangSim *sim, guint head);
void orr_gang_repack(OrrGangSim *sim);

OrrGangPlan *orr_gang_plan_new(const OrrGangSim *sim);
void orr_gang_plan_free(OrrGangPlan *plan);
void orr_gang_plan_add(OrrGangSim *sim, OrrGangJob *job); /* promises a start to a new job */
/* @job has ended before its estimate: what it held is free, and promises move earlier. */
void orr_gang_plan_ended_early(OrrGangSim *sim, const OrrGangJob *job);
void orr_gang_plan_pass(OrrGangSim *sim); /* starts the jobs that are promised now */

G_END_DECLS

#endif

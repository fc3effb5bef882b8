/*
 * gang_preempt.h - what takes GPUs from running jobs: other jobs, moves, failures.
 */
#pragma once

#include "workloads/cluster_jobs/core/gang_state.h"

/* gang_preempt.c: what a preemption does to a job. */
void orr_gang_preempt_count(OrrGangSim *sim, OrrGangJob *job); /* it has been stopped */
/* Work since the last checkpoint is lost, and the next start takes the restart and @more_us.
 * @fails: a failure has stopped @job. */
void orr_gang_preempt_lose(const OrrGangSim *sim, OrrGangJob *job, gint64 more_us, gboolean fails);
/* Sets what the checkpoints of @job take, so that with them it ends within @limit_us (0: none). */
void orr_gang_preempt_plan_checkpoints(const OrrGangRules *rules, OrrGangJob *job, gint64 limit_us);
void orr_gang_preempt_charge(OrrGangSim *sim, OrrGangJob *job); /* count, and lose */
void orr_gang_preempt(OrrGangSim *sim, OrrGangJob *job);        /* stops it, as the mode says */
/* @job, which has been stopped, is to go on with @gpus, after a restart. */
void orr_gang_preempt_resize(OrrGangSim *sim, OrrGangJob *job, gint64 gpus);
/* GPU time that @job would lose now. */
double orr_gang_preempt_loss(const OrrGangSim *sim, const OrrGangJob *job);
/* The trace's value for a job, or else the policy's. */
gint64 orr_gang_preempt_stated(gint64 of_job_us, gint64 of_policy_us);

/* gang_victims.c: finds running jobs whose GPUs @job may take, preempts them and starts it. FALSE:
 * there are none, and nothing has changed. */
gboolean orr_gang_victims_take(OrrGangSim *sim, OrrGangJob *job);
/* Whether the queue of @job stays within its quota with it. */
gboolean orr_gang_victims_is_within(const OrrGangSim *sim, const OrrGangJob *job);
/* Whether any rule takes GPUs from running jobs. */
gboolean orr_gang_victims_any(const OrrGangRules *rules);
/* When a running job may become a victim next; G_MAXINT64: never. */
gint64 orr_gang_victims_next_us(const OrrGangSim *sim);
/* Until then its min-run protects @job. */
gint64 orr_gang_victims_safe_until_us(const OrrGangSim *sim, const OrrGangJob *job);

/* gang_consolidate.c: moves running jobs until @job fits, and starts it. FALSE: nothing changed. */
gboolean orr_gang_consolidate(OrrGangSim *sim, OrrGangJob *job);

/* gang_strike.c: failures and returns of nodes that are due now. */
void orr_gang_strike(OrrGangSim *sim);
gint64 orr_gang_strike_next_us(const OrrGangSim *sim);

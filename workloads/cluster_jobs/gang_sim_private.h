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
  OrrGangKind kinds[ORR_GANG_KINDS];             /* one where the rules name none */
  guint n_kinds, first_bins[ORR_GANG_KINDS + 1]; /* bins of kind k: first_bins[k], ... */
  gint64 now_us, span_us;                        /* span: since the event before */
  GPtrArray *waiting;                            /* of OrrGangJob, in the order of the policy */
  GPtrArray *running;                            /* of OrrGangJob, by end, then FIFO */
  GPtrArray *merged;                             /* scratch of a repack */
  GArray *shares;                                /* scratch */
  OrrGangBins later;                             /* scratch of EASY: nodes, */
  OrrGangQueues later_tree;                      /* and queues, at the promised start */
  guint64 *refused,
      refusals;             /* of EASY: by GPUs, the count of refusals when one was last refused */
  OrrGangAccounts accounts; /* all NULL: the order does not go by usage */
  double most_priority;
  OrrGangPlan *plan;      /* conservative backfill; NULL: other */
  OrrGangQueues tree;     /* of queues; all NULL: neither queues nor victims */
  double *popular;        /* gang_bins.h */
  GArray *victims;        /* of OrrGangJob *, scratch of a preemption */
  GPtrArray *requeued;    /* preempted in this pass */
  gboolean *is_blocked;   /* by queue, in a pass */
  OrrGangPlan *window;    /* gang_window.c; NULL: not yet */
  gboolean fills_due;     /* something happened since the last backfill by window */
  guint64 turns;          /* given to jobs so far (gang_repack.c) */
  gboolean is_due;        /* something happened since the last pass */
  GHashTable *dependents; /* a job to those that wait for it (gang_after.c); NULL: none */
  gint64 n_gpus, n_out;   /* of the cluster; of nodes in repair */
  double demand;          /* GPUs that jobs have asked for which run or wait */
  double waiting_gpus;    /* the same of jobs that wait */
  OrrGangTotals totals;
} OrrGangSim;

/* < 0: @a comes first; by submission only. */
int orr_gang_sim_compare_fifo(const OrrGangJob *a, const OrrGangJob *b);
/* < 0: @a comes first. */
int orr_gang_sim_compare(const OrrGangSim *sim, const OrrGangJob *a, const OrrGangJob *b);
gboolean orr_gang_sim_fits(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job);
/* Starts @job at sim->shares, which orr_gang_sim_fits has set. It is no longer in the queue. */
void orr_gang_sim_start(OrrGangSim *sim, OrrGangJob *job);
void orr_gang_sim_add_running(OrrGangSim *sim, OrrGangJob *job);
/* Books the time and the energy of @job, which runs, until now. */
void orr_gang_sim_book(const OrrGangSim *sim, OrrGangJob *job);
/* @job, which holds no GPUs, has ended, or was preempted for good: the sums over its life. @why:
 * gang_history.h. */
void orr_gang_sim_close(OrrGangSim *sim, OrrGangJob *job, const char *why);
void orr_gang_sim_count_waiting(OrrGangSim *sim); /* after a pass that has placed all anew */

/* After a pass: the paces of all that run, whose places or neighbours have changed. */
void orr_gang_pace(OrrGangSim *sim);
/* Failures and returns of nodes that are due now. */
void orr_gang_strike(OrrGangSim *sim);
gint64 orr_gang_strike_next_us(const OrrGangSim *sim);

gboolean orr_gang_sim_place(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job);
/* Whether @job fits on kind @kind; then sim->shares says where. */
gboolean orr_gang_sim_fits_kind(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job,
                                guint kind);
/* Kinds that @job may have, the first to be tried first; returns their number. */
guint orr_gang_sim_kinds(const OrrGangSim *sim, const OrrGangJob *job, guint kinds[ORR_GANG_KINDS]);
void orr_gang_sim_queue(OrrGangSim *sim, OrrGangJob *job); /* puts it among those that wait */
void orr_gang_sim_leave(OrrGangSim *sim, OrrGangJob *job); /* takes it from those that run */

/* gang_kinds.c */
void orr_gang_kinds_open(OrrGangSim *sim); /* sets kinds and makes the bins */
/* The largest gang that would start now on an empty queue. */
gint64 orr_gang_kinds_largest(const OrrGangSim *sim);
/* The speed of @job with @gpus of kind @kind, relative to the GPUs it asked for on that kind. */
double orr_gang_kinds_speed(const OrrGangSim *sim, const OrrGangJob *job, guint kind, gint64 gpus);
/* Sets kind, rate, start and end of @job, which starts at its shares. */
void orr_gang_kinds_begin(const OrrGangSim *sim, OrrGangJob *job);

/* gang_preempt.c: what a preemption does to a job. */
void orr_gang_preempt_count(OrrGangSim *sim, OrrGangJob *job); /* it has been stopped */
/* Work since the last checkpoint is lost, and the next start takes the restart and @more_us;
 * returns what that adds to its run time. @job has been stopped. */
gint64 orr_gang_preempt_lose(const OrrGangSim *sim, OrrGangJob *job, gint64 more_us);
/* Sets what the checkpoints of @job take, so that with them it ends within @limit_us (0: none). */
void orr_gang_preempt_plan_checkpoints(const OrrGangRules *rules, OrrGangJob *job, gint64 limit_us);
void orr_gang_preempt_charge(OrrGangSim *sim, OrrGangJob *job); /* both */
void orr_gang_preempt(OrrGangSim *sim, OrrGangJob *job);        /* stops it, as the mode says */
/* @job, which has been stopped, is to go on with @gpus, after a restart. */
void orr_gang_preempt_resize(OrrGangSim *sim, OrrGangJob *job, gint64 gpus);
/* GPU time that @job would lose now. */
double orr_gang_preempt_loss(const OrrGangSim *sim, const OrrGangJob *job);

/* gang_victims.c: finds running jobs whose GPUs @job may take, preempts them and starts it. FALSE:
 * there are none, and nothing has changed. */
gboolean orr_gang_victims_take(OrrGangSim *sim, OrrGangJob *job);
/* When a running job may become a victim next; G_MAXINT64: never. */
gint64 orr_gang_victims_next_us(const OrrGangSim *sim);
/* Until then its min-run protects @job. */
gint64 orr_gang_victims_safe_until_us(const OrrGangSim *sim, const OrrGangJob *job);
/* gang_consolidate.c: moves running jobs until @job fits, and starts it. FALSE: nothing changed. */
gboolean orr_gang_consolidate(OrrGangSim *sim, OrrGangJob *job);

void orr_gang_elastic_pass(OrrGangSim *sim);
void orr_gang_queue_pass(OrrGangSim *sim);
/* The room that queues and nodes have, now or later. */
typedef struct {
  const OrrGangQueues *tree;
  const OrrGangBins *bins;
} OrrGangRoom;
/* Whether @job fits there, by borrowing from other queues or (@borrows FALSE) without. */
gboolean orr_gang_queue_pass_fits_in(OrrGangSim *sim, const OrrGangRoom *room,
                                     const OrrGangJob *job, gboolean borrows);
/* Whether @job fits its queue's limits and the nodes; then sim->shares says where. */
gboolean orr_gang_queue_pass_fits(OrrGangSim *sim, const OrrGangJob *job);

/* gang_after.c: jobs that wait for others. */
void orr_gang_after_open(OrrGangSim *sim, GArray *jobs);
void orr_gang_after_close(OrrGangSim *sim);
/* @job has ended: those that waited for it alone, and have been submitted, join the queue. */
void orr_gang_after_ended(OrrGangSim *sim, const OrrGangJob *job);

/* The passes. Easy is called with the index of the first waiting job, which does not fit. */
void orr_gang_easy_pass(OrrGangSim *sim, guint head);
void orr_gang_repack(OrrGangSim *sim);

OrrGangPlan *orr_gang_plan_new(const OrrGangSim *sim);
void orr_gang_plan_free(OrrGangPlan *plan);
void orr_gang_plan_add(OrrGangSim *sim, OrrGangJob *job); /* promises a start to a new job */
/* @job has ended before its estimate: what it held is free, and promises move earlier. */
void orr_gang_plan_ended_early(OrrGangSim *sim, const OrrGangJob *job);
void orr_gang_window_pass(OrrGangSim *sim);
/* GPUs that are free from some time on, later than now. */
typedef struct {
  gint64 at_us;
  const GArray *shares;
} OrrGangFreed;
/* Begins a plan with what is free now and what is freed later (@freed, of OrrGangFreed, which is
 * sorted); adds what is taken; finds the first time until @until_us, the same for all jobs of a
 * plan, at which @job fits for @length_us, and sets sim->shares to the place (G_MAXINT64: there is
 * none). */
void orr_gang_plan_begin(OrrGangPlan *plan, const OrrGangSim *sim, GArray *freed);
void orr_gang_plan_take(OrrGangPlan *plan, const GArray *shares, gint64 from_us, gint64 to_us);
gint64 orr_gang_plan_find(OrrGangPlan *plan, OrrGangSim *sim, const OrrGangJob *job,
                          gint64 length_us, gint64 until_us);
void orr_gang_plan_pass(OrrGangSim *sim); /* starts the jobs that are promised now */

G_END_DECLS

#endif

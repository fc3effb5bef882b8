/*
 * gang_state.h - the state of a simulation of jobs, and what changes it: the event loop
 * (gang_sim.c) and the passes over the queue call this; it calls none of them.
 */
#pragma once

#include "workloads/cluster_jobs/core/gang_rules.h"

typedef struct {
  const OrrGangRules *rules;
  OrrGangBins bins;
  OrrGangKind kinds[ORR_GANG_KINDS];             /* one where the rules name none */
  guint n_kinds, first_bins[ORR_GANG_KINDS + 1]; /* bins of kind k: first_bins[k], ... */
  gint64 now_us, span_us;                        /* span: since the event before */
  GPtrArray *waiting;                            /* of OrrGangJob, in the order of the policy */
  GPtrArray *running;                            /* of OrrGangJob, by end, then FIFO */
  GPtrArray *merged;                             /* scratch of a repack */
  GArray *shares;                                /* scratch: the place that was found last */
  OrrGangBins later;                             /* scratch of EASY: nodes, */
  OrrGangQueues later_tree;                      /* and queues, at the promised start */
  guint64 *refused,
      refusals;             /* of EASY: by GPUs, the count of refusals when one was last refused */
  OrrGangAccounts accounts; /* all NULL: the order does not go by usage */
  double most_priority;
  struct OrrGangPlan *plan; /* of conservative backfill, or by window; NULL: not yet */
  OrrGangQueues tree;       /* of queues; all NULL: neither queues nor victims nor resources */
  double *popular;          /* gang_bins.h */
  gboolean *needed;         /* by GPUs: whether some gang needs them on its last node */
  GArray *victims;          /* of OrrGangJob *, scratch of a preemption */
  GPtrArray *requeued;      /* preempted in this pass */
  gboolean *is_blocked;     /* by queue, in a pass */
  gboolean fills_due;       /* something happened since the last backfill by window */
  guint64 turns;            /* given to jobs so far (gang_repack.c) */
  gboolean is_due;          /* something happened since the last pass */
  GHashTable *dependents;   /* a job to those that wait for it (gang_after.c); NULL: none */
  gint64 n_gpus, n_out;     /* of the cluster; of nodes in repair */
  double demand;            /* GPUs that jobs have asked for which run or wait */
  double waiting_gpus;      /* the same of jobs that wait */
  OrrGangTotals totals;
} OrrGangSim;

/* Without jobs, at time 0. */
void orr_gang_sim_init(OrrGangSim *sim, const OrrGangRules *rules);
void orr_gang_sim_clear(OrrGangSim *sim); /* leaves sim->plan alone */

/* < 0: @a comes first; by submission only. */
int orr_gang_sim_compare_fifo(const OrrGangJob *a, const OrrGangJob *b);
/* < 0: @a comes first. */
int orr_gang_sim_compare(const OrrGangSim *sim, const OrrGangJob *a, const OrrGangJob *b);
/* Where usage makes keys drift: puts the waiting jobs in order again. */
void orr_gang_sim_sort_waiting(OrrGangSim *sim);

void orr_gang_sim_sort_running(OrrGangSim *sim); /* again by end: ends have moved */
/* Starts @job at sim->shares, which gang_room.c has set. It is no longer in the queue. */
void orr_gang_sim_start(OrrGangSim *sim, OrrGangJob *job);
/* Counts the time and the energy of @job, which runs, until now. */
void orr_gang_sim_book(const OrrGangSim *sim, OrrGangJob *job);
/* Gives back what @job holds, and changes nothing of its work. */
void orr_gang_sim_release(OrrGangSim *sim, OrrGangJob *job);
void orr_gang_sim_leave(OrrGangSim *sim, OrrGangJob *job); /* takes it from those that run */
void orr_gang_sim_queue(OrrGangSim *sim, OrrGangJob *job); /* puts it among those that wait */
/* Puts the requeued jobs among those that wait; returns how many. */
guint orr_gang_sim_requeue(OrrGangSim *sim);
/* @job, which holds no GPUs, has ended, or was preempted for good: the sums over its life. @why:
 * gang_history.h. */
void orr_gang_sim_close(OrrGangSim *sim, OrrGangJob *job, const char *why);
/* Whether gangs change their size, so that sums over @job count GPUs x time. */
gboolean orr_gang_sim_was_resized(const OrrGangSim *sim, const OrrGangJob *job);
void orr_gang_sim_count_waiting(OrrGangSim *sim); /* after a pass that has placed all anew */

/* gang_room.c: what fits. Each sets sim->shares to the place where it does. */

/* The room that queues and nodes have, now or later. */
typedef struct {
  const OrrGangQueues *tree;
  const OrrGangBins *bins;
} OrrGangRoom;
/* Whether @job fits the limits of its queue, by borrowing from others or (@borrows FALSE) without,
 * and the nodes. */
gboolean orr_gang_room_fits(OrrGangSim *sim, const OrrGangRoom *room, const OrrGangJob *job,
                            gboolean borrows);
gboolean orr_gang_room_fits_now(OrrGangSim *sim, const OrrGangJob *job);
/* The same of @bins alone, whatever its queue may have. */
gboolean orr_gang_room_on_nodes(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job);
/* Whether CPUs and memory are left for @job. */
gboolean orr_gang_room_has_resources(const OrrGangQueues *tree, const OrrGangJob *job);

/* gang_kinds.c */
void orr_gang_kinds_open(OrrGangSim *sim); /* sets kinds and makes the bins */
/* Kinds that @job may have, the first to be tried first; returns their number. */
guint orr_gang_kinds_of(const OrrGangSim *sim, const OrrGangJob *job, guint kinds[ORR_GANG_KINDS]);
/* The largest gang that would start now on an empty queue. */
gint64 orr_gang_kinds_largest(const OrrGangSim *sim);
/* The speed of @job with @gpus of kind @kind, relative to the GPUs it asked for on that kind. */
double orr_gang_kinds_speed(const OrrGangSim *sim, const OrrGangJob *job, guint kind, gint64 gpus);
guint orr_gang_kinds_at(const OrrGangSim *sim, const GArray *shares); /* the kind of these GPUs */
/* Sets kind, rate, start and end of @job, which starts at its shares. */
void orr_gang_kinds_begin(const OrrGangSim *sim, OrrGangJob *job);

/* gang_pace.c: after a pass, the paces of all that run, whose places or neighbours have changed. */
void orr_gang_pace(OrrGangSim *sim);

/* gang_after.c: jobs that wait for others, and for their own submission. From a job to those that
 * wait for it; NULL: none. */
GHashTable *orr_gang_after_open(GArray *jobs);
/* The ids of the jobs that @job waits for, newly allocated. */
char **orr_gang_after_ids(const OrrGangJob *job);
/* @job is submitted. FALSE: it still waits for another one. */
gboolean orr_gang_after_submitted(OrrGangJob *job);
/* @job has ended: adds to @ready the jobs that waited for nothing else. */
void orr_gang_after_ended(GHashTable *dependents, const OrrGangJob *job, GPtrArray *ready);

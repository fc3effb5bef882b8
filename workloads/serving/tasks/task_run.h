/*
 * task_run.h - tasks on the clock: each is a tree of branches, and each branch does one step at a
 * time.
 *
 *   arrival --> task, its first branch --step--> step --> ... --> done
 *                                        |
 *     generate   a request on its way through the fleet, whose prompt is the branch's context
 *     tool, search, encode   a job in a pool: it waits for a server and takes it for a time
 *     repeat     the steps of a program, some times
 *     parallel   branches with a context of their own, or a fork of this one; the step ends with
 *                the last of them
 *
 * Contexts: blocks of a branch's prompt are named by its own conversation from where it forked, and
 * by its parent's before (OrrTextFork), so siblings find the parent's blocks in a prefix cache.
 *
 * Invariants
 *  1. A task has at most one outcome. Once it has one, no step of it begins; it ends for its client
 *     when it gets one, and for the simulator when its last branch has stopped.
 *  2. A branch has at most one step under way; n_children > 0 only during `parallel`.
 *  3. Jobs are served in the order in which they came (pools/), whatever their task.
 */
#pragma once

#include "workloads/serving/replica/serving_run.h"
#include "workloads/serving/serving.h"

typedef struct OrrTaskRun OrrTaskRun;

/* What a run of tasks asks of its fleet. */
typedef struct {
  void *user;
  OrrRequest *(*new_request)(void *user);          /* all zero */
  void (*submit)(void *user, OrrRequest *request); /* it arrives now; takes it */
  /* The turn that follows @ended in the load's conversation; FALSE: it was the last. */
  gboolean (*next_turn)(void *user, OrrRequest *ended, OrrRequest *ret_turn);
  void (*moved)(void *user);                            /* a step has ended */
  void (*ended)(void *user, const OrrRequest *arrival); /* for its client */
} OrrTaskReports;

/* NULL with @error. @run outlives it. */
OrrTaskRun *orr_task_run_new(OrrServingRun *run, const OrrTaskReports *reports, GError **error);
void orr_task_run_free(OrrTaskRun *tasks); /* NULL is fine */
/* @arrival's prompt is where the context begins. */
void orr_task_run_arrive(OrrTaskRun *tasks, const OrrRequest *arrival);
/* A request of a task has left the fleet; with its row, or NULL: it was rejected or failed. */
void orr_task_run_left(OrrRequest *request, const OrrServingRequestRow *row);
gint64 orr_task_run_active(const OrrTaskRun *tasks); /* with a branch that has not stopped */
void orr_task_run_close(OrrTaskRun *tasks);          /* writes the rows of pools */

/* task_check.c: checks a document of tasks: names, loops, and options of serving that tasks
 * exclude. */

/* @place: of the workload. Findings of a step are at the step. */
void orr_task_check(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                    OrrDiags *diags);

/*
 * task_branch.h - what a step asks of the branch that it runs in.
 */
#pragma once

#include "workloads/serving/tasks/pools/task_pool.h"

OrrRandom *orr_task_branch_random(OrrTaskBranch *branch);
const OrrTasks *orr_task_branch_document(const OrrTaskBranch *branch);
/* A generation of @output tokens, after @input more of the context. */
void orr_task_branch_generate(OrrTaskBranch *branch, gint32 input, gint32 output);
/* The turns of the load's conversation. The waits between them are spent on @pool; below 0:
 * nowhere. */
void orr_task_branch_replay(OrrTaskBranch *branch, int pool);
/* A job in a pool, whose result adds @adds tokens to the context. */
void orr_task_branch_use(OrrTaskBranch *branch, const OrrTaskJob *job, int pool, gint32 adds);
void orr_task_branch_repeat(OrrTaskBranch *branch, const OrrTaskProgram *program, gint64 times,
                            double again);

/* What `parallel` forks. */
typedef struct {
  const OrrTaskProgram *program;
  gint64 n;
  gboolean is_forked;       /* the context goes on; FALSE: each has one of its own */
  gint32 system;            /* tokens of an own context that all calls share */
  const OrrLengths *prompt; /* tokens of each that follow */
  const OrrLengths *adds;   /* tokens by which each branch lengthens the context at its end */
} OrrTaskFork;
void orr_task_branch_fork(OrrTaskBranch *branch, const OrrTaskFork *fork);

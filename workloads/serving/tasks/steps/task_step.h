/*
 * task_step.h - what a step of a task does.
 *
 * To add one: write workloads/serving/tasks/steps/NAME.c with one `const OrrTaskStepKind` and its
 * line in meson.build.
 */
#pragma once

#include "workloads/serving/tasks/task_branch.h"

/* What a step's check sees. */
typedef struct {
  const OrrTasks *tasks;
  OrrPlace place; /* of the step */
  OrrDiags *diags;
  GHashTable *named; /* a set of the pools and programs that steps name */
} OrrTaskCheck;

typedef struct {
  OrrEntry entry;
  /* Mandatory: begin. */
  void (*check)(const void *params, const OrrTaskCheck *check);
  /* TRUE: the branch goes on at once; otherwise when what was begun has ended. */
  gboolean (*begin)(const void *params, OrrTaskBranch *branch);
  const char *(*program)(const void *params); /* that it calls; NULL: none */
  gboolean is_replay;                         /* its requests are the load's */
} OrrTaskStepKind;

/* Errors where there is no pool @name of kind @kind, or no program @name. */
void orr_task_check_pool(const OrrTaskCheck *check, const char *name, const char *kind);
void orr_task_check_program(const OrrTaskCheck *check, const char *name);
/* The same for a step that has pool @name read sequences of @lengths: one that is longer than the
 * context of what reads is an error, too. */
void orr_task_check_reading(const OrrTaskCheck *check, const char *name, const char *kind,
                            const OrrLengths *lengths);
/* An error where @lengths are given and cannot be drawn; @is_required: or not given. */
void orr_task_check_lengths(const OrrTaskCheck *check, const OrrLengths *lengths, const char *what,
                            gboolean is_required);

#define ORR_TASK_LENGTHS(type_, key_, member_, sentence_)                                          \
  ORR_FIELD_SECTION(type_, key_, member_, &orr_lengths_table, "{}", sentence_)

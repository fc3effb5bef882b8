/*
 * task_params.h - tasks: requests that are small programs. Their document, `workload.tasks`.
 *
 *   tasks:
 *     steps:                                  # what a task does, in order
 *       - {name: work, do: {kind: repeat, program: turn, times: {tokens: 8}}}
 *     programs:                               # lists of steps that others call by name
 *       - name: turn
 *         steps:
 *           - {name: think, do: generate}
 *           - {name: test, do: {kind: tool, pool: sandboxes, time: {mean: 20 s}}}
 *     pools:                                  # what steps queue for, outside the engines
 *       - {name: sandboxes, of: {kind: workers, workers: 64}}
 *
 * The load says when tasks come. A task's context begins with shared-prefix and `input` tokens;
 * each generation's prompt is the context so far, so that a prefix cache finds it again, and its
 * answer joins the context. task_run.h says how a task runs; steps/ and pools/ have the choices.
 */
#pragma once

#include "sim/base/field.h"
#include "workloads/lengths.h"

typedef struct {
  char *name;
  OrrChoice of; /* of orr_task_pool_registry */
  char *shares; /* the pool whose GPUs it uses; NULL: it has its own */
} OrrTaskPool;

typedef struct {
  char *name;
  OrrChoice does;   /* of orr_task_step_registry */
  gboolean answers; /* its end is when the client gets the first of the answer */
} OrrTaskStep;

typedef struct {
  char *name;
  GPtrArray *steps; /* OrrTaskStep* */
} OrrTaskProgram;

typedef struct {
  GPtrArray *steps;               /* OrrTaskStep*; NULL: a request is one turn */
  GPtrArray *programs;            /* OrrTaskProgram*; NULL: none */
  GPtrArray *pools;               /* OrrTaskPool*; NULL: none */
  double timeout_s;               /* 0: none */
  gint64 most_turns, most_tokens; /* generations, and their tokens, of a task; 0: no limit */
} OrrTasks;

extern const OrrRegistry orr_task_step_registry, orr_task_pool_registry;
extern const OrrFieldTable orr_tasks_table;

static inline gboolean orr_tasks_are_on(const OrrTasks *tasks) { return tasks->steps != NULL; }
/* -1, NULL: unknown. */
int orr_tasks_pool_index(const OrrTasks *tasks, const char *name);
const OrrTaskProgram *orr_tasks_program(const OrrTasks *tasks, const char *name);
/* GPUs of the pools before @end; G_MAXUINT: of all. */
gint64 orr_tasks_gpus(const OrrTasks *tasks, guint end);
/* 0 where @lengths are not given. */
gint32 orr_tasks_draw(const OrrLengths *lengths, OrrRandom *random);

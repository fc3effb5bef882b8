/*
 * task_params.c - the documents of tasks.
 */
#include "workloads/serving/tasks/task_params.h"

#include "workloads/serving/tasks/pools/task_pool.h"

static const OrrFieldTable step_table = ORR_FIELDS(
    "task-step", "A step of a task.", OrrTaskStep,
    ORR_FIELD_TEXT(OrrTaskStep, "name", name, NULL, "What results call it."),
    ORR_FIELD_CHOICE(OrrTaskStep, "do", does, &orr_task_step_registry, NULL, "What the step does."),
    ORR_FIELD_BOOL(OrrTaskStep, "answers", answers, "false",
                   "Whether its client has a part of the answer at its end: the first "
                   "such end of a task is its first answer."));

static const OrrFieldTable program_table = ORR_FIELDS(
    "task-program", "Steps that others repeat or fork.", OrrTaskProgram,
    ORR_FIELD_TEXT(OrrTaskProgram, "name", name, NULL, "What steps call it by."),
    ORR_FIELD_SECTIONS(OrrTaskProgram, "steps", steps, &step_table, NULL, "Its steps, in order."));

static const OrrFieldTable pool_table = ORR_FIELDS(
    "task-pool", "Resources outside the engines for which steps of tasks queue.", OrrTaskPool,
    ORR_FIELD_TEXT(OrrTaskPool, "name", name, NULL, "What steps call it by."),
    ORR_FIELD_CHOICE(OrrTaskPool, "of", of, &orr_task_pool_registry, NULL, "What it consists of."),
    ORR_FIELD_TEXT(OrrTaskPool, "shares", shares, NULL,
                   "An earlier pool with as many replicas, whose GPUs this one uses, too: a GPU "
                   "has one pool's model at a time, and others' come from host memory when their "
                   "jobs do.",
                   .flags = ORR_FIELD_OPTIONAL));

const OrrFieldTable orr_tasks_table = ORR_FIELDS(
    "tasks", "Requests that are small programs: turns, tools, searches, branches.", OrrTasks,
    ORR_FIELD_SECTIONS(OrrTasks, "steps", steps, &step_table, NULL, "What a task does, in order."),
    ORR_FIELD_SECTIONS(OrrTasks, "programs", programs, &program_table, NULL,
                       "Lists of steps that steps call by name.", .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTIONS(OrrTasks, "pools", pools, &pool_table, NULL,
                       "Resources outside the engines for which steps queue.",
                       .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_REAL(OrrTasks, "timeout", timeout_s, ORR_UNIT_SECONDS, "0 s",
                   "A task that takes longer ends unfinished: its client has left; steps under "
                   "way run to their end, and no other step begins. 0: never.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrTasks, "max-turns", most_turns, "0",
                  "Generations of a task, in all its branches; one more ends it unfinished. 0: no "
                  "limit.",
                  .min = 0, .max = 1e9),
    ORR_FIELD_INT(OrrTasks, "max-tokens", most_tokens, "0",
                  "Output tokens of a task; a generation beyond them ends it unfinished. 0: no "
                  "limit.",
                  .min = 0, .max = 1e12));

int orr_tasks_pool_index(const OrrTasks *tasks, const char *name) {
  for (guint i = 0; tasks->pools && i < tasks->pools->len; i++)
    if (strcmp(((const OrrTaskPool *)tasks->pools->pdata[i])->name, name) == 0) return (int)i;
  return -1;
}

const OrrTaskProgram *orr_tasks_program(const OrrTasks *tasks, const char *name) {
  ORR_EACH_POINTER(const OrrTaskProgram, program, tasks->programs)
    if (strcmp(program->name, name) == 0) return program;
  return NULL;
}

gint64 orr_tasks_gpus(const OrrTasks *tasks, guint end) {
  gint64 sum = 0;
  for (guint i = 0; tasks->pools && i < MIN(tasks->pools->len, end); i++) {
    const OrrTaskPool *pool = tasks->pools->pdata[i];
    const OrrTaskPoolKind *kind = (const OrrTaskPoolKind *)pool->of.entry;
    if (kind && kind->gpus && !pool->shares) sum += kind->gpus(pool->of.params);
  }
  return sum;
}

gint32 orr_tasks_draw(const OrrLengths *lengths, OrrRandom *random) {
  const gboolean is_given = lengths->tokens > 0 || lengths->kind != 0; /* 0: constant */
  return is_given ? (gint32)orr_lengths_draw(lengths, random) : 0;
}

/*
 * task_parallel.c - branches that run a program at once; the step ends with the last of them.
 *
 * A forked branch begins with this branch's context, whose blocks a prefix cache has (siblings). A
 * sub-agent has a context of its own: a system prompt that all calls of the program share, and its
 * orders. What a branch returns joins this context.
 *
 *   steps: [{name: explore, do: {kind: parallel, program: explorer, branches: {tokens: 3},
 *            context: own, system: 2000, prompt: {tokens: 500}, returns: {tokens: 400}}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"

enum { FORKED, OWN };
enum { MOST_BRANCHES = 10000 };
static const char *const context_words[] = {"forked", "own", NULL};

typedef struct {
  char *program;
  OrrLengths branches, prompt, returns;
  int context;
  gint64 system;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-parallel", "Branches of a task.", Params,
    ORR_FIELD_TEXT(Params, "program", program, NULL, "What each branch does."),
    ORR_FIELD_SECTION(Params, "branches", branches, &orr_lengths_table, "{tokens: 2, least: 0}",
                      "How many; `tokens` is the mean."),
    ORR_FIELD_WORD(Params, "context", context, context_words, "forked",
                   "Where their context begins: with this branch's, or with one of its own "
                   "(sub-agents)."),
    ORR_FIELD_INT(Params, "system", system, "0",
                  "own: tokens with which each call of the program begins.", .min = 0, .max = 1e7),
    ORR_TASK_LENGTHS(Params, "prompt", prompt,
                     "own: tokens after them; forked: tokens that only this branch has."),
    ORR_TASK_LENGTHS(Params, "returns", returns, "Tokens by which each lengthens this context."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_program(check, params->program);
  orr_task_check_lengths(check, &params->branches, "branches", FALSE);
  orr_task_check_lengths(check, &params->prompt, "prompt", FALSE);
  orr_task_check_lengths(check, &params->returns, "returns", FALSE);
  if (orr_lengths_largest(&params->branches) > MOST_BRANCHES)
    orr_diags_error(check->diags, check->place, "branches may be more than %d: give branches.most",
                    MOST_BRANCHES);
  if (params->context == FORKED && params->system > 0)
    orr_diags_error(check->diags, check->place,
                    "system is for contexts of their own: give context: own");
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  const OrrTasks *tasks = orr_task_branch_document(branch);
  OrrTaskFork fork = {.program = orr_tasks_program(tasks, params->program),
                      .is_forked = params->context == FORKED,
                      .system = (gint32)params->system,
                      .prompt = &params->prompt,
                      .adds = &params->returns};
  fork.n = orr_tasks_draw(&params->branches, orr_task_branch_random(branch));
  if (fork.n > 0) orr_task_branch_fork(branch, &fork);
  return fork.n == 0;
}

static const char *program(const void *data) { return ((const Params *)data)->program; }

const OrrTaskStepKind orr_task_step_parallel = {
    .entry = {"parallel", "Branches of the task at once; sub-agents.", &table},
    .check = check,
    .begin = begin,
    .program = program,
};

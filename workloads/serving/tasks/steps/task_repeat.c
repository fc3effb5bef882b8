/*
 * task_repeat.c - the steps of a program, a drawn number of times; then once more with a
 * probability, as often as it holds.
 *
 *   steps: [{name: work, do: {kind: repeat, program: turn, times: {kind: uniform, tokens: 8,
 *            ratio: 0.75}}}]
 *
 * With times 1 and again p a task passes its program 1 / (1 - p) times on average: the feedback of
 * a Jackson network.
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  char *program;
  OrrLengths times;
  double again;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("task-repeat", "A loop of a task.", Params,
               ORR_FIELD_TEXT(Params, "program", program, NULL, "Whose steps."),
               ORR_FIELD_SECTION(Params, "times", times, &orr_lengths_table,
                                 "{tokens: 1, least: 0}", "How often; `tokens` is the mean."),
               ORR_FIELD_REAL(Params, "again", again, ORR_UNIT_FRACTION, "0",
                              "Probability that they are repeated once more, each time.", .min = 0,
                              .max = 0.999999));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_program(check, params->program);
  orr_task_check_lengths(check, &params->times, "times", FALSE);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  const OrrTasks *tasks = orr_task_branch_document(branch);
  orr_task_branch_repeat(branch, orr_tasks_program(tasks, params->program),
                         orr_tasks_draw(&params->times, orr_task_branch_random(branch)),
                         params->again);
  return TRUE;
}

static const char *program(const void *data) { return ((const Params *)data)->program; }

const OrrTaskStepKind orr_task_step_repeat = {
    .entry = {"repeat", "The steps of a program, some times.", &table},
    .check = check,
    .begin = begin,
    .program = program,
};

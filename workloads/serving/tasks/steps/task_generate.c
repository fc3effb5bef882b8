/*
 * task_generate.c - a turn: a prompt of the context so far and `input` more tokens; the answer
 * joins the context.
 *
 *   steps: [{name: answer, do: {kind: generate, output: {kind: lognormal, tokens: 400}}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  OrrLengths input, output;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-generate", "A turn of the model.", Params,
    ORR_TASK_LENGTHS(Params, "input", input, "Tokens that the context gets before; 0: none."),
    ORR_TASK_LENGTHS(Params, "output", output,
                     "Tokens of the answer; 0: the workload's `output`."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_lengths(check, &params->input, "input", FALSE);
  orr_task_check_lengths(check, &params->output, "output", FALSE);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  OrrRandom *random = orr_task_branch_random(branch);
  const gint32 input = orr_tasks_draw(&params->input, random);
  orr_task_branch_generate(branch, input, orr_tasks_draw(&params->output, random));
  return FALSE;
}

const OrrTaskStepKind orr_task_step_generate = {
    .entry = {"generate", "The model reads the context and writes an answer.", &table},
    .check = check,
    .begin = begin,
};

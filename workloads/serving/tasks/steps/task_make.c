/*
 * task_make.c - outputs of a generator: pictures, clips, sounds, vectors.
 *
 *   steps: [{name: draw, do: {kind: make, pool: pictures, outputs: 4}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  char *pool;
  gint64 outputs;
  OrrLengths adds;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("task-make", "Outputs of a generator.", Params,
               ORR_FIELD_TEXT(Params, "pool", pool, NULL, "The generator."),
               ORR_FIELD_INT(Params, "outputs", outputs, "1", "Pictures, clips, sounds or vectors.",
                             .min = 1, .max = 1e6),
               ORR_TASK_LENGTHS(Params, "adds", adds,
                                "Tokens that join the context, such as an encoded picture's."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_pool(check, params->pool, "generator");
  orr_task_check_lengths(check, &params->adds, "adds", FALSE);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  const OrrTaskJob job = {.sequences = (double)params->outputs};
  orr_task_branch_use(branch, &job,
                      orr_tasks_pool_index(orr_task_branch_document(branch), params->pool),
                      orr_tasks_draw(&params->adds, orr_task_branch_random(branch)));
  return FALSE;
}

const OrrTaskStepKind orr_task_step_make = {
    .entry = {"make", "A generator makes pictures, clips, sounds or vectors.", &table},
    .check = check,
    .begin = begin,
};

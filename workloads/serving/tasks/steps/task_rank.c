/*
 * task_rank.c - a query whose items a recommendation model ranks.
 *
 *   steps: [{name: rank, do: {kind: rank, pool: rankers, items: {tokens: 270}}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  char *pool;
  OrrLengths items;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("task-rank", "Items that a recommendation model ranks.", Params,
               ORR_FIELD_TEXT(Params, "pool", pool, NULL, "The recommender."),
               ORR_TASK_LENGTHS(Params, "items", items, "Items of a query, as lengths are given."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_pool(check, params->pool, "recommender");
  orr_task_check_lengths(check, &params->items, "items", TRUE);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  const OrrTaskJob job = {.sequences = 1,
                          .tokens = orr_tasks_draw(&params->items, orr_task_branch_random(branch))};
  orr_task_branch_use(branch, &job,
                      orr_tasks_pool_index(orr_task_branch_document(branch), params->pool), 0);
  return FALSE;
}

const OrrTaskStepKind orr_task_step_rank = {
    .entry = {"rank", "A recommendation model ranks the items of a query.", &table},
    .check = check,
    .begin = begin,
};

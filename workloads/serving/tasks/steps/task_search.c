/*
 * task_search.c - a vector search in an index.
 *
 *   steps: [{name: search, do: {kind: search, pool: passages, queries: 3, adds: {tokens: 4000}}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  char *pool;
  gint64 queries;
  OrrLengths adds;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-search", "A vector search.", Params,
    ORR_FIELD_TEXT(Params, "pool", pool, NULL, "The index."),
    ORR_FIELD_INT(Params, "queries", queries, "1", "Queries, one after the other on one worker.",
                  .min = 1, .max = 1e6),
    ORR_TASK_LENGTHS(Params, "adds", adds, "Tokens of passages, which join the context."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_pool(check, params->pool, "index");
  orr_task_check_lengths(check, &params->adds, "adds", FALSE);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  const OrrTaskJob job = {.queries = (double)params->queries};
  orr_task_branch_use(branch, &job,
                      orr_tasks_pool_index(orr_task_branch_document(branch), params->pool),
                      orr_tasks_draw(&params->adds, orr_task_branch_random(branch)));
  return FALSE;
}

const OrrTaskStepKind orr_task_step_search = {
    .entry = {"search", "Queries to an index of vectors.", &table},
    .check = check,
    .begin = begin,
};

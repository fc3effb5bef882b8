/*
 * task_replay.c - the turns of a conversation as the load has them: recorded sessions of agents.
 *
 * The first turn is the request with which the task came. What lies between a turn's end and the
 * next turn (`delay` of a trace, `think` of sessions) is spent on a worker of `pool`, so that it is
 * longer where workers are few.
 *
 *   load: {kind: mooncake-sessions, file: sessions.jsonl}
 *   tasks: {steps: [{name: session, do: {kind: replay, pool: sandboxes}}], pools: [...]}
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  char *pool;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-replay", "A recorded session.", Params,
    ORR_FIELD_TEXT(Params, "pool", pool, "none",
                   "Workers on which the time between two turns is spent; none: nowhere."));

static gboolean has_pool(const Params *params) { return !g_str_equal(params->pool, "none"); }

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  if (has_pool(params)) orr_task_check_pool(check, params->pool, "workers");
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  const OrrTasks *tasks = orr_task_branch_document(branch);
  orr_task_branch_replay(branch, has_pool(params) ? orr_tasks_pool_index(tasks, params->pool) : -1);
  return FALSE;
}

const OrrTaskStepKind orr_task_step_replay = {
    .entry = {"replay", "The turns of a conversation, as the load has them.", &table},
    .check = check,
    .begin = begin,
    .is_replay = TRUE,
};

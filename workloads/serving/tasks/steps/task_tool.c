/*
 * task_tool.c - a call of a tool: a worker for a drawn time, and a result that joins the context.
 *
 * Log-normal times have the given mean and standard deviation of the logarithm, as in rollouts of
 * post-training. A call longer than `timeout` ends then, and holds its worker no longer.
 *
 *   steps: [{name: test, do: {kind: tool, pool: sandboxes, time: {mean: 20 s, spread: 1},
 *            adds: {tokens: 600}}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"
#include "workloads/service_pool.h"

typedef enum { CONSTANT, EXPONENTIAL, LOGNORMAL } Kind;
static const char *const kind_words[] = {"constant", "exponential", "lognormal", NULL};

typedef struct {
  int kind;
  double mean_s, spread;
} Time;

static const OrrFieldTable time_table = ORR_FIELDS(
    "task-time", "How long a call takes.", Time,
    ORR_FIELD_WORD(Time, "kind", kind, kind_words, "lognormal", "The distribution."),
    ORR_FIELD_REAL(Time, "mean", mean_s, ORR_UNIT_SECONDS, NULL, "Its mean.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Time, "spread", spread, ORR_UNIT_NONE, "1",
                   "Lognormal: standard deviation of the logarithm.", .min = 0, .max = 10));

typedef struct {
  char *pool;
  Time time;
  double timeout_s;
  OrrLengths adds;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-tool", "A call of a tool.", Params,
    ORR_FIELD_TEXT(Params, "pool", pool, NULL, "The workers."),
    ORR_FIELD_SECTION(Params, "time", time, &time_table, NULL, "How long a call holds a worker."),
    ORR_FIELD_REAL(Params, "timeout", timeout_s, ORR_UNIT_SECONDS, "0 s",
                   "A call that takes longer ends then; 0: none.", .flags = ORR_FIELD_UNSIGNED),
    ORR_TASK_LENGTHS(Params, "adds", adds, "Tokens of the result, which join the context."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_pool(check, params->pool, "workers");
  orr_task_check_lengths(check, &params->adds, "adds", FALSE);
}

static double draw(const Time *time, OrrRandom *random) {
  switch (time->kind) {
  case CONSTANT:
    return time->mean_s;
  case EXPONENTIAL:
    return -time->mean_s * log1p(-orr_random_unit(random));
  }
  return orr_service_pool_draw(time->mean_s, time->spread, random);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  OrrRandom *random = orr_task_branch_random(branch);
  const double drawn_s = draw(&params->time, random);
  const gboolean is_cut = params->timeout_s > 0 && drawn_s > params->timeout_s;
  const OrrTaskJob job = {.service_s = is_cut ? params->timeout_s : drawn_s, .is_cut = is_cut};
  orr_task_branch_use(branch, &job,
                      orr_tasks_pool_index(orr_task_branch_document(branch), params->pool),
                      orr_tasks_draw(&params->adds, random));
  return FALSE;
}

const OrrTaskStepKind orr_task_step_tool = {
    .entry = {"tool", "A call of a tool, on a worker of a pool.", &table},
    .check = check,
    .begin = begin,
};

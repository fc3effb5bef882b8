/*
 * shortest_job.c - vLLM's steps, the shortest waiting request first.
 *
 * `by: prompt` orders by what an engine knows; `by: total` by prompt and output, which only an
 * oracle (or a predictor of lengths) knows: the least mean waiting time of any order (Smith 1956),
 * and long requests may starve.
 *
 *   workload: {engine: {scheduler: {kind: shortest-job, by: prompt}}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  int by;
} Params;

static const char *const by_words[] = {"prompt", "total", NULL};

static const OrrFieldTable table =
    ORR_FIELDS("scheduler-shortest-job", "Shortest request first.", Params,
               ORR_FIELD_WORD(Params, "by", by, by_words, "prompt",
                              "The length that counts: the prompt, or prompt and output."));

static double key(const OrrRequest *request, const void *data) {
  const Params *params = data;
  return (double)request->prompt + (params->by == 1 ? request->output : 0);
}

static void plan(OrrCore *core, const void *params, gpointer state) {
  orr_scheduler_running(core, 0);
  orr_scheduler_waiting(core, 0, FALSE, ORR_RESERVE_PROMPT);
}

const OrrScheduler orr_scheduler_shortest_job = {
    .entry = {"shortest-job", "The shortest waiting request first, in steps as vLLM's.", &table},
    .plan = plan,
    .key = key,
};

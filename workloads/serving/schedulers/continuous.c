/*
 * continuous.c - Orca's iteration-level scheduling (Yu et al., OSDI 2022): requests join and leave
 * between steps.
 *
 * First come, first served. A request is admitted when the cache has room for its prompt and its
 * whole output, so that it is never preempted; its prompt is computed whole, in one step with the
 * decodes of others.
 *
 *   workload: {engine: {scheduler: continuous}}
 */
#include "workloads/serving/schedulers/scheduler.h"

static void plan(OrrCore *core, const void *params, gpointer state) {
  orr_scheduler_decodes(core);
  orr_scheduler_whole_prompts(core, ORR_RESERVE_ALL);
}

const OrrScheduler orr_scheduler_continuous = {
    .entry = {"continuous",
              "Orca: iteration-level batching, whole prompts, room for the output reserved.", NULL},
    .plan = plan,
    .reserves = TRUE,
    .without_chunks = TRUE,
};

/*
 * fair.c - Virtual Token Counter (Sheng et al., OSDI 2024): of the clients that wait, the one
 * served least is next.
 *
 * A client's counter grows by 1 with each prompt token and by 2 with each output token (the paper's
 * weights); a client that comes back is lifted to the least counter of those waiting. Two clients
 * that both always wait differ in service by a bound that does not grow with time (theorem 4.4).
 * Clients are the classes of the load.
 *
 *   workload: {engine: {scheduler: fair}, classes: [{name: a, share: 1}, {name: b, share: 9}]}
 */
#include "workloads/serving/schedulers/scheduler.h"

static void plan(OrrCore *core, const void *params, gpointer state) {
  orr_scheduler_running(core, 0);
  orr_scheduler_waiting(core, 0, FALSE, ORR_RESERVE_PROMPT);
}

const OrrScheduler orr_scheduler_fair = {
    .entry =
        {"fair",
         "Virtual Token Counter: the client that was served least is next, in steps as vLLM's.",
         NULL},
    .plan = plan,
    .is_fair = TRUE,
};

/*
 * priority.c - vLLM's steps with priorities (--scheduling-policy priority): classes with a smaller
 * number first.
 *
 * Of equal priority the earlier request is first. Who has no room preempts the last by priority,
 * even where that one already has its turn in the step. The priority is the request's class's, in
 * the load. Chunks of prompts are as vllm.c's.
 *
 *   workload: {engine: {scheduler: priority},
 *              classes: [{name: chat, priority: 0}, {name: batch, priority: 1}]}
 */
#include "workloads/serving/schedulers/scheduler.h"

/* The load writes a class's priority into the key before the request comes; ties go by order of
 * arrival. */
static double key(const OrrRequest *request, const void *params) { return request->key; }

const OrrScheduler orr_scheduler_priority = {
    .entry = {"priority", "Classes of smaller priority number first, in steps as vLLM's.",
              &orr_scheduler_vllm_table},
    .plan = orr_scheduler_vllm_plan,
    .keeps_whole = orr_scheduler_vllm_keeps_whole,
    .key = key,
    .by_priority = TRUE,
    .needs_longest = TRUE,
};

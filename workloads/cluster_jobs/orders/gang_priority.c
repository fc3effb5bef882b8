/*
 * gang_priority.c - the highest priority of the trace first, FIFO among equals. Running jobs stay.
 *
 *   workload: {policy: {order: priority}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static double key(const OrrGangQuestion *question, const OrrGangJob *job) { return -job->priority; }

const OrrGangOrder orr_gang_priority = {
    .entry = {"priority", "The trace's highest priority first; running jobs stay.", NULL},
    .by_priority = TRUE,
    .key = key,
};

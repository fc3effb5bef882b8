/*
 * fifo.c - first in, first out: by submission, then by number.
 *
 *   workload: {policy: {order: fifo}}
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static double key(const OrrGangQuestion *question, const OrrGangJob *job) { return 0; }

const OrrGangOrder orr_gang_fifo = {
    .entry = {"fifo", "First in, first out: by submission.", NULL},
    .preempts = FALSE,
    .key = key,
};

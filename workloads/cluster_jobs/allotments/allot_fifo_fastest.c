/*
 * allot_fifo_fastest.c - first in, first out, each on the fastest kind with room, all chosen anew
 * when a job comes or ends.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: fifo-fastest}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

static void fill(OrrGangAllot *allot) { orr_gang_allot_whole(allot, TRUE); }

const OrrGangAllotment orr_allot_fifo_fastest = {
    .entry = {"fifo-fastest", "First in, first out, each on the fastest kind with room.", NULL},
    .waits = TRUE,
    .fill = fill,
};

/*
 * allot_fifo.c - first in, first out, on a kind with room, chosen at random: what a scheduler does
 * that does not see kinds. A job keeps its kind until it ends.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: fifo}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

static void fill(OrrGangAllot *allot) { orr_gang_allot_whole(allot, FALSE); }

const OrrGangAllotment orr_allot_fifo = {
    .entry = {"fifo", "First in, first out, each on a kind at random.", NULL},
    .waits = TRUE,
    .is_blind = TRUE,
    .fill = fill,
};

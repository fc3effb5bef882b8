/*
 * gang_speed_given.c - a job runs as long as its trace states, wherever it sits.
 *
 *   workload: {speed: given}
 */
#include "workloads/cluster_jobs/core/gang_speed.h"

const OrrGangSpeedKind orr_gang_speed_given = {
    .entry = {"given", "Run times are the trace's, wherever a gang sits.", NULL},
    .is_given = TRUE,
};

/*
 * gang_speed_given.c - a job runs as long as its trace states, wherever it sits.
 *
 *   workload: {speed: given}
 */
#include "workloads/cluster_jobs/core/gang_speed.h"

static const char *why_no_band(const void *params) {
  return "run times are the trace's, no simulated speed is in them";
}

const OrrGangSpeedKind orr_gang_speed_given = {
    .entry = {"given", "Run times are the trace's, wherever a gang sits.", NULL},
    .is_given = TRUE,
    .why_no_band = why_no_band,
};

/*
 * band_cluster.h - bands of the waits, completion times and makespan of a cluster of jobs, whose
 * simulated speeds are off (band_cluster.c says how). A trace whose run times are given has none.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"
#include "workloads/cluster_jobs/core/gang_speed.h"

/* Adds the rows `band` of a finished cluster of jobs: without bounds where nothing simulated is in
 * its times, which `reason` says. Runs the trace twice more, in child processes. */
void orr_band_cluster_add(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                          double level);

/* @pace where the network takes @factor times as long as computed. */
OrrGangPace orr_band_cluster_scaled(const OrrGangPace *pace, double factor);

/* The results of the same trace where the network takes @low, and @high, times as long. */
gboolean orr_band_cluster_ends(OrrLibrary *library, const OrrScenario *scenario,
                               const OrrOutcome *outcome, double low, double high,
                               OrrClusterResult ret_ends[2], GError **error);

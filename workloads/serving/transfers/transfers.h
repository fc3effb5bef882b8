/*
 * transfers.h - bytes that a fleet sends over the fabric while it runs.
 */
#pragma once

#include "workloads/serving/replica/serving_run.h"
#include "workloads/serving/transfers/serving_paths.h"

void orr_transfers_open(OrrServingRun *run);
void orr_transfers_close(OrrServingRun *run);
/* After @delay_s and the latency of @path, sends @bytes for each of its units of weight; then calls
 * @done(@user), unless the run has failed by then. */
void orr_transfers_begin(OrrServingRun *run, const OrrServingPath *path, double bytes,
                         double delay_s, OrrEngineCall done, void *user);

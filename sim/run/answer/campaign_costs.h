/*
 * campaign_costs.h - what a campaign draws and costs, with its lost time and its spares.
 *
 *   GPUs    a healthy step's mean power while the job trains or trains again what a rollback took;
 *           static power in all other time, in which they wait; spares: idle power, or static where
 *           idle is not stated
 *   nodes   a healthy step's in the same time; idle in all other time, and spares'
 *   network, storage   as in a healthy step
 *   cost    of all GPUs, spares included, for the campaign's time (answer_private.h)
 *
 * A slow step does a healthy one's work: the rest of its time is spent waiting. Means over the
 * seeds, as the result's.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "topologies/cluster.h"
#include "topologies/prices.h"

/* Of a healthy step. NAN: not known. */
typedef struct {
  double gpus_w; /* the job's boards, mean */
  OrrMachinePower machine;
  double hardware_per_gpu_hour;
} OrrCampaignFleetDraw;

/* Fills the watts and costs of @outcome's result, whose other members and losses are complete. */
void orr_campaign_costs(const OrrCluster *cluster, const OrrPrices *prices, gint64 spares,
                        const OrrCampaignFleetDraw *draw, OrrOutcome *outcome);

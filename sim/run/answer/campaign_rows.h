/*
 * campaign_rows.h - the histories of a campaign's seeds as rows: one per seed, the first one's time
 * line, lost time by cause and phase, and the result over all.
 *
 * The mean goodput's confidence interval is Student's t over the seeds. Nodes out of service are
 * weighted by time over all seeds: their P99 is the number of spares that suffices 99 % of the
 * time.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "sim/run/answer/run_kind.h"
#include "topologies/cluster.h"
#include "topologies/prices.h"
#include "workloads/campaign/campaign_sim.h"

/* Of a scenario with a campaign, instead of its workload's. */
extern const OrrRunKind orr_campaign_rows_kind;

typedef struct OrrCampaignAnswer OrrCampaignAnswer;

/* @input and @outcome outlive the answer. */
OrrCampaignAnswer *orr_campaign_rows_begin(const OrrCampaignInput *input, double tokens_per_step,
                                           OrrOutcome *outcome);
void orr_campaign_rows_seed(OrrCampaignAnswer *answer, guint64 seed,
                            const OrrCampaignHistory *history);
void orr_campaign_rows_end(OrrCampaignAnswer *answer); /* fills the result, and frees @answer */

/* campaign_costs.c: what a campaign draws and costs, with its lost time and its spares.
 *
 *   GPUs    a healthy step's mean power while the job trains or trains again what a rollback took;
 *           static power in all other time, in which they wait; spares: idle power, or static where
 *           idle is not stated
 *   nodes   a healthy step's in the same time; idle in all other time, and spares'
 *   network, storage   as in a healthy step
 *   cost    of all GPUs, spares included, for the campaign's time (answer_private.h)
 *
 * A slow step does a healthy one's work: the rest of its time is spent waiting. Means over the
 * seeds, as the result's. */

/* Of a healthy step. NAN: not known. */
typedef struct {
  double gpus_w; /* the job's boards, mean */
  OrrMachinePower machine;
  double hardware_per_gpu_hour;
} OrrCampaignFleetDraw;

/* Fills the watts and costs of @outcome's result, whose other members and losses are complete. */
void orr_campaign_costs(const OrrCluster *cluster, const OrrPrices *prices, gint64 spares,
                        const OrrCampaignFleetDraw *draw, OrrOutcome *outcome);

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

/* The name of a cause in rows; borrowed. */
const char *orr_campaign_rows_cause(const OrrCampaignInput *input, guint cause);

/*
 * summary_campaign.h - the lines of a campaign: goodput and its spread, tokens, failures, nodes out
 * of service, and where the time went.
 */
#ifndef ORR_SUMMARY_CAMPAIGN_H
#define ORR_SUMMARY_CAMPAIGN_H

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

void orr_summary_campaign(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

/*
 * simulate_campaign.h - a scenario with a campaign becomes an outcome: states are replayed
 * (campaign_states.h), then every seed is simulated above them (workloads/campaign/campaign_sim.h).
 */
#ifndef ORR_SIMULATE_CAMPAIGN_H
#define ORR_SIMULATE_CAMPAIGN_H

#include "sim/run/answer/campaign_costs.h"
#include "sim/run/answer/campaign_rows.h"
#include "sim/run/run_work.h"
#include "sim/run/world.h"

G_BEGIN_DECLS

/* A campaign that is ready to be simulated; its input may be changed between seeds. */
typedef struct {
  OrrCampaignInput input;
  GArray *processes; /* of OrrCampaignProcess */
  GArray *tiers;     /* of OrrCampaignTier */
  GArray *shrunk;    /* of double */
  GArray *states;    /* of OrrCampaignStateRow */
  OrrCampaignDraw draw;
  double tokens_per_step;
  gint64 n_gpus, n_events;
  char *engine, *fidelity;
} OrrCampaignReady;

/* Replays the states of @scenario's campaign. FALSE with @error. */
gboolean orr_simulate_campaign_ready(const OrrRunWorld *world, const OrrScenario *scenario,
                                     OrrCampaignReady *ret_ready, GError **error);
void orr_simulate_campaign_clear(OrrCampaignReady *ready); /* all zero is fine */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCampaignReady, orr_simulate_campaign_clear)

/* Fills @outcome, all but its wall time. FALSE with @error. */
gboolean orr_simulate_campaign_run(const OrrRunWorld *world, const OrrScenario *scenario,
                                   OrrOutcome *outcome, GError **error);

G_END_DECLS

#endif

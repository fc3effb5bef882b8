/*
 * campaign_checkpoints.h - the checkpoints that exist, tier by tier, and which one a restart loads.
 *
 * A checkpoint counts once its write has ended. The next one of a tier waits for that
 * (back-pressure). What a failure leaves:
 *
 *   host      in the memory of each node: gone with any node, and with the job where it is requeued
 *   peer      also in the memory of another node: gone with a rack, unless the peer is in another
 *             one; gone with the job where it is requeued
 *   ssd       on each node's disk: gone with any node
 *   storage   in the file system: never gone
 */
#ifndef ORR_CAMPAIGN_CHECKPOINTS_H
#define ORR_CAMPAIGN_CHECKPOINTS_H

#include "workloads/campaign/campaign_sim.h"

G_BEGIN_DECLS

typedef struct OrrCampaignCheckpoints OrrCampaignCheckpoints;

typedef struct {
  double progress_s, load_s;
} OrrCampaignFound;

/* @tiers (of OrrCampaignTier) outlives the result. */
OrrCampaignCheckpoints *orr_campaign_checkpoints_new(const GArray *tiers);
void orr_campaign_checkpoints_free(OrrCampaignCheckpoints *checkpoints); /* NULL is fine */

/* The progress at which the next checkpoint is due; INFINITY: none is. */
double orr_campaign_checkpoints_next(const OrrCampaignCheckpoints *checkpoints);

/* Takes those that are due at @progress_s; returns for how long the job waits. */
double orr_campaign_checkpoints_take(OrrCampaignCheckpoints *checkpoints, double now_s,
                                     double progress_s);
/* Before a planned restart: takes one in every tier, and waits until all are written. */
double orr_campaign_checkpoints_take_all(OrrCampaignCheckpoints *checkpoints, double now_s,
                                         double progress_s);

/* The job has stopped at @now_s: unfinished ones are lost. */
void orr_campaign_checkpoints_fail(OrrCampaignCheckpoints *checkpoints, double now_s);
/* A node was lost (@kills_host), or a whole rack. */
void orr_campaign_checkpoints_lose(OrrCampaignCheckpoints *checkpoints, gboolean kills_host,
                                   gboolean is_rack);
/* The job's processes and their memory are given up. */
void orr_campaign_checkpoints_end(OrrCampaignCheckpoints *checkpoints);

/* The newest checkpoint that is not after @most_s of progress, from the tier that loads fastest;
 * the beginning where there is none. Those after @most_s are dropped. */
OrrCampaignFound orr_campaign_checkpoints_find(OrrCampaignCheckpoints *checkpoints, double most_s);

/* The job goes on from @progress_s. */
void orr_campaign_checkpoints_resume(OrrCampaignCheckpoints *checkpoints, double progress_s);

G_END_DECLS

#endif

/*
 * campaign_draw.h - when a process strikes next, and what it strikes.
 *
 * A process with n components is a Poisson process whose cumulative hazard is n times a single
 * component's: exact for exponential lives, and for others where a repair leaves a component as old
 * as it was (minimal repair; Barlow, Hunter 1960). Unit exponentials are laid along that hazard, so
 * a higher rate strikes earlier with the same draws.
 */
#ifndef ORR_CAMPAIGN_DRAW_H
#define ORR_CAMPAIGN_DRAW_H

#include "workloads/campaign/campaign_sim.h"

G_BEGIN_DECLS

typedef struct {
  const OrrCampaignProcess *process;
  OrrRandom arrivals, marks;
  double left;    /* hazard until the next strike, counted from @at_s */
  double at_s;    /* the hazard before this is spent */
  double begin_s; /* of the job's attempt, for infant mortality */
  double next_s;  /* the next strike */
  double factor;  /* of the hazard: lemons among the job's nodes */
} OrrCampaignDraw;

/* Strikes of all components that are expected until @t_s, without infant mortality and lemons. */
double orr_campaign_draw_hazard(const OrrCampaignProcess *process, double t_s);

void orr_campaign_draw_init(OrrCampaignDraw *draw, const OrrCampaignProcess *process, guint index,
                            guint64 seed);
/* A new attempt of the job begins at @at_s, which is not after next_s. */
void orr_campaign_draw_attempt(OrrCampaignDraw *draw, double at_s);
/* From @at_s on the hazard is @factor times the process's. */
void orr_campaign_draw_scale(OrrCampaignDraw *draw, double at_s, double factor);
/* The strike at next_s has happened; finds the next one. */
void orr_campaign_draw_next(OrrCampaignDraw *draw);
double orr_campaign_draw_repair(OrrCampaignDraw *draw); /* seconds */

G_END_DECLS

#endif

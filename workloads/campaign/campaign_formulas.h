/*
 * campaign_formulas.h - closed forms that a campaign meets where their assumptions hold: failures
 * at a constant rate, one tier of checkpoints that makes the job wait, spares for all.
 */
#pragma once

#include "workloads/campaign/campaign_sim.h"

/* Training time between checkpoints that each take @stall_s, with @mttf_s between failures: the
 * first order, sqrt(2 stall mttf) (Young 1974), and Daly's (2006, equation 37): that times
 * (1 + sqrt(x) / 3 + x / 9), less stall, with x = stall / (2 mttf); mttf where x is 1 or more. */
double orr_campaign_formulas_young_s(double stall_s, double mttf_s);
double orr_campaign_formulas_daly_s(double stall_s, double mttf_s);

/* E[ETTR] = (1 - (u0 + dt / 2) / mttf) / (1 + w / dt): @down_s is u0, what a failure costs besides
 * the training that it takes back (Kokolis et al., arXiv 2410.21680). Failures are rare: dt and u0
 * are small compared with mttf. */
double orr_campaign_formulas_ettr(double mttf_s, double down_s, double interval_s, double stall_s);

/* The fewest nodes that nodes in repair do not exceed for the fraction @p of the time, with spares
 * for all: each process is an M/G/infinity queue, whose occupancy is Poisson with mean rate times
 * repair, in groups of its nodes. @duration_s sets the mean rate of lives that are not exponential.
 */
gint64 orr_campaign_formulas_spares(const OrrCampaignInput *input, double p);

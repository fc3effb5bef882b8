/*
 * campaign_advice.h - what a campaign would gain from other checkpoint intervals, spares, policies
 * and faster recovery, simulated with the same seeds; and closed forms.
 *
 * States are replayed once. Every choice changes one thing of the scenario, and meets the same
 * failures, so that differences are known better than each goodput. A shorter interval keeps more
 * checkpoints where several are kept, so that they reach as far back; the choice says how many.
 * Each choice is simulated once more with stalls as long as measured ones may be, which says
 * whether it is still the best.
 */
#pragma once

#include "sim/base/library.h"
#include "sim/run/scenario.h"

typedef enum {
  ORR_ADVICE_CHECKPOINTS, /* the interval of one tier */
  ORR_ADVICE_SPARES,
  ORR_ADVICE_POLICY,
  ORR_ADVICE_HALF /* of the time that something takes */
} OrrCampaignAdviceTopic;
extern const char *const orr_campaign_advice_topics[]; /* "checkpoints", ..., NULL */

typedef struct {
  int topic;
  const char *subject; /* checkpoints: the tier; half: what; else NULL. Lives as long as programs */
  char *choice;
  double value;         /* checkpoints: the interval in seconds; spares: nodes; else NAN */
  gint64 keep;          /* checkpoints: how many the tier keeps; else 0 */
  double goodput, gain; /* gain: over the scenario's own */
  double late_goodput;  /* with stalls at the upper ends of their errors; NAN: none is known */
  gboolean is_now;      /* the scenario's own choice */
  char *refusal;        /* why the scenario cannot be run so; goodput and gain are NAN. Else NULL */
} OrrCampaignAdviceRow;

/* Closed forms for a tier: intervals that make goodput largest if the tier were the only one. */
typedef struct {
  const char *tier;
  double stall_s, interval_s, young_s, daly_s;
  double upper; /* a measured stall is at most as many times as long; NAN: not known */
} OrrCampaignAdviceTier;

typedef struct {
  gint64 seeds;
  double goodput, late_goodput, mttf_s, duration_s;
  double ettr; /* E[ETTR] by its formula; NAN where there is not exactly one tier */
  gint64 spares_p50, spares_p99; /* M/G/infinity */
  GArray *tiers, *rows;          /* of OrrCampaignAdviceTier, of OrrCampaignAdviceRow */
} OrrCampaignAdvice;

/* @stall_upper: by OrrCampaignTierKind, how many times as long as computed a measured stall may be;
 * NAN: nothing says. NULL with @error; @scenario has a campaign. Caller frees. */
OrrCampaignAdvice *orr_campaign_advice(OrrLibrary *library, const OrrScenario *scenario,
                                       const double *stall_upper, GError **error);
void orr_campaign_advice_free(OrrCampaignAdvice *advice); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCampaignAdvice, orr_campaign_advice_free)

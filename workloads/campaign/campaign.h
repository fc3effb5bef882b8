/*
 * campaign.h - the section `campaign:` of a scenario: weeks of its training job.
 *
 *   base: llama-3.1-405b-16384-h100
 *   campaign:
 *     duration: 90 d
 *     failures: NAME                     what fails, and how often (failures.h)
 *     policy: restart                    what the job does then (policy.h)
 *     checkpoints: [{tier: host, interval: 5 min}, {tier: storage, interval: 1 h}]
 *     detection: [{symptom: crash, after: 30 s}, ...]
 *     recovery: {requeue: 5 min, restart: 1 min, initialise: 30 s}
 *
 * Steps, stalls and loads come from replays of the scenario (sim/run/run_private.h).
 */
#pragma once

#include "topologies/machine_fault.h"
#include "workloads/campaign/campaign_sim.h"
#include "workloads/campaign/failures.h"

typedef enum { ORR_CAMPAIGN_ASYNC, ORR_CAMPAIGN_SYNC } OrrCampaignCheckpointMode;

typedef struct {
  int tier; /* OrrCampaignTierKind */
  double interval_s;
  gint64 keep;
  int mode; /* OrrCampaignCheckpointMode */
  gboolean is_far;
  double node_bytes_per_s; /* of a node's disk; 0: not given */
  double planning_s;       /* the job waits for it at each save, on any number of GPUs */
} OrrCampaignCheckpointSpec;

/* A part of the machine that is slow now and then; its state is replayed. */
typedef struct {
  OrrChoice fault; /* of orr_machine_fault_registry */
  double mtbf_s, lasts_s;
} OrrCampaignStraggler;

typedef struct {
  char *symptom;
  double after_s, diagnose_s;
} OrrCampaignDetection;

typedef enum { ORR_RANKS_LINEAR, ORR_RANKS_QUADRATIC } OrrCampaignRanks;

typedef struct {
  double requeue_s, restart_s, initialise_s, per_rank_s;
  int ranks; /* OrrCampaignRanks */
} OrrCampaignRecovery;

typedef struct {
  double every_s, lasts_s;
} OrrCampaignMaintenance;

typedef struct {
  double duration_s;  /* 0: the scenario has no campaign */
  double tokens;      /* the goal; 0: none */
  double repair_s;    /* of nodes whose failure does not say */
  double lemon_found; /* probability that a lemon is replaced once it has failed */
  gint64 seeds, spares;
  OrrFailures failures;
  OrrChoice policy;       /* of orr_recovery_policy_registry */
  GPtrArray *checkpoints; /* of OrrCampaignCheckpointSpec */
  GPtrArray *detection;   /* of OrrCampaignDetection */
  GPtrArray *stragglers;  /* of OrrCampaignStraggler; NULL or empty: none */
  OrrCampaignRecovery recovery;
  OrrCampaignMaintenance maintenance;
} OrrCampaign;

extern const OrrFieldTable orr_campaign_table;
extern const char *const orr_campaign_tier_words[]; /* "host", "peer", "ssd", "storage", NULL */

/* Checks what single fields cannot: that each symptom is detected, that a tier has what it needs,
 * and that each is given once. @tree is the section's. */
void orr_campaign_check(const OrrCampaign *campaign, const OrrCluster *cluster, const OrrNode *tree,
                        OrrDiags *diags);

static inline gboolean orr_campaign_given(const OrrCampaign *campaign) {
  return campaign->duration_s > 0;
}

/* Appends an OrrCampaignProcess for each failure process, then for each straggler, whose `slow` is
 * left 0 for the caller, who knows the replays. They borrow from @campaign. */
void orr_campaign_processes(const OrrCampaign *campaign, const OrrCluster *cluster,
                            GArray *processes);

double orr_campaign_initialise_s(const OrrCampaign *campaign, gint64 n_gpus);

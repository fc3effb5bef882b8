/*
 * campaign_states.h - the states of the machine in which a campaign's job trains, each replayed
 * once.
 *
 *   healthy        the scenario's step
 *   slow           one GPU slow, or its network card
 *   shrunk         k replicas fewer
 *   storage        a checkpoint to the file system during the steps after it, and its load
 *
 * A state is a scenario of its own, replayed in a child process. Its key is the hash of that
 * scenario, so one process replays a state once, whatever the seeds and points of a sweep.
 */
#ifndef ORR_CAMPAIGN_STATES_H
#define ORR_CAMPAIGN_STATES_H

#include "sim/run/answer/campaign_costs.h"
#include "sim/run/world.h"

G_BEGIN_DECLS

typedef enum {
  ORR_STATE_HEALTHY,
  ORR_STATE_SLOW,
  ORR_STATE_SHRUNK,
  ORR_STATE_STORAGE
} OrrCampaignStateKind;

/* What to replay. */
typedef struct {
  int kind;               /* OrrCampaignStateKind */
  gint64 lost;            /* shrunk: replicas */
  gboolean keeps_batch;   /* shrunk: the replicas that are left share the whole batch */
  gboolean is_sync;       /* storage */
  const OrrChoice *fault; /* slow: of orr_machine_fault_registry; borrowed */
} OrrCampaignState;

/* What the replay found; plain values, which pass between processes as bytes. */
typedef struct {
  double step_s, tokens; /* tokens: of a step */
  double mean_s;         /* of all steps: with the stall of one checkpoint, and its load */
  double after_s;        /* from the end of the first step to the end of the last */
  double write_s, load_s, snapshot_s, bytes; /* storage */
  OrrCampaignDraw draw;
  gint64 n_gpus, events, replicas;
  char engine[64], fidelity[16];
} OrrCampaignReplay;

/* Replays each of @states (of OrrCampaignState) that this process has not replayed yet. Returns
 * an array of OrrCampaignReplay in their order, owned; NULL with the @error of one that failed. */
GArray *orr_campaign_states_replay(const OrrRunWorld *world, const OrrScenario *scenario,
                                   const GArray *states, GError **error);

G_END_DECLS

#endif

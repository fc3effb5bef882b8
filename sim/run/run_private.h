/*
 * run_private.h - what the files of sim/run share: the replay of each kind of scenario.
 */
#pragma once

#include "sim/engine/executor.h"
#include "sim/run/answer/campaign_rows.h"
#include "sim/run/faults/faults.h"
#include "sim/run/scenario.h"
#include "sim/run/scenario_stack.h"
#include "sim/run/simulate.h"
#include "sim/run/world.h"
#include "workloads/parts.h"
#include "workloads/workload.h"

/* alone.c: a work with the machine to itself: the baseline that jobs and faults are compared with.
 */

typedef struct {
  double end_s;    /* when the work ended */
  double answer_s; /* for a live work: mean time that its users wait for an answer */
} OrrAlone;

/* Replays @work, in a child process where the caller must not see what that does (alone.c). Fails
 * with ORR_FAULT_RESOURCE, or with the error that stopped the work. */
gboolean orr_alone_simulate(const OrrScenario *scenario, OrrWork *work, OrrAlone *ret_alone,
                            GError **error);

/* part_runs.c: runs the parts of a workload that is made of others (workloads/parts.h), each in a
 * process of its own, because a process has one SimGrid engine. */

typedef struct OrrPartRuns OrrPartRuns;

/* For the workload of @scenario in @machine; both outlive it. Warnings of the parts' worlds are
 * added to @warnings (of char *), once. */
OrrPartRuns *orr_part_runs_new(const OrrRunWorld *machine, const OrrScenario *scenario,
                               GPtrArray *warnings);
const OrrParts *orr_part_runs_parts(const OrrPartRuns *runs);
void orr_part_runs_free(OrrPartRuns *runs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrPartRuns, orr_part_runs_free)

/* replay.c: one clock for everything on a machine: a program, and live works that run at the same
 * time on the same engine and the same links.
 *
 * A program is fixed before it runs; a live work (serving) decides its next step from the last one
 * and calls the engine itself (OrrWorkloadKind.begin). */

/* A live work in a replay. */
typedef struct {
  OrrWork *work;
  /* For each link of the work's program its number in the replayed program; NULL: equal. */
  const guint32 *links;
  double start_s;
} OrrLivePart;

typedef struct {
  const OrrProgram *program; /* keeps the links of all live works (orr_program_share_link) */
  const OrrLivePart *live;
  guint n_live;
  OrrEngine *engine;  /* fresh */
  OrrSpanSink sink;   /* gets the program's spans; may be NULL */
  void *user;         /* for @sink */
  double *link_bytes; /* by program link: gets what program and live works sent; may be NULL */
} OrrReplaySetup;

/* @ret_replay may be NULL. */
gboolean orr_replay(const OrrReplaySetup *setup, OrrReplay *ret_replay, GError **error);

/* simulate_campaign.c: a scenario with a campaign becomes an outcome: states are replayed
 * (campaign_states.h), then every seed is simulated above them
 * (workloads/campaign/campaign_sim.h). */

/* A campaign that is ready to be simulated; its input may be changed between seeds. */
typedef struct {
  OrrCampaignInput input;
  GArray *processes; /* of OrrCampaignProcess */
  GArray *tiers;     /* of OrrCampaignTier */
  GArray *shrunk;    /* of double */
  GArray *states;    /* of OrrCampaignStateRow */
  OrrCampaignFleetDraw draw;
  double tokens_per_step;
  gint64 n_gpus, n_events;
  char *engine, *fidelity;
} OrrCampaignReady;

/* Replays the states of @scenario's campaign. FALSE with @error. */
gboolean orr_simulate_campaign_ready(const OrrRunWorld *world, const OrrScenario *scenario,
                                     OrrCampaignReady *ret_ready, GError **error);
/* The data-parallel replicas that a node takes with it. */
gint64 orr_simulate_campaign_in_node(const OrrCampaignInput *input);
void orr_simulate_campaign_clear(OrrCampaignReady *ready); /* all zero is fine */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCampaignReady, orr_simulate_campaign_clear)

/* Fills @outcome, all but its wall time. FALSE with @error. */
gboolean orr_simulate_campaign_run(const OrrRunWorld *world, const OrrScenario *scenario,
                                   OrrOutcome *outcome, GError **error);

/* simulate_faults.c: a workload on a machine on which things go wrong, and the functions that
 * several jobs with faults share with it. */

/* Faults at a rate are drawn for this many times the time that the run takes without faults. */
#define ORR_FAULT_HORIZON 10

/* Runs @scenario with its faults in @world and fills @outcome, all but its wall time.
 * ORR_FAULT_STUCK where the job loses a node, or waits for a link for ever; ORR_FAULT_DOCUMENT
 * where a fault begins after the end of the run. */
gboolean orr_simulate_faults_run(const OrrWorld *world, const OrrScenario *scenario,
                                 const OrrSimulation *simulation, OrrOutcome *outcome,
                                 GError **error);

/* Refuses a dated fault that begins after @end_s, and so has no effect. */
gboolean orr_simulate_faults_check_end(const OrrScenario *scenario, const GPtrArray *outages,
                                       double end_s, GError **error);

/* A job that outages struck. Its steps are on its own clock, which starts at @start_s. */
typedef struct {
  const GPtrArray *outages;
  const GArray *steps; /* of OrrStepRow: those that ended */
  gint64 n_steps;      /* without the outages; 0: it has none */
  double start_s, end_s;
  double clean_s; /* how long the job takes alone and without faults */
} OrrStruckJob;

/* Appends to @rows an OrrFaultRow for each outage that began before the job's end. */
/* Warns where a live @work has collectives that faults of links would slow, and do not. */
void orr_simulate_faults_warn(const OrrWork *work, const GPtrArray *outages, GPtrArray *warnings);
void orr_simulate_faults_rows(const OrrStruckJob *job, GArray *rows);

/* simulate_jobs.c: several jobs on one machine: each with its own answer, and how much the others
 * slow it down. */

typedef struct {
  OrrScenario scenario; /* of the job; borrows from the scenario that lists it */
  OrrOutcome *outcome;
  OrrJobRow row;
  char *lost; /* what stopped it early; NULL: nothing */
} OrrJobOutcome;

/* Runs each job of @scenario alone (in a process of its own), then all of them together. Array of
 * OrrJobOutcome, in the order of the jobs; @scenario must outlive it. */
GPtrArray *orr_simulate_jobs(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                             GError **error);

/* Stores each job as a run of its own; rows of `job` point to the run of the first job, whose id
 * *@ret_run_id gets. */
gboolean orr_simulate_jobs_store(const GPtrArray *jobs, const char *file, OrrStore *store,
                                 gint64 *ret_run_id, GError **error);

/* campaign_states.c: the states of the machine in which a campaign's job trains, each replayed
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
  double step_s, tokens;  /* tokens: of a step */
  double mean_s;          /* of all steps: with the stall of one checkpoint, and its load */
  double after_s;         /* from the end of the first step to the end of the last */
  double write_s, load_s; /* storage */
  double bytes;           /* of a checkpoint of all GPUs */
  OrrCampaignFleetDraw draw;
  gint64 n_gpus, events, replicas;
  char engine[64], fidelity[16];
} OrrCampaignReplay;

/* Replays each of @states (of OrrCampaignState) that this process has not replayed yet. Returns
 * an array of OrrCampaignReplay in their order, owned; NULL with the @error of one that failed. */
GArray *orr_campaign_states_replay(const OrrRunWorld *world, const OrrScenario *scenario,
                                   const GArray *states, GError **error);

/* stack_setting.c: one setting of a stack in a scenario. */

/* One workload of a scenario on its way to a complete one. */
typedef struct {
  OrrLibrary *library;
  const OrrNode *root;  /* the scenario */
  const OrrNode *owner; /* the map that holds model and workload: the scenario, or a job */
  OrrStack *stack;
  const char *kind; /* of the workload */
  OrrDiags *diags;
} OrrStackLaying;

/* Whether it has a condition, a bound or a factor, which see the scenario. */
gboolean orr_stack_setting_depends(const OrrStackSetting *setting);
/* Whether its condition holds, and its factor is known. @facts: the scenario as conditions see it;
 * NULL: only a setting that has neither holds. */
gboolean orr_stack_setting_holds(const OrrStackLaying *laying, const OrrStackSetting *setting,
                                 const OrrScenario *facts);
/* Its value, or the number of the scenario that bounds it, or its multiple. The caller frees it. */
OrrNode *orr_stack_setting_value(const OrrStackLaying *laying, const OrrStackSetting *setting,
                                 const OrrScenario *facts);
/* Whether it depends on @path. */
gboolean orr_stack_setting_uses(const OrrStackSetting *setting, const char *path);
/* Adds an error for each path that no scenario has. */
void orr_stack_setting_check(const OrrStackLaying *laying, const OrrStackSetting *setting);

/*
 * campaign_sim.h - weeks of one job as events: failures, recoveries, checkpoints, repairs.
 *
 * The simulation knows no fabric and no kernel. It is given what a replay of the step found in each
 * state of the machine (healthy, one GPU slow, fewer replicas), and how often each thing fails.
 *
 *   progress   seconds of healthy training that the job has kept. A step slowed f times makes 1/f
 *              seconds of progress in a second; a restart takes progress back to a checkpoint.
 *
 * Invariant: the campaign's time is its progress plus all lost time, by cause and phase
 * (OrrCampaignLost). The same input and seed give the same events. Each process draws from streams
 * of its own, so a new process or a faster detection moves no other failure (common random
 * numbers).
 */
#pragma once

#include "sim/base/random.h"
#include "workloads/campaign/policy.h"

/* The uses of a second of the campaign; all but RUN is lost. */
typedef enum {
  ORR_PHASE_RUN,
  ORR_PHASE_DETECT,
  ORR_PHASE_DIAGNOSE,
  ORR_PHASE_WAIT, /* for a node to come back from repair */
  ORR_PHASE_RESCHEDULE,
  ORR_PHASE_INITIALISE,
  ORR_PHASE_LOAD,
  ORR_PHASE_RECOMPUTE, /* progress that a rollback took */
  ORR_PHASE_SLOW,      /* steps that took longer than healthy ones */
  ORR_PHASE_STALL,     /* the job waits for a checkpoint */
  ORR_PHASE_PLANNED,   /* maintenance */
  ORR_N_PHASES
} OrrCampaignPhase;
extern const char *const orr_campaign_phase_words[]; /* "run", "detect", ..., NULL */

typedef enum {
  ORR_LIFE_EXPONENTIAL,
  ORR_LIFE_WEIBULL,  /* shape k: cumulative hazard n (t / scale)^k */
  ORR_LIFE_LOGNORMAL /* shape sigma, scale the median */
} OrrCampaignLife;

typedef enum { ORR_REPAIR_FIXED, ORR_REPAIR_EXPONENTIAL, ORR_REPAIR_LOGNORMAL } OrrCampaignRepair;

/* One way in which things go wrong. */
typedef struct {
  const char *name; /* the component class; borrowed */
  int life;         /* OrrCampaignLife, of one of @n components */
  double n, scale_s, shape;
  /* the rate is @infant times as high in the first @infant_s of each attempt; 0: it is not */
  double infant, infant_s;
  gint64 nodes;        /* nodes that go out of service; 0: the job restarts where it is */
  gint64 struck;       /* nodes on which all processes end; 0: one GPU's */
  gboolean kills_host; /* what those nodes or the job hold in host memory is lost */
  gboolean is_rack;    /* neighbours go together, peers among them */
  gboolean is_of_job;  /* strikes the job as a whole: as often where nodes are missing */
  int repair;          /* OrrCampaignRepair */
  double repair_s, repair_sigma;
  double detect_s, diagnose_s;
  /* corrupts what follows without a sign: found detect_s later, and rolled back */
  gboolean is_silent;
  double slow; /* fail-slow: a step takes this many times as long, for @slow_s; 0: it stops */
  double slow_s;
} OrrCampaignProcess;

typedef enum {
  ORR_SAVED_HOST,
  ORR_SAVED_PEER,
  ORR_SAVED_SSD,
  ORR_SAVED_STORAGE
} OrrCampaignTierKind;

/* Where checkpoints go. */
typedef struct {
  int kind;          /* OrrCampaignTierKind */
  double interval_s; /* of progress */
  double stall_s;    /* the job waits, */
  double write_s;    /* then the copy is written while it runs, and usable at the end */
  double load_s;
  gint64 keep;     /* the newest ones that are kept */
  gboolean is_far; /* peer: in another rack */
} OrrCampaignTier;

typedef struct {
  double duration_s, goal_s; /* ends after this time, or this progress; INFINITY: no goal */
  double step_s;             /* a healthy step */
  gint64 nodes, spares, replicas;
  /* nodes, spares included, that fail @lemon_multiple times as often: processes that strike single
   * nodes give the rate of the others; a fraction of 0: none */
  double lemon_fraction, lemon_multiple;
  double lemon_found;      /* probability that a lemon which failed comes back as another node */
  const GArray *processes; /* of OrrCampaignProcess */
  const GArray *tiers;     /* of OrrCampaignTier */
  const OrrRecoveryPolicy *policy;
  const void *policy_params;
  OrrRecoveryTimes times;
  double planned_every_s, planned_s; /* maintenance; 0: none */
  /* by replicas lost, from 0: how many times as long the same tokens take; its last holds for the
   * most replicas that the job can lose */
  const GArray *shrunk; /* of double */
} OrrCampaignInput;

/* From @begin_s to @end_s the campaign was in @phase. */
typedef struct {
  double begin_s, end_s;
  int phase, cause; /* OrrCampaignPhase; index of a process, or ORR_CAUSE_... */
  gint64 replicas, nodes_out;
  double progress_s; /* at the end */
} OrrCampaignEvent;

enum { ORR_CAUSE_CHECKPOINT, ORR_CAUSE_PLANNED, ORR_CAUSE_REJOIN, ORR_N_CAUSES };

/* The result of one seed. Cause c of a process is its index + ORR_N_CAUSES. */
typedef struct {
  double wall_s, progress_s;
  GArray *lost;     /* of double: cause * ORR_N_PHASES + phase */
  GArray *failures; /* of gint64, by cause */
  gint64 n_failures, n_restarts, most_out, n_checkpoints;
  gboolean has_stopped; /* the policy gave up */
  GArray *out_s;        /* of double: seconds with k nodes out of service */
  GArray *events;       /* of OrrCampaignEvent; NULL: not kept */
} OrrCampaignHistory;

/* Simulates one seed. Caller frees. */
OrrCampaignHistory *orr_campaign_sim(const OrrCampaignInput *input, guint64 seed,
                                     gboolean keeps_events);
void orr_campaign_sim_free(OrrCampaignHistory *history); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCampaignHistory, orr_campaign_sim_free)

double orr_campaign_sim_lost(const OrrCampaignHistory *history, guint cause, int phase);

/* campaign_checkpoints.c: the checkpoints that exist, tier by tier, and which one a restart loads.
 *
 * A checkpoint counts once its write has ended. The next one of a tier waits for that
 * (back-pressure). The state after a failure:
 *
 *   host      in the memory of each node: gone with any node, and with the job where it is requeued
 *   peer      also in the memory of another node: gone with a rack, unless the peer is in another
 *             one; gone with the job where it is requeued
 *   ssd       on each node's disk: gone with any node
 *   storage   in the file system: never gone
 */

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

/* campaign_draw.c: when a process strikes next, and what it strikes.
 *
 * A process with n components is a Poisson process whose cumulative hazard is n times a single
 * component's: exact for exponential lives, and for others where a repair leaves a component as
 * old as it was (minimal repair; Barlow, Hunter 1960). Unit exponentials are laid along that
 * hazard, so a higher rate strikes earlier with the same draws. */

typedef struct {
  const OrrCampaignProcess *process;
  OrrRandom arrivals, marks;
  double left;    /* hazard until the next strike, counted from @at_s */
  double at_s;    /* the hazard before this is spent */
  double begin_s; /* of the job's attempt, for infant mortality */
  double next_s;  /* the next strike */
  double factor;  /* of the hazard: nodes missing, and lemons among the others */
} OrrCampaignDraw;

/* Strikes of all components that are expected until @t_s while none is in repair, without infant
 * mortality and lemons. */
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

/* campaign_formulas.c: closed forms that a campaign meets where their assumptions hold: failures
 * at a constant rate, one tier of checkpoints that makes the job wait, spares for all. */

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

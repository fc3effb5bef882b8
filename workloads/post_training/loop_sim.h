/*
 * loop_sim.h - the loop of post-training as an event simulation: replicas roll out, a verifier
 * scores, a trainer updates, weights move, and all wait for one another.
 *
 * Weights have a version, from 0. Groups are launched while
 *
 *   groups launched < (version + 1 + staleness) prompts          (AReaL, arXiv 2505.24298, eq. 3)
 *
 * with staleness 0 in synchronous mode, where the groups beyond `prompts` of a step come from
 * over-sampling: what has not ended when enough have is dropped, or goes on with the next weights
 * (APRIL, arXiv 2509.18521). Groups whose rewards are all equal (DAPO) are dropped. Where rollouts
 * run ahead or are over-sampled, another group is launched for each; otherwise whole rounds of
 * `prompts` groups follow, each after the last response of the one before, until enough are kept,
 * and those beyond `prompts` are thrown away, as verl (gen_batch) and NeMo RL do. The trainer
 * takes `prompts` groups for a step in the order in which they were scored, or with streaming some
 * at a time, computes its passes, and sends the weights.
 * On shared GPUs it begins when the last rollout of the step has ended.
 *
 * While weights move, replicas stop. After it they go on with their caches (keep), compute their
 * caches again with the new weights (recompute), or had to finish what they had begun before
 * (drain). Engines on shared GPUs lose their caches when they go to sleep.
 *
 * With helpers, the trainer's GPUs roll out, too, while the trainer waits. When the trainer has
 * enough groups they stop, and what they have not finished goes on in the other pool, whose engines
 * compute its cache again.
 */
#pragma once

#include "calibration/cost/cost_energy.h"
#include "workloads/lengths.h"
#include "workloads/post_training/rollout_replica.h"
#include "workloads/post_training/weight_syncs/weight_sync.h"
#include "workloads/serving/power_time.h"

/* pass_time.c: what a forward pass or an update over ragged samples takes.
 *
 * Samples are dealt to the dp replicas of the trainer and packed into micro-batches of at most S
 * tokens. A step of m micro-batches takes
 *
 *   t(m) = fixed + m each,    m = max over replicas  tokens / S         (packed)
 *                                                    sequences / micro  (padded: each as long as
 *                                                                        the longest)
 *
 * where fixed (gradients, optimizer, the pipeline's ends) and each come from two replays. A
 * replica waits for the one with the most tokens.
 */

/* How samples are dealt: as they come, or longest first to the replica with the fewest tokens. */
typedef enum { ORR_PASS_IN_ORDER, ORR_PASS_BY_TOKENS } OrrPassBalance;
extern const char *const orr_pass_balance_words[]; /* "in-order", "tokens", NULL */

typedef enum { ORR_PASS_PACKED, ORR_PASS_PADDED } OrrPassPacking;
extern const char *const orr_pass_packing_words[]; /* "packed", "padded", NULL */

typedef struct {
  double fixed_s, each_s;    /* a step without micro-batches; a micro-batch */
  OrrJoules fixed_j, each_j; /* of all GPUs, on top of static power; 0: not known */
} OrrPassTime;

typedef struct {
  gint64 replicas;      /* dp */
  gint64 micro;         /* sequences per micro-batch, padded */
  double micro_tokens;  /* per micro-batch */
  double padded_tokens; /* padded: of one sequence at full length */
  OrrPassBalance balance;
  OrrPassPacking packing;
} OrrPassShape;

/* The micro-batches, a real number, of the fullest replica for samples of @tokens (gint64). */
double orr_pass_time_micro_batches(const OrrPassShape *shape, const GArray *tokens);

typedef enum { ORR_LOOP_SYNCHRONOUS, ORR_LOOP_ASYNCHRONOUS } OrrLoopKind;
extern const char *const orr_loop_kind_words[];
typedef enum { ORR_LOOP_KEEP, ORR_LOOP_RECOMPUTE, ORR_LOOP_DRAIN } OrrLoopOnUpdate;
extern const char *const orr_loop_on_update_words[];
typedef enum { ORR_LOOP_BY_SAMPLE, ORR_LOOP_BY_GROUP } OrrLoopRoute;
extern const char *const orr_loop_route_words[];

typedef enum { ORR_LOOP_DROP, ORR_LOOP_RESUME } OrrLoopUnfinished;
extern const char *const orr_loop_unfinished_words[];

typedef struct {
  int kind;            /* OrrLoopKind */
  double staleness;    /* batches; asynchronous: above 0 */
  int on_update;       /* OrrLoopOnUpdate */
  gint64 streaming;    /* groups that the trainer takes at once; 0: a step's */
  double oversampling; /* further groups, as a fraction; synchronous */
  int unfinished;      /* of over-sampling: OrrLoopUnfinished */
  int route;           /* OrrLoopRoute */
} OrrLoopMode;

/* Turns of a response; between two of them a tool answers. */
typedef struct {
  OrrLengths turns, answer; /* turns of a response; tokens of a tool's answer */
  double latency_s, spread; /* mean; standard deviation of the logarithm */
  gint64 workers;           /* 0: no limit */
} OrrLoopTurns;

typedef struct {
  double latency_s, spread;
  gint64 workers; /* 0: no limit */
} OrrLoopVerifier;

/* Of the framework's driver. */
typedef struct {
  double sample_s, batch_s; /* per sample; per batch that the trainer takes */
  double pass_s, update_s; /* within phases: per sample and pass or update; per update of a batch */
} OrrLoopCosts;

typedef enum {
  ORR_LOOP_PHASE_WAITING, /* for rollouts, or for the other pool */
  ORR_LOOP_PHASE_SWITCH,
  ORR_LOOP_PHASE_DATA,
  ORR_LOOP_PHASE_OLD_LOG_PROBS,
  ORR_LOOP_PHASE_REFERENCE,
  ORR_LOOP_PHASE_REWARDS,
  ORR_LOOP_PHASE_VALUES,
  ORR_LOOP_PHASE_CRITIC,
  ORR_LOOP_PHASE_UPDATE,
  ORR_LOOP_PHASE_SYNC,
  ORR_N_LOOP_PHASES
} OrrLoopPhase;
extern const char *const orr_loop_phase_words[]; /* "rollout-wait", "switch", ... */

/* What an engine of the rollout pool does: loop_pools.c. */
typedef enum {
  ORR_LOOP_POOL_BUSY,
  ORR_LOOP_POOL_TAIL,
  ORR_LOOP_POOL_TOOLS,
  ORR_LOOP_POOL_VERIFIER,
  ORR_LOOP_POOL_TRAINER,
  ORR_LOOP_POOL_SWITCH,
  ORR_LOOP_POOL_SYNC,
  ORR_N_LOOP_POOL_STATES
} OrrLoopPoolState;
extern const char *const orr_loop_pool_words[]; /* "rollout", "tail", ... */

/* A pass over the samples of a step, by a model that is not the actor or as the actor. */
typedef struct {
  gboolean is_there;
  OrrPassTime time;
  OrrPassShape shape;
  double load_s; /* its state between host memory and the GPUs, per batch */
} OrrLoopPass;

typedef struct {
  OrrRolloutSpeed *speed;
  guint replicas, helpers; /* engines of the pool; further ones on the trainer's GPUs */
  gboolean is_colocated;
  gint64 steps, prompts, samples;
  gint64 uncounted; /* steps at the beginning that no mean counts */
  const OrrLengths *prompt, *response;
  gint64 longest; /* tokens of a sequence */
  OrrLoopMode mode;
  OrrLoopTurns turns;
  OrrLoopVerifier verifier;
  OrrLoopCosts costs;
  OrrLoopPass update, old_log_probs, reference, rewards, values, critic; /* critic: its update */
  gint64 mini_batch; /* samples of an optimizer step */
  gint64 epochs;
  double filtered;
  OrrWeightTimes sync;
  double to_update_s, to_rollout_s;
  guint64 seed;
} OrrLoopInput;

typedef struct {
  double begin_s, end_s;
  double rollout_s; /* from the first launch, or the last step's end, until its groups were there */
  double tail_s;    /* of that, after nine tenths of the samples; NAN: asynchronous */
  double phase_s[ORR_N_LOOP_PHASES];
  double tokens; /* of prompts and responses of the samples that were trained on */
  gint64 samples, response_tokens, longest;
  double staleness; /* mean versions between a sample's begin and its update */
  double stalest;
} OrrLoopStep;

/* A phase of one pool, for the time line. */
typedef struct {
  OrrLoopPhase phase;
  gint64 step;
  double begin_s, end_s;
} OrrLoopSpan;

typedef struct {
  OrrLoopPoolState state;
  gint64 step;
  double begin_s, end_s;
} OrrLoopPoolSpan;

/* An engine runs without a break. */
typedef struct {
  guint engine;
  double begin_s, end_s;
} OrrLoopEngineSpan;

/* What is under way at some time. */
typedef struct {
  double at_s;
  gint64 busy, running, waiting, at_tools, ready; /* engines; sequences of all; groups */
} OrrLoopLoad;

/* On top of static power. */
typedef struct {
  OrrJoules pool, helpers, phase[ORR_N_LOOP_PHASES]; /* of the trainer by phase */
} OrrLoopJoules;

typedef struct {
  GArray *steps;        /* of OrrLoopStep */
  GArray *spans;        /* of OrrLoopSpan: the trainer's */
  GArray *pool_spans;   /* of OrrLoopPoolSpan: the rollout pool's */
  GArray *engine_spans; /* of OrrLoopEngineSpan, in the order of their ends */
  GArray *loads;        /* of OrrLoopLoad, at most 2,000 */
  /* engine-seconds of the pool from counted_s on, the end of the first of several steps */
  double pool_s[ORR_N_LOOP_POOL_STATES], counted_s;
  double end_s;
  double busy_s, sequence_s;    /* OrrRolloutTotals of the pool */
  double helped_s;              /* busy seconds of the helpers */
  OrrLoopJoules joules, before; /* of all steps, and what of it came until counted_s */
  OrrPowerTime *power;          /* over time */
  double decoded, prompted;
  gint64 preemptions, filtered, dropped; /* times; groups; samples */
  gint64 resumed, moved; /* samples: stopped for new weights; from helpers to the pool */
  gint64 staleness[16];  /* samples by versions, the last: that or more */
  guint64 events;
} OrrLoopHistory;

/* NULL with ORR_FAULT_STUCK where the loop comes to a stop. */
OrrLoopHistory *orr_loop_sim(const OrrLoopInput *input, GError **error);
void orr_loop_sim_free(OrrLoopHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLoopHistory, orr_loop_sim_free)

/*
 * loop_state.h - the state of a loop (loop_sim.h) and the three files that change it; private.
 *
 *   loop_sim.c      launches groups, hears of their turns, gathers what is scored
 *   loop_trainer.c  phases of the trainer, weights, engines on the trainer's GPUs
 *   loop_pools.c    how the engines' time splits up: busy, or what they wait for
 *
 *   trainer   IDLE -> BUSY -> (IDLE -> BUSY, streaming) -> DRAINING -> SENDING -> IDLE
 *
 * Invariants:
 *  1. launched counts groups of all versions, without those that were dropped or filtered.
 *  2. Every handler of an event calls orr_loop_pools_touch before it changes anything, so that
 *     what the engines did until then is booked under the state in which they did it.
 *  3. replicas holds the engines of the rollout pool first, then the helpers: engines on the
 *     trainer's GPUs, which roll out only while helpers_up.
 */
#pragma once

#include "workloads/post_training/loop_sim.h"
#include "workloads/post_training/rollout_replica.h"
#include "workloads/service_pool.h"

typedef enum {
  TRAINER_IDLE,
  TRAINER_BUSY,
  TRAINER_DRAINING,
  TRAINER_COPYING,
  TRAINER_SENDING
} OrrLoopTrainer;

typedef struct {
  guint first;  /* its first sample's id */
  guint n_left; /* samples that are not scored yet */
  gboolean is_filtered, is_gone;
} OrrLoopGroup;

/* An engine's time line: the stretch that is not recorded yet. */
typedef struct {
  double begin_s, end_s; /* end_s NAN: it runs */
} OrrLoopStretch;

typedef struct {
  const OrrLoopInput *input;
  OrrEngine *engine;
  OrrLoopHistory *history;
  OrrRolloutContext context;
  GPtrArray *replicas; /* of OrrRolloutReplica * */
  GArray *groups;      /* of OrrLoopGroup */
  GQueue ready;        /* group numbers: scored, not trained on */
  OrrServicePool *tools, *verifier;
  OrrRandom lengths, filter;
  double launched; /* groups that count towards the limit */
  gint64 version, taken, in_flight;
  gint64 at_tools, at_verifier; /* samples */
  gint64 ended;                 /* samples that ended in this step */
  double nine_tenths_s;
  OrrLoopTrainer trainer;
  OrrLoopStep step; /* the one under way */
  double idle_since_s;
  guint next_replica;
  gboolean is_over;
  gboolean stops; /* unfinished responses wait for new weights (mode.unfinished: resume) */
  gboolean is_waking, helpers_up;
  guint waking; /* counts wake-ups of helpers; one that was overtaken is ignored */
  /* pools */
  double touched_s, next_load_s, load_every_s;
  guint n_busy;      /* engines of the rollout pool that run */
  GArray *stretches; /* of OrrLoopStretch, by engine */
} OrrLoop;

/* Synchronous loops sample again in whole rounds of `prompts` groups (loop_sim.h). */
static inline gboolean orr_loop_has_rounds(const OrrLoop *loop) {
  const OrrLoopMode *mode = &loop->input->mode;
  return loop->input->filtered > 0 && mode->kind == ORR_LOOP_SYNCHRONOUS && mode->oversampling <= 0;
}

/* Whether responses of a round are still written or scored. */
static inline gboolean orr_loop_round_is_open(const OrrLoop *loop) {
  return orr_loop_has_rounds(loop) && loop->in_flight + loop->at_verifier > 0;
}

static inline double orr_loop_now(const OrrLoop *loop) { return orr_engine_now(loop->engine); }

static inline OrrRolloutReplica *orr_loop_replica(const OrrLoop *loop, guint i) {
  return loop->replicas->pdata[i];
}

static inline OrrRolloutSample *orr_loop_sample(const OrrLoop *loop, guint id) {
  return loop->context.samples->pdata[id];
}

/* loop_sim.c */
void orr_loop_launch(OrrLoop *loop);
guint orr_loop_least_loaded(OrrLoop *loop);

/* loop_trainer.c */
void orr_loop_train(OrrLoop *loop);        /* where enough groups are ready */
void orr_loop_look_again(OrrLoop *loop);   /* a response has ended: have all? */
void orr_loop_wake_helpers(OrrLoop *loop); /* where there are helpers and the trainer waits */

/* loop_pools.c */
void orr_loop_pools_init(OrrLoop *loop);
void orr_loop_pools_touch(OrrLoop *loop);
void orr_loop_pools_engine(OrrLoop *loop, guint engine, gboolean is_busy);
void orr_loop_pools_restart(OrrLoop *loop); /* means begin here */
void orr_loop_sim_joules(OrrLoop *loop);    /* brings joules of engines up to date */
void orr_loop_pools_close(OrrLoop *loop);
void orr_loop_pools_clear(OrrLoop *loop);

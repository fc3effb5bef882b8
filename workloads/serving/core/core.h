/*
 * core.h - an engine core: waiting and running requests, the cache, and the batch that a
 * scheduler makes.
 *
 * This is vLLM v1's EngineCore: one for each attention data-parallel rank. A scheduler
 * (schedulers/scheduler.h) fills a batch through orr_core_give and orr_core_admit, and the replica
 * (replica.h) runs it. Stations (stations/station.h) hook into a core; a core without hooks
 * serves plain requests.
 *
 *        add           admit              finish
 *   ---------> waiting -----> running ------------->
 *                 ^   preempt    |
 *                 +--------------+
 *
 * Invariants
 *  1. A request is in `waiting`, in `running`, or in neither. Every request of the batch is in
 *     `running`.
 *  2. After a step, free and held blocks add up to all blocks; running requests, and those whose
 *     cache is kept for another replica, hold the held ones (orr_core_conserves).
 */
#pragma once

#include "workloads/serving/cost/drafter.h"
#include "workloads/serving/core/kv.h"

typedef enum { ORR_PREEMPT_RECOMPUTE, ORR_PREEMPT_SWAP } OrrPreemption;

/* Limits that every scheduler keeps. */
typedef struct {
  gint64 max_sequences;      /* running at once */
  gint64 max_batched_tokens; /* in a step */
  gint64 longest;            /* tokens of a request, guesses among them */
  gint64 watermark_blocks;   /* left free by an admission */
  /* an admission needs room for the whole prompt, not for its first chunk alone */
  gboolean reserve_prompt;
  OrrPreemption preemption;
  gint64 groups; /* of attention in the engine, this one among them */
} OrrCoreLimits;

typedef struct OrrScheduler OrrScheduler;
typedef struct OrrCore OrrCore;

/* What a station (stations/station.h) does to requests of a core. Each hook is optional. */
typedef struct {
  /* FALSE: @request is passed over in this plan. */
  gboolean (*may_begin)(gpointer state, const OrrRequest *request);
  void (*begin)(gpointer state, OrrCore *core, const OrrRequest *request); /* runs from now on */
  void (*end)(gpointer state, const OrrRequest *request); /* has ended, or is preempted */
  /* TRUE: its blocks stay when it ends, until orr_core_release. */
  gboolean (*keeps)(gpointer state, const OrrRequest *request);
  void (*open_plan)(gpointer state, OrrCore *core); /* before the scheduler plans */
  void (*plan)(gpointer state, OrrCore *core);      /* the batch is made; may add to core->shape */
  void (*close)(gpointer state);
} OrrCoreHooks;

struct OrrCore {
  OrrCoreLimits limits;
  const OrrScheduler *scheduler;
  const void *scheduler_params;
  gpointer scheduler_state; /* NULL: it has none; owned */
  OrrKv *kv;
  GArray *hooks;             /* of the stations */
  const OrrDrafter *drafter; /* NULL: speculation is off; not owned */
  GPtrArray *running;        /* in order of admission */
  GPtrArray **
      waiting; /* heaps (orr_request_is_before): one, or one a client where the scheduler is fair */
  guint n_queues, n_waiting;
  guint n_parsing; /* requests assigned to it that its front end still parses */
  /* Waiting requests that this plan passes over; they wait again when the plan is made. */
  GPtrArray *aside;
  gint64 waiting_tokens; /* that waiting requests will hold when they begin */
  double *served;        /* by queue: what fairness counts */
  /* The batch that is planned, or runs. */
  GPtrArray *batch; /* requests with `scheduled` > 0 */
  OrrStepShape shape;
  gint64 budget;                     /* tokens left */
  gint64 swapped_tokens;             /* moved between host and device by this batch */
  gint64 away_tokens, most_away;     /* swapped out to the host; the most so far */
  double host_link_bytes;            /* of adapters, over the host link before this batch */
  gint64 loaded_tokens[ORR_N_TIERS]; /* of prompts, from tiers below HBM, before this batch */
  /* What the plan does not know yet, since it was made when the step before it began
   * (replica_async.c). */
  double sees_until_s; /* requests that came later are passed over */
  gint64 late_seats,
      late_blocks; /* of requests that the step before ended: not given to others yet */
  gboolean has_preempted;
  gint64 preemptions, hit_tokens, looked_up_tokens;
  gint64 tier_tokens[ORR_N_TIERS]; /* of hit_tokens, those from below */
  gint64 checks, drafted,
      accepted; /* decodes, guesses among their tokens, and those that were right */
  guint n_expected,
      n_kept; /* requests that hold blocks and do not run: cache on its way here; or from here */
  gint64 parked_blocks; /* that those hold */
};

/* Takes @kv. */
void orr_core_init(OrrCore *core, const OrrCoreLimits *limits, const OrrScheduler *scheduler,
                   const void *scheduler_params, guint n_clients, OrrKv *kv);
void orr_core_clear(OrrCore *core);
void orr_core_hook(OrrCore *core, const OrrCoreHooks *hooks, gpointer state);

void orr_core_add(OrrCore *core, OrrRequest *request);  /* it waits */
void orr_core_drop(OrrCore *core, OrrRequest *request); /* it waits no longer */

/* Lets the scheduler fill the batch, and sums the batch up in core->shape. FALSE: there is nothing
 * to run. */
gboolean orr_core_plan(OrrCore *core, double now_s);

/* Reserves room for a request whose prompt is computed elsewhere. Tokens that the prefix cache has
 * count as computed. FALSE: there is no room now. The request later joins the running ones, and
 * decodes. */
gboolean orr_core_reserve(OrrCore *core, OrrRequest *request);
void orr_core_join(OrrCore *core, OrrRequest *request);
/* Whether no hook holds @request back now. */
gboolean orr_core_can_join(const OrrCore *core, const OrrRequest *request);
void orr_core_unexpect(OrrCore *core, OrrRequest *request); /* it will not come */
/* Releases the cache of an ended request, which was kept for another replica. */
void orr_core_release(OrrCore *core, OrrRequest *request);

gboolean orr_core_conserves(const OrrCore *core); /* invariant 2; O(running) */

/* Appends every waiting and running request to @requests; none holds a block afterwards. Clear the
 * core next. */
void orr_core_take_all(OrrCore *core, GPtrArray *requests);

/* --- what schedulers call --- */

/* The first waiting request by key, of the queue that is served least; NULL: none. One whose
 * adapter finds no slot, or whose prefix is still being read, is passed over in this plan, as
 * vLLM does (scheduler.py: "Scheduling would exceed max_loras, skip"). */
OrrRequest *orr_core_first(OrrCore *core);

/* Puts at most @most tokens of a running request into the batch, with room for them, and a decode's
 * guesses with them as far as the budget goes; of a prompt whose states are kept, those up to the
 * end of a block, perhaps none. FALSE, and nothing done, without room. */
gboolean orr_core_give(OrrCore *core, OrrRequest *request, gint64 most);

/* Moves a waiting request to the running with at most @most tokens of what its prefix cache
 * lacks; whole: all of it or nothing. @reserve_tokens: tokens for which room is taken at once (0:
 * only for the given ones). FALSE: no room. */
gboolean orr_core_admit(OrrCore *core, OrrRequest *request, gint64 most, gboolean whole,
                        gint64 reserve_tokens);

/* Takes the cache of a running request and puts it back to the waiting. */
void orr_core_preempt(OrrCore *core, OrrRequest *request);

/* Gives to a running request; makes room by preempting the last of the running: by key, or else
 * by admission. FALSE: it was itself the last, and is preempted. */
gboolean orr_core_give_or_preempt(OrrCore *core, OrrRequest *request, gint64 tokens);

/* --- the end of a step --- */

typedef void (*OrrCoreFinish)(OrrRequest *request, void *user);
/* Every sequence of @batch (the core's, or one that a pipeline was working on) has its tokens:
 * computes, generates, and ends what has its output. @token is called for each request that
 * generated one, before @finish. */
void orr_core_finish_step(OrrCore *core, const GPtrArray *batch, double now_s, OrrCoreFinish token,
                          OrrCoreFinish finish, void *user);

/* --- runs of steps that differ in context lengths alone: core_run.c --- */

/* The fewest tokens that a request of the batch has still to write. */
gint64 orr_core_least_left(const OrrCore *core);
/* The blocks that each of @steps steps of a batch of decodes takes, in @ret_blocks (of gint64); the
 * first step has its own already. Returns how many of the steps find room, at least 1. */
guint orr_core_run_blocks(const OrrCore *core, guint steps, GArray *ret_blocks);
/* Gives a decode of the batch @n tokens, ahead of the step that finishes the run. FALSE, and
 * nothing done, without room for them and that step's. */
gboolean orr_core_advance(OrrCore *core, OrrRequest *request, gint32 n);

/*
 * fleet_private.h - what the files of the fleet share.
 */
#pragma once

#include "workloads/serving/cost/drafter.h"
#include "workloads/serving/replica/serving_run.h"
#include "workloads/serving/serving_work.h"
#include "workloads/serving/stations/station.h"

/* feed_pool.c: whether feed-forwards can be on GPUs of their own (parallel.feed-forward), and what
 * each of them holds. */

/* Bytes of weights on a GPU of the pool; 0: there is none. */
double orr_feed_pool_bytes(const OrrServing *params, const OrrModel *model);

/* Findings at @place; the second asks for no others. */
void orr_feed_pool_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags);
void orr_feed_pool_check_memory(const OrrServing *params, const OrrModel *model,
                                const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);
/* Lowers the power of its device to what the rack leaves a board. */
void orr_feed_pool_cap(OrrServing *own, const OrrCluster *cluster);

/* engine_links.c: the machine's links now are as @fabric has them (NULL: as built). Reprices the
 * steps of the replicas whose collectives, exchanges or sends between stages they change. */
void orr_engine_links_change(OrrRoute *route, const OrrFabric *fabric);
/* life.c: replicas that come and go: autoscaling, lost nodes and cold starts. */

typedef struct OrrLife OrrLife;

/* What replicas' lives report to their fleet, and ask it. */
typedef struct {
  void *user;
  void (*homeless)(void *user, OrrRequest *request); /* its replica is lost */
  gint64 (*in_system)(void *user);                   /* requests */
  gboolean (*expects)(void *user);                   /* the load has requests yet to come */
} OrrLifeReports;

/* NULL: all replicas are up from beginning to end. */
OrrLife *orr_life_new(OrrRoute *route, const OrrLifeReports *reports);
void orr_life_free(OrrLife *life);                /* NULL is fine, here and below */
void orr_life_idle(OrrLife *life, guint replica); /* a request has left it */
/* A request waits, and no replica takes it of those for which @serves is TRUE. */
void orr_life_want(OrrLife *life, const gboolean *serves);
void orr_life_first_token(OrrLife *life, guint replica, double ttft_s);
void orr_life_close(const OrrLife *life,
                    double end_s); /* adds to the rows what is held until then */

/* objectives.c: whether the objectives that a scenario sets can be met. */

/* ORR_FAULT_DOCUMENT for an objective below the time of an empty engine. The cost models must be
 * open. */
gboolean orr_objectives_check(const OrrServingRun *run, GError **error);

/* refusals.c: options of a serving workload that exclude each other. */

void orr_refusals_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags);
/* Several models, and groups that share GPUs. */
void orr_refusals_check_models(const OrrServing *params, const OrrModel *model,
                               const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);
void orr_refusals_check_tiers(const OrrServing *params, OrrPlace place, OrrDiags *diags);
/* @own: of one group, with its number of replicas. */
void orr_refusals_check_host_tier(const OrrServing *own, const OrrCluster *cluster, OrrPlace place,
                                  OrrDiags *diags);
void orr_refusals_check_sleep(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                              OrrDiags *diags);
/* A client whose @rejected request brings @next in the same instant uses up all its requests in no
 * time, and no server answers so fast. */
void orr_refusals_check_loop(const OrrRequest *rejected, const OrrRequest *next, GError **error);

/* serving_groups.c: the groups of replicas, and which GPUs they are on. */

/* The parameters of group @g; group 0 belongs to `replicas`, which by default uses the GPUs that
 * the others leave. */
OrrServing orr_serving_groups_params(const OrrServing *params, guint g, const OrrCluster *cluster);
/* @cluster with the group's device, if it has its own. */
OrrCluster orr_serving_groups_cluster(const OrrServing *params, guint g, const OrrCluster *cluster);
/* The model of group @g where the scenario's is @model. */
OrrModel orr_serving_groups_model(const OrrServing *params, guint g, const OrrModel *model);
/* The first GPU of each group. Returns the first group that has a replica on two nodes though one
 * could hold it, G_MAXUINT: none. */
guint orr_serving_groups_place(const OrrServing *params, const OrrCluster *cluster,
                               gint64 *ret_first);

/* serving_memory.c: what a GPU of a group holds, and the size of its cache. */

typedef struct {
  double weights, activations, embeddings, budget, kv_per_token, state, ring, adapter; /* bytes */
  OrrKvLayout layout;
  double block;        /* bytes of a block; of a model without a cache, of a sequence's state */
  gint64 blocks, room; /* blocks of the cache; tokens of one request that it holds */
  /* all layers have a window, and the prefix cache keeps what engines would free */
  gboolean keeps_windows;
} OrrServingMemory;

/* Of one GPU; @params and @cluster are a group's. */
OrrServingMemory orr_serving_memory_of(const OrrServing *params, const OrrModel *model,
                                       const OrrCluster *cluster);
/* Tokens: engine.max-model-len, by default the model's context. */
gint64 orr_serving_memory_longest(const OrrServing *params, const OrrModel *model);

/* serving_idle.c: warns of keys of the document at @place that change nothing. */
void orr_serving_idle_warn(const OrrServing *params, const OrrModel *model, OrrPlace place,
                           OrrDiags *diags);

/* served.c: what the client of a request saw, and whether that met its objectives. */

/* Of @request, whose last token is written; on the run's clock. */
OrrServedRequest orr_served_row(const OrrServingRun *run, const OrrRequest *request);

/* watch.c: watches a run that goes on until it has a steady state (metrics.window: steady).
 *
 * It looks at the run each time the number of first and last tokens has grown by a fifth, so that
 * all looks together take time in proportion to the requests. A load that is too high is seen
 * early: by its growing queue (steady.h), or by more missed objectives than chance allows. */

typedef enum {
  ORR_WATCH_GOES_ON,
  ORR_WATCH_ENOUGH, /* the load can end */
  ORR_WATCH_CUT,    /* the rest of the run brings nothing new */
} OrrWatchAnswer;

typedef struct {
  OrrServingRun *run;
  gboolean is_on;              /* the load does not end by itself */
  guint64 events, next_look;   /* first and last tokens of requests; when to look */
  guint64 counted;             /* events before the counts below */
  guint64 first, missed_first; /* first tokens, those past slo.ttft */
  guint64 ended, missed;       /* requests, those that missed an objective */
} OrrWatch;

void orr_watch_init(OrrWatch *watch, OrrServingRun *run);

/* A request has its first token, or has left. The answer is given once; work->steady has the
 * reason. */
OrrWatchAnswer orr_watch_first_token(OrrWatch *watch, double ttft_s);
OrrWatchAnswer orr_watch_left(OrrWatch *watch, gboolean is_good);
/* A request was rejected or has failed: it missed its objectives. */
void orr_watch_unserved(OrrWatch *watch);

/* steady.c: which part of a run is a steady state, and whether there is one.
 *
 * A run begins with empty engines and ends when the last request leaves: at first fewer requests
 * are in the system than the load will keep there, and at the end no more arrive. Rates and
 * latencies of the load hold only for the part between:
 *
 *   in the system    ________________
 *                   /                \
 *                  /                  \
 *             ____/                    \____
 *             | warm-up |  window  | drain |
 *
 *  1. The warm-up is the truncation that minimises the squared error of the mean number in the
 *     system (MSER: White 1997, Simulation 69(6)), and at least two residence times. A residence
 *     time is the mean time from arrival to last token.
 *  2. The window ends with the last arrival. It is long enough when it has
 *     ORR_STEADY_RESIDENCES residence times and the requests asked for.
 *  3. The number in the system must not grow over the window: its least-squares slope over ten
 *     batch means is compared with its own error (Student, 97.5 %). An overload shows earlier: the
 *     number grows as fast in the last quarter of the run as in the third, faster than chance.
 *  4. A trace has waves of its own, so its window is whole replays, of ten residence times or more
 *     together, and the number in the system must be what it was at the same place of an earlier
 *     replay.
 *  5. In the window all requests that leave are counted, wherever they arrived, and those that the
 *     fleet rejects or fails there; the drain's are not.
 *  6. A fraction asked for takes as many requests as would make twenty misses at it. No number of
 *     requests shows that none ever misses; a fraction of 1 takes the 20,000 of 0.999, which it
 *     meets if none of them misses: then, with 95 % confidence, fewer than 0.015 % do (1 - 0.05^(1
 *     / 20,000), the rule of three).
 *
 * Little's law closes over the window: the integral of the number in the system is the sum of the
 * times that requests spent in the system inside it (tests/workloads/serving/test_steady.c).
 */

#define ORR_STEADY_RESIDENCES 10

/* Of the requests of @work that left by @until_s on the run's clock: when the last one arrived, or
 * the run is looked at. Takes time in proportion to their number. With metrics.window: steady the
 * window has `requests` requests, and their fraction within the objectives differs from
 * `least-good` by more than its error. */
OrrSteady orr_steady_of(const OrrServingWork *work, double until_s);

/* The requests of a window of metrics.window: steady that is as long as it gets. */
double orr_steady_longest(const OrrServingWork *work);

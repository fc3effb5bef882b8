/*
 * serving_work.h - a serving job while it runs, and what it leaves behind: requests, replicas, the
 * steady state, and the totals that the rows of the answer are made of.
 */
#pragma once

#include "results/rows/rows.h"
#include "workloads/serving/cost/serving_pools.h"
#include "workloads/serving/power_time.h"
#include "workloads/serving/serving.h"

/* A finished request: the row that its client would write, without the name of its class. */
typedef struct {
  OrrServingRequestRow row;
  guint16 group, region;               /* as OrrRequest has them */
  gboolean first_is_good, gap_is_good; /* ttft, tpot; where nothing is asked, too */
  double end_s;                        /* its last token, before it is written to the client */
  /* When it left; then, of the requests in the system or waiting at a client, and of the latter
   * alone: how many, and the integral of their number. */
  double left_s, area_s[2];
  gint32 number[2];
} OrrServedRequest;

/* `n` gaps between tokens of equal length. */
typedef struct {
  float gap_s;
  guint32 n;
} OrrTokenGap;

/* A group of equal replicas. */
typedef struct {
  OrrServing params;             /* the workload's, with the group's replicas and parallel */
  OrrCluster cluster;            /* with the group's device; borrows */
  OrrModel model;                /* borrows */
  gint64 first, first_gpu, gpus; /* replica; its first GPU; GPUs of each */
  gint64 n_blocks;               /* blocks per core */
  double weight_bytes, kv_bytes_per_token, activation_bytes; /* per GPU */
  double feed_bytes;    /* weights on each GPU of the pool of feed-forwards; 0: there is none */
  double state_bytes;   /* per sequence, on one GPU */
  double adapter_bytes; /* per adapter, on one GPU */
  OrrKvLayout kv_layout;
} OrrServedGroup;

typedef struct {
  guint group;
  gint64 requests, steps, preemptions, hit_tokens, looked_up_tokens, evicted_blocks, tokens,
      most_running, most_away;     /* most_away: tokens swapped out to the host */
  gint64 tier_tokens[ORR_N_TIERS]; /* of hit_tokens */
  gint64 adapter_loads;
  gint64 checks, drafted,
      accepted; /* decodes; draft tokens checked in them; accepted draft tokens */
  /* GPU time computing; waiting for the host; in collectives (part of busy_s) */
  double busy_s, host_s, comm_s;
  double uneven_s;     /* of a pipeline's stages: waiting for the slowest one, and sends */
  double host_busy_s;  /* cores of its hosts: engine cores and front end */
  double front_busy_s; /* the processes of its front end, in all */
  /* of its GPUs, on top of their static power; the step that draws most */
  OrrJoules joules;
  double peak_dynamic_w;
  /* of the steps' part that reads prompts: on top of static power, its time, the tokens computed */
  double prompt_j, prompt_s, prompt_tokens;
  double used_block_s, peak_blocks, running_s; /* time integrals; largest number of blocks in use */
  gint64 starts;                               /* completed starts */
  /* time for which it held GPUs; the part of it spent in completed starts */
  double held_s, starting_s;
} OrrServedReplica;

/* Reads of a tier that queue: cache_tiers.c. */
typedef struct {
  double reads, waited_s, busy_s; /* busy_s: of all drives, or of all readers of the store */
  guint n_servers;                /* 0: no queue */
} OrrTierUse;

typedef struct OrrServingPaths
    OrrServingPaths;              /* the links that transfers cross: serving_paths.c */
typedef struct OrrFleet OrrFleet; /* the running fleet: fleet.c */

/* A request that the fleet did not serve to its end: it was rejected, or its replica was lost. */
typedef struct {
  double arrival_s, at_s; /* on the run's clock */
  gboolean is_failed;
  guint16 region; /* as OrrRequest.region */
} OrrUnserved;

typedef enum {
  ORR_STEADY_SHORT, /* the run is too short to tell */
  ORR_STEADY_HOLDS, /* the window is a steady state */
  ORR_STEADY_GROWS, /* requests arrive faster than they are served */
  ORR_STEADY_MISSES /* more requests miss an objective than least-good allows */
} OrrSteadyState;

/* What is known of a run's steady state: fleet/fleet_private.h. */
typedef struct {
  gint32 state;          /* OrrSteadyState */
  double begin_s, end_s; /* the window, on the run's clock; of a short run what there is of it */
  double residence_s;    /* mean time in the system of the requests that left last */
  double in_system;      /* requests in the system over the window, or at their clients; mean */
  double at_clients;     /* of them, waiting at their clients */
  double growth_rps;     /* of that number, per second, where it grows; else 0 */
  /* standard error of the fraction within the objectives, where one is asked for; NAN: the window
   * does not show it */
  double good_error;
  double margin; /* of the rate of output tokens: half of a 95 % interval, over the rate */
} OrrSteady;

/* The time of metrics.window: full or steady. Full begins with the first token of request `places`
 * and ends with the last request's. */
typedef struct {
  gint64 places, n_first; /* of all engines; requests with a first token */
  double begin_s, end_s;  /* on the run's clock */
  guint64 gaps, kept;     /* noted since it began; until end_s */
  guint64 later;          /* tokens after a request's first, written since it began */
  guint64 tokens;         /* written from begin_s to end_s */
  /* of all replicas, up to begin_s and up to end_s */
  OrrJoules begin_joules, end_joules;
} OrrTokenWindow;

typedef struct {
  OrrWork work;      /* first */
  OrrServing params; /* points into the scenario: not owned */
  const OrrWorld *world;
  OrrWorld own_world; /* what it points to */
  OrrServingPaths *paths;
  OrrFleet *fleet; /* set by begin */
  GArray *groups;  /* of OrrServedGroup: at least one; params.replicas counts the replicas of all */
  gint64 longest;  /* longest request in tokens */
  /* results of the run */
  gint64 n_cut;     /* drawn lengths that had no room in `longest` */
  GArray *requests; /* OrrServedRequest, in order of completion */
  GArray *unserved; /* OrrUnserved, in order of time */
  GArray *steps;    /* OrrServingStepRow, sampled */
  GArray *gaps;     /* OrrTokenGap */
  OrrTokenWindow window;
  OrrChain chain; /* of the load; 1, 0, 0: each request comes by itself */
  OrrCycle cycle; /* of a load that repeats itself until there is a steady state; else 0, 0 */
  OrrSteady steady;
  GArray *turns;       /* OrrServingTurnRow; empty if replicas do not come and go */
  OrrPowerTime *power; /* of all replicas, on top of static power; NULL: metrics.step-rows is 0 */
  OrrServedReplica *replicas;
  double end_s, first_arrival_s, last_arrival_s;
  gint64 arrived;       /* requests that were sent to the fleet */
  double client_wait_s; /* of requests that waited at the client for max-concurrency, in all */
  gint64 retried;       /* requests of lost replicas that went on elsewhere */
  gint64 again;         /* of them, those whose prompt and output so far a decoder computes */
  double failed_s;      /* time that failed requests spent in the system */
  gint64 handovers;     /* of caches; seconds from prompts' ends till they were over, bytes */
  double handover_s, handover_bytes;
  gint64 first_encoder;  /* GPU of the first encoder; the others follow */
  gint64 first_task_gpu; /* of the pools of tasks, in their order, after the encoders */
  GArray *tasks;         /* OrrServingTaskRow, in order of arrival */
  GArray *task_steps;    /* OrrServingTaskStepRow, in order of their ends */
  GArray *task_pools;    /* OrrServingTaskPoolRow */
  OrrJoules task_joules; /* of the pools' GPUs, on top of static power */
  /* in the pool: images computed, cache hits, requests */
  gint64 images_encoded, image_hits, encodings;
  double encode_s, embedding_bytes, encoder_busy_s;
  OrrTierUse tier_use[ORR_N_TIERS];
  double area_request_s; /* integral of the number of requests in the system */
  double trust_s[ORR_HOW_OUTSIDE + 1];
  OrrServingParts parts; /* breakdown of the steps */
  OrrServingPoolTimes pools;
  /* kernels without rows in the profile, for the first group that lacks any; NULL: none */
  char *missing;
  char *left_out;        /* of the load's file: "columns that are not read: a, b"; NULL: nothing */
  gint64 trace_requests; /* requests that the load's file gives; 0: it has none */
  gint64 calls;          /* of the engine */
} OrrServingWork;

/* The relative difference between the integral of the number of requests in the system and the
 * sum of their times in it (Little 1961). Rounding only; a run with a larger one fails. */
double orr_serving_work_littles_law_error(const OrrServingWork *work);

/* Blocks of the key-value cache of one of its replicas, as its cores count them. */
static inline double orr_served_group_blocks(const OrrServedGroup *group) {
  return (double)(orr_kv_layout_total(&group->kv_layout, group->n_blocks) *
                  group->params.parallel.dp_attention);
}
static inline const OrrServedGroup *orr_serving_group(const OrrServingWork *work, guint replica) {
  return &g_array_index(work->groups, OrrServedGroup, work->replicas[replica].group);
}
